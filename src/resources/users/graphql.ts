import {
  about,
  arg,
  boolean,
  constant,
  date,
  enumeration,
  type Face,
  first,
  type GraphContext,
  GraphError,
  gid,
  interfaceType,
  property,
  required,
  rowType,
  string,
  time,
  word,
} from "../../graphql/declare.ts";
import { userSummaryFields } from "./json.ts";

const STATE = enumeration("UserState", "Whether an account can be used.", ["active", "blocked"]);
const TYPE = enumeration("UserType", "What kind of account it is.", ["HUMAN", "GHOST"]);

const isGhost = "u.state = 'ghost'";

const fields = {
  id: gid("User", "u.id"),
  username: required(string("u.username")),
  name: required(string("u.name")),
  state: required(word(STATE, userSummaryFields.state)),
  avatarUrl: string(userSummaryFields.avatar_url),
  webUrl: required(string(userSummaryFields.web_url)),
  webPath: required(string("'/' || u.username")),
  publicEmail: string("u.public_email"),
  bio: string("u.bio"),
  location: string("u.location"),
  organization: string("u.organization"),
  createdAt: time("case when u.private_profile = 0 then u.created_at end"),
  lastActivityOn: date("u.last_activity_on"),
  bot: required(constant("Boolean", false)),
  human: boolean(`case when ${isGhost} then 0 else 1 end`),
  type: required(word(TYPE, `case when ${isGhost} then 'GHOST' else 'HUMAN' end`)),
};

const rows = { from: "users u", key: "u.id" };

const user = interfaceType("User", "An account.", fields);
const userCore = rowType("UserCore", {
  about: "An account.",
  ...rows,
  implements: ["User"],
  fields: {},
});
const currentUser = rowType("CurrentUser", {
  about: "The caller's account.",
  ...rows,
  implements: ["User"],
  fields: {},
});

/** Users. */
export const face: Face = {
  types: [user, userCore, currentUser],
  extend: {
    Query: {
      currentUser: about(
        "The caller; null for anonymous ones.",
        property("CurrentUser", (_, { caller }: GraphContext) => caller?.id ?? null),
      ),
      user: first("UserCore", {
        args: { id: arg.gid("User"), username: arg.string },
        query: ({ id, username }) => {
          if ((id === undefined) === (username === undefined)) {
            throw new GraphError("One and only one of [id, username] arguments is required.");
          }
          return {
            where:
              id === undefined
                ? { sql: "lower(u.username) = lower(?)", values: [username as string] }
                : { sql: "u.id = ?", values: [id] },
          };
        },
      }),
    },
  },
};
