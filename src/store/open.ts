import type { SqliteOptions } from "./drivers/better-sqlite3.ts";
import type { PostgresOptions } from "./drivers/postgres.ts";
import type { Store } from "./port.ts";

/**
 * Opens the database a name stands for: a `postgres://` or `postgresql://` URL, `":memory:"`, or a SQLite file.
 * Only the driver that is used is loaded.
 *
 * @throws StoreError when it can't be opened
 */
export async function openStore(
  database: string,
  options: SqliteOptions & PostgresOptions = {},
): Promise<Store> {
  if (/^postgres(ql)?:\/\//.test(database)) {
    const { openPostgres } = await import("./drivers/postgres.ts");
    return openPostgres(database, options);
  }
  const { openSqlite } = await import("./drivers/better-sqlite3.ts");
  return openSqlite(database, options);
}
