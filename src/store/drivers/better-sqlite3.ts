import { createRequire } from "node:module";
import { isAbsolute } from "node:path";
import type BetterSqlite3 from "better-sqlite3";
import type { Value } from "../port.ts";
import type { Connect, Statement } from "../sqlite.ts";

const Database = load();
// Where its binary is missing or another Node's, it says so now, and not with the first database.
new Database(":memory:").close();

/**
 * Not by `import`: bundlers leave this alone, and the package finds its binary only from its own folder. It is looked for
 * from this file, and where that was bundled and moved, from the program's.
 */
function load(): typeof BetterSqlite3 {
  // What was bundled as CommonJS has no `import.meta.url`.
  const here = createRequire(typeof __filename === "string" ? __filename : import.meta.url);
  const program = process.argv[1] ?? "";
  const places = isAbsolute(program) ? [here, createRequire(program)] : [here];
  return (places.find(hasDriver) ?? here)("better-sqlite3");
}

function hasDriver(require: NodeJS.Require): boolean {
  try {
    require.resolve("better-sqlite3");
    return true;
  } catch {
    return false;
  }
}

/** SQLite by better-sqlite3: on Node. */
export const connect: Connect = (file, readonly) => {
  const db = new Database(file, { readonly });
  return {
    get inTransaction() {
      return db.inTransaction;
    },
    prepare: (sql) => {
      const native = db.prepare<unknown[]>(sql);
      const wide = native.reader && native.readonly && inOneText(sql, native.columns());
      return wide ? new Wide(native, db.prepare<unknown[]>(wide)) : new Prepared(native);
    },
    close: () => db.close(),
  };
};

/** Rows of so many columns take less time as one text. */
const WIDE = 16;

/**
 * The statement that gives all rows of another as one JSON text, where that has wide rows: values cross from SQLite one
 * at a time, and a text is one value (docs/performance.md).
 */
function inOneText(sql: string, columns: readonly BetterSqlite3.ColumnDefinition[]) {
  // JSON can't hold bytes.
  if (columns.length < WIDE || columns.some(({ type }) => type?.toLowerCase() === "blob"))
    return undefined;
  const names = columns.map((_, at) => `c${at}`).join();
  return `with r(${names}) as (${sql}) select '[' || group_concat(json_array(${names})) || ']' from r`;
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

  run(values: readonly Value[]): number {
    return this.#native.run(...values).changes;
  }
}

class Wide extends Prepared {
  readonly #inOneText: BetterSqlite3.Statement<unknown[]>;

  constructor(
    native: BetterSqlite3.Statement<unknown[]>,
    text: BetterSqlite3.Statement<unknown[]>,
  ) {
    super(native);
    this.#inOneText = text.pluck();
  }

  override rows(values: readonly Value[]): Value[][] {
    const text = this.#inOneText.get(...values) as string | null;
    return text === null ? [] : (JSON.parse(text) as Value[][]);
  }
}
