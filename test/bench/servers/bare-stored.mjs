// The bare server's answers that are stored as rows (../stored.ts), made of rows by literals, as if written by hand.

/**
 * @param {import("better-sqlite3").Database} db
 * @returns {Map<string, () => unknown>} the answers by path
 */
export function stored(db) {
  const exists = db.prepare("select 1 from sqlite_master where name = 'bench_answers'").get();
  if (!exists) return new Map();
  const tables = new Map();
  const rowsOf = (name) => tables.get(name).rows();
  const made = db.prepare("select name from sqlite_master where name like 'bench_rows_%'").all();
  for (const { name } of made) {
    const statement = db.prepare(`select * from ${name}`);
    const toJson = new Function("rowsOf", `return (row) => (${literalOf(statement.columns())})`);
    const present = toJson(rowsOf);
    tables.set(name, {
      row: () => present(statement.get()),
      rows: () => statement.all().map(present),
    });
  }
  return new Map(
    db
      .prepare("select path, name, is_list from bench_answers")
      .all()
      .map(({ path, name, is_list }) => {
        const { row, rows } = tables.get(name);
        return [path, is_list === 1 ? rows : row];
      }),
  );
}

/** How a column's value gets into the answer, by the column's type. */
const VALUES = {
  boolean: (value) => `${value} === 1`,
  json: (value) => `JSON.parse(${value})`,
  rows: (value) => `rowsOf(${value})`,
};

/** The source of an object with a row's values: the column `author.id` is the `id` of the object `author`. */
function literalOf(columns) {
  const tree = {};
  for (const { name, type } of columns) {
    const path = name.split(".");
    const last = path.pop();
    let inner = tree;
    for (const part of path) {
      inner[part] ??= {};
      inner = inner[part];
    }
    const value = `row[${JSON.stringify(name)}]`;
    inner[last] = VALUES[type]?.(value) ?? value;
  }
  return sourceOf(tree);
}

const sourceOf = (tree) =>
  typeof tree === "string"
    ? tree
    : `{${Object.entries(tree).map(([name, value]) => `${JSON.stringify(name)}: ${sourceOf(value)}`)}}`;
