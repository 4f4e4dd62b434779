import type { Awaitable, Reader } from "../../store/port.ts";
import type { Caller } from "../access/caller.ts";
import { ApiError, unauthorized } from "../errors.ts";
import type { Route } from "../resource.ts";
import type { Secrets } from "../secrets.ts";
import type { HostRequest, Incoming } from "./incoming.ts";
import type { Parameters } from "./parameters.ts";

/** A used token or SSH key. For keys, personal and SCIM tokens the time of the last use is recorded. */
type UsedToken =
  | {
      readonly kind: "personal" | "scim" | "key";
      readonly id: number;
      readonly lastUsedAt: number | null;
    }
  | { readonly kind: "job" | "oauth" | "deploy"; readonly id: number };

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
  /** A user was found as a caller. @param userId 0 for callers who are no user */
  userActive(userId: number, now: number): void;
}

/**
 * Returns who is signed in at the embedding app.
 *
 * @param request the adapter's own request object
 * @returns their user name or id here, or a {@link Profile}; `undefined` or `null` if nobody is signed in
 */
export type Authenticate = (
  request: HostRequest,
) => Awaitable<string | number | Profile | null | undefined>;

/** Somebody who is signed in at the embedding app, and gets an account here if they have none. */
export interface Profile {
  username: string;
  name: string;
  email: string;
}

/** What authenticators know about the application. */
export interface AuthSettings {
  /** Whether impersonation tokens are accepted. */
  impersonation: boolean;
  /** Informed of every use of a token or session. */
  tokenUsage: TokenUsage;
  /** The embedding app's own sign-in, replacing ours. */
  authenticate: Authenticate | undefined;
  /** Makes an account. @throws ApiError if the user name or address is malformed or taken */
  createAccount(profile: Profile): Promise<void>;
  /** Makes a deactivated user active, as signing in does. */
  reactivate(userId: number): Promise<void>;
  /** Where people come from LDAP servers: makes sure that one still knows them. @throws ApiError 403, 503 */
  requireStanding?: ((userId: number) => Promise<void>) | undefined;
  /** The public address, if it differs from the request's. */
  url: string | undefined;
  /** Decrypts the tokens that others are derived from; without them, those are unknown. */
  secrets: Secrets | undefined;
}

/** A request, as authenticators see it: its body is known only by its parameters. */
export interface CredentialRequest {
  readonly incoming: Omit<Incoming, "body">;
  /** The parameters of the query and, once it is read, of the body. */
  readonly parameters: Parameters;
  readonly route: Pick<Route, "jobTokens" | "deployTokens" | "feedTokens" | "apiKeys">;
  /** The values of the path's parameters, percent-encoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Whether the mount has checked that no other site's page sent the request. */
  readonly isVerified: boolean;
}

/** One way to authenticate: it finds its credential in a request, and the credential's owner in the database. */
export interface Authenticator {
  /** Whether a credential that no authenticator knows is refused with 401. Otherwise the caller is anonymous. */
  readonly refusesUnknown: boolean;
  /**
   * The credential of this kind in a request, if there is one. It reads no database.
   *
   * @throws ApiError 400 for contradicting credentials
   */
  credential(request: CredentialRequest, settings: AuthSettings): string | undefined;
  /**
   * The owner of a credential; `undefined` if this authenticator does not know it.
   *
   * @param now epoch milliseconds
   * @param params the values of the path's parameters, percent-encoded
   * @throws ApiError 401 for a revoked or expired credential, 403 for a blocked user
   */
  callerOf(
    credential: string,
    db: Reader,
    incoming: Pick<Incoming, "ip" | "host">,
    now: number,
    settings: AuthSettings,
    params: CredentialRequest["params"],
  ): Awaitable<Caller | undefined>;
}

/** 401 for a revoked token. */
export class RevokedToken extends ApiError {
  /** @param tokenId the id of its record */
  constructor(readonly tokenId: number) {
    const { status, body, headers } = unauthorized({ tokenGiven: true });
    super(status, body, headers);
  }
}

/** What each of the authenticators finds in a request. */
export type Credentials = readonly (string | undefined)[];

/**
 * Finds the credentials in a request, one for each authenticator.
 *
 * @throws ApiError 400 for contradicting credentials
 */
export function credentialsOf(
  authenticators: readonly Authenticator[],
  request: CredentialRequest,
  settings: AuthSettings,
): Credentials {
  return authenticators.map((authenticator) => authenticator.credential(request, settings));
}

/** Whether two sets of credentials are the same. */
export function areSame(some: Credentials, others: Credentials): boolean {
  return some.every((credential, index) => credential === others[index]);
}

/**
 * Finds the caller: the authenticators are tried in their order. Once one has found a credential that must be known,
 * only those that read the same one are tried.
 *
 * @param now epoch milliseconds
 * @returns `undefined` for anonymous callers
 * @throws ApiError 400 for contradicting credentials, 401 for an unknown, revoked or expired credential, 403 for a blocked user, 429 for too many guesses
 */
export async function findCaller(
  authenticators: readonly Authenticator[],
  request: CredentialRequest,
  db: Reader,
  now: number,
  settings: AuthSettings,
): Promise<Caller | undefined> {
  const { incoming, params } = request;
  let unknown: string | undefined;
  for (const authenticator of authenticators) {
    const credential = authenticator.credential(request, settings);
    if (credential === undefined || (unknown ?? credential) !== credential) continue;
    const caller = await authenticator.callerOf(credential, db, incoming, now, settings, params);
    if (caller) {
      await settings.requireStanding?.(caller.id);
      settings.tokenUsage.userActive(caller.id, now);
      return caller;
    }
    if (authenticator.refusesUnknown) unknown = credential;
  }
  if (unknown === undefined) return undefined;
  await settings.tokenUsage.unknownToken(incoming.ip, now);
  throw unauthorized({ tokenGiven: true });
}
