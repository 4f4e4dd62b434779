import { BEING_DELETED } from "../../core/access/visibility.ts";
import { unauthorized } from "../../core/errors.ts";
import type { Authenticator } from "../../core/http/authenticator.ts";
import { decodePath } from "../../core/http/parameters.ts";
import { dayOf } from "../../core/time.ts";
import { bearerOf } from "../request-tokens.ts";
import { digestOf } from "../token-secrets.ts";
import { SESSION_SCOPES } from "./user-row.ts";

interface TokenRow {
  id: number;
  name: string;
  access_level: number;
  revoked: number;
  expires_at: string | null;
  last_used_at: number | null;
  group_id: number;
  full_path: string;
}

const BY_DIGEST = `select t.id, t.name, t.access_level, t.revoked, t.expires_at, t.last_used_at,
    n.id as group_id, n.full_path
  from scim_tokens t join namespaces n on n.id = t.namespace_id
  where t.digest = ? and n.visibility > ${BEING_DELETED}`;

/**
 * SCIM tokens of the group in the path's `:group_path`, in the `Authorization` header only. Another group's token is
 * refused like an unknown one, so that nobody learns which groups there are.
 */
export const scimToken: Authenticator = {
  refusesUnknown: true,
  credential: ({ incoming }) => bearerOf(incoming.header("authorization")),
  callerOf: async (token, db, { ip }, now, { tokenUsage }, params) => {
    const row = await db.one<TokenRow>(BY_DIGEST, [digestOf(token)]);
    if (!row) return undefined;
    const { id, name, full_path: groupPath, group_id: groupId, expires_at } = row;
    const asked = decodePath(params["group_path"] ?? "").toLowerCase();
    const hasExpired = expires_at !== null && expires_at <= dayOf(now);
    if (row.revoked === 1 || hasExpired || asked !== groupPath.toLowerCase()) {
      throw unauthorized({ tokenGiven: true });
    }
    tokenUsage.tokenUsed({ kind: "scim", id, lastUsedAt: row.last_used_at }, ip, now);
    return {
      id: 0,
      username: `SCIM token ${id} (${name})`,
      admin: false,
      external: true,
      scopes: SESSION_SCOPES,
      by: { kind: "scim", id, groupId, groupPath, accessLevel: row.access_level },
    };
  },
};
