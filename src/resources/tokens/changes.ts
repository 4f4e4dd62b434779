import * as audit from "../../audit/log.ts";
import { newSecret } from "../../auth/token-secrets.ts";
import type { Database, Store } from "../../store/port.ts";
import * as tokens from "./queries.ts";
import { requireScopes } from "./rules.ts";

/** The values of a new token; its secret is created here. */
export type TokenValues = Omit<tokens.NewToken, "digest">;

/** A new token's id and its secret, of which only a digest is stored. */
export interface CreatedToken {
  id: number;
  secret: string;
}

/** Creates a token. @throws ApiError 400 for no or unknown scopes */
export async function createToken(
  context: audit.AuditContext,
  values: TokenValues,
): Promise<CreatedToken> {
  requireScopes(values.scopes);
  const created = await insert(context.db, values, context.now);
  await logChange(context, "token made", values);
  return created;
}

/** Revokes a token for good, unless it already was; its record stays. */
export async function revokeToken(context: audit.AuditContext, found: tokens.Token): Promise<void> {
  if (await tokens.revoke(context.db, found.id, context.now)) {
    await logChange(context, "token revoked", found);
  }
}

/**
 * Revokes a token and creates one with the same name and scopes.
 *
 * @param expiresAt the day on which the new one expires; `null` for never
 * @returns `undefined` if the token was already revoked
 */
export async function rotateToken(
  context: audit.AuditContext,
  found: tokens.Token,
  expiresAt: string | null,
): Promise<CreatedToken | undefined> {
  const { db, now } = context;
  if (!(await tokens.revoke(db, found.id, now))) return undefined;
  const values = {
    user_id: found.user_id,
    name: found.name,
    description: found.description,
    scopes: found.scopes.split(" "),
    impersonation: found.impersonation === 1,
    expires_at: expiresAt,
    family_id: found.family_id ?? found.id,
  };
  const created = await insert(db, values, now);
  await logChange(context, "token rotated", found);
  return created;
}

/** Revokes a token's whole family: rotating with a revoked token is a sign of theft. */
export function revokeReused(store: Store, tokenId: number, now: number): Promise<void> {
  return store.transaction(async (db) => {
    const found = await tokens.find(db, tokenId);
    const revoked = found ? await tokens.revokeFamily(db, found, now) : [];
    const by = { id: null, name: "", ip: "" };
    for (const { user_id, name } of revoked) {
      const about = { userId: user_id, target: name };
      await audit.log({ db, by, now }, "reuse of a token detected", about);
    }
  });
}

async function insert(db: Database, values: TokenValues, now: number): Promise<CreatedToken> {
  const { secret, digest } = newSecret();
  return { id: await tokens.insert(db, { ...values, digest }, now), secret };
}

function logChange(
  context: audit.AuditContext,
  action: "token made" | "token revoked" | "token rotated",
  token: Pick<tokens.Token, "user_id" | "name"> & { impersonation: boolean | number },
): Promise<void> {
  const target = token.impersonation ? `${token.name} (impersonation)` : token.name;
  return audit.log(context, action, { userId: token.user_id, target });
}
