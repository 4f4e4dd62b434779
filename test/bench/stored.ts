import type { Database, Value } from "../../src/store/port.ts";

/** An object of an answer. */
type Item = Record<string, unknown>;

/**
 * Stores answers of the application as tables, from which the bare server makes the same bytes: a column for each field,
 * also for those of objects within, with a type that says how its values are stored. So the bare server answers new
 * fields by itself.
 *
 * @param answers the parsed answers, by path
 */
export async function storeAnswers(
  db: Database,
  answers: ReadonlyMap<string, unknown>,
): Promise<void> {
  await db.run("create table bench_answers (path, name, is_list)");
  for (const [path, answer] of answers) {
    const isList = Array.isArray(answer);
    const name = await storeRows(db, (isList ? answer : [answer]) as Item[]);
    await db.run("insert into bench_answers values (?, ?, ?)", [path, name, isList ? 1 : 0]);
  }
}

/** Stores objects as rows, and returns the name of their table. */
async function storeRows(db: Database, items: readonly Item[]): Promise<string> {
  const rows = items.map((item) => new Map(flattened(item)));
  const [count] = await db.rows(
    "select count(*) from sqlite_master where name like 'bench_rows_%'",
  );
  const name = `bench_rows_${count?.[0]}`;
  const columns: { name: string; type: string }[] = [];
  for (const column of rows[0]?.keys() ?? []) {
    columns.push({ name: column, type: typeOf(rows.map((row) => row.get(column))) });
  }
  const declared = columns.map((one) => `"${one.name}" ${one.type}`).join(", ");
  await db.run(`create table ${name} (${declared})`);
  const marks = columns.map(() => "?").join(", ");
  for (const row of rows) {
    const values: Value[] = [];
    for (const column of columns) values.push(await cellOf(db, column.type, row.get(column.name)));
    await db.run(`insert into ${name} values (${marks})`, values);
  }
  return name;
}

/** An object's fields, and those of the objects within it, whose names are joined. */
function* flattened(item: Item, prefix = ""): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(item)) {
    if (isObject(value) && Object.keys(value).length > 0)
      yield* flattened(value, `${prefix}${name}.`);
    else yield [prefix + name, value];
  }
}

const isObject = (value: unknown): value is Item =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The type of a column: how `servers/bare-stored.mjs` reads its values. */
function typeOf(values: readonly unknown[]): string {
  if (values.every((value) => typeof value === "boolean")) return "boolean";
  if (values.every((value) => Array.isArray(value) && value.length > 0 && value.every(isObject))) {
    return "rows";
  }
  return values.some((value) => typeof value === "object" && value !== null) ? "json" : "";
}

async function cellOf(db: Database, type: string, value: unknown): Promise<Value> {
  if (type === "boolean") return Number(value);
  if (type === "rows") return storeRows(db, value as Item[]);
  return type === "json" ? JSON.stringify(value) : (value as Value);
}
