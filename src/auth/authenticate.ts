import type { Caller, Proof } from "../core/access/caller.ts";
import {
  ApiError,
  forbidden,
  insufficientScope,
  invalid,
  notFound,
  unauthorized,
} from "../core/errors.ts";
import type { HostRequest, Incoming } from "../core/http/incoming.ts";
import type { Parameters } from "../core/http/parameters.ts";
import { isCrossSite, isVerified, sessionOf } from "../core/http/session-cookie.ts";
import type { Scope } from "../core/scopes.ts";
import { dayOf } from "../core/time.ts";
import type { Awaitable, Reader } from "../store/port.ts";
import { digestOf } from "./token-secrets.ts";

/** Signed-in users may do everything but act as others; so may CI jobs on routes that accept their tokens. */
const SESSION_SCOPES: readonly Scope[] = ["api"];

/**
 * The token a request carries, in GitLab's order of precedence: `access_token`, `Authorization: Bearer`,
 * `bearer_token`, `private_token`, `Private-Token`. The first non-empty one counts, valid or not.
 *
 * @param parameters query and body
 * @throws ApiError 400 if both a Bearer header and `access_token` are sent (RFC 6750 §2)
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

/** The CI job token a request carries: `job_token`, then `JOB-TOKEN`. */
function jobTokenOf(incoming: Pick<Incoming, "header">, parameters: Parameters) {
  return textOf(parameters["job_token"]) ?? textOf(incoming.header("job-token"));
}

/** Whether two sets of one request's parameters, such as with and without its body, carry the same token or none. */
export function isSameCredential(
  incoming: Pick<Incoming, "header">,
  some: Parameters,
  all: Parameters,
): boolean {
  return (
    tokenOf(incoming, some) === tokenOf(incoming, all) &&
    jobTokenOf(incoming, some) === jobTokenOf(incoming, all)
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The token of an `Authorization: Bearer` header, if it is one and isn't empty. */
export function bearerOf(header: string | undefined): string | undefined {
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

/** The settings of authentication. */
export interface AuthSettings {
  /** Whether impersonation tokens are accepted. */
  impersonation: boolean;
  /** Informed of every use of a token or session. */
  tokenUsage: TokenUsage;
  /** The embedding app's own sign-in, replacing ours. */
  authenticate: Authenticate | undefined;
  /** The public address, if it differs from the request's. */
  url: string | undefined;
}

/** A used token. For personal ones the time of the last use is recorded. */
type UsedToken =
  | { readonly kind: "personal"; readonly id: number; readonly lastUsedAt: number | null }
  | { readonly kind: "job" | "oauth"; readonly id: number };

/** A used session. */
interface UsedSession {
  readonly id: number;
  /** In epoch milliseconds. */
  readonly lastSeenAt: number;
}

/** Records uses of tokens and sessions, and stops clients that guess tokens. */
export interface TokenUsage {
  /**
   * A valid token was used.
   *
   * @param token its record; `lastUsedAt`: its last recorded use, in epoch milliseconds
   * @throws ApiError 429 if the address has guessed too often, and the token was not used from there before
   */
  tokenUsed(token: UsedToken, ip: string, now: number): void;
  /**
   * A token was sent that never existed.
   *
   * @throws ApiError 429 if the address has guessed too often
   */
  unknownToken(ip: string, now: number): Promise<void>;
  /** A valid session was used. */
  sessionUsed(session: UsedSession, ip: string, now: number): void;
}

/** 401 for a revoked token. */
export class RevokedToken extends ApiError {
  /** @param tokenId the id of its record */
  constructor(readonly tokenId: number) {
    const { status, body, headers } = unauthorized({ tokenGiven: true });
    super(status, body, headers);
  }
}

/**
 * Returns who is signed in at the embedding app.
 *
 * @param request the adapter's own request object
 * @returns their user name or id here; `undefined` or `null` if nobody is signed in
 */
export type Authenticate = (request: HostRequest) => Awaitable<string | number | null | undefined>;

/**
 * Finds the caller by the request's token, else by who is signed in.
 *
 * @param db reads of this request
 * @param now epoch milliseconds
 * @param options `jobTokens`: whether CI job tokens are accepted
 * @returns `undefined` for anonymous callers: neither a token nor a valid session
 * @throws ApiError 401 for an unknown, revoked or expired token, 403 for a blocked user, 429 for too many guesses
 */
export function findCaller(
  settings: AuthSettings,
  db: Reader,
  incoming: Omit<Incoming, "body">,
  parameters: Parameters,
  now: number,
  options: { jobTokens: boolean },
): Awaitable<Caller | undefined> {
  const token = tokenOf(incoming, parameters);
  if (token !== undefined) return byToken(settings, db, token, incoming.ip, now);
  const jobToken = options.jobTokens ? jobTokenOf(incoming, parameters) : undefined;
  if (jobToken !== undefined) return byJobToken(settings, db, jobToken, incoming.ip, now);
  const isSafe = incoming.method === "GET" || incoming.method === "HEAD";
  if (settings.authenticate) {
    const counts = isSafe || !isCrossSite(incoming, settings.url);
    return counts ? findSignedIn(settings, db, incoming, now) : undefined;
  }
  const session = sessionOf(incoming);
  if (session === undefined) return undefined;
  // The cookie alone is enough for reading; changes also need its CSRF token, as on pages.
  return isSafe || isVerified(incoming, session, settings.url)
    ? findSignedIn(settings, db, incoming, now)
    : undefined;
}

interface TokenRow extends UserRow {
  token_id: number;
  scopes: string;
  impersonation: number;
  revoked: number;
  expires_at: string | null;
  last_used_at: number | null;
}

async function byToken(
  settings: AuthSettings,
  db: Reader,
  token: string,
  ip: string,
  now: number,
): Promise<Caller> {
  const row = await db.one<TokenRow>(
    `select u.id, u.username, u.admin, u.external, u.state, t.id as token_id, t.scopes, t.impersonation,
       t.revoked, t.expires_at, t.last_used_at
     from tokens t join users u on u.id = t.user_id where t.digest = ?`,
    [digestOf(token)],
  );
  if (!row) return byAccessToken(settings, db, token, ip, now);
  if (row.revoked === 1) throw new RevokedToken(row.token_id);
  // It expires at the start of its date (UTC).
  const isOver = row.expires_at !== null && row.expires_at <= dayOf(now);
  const kind = row.impersonation === 1 ? "impersonation" : "token";
  if (isOver || (kind === "impersonation" && !settings.impersonation)) {
    throw unauthorized({ tokenGiven: true });
  }
  const used = { kind: "personal", id: row.token_id, lastUsedAt: row.last_used_at } as const;
  settings.tokenUsage.tokenUsed(used, ip, now);
  return callerOf(row, row.scopes.split(" "), { kind, id: row.token_id });
}

interface JobTokenRow extends UserRow {
  token_id: number;
  expires_at: number;
  project_id: number;
  project_path: string;
}

async function byJobToken(
  settings: AuthSettings,
  db: Reader,
  token: string,
  ip: string,
  now: number,
): Promise<Caller> {
  const row = await db.one<JobTokenRow>(
    `select u.id, u.username, u.admin, u.external, u.state, j.id as token_id, j.expires_at, j.project_id,
       p.full_path as project_path
     from job_tokens j join users u on u.id = j.user_id join projects p on p.id = j.project_id
     where j.digest = ?`,
    [digestOf(token)],
  );
  if (!row) await settings.tokenUsage.unknownToken(ip, now);
  if (!row || row.expires_at <= now) throw unauthorized({ tokenGiven: true });
  const { token_id: id, project_id: projectId, project_path: projectPath } = row;
  settings.tokenUsage.tokenUsed({ kind: "job", id }, ip, now);
  return callerOf(row, SESSION_SCOPES, { kind: "job", id, projectId, projectPath });
}

/** Finds the user by an OAuth2 access token. */
async function byAccessToken(
  settings: AuthSettings,
  db: Reader,
  token: string,
  ip: string,
  now: number,
): Promise<Caller> {
  const row = await db.one<
    UserRow & {
      token_id: number;
      scopes: string;
      application_id: number | null;
      replaced: number;
      expires_at: number;
    }
  >(
    `select u.id, u.username, u.admin, u.external, u.state, t.id as token_id, t.scopes, t.replaced, t.expires_at,
       g.application_id
     from oauth_tokens t join oauth_grants g on g.id = t.grant_id join users u on u.id = g.user_id
     where t.digest = ?`,
    [digestOf(token)],
  );
  if (!row) await settings.tokenUsage.unknownToken(ip, now);
  if (!row || row.replaced === 1 || row.expires_at <= now) throw unauthorized({ tokenGiven: true });
  settings.tokenUsage.tokenUsed({ kind: "oauth", id: row.token_id }, ip, now);
  const applicationId = row.application_id;
  return callerOf(row, row.scopes.split(" "), { kind: "oauth", id: row.token_id, applicationId });
}

/**
 * Finds who is signed in: at the embedding app if it has its own sign-in, else by the session cookie.
 *
 * @param db reads of this request
 * @param now epoch milliseconds
 * @throws ApiError 403 for a blocked user, and for a user of the embedding app without an account here
 */
export async function findSignedIn(
  { tokenUsage, authenticate }: Pick<AuthSettings, "tokenUsage" | "authenticate">,
  db: Reader,
  incoming: Pick<Incoming, "header" | "host" | "ip">,
  now: number,
): Promise<Caller | undefined> {
  if (authenticate) {
    const name = await authenticate(incoming.host);
    return name === undefined || name === null ? undefined : byName(db, name);
  }
  const session = sessionOf(incoming);
  return session === undefined ? undefined : bySession(tokenUsage, db, session, incoming.ip, now);
}

async function byName(db: Reader, name: string | number): Promise<Caller> {
  const row = await db.one<UserRow>(
    `select id, username, admin, external, state from users
     where ${typeof name === "number" ? "id = ?" : "lower(username) = lower(?)"}`,
    [name],
  );
  if (!row) throw forbidden(`There is no account here for '${name}'.`);
  return callerOf(row, SESSION_SCOPES, { kind: "host" });
}

async function bySession(
  tokenUsage: TokenUsage,
  db: Reader,
  session: string,
  ip: string,
  now: number,
): Promise<Caller | undefined> {
  const row = await db.one<
    UserRow & { session_id: number; last_seen_at: number; expires_at: number }
  >(
    `select u.id, u.username, u.admin, u.external, u.state, s.id as session_id, s.last_seen_at, s.expires_at
     from sessions s join users u on u.id = s.user_id where s.digest = ?`,
    [digestOf(session)],
  );
  if (!row || row.expires_at <= now) return undefined;
  const caller = callerOf(row, SESSION_SCOPES, { kind: "session", id: row.session_id });
  tokenUsage.sessionUsed({ id: row.session_id, lastSeenAt: row.last_seen_at }, ip, now);
  return caller;
}

function callerOf(row: UserRow, scopes: readonly string[], by: Proof): Caller {
  if (row.state !== "active") throw forbidden("Your account has been blocked.");
  // Not spread: spreading a row takes longer than finding it.
  const { id, username, admin, external } = row;
  return { id, username, admin: admin === 1, external: external === 1, scopes, by };
}

/**
 * Lets an administrator act as another user, if the request has a `sudo` parameter or `Sudo` header. The checks are in
 * GitLab's order.
 *
 * @returns the other user with `sudoer`; the caller if the request does not ask for sudo
 * @throws ApiError 400 if the parameter can't name a user, 401 for anonymous callers, 403 for callers who may not use
 *   sudo, 404 for an unknown user
 */
export function actAs(
  db: Reader,
  caller: Caller | undefined,
  incoming: Pick<Incoming, "header">,
  parameters: Parameters,
): Awaitable<Caller | undefined> {
  const target = sudoOf(incoming, parameters);
  return target === undefined ? caller : actAsTarget(db, caller, target);
}

/** Whether a request asks to act as another user, by these parameters or its header. */
export function asksForSudo(incoming: Pick<Incoming, "header">, parameters: Parameters): boolean {
  return sudoOf(incoming, parameters) !== undefined;
}

function sudoOf(incoming: Pick<Incoming, "header">, parameters: Parameters): string | undefined {
  const given = parameters["sudo"];
  // Ignoring a list or an object would let administrators act as themselves by mistake.
  if (typeof given === "object" && given !== null) throw invalid({ sudo: ["is invalid"] });
  const target = textOf(given === undefined || given === null ? "" : String(given));
  return target ?? textOf(incoming.header("sudo"));
}

async function actAsTarget(
  db: Reader,
  caller: Caller | undefined,
  target: string,
): Promise<Caller> {
  if (!caller) throw unauthorized();
  if (!caller.admin) throw forbidden("Must be admin to use sudo");
  if (["session", "host", "job"].includes(caller.by.kind)) {
    throw forbidden("Must be authenticated using an OAuth or Personal Access Token to use sudo");
  }
  if (!caller.scopes.includes("sudo")) throw insufficientScope(["sudo"]);
  const found = await findPerson(db, target);
  if (!found) throw notFound(`User with ID or username '${target}'`);
  // The sudo scope covers everything the target may do, so the route's own scopes are not needed.
  const { id, username, admin, external } = found;
  const person = { id, username, admin: admin === 1, external: external === 1 };
  return { ...person, scopes: ["api"], by: caller.by, sudoer: caller };
}

/** Finds a user by id if the text is all digits, else by user name, ignoring case. */
async function findPerson(db: Reader, idOrName: string): Promise<UserRow | undefined> {
  // PostgreSQL accepts neither texts with a NUL nor ids beyond its integers.
  if (idOrName.includes("\0")) return undefined;
  const isId = /^\d+$/.test(idOrName);
  if (isId && !Number.isSafeInteger(Number(idOrName))) return undefined;
  return db.one<UserRow>(
    `select id, username, admin, external, state from users
     where ${isId ? "id = ?" : "lower(username) = lower(?)"} and state <> 'ghost'`,
    [isId ? Number(idOrName) : idOrName],
  );
}
