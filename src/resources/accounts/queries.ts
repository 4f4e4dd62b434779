import { digestOf } from "../../auth/token-secrets.ts";
import { pageReader } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";

/** A further address of a user, as handlers need it. */
export interface Email {
  id: number;
  user_id: number;
  email: string;
  updated_at: number;
}

/** An address to be confirmed, with the user who has added it. */
export type Unconfirmed = Pick<Email, "id" | "user_id" | "email">;

/** A user's further addresses, in the order they were added. */
export const list = pageReader({ from: "user_emails ue where ue.user_id = ?", order: "ue.id" });

/** A user's further address as a row for its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  userId: number,
  id: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from user_emails ue where ue.user_id = ? and ue.id = ?`,
    [userId, id],
  );
  return found;
}

/** A user's further address, or `undefined`. */
export function find(db: Reader, userId: number, id: number): Awaitable<Email | undefined> {
  return db.one<Email>(
    "select id, user_id, email, updated_at from user_emails where user_id = ? and id = ?",
    [userId, id],
  );
}

/** Whether a user has added an address, ignoring case. */
export async function has(db: Reader, userId: number, email: string): Promise<boolean> {
  const sql = "select 1 from user_emails where user_id = ? and lower(email) = lower(?)";
  return (await db.rows(sql, [userId, email])).length > 0;
}

/** How many further addresses a user has. */
export async function count(db: Reader, userId: number): Promise<number> {
  const [found] = await db.rows("select count(*) from user_emails where user_id = ?", [userId]);
  return found?.[0] as number;
}

/** Adds an address that is not confirmed, and returns its id. */
export function insert(db: Database, userId: number, email: string, now: number): Promise<number> {
  const values = { user_id: userId, email, created_at: now, updated_at: now };
  return insertRow(db, "user_emails", values);
}

/** The address that a link in a mail is to confirm, while the link works. @param secret the secret in the link */
export async function findBySecret(
  db: Reader,
  secret: string,
  now: number,
): Promise<(Unconfirmed & { username: string }) | undefined> {
  if (!/^[0-9a-f]{64}$/.test(secret)) return undefined;
  return db.one<Unconfirmed & { username: string }>(
    `select ue.id, ue.user_id, ue.email, u.username from user_emails ue
     join users u on u.id = ue.user_id and u.state = 'active'
     where ue.digest = ? and ue.expires_at > ? and ue.confirmed_at is null`,
    [digestOf(secret), now],
  );
}

/** Marks an address as confirmed; its link stops working. */
export function setConfirmed(db: Database, id: number, now: number): Promise<void> {
  const values = { confirmed_at: now, digest: null, expires_at: null };
  return updateRow(db, "user_emails", id, values, now);
}

/** Removes an address, also from where its user has chosen it. */
export async function remove(db: Database, { id, user_id: userId, email }: Email): Promise<void> {
  await db.run("delete from user_emails where id = ?", [id]);
  await unchoose(db, userId, email);
}

/** Removes a user's further address by its text, since it is that of their account now. */
export async function removeOwn(db: Database, userId: number, email: string): Promise<void> {
  const sql = "delete from user_emails where user_id = ? and lower(email) = lower(?)";
  await db.run(sql, [userId, email]);
}

/** Lets a user no longer show or use an address that is not theirs any more. */
export async function unchoose(db: Database, userId: number, email: string): Promise<void> {
  for (const column of ["public_email", "commit_email"]) {
    await db.run(`update users set ${column} = null where id = ? and lower(${column}) = lower(?)`, [
      userId,
      email,
    ]);
  }
  await db.run(
    "update notification_settings set notification_email = null where user_id = ? and lower(notification_email) = lower(?)",
    [userId, email],
  );
}
