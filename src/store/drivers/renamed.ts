import type { Value } from "../port.ts";

/**
 * Returns a statement that selects from the rows of another one, whose columns it names `c0`, `c1`, …
 *
 * The rows keep the order of the inner statement if SQLite merges the two or takes the inner rows one at a time
 * (https://sqlite.org/optoverview.html, "Subquery Flattening" and "Subquery Co-routines"), and nothing else is done to
 * them: an aggregate such as `group_concat` gets its rows in arbitrary order.
 *
 * @param select what to select, given the names
 * @param explain runs `explain query plan` and returns the details
 * @returns `undefined` if SQLite would not keep the order
 */
export function renamed(
  sql: string,
  columns: readonly unknown[],
  select: (names: string) => string,
  explain: (sql: string, values: readonly Value[]) => readonly string[],
): string | undefined {
  const names = columns.map((_, at) => `c${at}`).join();
  const outer = `with r(${names}) as (${sql}) select ${select(names)} from r`;
  const values = Array<null>(sql.split("?").length - 1).fill(null);
  const plan = explain(`explain query plan ${outer}`, values);
  return plan.includes("MATERIALIZE r") ? undefined : outer;
}
