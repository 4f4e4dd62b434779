import * as audit from "../audit/log.ts";
import { keyIdOf, SecretKeyError, type Secrets } from "../core/secrets.ts";
import type { Database, Reader, Store } from "../store/port.ts";

/** How many secrets are re-encrypted in one transaction. */
const BATCH = 100;
const FIRST_KEY = "$1$";
const KEY_PREFIX = FIRST_KEY.length + 8;

/** The purpose a user's second factor is encrypted for; it can't be decrypted for another one. */
export const purposeOf = (userId: number) => `two_factor ${userId}`;

/** How the secrets in a database are encrypted. */
export interface SecretsState {
  /** The id of the current key; `null` if there is none. */
  key: string | null;
  /** How many secrets there are. */
  secrets: number;
  /** How many are encrypted with another key, or not at all. */
  outdated: number;
  /** User names of those whose secret's key is missing. */
  lost: string[];
}

/** Reports how the secrets in a database are encrypted. */
export async function stateOf(db: Reader, secrets: Secrets): Promise<SecretsState> {
  const counts = await keysIn(db);
  const [key = null, ...older] = secrets.keyIds();
  const all = [...counts].reduce((sum, [, count]) => sum + count, 0);
  const lost = [...counts.keys()].filter(
    (id) => id !== undefined && id !== key && !older.includes(id),
  );
  const users: string[] = [];
  for (const id of lost) users.push(...(await usersOf(db, id as string)));
  return {
    key,
    secrets: all,
    outdated: all - (key === null ? 0 : (counts.get(key) ?? 0)),
    lost: users.sort(),
  };
}

/**
 * Checks that this process has the keys of all stored secrets, before it encrypts another one.
 *
 * @throws SecretKeyError if one is missing, so another process uses a key that this one doesn't have
 */
export async function requireSameKey(db: Reader, secrets: Secrets): Promise<void> {
  const known = secrets.keyIds();
  for (const id of (await keysIn(db)).keys()) {
    if (id === undefined || known.includes(id)) continue;
    throw new SecretKeyError(
      `the database has secrets that were encrypted with the key ${id}, which this process does not have`,
    );
  }
}

/**
 * Re-encrypts all secrets that are not encrypted with the first key, in transactions small enough for others to write
 * in between. If it is interrupted, the next call continues.
 *
 * @param plainOnly encrypts only secrets that were never encrypted
 * @returns how many were encrypted
 */
export async function reencrypt(
  store: Store,
  secrets: Secrets,
  { plainOnly = false }: { plainOnly?: boolean } = {},
): Promise<number> {
  const done = plainOnly ? FIRST_KEY : `${FIRST_KEY}${secrets.keyIds()[0]}`;
  let encrypted = 0;
  let after = 0;
  for (;;) {
    const rows = await store.rows(
      `select user_id, secret from two_factor where user_id > ? and substr(secret, 1, ?) <> ?
       order by user_id limit ?`,
      [after, done.length, done, BATCH],
    );
    if (rows.length === 0) return encrypted;
    after = rows.at(-1)?.[0] as number;
    encrypted += await store.transaction(async (db) => {
      let changed = 0;
      for (const [id, secret] of rows as [number, string][]) {
        const plain = openOrNothing(secrets, secret, purposeOf(id));
        if (plain === undefined) continue;
        // It may have been changed or deleted meanwhile.
        changed += await db.run(
          "update two_factor set secret = ? where user_id = ? and secret = ?",
          [secrets.seal(plain, purposeOf(id)), id, secret],
        );
      }
      return changed;
    });
  }
}

/**
 * Creates a new key, if keys are in a file, and re-encrypts everything with it. If an earlier rotation was interrupted,
 * finishes that one with its key instead.
 *
 * @returns how many secrets were re-encrypted
 */
export async function rotateKey(store: Store, secrets: Secrets): Promise<number> {
  await store.transaction(async (db) => {
    const used = await keysIn(db);
    const [, ...older] = secrets.keyIds();
    const isBegun = [...used.keys()].some((id) => id === undefined || older.includes(id));
    if (!isBegun) secrets.renew((id) => used.has(id));
  });
  return reencrypt(store, secrets);
}

/** Removes the second factors whose key is missing. @returns their users' names */
export async function removeLost(
  db: Database,
  secrets: Secrets,
  by: audit.Actor,
  now: number,
): Promise<string[]> {
  const { lost } = await stateOf(db, secrets);
  for (const username of lost) {
    const [found] = await db.rows("select id from users where username = ?", [username]);
    const userId = found?.[0] as number;
    await db.run("delete from recovery_codes where user_id = ?", [userId]);
    await db.run("delete from two_factor where user_id = ?", [userId]);
    await audit.log({ db, by, now }, "two-factor disabled", { userId });
  }
  return lost;
}

/** Counts the secrets by the id of their key, `undefined` for those that were never encrypted. */
async function keysIn(db: Reader): Promise<Map<string | undefined, number>> {
  const counts = new Map<string | undefined, number>();
  const found = await db.rows(
    `select case when substr(secret, 1, ?) = ? then substr(secret, 1, ?) end, count(*)
     from two_factor group by 1`,
    [FIRST_KEY.length, FIRST_KEY, KEY_PREFIX],
  );
  for (const [prefix, count] of found) {
    const id = prefix === null ? undefined : String(prefix).slice(FIRST_KEY.length);
    counts.set(id, Number(count));
  }
  return counts;
}

async function usersOf(db: Reader, keyId: string): Promise<string[]> {
  const found = await db.rows(
    `select u.username from two_factor t join users u on u.id = t.user_id
     where substr(t.secret, 1, ?) = ? order by u.username`,
    [KEY_PREFIX, FIRST_KEY + keyId],
  );
  return found.map(([username]) => String(username));
}

function openOrNothing(secrets: Secrets, secret: string, of: string): string | undefined {
  try {
    return secrets.open(secret, of);
  } catch (error) {
    if (error instanceof SecretKeyError && keyIdOf(secret) !== undefined) return undefined;
    throw error;
  }
}
