import { forbidden } from "../../core/errors.ts";
import type { Authenticate, Authenticator } from "../../core/http/authenticator.ts";
import { isSafe } from "../../core/http/incoming.ts";
import { isCrossSite } from "../../core/http/session-cookie.ts";
import { callerOf, SESSION_SCOPES, USER_COLUMNS, type UserRow } from "./user-row.ts";

/**
 * Users who are signed in at the embedding app. Only the app reads their credential, so ours is an empty text.
 * Other sites' pages can't change anything with it.
 */
export const hostSignIn: Authenticator = {
  refusesUnknown: false,
  credential: ({ incoming, isVerified }, { authenticate, url }) =>
    authenticate && (isVerified || isSafe(incoming) || !isCrossSite(incoming, url))
      ? ""
      : undefined,
  callerOf: async (_, db, { host }, __, { authenticate }) => {
    const name = await (authenticate as Authenticate)(host);
    if (name === undefined || name === null) return undefined;
    const row = await db.one<UserRow>(
      `select ${USER_COLUMNS} from users u
       where ${typeof name === "number" ? "u.id = ?" : "lower(u.username) = lower(?)"}`,
      [name],
    );
    if (!row) throw forbidden(`There is no account here for '${name}'.`);
    return callerOf(row, SESSION_SCOPES, { kind: "host" });
  },
};
