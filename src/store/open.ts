import type { PostgresOptions } from "./drivers/postgres.ts";
import { type Store, StoreError } from "./port.ts";
import { type Connect, openSqlite, type SqliteOptions } from "./sqlite.ts";

/** What keeps a text from naming a database, or `undefined`. */
export function problemOfName(database: string): string | undefined {
  if (database === "") return "can't be empty";
  const [, scheme, rest] = /^([a-z][a-z\d+.-]+):(?:\/\/)?(.*)$/is.exec(database) ?? [];
  if (scheme === undefined || /^postgres(ql)?:\/\//.test(database)) return undefined;
  const isFile = /^(file|sqlite3?)$/i.test(scheme);
  if (isFile) return `must be the path alone: give "${rest}"`;
  return "must be the path of a SQLite file, a postgres:// URL, or :memory:";
}

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
  const problem = problemOfName(database);
  if (problem !== undefined) throw new StoreError("unusable", `the name of the database ${problem}`);
  if (/^postgres(ql)?:\/\//.test(database)) {
    const { openPostgres } = await import("./drivers/postgres.ts");
    return openPostgres(database, options);
  }
  return openSqlite(await sqlite(), database, options);
}

/** The SQLite of this runtime: Bun and Deno have their own, Node better-sqlite3 or, from 22.16 on, its own. */
async function sqlite(): Promise<Connect> {
  if (process.versions["bun"]) return (await import("./drivers/bun-sqlite.ts")).connect;
  if (process.versions["deno"]) return (await import("./drivers/node-sqlite.ts")).connect;
  const wanted = process.env["PM_SQLITE"] || undefined;
  if (wanted === "node:sqlite") return nodesOwn();
  if (wanted !== undefined && wanted !== "better-sqlite3") {
    throw new StoreError(
      "driver",
      `PM_SQLITE is '${wanted}', it must be better-sqlite3 or node:sqlite`,
    );
  }
  try {
    return (await import("./drivers/better-sqlite3.ts")).connect;
  } catch (error) {
    if (wanted !== undefined) {
      const [reason] = (error as Error).message.split("\n", 1);
      throw new StoreError("driver", `better-sqlite3 can't be loaded: ${reason}`, { cause: error });
    }
    return nodesOwn(error);
  }
}

async function nodesOwn(cause?: unknown): Promise<Connect> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 16)) {
    return (await import("./drivers/node-sqlite.ts")).connect;
  }
  throw new StoreError(
    "driver",
    `Node ${process.versions.node} has no SQLite of its own that will do: install better-sqlite3, or use Node 22.16 or newer`,
    { cause },
  );
}
