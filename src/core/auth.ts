import { randomBytes } from "node:crypto";
import type { Reader } from "../store/port.ts";
import { digest } from "./digest.ts";
import { ApiError, forbidden, insufficientScope, unauthorized } from "./errors.ts";
import type { Incoming } from "./incoming.ts";
import type { Parameters } from "./parameters.ts";
import { hasCsrfToken, sessionOf } from "./session.ts";
import { dayOf } from "./time.ts";

/** What a token may be used for (gitlab-facts §9). */
export const SCOPES = ["api", "read_api", "read_user", "sudo"] as const;
export type Scope = (typeof SCOPES)[number];
/** Who is signed in may do all but act as others (contract §5). */
const SESSION_SCOPES: readonly Scope[] = ["api"];

/** A user, as far as what they may see depends on it. */
export interface Person {
  readonly id: number;
  readonly username: string;
  readonly admin: boolean;
  /** External users see internal groups and projects only where they are members. */
  readonly external: boolean;
}

/** Who is calling. */
export interface Caller extends Person {
  readonly scopes: readonly string[];
  /** What proved who they are. */
  readonly by: Proof;
}

/** What a caller was known by, with the id of its record. */
type Proof =
  | { readonly kind: "token" | "impersonation" | "session"; readonly id: number }
  | { readonly kind: "host" };

/** The secret of a new token, and what of it is stored. */
export interface Secret {
  secret: string;
  digest: string;
}

/** Makes the secret of a personal access token: 160 random bits behind a recognisable prefix. */
export function newSecret(): Secret {
  const secret = `pmat-${randomBytes(20).toString("hex")}`;
  return { secret, digest: digestOf(secret) };
}

/** What is stored of a secret and looked up by: its SHA-256, so that the table gives nothing away. */
export function digestOf(secret: string): string {
  return digest("sha256", secret);
}

/**
 * The token a request carries, by GitLab's precedence (gitlab-facts §9): `access_token`, `Authorization: Bearer`,
 * `bearer_token`, `private_token`, `Private-Token`. The first that isn't empty decides, valid or not.
 *
 * @param parameters query and body
 * @throws ApiError 400 where both a Bearer header and `access_token` are sent (RFC 6750 §2)
 */
function tokenOf(incoming: Pick<Incoming, "header">, parameters: Parameters): string | undefined {
  const bearer = bearerOf(incoming.header("authorization"));
  const accessToken = textOf(parameters["access_token"]);
  if (bearer && accessToken) {
    throw new ApiError(400, {
      error: "invalid_request",
      error_description: "Both Authorization header and payload includes access token.",
    });
  }
  return (
    accessToken ??
    bearer ??
    textOf(parameters["bearer_token"]) ??
    textOf(parameters["private_token"]) ??
    textOf(incoming.header("private-token"))
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function bearerOf(header: string | undefined): string | undefined {
  if (!header) return undefined;
  return textOf(/^bearer +(.*)$/i.exec(header)?.[1]?.trim());
}

interface UserRow {
  id: number;
  username: string;
  admin: number;
  external: number;
  state: string;
}

/** What authentication asks of the application's settings. */
export interface AuthSettings {
  store: Reader;
  /** Whether impersonation tokens are accepted (contract §5). */
  impersonation: boolean;
}

/**
 * Finds who calls, by the token a request carries, else by its session.
 *
 * @param now epoch milliseconds
 * @returns `undefined` for nobody: neither a token nor a session that counts
 * @throws ApiError 401 for a token that is unknown, revoked or expired, 403 for a blocked user
 */
export async function findCaller(
  settings: AuthSettings,
  incoming: Pick<Incoming, "method" | "header">,
  parameters: Parameters,
  now: number,
): Promise<Caller | undefined> {
  const token = tokenOf(incoming, parameters);
  if (token !== undefined) return byToken(settings, token, dayOf(now));
  const session = sessionOf(incoming);
  if (session === undefined) return undefined;
  // Alone it counts where nothing is changed, else with its CSRF token (gitlab-facts §9).
  const isSafe = incoming.method === "GET" || incoming.method === "HEAD";
  return isSafe || hasCsrfToken(incoming, session)
    ? bySession(settings.store, session, now)
    : undefined;
}

/** @param today a token is expired from the start of its date on (gitlab-facts §9) */
async function byToken(settings: AuthSettings, token: string, today: string): Promise<Caller> {
  const [row] = await settings.store.all<
    UserRow & { token_id: number; scopes: string; impersonation: number }
  >(
    `select u.id, u.username, u.admin, u.external, u.state, t.id as token_id, t.scopes, t.impersonation
     from tokens t join users u on u.id = t.user_id
     where t.digest = ? and t.revoked = 0 and (t.expires_at is null or t.expires_at > ?)`,
    [digestOf(token), today],
  );
  if (!row || (row.impersonation === 1 && !settings.impersonation)) {
    throw unauthorized({ tokenGiven: true });
  }
  const kind = row.impersonation === 1 ? "impersonation" : "token";
  return callerOf(row, row.scopes.split(" "), { kind, id: row.token_id });
}

/**
 * Finds who is signed in.
 *
 * @param session the cookie's value
 * @param now epoch milliseconds
 * @throws ApiError 403 for a blocked user
 */
export async function bySession(
  db: Reader,
  session: string,
  now: number,
): Promise<Caller | undefined> {
  const [row] = await db.all<UserRow & { session_id: number }>(
    `select u.id, u.username, u.admin, u.external, u.state, s.id as session_id
     from sessions s join users u on u.id = s.user_id where s.digest = ? and s.expires_at > ?`,
    [digestOf(session), now],
  );
  return row && callerOf(row, SESSION_SCOPES, { kind: "session", id: row.session_id });
}

function callerOf(row: UserRow, scopes: readonly string[], by: Proof): Caller {
  if (row.state !== "active") throw forbidden("Your account has been blocked.");
  return {
    id: row.id,
    username: row.username,
    admin: row.admin === 1,
    external: row.external === 1,
    scopes,
    by,
  };
}

/**
 * Checks that a token reaches a route.
 *
 * @throws ApiError 403 insufficient_scope naming the scopes that would
 */
export function requireScope(caller: Caller, accepted: readonly Scope[]): void {
  if (!caller.scopes.some((scope) => (accepted as readonly string[]).includes(scope))) {
    throw insufficientScope(accepted);
  }
}
