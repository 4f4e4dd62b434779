import type { Value } from "./port.ts";

/** In characters. SQLite refuses patterns of more than 50,000 bytes; the longest name has 255 characters. */
const LONGEST = 10_000;

/**
 * The condition that one of the columns contains a text, whatever the case of its ASCII letters (which is what `lower`
 * folds on both engines). Nothing contains a text of more than 10,000 characters.
 */
export function contains(
  columns: readonly string[],
  text: string,
): { sql: string; values: Value[] } {
  if (text.length > LONGEST) return { sql: "1 = 0", values: [] };
  const pattern = `%${text.replace(/[\\%_]/g, "\\$&")}%`;
  return {
    sql: `(${columns.map((column) => `lower(${column}) like lower(?) escape '\\'`).join(" or ")})`,
    values: columns.map(() => pattern),
  };
}
