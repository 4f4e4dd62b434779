import type { Value } from "../../store/port.ts";

/** What is made of rows, by the id in the last column of each. */
export function gather<T>(rows: Value[][], make: (row: Value[]) => T): Map<Value, T[]> {
  const made = new Map<Value, T[]>();
  for (const row of rows) {
    const id = row.at(-1) as Value;
    const before = made.get(id);
    if (before) before.push(make(row));
    else made.set(id, [make(row)]);
  }
  return made;
}
