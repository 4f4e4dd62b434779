import { randomBytes } from "node:crypto";
import { digest } from "../core/digest.ts";

/** The secret of a new token, and its stored digest. */
export interface Secret {
  secret: string;
  digest: string;
}

/** What the secrets of personal access tokens begin with. */
export const TOKEN_PREFIX = "pmat-";

/**
 * Creates the secret of a token: a recognisable prefix and 160 random bits.
 *
 * @param prefix default: that of personal access tokens
 */
export function newSecret(prefix = TOKEN_PREFIX.slice(0, -1)): Secret {
  const secret = `${prefix}-${randomBytes(20).toString("hex")}`;
  return { secret, digest: digestOf(secret) };
}

/** Creates 256 random bits as 64 hexadecimal digits, the format of the OAuth2 provider's tokens and secrets. */
export function newOpaque(): Secret {
  const secret = randomBytes(32).toString("hex");
  return { secret, digest: digestOf(secret) };
}

/** The SHA-256 by which secrets are stored and looked up, so that the table reveals none. */
export function digestOf(secret: string): string {
  return digest("sha256", secret);
}
