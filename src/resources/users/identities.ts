import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** Who a user is at a provider. */
export interface Identity {
  readonly provider: string;
  readonly extern_uid: string;
}

/** The id of the user whom a provider calls so, exactly; `undefined` if there is none. */
export async function findUser(
  db: Reader,
  { provider, extern_uid }: Identity,
): Promise<number | undefined> {
  const sql = "select user_id from identities where provider = ? and extern_uid = ?";
  const [found] = await db.rows(sql, [provider, extern_uid]);
  return found?.[0] as number | undefined;
}

/** A user's identities, by the names of their providers. */
export function ofUser(db: Reader, userId: number): Awaitable<Identity[]> {
  return db.all<Identity>(
    "select provider, extern_uid from identities where user_id = ? order by provider",
    [userId],
  );
}

/** A user's identities, and when it was checked last that they still have them, in epoch milliseconds. */
export function checksOf(
  db: Reader,
  userId: number,
): Awaitable<(Identity & { readonly checked_at: number | null })[]> {
  return db.all<Identity & { readonly checked_at: number | null }>(
    "select provider, extern_uid, checked_at from identities where user_id = ? order by provider",
    [userId],
  );
}

/**
 * Identities at a provider of users who are active, that were not checked since an instant.
 *
 * @param last the user's id of those before; 0 for the first
 */
export function uncheckedAfter(
  db: Reader,
  provider: string,
  { last, since, most }: { readonly last: number; readonly since: number; readonly most: number },
): Awaitable<{ readonly user_id: number; readonly extern_uid: string }[]> {
  return db.all(
    `select i.user_id, i.extern_uid from identities i join users u on u.id = i.user_id and u.state = 'active'
     where i.provider = ? and i.user_id > ? and coalesce(i.checked_at, 0) <= ? order by i.user_id limit ?`,
    [provider, last, since, most],
  );
}

/** Notes that it was checked that a user still has their identity at a provider. */
export async function setChecked(
  db: Database,
  userId: number,
  provider: string,
  now: number,
): Promise<void> {
  const sql = "update identities set checked_at = ? where user_id = ? and provider = ?";
  await db.run(sql, [now, userId, provider]);
}

/** Gives a user an identity; they must have none at the provider, and nobody else that one. */
export async function insert(
  db: Database,
  userId: number,
  { provider, extern_uid }: Identity,
  now: number,
): Promise<void> {
  const dates = { created_at: now, updated_at: now };
  await insertRow(db, "identities", { user_id: userId, provider, extern_uid, ...dates });
}

/** Changes who a user is at a provider. */
export async function change(
  db: Database,
  userId: number,
  { provider, extern_uid }: Identity,
  now: number,
): Promise<void> {
  const sql =
    "update identities set extern_uid = ?, updated_at = ? where user_id = ? and provider = ?";
  await db.run(sql, [extern_uid, now, userId, provider]);
}

/** Takes a user's identity at a provider away. @returns whether there was one */
export async function remove(db: Database, userId: number, provider: string): Promise<boolean> {
  const sql = "delete from identities where user_id = ? and provider = ?";
  return (await db.run(sql, [userId, provider])) > 0;
}

/** The identities of users, with one statement, for the field `identities` of a presenter that has it. */
export async function embedIdentities(
  db: Reader,
  rows: readonly Value[][],
  presenter: Presenter,
): Promise<void> {
  if (rows.length === 0 || !("identities" in presenter.fields)) return;
  const [at, idAt] = [presenter.at("identities"), presenter.at("id")];
  const among = placeholders(rows.map((one) => one[idAt] as Value));
  const found = await db.rows(
    `select user_id, provider, extern_uid from identities where user_id in (${among.sql}) order by provider`,
    among.values,
  );
  const byUser = new Map<Value, object[]>();
  for (const [id, provider, extern_uid] of found) {
    const shown = { provider, extern_uid, saml_provider_id: null };
    byUser.set(id as Value, [...(byUser.get(id as Value) ?? []), shown]);
  }
  for (const one of rows) one[at] = JSON.stringify(byUser.get(one[idAt] as Value) ?? []);
}
