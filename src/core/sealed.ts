import type { Database, Reader, Store } from "../store/port.ts";
import { keyIdOf, SecretKeyError, type Secrets } from "./secrets.ts";

/** A column of encrypted secrets. */
export interface SealedColumn {
  readonly table: string;
  /** The column of the rows' ids, which are integers. */
  readonly id: string;
  readonly column: string;
  /** What a row's secret is encrypted for, as an SQL expression: it can't be decrypted for anything else. */
  readonly purpose: string;
  /** Whether an earlier version stored such secrets without encrypting them. */
  readonly wasPlain?: true;
  /** How many are re-encrypted in one transaction. Default 100; fewer of large ones, which are in memory then. */
  readonly batch?: number;
}

/** A secret that can't be read, since its key is missing. */
export interface LostSecret {
  readonly column: SealedColumn;
  readonly id: number;
}

/** {@link SealedColumn.batch}. */
const BATCH = 100;
const FIRST_KEY = "$1$";
const KEY_PREFIX = FIRST_KEY.length + 8;

/**
 * Makes sure that secrets can be encrypted with the key of those that are stored already.
 *
 * @returns `Secrets.seal`
 * @throws SecretKeyError if there is no key, or another process encrypted with one that this process doesn't have
 */
export async function sealerFor(db: Database, secrets: Secrets): Promise<Secrets["seal"]> {
  const used = (await db.rows("select id from secret_keys")).map(([id]) => id as string);
  const known = secrets.keyIds();
  const missing = used.find((id) => !known.includes(id));
  if (missing !== undefined) {
    throw new SecretKeyError(
      `the database has secrets that were encrypted with the key ${missing}, which this process does not have`,
    );
  }
  // The first secret of all creates the key.
  if (known.length === 0) secrets.seal("", "");
  await noteKey(db, secrets, used);
  return secrets.seal;
}

/** Records the current key as one that encrypts secrets of this database. */
async function noteKey(
  db: Database,
  secrets: Secrets,
  noted: readonly string[] = [],
): Promise<void> {
  const key = secrets.keyIds()[0] as string;
  if (noted.includes(key)) return;
  await db.run("insert into secret_keys (id) values (?) on conflict (id) do nothing", [key]);
}

/** Counts the secrets by the id of their key, `undefined` for those that were never encrypted. */
export async function countByKey(
  db: Reader,
  columns: readonly SealedColumn[],
): Promise<Map<string | undefined, number>> {
  const counts = new Map<string | undefined, number>();
  for (const { table, column } of columns) {
    const found = await db.rows(
      `select case when substr(${column}, 1, ?) = ? then substr(${column}, 1, ?) end, count(*)
       from ${table} where ${column} is not null group by 1`,
      [FIRST_KEY.length, FIRST_KEY, KEY_PREFIX],
    );
    for (const [prefix, count] of found) {
      const id = prefix === null ? undefined : String(prefix).slice(FIRST_KEY.length);
      counts.set(id, (counts.get(id) ?? 0) + Number(count));
    }
  }
  return counts;
}

/** Finds the secrets whose key this process doesn't have. */
export async function lostIn(
  db: Reader,
  secrets: Secrets,
  columns: readonly SealedColumn[],
): Promise<LostSecret[]> {
  const known = secrets.keyIds();
  const lost: LostSecret[] = [];
  for (const one of columns) {
    const { table, id, column } = one;
    for (const key of (await countByKey(db, [one])).keys()) {
      if (key === undefined || known.includes(key)) continue;
      const rows = await db.rows(
        `select ${id} from ${table} where substr(${column}, 1, ?) = ? order by ${id}`,
        [KEY_PREFIX, FIRST_KEY + key],
      );
      for (const [found] of rows) lost.push({ column: one, id: found as number });
    }
  }
  return lost;
}

/**
 * Re-encrypts all secrets that are not encrypted with the first key, in transactions small enough for others to write
 * in between. If it is interrupted, the next call continues. Secrets whose key is missing stay as they are.
 *
 * @param plainOnly encrypts only secrets that were never encrypted
 * @returns how many were encrypted
 */
export async function reencrypt(
  store: Store,
  secrets: Secrets,
  columns: readonly SealedColumn[],
  { plainOnly = false }: { plainOnly?: boolean } = {},
): Promise<number> {
  let encrypted = 0;
  for (const column of columns) {
    if (!plainOnly || column.wasPlain) {
      encrypted += await reencryptColumn(store, secrets, column, plainOnly);
    }
  }
  return encrypted;
}

async function reencryptColumn(
  store: Store,
  secrets: Secrets,
  { table, id, column, purpose, batch = BATCH }: SealedColumn,
  plainOnly: boolean,
): Promise<number> {
  const done = plainOnly ? FIRST_KEY : `${FIRST_KEY}${secrets.keyIds()[0]}`;
  let encrypted = 0;
  let after = 0;
  for (;;) {
    const rows = await store.rows(
      `select ${id}, ${column}, ${purpose} from ${table} where ${id} > ? and substr(${column}, 1, ?) <> ?
       order by ${id} limit ?`,
      [after, done.length, done, batch],
    );
    if (rows.length === 0) return encrypted;
    after = rows.at(-1)?.[0] as number;
    encrypted += await store.transaction(async (db) => {
      let changed = 0;
      for (const [row, secret, of] of rows as [number, string, string][]) {
        const plain = openOrNothing(secrets, secret, of);
        if (plain === undefined) continue;
        // It may have been changed or deleted meanwhile.
        changed += await db.run(
          `update ${table} set ${column} = ? where ${id} = ? and ${column} = ?`,
          [secrets.seal(plain, of), row, secret],
        );
      }
      if (changed > 0) await noteKey(db, secrets);
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
export async function rotateKey(
  store: Store,
  secrets: Secrets,
  columns: readonly SealedColumn[],
): Promise<number> {
  await store.transaction(async (db) => {
    const used = await countByKey(db, columns);
    const [, ...older] = secrets.keyIds();
    const isBegun = [...used.keys()].some((id) => id === undefined || older.includes(id));
    if (!isBegun) secrets.renew((id) => used.has(id));
  });
  const encrypted = await reencrypt(store, secrets, columns);
  await store.transaction((db) => forgetUnusedKeys(db, columns));
  return encrypted;
}

/** Forgets the keys that no secret needs any more. */
export async function forgetUnusedKeys(
  db: Database,
  columns: readonly SealedColumn[],
): Promise<void> {
  const used = await countByKey(db, columns);
  for (const [id] of await db.rows("select id from secret_keys")) {
    if (!used.has(id as string))
      await db.run("delete from secret_keys where id = ?", [id as string]);
  }
}

function openOrNothing(secrets: Secrets, secret: string, of: string): string | undefined {
  try {
    return secrets.open(secret, of);
  } catch (error) {
    if (error instanceof SecretKeyError && keyIdOf(secret) !== undefined) return undefined;
    throw error;
  }
}
