import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { unauthorized } from "../../core/errors.ts";
import { type Authenticator, RevokedToken } from "../../core/http/authenticator.ts";
import { dayOf } from "../../core/time.ts";
import { tokenOf } from "../request-tokens.ts";
import { digestOf } from "../token-secrets.ts";
import { callerOf, USER_COLUMNS, type UserRow } from "./user-row.ts";

interface TokenRow extends UserRow {
  token_id: number;
  scopes: string;
  impersonation: number;
  revoked: number;
  expires_at: string | null;
  last_used_at: number | null;
}

const BY_DIGEST = `select ${USER_COLUMNS}, t.id as token_id, t.scopes, t.impersonation, t.revoked, t.expires_at,
    t.last_used_at
  from tokens t join users u on u.id = t.user_id and ${NOT_DELETED_USER} where t.digest = ?`;

/** Personal access tokens and impersonation tokens. */
export const personalToken: Authenticator = {
  refusesUnknown: true,
  credential: tokenOf,
  callerOf: async (token, db, { ip }, now, { tokenUsage, impersonation }) => {
    const row = await db.one<TokenRow>(BY_DIGEST, [digestOf(token)]);
    if (!row) return undefined;
    if (row.revoked === 1) throw new RevokedToken(row.token_id);
    // It expires at the start of its date (UTC).
    const hasExpired = row.expires_at !== null && row.expires_at <= dayOf(now);
    const kind = row.impersonation === 1 ? "impersonation" : "token";
    if (hasExpired || (kind === "impersonation" && !impersonation)) {
      throw unauthorized({ tokenGiven: true });
    }
    tokenUsage.tokenUsed(
      { kind: "personal", id: row.token_id, lastUsedAt: row.last_used_at },
      ip,
      now,
    );
    return callerOf(row, row.scopes.split(" "), { kind, id: row.token_id });
  },
};
