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
    prepare: (sql) => {
      const native = db.prepare<unknown[]>(sql);
      const wide = native.reader && native.readonly && asTexts(sql, native.columns());
      return wide ? new Wide(native, db.prepare<unknown[]>(wide)) : new Prepared(native);
    },
    close: () => db.close(),
  };
};

/** Rows of so many columns take less time as one text. */
const WIDE = 16;

/**
 * The statement that gives each row of another as a JSON text, where that has wide rows: values cross from SQLite one at
 * a time, and a text is one value (docs/performance.md).
 */
function asTexts(sql: string, columns: readonly BetterSqlite3.ColumnDefinition[]) {
  // JSON can't hold bytes.
  if (columns.length < WIDE || columns.some(({ type }) => type?.toLowerCase() === "blob"))
    return undefined;
  const names = columns.map((_, at) => `c${at}`).join();
  return `with r(${names}) as (${sql}) select json_array(${names}) from r`;
}

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

  iterate(values: readonly Value[]): Iterable<Value[]> {
    return this.#native.iterate(...values) as Iterable<Value[]>;
  }

  run(values: readonly Value[]): number {
    return this.#native.run(...values).changes;
  }
}

class Wide extends Prepared {
  readonly #asTexts: BetterSqlite3.Statement<unknown[]>;

  constructor(
    native: BetterSqlite3.Statement<unknown[]>,
    text: BetterSqlite3.Statement<unknown[]>,
  ) {
    super(native);
    this.#asTexts = text.pluck();
  }

  override rows(values: readonly Value[]): Value[][] {
    const texts = this.#asTexts.all(...values) as string[];
    return JSON.parse(`[${texts.join()}]`) as Value[][];
  }

  override *iterate(values: readonly Value[]): Iterable<Value[]> {
    for (const text of this.#asTexts.iterate(...values)) yield JSON.parse(text as string);
  }
}
