import * as audit from "../audit/log.ts";
import { digestOf, newOpaque } from "../auth/token-secrets.ts";
import type { OffsetWindow } from "../core/pagination.ts";
import { insertRow } from "../store/insert.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Database, Reader } from "../store/port.ts";
import type { Application } from "./applications.ts";

/** How long an authorization code can be redeemed, in milliseconds. */
const CODE_LIFETIME = 10 * 60_000;
/** How long an access token lasts, in milliseconds. */
export const TOKEN_LIFETIME = 7200_000;
/** How long an unused refresh token lasts, in milliseconds. */
const REFRESH_LIFETIME = 90 * 24 * 3_600_000;
/** How long ended tokens are remembered, in milliseconds: using one is not a guess (docs/authentication.md, "Limits"). */
const REMEMBERED = 30 * 24 * 3_600_000;

/** A user's consent to an application; without an application, one of the password grant. */
export interface Grant {
  id: number;
  application_id: number | null;
  user_id: number;
  /** Separated by spaces. */
  scopes: string;
  code_used: number;
  redirect_uri: string | null;
  code_challenge: string | null;
  code_challenge_method: string | null;
  /** What the application wants to find in the id_token. */
  nonce: string | null;
  /** When the user had signed in, in epoch milliseconds, if that is known. */
  auth_time: number | null;
  ends_at: number;
}

/** The request an authorization code is bound to. */
export interface CodeBinding {
  redirectUri: string;
  challenge: { method: string; value: string } | undefined;
  nonce: string | undefined;
  authTime: number | undefined;
}

/** An access token as stored. */
export interface Token {
  id: number;
  grant_id: number;
  scopes: string;
  replaced: number;
  created_at: number;
  expires_at: number;
}

/** The secrets of a new token. */
export interface Issued {
  accessToken: string;
  refreshToken: string | undefined;
  scopes: string;
  createdAt: number;
}

interface NewGrant {
  applicationId: number | null;
  userId: number;
  scopes: string;
}

/**
 * Stores a user's consent and returns the code the application redeems it with, once and within ten minutes.
 *
 * @returns the code, of which only a digest is stored
 */
export async function insertWithCode(
  db: Database,
  grant: NewGrant,
  binding: CodeBinding,
  now: number,
): Promise<string> {
  const { secret, digest } = newOpaque();
  await insert(db, { ...grant, code: digest, ...binding }, now + CODE_LIFETIME, now);
  return secret;
}

/** Stores a user's consent to a device, and returns its first pair of tokens. */
export async function insertForDevice(
  db: Database,
  grant: NewGrant & Pick<CodeBinding, "authTime">,
  now: number,
): Promise<Issued> {
  const id = await insert(db, grant, now + REFRESH_LIFETIME, now);
  return insertToken(db, id, grant.scopes, { refreshable: true }, now);
}

/** Stores a user's consent and returns its only token, which can't be refreshed. */
export async function insertWithToken(db: Database, grant: NewGrant, now: number): Promise<Issued> {
  const id = await insert(db, grant, now + TOKEN_LIFETIME, now);
  return insertToken(db, id, grant.scopes, { refreshable: false }, now);
}

async function insert(
  db: Database,
  grant: NewGrant & Partial<CodeBinding> & { code?: string },
  endsAt: number,
  now: number,
): Promise<number> {
  // Grants that ended long ago are deleted here, so no sweep is needed.
  await db.run("delete from oauth_grants where ends_at <= ?", [now - REMEMBERED]);
  await db.run("delete from oauth_tokens where created_at <= ?", [now - REFRESH_LIFETIME]);
  return insertRow(db, "oauth_grants", {
    application_id: grant.applicationId,
    user_id: grant.userId,
    scopes: grant.scopes,
    code_digest: grant.code ?? null,
    code_used: 0,
    redirect_uri: grant.redirectUri ?? null,
    code_challenge: grant.challenge?.value ?? null,
    code_challenge_method: grant.challenge?.method ?? null,
    nonce: grant.nonce ?? null,
    auth_time: grant.authTime ?? null,
    created_at: now,
    ends_at: endsAt,
  });
}

const GRANT = `select g.id, g.application_id, g.user_id, g.scopes, g.code_used, g.redirect_uri, g.code_challenge,
  g.code_challenge_method, g.nonce, g.auth_time, g.ends_at from oauth_grants g`;

/** A grant by its code, used or not, or `undefined`. */
export async function findByCode(db: Reader, code: string): Promise<Grant | undefined> {
  return db.one<Grant>(`${GRANT} where g.code_digest = ?`, [digestOf(code)]);
}

/** A grant with one of its tokens, by that token's refresh token, even a replaced one; or `undefined`. */
export async function findByRefreshToken(
  db: Reader,
  refreshToken: string,
): Promise<{ grant: Grant; token: Token } | undefined> {
  return findByToken(db, "refresh_digest", refreshToken);
}

/** A grant with one of its tokens, by the access token, even an expired or replaced one; or `undefined`. */
export async function findByAccessToken(
  db: Reader,
  accessToken: string,
): Promise<{ grant: Grant; token: Token } | undefined> {
  return findByToken(db, "digest", accessToken);
}

async function findByToken(
  db: Reader,
  column: "digest" | "refresh_digest",
  secret: string,
): Promise<{ grant: Grant; token: Token } | undefined> {
  const token = await db.one<Token>(
    `select id, grant_id, scopes, replaced, created_at, expires_at from oauth_tokens where ${column} = ?`,
    [digestOf(secret)],
  );
  if (!token) return undefined;
  const grant = await db.one<Grant>(`${GRANT} where g.id = ?`, [token.grant_id]);
  return grant && { grant, token };
}

/** Redeems a grant's code for its first pair of tokens. */
export async function redeem(db: Database, grant: Grant, now: number): Promise<Issued> {
  await db.run("update oauth_grants set code_used = 1, ends_at = ? where id = ?", [
    now + REFRESH_LIFETIME,
    grant.id,
  ]);
  return insertToken(db, grant.id, grant.scopes, { refreshable: true }, now);
}

/** How long a second use of a refresh token counts as a retry, in milliseconds. */
const RETRY_WINDOW = 10_000;

/** Whether a token was the last one to be replaced, a moment ago. */
export async function isJustReplaced(db: Reader, token: Token, now: number): Promise<boolean> {
  const later = await db.rows(
    "select created_at from oauth_tokens where grant_id = ? and id > ? limit 2",
    [token.grant_id, token.id],
  );
  return later.length === 1 && now - (later[0]?.[0] as number) < RETRY_WINDOW;
}

/** Replaces a pair of tokens with a new one; the old pair is refused from then on. */
export async function rotate(
  db: Database,
  token: Token,
  scopes: string,
  now: number,
): Promise<Issued> {
  await db.run("update oauth_tokens set replaced = 1 where id = ?", [token.id]);
  await db.run("update oauth_grants set ends_at = ? where id = ?", [
    now + REFRESH_LIFETIME,
    token.grant_id,
  ]);
  return insertToken(db, token.grant_id, scopes, { refreshable: true }, now);
}

async function insertToken(
  db: Database,
  grantId: number,
  scopes: string,
  { refreshable }: { refreshable: boolean },
  now: number,
): Promise<Issued> {
  const access = newOpaque();
  const refresh = refreshable ? newOpaque() : undefined;
  await insertRow(db, "oauth_tokens", {
    grant_id: grantId,
    digest: access.digest,
    refresh_digest: refresh?.digest ?? null,
    scopes,
    replaced: 0,
    created_at: now,
    expires_at: now + TOKEN_LIFETIME,
  });
  return { accessToken: access.secret, refreshToken: refresh?.secret, scopes, createdAt: now };
}

/** Revokes a grant: its code and every token of the family. */
export function revoke(db: Database, grantId: number, now: number): Promise<number> {
  return end(db, "id = ?", [grantId], now);
}

/** @param where which grants, in SQL @returns how many had not ended before */
async function end(
  db: Database,
  where: string,
  values: readonly number[],
  now: number,
): Promise<number> {
  await db.run(
    `update oauth_tokens set replaced = 1 where grant_id in (select id from oauth_grants where ${where})`,
    values,
  );
  return db.run(
    `update oauth_grants set code_used = 1, ends_at = ? where ${where} and ends_at > ?`,
    [now, ...values, now],
  );
}

/** Whether a user has allowed an application exactly these scopes by code, and it has redeemed that. */
export async function isAuthorized(
  db: Reader,
  { userId, applicationId, scopes }: { userId: number; applicationId: number; scopes: string },
  now: number,
): Promise<boolean> {
  const rows = await db.rows(
    `select distinct g.scopes from oauth_grants g
     where g.user_id = ? and g.application_id = ? and g.ends_at > ? and g.code_used = 1`,
    [userId, applicationId, now],
  );
  return rows.some(([allowed]) => sorted(String(allowed)) === sorted(scopes));
}

const REDEEMED = "(g.code_digest is null or g.code_used = 1)";

function sorted(scopes: string): string {
  return scopes.split(" ").sort().join(" ");
}

/** An application with access to a user's account. */
export interface AuthorizedApplication {
  application_id: number;
  name: string;
  /** The owner's user name. */
  owner: string | null;
  scopes: string[];
  /** Since when, in epoch milliseconds. */
  since: number;
}

/** One page of the applications with access to a user's account, by name. */
export async function authorizedBy(
  db: Reader,
  userId: number,
  now: number,
  { limit, offset }: OffsetWindow,
): Promise<AuthorizedApplication[]> {
  const found = await db.all<Omit<AuthorizedApplication, "scopes">>(
    `select a.id as application_id, a.name, u.username as owner, min(g.created_at) as since
     from oauth_grants g join oauth_applications a on a.id = g.application_id
     left join users u on u.id = a.user_id
     where g.user_id = ? and g.ends_at > ? and ${REDEEMED}
     group by a.id, a.name, u.username order by a.name, a.id limit ? offset ?`,
    [userId, now, limit, offset],
  );
  if (found.length === 0) return [];
  const ids = placeholders(found.map(({ application_id }) => application_id));
  const allowed = await db.rows(
    `select distinct g.application_id, g.scopes from oauth_grants g
     where g.user_id = ? and g.application_id in (${ids.sql}) and g.ends_at > ? and ${REDEEMED}
     order by g.application_id, g.scopes`,
    [userId, ...ids.values, now],
  );
  return found.map((application) => {
    const own = allowed.filter(([id]) => id === application.application_id);
    const scopes = own.flatMap(([, text]) => String(text).split(" "));
    return { ...application, scopes: [...new Set(scopes)] };
  });
}

/**
 * Revokes every grant a user gave an application.
 *
 * @returns whether it had any
 */
export async function revokeAccess(
  db: Database,
  by: audit.Actor,
  { userId, application }: { userId: number; application: Pick<Application, "id" | "name"> },
  now: number,
): Promise<boolean> {
  const where = "user_id = ? and application_id = ?";
  if ((await end(db, where, [userId, application.id], now)) === 0) return false;
  await audit.log({ db, by, now }, "application access revoked", { target: application.name });
  return true;
}
