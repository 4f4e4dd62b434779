import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import type { Authenticator } from "../../core/http/authenticator.ts";
import type { Scope } from "../../core/scopes.ts";
import { userOfFeedToken } from "../feed-tokens.ts";
import { textOf } from "../request-tokens.ts";
import { callerOf, USER_COLUMNS, type UserRow } from "./user-row.ts";

/** Feed tokens are accepted by routes of feeds only, which read. */
const FEED_SCOPES: readonly Scope[] = ["read_api"];

const USER = `select ${USER_COLUMNS} from users u where u.id = ? and ${NOT_DELETED_USER}`;

/** Feed tokens, which readers of feeds send in the address: `feed_token`, or `rss_token` as it was called before. */
export const feedToken: Authenticator = {
  refusesUnknown: true,
  credential: ({ incoming, parameters, route }, { url }) => {
    if (!route.feedTokens) return undefined;
    const token = textOf(parameters["feed_token"]) ?? textOf(parameters["rss_token"]);
    // Some tokens are good for one path only.
    const { pathname } = new URL(url ?? (incoming.base as string));
    return token && `${token} ${pathname === "/" ? "" : pathname}${incoming.path}`;
  },
  callerOf: async (credential, db, _incoming, _now, { secrets }) => {
    const [token = "", path = ""] = credential.split(" ", 2);
    const userId = await userOfFeedToken(db, secrets, token, path);
    const row = userId === undefined ? undefined : await db.one<UserRow>(USER, [userId]);
    return row && callerOf(row, FEED_SCOPES, { kind: "feed" });
  },
};
