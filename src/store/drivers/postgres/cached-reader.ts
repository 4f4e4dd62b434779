import type { Awaitable, Reader, Value } from "../../port.ts";
import { keyOf, type RowCache } from "../../row-cache.ts";

/**
 * Reads of one request, with rows cached by earlier requests until something is committed: equal snapshots see the same
 * rows (PostgreSQL's documentation, "Transaction ID and Snapshot Information Functions").
 */
export function cachedReader(reads: Reader, cache: RowCache): Reader {
  const look = async () => {
    const [row] = await reads.rows("select cast(pg_current_snapshot() as text)");
    cache.setVersion(row?.[0] as Value);
  };
  let looked: Promise<void> | undefined;
  /**
   * A row or slice from the cache, or else from the database. While others write, the cache has nothing to offer, so the
   * first one is read without waiting for that news: it may then be older than the version, and is not kept.
   */
  const cached = async <T>(
    known: () => T | undefined,
    read: () => Awaitable<T>,
    keep: (found: T) => void,
  ): Promise<T> => {
    const isFirst = looked === undefined;
    looked ??= look();
    const early = isFirst && cache.isChanging ? Promise.resolve(read()) : undefined;
    // Nobody waits for it if the cache has it after all.
    early?.catch(() => undefined);
    await looked;
    const kept = known();
    if (kept !== undefined) return kept;
    if (early) return early;
    const { version } = cache;
    const found = await read();
    // If another request has seen a later version in the meantime, this may belong to the one before.
    if (cache.version === version) keep(found);
    return found;
  };
  return {
    ...reads,
    slice(sql, values, most, { kept = false } = {}) {
      if (!kept) return reads.slice(sql, values, most);
      const key = keyOf(values);
      return cached(
        () => cache.slice(sql, key),
        () => reads.slice(sql, values, most),
        (found) => cache.keep(sql, key, found),
      );
    },
    one<Row extends object>(sql: string, values: readonly Value[] = []) {
      const key = keyOf(values);
      return cached<Readonly<Row> | undefined>(
        () => cache.get(sql, key) as Readonly<Row> | undefined,
        () => reads.one<Row>(sql, values),
        (found) => found && cache.set(sql, key, found),
      );
    },
  };
}
