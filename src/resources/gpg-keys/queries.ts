import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { pageReader } from "../../core/pagination.ts";
import { rowReader } from "../../core/presenter.ts";
import type { PublicKey } from "../../signatures/openpgp.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";

/** The columns of a key that handlers use. */
export interface Key {
  readonly id: number;
  readonly user_id: number;
  readonly key: string;
  readonly primary_keyid: string;
  readonly updated_at: number;
}

const KEY =
  "select id, user_id, key, primary_keyid, updated_at from gpg_keys where removed_at is null";

/** A key by its id, or `undefined`. */
export function find(db: Reader, id: number): Awaitable<Key | undefined> {
  return db.one<Key>(`${KEY} and id = ?`, [id]);
}

/** The key with a fingerprint, or `undefined`. Nobody else can have it. */
export function findSame(db: Reader, { fingerprint }: PublicKey): Awaitable<Key | undefined> {
  return db.one<Key>(`${KEY} and fingerprint = ?`, [fingerprint]);
}

/** How many keys a user has. */
export async function count(db: Reader, userId: number): Promise<number> {
  const sql = "select count(*) from gpg_keys where user_id = ? and removed_at is null";
  const [found] = await db.rows(sql, [userId]);
  return found?.[0] as number;
}

/** Adds a key, instead of the same one that the user removed before. @param text with its armor. @returns its id */
export async function insert(
  db: Database,
  userId: number,
  text: string,
  { fingerprint, keyId, userIds, signingKeys }: PublicKey,
  now: number,
): Promise<number> {
  await db.run("delete from gpg_keys where user_id = ? and fingerprint = ?", [userId, fingerprint]);
  const id = await insertRow(db, "gpg_keys", {
    user_id: userId,
    key: text,
    fingerprint,
    primary_keyid: keyId,
    user_ids: JSON.stringify(userIds),
    created_at: now,
    updated_at: now,
  });
  for (const part of signingKeys) {
    await insertRow(db, "gpg_key_parts", {
      gpg_key_id: id,
      keyid: part.keyId,
      packet: part.packet.toString("base64"),
      is_primary: Number(part.isPrimary),
      is_revoked: Number(part.isRevoked),
      expires_at: part.expiresAt,
    });
  }
  return id;
}

/** Removed keys of a user that are kept: what older ones have signed is by an unknown key. */
const MOST_REMOVED = 100;

/** Removes a key: what it has signed so far stays as it is. */
export async function remove(db: Database, { id, user_id }: Key, now: number): Promise<void> {
  await updateRow(db, "gpg_keys", id, { removed_at: now }, now);
  await db.run(
    `delete from gpg_keys where user_id = ? and removed_at is not null and id not in
       (select id from gpg_keys where user_id = ? and removed_at is not null
        order by removed_at desc, id desc limit ${MOST_REMOVED})`,
    [user_id, user_id],
  );
}

/** Deletes a key: what it has signed is by an unknown key. */
export async function revoke(db: Database, id: number): Promise<void> {
  await db.run("delete from gpg_keys where id = ?", [id]);
}

const OF_USERS = `gpg_keys gk join users u on u.id = gk.user_id and ${NOT_DELETED_USER}`;

/** The keys of a user, the oldest first. */
export const listOfUser = pageReader({
  from: `${OF_USERS} where gk.user_id = ? and gk.removed_at is null`,
  order: "gk.id",
});

/** A key as a row for its presenter. */
export const row = rowReader(`${OF_USERS} where gk.id = ?`);

/** Keys that are written one after the other. */
const MOST_SHOWN = 100;

/** The texts of a user's keys, the oldest first. */
export async function texts(db: Reader, userId: number): Promise<string[]> {
  const found = await db.rows(
    `select key from gpg_keys where user_id = ? and removed_at is null order by id limit ${MOST_SHOWN}`,
    [userId],
  );
  return found.map(([key]) => String(key));
}

/** A key that may have made a signature. */
export interface PossibleKey {
  readonly id: number;
  readonly part_id: number;
  readonly user_id: number;
  readonly primary_keyid: string;
  readonly user_ids: string;
  readonly removed_at: number | null;
  readonly packet: string;
  readonly is_primary: number;
  readonly is_revoked: number;
  readonly expires_at: number | null;
}

/** The keys with the short name that a signature has: mostly one at most. Those that were not removed come first. */
export function findByKeyId(db: Reader, keyId: string): Awaitable<PossibleKey[]> {
  return db.all<PossibleKey>(
    `select gk.id, s.id as part_id, gk.user_id, gk.primary_keyid, gk.user_ids, gk.removed_at, s.packet, s.is_primary,
       s.is_revoked, s.expires_at
     from gpg_key_parts s join gpg_keys gk on gk.id = s.gpg_key_id join users u on u.id = gk.user_id and ${NOT_DELETED_USER}
     where s.keyid = ? order by coalesce(gk.removed_at, ${Number.MAX_SAFE_INTEGER}) desc, s.id limit 5`,
    [keyId],
  );
}
