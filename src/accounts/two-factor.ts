import { digestOf } from "../core/auth.ts";
import type { Secrets } from "../core/secrets.ts";
import type { Database, Reader } from "../store/port.ts";
import { requireSameKey, twoFactorOf } from "./sealed.ts";

/** Seconds a code stands for (RFC 6238 §5.2); one of the period before or after is taken too. */
const PERIOD = 30;
const DRIFT = 1;
const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;

/** What proved that somebody has their second factor. */
export type Factor = "code" | "recovery code";

/** A user's second factor, as pages show it. */
interface State {
  /** When it was switched on, in epoch milliseconds; `null` while it is being set up. */
  enabled_at: number | null;
  /** The secret shared with the app, encrypted. */
  secret: string;
  recovery_codes: number;
}

/** What is known of a user's second factor; `undefined` where they never began to set one up. */
export async function find(db: Reader, userId: number): Promise<State | undefined> {
  const found = await db.one<State>(
    `select t.enabled_at, t.secret,
       (select count(*) from recovery_codes r where r.user_id = t.user_id) as recovery_codes
     from two_factor t where t.user_id = ?`,
    [userId],
  );
  return found;
}

/** Whether a user's sign-in needs a second step. */
export async function isOn(db: Reader, userId: number): Promise<boolean> {
  return typeof (await find(db, userId))?.enabled_at === "number";
}

/**
 * Makes a secret for an app to be set up with; nothing asks for its codes before {@link turnOn}.
 *
 * @throws SecretKeyError where it can't be encrypted with the key that others are
 */
export async function begin(db: Database, secrets: Secrets, userId: number): Promise<void> {
  await requireSameKey(db, secrets);
  const { Secret } = await import("otpauth");
  const secret = secrets.seal(new Secret({ size: 20 }).base32, twoFactorOf(userId));
  await db.run(
    `insert into two_factor (user_id, secret, enabled_at, last_step) values (?, ?, null, 0)
     on conflict (user_id) do update set secret = excluded.secret, last_step = 0
     where two_factor.enabled_at is null`,
    [userId, secret],
  );
}

/**
 * The secret shared with the app, in Base32.
 *
 * @throws SecretKeyError where its key is not there
 */
export function secretOf({ secret }: State, secrets: Secrets, userId: number): string {
  return secrets.open(secret, twoFactorOf(userId));
}

/** What an app reads from the QR code. */
export async function addressOf(secret: string, username: string, issuer: string): Promise<string> {
  const { TOTP } = await import("otpauth");
  return new TOTP({ secret, issuer, label: username, period: PERIOD }).toString();
}

/**
 * Switches the second factor on, once the app has shown that it was set up.
 *
 * @returns the recovery codes, of which only digests are kept; `undefined` where the code does not fit
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

/** Switches the second factor off, or gives up setting one up. @returns whether there was any */
export async function turnOff(db: Database, userId: number): Promise<boolean> {
  await db.run("delete from recovery_codes where user_id = ?", [userId]);
  return (await db.run("delete from two_factor where user_id = ?", [userId])) > 0;
}

/** Makes new recovery codes; those before count no more. */
export async function renewRecoveryCodes(db: Database, userId: number): Promise<string[]> {
  const { Secret } = await import("otpauth");
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    new Secret({ size: RECOVERY_BYTES }).base32.toLowerCase().replace(/.{4}(?=.)/g, "$&-"),
  );
  await db.run("delete from recovery_codes where user_id = ?", [userId]);
  for (const code of codes) {
    await db.run("insert into recovery_codes (user_id, digest) values (?, ?)", [
      userId,
      digestOf(bare(code)),
    ]);
  }
  return codes;
}

/**
 * Checks a code of the app, or a recovery code, and uses it up: neither works twice.
 *
 * @returns which it was; `undefined` where it is neither
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

/** A code's period, and all before it, count as used (RFC 6238 §5.2). */
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

/** As it was made, however it was typed. */
function bare(code: string): string {
  return code.replace(/[\s-]/g, "").toLowerCase();
}
