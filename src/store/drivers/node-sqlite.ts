import type { StatementSync } from "node:sqlite";
import type { Value } from "../port.ts";
import type { Connect, Statement } from "../sqlite.ts";

// A bundle may put an `import` where every Node meets it, and those below 22.5 have no such module.
const { DatabaseSync } = process.getBuiltinModule("node:sqlite");

/** SQLite by `node:sqlite`: on Deno, and on Node >= 22.16. */
export const connect: Connect = (file, readonly) => {
  const db = named(() => new DatabaseSync(file, { readOnly: readonly }));
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
    close: () => {
      // A second time it would throw.
      if (isOpen) db.close();
      isOpen = false;
    },
  };
};

class Prepared implements Statement {
  readonly columns: readonly string[];
  readonly #native: StatementSync;
  /** Whether it can be run again without doing something again. */
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

/** An integer that is too large for a number is an error of the library, unless bigints are asked for. */
function rounded(rows: Value[][]): Value[][] {
  return rows.map((row) => row.map((value) => (typeof value === "bigint" ? Number(value) : value)));
}

/** Empty, but with memory behind it: where there is none, the library keeps NULL. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0);

/** The library keeps a text with NUL in it, and reads it up to there; of bytes that are none it may make NULL. */
function whole(value: Value): Value {
  if (value instanceof Uint8Array && value.length === 0) return NO_BYTES;
  if (typeof value === "string" && value.includes("\0")) {
    throw new RangeError("a text with a NUL character can't be kept");
  }
  return value;
}

/** Of SQLite's result codes, by number (https://sqlite.org/rescode.html), those that somebody tells apart. */
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

/** Gives the library's errors, which have SQLite's number for what went wrong, its name as `code`. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { errcode } = error as { errcode?: unknown };
    if (typeof errcode !== "number") throw error;
    throw Object.assign(error as Error, { code: CODES[errcode] ?? CODES[errcode & 0xff] });
  }
}
