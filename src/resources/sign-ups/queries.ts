import { digestOf } from "../../auth/token-secrets.ts";
import type { Database, Reader } from "../../store/port.ts";

/** Somebody who has signed up, and whose account is made once their address is confirmed. */
export interface SignUp {
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly password_hash: string;
}

/** For how long a sign-up waits for its confirmation, in milliseconds: as long as other addresses. */
const LIFETIME = 3 * 86_400_000;

/** Whether a user name is kept for somebody who has signed up. */
export async function isReserved(db: Reader, username: string, now: number): Promise<boolean> {
  const sql = "select 1 from sign_ups where lower(username) = lower(?) and expires_at > ?";
  return (await db.rows(sql, [username, now])).length > 0;
}

/** Keeps what somebody has signed up with, and returns its id; `undefined` if the user name is kept for somebody else. */
export async function insert(
  db: Database,
  { username, name, email, password_hash }: SignUp,
  now: number,
): Promise<number | undefined> {
  await db.run("delete from sign_ups where expires_at <= ?", [now]);
  const [row] = await db.rows(
    `insert into sign_ups (username, name, email, password_hash, expires_at, created_at)
     values (?, ?, ?, ?, ?, ?) on conflict do nothing returning id`,
    [username, name, email, password_hash, now + LIFETIME, now],
  );
  return row?.[0] as number | undefined;
}

/** What the link in a mail is to confirm, while it works. @param secret the secret in the link */
export async function findBySecret(
  db: Reader,
  secret: string,
  now: number,
): Promise<(SignUp & { readonly id: number }) | undefined> {
  if (!/^[0-9a-f]{64}$/.test(secret)) return undefined;
  return db.one<SignUp & { id: number }>(
    "select id, username, name, email, password_hash from sign_ups where digest = ? and expires_at > ?",
    [digestOf(secret), now],
  );
}

/** Forgets a sign-up. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from sign_ups where id = ?", [id]);
}
