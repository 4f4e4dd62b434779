import {
  connection,
  type GraphqlModule,
  gid,
  required,
  rowType,
  string,
  time,
} from "../../graphql/declare.ts";

const email = rowType("Email", {
  about: "A further address of a user, as `GET /user/emails` lists them.",
  from: "user_emails ue",
  key: "ue.id",
  visible: ({ caller }) => (caller?.admin ? { sql: "1 = 1", values: [] } : own(caller?.id ?? 0)),
  fields: {
    id: gid("Email", "ue.id"),
    email: required(string("ue.email")),
    confirmedAt: time("ue.confirmed_at"),
    createdAt: required(time("ue.created_at")),
    updatedAt: required(time("ue.updated_at")),
  },
});

const own = (userId: number) => ({ sql: "ue.user_id = ?", values: [userId] });

/** Further addresses of users: each sees their own. */
export const graphqlModule: GraphqlModule = {
  types: [email],
  extend: { User: { emails: connection("Email", { query: () => ({ parent: "ue.user_id" }) }) } },
};
