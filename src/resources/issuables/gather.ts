import type { Value } from "../../store/port.ts";

/** JSON texts by the id in the last column of each row. */
export function gather(
  rows: readonly Value[][],
  write: (row: readonly Value[]) => string,
): Map<Value, string[]> {
  const texts = new Map<Value, string[]>();
  for (const row of rows) {
    const id = row.at(-1) as Value;
    const before = texts.get(id);
    if (before) before.push(write(row));
    else texts.set(id, [write(row)]);
  }
  return texts;
}
