import BetterSqlite3 from "better-sqlite3";
import {
  type Awaitable,
  ConstraintError,
  type Database,
  type Reader,
  type Store,
  StoreError,
  UnavailableError,
  type Value,
} from "../port.ts";
import { Queue } from "../queue.ts";

const STATEMENTS_KEPT = 2000;

/** How to open a SQLite file. */
export interface SqliteOptions {
  /**
   * `"normal"` (default) loses nothing acknowledged when the process dies; `"full"` also survives power loss,
   * at the price of one fsync a write.
   */
  durability?: "normal" | "full";
}

/**
 * Opens a SQLite file, made when missing, or `":memory:"`.
 *
 * A file has a writer connection behind a queue and a reader that never waits for it (WAL). `:memory:` has one
 * connection, so a read asked for during a transaction waits for its end.
 *
 * @throws StoreError when the file can't be opened or is not a database
 */
export function openSqlite(file: string, options: SqliteOptions = {}): Store {
  const inMemory = file === ":memory:";
  const writer = connect(file);
  try {
    writer.pragma("busy_timeout = 5000");
    writer.pragma("foreign_keys = ON");
    if (!inMemory) {
      writer.pragma("journal_mode = WAL");
      writer.pragma(`synchronous = ${options.durability === "full" ? "FULL" : "NORMAL"}`);
    }
    writer.pragma("busy_timeout = 0");
  } catch (error) {
    writer.close();
    throw unusable(file, error);
  }
  const queue = new Queue();
  const write = new Statements(writer);
  const reader = inMemory ? undefined : new Snapshots(connect(file, { readonly: true }));

  const apart = async <T>(work: (statements: Statements) => Awaitable<T>): Promise<T> => {
    if (inMemory) return queue.add(() => work(write));
    const statements = new Statements(connect(file, { readonly: true }));
    try {
      return await work(statements);
    } finally {
      statements.close();
    }
  };

  const read = <T>(query: (statements: Statements) => T): T | Promise<T> => {
    if (reader) return reader.read(query);
    return queue.idle ? query(write) : queue.add(() => query(write));
  };

  return {
    dialect: "sqlite",
    all: <Row extends object>(sql: string, values?: readonly Value[]) =>
      read((statements) => statements.all(sql, values) as Row[]),
    rows: (sql, values) => read((statements) => statements.rows(sql, values)),
    transaction: (work) => {
      const asked = performance.now();
      return queue.add(async () => {
        await begin(write, asked);
        try {
          const result = await work(write as Database);
          // An open snapshot would keep the log from ever being written back: it would grow, and every commit fsync.
          reader?.end();
          write.run("commit");
          return result;
        } catch (error) {
          if (writer.inTransaction) write.run("rollback");
          throw error;
        }
      });
    },
    snapshot: (work) =>
      apart(async (statements) => {
        statements.run("begin");
        try {
          return await work(statements as Reader);
        } finally {
          statements.run("commit");
        }
      }),
    backup: (target) => apart((statements) => void statements.run("vacuum into ?", [target])),
    close: () =>
      queue.add(() => {
        reader?.close();
        write.close();
      }),
  };
}

/**
 * Reads of one turn of the event loop share one read transaction: opening one a statement costs four times the
 * statement (docs/performance.md). A turn is over before the next request is read, and a commit ends it too, so nobody
 * reads what was before their own write.
 */
class Snapshots {
  readonly #statements: Statements;
  #open = false;

  constructor(db: BetterSqlite3.Database) {
    this.#statements = new Statements(db);
  }

  read<T>(query: (statements: Statements) => T): T {
    if (!this.#open) {
      this.#statements.run("begin");
      this.#open = true;
      process.nextTick(() => this.end());
    }
    return query(this.#statements);
  }

  end(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#statements.run("commit");
  }

  close(): void {
    this.end();
    this.#statements.close();
  }
}

const PATIENCE = 10_000;

/**
 * Takes the write lock, waiting for whoever has it without holding up the event loop, as SQLite's own waiting would:
 * in the same process that would keep the holder from ever ending.
 *
 * @param asked since when the lock is waited for, behind others of this process too
 */
async function begin(write: Statements, asked: number): Promise<void> {
  for (;;) {
    try {
      write.run("begin immediate");
      return;
    } catch (error) {
      const busy = codeOf((error as Error).cause) === "SQLITE_BUSY";
      if (!busy || performance.now() - asked > PATIENCE) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 10));
    }
  }
}

function connect(file: string, options?: BetterSqlite3.Options): BetterSqlite3.Database {
  try {
    return new BetterSqlite3(file, options);
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(`cannot open the database ${file}: ${reason}`, { cause });
}

interface Statement {
  native: BetterSqlite3.Statement<unknown[]>;
  /** Column names of a statement that gives rows. */
  columns: string[];
}

/** Prepared statements of one connection, kept by their text. */
class Statements {
  readonly #db: BetterSqlite3.Database;
  readonly #kept = new Map<string, Statement>();

  constructor(db: BetterSqlite3.Database) {
    this.#db = db;
  }

  /** The driver's own row objects take three times as long as these. */
  all(sql: string, values: readonly Value[] = []): object[] {
    const rows = this.rows(sql, values);
    const { columns } = this.#prepare(sql);
    return rows.map((row) => {
      const object: Record<string, Value> = {};
      for (let index = 0; index < columns.length; index += 1) {
        object[columns[index] as string] = row[index] as Value;
      }
      return object;
    });
  }

  rows(sql: string, values: readonly Value[] = []): Value[][] {
    try {
      const { native } = this.#prepare(sql);
      return native.all(...values) as Value[][];
    } catch (error) {
      throw translated(error);
    }
  }

  run(sql: string, values: readonly Value[] = []): number {
    try {
      const { native } = this.#prepare(sql);
      return native.run(...values).changes;
    } catch (error) {
      throw translated(error);
    }
  }

  close(): void {
    this.#db.close();
  }

  #prepare(sql: string): Statement {
    const kept = this.#kept.get(sql);
    if (kept) return kept;
    if (this.#kept.size >= STATEMENTS_KEPT) this.#kept.clear();
    const native = this.#db.prepare<unknown[]>(sql);
    const columns = native.reader ? native.columns().map(({ name }) => name) : [];
    if (native.reader) native.raw();
    const statement = { native, columns };
    this.#kept.set(sql, statement);
    return statement;
  }
}

const RULES: Record<string, ConstraintError["rule"]> = {
  SQLITE_CONSTRAINT_UNIQUE: "unique",
  SQLITE_CONSTRAINT_PRIMARYKEY: "unique",
  SQLITE_CONSTRAINT_FOREIGNKEY: "foreign key",
  SQLITE_CONSTRAINT_NOTNULL: "not null",
  SQLITE_CONSTRAINT_CHECK: "check",
};

/** What passes when another process is done, or somebody looks after the disk. */
const PASSING = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|PROTOCOL|NOMEM)/;

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

function translated(error: unknown): unknown {
  const { message } = error as Error;
  const rule = RULES[codeOf(error)];
  if (rule) return new ConstraintError(rule, message, { cause: error });
  if (!PASSING.test(codeOf(error))) return error;
  return new UnavailableError(`the database does not answer: ${message}`, { cause: error });
}
