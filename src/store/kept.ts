import type { Value } from "./port.ts";

const ROWS_KEPT = 2000;
/** A row with a longer text is not kept. */
const KEPT_TEXT = 1000;
/** Nor is one that was looked up by a longer statement and values. */
const KEPT_KEY = 5000;

/**
 * Single rows that were looked up, of one version of the database (docs/decisions/0003). What tells versions apart is
 * the engine's own: two reads that find the same version find the same rows.
 */
export class KeptRows {
  readonly #rows = new Map<string, Map<string, object>>();
  #count = 0;
  #version: Value = null;

  /** The version that the rows are of, or a later one: that at which somebody last looked. */
  get version(): Value {
    return this.#version;
  }

  /** Somebody has found the database to be of this version: forgets what is of another. */
  meet(version: Value): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#forget();
  }

  /** @param key {@link keyOf} the statement's values */
  find(sql: string, key: string): object | undefined {
    return this.#rows.get(sql)?.get(key);
  }

  /** Keeps a row, unless it or what it was looked up by is large. It can't be changed any more. */
  keep(sql: string, key: string, row: object): void {
    if (sql.length + key.length > KEPT_KEY || !isSmall(row)) return;
    if (this.#count >= ROWS_KEPT) this.#forget();
    const rows = this.#rows.get(sql) ?? new Map<string, object>();
    this.#rows.set(sql, rows.set(key, Object.freeze(row)));
    this.#count += 1;
  }

  #forget(): void {
    this.#rows.clear();
    this.#count = 0;
  }
}

function isSmall(row: object): boolean {
  return Object.values(row).every(
    (value) =>
      !(typeof value === "string" || value instanceof Uint8Array) || value.length <= KEPT_TEXT,
  );
}

/** Different texts for different values: each says where it ends. */
export function keyOf(values: readonly Value[]): string {
  let key = "";
  for (const value of values) {
    if (typeof value === "string") key += `${value.length}:${value}`;
    else key += value instanceof Uint8Array ? `x${value.join()};` : `${typeof value} ${value};`;
  }
  return key;
}
