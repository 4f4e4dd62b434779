import type { Awaitable, Database, Reader, Store, Value } from "../store/port.ts";

/** Takes a duration in milliseconds. */
interface Times {
  observe(milliseconds: number): void;
}

/** Where the durations of a database go. */
export interface DatabaseTimes {
  /** Statements that read, also those in transactions. */
  read: Times;
  /** Statements that write. */
  write: Times;
  /** Transactions, from their first statement to the commit. */
  transaction: Times;
  /** Waits for the write lock and, on PostgreSQL, for a connection. */
  wait: Times;
}

/** A store that measures what it does. */
export function measured(store: Store, times: DatabaseTimes): Store {
  const reads = new MeasuredReader(store, times.read);
  const measuring: Store = {
    ...store,
    all: (sql, values) => reads.all(sql, values),
    rows: (sql, values) => reads.rows(sql, values),
    slice: (sql, values, most) => reads.slice(sql, values, most),
    one: (sql, values) => reads.one(sql, values),
    reader() {
      const reader = store.reader();
      return reader === store ? measuring : new MeasuredReader(reader, times.read);
    },
    async transaction(work, options) {
      const asked = performance.now();
      let begun: number | undefined;
      try {
        return await store.transaction((db) => {
          // It may run more than once, after a deadlock.
          if (begun === undefined) {
            begun = performance.now();
            times.wait.observe(begun - asked);
          }
          return work(new MeasuredDatabase(db, times));
        }, options);
      } finally {
        if (begun !== undefined) times.transaction.observe(performance.now() - begun);
      }
    },
    snapshot: (work) => store.snapshot((db) => work(new MeasuredReader(db, times.read))),
  };
  return measuring;
}

/** Statements that write and return rows. */
const WRITING = /^\s*(?:insert|update|delete)\b/;

class MeasuredReader implements Reader {
  readonly dialect: Reader["dialect"];
  readonly #reader: Reader;
  readonly #reads: Times;
  readonly #writes: Times | undefined;

  /** @param writes takes the durations of statements that write, if there may be any */
  constructor(reader: Reader, reads: Times, writes?: Times) {
    this.dialect = reader.dialect;
    this.#reader = reader;
    this.#reads = reads;
    this.#writes = writes;
  }

  all<Row extends object>(sql: string, values?: readonly Value[]): Awaitable<Row[]> {
    const started = performance.now();
    return ended(this.#timesOf(sql), started, this.#reader.all<Row>(sql, values));
  }

  rows(sql: string, values?: readonly Value[]) {
    const started = performance.now();
    return ended(this.#timesOf(sql), started, this.#reader.rows(sql, values));
  }

  slice(sql: string, values: readonly Value[], most: number) {
    const started = performance.now();
    return ended(this.#timesOf(sql), started, this.#reader.slice(sql, values, most));
  }

  each(sql: string, lists: readonly (readonly Value[])[], most: number) {
    const started = performance.now();
    return ended(this.#timesOf(sql), started, this.#reader.each(sql, lists, most));
  }

  one<Row extends object>(
    sql: string,
    values?: readonly Value[],
  ): Awaitable<Readonly<Row> | undefined> {
    const started = performance.now();
    return ended(this.#timesOf(sql), started, this.#reader.one<Row>(sql, values));
  }

  #timesOf(sql: string): Times {
    return this.#writes && WRITING.test(sql) ? this.#writes : this.#reads;
  }
}

class MeasuredDatabase extends MeasuredReader implements Database {
  readonly #db: Database;
  readonly #writes: Times;

  constructor(db: Database, { read, write }: DatabaseTimes) {
    super(db, read, write);
    this.#db = db;
    this.#writes = write;
  }

  run(sql: string, values?: readonly Value[]) {
    const started = performance.now();
    return ended(this.#writes, started, this.#db.run(sql, values));
  }

  send(sql: string, values?: readonly Value[]) {
    this.#db.send(sql, values);
  }

  last(sql: string, values?: readonly Value[]) {
    this.#db.last(sql, values);
  }

  lock(key: number, options?: { shared?: boolean }) {
    this.#db.lock(key, options);
  }
}

/** Measures a statement that was answered already, or when it is. */
function ended<T>(times: Times, started: number, result: Awaitable<T>): Awaitable<T> {
  if (result instanceof Promise) {
    const note = () => times.observe(performance.now() - started);
    result.then(note, note);
  } else times.observe(performance.now() - started);
  return result;
}
