import { digestOf } from "../core/auth.ts";
import { newVisitor } from "../core/session.ts";
import type { Database, Reader } from "../store/port.ts";

/** How long the second step may take, in milliseconds. */
const LIFETIME = 10 * 60_000;

/** Remembers that somebody's password was right. @returns the value for the cookie, which signs nobody in yet */
export async function begin(db: Database, userId: number, now: number): Promise<string> {
  const value = newVisitor();
  await db.run("delete from half_sign_ins where expires_at <= ?", [now]);
  await db.run("insert into half_sign_ins (digest, user_id, expires_at) values (?, ?, ?)", [
    digestOf(value),
    userId,
    now + LIFETIME,
  ]);
  return value;
}

/** Whose password was right, by the cookie's value; `undefined` where nobody's was, or it is too long ago. */
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

/** Ends the waiting for a second step. */
export async function end(db: Database, value: string): Promise<void> {
  await db.run("delete from half_sign_ins where digest = ?", [digestOf(value)]);
}
