/** Parameters and results of statements. No booleans or dates: the drivers treat them differently. */
export type Value = string | number | bigint | Uint8Array | null;

/** SQLite drivers return values directly, PostgreSQL promises; callers always `await`. */
export type Awaitable<T> = T | Promise<T>;

/** The first rows of a statement. */
export interface Slice {
  rows: Value[][];
  /** Whether there are more. */
  more: boolean;
}

/** Reads from a database. SQL uses `?` placeholders and the subset both engines share; texts are always bound. */
export interface Reader {
  readonly dialect: "sqlite" | "postgres";
  /** Rows as objects keyed by column name. */
  all<Row extends object>(sql: string, values?: readonly Value[]): Awaitable<Row[]>;
  /** Rows as arrays in select order, for presenters: creating objects would be the main cost of a list. */
  rows(sql: string, values?: readonly Value[]): Awaitable<Value[][]>;
  /** The first rows of {@link rows}: at least one, and no more once their texts have reached `most` characters. */
  slice(sql: string, values: readonly Value[], most: number): Awaitable<Slice>;
  /**
   * The rows of a statement for each of several lists of values: prepared once, and sent together.
   *
   * @param most for all of them together, as in {@link slice}
   */
  each(
    sql: string,
    lists: readonly (readonly Value[])[],
    most: number,
  ): Awaitable<readonly Slice[]>;
  /**
   * The first row as an object, which must not be changed, or `undefined`. Small rows may come from a cache, on SQLite
   * files and with {@link Store.reader}, until anybody commits anything.
   */
  one<Row extends object>(
    sql: string,
    values?: readonly Value[],
  ): Awaitable<Readonly<Row> | undefined>;
}

/** A running transaction. `insert … returning` is read with `all` or `rows`. */
export interface Database extends Reader {
  /** Runs a statement and returns the number of rows it changed. */
  run(sql: string, values?: readonly Value[]): Awaitable<number>;
  /**
   * Runs a statement whose result nobody needs, before those that are passed afterwards. PostgreSQL's answer is not waited
   * for: if it is an error, the transaction fails with it. Not for a number of statements without a bound, which would all
   * be kept in memory until they are answered.
   */
  send(sql: string, values?: readonly Value[]): void;
  /**
   * Runs a statement right before the commit; several run in the order they were passed. Use it for counters that many
   * transactions change: PostgreSQL then locks their rows only briefly, not during all of the work. SQLite runs it at
   * once.
   */
  last(sql: string, values?: readonly Value[]): void;
  /**
   * Makes other shared transactions that lock the same key wait until this one ends; with `shared`, only those that
   * lock it without `shared`. Transactions that are not shared run alone and need no lock. Only statements passed to this
   * transaction afterwards wait for it.
   *
   * @param key any integer, such as the id of a project
   */
  lock(key: number, options?: { shared?: boolean }): void;
}

/** An open database: reads outside a transaction, and the only way to write. */
export interface Store extends Reader {
  /**
   * Reads of one request. None returns a state older than this call. PostgreSQL is asked once for all of them whether
   * anything has changed.
   */
  reader(): Reader;
  /**
   * Runs `work` in one transaction and commits it unless it throws. `work` may run more than once (after a deadlock on
   * PostgreSQL), so it must change nothing but `db`.
   *
   * By default it runs alone: no other transaction of any process runs at the same time, so it can check before it
   * writes. With `shared`, other shared ones run at the same time, and each statement sees what has been committed so
   * far: for work that constraints, single statements or {@link Database.lock} keep consistent. SQLite runs these
   * alone, too.
   *
   * With `unlimited`, there is no time limit: for migrations.
   */
  transaction<T>(
    work: (db: Database) => Awaitable<T>,
    options?: { shared?: boolean; unlimited?: boolean },
  ): Promise<T>;
  /** Runs reads that all see the same state as the first one, without a time limit. Others can write meanwhile. */
  snapshot<T>(work: (db: Reader) => Awaitable<T>): Promise<T>;
  /**
   * Writes a copy of a SQLite database, in its current state, to a new file. Others can write meanwhile.
   *
   * @throws StoreError on PostgreSQL, which has its own tools for that
   */
  backup(file: string): Promise<void>;
  /** The pool of a PostgreSQL database: connections in use and idle, and how many callers wait for one. */
  connections?(): { busy: number; idle: number; waiting: number };
  /** Waits for the running transactions, then closes every connection. */
  close(): Promise<void>;
}

/** A write the schema refused. */
export class ConstraintError extends Error {
  override get name() {
    return "ConstraintError" as const;
  }
  /**
   * @param rule which kind of constraint refused it
   * @param options `cause`: the driver's own error
   */
  constructor(
    readonly rule: "unique" | "foreign key" | "not null" | "check",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Why a database cannot be used: `unusable` (it cannot be opened), `unreachable` (the PostgreSQL server), `driver` (no
 * SQLite driver can be loaded), `newer` or `older` (than this version), `not_empty` (the target of a copy), `not_ours`
 * (not a pm-api database), `differs` (a copy from its source), `unsupported` (by this engine), `same_file` (source and
 * target), `exists` (a target that must not be replaced), `not_written` (the system refused), `damaged`, `in_use` (by
 * another process).
 */
export type StoreErrorCode =
  | "unusable"
  | "unreachable"
  | "driver"
  | "newer"
  | "older"
  | "not_empty"
  | "not_ours"
  | "differs"
  | "unsupported"
  | "same_file"
  | "exists"
  | "not_written"
  | "damaged"
  | "in_use";

/** The database cannot be opened, reached or used as it is; the message says why. */
export class StoreError extends Error {
  override get name() {
    return "StoreError" as const;
  }
  /**
   * @param code the reason, for programs
   * @param message the reason, for people
   * @param options `cause`: the driver's own error
   */
  constructor(
    readonly code: StoreErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The database can't be used at the moment: it is unreachable, locked, full or too busy. Nothing was changed, except
 * that the outcome is unknown if the connection was lost during a commit.
 */
export class UnavailableError extends Error {
  override get name() {
    return "UnavailableError" as const;
  }
}
