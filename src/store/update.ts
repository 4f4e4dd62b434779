import type { Database, Value } from "./port.ts";

/** Values by column name; the names must not come from a client. */
type Changes = Readonly<Record<string, Value | undefined>>;

/** Updates columns of one row, except those that are `undefined`. `updated_at` always becomes `now`. */
export async function updateRow(
  db: Database,
  table: string,
  id: number,
  changes: Changes,
  now: number,
): Promise<void> {
  const { sql, values } = updateOf(table, id, changes, now);
  await db.run(sql, values);
}

/**
 * Same as {@link updateRow}, but PostgreSQL's answer is not waited for: see {@link Database.send}. For columns that no
 * constraint refuses, since the caller can't catch that, and not in a loop without a bound.
 */
export function sendUpdate(
  db: Database,
  table: string,
  id: number,
  changes: Changes,
  now: number,
): void {
  const { sql, values } = updateOf(table, id, changes, now);
  db.send(sql, values);
}

function updateOf(
  table: string,
  id: number,
  changes: Changes,
  now: number,
): { sql: string; values: Value[] } {
  const given = Object.entries(changes).filter(
    (entry): entry is [string, Value] => entry[1] !== undefined,
  );
  const assignments = given.map(([column]) => `${column} = ?, `).join("");
  return {
    sql: `update ${table} set ${assignments}updated_at = ? where id = ?`,
    values: [...given.map(([, value]) => value), now, id],
  };
}
