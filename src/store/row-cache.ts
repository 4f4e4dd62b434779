import type { Value } from "./port.ts";

const MAX_ROWS = 2000;
/** Rows with a longer text are not cached. */
const MAX_TEXT_LENGTH = 1000;
/** Nor are rows looked up by a longer statement and values. */
const MAX_KEY_LENGTH = 5000;

/**
 * Cache of single rows of one database version (docs/decisions/0003). The engine provides the version: two reads that find
 * the same version find the same rows.
 */
export class RowCache {
  readonly #rows = new Map<string, Map<string, object>>();
  #count = 0;
  #version: Value = null;

  /** The database version last seen, which the cached rows belong to. */
  get version(): Value {
    return this.#version;
  }

  /** Reports the database's current version. Clears the cache if it is a new one. */
  setVersion(version: Value): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#forget();
  }

  /** @param key {@link keyOf} the statement's values */
  get(sql: string, key: string): object | undefined {
    return this.#rows.get(sql)?.get(key);
  }

  /** Caches and freezes a row, unless the row or its key is large. */
  set(sql: string, key: string, row: object): void {
    if (sql.length + key.length > MAX_KEY_LENGTH || !isSmall(Object.values(row))) return;
    if (this.#count >= MAX_ROWS) this.#forget();
    const rows = this.#rows.get(sql) ?? new Map<string, object>();
    this.#rows.set(sql, rows.set(key, Object.freeze(row)));
    this.#count += 1;
  }

  #forget(): void {
    this.#rows.clear();
    this.#count = 0;
  }
}

function isSmall(row: readonly Value[]): boolean {
  return row.every(
    (value) =>
      !(typeof value === "string" || value instanceof Uint8Array) ||
      value.length <= MAX_TEXT_LENGTH,
  );
}

/** A unique text for a list of values: each value's end is marked. */
export function keyOf(values: readonly Value[]): string {
  let key = "";
  for (const value of values) {
    if (typeof value === "string") key += `${value.length}:${value}`;
    else key += value instanceof Uint8Array ? `x${value.join()};` : `${typeof value} ${value};`;
  }
  return key;
}
