import { randomUUID } from "node:crypto";
import type { StatementSync } from "node:sqlite";
import type { Value } from "../port.ts";
import type { Connect, Connection, Statement } from "../sqlite.ts";

// In a bundle, an `import` may run on every Node, but Node before 22.5 has no such module.
const { DatabaseSync } = process.getBuiltinModule("node:sqlite");

/** SQLite with `node:sqlite`, on Deno and on Node >= 22.16. */
export const connect: Connect = (file, readonly) =>
  connectionTo(named(() => new DatabaseSync(file, { readOnly: readonly })));

type Native = InstanceType<typeof DatabaseSync>;

/** Copies a database into a new one in memory: the library has nothing that does. */
function copyOf(db: Native): Native {
  // SQLite keeps a database in memory that has a name until its last connection is closed.
  const name = `file:/${randomUUID()}?vfs=memdb`;
  return named(() => {
    const copy = new DatabaseSync(name, { readOnly: false });
    db.prepare("vacuum into ?").run(name);
    return copy;
  });
}

function connectionTo(db: Native): Connection {
  let isOpen = true;
  return {
    get inTransaction() {
      return db.isTransaction;
    },
    prepare: (sql) =>
      new Prepared(
        named(() => db.prepare(sql)),
        sql,
      ),
    isQuicklyCopied: false,
    image: () => {
      const copy = copyOf(db);
      return { open: () => connectionTo(copyOf(copy)), close: () => copy.close() };
    },
    close: () => {
      // Closing twice would throw.
      if (isOpen) db.close();
      isOpen = false;
    },
  };
}

class Prepared implements Statement {
  readonly columns: readonly string[];
  readonly #native: StatementSync;
  /** Whether it only reads, and so can run twice. */
  readonly #repeatable: boolean;

  constructor(native: StatementSync, sql: string) {
    this.#native = native;
    this.#native.setReturnArrays(true);
    this.#repeatable = /^\s*select\b/i.test(sql);
    if (!this.#repeatable) native.setReadBigInts(true);
    this.columns = native.columns().map(({ name }) => name);
  }

  rows(values: readonly Value[]): Value[][] {
    return named(() => {
      if (!this.#repeatable) return rounded(this.#native.all(...values.map(whole)));
      try {
        return this.#native.all(...values.map(whole));
      } catch (error) {
        if ((error as { code?: unknown }).code !== "ERR_OUT_OF_RANGE") throw error;
      }
      this.#native.setReadBigInts(true);
      try {
        return rounded(this.#native.all(...values));
      } finally {
        this.#native.setReadBigInts(false);
      }
    });
  }

  iterate(values: readonly Value[]): Value[][] {
    return this.rows(values);
  }

  run(values: readonly Value[]): number {
    return named(() => Number(this.#native.run(...values.map(whole)).changes));
  }
}

/** Rounds bigints to numbers: without bigints the library throws for integers that are too large for a number. */
function rounded(rows: Value[][]): Value[][] {
  return rows.map((row) => row.map((value) => (typeof value === "bigint" ? Number(value) : value)));
}

/** Empty, but backed by memory: without that the library stores NULL. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0);

/** Checks a value: the library would read texts only up to a NUL character, and may store empty bytes as NULL. */
function whole(value: Value): Value {
  if (value instanceof Uint8Array && value.length === 0) return NO_BYTES;
  if (typeof value === "string" && value.includes("\0")) {
    throw new RangeError("a text with a NUL character can't be stored");
  }
  return value;
}

/** Names of SQLite's result codes that the code distinguishes (https://sqlite.org/rescode.html). */
const CODES: Record<number, string> = {
  1: "SQLITE_ERROR",
  3: "SQLITE_PERM",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  15: "SQLITE_PROTOCOL",
  23: "SQLITE_AUTH",
  26: "SQLITE_NOTADB",
  275: "SQLITE_CONSTRAINT_CHECK",
  787: "SQLITE_CONSTRAINT_FOREIGNKEY",
  1299: "SQLITE_CONSTRAINT_NOTNULL",
  1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
  2067: "SQLITE_CONSTRAINT_UNIQUE",
};

/** Adds SQLite's name of a failure as `code` to the library's errors, which only have its number. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { errcode } = error as { errcode?: unknown };
    if (typeof errcode !== "number") throw error;
    throw Object.assign(error as Error, { code: CODES[errcode] ?? CODES[errcode & 0xff] });
  }
}
