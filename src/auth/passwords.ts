import { invalid } from "../core/errors.ts";
import { passwordCost, runOnThread } from "./password-pool.ts";

/** bcrypt ignores all bytes after these. */
const MAX_BYTES = 72;
export const MIN_CHARACTERS = 8;

/** Compared if an account has no password, so that the check takes as long. No password has this hash. */
function noHash(): string {
  return `$2b$${String(passwordCost()).padStart(2, "0")}$${".".repeat(53)}`;
}

/** Checks a new password. @throws ApiError 400 if it is too short or too long */
export function requirePassword(password: string): void {
  if ([...password].length < MIN_CHARACTERS) {
    throw invalid({ password: [`is too short (minimum is ${MIN_CHARACTERS} characters)`] });
  }
  if (new TextEncoder().encode(password).length > MAX_BYTES) {
    throw invalid({ password: [`is too long (maximum is ${MAX_BYTES} bytes)`] });
  }
}

/**
 * Hashes a password with bcrypt.
 *
 * @throws ApiError 400 if the password is too short, or longer than the 72 bytes bcrypt reads; 503 if too many
 *   passwords are already waiting
 */
export async function hashPassword(password: string): Promise<string> {
  requirePassword(password);
  return (await runOnThread({ password, cost: passwordCost() })) as string;
}

/**
 * Checks a password against its hash. Without a hash it returns false after the same time.
 *
 * @param hash from {@link hashPassword}; `null` if there is no such account or it has no password
 * @throws ApiError 503 if too many passwords are already waiting
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  // bcrypt ignores the rest, so a longer text would match a password that was never set.
  const isWhole = new TextEncoder().encode(password).length <= MAX_BYTES;
  return (await runOnThread({ password, hash: hash ?? noHash() })) === true && isWhole;
}
