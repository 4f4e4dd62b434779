import type { Value } from "../../store/port.ts";

/** What is made of rows, by the id in the last column of each. */
export function gather<T>(rows: Value[][], make: (row: Value[]) => T): Map<Value, T[]> {
  const made = new Map<Value, T[]>();
  for (const row of rows) add(made, row.at(-1) as Value, make(row));
  return made;
}

/**
 * The SQL of the last column for {@link gatherShared}: lists have few labels and people, each of which many rows share, so
 * it takes half as long to read each of them once.
 *
 * @param column with ids
 */
export const idsOf = (column: string): string => `group_concat(cast(${column} as text), ',')`;

/** What is made of rows, by each of the ids that the last column lists: see {@link idsOf}. */
export function gatherShared<T>(rows: Value[][], make: (row: Value[]) => T): Map<Value, T[]> {
  const made = new Map<Value, T[]>();
  for (const row of rows) {
    const shared = make(row);
    for (const id of String(row.at(-1)).split(",")) add(made, Number(id), shared);
  }
  return made;
}

function add<T>(made: Map<Value, T[]>, id: Value, one: T): void {
  const before = made.get(id);
  if (before) before.push(one);
  else made.set(id, [one]);
}
