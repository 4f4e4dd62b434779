import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { unauthorized } from "../../core/errors.ts";
import type { Authenticator } from "../../core/http/authenticator.ts";
import { tokenOf } from "../request-tokens.ts";
import { digestOf } from "../token-secrets.ts";
import { callerOf, USER_COLUMNS, type UserRow } from "./user-row.ts";

interface AccessTokenRow extends UserRow {
  token_id: number;
  scopes: string;
  application_id: number | null;
  replaced: number;
  expires_at: number;
}

const BY_DIGEST = `select ${USER_COLUMNS}, t.id as token_id, t.scopes, t.replaced, t.expires_at, g.application_id
  from oauth_tokens t join oauth_grants g on g.id = t.grant_id join users u on u.id = g.user_id and ${NOT_DELETED_USER}
  where t.digest = ?`;

/** OAuth2 access tokens, which are sent like personal ones. */
export const accessToken: Authenticator = {
  refusesUnknown: true,
  credential: tokenOf,
  callerOf: async (token, db, { ip }, now, { tokenUsage }) => {
    const row = await db.one<AccessTokenRow>(BY_DIGEST, [digestOf(token)]);
    if (!row) return undefined;
    if (row.replaced === 1 || row.expires_at <= now) throw unauthorized({ tokenGiven: true });
    const { token_id: id, application_id: applicationId } = row;
    tokenUsage.tokenUsed({ kind: "oauth", id }, ip, now);
    return callerOf(row, row.scopes.split(" "), { kind: "oauth", id, applicationId });
  },
};
