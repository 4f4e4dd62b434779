import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import type { Authenticator } from "../../core/http/authenticator.ts";
import { isSafe } from "../../core/http/incoming.ts";
import { hasCsrfToken, isCrossSite, sessionOf } from "../../core/http/session-cookie.ts";
import { digestOf } from "../token-secrets.ts";
import { callerOf, SESSION_SCOPES, USER_COLUMNS, type UserRow } from "./user-row.ts";

interface SessionRow extends UserRow {
  session_id: number;
  last_seen_at: number;
  expires_at: number;
}

const BY_DIGEST = `select ${USER_COLUMNS}, s.id as session_id, s.last_seen_at, s.expires_at
  from sessions s join users u on u.id = s.user_id and ${NOT_DELETED_USER} where s.digest = ?`;

/**
 * Users who are signed in here. The cookie alone is enough for reading; changes also need its CSRF token. It does not
 * count if the embedding app has its own sign-in.
 */
export const sessionCookie: Authenticator = {
  refusesUnknown: false,
  credential: ({ incoming, isVerified }, { authenticate, url }) => {
    const session = authenticate ? undefined : sessionOf(incoming);
    if (session === undefined) return undefined;
    const counts =
      isVerified ||
      isSafe(incoming) ||
      (hasCsrfToken(incoming, session) && !isCrossSite(incoming, url));
    return counts ? session : undefined;
  },
  callerOf: async (session, db, { ip }, now, { tokenUsage }) => {
    const row = await db.one<SessionRow>(BY_DIGEST, [digestOf(session)]);
    if (!row || row.expires_at <= now) return undefined;
    const caller = callerOf(row, SESSION_SCOPES, { kind: "session", id: row.session_id });
    tokenUsage.sessionUsed({ id: row.session_id, lastSeenAt: row.last_seen_at }, ip, now);
    return caller;
  },
};

/**
 * Like {@link sessionCookie}, for mounts whose POST requests may only read: they ask for the CSRF token themselves before
 * they change anything. Requests of other sites' pages are anonymous.
 */
export const readingSession: Authenticator = {
  ...sessionCookie,
  credential: ({ incoming }, { authenticate, url }) =>
    authenticate || isCrossSite(incoming, url) ? undefined : sessionOf(incoming),
};
