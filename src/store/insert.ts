import type { Database, Value } from "./port.ts";

/**
 * Inserts one row.
 *
 * @param table with an `id` that the database assigns
 * @param columns values by column name; the names must not come from a client
 * @returns the row's id
 * @throws ConstraintError if a constraint refuses the row
 */
export async function insertRow(
  db: Database,
  table: string,
  columns: Readonly<Record<string, Value>>,
): Promise<number> {
  const names = Object.keys(columns);
  const marks = "?, ".repeat(names.length).slice(0, -2);
  const [inserted] = await db.rows(
    `insert into ${table} (${names.join(", ")}) values (${marks}) returning id`,
    Object.values(columns),
  );
  return (inserted as Value[])[0] as number;
}
