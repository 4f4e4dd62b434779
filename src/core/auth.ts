import { randomBytes } from "node:crypto";
import type { Reader } from "../store/port.ts";
import { digest } from "./digest.ts";
import { ApiError, forbidden, insufficientScope, unauthorized } from "./errors.ts";
import type { Incoming } from "./incoming.ts";
import type { Parameters } from "./parameters.ts";

/** What a token may be used for (gitlab-facts §9). */
export const SCOPES = ["api", "read_api", "read_user", "sudo"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who is calling. */
export interface Caller {
  readonly id: number;
  readonly username: string;
  readonly admin: boolean;
  /** External users see internal groups and projects only where they are members. */
  readonly external: boolean;
  readonly scopes: readonly string[];
}

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
export function tokenOf(incoming: Incoming, parameters: Parameters): string | undefined {
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

interface TokenRow {
  id: number;
  username: string;
  admin: number;
  external: number;
  state: string;
  scopes: string;
  impersonation: number;
}

/** What authentication asks of the application's settings. */
export interface AuthSettings {
  /** Whether impersonation tokens are accepted (contract §5). */
  impersonation: boolean;
}

/**
 * Finds who a token belongs to.
 *
 * @param today `YYYY-MM-DD`: a token is expired from the start of its date on (gitlab-facts §9)
 * @throws ApiError 401 for a token that is unknown, revoked or expired, 403 for a blocked user
 */
export async function authenticate(
  db: Reader,
  token: string,
  today: string,
  settings: AuthSettings,
): Promise<Caller> {
  const [row] = await db.all<TokenRow>(
    `select u.id, u.username, u.admin, u.external, u.state, t.scopes, t.impersonation
     from tokens t join users u on u.id = t.user_id
     where t.digest = ? and t.revoked = 0 and (t.expires_at is null or t.expires_at > ?)`,
    [digestOf(token), today],
  );
  if (!row || (row.impersonation === 1 && !settings.impersonation)) {
    throw unauthorized({ tokenGiven: true });
  }
  if (row.state !== "active") throw forbidden("Your account has been blocked.");
  return {
    id: row.id,
    username: row.username,
    admin: row.admin === 1,
    external: row.external === 1,
    scopes: row.scopes.split(" "),
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
