import type BetterSqlite3 from "better-sqlite3";
import { loadPackage } from "../packages.ts";
import type { Value } from "../port.ts";
import type { Connect, Connection, Statement } from "../sqlite.ts";
import { renamed } from "./renamed.ts";

const Database = loadPackage<typeof BetterSqlite3>("better-sqlite3");
// Fails here, and not with the first database, if the binary is missing or built for another Node.
new Database(":memory:").close();

/** SQLite with better-sqlite3, on Node. */
export const connect: Connect = (file, readonly) => connectionTo(new Database(file, { readonly }));

function connectionTo(db: BetterSqlite3.Database): Connection {
  return {
    get inTransaction() {
      return db.inTransaction;
    },
    prepare: (sql) => {
      const native = db.prepare<unknown[]>(sql);
      const wide = native.reader && native.readonly && asTexts(db, sql, native.columns());
      return wide ? new Wide(native, wide) : new Prepared(native);
    },
    isQuicklyCopied: true,
    image: () => {
      const bytes = db.serialize();
      return { open: () => connectionTo(new Database(bytes)), close: () => undefined };
    },
    close: () => db.close(),
  };
}

/** Rows with at least this many columns are faster to read as one text each. */
const WIDE = 16;

/**
 * For a statement with wide rows, returns one that reads each row as a JSON text: values are copied from SQLite one at
 * a time, and a text is only one value (docs/performance.md).
 */
function asTexts(
  db: BetterSqlite3.Database,
  sql: string,
  columns: readonly BetterSqlite3.ColumnDefinition[],
): BetterSqlite3.Statement<unknown[]> | undefined {
  // JSON has no bytes.
  if (columns.length < WIDE || columns.some(({ type }) => type?.toLowerCase() === "blob"))
    return undefined;
  const texts = renamed(
    sql,
    columns,
    (names) => `json_array(${names})`,
    (plan, values) =>
      db
        .prepare<unknown[], { detail: string }>(plan)
        .all(...values)
        .map(({ detail }) => detail),
  );
  return texts === undefined ? undefined : db.prepare(texts);
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
  readonly #texts: BetterSqlite3.Statement<unknown[]>;

  constructor(
    native: BetterSqlite3.Statement<unknown[]>,
    texts: BetterSqlite3.Statement<unknown[]>,
  ) {
    super(native);
    this.#texts = texts.pluck();
  }

  override rows(values: readonly Value[]): Value[][] {
    return JSON.parse(`[${this.#texts.all(...values).join()}]`) as Value[][];
  }

  override *iterate(values: readonly Value[]): Iterable<Value[]> {
    for (const text of this.#texts.iterate(...values)) yield JSON.parse(text as string);
  }
}
