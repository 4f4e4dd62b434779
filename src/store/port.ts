/** What a statement takes and gives: no booleans and no dates, which the drivers treat differently. */
export type Value = string | number | bigint | Uint8Array | null;

/** SQLite drivers answer at once, PostgreSQL with a promise; callers always `await`. */
export type Awaitable<T> = T | Promise<T>;

/** The first rows of a statement. */
export interface Slice {
  rows: Value[][];
  /** Whether there are more. */
  more: boolean;
}

/** Reads. SQL uses `?` placeholders and the subset both engines share; every literal text is bound. */
export interface Reader {
  /** Rows as objects keyed by column name. */
  all<Row extends object>(sql: string, values?: readonly Value[]): Awaitable<Row[]>;
  /** Rows as arrays in select order: what presenters take, since making objects is the larger cost of a list. */
  rows(sql: string, values?: readonly Value[]): Awaitable<Value[][]>;
  /** The first of the rows that {@link rows} gives: one at least, and no more once their texts have come to `most`. */
  slice(sql: string, values: readonly Value[], most: number): Awaitable<Slice>;
  /**
   * The first row, as an object that is not to be changed, or `undefined`. A small one may have been kept from earlier:
   * by a SQLite file, and by {@link Store.reader}, until anybody commits anything.
   */
  one<Row extends object>(
    sql: string,
    values?: readonly Value[],
  ): Awaitable<Readonly<Row> | undefined>;
}

/** A running transaction. `insert … returning` is read with `all` or `rows`. */
export interface Database extends Reader {
  /** Runs a statement and gives the number of rows it changed. */
  run(sql: string, values?: readonly Value[]): Awaitable<number>;
  /**
   * Runs a statement when the work is done, right before the commit, in the order in which they were given. Counters
   * that many transactions change belong here: PostgreSQL locks their rows from then on, and not for all of the work.
   */
  last(sql: string, values?: readonly Value[]): void;
  /**
   * Keeps other shared transactions out, until the end of this one, that lock the same key; with `shared` only those
   * that lock it without. Transactions that are not shared run alone and need no lock.
   *
   * @param key any integer, such as the id of a project
   */
  lock(key: number, options?: { shared?: boolean }): Awaitable<void>;
}

/** An open database: reads outside a transaction, and the only way to write. */
export interface Store extends Reader {
  readonly dialect: "sqlite" | "postgres";
  /**
   * Reads of one request, none of which is of a state from before this was called. PostgreSQL is asked once for all of
   * them whether anything has changed.
   */
  reader(): Reader;
  /**
   * Runs `work` in one transaction and commits what it did unless it throws. `work` may run more than once (PostgreSQL's
   * deadlocks), so it touches nothing but `db`.
   *
   * It runs alone: no other transaction of any process runs meanwhile, so it can look before it writes. With `shared`,
   * other shared ones run meanwhile, and each of its statements sees what is committed by then: that is for work that
   * constraints, single statements or {@link Database.lock} keep right. SQLite runs that alone too.
   *
   * With `unlimited`, it may take as long as it needs: for migrations.
   */
  transaction<T>(
    work: (db: Database) => Awaitable<T>,
    options?: { shared?: boolean; unlimited?: boolean },
  ): Promise<T>;
  /** Runs reads that all see the state the first of them saw, however long they take; others write meanwhile. */
  snapshot<T>(work: (db: Reader) => Awaitable<T>): Promise<T>;
  /**
   * Writes a copy of a SQLite database, as it is now, to a file that isn't there yet; others write meanwhile.
   *
   * @throws StoreError on PostgreSQL, which has tools of its own for that
   */
  backup(file: string): Promise<void>;
  /** Waits for the running transactions, then closes every connection. */
  close(): Promise<void>;
}

/** A write the schema refused. */
export class ConstraintError extends Error {
  override readonly name = "ConstraintError";
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
 * Why a database cannot be used: `unusable` (it cannot be opened), `unreachable` (the PostgreSQL server), `driver` (SQLite
 * itself cannot be loaded), `newer` and `older` (than this version), `not_empty` (what is copied to), `not_ours`
 * (something else's), `differs` (a copy from its source), `unsupported` (by this engine), `same_file` (source and target),
 * `exists` (a target that must not be replaced), `not_written` (by the system), `damaged`, `in_use` (by another process).
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
  override readonly name = "StoreError";
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
 * The database can't be used now, and may be later: it is gone, locked, full or too busy. Nothing was changed, unless
 * the connection was lost during a commit: then nobody knows.
 */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}
