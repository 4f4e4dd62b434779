import {
  arg,
  boolean,
  computed,
  connection,
  date,
  enumeration,
  type GraphqlModule,
  gid,
  mutation,
  notAvailable,
  property,
  required,
  routeOf,
  rowType,
  sortEnum,
  string,
  time,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import { findManaged, personalTokenResource } from "./index.ts";
import { tokenFields } from "./json.ts";
import { matching, ORDERS } from "./queries.ts";

const token = rowType("PersonalAccessToken", {
  about: "A personal access token, without its secret.",
  from: "tokens t",
  key: "t.id",
  // Only administrators see impersonation tokens, and those of others.
  visible: ({ caller }) =>
    caller?.admin
      ? all([])
      : all([when("t.user_id = ?", caller?.id ?? 0), when("t.impersonation = 0")]),
  fields: {
    id: gid("PersonalAccessToken", "t.id"),
    name: required(string("t.name")),
    description: string("t.description"),
    active: required(boolean(tokenFields.active)),
    revoked: required(boolean("t.revoked")),
    scopes: required(computed("[String!]", ["t.scopes"], ([scopes]) => String(scopes).split(" "))),
    createdAt: time("t.created_at"),
    lastUsedAt: time("t.last_used_at"),
    expiresAt: date("t.expires_at"),
  },
});

const STATE = enumeration<"active" | "inactive">("AccessTokenState", "Whether a token works.", {
  ACTIVE: "active",
  INACTIVE: "inactive",
});

const SORT = sortEnum("AccessTokenSort", "The order of tokens.", "t.id", {
  ID: { sql: "t.id" },
  CREATED: { sql: ORDERS.created },
  EXPIRES: { sql: ORDERS.expires, isText: true },
  LAST_USED: { sql: ORDERS.last_used },
  NAME: { sql: ORDERS.name, isText: true },
});

const REVOKE = routeOf(personalTokenResource, "DELETE /personal_access_tokens/:token_id");
const ROTATE = routeOf(personalTokenResource, "POST /personal_access_tokens/:token_id/rotate");

const tokenId = arg.gid("PersonalAccessToken");

/** Personal access tokens. */
export const graphqlModule: GraphqlModule = {
  types: [token],
  extend: {
    CurrentUser: {
      personalAccessTokens: connection("PersonalAccessToken", {
        args: {
          state: arg.choice(STATE),
          revoked: arg.boolean,
          search: arg.about("Part of the name.", arg.string),
          createdAfter: arg.time,
          createdBefore: arg.time,
          lastUsedAfter: arg.time,
          lastUsedBefore: arg.time,
          expiresAfter: arg.plainDate,
          expiresBefore: arg.plainDate,
          sort: arg.withDefault(arg.choice(SORT), SORT.values["ID_ASC"]),
        },
        query: ({ sort, ...filter }, { viewer: { today } }) => ({
          parent: "t.user_id",
          where: matching({ ...filter, today }),
          order: sort,
        }),
      }),
    },
  },
  mutations: {
    personalAccessTokenRevoke: mutation({
      about: "Revoke a personal access token.",
      input: { id: arg.required(tokenId) },
      payload: { personalAccessToken: property("PersonalAccessToken") },
      run: async ({ id }, { call, caller, db }) => {
        const { mayManage } = await findManaged(db, caller, id);
        if (!mayManage) throw notAvailable();
        await call(REVOKE, { token_id: id });
        return { personalAccessToken: id };
      },
    }),
    personalAccessTokenRotate: mutation({
      about: "Replace a personal access token by a new one; only this answer has its secret.",
      input: { id: arg.required(tokenId), expiresAt: arg.date },
      payload: {
        token: property("String"),
        personalAccessToken: property("PersonalAccessToken"),
      },
      run: async ({ id, expiresAt }, { call }) => {
        const created = await call(ROTATE, { token_id: id, expires_at: expiresAt });
        return { token: created["token"], personalAccessToken: created["id"] };
      },
    }),
  },
};
