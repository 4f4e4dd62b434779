import { invalid } from "../core/errors.ts";
import { storedIn } from "../core/kept.ts";
import type { Reader } from "../store/port.ts";
import { passwordCost, runOnThread } from "./password-pool.ts";

/** bcrypt ignores all bytes after these. */
export const MAX_BYTES = 72;
/** The fewest characters of a password, unless the settings want more. */
export const MIN_CHARACTERS = 8;

/** Compared if an account has no password, so that the check takes as long. No password has this hash. */
function noHash(): string {
  return `$2b$${String(passwordCost()).padStart(2, "0")}$${".".repeat(53)}`;
}

/** What a password must have if the settings say so, in GitLab's words. */
const KINDS = [
  ["password_number_required", /\p{N}/u, "requires at least one number"],
  ["password_lowercase_required", /\p{Ll}/u, "requires at least one lowercase letter"],
  ["password_uppercase_required", /\p{Lu}/u, "requires at least one uppercase letter"],
  ["password_symbol_required", /[^\p{N}\p{L}\s]/u, "requires at least one symbol character"],
] as const;

/** What the settings of the application say about new passwords. */
export interface PasswordRules {
  readonly minimum: number;
  /** What is required of their characters, in the order in which it is told. */
  readonly kinds: readonly (readonly [name: string, pattern: RegExp, problem: string])[];
}

/** Those of settings that nobody has changed. */
const RULES: PasswordRules = { minimum: MIN_CHARACTERS, kinds: [] };

/** What new passwords must have. */
export async function passwordRules(db: Reader): Promise<PasswordRules> {
  const stored = await storedIn(db, "application_settings", 1);
  const settings: Record<string, unknown> = stored ? JSON.parse(String(stored)) : {};
  const minimum = Number(settings["minimum_password_length"] ?? MIN_CHARACTERS);
  return { minimum, kinds: KINDS.filter(([name]) => settings[name] === true) };
}

/** The rules in a sentence, for forms. */
export function passwordHint({ minimum, kinds }: PasswordRules): string {
  const more = kinds.map(([, , problem]) => problem.replace("requires at least", "with"));
  return `${[`At least ${minimum} characters`, `at most ${MAX_BYTES} bytes`, ...more].join(", ")}.`;
}

/**
 * Checks a new password.
 *
 * @param db with the settings; without it, as if nobody had changed them
 * @throws ApiError 400 if it is too short or too long, or lacks what the settings require
 */
export async function requirePassword(password: string, db?: Reader): Promise<void> {
  const { minimum, kinds } = db ? await passwordRules(db) : RULES;
  if ([...password].length < minimum) {
    throw invalid({ password: [`is too short (minimum is ${minimum} characters)`] });
  }
  if (new TextEncoder().encode(password).length > MAX_BYTES) {
    throw invalid({ password: [`is too long (maximum is ${MAX_BYTES} bytes)`] });
  }
  const lacking = kinds.filter(([, pattern]) => !pattern.test(password));
  if (lacking.length > 0) throw invalid({ password: lacking.map(([, , problem]) => problem) });
}

/**
 * Hashes a password with bcrypt.
 *
 * @param db with the settings
 * @throws ApiError 400 if the password is not as {@link requirePassword} wants it; 503 if too many passwords are already waiting
 */
export async function hashPassword(password: string, db?: Reader): Promise<string> {
  await requirePassword(password, db);
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
