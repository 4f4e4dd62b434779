import { randomInt } from "node:crypto";
import { digestOf, newOpaque } from "../auth/token-secrets.ts";
import { insertRow } from "../store/insert.ts";
import type { Database, Reader } from "../store/port.ts";

/** How long the codes of a device are good for, in milliseconds. */
export const DEVICE_LIFETIME = 300_000;
/** How long a device waits between two questions, in milliseconds. */
export const POLL_INTERVAL = 5000;
/** How long ended codes are remembered, in milliseconds: devices are told that theirs have expired. */
const REMEMBERED = 3_600_000;

/** Capital letters and digits of which no two look alike, and that make no words. */
const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ23456789";
const USER_CODE = 8;

/** A device that waits for somebody to let it in (RFC 8628). */
export interface Device {
  readonly id: number;
  readonly application_id: number;
  /** Separated by spaces. */
  readonly scopes: string;
  /** Whose account it gets; `null` until somebody has decided. */
  readonly user_id: number | null;
  readonly denied: number;
  /** When the user had signed in who has decided, in epoch milliseconds, if that is known. */
  readonly auth_time: number | null;
  /** The address that it has asked from. */
  readonly ip: string;
  readonly polled_at: number | null;
  readonly created_at: number;
  readonly expires_at: number;
}

/** The codes of a device, of which only digests are stored. */
export interface DeviceCodes {
  /** What the device asks with. */
  readonly deviceCode: string;
  /** What its user enters. */
  readonly userCode: string;
}

/** Stores that a device waits, and returns its codes. */
export async function insertDevice(
  db: Database,
  device: { readonly applicationId: number; readonly scopes: string; readonly ip: string },
  now: number,
): Promise<DeviceCodes> {
  // What has ended long ago is deleted here, so no sweep is needed.
  await db.run("delete from oauth_devices where expires_at <= ?", [now - REMEMBERED]);
  const { secret: deviceCode, digest } = newOpaque();
  const letters = Array.from({ length: USER_CODE }, () => ALPHABET[randomInt(ALPHABET.length)]);
  const userCode = letters.join("");
  await insertRow(db, "oauth_devices", {
    application_id: device.applicationId,
    scopes: device.scopes,
    digest,
    user_digest: digestOf(userCode),
    ip: device.ip,
    created_at: now,
    expires_at: now + DEVICE_LIFETIME,
  });
  return { deviceCode, userCode };
}

const DEVICE = `select id, application_id, scopes, user_id, denied, auth_time, ip, polled_at, created_at, expires_at
  from oauth_devices where`;

/** A device by its own code, or `undefined`. */
export async function findByDeviceCode(db: Reader, code: string): Promise<Device | undefined> {
  return db.one<Device>(`${DEVICE} digest = ?`, [digestOf(code)]);
}

/** A device that nobody has decided about, expired or not, by what its user enters, in any case and with any signs in between. */
export async function findByUserCode(db: Reader, entered: string): Promise<Device | undefined> {
  const code = entered.toUpperCase().replace(/[^A-Z0-9]/g, "");
  return db.one<Device>(`${DEVICE} user_digest = ? and user_id is null and denied = 0`, [
    digestOf(code),
  ]);
}

/** Notes that a device has asked. */
export async function polled(db: Database, { id }: Device, now: number): Promise<void> {
  await db.run("update oauth_devices set polled_at = ? where id = ?", [now, id]);
}

/** Forgets a device. */
export async function forget(db: Database, { id }: Device): Promise<void> {
  await db.run("delete from oauth_devices where id = ?", [id]);
}

/** Lets a device into somebody's account. */
export async function letIn(
  db: Database,
  { id }: Device,
  { userId, authTime }: { readonly userId: number; readonly authTime: number | undefined },
): Promise<void> {
  const sql = "update oauth_devices set user_id = ?, auth_time = ? where id = ?";
  await db.run(sql, [userId, authTime ?? null, id]);
}

/** Refuses a device. */
export async function turnAway(db: Database, { id }: Device): Promise<void> {
  await db.run("update oauth_devices set denied = 1 where id = ?", [id]);
}
