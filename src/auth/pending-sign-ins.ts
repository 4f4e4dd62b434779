import { newSessionToken } from "../core/http/session-cookie.ts";
import type { Database, Reader } from "../store/port.ts";
import { digestOf } from "./token-secrets.ts";

/** The time limit of the second step, in milliseconds. */
const LIFETIME = 10 * 60_000;

/** Stores a sign-in whose password was right. @returns the cookie's value, which signs nobody in yet */
export async function begin(db: Database, userId: number, now: number): Promise<string> {
  const value = newSessionToken();
  await db.run("delete from half_sign_ins where expires_at <= ?", [now]);
  await db.run("insert into half_sign_ins (digest, user_id, expires_at) values (?, ?, ?)", [
    digestOf(value),
    userId,
    now + LIFETIME,
  ]);
  return value;
}

/** The user of a pending sign-in, by the cookie's value; `undefined` if there is none or it has expired. */
export async function findUser(
  db: Reader,
  value: string | undefined,
  now: number,
): Promise<number | undefined> {
  if (value === undefined) return undefined;
  const [found] = await db.rows(
    "select user_id from half_sign_ins where digest = ? and expires_at > ?",
    [digestOf(value), now],
  );
  return found?.[0] as number | undefined;
}

/** Deletes a pending sign-in. */
export async function end(db: Database, value: string): Promise<void> {
  await db.run("delete from half_sign_ins where digest = ?", [digestOf(value)]);
}
