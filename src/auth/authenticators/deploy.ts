import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import { unauthorized } from "../../core/errors.ts";
import type { Authenticator, AuthSettings } from "../../core/http/authenticator.ts";
import type { Reader } from "../../store/port.ts";
import { bearerOf, textOf } from "../request-tokens.ts";
import { digestOf } from "../token-secrets.ts";

interface DeployTokenRow {
  id: number;
  login: string;
  scopes: string;
  expires_at: number | null;
  namespace_id: number | null;
  project_id: number | null;
}

const BY_DIGEST = `select id, coalesce(username, 'gitlab+deploy-token-' || id) as login, scopes, expires_at,
    namespace_id, project_id
  from deploy_tokens where digest = ?`;

/**
 * The caller a deploy token stands for: no user, with a role in its group or project as its scopes need it.
 *
 * @param now epoch milliseconds
 * @param login the user name that must be the token's, if one was sent
 * @returns `undefined` for an unknown token, or another user name
 * @throws ApiError 401 for an expired token
 */
export async function deployTokenCaller(
  db: Reader,
  token: string,
  { ip, now, login }: { ip: string; now: number; login?: string },
  { tokenUsage }: Pick<AuthSettings, "tokenUsage">,
): Promise<Caller | undefined> {
  const row = await db.one<DeployTokenRow>(BY_DIGEST, [digestOf(token)]);
  if (!row || (login !== undefined && login !== row.login)) return undefined;
  if (row.expires_at !== null && row.expires_at <= now) throw unauthorized({ tokenGiven: true });
  tokenUsage.tokenUsed({ kind: "deploy", id: row.id }, ip, now);
  const scopes = row.scopes.split(" ");
  const { project_id: projectId, namespace_id: groupId } = row;
  const level = scopes.includes("write_package_registry") ? ROLES.developer : ROLES.reporter;
  return {
    id: 0,
    username: row.login,
    admin: false,
    // Not being a user, it reads what is internal only where it belongs.
    external: true,
    scopes,
    by: { kind: "deploy", id: row.id },
    reach:
      projectId === null
        ? { column: "namespace_id", id: groupId as number, level }
        : { column: "project_id", id: projectId, level },
  };
}

/** Deploy tokens in the header `Deploy-Token`, or as Bearer, on routes that accept them. */
export const deployToken: Authenticator = {
  refusesUnknown: true,
  credential: ({ route, incoming }) =>
    route.deployTokens
      ? (textOf(incoming.header("deploy-token")) ?? bearerOf(incoming.header("authorization")))
      : undefined,
  callerOf: (token, db, { ip }, now, settings) =>
    deployTokenCaller(db, token, { ip, now }, settings),
};
