import { invalid } from "./errors.ts";
import { runOnThread } from "./password-threads.ts";

/** bcrypt reads no further. */
const MOST_BYTES = 72;
const LEAST_CHARACTERS = 8;
/** bcrypt's logarithmic cost. */
const COST = 10;
/** Compared with where there is no password: so that it takes as long. Nothing hashes to it. */
const NOBODY = `$2b$${COST}$${".".repeat(53)}`;

/** Checks a password that is to be set. @throws ApiError 400 where it is too short or too long */
export function requirePassword(password: string): void {
  if ([...password].length < LEAST_CHARACTERS) {
    throw invalid({ password: [`is too short (minimum is ${LEAST_CHARACTERS} characters)`] });
  }
  if (new TextEncoder().encode(password).length > MOST_BYTES) {
    throw invalid({ password: [`is too long (maximum is ${MOST_BYTES} bytes)`] });
  }
}

/**
 * Hashes a password with bcrypt.
 *
 * @throws ApiError 400 where the password is too short, or longer than the 72 bytes bcrypt reads; 503 where too many
 *   passwords wait already
 */
export async function hashPassword(password: string): Promise<string> {
  requirePassword(password);
  return (await runOnThread({ password, cost: COST })) as string;
}

/**
 * Whether a password is the one that was hashed. Without a hash the answer is no, after as long.
 *
 * @param hash what {@link hashPassword} gave, `null` where there is no such account or it has no password
 * @throws ApiError 503 where too many passwords wait already
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  // bcrypt reads no more than these, so a longer text would fit a password that was never set.
  const fits = new TextEncoder().encode(password).length <= MOST_BYTES;
  return (await runOnThread({ password, hash: hash ?? NOBODY })) === true && fits;
}
