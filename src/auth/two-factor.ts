import { sealerFor } from "../core/sealed.ts";
import type { Secrets } from "../core/secrets.ts";
import { insertRow } from "../store/insert.ts";
import type { Database, Reader } from "../store/port.ts";
import { digestOf } from "./token-secrets.ts";
import { purposeOf } from "./two-factor-secrets.ts";

/** A code's period in seconds (RFC 6238 §5.2); codes of the adjacent periods are accepted too. */
const PERIOD = 30;
const DRIFT = 1;
const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;

/** The kind of proof of a second factor. */
export type Factor = "code" | "recovery code";

/** A user's second factor, for the pages. */
interface State {
  /** When it was enabled, in epoch milliseconds; `null` while it is being set up. */
  enabled_at: number | null;
  /** The secret shared with the app, encrypted. */
  secret: string;
  recovery_codes: number;
}

/** A user's second factor; `undefined` if they never began to set one up. */
export async function find(db: Reader, userId: number): Promise<State | undefined> {
  return db.one<State>(
    `select t.enabled_at, t.secret,
       (select count(*) from recovery_codes r where r.user_id = t.user_id) as recovery_codes
     from two_factor t where t.user_id = ?`,
    [userId],
  );
}

/** Whether a user's sign-in needs a second step. */
export async function isOn(db: Reader, userId: number): Promise<boolean> {
  return typeof (await find(db, userId))?.enabled_at === "number";
}

/**
 * Creates a secret for an authenticator app; no codes are asked for before {@link turnOn}.
 *
 * @throws SecretKeyError if it can't be encrypted with the key of the others
 */
export async function begin(db: Database, secrets: Secrets, userId: number): Promise<void> {
  const seal = await sealerFor(db, secrets);
  const { Secret } = await import("otpauth");
  const secret = seal(new Secret({ size: 20 }).base32, purposeOf(userId));
  await db.run(
    `insert into two_factor (user_id, secret, enabled_at, last_step) values (?, ?, null, 0)
     on conflict (user_id) do update set secret = excluded.secret, last_step = 0
     where two_factor.enabled_at is null`,
    [userId, secret],
  );
}

/**
 * Decrypts the secret shared with the app, in Base32.
 *
 * @throws SecretKeyError if its key is missing
 */
export function secretOf({ secret }: State, secrets: Secrets, userId: number): string {
  return secrets.open(secret, purposeOf(userId));
}

/** The content of the QR code. */
export async function addressOf(secret: string, username: string, issuer: string): Promise<string> {
  const { TOTP } = await import("otpauth");
  return new TOTP({ secret, issuer, label: username, period: PERIOD }).toString();
}

/**
 * Enables the second factor, given a first code of the app.
 *
 * @returns the recovery codes, of which only digests are stored; `undefined` if the code is wrong
 */
export async function turnOn(
  db: Database,
  secrets: Secrets,
  userId: number,
  code: string,
  now: number,
): Promise<string[] | undefined> {
  if ((await isOn(db, userId)) || !(await useAppCode(db, secrets, userId, code, now)))
    return undefined;
  await db.run("update two_factor set enabled_at = ? where user_id = ?", [now, userId]);
  return renewRecoveryCodes(db, userId);
}

/** Disables the second factor, or cancels setting one up. @returns whether there was one */
export async function turnOff(db: Database, userId: number): Promise<boolean> {
  await db.run("delete from recovery_codes where user_id = ?", [userId]);
  return (await db.run("delete from two_factor where user_id = ?", [userId])) > 0;
}

/** Creates new recovery codes; the old ones stop working. */
export async function renewRecoveryCodes(db: Database, userId: number): Promise<string[]> {
  const { Secret } = await import("otpauth");
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    new Secret({ size: RECOVERY_BYTES }).base32.toLowerCase().replace(/.{4}(?=.)/g, "$&-"),
  );
  await db.run("delete from recovery_codes where user_id = ?", [userId]);
  for (const code of codes) {
    await insertRow(db, "recovery_codes", { user_id: userId, digest: digestOf(bare(code)) });
  }
  return codes;
}

/**
 * Checks a code of the app or a recovery code, and uses it up: neither works twice.
 *
 * @returns which it was; `undefined` if it is neither
 */
export async function useCode(
  db: Database,
  secrets: Secrets,
  userId: number,
  code: string,
  now: number,
): Promise<Factor | undefined> {
  if (await useAppCode(db, secrets, userId, code, now)) return "code";
  const used = await db.run("delete from recovery_codes where user_id = ? and digest = ?", [
    userId,
    digestOf(bare(code)),
  ]);
  return used > 0 ? "recovery code" : undefined;
}

/** Marks a code's period and all earlier ones as used (RFC 6238 §5.2). */
async function useAppCode(
  db: Database,
  secrets: Secrets,
  userId: number,
  code: string,
  now: number,
): Promise<boolean> {
  const token = code.replace(/\s/g, "");
  const found = /^\d{6}$/.test(token) ? await find(db, userId) : undefined;
  if (!found) return false;
  const { TOTP } = await import("otpauth");
  const totp = new TOTP({ secret: secretOf(found, secrets, userId), period: PERIOD });
  const delta = totp.validate({ token, timestamp: now, window: DRIFT });
  if (delta === null) return false;
  const step = Math.floor(now / 1000 / PERIOD) + delta;
  const sql = "update two_factor set last_step = ? where user_id = ? and last_step < ?";
  return (await db.run(sql, [step, userId, step])) > 0;
}

/** Undoes differences in how a recovery code was typed. */
function bare(code: string): string {
  return code.replace(/[\s-]/g, "").toLowerCase();
}
