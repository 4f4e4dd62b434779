import type { Statement as Native } from "bun:sqlite";
import type { Value } from "../port.ts";
import type { Connect, Statement } from "../sqlite.ts";

// With an `import`, bundlers for other runtimes would look for the module.
const { Database } = process.getBuiltinModule("bun:sqlite");

/** SQLite with `bun:sqlite`, on Bun. */
export const connect: Connect = (file, readonly) => {
  const db = new Database(file, readonly ? { readonly } : { create: true });
  return {
    get inTransaction() {
      return db.inTransaction;
    },
    prepare: (sql) => new Prepared(db.prepare(sql)),
    close: () => db.close(),
  };
};

class Prepared implements Statement {
  readonly columns: readonly string[];
  readonly #native: Native;

  constructor(native: Native) {
    this.#native = native;
    this.columns = native.columnNames;
  }

  rows(values: readonly Value[]): Value[][] {
    return this.#native.values(...values.map(whole));
  }

  iterate(values: readonly Value[]): Value[][] {
    return this.rows(values);
  }

  run(values: readonly Value[]): number {
    return this.#native.run(...values.map(whole)).changes;
  }

  finalize(): void {
    this.#native.finalize();
  }
}

/** Refuses integers beyond 64 bits: Bun would store their lowest 64 bits. */
function whole(value: Value): Value {
  if (typeof value === "bigint" && value !== BigInt.asIntN(64, value)) {
    throw new RangeError(`the integer ${value} is too large`);
  }
  return value;
}
