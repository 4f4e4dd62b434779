import { randomBytes } from "node:crypto";
import type { Awaitable, Reader } from "../store/port.ts";
import { digest } from "./digest.ts";
import {
  ApiError,
  forbidden,
  insufficientScope,
  invalid,
  notFound,
  unauthorized,
} from "./errors.ts";
import type { HostRequest, Incoming } from "./incoming.ts";
import type { Parameters } from "./parameters.ts";
import type { Scope } from "./scopes.ts";
import { isCrossSite, isVerified, sessionOf } from "./session.ts";
import { dayOf } from "./time.ts";

export { SCOPES, type Scope } from "./scopes.ts";

/** Who is signed in may do all but act as others (contract §5); so may a CI job, where it is let in. */
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
  /** What proved who they are, or who acts as them. */
  readonly by: Proof;
  /** The administrator who acts as this user by sudo (contract §5). */
  readonly sudoer?: Person;
}

/** What a caller was known by, with the id of its record. */
type Proof =
  | { readonly kind: "token" | "impersonation" | "session"; readonly id: number }
  | {
      readonly kind: "job";
      readonly id: number;
      /** The only project it reaches. */
      readonly projectId: number;
      readonly projectPath: string;
    }
  | { readonly kind: "oauth"; readonly id: number; readonly applicationId: number | null }
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

/** Makes 256 random bits as 64 hexadecimal digits: what the OAuth2 provider gives out (gitlab-facts §8). */
export function newOpaque(): Secret {
  const secret = randomBytes(32).toString("hex");
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

/** The CI job token a request carries: `job_token`, then `JOB-TOKEN` (gitlab-facts §9). */
function jobTokenOf(incoming: Pick<Incoming, "header">, parameters: Parameters) {
  return textOf(parameters["job_token"]) ?? textOf(incoming.header("job-token"));
}

/** Whether two sets of parameters of one request, such as with and without its body, carry the same token or none. */
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

/** What authentication asks of the application's settings. */
export interface AuthSettings {
  /** Whether impersonation tokens are accepted (contract §5). */
  impersonation: boolean;
  /** Is told how tokens and sessions are used. */
  watch: Watch;
  /** The embedding app's own sign-in, in place of ours. */
  authenticate: Authenticate | undefined;
  /** The public address, where it is not what the client's request says. */
  url: string | undefined;
}

/** A token's record, as far as it matters that it was used; of personal ones it is noted when. */
type UsedToken =
  | { readonly kind: "personal"; readonly id: number; readonly lastUsedAt: number | null }
  | { readonly kind: "job" | "oauth"; readonly id: number };

/** A session's record, as far as it matters that it was used. */
interface UsedSession {
  readonly id: number;
  /** In epoch milliseconds. */
  readonly lastSeenAt: number;
}

/** Watches tokens and sessions as they are used: when, and who guesses. */
export interface Watch {
  /**
   * A good token was used.
   *
   * @param token its record; `lastUsedAt` is when that says it was used last, in epoch milliseconds
   * @throws ApiError 429 where its address has guessed too often, and is not where the token was used before
   */
  used(token: UsedToken, ip: string, now: number): void;
  /**
   * A token was sent that there never was.
   *
   * @throws ApiError 429 where its address has guessed too often
   */
  missed(ip: string, now: number): Promise<void>;
  /** A session that counts was used. */
  seen(session: UsedSession, ip: string, now: number): void;
}

/** 401 of a token that was revoked. */
export class RevokedToken extends ApiError {
  /** @param tokenId its record */
  constructor(readonly tokenId: number) {
    const { status, body, headers } = unauthorized({ tokenGiven: true });
    super(status, body, headers);
  }
}

/**
 * Tells who is signed in at the embedding app.
 *
 * @param request what the adapter was given
 * @returns their user name or id here; `undefined` or `null` for nobody
 */
export type Authenticate = (request: HostRequest) => Awaitable<string | number | null | undefined>;

/**
 * Finds who calls, by the token a request carries, else by who is signed in.
 *
 * @param db reads of this request
 * @param now epoch milliseconds
 * @param options `jobTokens`: whether CI job tokens count
 * @returns `undefined` for nobody: neither a token nor a session that counts
 * @throws ApiError 401 for a token that is unknown, revoked or expired, 403 for a blocked user, 429 for who guesses
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
  // Alone it counts where nothing is changed, else with its CSRF token (gitlab-facts §9), as on pages.
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
  // Expired from the start of its date on (gitlab-facts §9).
  const isOver = row.expires_at !== null && row.expires_at <= dayOf(now);
  const kind = row.impersonation === 1 ? "impersonation" : "token";
  if (isOver || (kind === "impersonation" && !settings.impersonation)) {
    throw unauthorized({ tokenGiven: true });
  }
  const used = { kind: "personal", id: row.token_id, lastUsedAt: row.last_used_at } as const;
  settings.watch.used(used, ip, now);
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
  if (!row) await settings.watch.missed(ip, now);
  if (!row || row.expires_at <= now) throw unauthorized({ tokenGiven: true });
  const { token_id: id, project_id: projectId, project_path: projectPath } = row;
  settings.watch.used({ kind: "job", id }, ip, now);
  return callerOf(row, SESSION_SCOPES, { kind: "job", id, projectId, projectPath });
}

/** Finds who allowed an application to call for them (contract §5, "OAuth2 token"). */
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
  if (!row) await settings.watch.missed(ip, now);
  if (!row || row.replaced === 1 || row.expires_at <= now) throw unauthorized({ tokenGiven: true });
  settings.watch.used({ kind: "oauth", id: row.token_id }, ip, now);
  const applicationId = row.application_id;
  return callerOf(row, row.scopes.split(" "), { kind: "oauth", id: row.token_id, applicationId });
}

/**
 * Finds who is signed in: at the embedding app where that has its own sign-in, else by the session cookie.
 *
 * @param db reads of this request
 * @param now epoch milliseconds
 * @throws ApiError 403 for a blocked user, and for one of the embedding app whom nobody here is
 */
export async function findSignedIn(
  { watch, authenticate }: Pick<AuthSettings, "watch" | "authenticate">,
  db: Reader,
  incoming: Pick<Incoming, "header" | "host" | "ip">,
  now: number,
): Promise<Caller | undefined> {
  if (authenticate) {
    const name = await authenticate(incoming.host);
    return name === undefined || name === null ? undefined : byName(db, name);
  }
  const session = sessionOf(incoming);
  return session === undefined ? undefined : bySession(watch, db, session, incoming.ip, now);
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
  watch: Watch,
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
  watch.seen({ id: row.session_id, lastSeenAt: row.last_seen_at }, ip, now);
  return caller;
}

function callerOf(row: UserRow, scopes: readonly string[], by: Proof): Caller {
  if (row.state !== "active") throw forbidden("Your account has been blocked.");
  // Named one by one: spreading a row takes longer than finding it.
  const { id, username, admin, external } = row;
  return { id, username, admin: admin === 1, external: external === 1, scopes, by };
}

/**
 * Lets an administrator act as another user, where the request asks for it by `sudo` or the `Sudo` header (contract §5;
 * the order of checks is gitlab-facts §9's).
 *
 * @param caller who asks
 * @returns the other user with `sudoer`; the caller where nothing is asked
 * @throws ApiError 400 for what can't name a user, 401 for nobody, 403 for who may not, 404 for an unknown user
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

/** Whether a request asks to act as another user, as far as these parameters tell. */
export function asksForSudo(incoming: Pick<Incoming, "header">, parameters: Parameters): boolean {
  return sudoOf(incoming, parameters) !== undefined;
}

function sudoOf(incoming: Pick<Incoming, "header">, parameters: Parameters): string | undefined {
  const given = parameters["sudo"];
  // A list or an object names nobody; ignoring it would have administrators act as themselves.
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
  // The scope of sudo stands for all the target may do, so the route's own are not asked for.
  const { id, username, admin, external } = found;
  const person = { id, username, admin: admin === 1, external: external === 1 };
  return { ...person, scopes: ["api"], by: caller.by, sudoer: caller };
}

/** A user by id where that is all digits, else by user name, whatever its case. */
async function findPerson(db: Reader, idOrName: string): Promise<UserRow | undefined> {
  // PostgreSQL takes no text with a NUL in it, and no id above its integers.
  if (idOrName.includes("\0")) return undefined;
  const isId = /^\d+$/.test(idOrName);
  if (isId && !Number.isSafeInteger(Number(idOrName))) return undefined;
  return db.one<UserRow>(
    `select id, username, admin, external, state from users
     where ${isId ? "id = ?" : "lower(username) = lower(?)"} and state <> 'ghost'`,
    [isId ? Number(idOrName) : idOrName],
  );
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
