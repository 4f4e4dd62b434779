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

/** Rows that one statement adds. */
const ROWS = 100;

/**
 * Inserts rows, some with each statement.
 *
 * @param columns names, which must not come from a client
 * @param rows the values of these columns
 * @throws ConstraintError if a constraint refuses a row
 */
export async function insertMany(
  db: Database,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): Promise<void> {
  const marks = `(${columns.map(() => "?").join(", ")})`;
  for (let start = 0; start < rows.length; start += ROWS) {
    const batch = rows.slice(start, start + ROWS);
    await db.run(
      `insert into ${table} (${columns.join(", ")}) values ${batch.map(() => marks).join(", ")}`,
      batch.flat(),
    );
  }
}
