import { forbidden } from "../../core/errors.ts";
import type { Authenticate, Authenticator, Profile } from "../../core/http/authenticator.ts";
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
  callerOf: async (_, db, { host }, __, { authenticate, createAccount, reactivate }) => {
    const given = await (authenticate as Authenticate)(host);
    if (given === undefined || given === null) return undefined;
    const name = nameOf(given);
    const find = () =>
      db.one<UserRow>(
        `select ${USER_COLUMNS} from users u
         where ${typeof name === "number" ? "u.id = ?" : "lower(u.username) = lower(?)"}`,
        [name],
      );
    let row = await find();
    if (!row && typeof given === "object") {
      // Another request may have made it meanwhile.
      row = await createAccount(given).then(find, async (error) => {
        const other = await find();
        if (!other) throw error;
        return other;
      });
    }
    if (!row) throw forbidden(`There is no account here for '${name}'.`);
    if (row.state === "deactivated") {
      await reactivate(row.id);
      row = { ...row, state: "active" };
    }
    return callerOf(row, SESSION_SCOPES, { kind: "host" });
  },
};

/** The user name or id that the embedding app gave. @throws TypeError for anything else */
function nameOf(given: string | number | Profile): string | number {
  if (typeof given === "object") {
    const { username, name, email } = given;
    if ([username, name, email].every((one) => typeof one === "string" && one !== "")) {
      return username;
    }
  } else if (typeof given === "string" ? given !== "" : Number.isSafeInteger(given)) {
    return given;
  }
  const kind = Array.isArray(given)
    ? "an array"
    : given === ""
      ? "an empty text"
      : typeof given === "object"
        ? `an object with ${Object.keys(given).slice(0, 10).join(", ") || "nothing"}`
        : String(given);
  throw new TypeError(
    `authenticate returned ${kind}: it must return a user name, the id of a user, undefined for nobody, or { username, name, email } of somebody who gets an account`,
  );
}
