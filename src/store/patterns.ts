import type { Value } from "./port.ts";

/**
 * The condition that one of the columns contains a text, whatever the case of its ASCII letters (which is what `lower`
 * folds on both engines).
 */
export function contains(
  columns: readonly string[],
  text: string,
): { sql: string; values: Value[] } {
  const pattern = `%${text.replace(/[\\%_]/g, "\\$&")}%`;
  return {
    sql: `(${columns.map((column) => `lower(${column}) like lower(?) escape '\\'`).join(" or ")})`,
    values: columns.map(() => pattern),
  };
}
