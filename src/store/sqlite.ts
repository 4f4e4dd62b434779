import { closeSync, fchmodSync, openSync } from "node:fs";
import { Commits } from "./commits.ts";
import { forSqlite } from "./dialects.ts";
import {
  type Awaitable,
  ConstraintError,
  type Database,
  type Reader,
  type Slice,
  type Store,
  StoreError,
  UnavailableError,
  type Value,
} from "./port.ts";
import { Queue, type Turn } from "./queue.ts";
import { keyOf, RowCache } from "./row-cache.ts";
import { StatementCache } from "./statement-cache.ts";

/** SQLite's `application_id` of a backup until it is opened for writing: "pmbk". */
export const BACKUP_ID = 0x706d_626b;

/** How to open a SQLite file. */
export interface SqliteOptions {
  /**
   * `"normal"` (default) loses no acknowledged write if the process dies; `"full"` also survives power loss, at the
   * cost of one fsync per write.
   */
  durability?: "normal" | "full";
  /** Opens the file without changing its journal mode or its mark as a backup. Default false. */
  unchanged?: boolean;
  /**
   * Refuses a file that another connection has open, and writes its log back into it, by changing the journal mode:
   * that requires being the only connection (https://www.sqlite.org/wal.html). Default false.
   */
  alone?: boolean;
  /** How long a write waits while another process writes, in milliseconds. Default: ten seconds. */
  lockTimeoutMs?: number;
  /** What a database in memory begins with. */
  image?: Image | undefined;
}

/**
 * A connection, hiding the differences between SQLite libraries. Errors from SQLite itself have its name for the
 * failure as `code` (`"SQLITE_BUSY"`).
 */
export interface Connection {
  readonly inTransaction: boolean;
  prepare(sql: string): Statement;
  /** Whether the library copies whole pages. Otherwise a copy takes as long as creating all tables. */
  readonly isQuicklyCopied: boolean;
  /** Copies what is committed of a database in memory, for other connections. */
  image(): Image;
  close(): void;
}

/** A copy of a database in memory, which others can begin with. */
export interface Image {
  /** Opens a new database in memory that holds the same. */
  open(): Connection;
  /** Frees it. */
  close(): void;
}

/** A prepared statement, which can be reused. */
export interface Statement {
  /** The names of its columns; empty if it returns no rows. */
  readonly columns: readonly string[];
  /** Rows as arrays. Integers beyond the safe range may be rounded. */
  rows(values: readonly Value[]): Value[][];
  /** The same rows, one by one if the library can; nothing else may run until they are read. */
  iterate(values: readonly Value[]): Iterable<Value[]>;
  /** Runs it and returns the number of rows it changed. */
  run(values: readonly Value[]): number;
  /** Frees it, if the library keeps connections open for their statements. */
  finalize?(): void;
}

/** Opens `":memory:"` or a SQLite file, which is created if missing unless `readonly` is set. */
export type Connect = (file: string, readonly: boolean) => Connection;

/** A database in memory, which can go back to a state that it had. */
export interface MemoryStore extends Store {
  /** Whether {@link image} takes less time than creating all tables. */
  readonly isQuicklyCopied: boolean;
  /** Copies its present state. If there is a mark, it moves there: only what is committed can be copied. */
  image(): Promise<Image>;
  /**
   * Makes the present state the one that {@link rewind} goes back to. From then on nothing is committed: there is one
   * transaction around all others, and taking it back costs what has changed, not what is there.
   */
  mark(): Promise<void>;
  /** Goes back to the marked state. */
  rewind(): Promise<void>;
}

/**
 * Opens `":memory:"` or a SQLite file, which is created if missing.
 *
 * A file has a writer connection with a queue. Reads use it, too, between its transactions: it keeps the pages that it
 * has written, while every other connection forgets all pages with each commit. During its transactions they use a
 * connection of their own, so they never wait (WAL). `:memory:` has one connection, so reads wait for a running
 * transaction.
 *
 * @param connect opens a connection with one of the libraries
 * @throws StoreError if the file can't be opened or is not a database
 */
export function openSqlite(connect: Connect, file: string, options: SqliteOptions = {}): Store {
  const inMemory = file === ":memory:";
  const { alone = false, unchanged = alone, image, lockTimeoutMs = LOCK_TIMEOUT_MS } = options;
  if (!inMemory) makePrivate(file);
  const write = image ? new Statements(image.open()) : open(connect, file, false);
  try {
    write.run("pragma busy_timeout = 5000");
    write.run("pragma foreign_keys = on");
    // In KiB: better-sqlite3's default, eight times that of the others.
    write.run("pragma cache_size = -16000");
    if (alone) requireAlone(write, file);
    if (!inMemory && !unchanged) {
      if (write.rows("pragma application_id")[0]?.[0] === BACKUP_ID) {
        write.run("pragma application_id = 0");
      }
      write.run("pragma journal_mode = wal");
      write.run(`pragma synchronous = ${options.durability === "full" ? "full" : "normal"}`);
    }
    write.run("pragma busy_timeout = 0");
  } catch (error) {
    write.close();
    throw error instanceof StoreError ? error : unusable(file, error);
  }
  const queue = new Queue();
  const between = new Snapshots(write);
  const beside = inMemory ? undefined : new Snapshots(open(connect, file, true));
  const isWriting = () => write.inTransaction && !between.isOpen;
  /** Whether there is a transaction around all others, which is never committed. */
  let isMarked = false;
  const commits = new Commits(queue, {
    get inTransaction() {
      return isWriting();
    },
    run: (sql) => {
      between.end();
      write.run(sql);
    },
    begin: async (asked) =>
      isMarked ? void write.run("savepoint one") : begin(write, between, asked + lockTimeoutMs),
    rollBack: () => {
      if (!isMarked) return write.run("rollback");
      write.run("rollback to one");
      return write.run("release one");
    },
    commit: () => {
      if (isMarked) return void write.run("release one");
      // With an open snapshot the log could never be written back: it would grow, and every commit would fsync.
      endSnapshots();
      write.run("commit");
      return between.forget();
    },
  });
  /** Reads a file outside of transactions, and without waiting for them. */
  const readFile = <T>(beside: Snapshots, query: (snapshots: Snapshots) => T): T => {
    if (isWriting()) return query(beside);
    try {
      return query(between);
    } catch (error) {
      // Unlike the writer's connection, this one waits while another process repairs the log after a crash.
      if (error instanceof UnavailableError) return query(beside);
      throw error;
    }
  };

  const apart = async <T>(work: (statements: Statements) => Awaitable<T>): Promise<T> => {
    if (inMemory) return queue.add(() => work(write));
    const statements = open(connect, file, true);
    try {
      return await work(statements);
    } finally {
      statements.close();
    }
  };

  const read = <T>(query: (statements: Statements) => T): T | Promise<T> => {
    if (beside) return readFile(beside, (snapshots) => snapshots.read(query));
    return queue.idle ? query(write) : queue.add(() => query(write));
  };

  const store: Store = {
    dialect: "sqlite",
    all: <Row extends object>(sql: string, values?: readonly Value[]) =>
      read((statements) => statements.all(sql, values) as Row[]),
    rows: (sql, values) => read((statements) => statements.rows(sql, values)),
    slice: (sql, values, most) => read((statements) => statements.slice(sql, values, most)),
    each: (sql, lists, most) => read((statements) => statements.each(sql, lists, most)),
    one: <Row extends object>(sql: string, values: readonly Value[] = []) =>
      (beside
        ? readFile(beside, (snapshots) => snapshots.one(sql, values))
        : read((statements) => statements.one(sql, values))) as Awaitable<Row | undefined>,
    reader: () => store,
    transaction: (work, { shared = false } = {}) =>
      shared && !inMemory
        ? commits.together(() => work(writing(write, queue.turn)))
        : commits.alone(() => work(writing(write, queue.turn))),
    snapshot: (work) =>
      apart(async (statements) => {
        // Nothing else runs meanwhile on the one connection of a database in memory.
        if (inMemory) return work(statements as Reader);
        statements.run("begin");
        try {
          return await work(statements as Reader);
        } finally {
          statements.run("commit");
        }
      }),
    backup: (target) =>
      apart((statements) => {
        if (isMarked) throw new StoreError("unsupported", "a test server has no backups");
        statements.run("vacuum into ?", [target]);
      }),
    close: () =>
      queue.add(() => {
        commits.end();
        beside?.close();
        between.close();
      }),
  };
  if (!inMemory) return store;
  const memory: MemoryStore = Object.assign(store, {
    isQuicklyCopied: write.isQuicklyCopied,
    image: () =>
      queue.add(() => {
        if (!isMarked) return write.image();
        write.run("commit");
        const image = write.image();
        write.run("begin");
        return image;
      }),
    mark: () =>
      queue.add(() => {
        // Otherwise what its transactions keep of changed pages would go to a file.
        write.run("pragma temp_store = memory");
        write.run("begin");
        isMarked = true;
      }),
    rewind: () =>
      queue.add(() => {
        if (!isMarked) throw new TypeError("there is no mark to go back to");
        write.run("rollback");
        write.run("begin");
      }),
  });
  return memory;
}

/**
 * The running transaction. It is the only one, so there is nothing to lock, and nothing to hold back until its end. A long
 * one lets the event loop have turns, in which others read.
 */
function writing(statements: Statements, turn: Turn): Database {
  const after = <T>(result: T): Awaitable<T> => turn.pause()?.then(() => result) ?? result;
  return {
    dialect: "sqlite",
    all: <Row extends object>(sql: string, values?: readonly Value[]) =>
      after(statements.all(sql, values) as Row[]),
    rows: (sql, values) => after(statements.rows(sql, values)),
    slice: (sql, values, most) => after(statements.slice(sql, values, most)),
    each: (sql, lists, most) => after(statements.each(sql, lists, most)),
    one: <Row extends object>(sql: string, values?: readonly Value[]) =>
      after(statements.one(sql, values) as Row | undefined),
    run: (sql, values) => after(statements.run(sql, values)),
    send: (sql, values) => void statements.run(sql, values),
    last: (sql, values) => void statements.run(sql, values),
    lock: () => undefined,
  };
}

function requireAlone(write: Statements, file: string): void {
  write.run("pragma busy_timeout = 0");
  try {
    write.run("pragma journal_mode = delete");
    write.run("begin exclusive");
    write.run("commit");
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    throw new StoreError("in_use", `another process has the database ${file} open`, {
      cause: error,
    });
  }
}

/** The snapshots of all stores of this process that are in a read transaction. */
const reading = new Set<Snapshots>();

function endSnapshots(): void {
  for (const snapshots of reading) snapshots.end();
}

/**
 * All reads in one turn of the event loop share a read transaction: opening one per statement costs four times as much
 * as the statement (docs/performance.md). The turn ends before the next request is read, and a commit of this process
 * also ends the transaction, so clients always see their own writes.
 *
 * Single rows are cached until SQLite's `data_version` shows that another connection has committed, or
 * until this one has: see {@link forget}.
 */
class Snapshots {
  readonly #statements: Statements;
  readonly #cache = new RowCache();
  /** Whether the cached rows belong to the version of the open snapshot. */
  #current = false;
  /** How often this connection has committed, which `data_version` does not show. */
  #commits = 0;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Whether it is in a read transaction. */
  get isOpen(): boolean {
    return reading.has(this);
  }

  /** Forgets all rows: this connection has committed. */
  forget(): void {
    this.#commits += 1;
  }

  read<T>(query: (statements: Statements) => T): T {
    if (!this.isOpen) {
      this.#statements.run("begin");
      reading.add(this);
      this.#current = false;
      // After what already waits to run, and all that follows from it: mostly the whole request.
      queueMicrotask(this.#endSoon);
    }
    return query(this.#statements);
  }

  one(sql: string, values: readonly Value[]): object | undefined {
    return this.read((statements) => {
      this.#seeVersion(statements);
      const key = keyOf(values);
      const cached = this.#cache.get(sql, key);
      if (cached) return cached;
      const found = statements.one(sql, values);
      if (found) this.#cache.set(sql, key, found);
      return found;
    });
  }

  #seeVersion(statements: Statements): void {
    if (this.#current) return;
    const version = statements.rows("pragma data_version")[0]?.[0];
    this.#cache.setVersion(`${version} ${this.#commits}`);
    this.#current = true;
  }

  readonly #endSoon = (): void => process.nextTick(this.end);

  /** Ends the read transaction, if there is one. */
  readonly end = (): void => {
    if (reading.delete(this)) this.#statements.run("commit");
  };

  close(): void {
    this.end();
    this.#statements.close();
  }
}

/**
 * Creates a new file that only its owner can read and write, whatever the umask; SQLite gives the files beside it the
 * same permissions. Existing files stay unchanged, and SQLite itself reports files that can't be created.
 */
function makePrivate(file: string): void {
  try {
    const created = openSync(file, "wx", 0o600);
    fchmodSync(created, 0o600);
    closeSync(created);
  } catch {}
}

const LOCK_TIMEOUT_MS = 10_000;

/**
 * Takes the write lock. It waits without blocking the event loop, unlike SQLite's own waiting, with which a holder in
 * the same process could never finish.
 *
 * @param between the reads of the same connection
 * @param until when it gives up, including the wait in this process's queue
 */
async function begin(write: Statements, between: Snapshots, until: number): Promise<void> {
  for (;;) {
    between.end();
    try {
      write.run("begin immediate");
      return;
    } catch (error) {
      const busy = codeOf((error as Error).cause) === "SQLITE_BUSY";
      if (!busy || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 10));
    }
  }
}

function open(connect: Connect, file: string, readonly: boolean): Statements {
  try {
    return new Statements(connect(file, readonly));
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreError("unusable", `cannot open the database ${file}: ${reason}`, { cause });
}

/** Runs prepared statements on one connection. */
class Statements {
  readonly dialect = "sqlite";
  readonly #db: Connection;
  readonly #prepared = new StatementCache<Statement>((statement) => statement.finalize?.());

  constructor(db: Connection) {
    this.#db = db;
  }

  get inTransaction(): boolean {
    return this.#db.inTransaction;
  }

  /** Builds its own row objects: the libraries take three times as long. */
  all(sql: string, values: readonly Value[] = []): object[] {
    return this.#with(sql, (statement) => {
      const { columns } = statement;
      return statement.rows(values).map((row) => {
        const object: Record<string, Value> = {};
        for (let index = 0; index < columns.length; index += 1) {
          object[columns[index] as string] = row[index] as Value;
        }
        return object;
      });
    });
  }

  rows(sql: string, values: readonly Value[] = []): Value[][] {
    return this.#with(sql, (statement) => statement.rows(values));
  }

  slice(sql: string, values: readonly Value[], most: number): Slice {
    return this.#with(sql, (statement) => {
      const rows: Value[][] = [];
      let size = 0;
      for (const row of statement.iterate(values)) {
        if (size >= most) return { rows, more: true };
        rows.push(row);
        for (const value of row) {
          if (typeof value === "string" || value instanceof Uint8Array) size += value.length;
        }
      }
      return { rows, more: false };
    });
  }

  each(sql: string, lists: readonly (readonly Value[])[], most: number): Slice[] {
    let left = most;
    return lists.map((values) => {
      const slice = this.slice(sql, values, left);
      for (const row of slice.rows) {
        for (const value of row) {
          if (typeof value === "string" || value instanceof Uint8Array) left -= value.length;
        }
      }
      return slice;
    });
  }

  one(sql: string, values: readonly Value[] = []): object | undefined {
    return this.all(sql, values)[0];
  }

  run(sql: string, values: readonly Value[] = []): number {
    return this.#with(sql, (statement) => statement.run(values));
  }

  get isQuicklyCopied(): boolean {
    return this.#db.isQuicklyCopied;
  }

  image(): Image {
    return this.#db.image();
  }

  close(): void {
    this.#prepared.clear();
    this.#db.close();
  }

  #with<T>(sql: string, use: (statement: Statement) => T): T {
    try {
      const known = this.#prepared.get(sql);
      if (known) return use(known);
      const statement = this.#db.prepare(forSqlite(sql));
      if (this.#prepared.set(sql, statement)) return use(statement);
      try {
        return use(statement);
      } finally {
        statement.finalize?.();
      }
    } catch (error) {
      throw translated(error);
    }
  }
}

const RULES: Record<string, ConstraintError["rule"]> = {
  SQLITE_CONSTRAINT_UNIQUE: "unique",
  SQLITE_CONSTRAINT_PRIMARYKEY: "unique",
  SQLITE_CONSTRAINT_FOREIGNKEY: "foreign key",
  SQLITE_CONSTRAINT_NOTNULL: "not null",
  SQLITE_CONSTRAINT_CHECK: "check",
};

/** Failures that end when another process is done, or when an operator has fixed the disk. */
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
