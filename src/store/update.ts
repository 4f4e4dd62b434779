import type { Database, Value } from "./port.ts";

/**
 * Updates columns of one row, except those that are `undefined`. `updated_at` always becomes `now`.
 *
 * @param changes values by column name; the names must not come from a client
 */
export async function updateRow(
  db: Database,
  table: string,
  id: number,
  changes: Readonly<Record<string, Value | undefined>>,
  now: number,
): Promise<void> {
  const given = Object.entries(changes).filter(
    (entry): entry is [string, Value] => entry[1] !== undefined,
  );
  const assignments = given.map(([column]) => `${column} = ?, `).join("");
  await db.run(`update ${table} set ${assignments}updated_at = ? where id = ?`, [
    ...given.map(([, value]) => value),
    now,
    id,
  ]);
}
