import { invalid } from "./errors.ts";

/** bcrypt reads no further. */
const MOST_BYTES = 72;
const LEAST_CHARACTERS = 8;
/** bcrypt's logarithmic cost. */
const COST = 10;

/**
 * Hashes a password with bcrypt.
 *
 * @throws ApiError 400 where the password is too short, or longer than the 72 bytes bcrypt reads
 */
export async function hashPassword(password: string): Promise<string> {
  if ([...password].length < LEAST_CHARACTERS) {
    throw invalid({ password: [`is too short (minimum is ${LEAST_CHARACTERS} characters)`] });
  }
  if (new TextEncoder().encode(password).length > MOST_BYTES) {
    throw invalid({ password: [`is too long (maximum is ${MOST_BYTES} bytes)`] });
  }
  const { hash } = await import("bcryptjs");
  return hash(password, COST);
}
