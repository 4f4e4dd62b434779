import BetterSqlite3 from "better-sqlite3";
import type { Value } from "../port.ts";
import type { Connect, Statement } from "../sqlite.ts";

// Where its binary is missing or another Node's, it says so now, and not with the first database.
new BetterSqlite3(":memory:").close();

/** SQLite by better-sqlite3: on Node. */
export const connect: Connect = (file, readonly) => {
  const db = new BetterSqlite3(file, { readonly });
  return {
    get inTransaction() {
      return db.inTransaction;
    },
    prepare: (sql) => new Prepared(db.prepare<unknown[]>(sql)),
    close: () => db.close(),
  };
};

class Prepared implements Statement {
  readonly columns: readonly string[];
  readonly #native: BetterSqlite3.Statement<unknown[]>;

  constructor(native: BetterSqlite3.Statement<unknown[]>) {
    this.#native = native;
    this.columns = native.reader ? native.columns().map(({ name }) => name) : [];
    if (native.reader) native.raw();
  }

  rows(values: readonly Value[]): Value[][] {
    return this.#native.all(...values) as Value[][];
  }

  run(values: readonly Value[]): number {
    return this.#native.run(...values).changes;
  }
}
