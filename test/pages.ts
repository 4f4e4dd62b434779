import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { openStore } from "../src/store/open.ts";
import type { Reader, Store, Value } from "../src/store/port.ts";
import { type Connect, openSqlite, type Statement } from "../src/store/sqlite.ts";

/** A statement, and how many pages of the database it read, those in memory too. */
interface Visit {
  readonly sql: string;
  readonly pages: number;
}

/** A store that counts pages. */
export interface CountingStore extends Store {
  /** The statements that `work` read with, and their pages. */
  visitsOf(work: () => Promise<unknown>): Promise<Visit[]>;
}

const COUNTS = "/proc/thread-self/io";

/** Opens a counter of the system calls with which this thread has read. */
export function readCounter(): { count(): number; close(): void } {
  const calls = openSync(COUNTS, "r");
  const buffer = Buffer.alloc(512);
  return {
    count: () => {
      const text = buffer.toString("latin1", 0, readSync(calls, buffer, 0, buffer.length, 0));
      return Number(/syscr: (\d+)/.exec(text)?.[1]);
    },
    close: () => closeSync(calls),
  };
}

/**
 * Whether pages can be counted. SQLite doesn't say how many it reads, but without a cache each is a system call, which
 * Linux counts for each thread.
 */
export const canCountPages =
  process.env["TEST_ENGINE"] === "postgres" ||
  (existsSync(COUNTS) &&
    !process.versions["bun"] &&
    !process.versions["deno"] &&
    !process.env["PM_SQLITE"]);

const UNCACHED = "pragma cache_size = 0";
/** How the store chooses its own. */
const CACHE_SIZE = /^pragma cache_size\b/;

/** Opens a database that has its tables. */
export async function countingStore(database: string): Promise<CountingStore> {
  return database.startsWith("postgres")
    ? explaining(await openStore(database))
    : uncached(database);
}

async function uncached(file: string): Promise<CountingStore> {
  // Other runtimes can't load it.
  const { connect } = await import("../src/store/drivers/better-sqlite3.ts");
  const calls = readCounter();
  let visits: Visit[] | undefined;
  const counted = <T>(sql: string, read: () => T): T => {
    const before = calls.count();
    const result = read();
    // One of the calls has read the counter.
    visits?.push({ sql, pages: calls.count() - before - 1 });
    return result;
  };
  const counting: Connect = (path, readonly) => {
    const connection = connect(path, readonly);
    connection.prepare(UNCACHED).run([]);
    return {
      get inTransaction() {
        return connection.inTransaction;
      },
      prepare: (sql): Statement => {
        const statement = connection.prepare(CACHE_SIZE.test(sql) ? UNCACHED : sql);
        const rows = (values: readonly Value[]) => counted(sql, () => statement.rows(values));
        return {
          columns: statement.columns,
          rows,
          iterate: rows,
          run: (values) => statement.run(values),
        };
      },
      isQuicklyCopied: connection.isQuicklyCopied,
      image: () => connection.image(),
      close: () => connection.close(),
    };
  };
  const store = openSqlite(counting, file);
  return {
    ...store,
    visitsOf: async (work) => {
      visits = [];
      await work();
      const found = visits;
      visits = undefined;
      return found.filter(({ sql }) => !sql.startsWith("pragma"));
    },
    close: async () => {
      await store.close();
      calls.close();
    },
  };
}

/** Notes what PostgreSQL is asked, and asks it again for the pages. */
function explaining(store: Store): CountingStore {
  let asked: { sql: string; values: readonly Value[] }[] | undefined;
  const noting = (reader: Reader): Reader => ({
    ...reader,
    all: (sql, values = []) => {
      asked?.push({ sql, values });
      return reader.all(sql, values);
    },
    rows: (sql, values = []) => {
      asked?.push({ sql, values });
      return reader.rows(sql, values);
    },
    slice: (sql, values, most) => {
      asked?.push({ sql, values });
      return reader.slice(sql, values, most);
    },
    each: (sql, lists, most) => {
      asked?.push(...lists.map((values) => ({ sql, values })));
      return reader.each(sql, lists, most);
    },
    one: (sql, values = []) => {
      asked?.push({ sql, values });
      return reader.one(sql, values);
    },
  });
  return {
    ...store,
    ...noting(store),
    reader: () => noting(store.reader()),
    visitsOf: async (work) => {
      asked = [];
      await work();
      const statements = asked;
      asked = undefined;
      const visits: Visit[] = [];
      for (const { sql, values } of statements) {
        const [[explained]] = (await store.rows(
          `explain (analyze, buffers, timing off, format json) ${sql}`,
          values,
        )) as unknown as [[[{ Plan: Record<string, number> }]]];
        const [{ Plan: plan }] = explained;
        const pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
        visits.push({ sql, pages });
      }
      return visits;
    },
  };
}
