import type { PostgresOptions } from "./drivers/postgres/open.ts";
import { type Store, StoreError } from "./port.ts";
import {
  type Connect,
  type Image,
  type MemoryStore,
  openSqlite,
  type SqliteOptions,
} from "./sqlite.ts";

/** Why a text can't name a database; `undefined` if it can. */
export function problemOfName(database: string): string | undefined {
  if (database === "") return "can't be empty";
  const [, scheme, rest] = /^([a-z][a-z\d+.-]+):(?:\/\/)?(.*)$/is.exec(database) ?? [];
  if (scheme === undefined || /^postgres(ql)?:\/\//.test(database)) return undefined;
  const isFile = /^(file|sqlite3?)$/i.test(scheme);
  if (isFile) return `must be the path alone: give "${rest}"`;
  return "must be the path of a SQLite file, a postgres:// URL, or :memory:";
}

/**
 * Opens a database by its name: a `postgres://` or `postgresql://` URL, `":memory:"`, or the path of a SQLite file.
 * Loads only the driver it needs.
 *
 * @throws StoreError if it can't be opened
 */
export async function openStore(
  database: string,
  options: SqliteOptions & PostgresOptions = {},
): Promise<Store> {
  const problem = problemOfName(database);
  if (problem !== undefined)
    throw new StoreError("unusable", `the name of the database ${problem}`);
  if (/^postgres(ql)?:\/\//.test(database)) {
    const { openPostgres } = await import("./drivers/postgres/open.ts");
    return openPostgres(database, options);
  }
  return openSqlite(await sqlite(), database, options);
}

/** Opens a new database in memory. @param image what it begins with @throws StoreError if there is no driver */
export async function openMemory(image?: Image): Promise<MemoryStore> {
  return openSqlite(await sqlite(), ":memory:", { image }) as MemoryStore;
}

/** The SQLite driver of this runtime: built in on Bun and Deno; on Node better-sqlite3 or, from 22.16 on, built in. */
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
    if (wanted === undefined && hasSqlite()) return nodesOwn();
    throw new StoreError("driver", withoutDriver(error as Error, wanted !== undefined), {
      cause: error,
    });
  }
}

async function nodesOwn(): Promise<Connect> {
  if (hasSqlite()) return (await import("./drivers/node-sqlite.ts")).connect;
  throw new StoreError("driver", `${TOO_OLD}: install better-sqlite3, or use Node 22.16 or newer`);
}

function hasSqlite(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 16);
}

const TOO_OLD = `Node ${process.versions.node} has no suitable built-in SQLite`;

/** What to do if better-sqlite3 can't be loaded: it is not installed, not built, or built for another Node. */
function withoutDriver({ message }: Error, wanted: boolean): string {
  const newer = wanted ? "" : `. Or use Node 22.16 or newer: ${TOO_OLD}`;
  if (message.startsWith("Cannot find module 'better-sqlite3'")) {
    return `better-sqlite3 is not installed: npm install better-sqlite3${newer}`;
  }
  if (message.startsWith("Could not locate the bindings file")) {
    return (
      "better-sqlite3 is installed, but not built: its install script was not allowed to run. Allow it with " +
      "`npm install-scripts approve better-sqlite3` or `pnpm approve-builds`, and build it with " +
      `\`npm rebuild better-sqlite3\`${newer}`
    );
  }
  const reason = message.includes("NODE_MODULE_VERSION")
    ? "it was built for another version of Node"
    : message.split("\n", 1)[0];
  return `better-sqlite3 can't be loaded: ${reason}. Build it again with \`npm rebuild better-sqlite3\`${newer}`;
}
