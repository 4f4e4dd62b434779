import type { Database, Reader } from "../store/port.ts";
import { updateRow } from "../store/update.ts";
import * as sessions from "./sessions.ts";

/** The part of a user's record that signing in needs. */
export interface Account {
  readonly id: number;
  readonly username: string;
  /** Only active users may sign in. */
  readonly state: string;
  /** `null` if they have no password. */
  readonly password_hash: string | null;
}

/** Users of access tokens and service accounts: they have tokens only, whoever gives them a password. */
const NO_PERSON = `exists (select 1 from resource_bots b where b.user_id = users.id)
  or exists (select 1 from service_accounts a where a.user_id = users.id)`;

/** A user's account by user name or e-mail address, ignoring case, or `undefined`. Bots have no password in it. */
export async function findByLogin(db: Reader, login: string): Promise<Account | undefined> {
  const column = login.includes("@") ? "email" : "username";
  return db.one<Account>(
    `select id, username, state, case when ${NO_PERSON} then null else password_hash end as password_hash
     from users where lower(${column}) = lower(?)`,
    [login],
  );
}

/** The names of the providers at which a user has an identity. */
export async function providersOf(db: Reader, userId: number): Promise<string[]> {
  const found = await db.rows("select provider from identities where user_id = ?", [userId]);
  return found.map(([provider]) => String(provider));
}

/** The account of whom a provider calls so, or `undefined`. */
export async function findByIdentity(
  db: Reader,
  provider: string,
  uid: string,
): Promise<Account | undefined> {
  return db.one<Account>(
    `select u.id, u.username, u.state, null as password_hash from identities i join users u on u.id = i.user_id
     where i.provider = ? and i.extern_uid = ?`,
    [provider, uid],
  );
}

/** The hash of a user's password; `null` if they have none. */
export async function passwordHash(db: Reader, userId: number): Promise<string | null> {
  const [found] = await db.rows("select password_hash from users where id = ?", [userId]);
  return (found?.[0] ?? null) as string | null;
}

/** Changes a user's password. Their sessions end, and links to set one stop working. */
export async function setPassword(
  db: Database,
  userId: number,
  hash: string,
  now: number,
): Promise<void> {
  await updateRow(db, "users", userId, { password_hash: hash }, now);
  await db.run("delete from invitations where user_id = ?", [userId]);
  await sessions.endAll(db, userId);
}
