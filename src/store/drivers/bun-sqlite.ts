import type { Statement as Native } from "bun:sqlite";
import type { Value } from "../port.ts";
import type { Connect, Connection, Statement } from "../sqlite.ts";
import { renamed } from "./renamed.ts";

// With an `import`, bundlers for other runtimes would look for the module.
const { Database } = process.getBuiltinModule("bun:sqlite");

/** SQLite with `bun:sqlite`, on Bun. */
export const connect: Connect = (file, readonly) =>
  connectionTo(new Database(file, readonly ? { readonly } : { create: true }));

function connectionTo(db: InstanceType<typeof Database>): Connection {
  return {
    get inTransaction() {
      return db.inTransaction;
    },
    prepare: (sql) => new Prepared(db, sql),
    isQuicklyCopied: true,
    image: () => {
      const bytes = db.serialize();
      return { open: () => connectionTo(Database.deserialize(bytes)), close: () => undefined };
    },
    close: () => db.close(),
  };
}

class Prepared implements Statement {
  readonly columns: readonly string[];
  readonly #db: InstanceType<typeof Database>;
  readonly #sql: string;
  readonly #native: Native;
  /** Whether not all rows were wanted once: only then they are read one by one, which takes longer. */
  #wasCut = false;
  /** The statement for reading rows one by one. */
  #single: Native | undefined;

  constructor(db: InstanceType<typeof Database>, sql: string) {
    this.#db = db;
    this.#sql = sql;
    this.#native = db.prepare(sql);
    this.columns = this.#native.columnNames;
  }

  rows(values: readonly Value[]): Value[][] {
    return this.#native.values(...values.map(whole));
  }

  *iterate(values: readonly Value[]): Iterable<Value[]> {
    if (this.#wasCut) this.#single ??= this.#prepareSingle();
    if (this.#single) {
      for (const row of this.#single.iterate(...values.map(whole))) yield Object.values(row);
      return;
    }
    const rows = this.rows(values);
    let isCut = true;
    try {
      yield* rows;
      isCut = false;
    } finally {
      this.#wasCut ||= isCut;
    }
  }

  /** The library reads single rows only as objects, which need a name for each column. */
  #prepareSingle(): Native | undefined {
    const sql = renamed(
      this.#sql,
      this.columns,
      (names) => names,
      (plan, values) => {
        const explained = this.#db.prepare(plan);
        try {
          return explained.values(...values).map((row) => row.at(-1) as string);
        } finally {
          explained.finalize();
        }
      },
    );
    return sql === undefined ? undefined : this.#db.prepare(sql);
  }

  run(values: readonly Value[]): number {
    return this.#native.run(...values.map(whole)).changes;
  }

  finalize(): void {
    this.#native.finalize();
    this.#single?.finalize();
  }
}

/** Refuses integers beyond 64 bits: Bun would store their lowest 64 bits. */
function whole(value: Value): Value {
  if (typeof value === "bigint" && value !== BigInt.asIntN(64, value)) {
    throw new RangeError(`the integer ${value} is too large`);
  }
  return value;
}
