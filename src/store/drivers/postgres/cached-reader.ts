import type { Reader, Value } from "../../port.ts";
import { keyOf, type RowCache } from "../../row-cache.ts";

/**
 * Reads of one request, with single rows cached by earlier requests until something is committed: equal snapshots see the
 * same rows (PostgreSQL's documentation, "Transaction ID and Snapshot Information Functions").
 */
export function cachedReader(reads: Reader, cache: RowCache): Reader {
  const look = async () => {
    const [row] = await reads.rows("select cast(pg_current_snapshot() as text)");
    cache.setVersion(row?.[0] as Value);
  };
  let looked: Promise<void> | undefined;
  return {
    ...reads,
    async one<Row extends object>(sql: string, values: readonly Value[] = []) {
      looked ??= look();
      await looked;
      const key = keyOf(values);
      const cached = cache.get(sql, key);
      if (cached) return cached as Readonly<Row>;
      const { version } = cache;
      const found = await reads.one<Row>(sql, values);
      // If another request has seen a later version in the meantime, this may belong to the one before.
      if (found && cache.version === version) cache.set(sql, key, found);
      return found;
    },
  };
}
