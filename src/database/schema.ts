import { allResources } from "../mounts.ts";
import { migrate, type NewestSchema } from "../store/migrate.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/port.ts";

/** Every step of the schema. */
export const migrations = allResources.flatMap((resource) => resource.migrations);

/** Loads what {@link migrations} make of an empty SQLite database. */
export async function loadNewest(): Promise<NewestSchema> {
  return (await import("./newest-schema.ts")).NEWEST;
}

/** A table, described for both engines. */
export interface Table {
  name: string;
  columns: { name: string; type: "int" | "text" | "bytes" }[];
  /** The names of the columns of its primary key, in order. */
  key: string[];
  /** Whether the database assigns its `id`. */
  numbered: boolean;
  /** The tables its foreign keys refer to. */
  references: string[];
}

const TYPES = { INTEGER: "int", TEXT: "text", BLOB: "bytes" } as const;

/**
 * The tables of the code's schema, each after the tables it refers to if possible, without those that belong to one
 * database, and those that triggers fill: `schema_migrations`, `jobs`, counts of labels, topics and open issues, and the indexes of searches. They
 * are read from a new database in memory, so that one query serves both engines.
 */
export async function tablesOf(): Promise<Table[]> {
  const model = await openStore(":memory:");
  try {
    await migrate(model, migrations, 0);
    const found = await model.rows(
      `select t.name, s.sql like '%autoincrement%' from pragma_table_list t
       join sqlite_schema s on s.name = t.name
       where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite_%'
         and t.name not like '%_search_waiting'
         and t.name not in ('schema_migrations', 'jobs', 'label_counts', 'open_issue_counts', 'ci_counts', 'topic_counts')
       order by t.name`,
    );
    const tables: Table[] = [];
    for (const [name, numbered] of found) {
      tables.push(await describe(model, String(name), numbered === 1));
    }
    return ordered(tables);
  } finally {
    await model.close();
  }
}

async function describe(model: Store, name: string, numbered: boolean): Promise<Table> {
  const columns = await model.rows("select name, type, pk from pragma_table_info(?)", [name]);
  const references = await model.rows(
    'select distinct "table" from pragma_foreign_key_list(?) order by 1',
    [name],
  );
  return {
    name,
    columns: columns.map(([column, type]) => ({
      name: String(column),
      type: TYPES[type as keyof typeof TYPES],
    })),
    key: columns
      .filter(([, , place]) => place !== 0)
      .sort(([, , a], [, , b]) => (a as number) - (b as number))
      .map(([column]) => String(column)),
    numbered,
    references: references.map(([table]) => String(table)),
  };
}

function ordered(tables: readonly Table[]): Table[] {
  const placed = new Set<Table>();
  const place = (table: Table, above: readonly Table[]) => {
    if (placed.has(table) || above.includes(table)) return;
    for (const other of tables.filter(({ name }) => table.references.includes(name))) {
      place(other, [...above, table]);
    }
    placed.add(table);
  };
  for (const table of tables) place(table, []);
  return [...placed];
}
