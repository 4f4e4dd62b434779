import type { Value } from "./port.ts";

/**
 * Placeholders for an `in (…)` list. Their number is rounded up to a power of two by repeating the last value, so
 * that a few statements serve all lengths.
 *
 * @param values at least one
 */
export function placeholders(values: readonly Value[]): { sql: string; values: Value[] } {
  const length = 2 ** Math.ceil(Math.log2(values.length));
  const padded = Array.from(
    { length },
    (_, index) => values[Math.min(index, values.length - 1)] as Value,
  );
  let sql = texts.get(length);
  if (sql === undefined) {
    sql = padded.map(() => "?").join(", ");
    texts.set(length, sql);
  }
  return { sql, values: padded };
}

/** The placeholders of each length, a power of two, that was needed. */
const texts = new Map<number, string>();
