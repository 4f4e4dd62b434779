import * as v from "valibot";
import type { Database, Value } from "../../store/port.ts";
import { type ArchivedTable, HOMES } from "./archived.ts";
import type { ArchivedColumn } from "./columns.ts";
import { ArchiveError, GROUP, INHERITED } from "./format.ts";

/** A table whose rows are being read. */
export interface Reading {
  readonly name: string;
  readonly table: ArchivedTable;
  /** The columns of its rows, in their order; `undefined` for one that is not known here. */
  readonly columns: readonly (readonly [name: string, column: ArchivedColumn] | undefined)[];
}

/** What a row belongs to here. */
export interface Here {
  /** The id of a project or group. */
  readonly id: number;
  /** Whether the row is one of a group above, which is not brought along. */
  readonly isElsewhere: boolean;
}

const FLAG: ArchivedColumn = { schema: v.picklist([0, 1]), isNeeded: true };
const ID: ArchivedColumn = { schema: v.pipe(v.number(), v.safeInteger()), isNeeded: true };

/** The table of rows with some columns; those that are not known here are passed over. */
export function readingOf(name: string, table: ArchivedTable, columns: readonly string[]): Reading {
  const known = columns.map((column) => {
    if (column === "id" && table.numbered) return ["id", ID] as const;
    if (column === INHERITED && table.used) return [INHERITED, FLAG] as const;
    if (column === GROUP && table.home) return [GROUP, ID] as const;
    const found = Object.hasOwn(table.columns, column) ? table.columns[column] : undefined;
    return found && ([column, found] as const);
  });
  return { name, table, columns: known };
}

/** What rows and people of another server are here. */
export class Names {
  /** The new ids of rows by the old ones, by table. */
  readonly #ids = new Map<string, Map<number, number>>();
  /** The ids that people have here, by those there, if the importer may speak for them. */
  readonly people: Map<number, number>;
  readonly #importer: number;

  /** @param importer the id of the user who stands for authors that are not known here */
  constructor(importer: number, people = new Map<number, number>()) {
    this.#importer = importer;
    this.people = people;
  }

  /** The ids of the rows of a table, to which others are added. */
  idsOf(table: string): Map<number, number> {
    const ids = this.#ids.get(table) ?? new Map<number, number>();
    this.#ids.set(table, ids);
    return ids;
  }

  /**
   * The values of a row by column, as they are here; `undefined` if something that it needs is not.
   *
   * @throws ArchiveError if one is none that the API could have stored
   */
  valuesOf({ name, columns }: Reading, row: readonly unknown[]): Record<string, Value> | undefined {
    const values: Record<string, Value> = {};
    for (const [at, known] of columns.entries()) {
      if (!known) continue;
      const [key, column] = known;
      const given = row[at];
      if (!v.is(column.schema, given)) throw new ArchiveError(`${name}.${key} is not valid`);
      const value = given as Value;
      const mapped = value === null ? null : this.#here(column, value);
      if (mapped === undefined && column.isNeeded) return undefined;
      if (!column.isPlace) values[key] = mapped ?? null;
    }
    return values;
  }

  /** What a value stands for here. */
  #here({ of, people }: ArchivedColumn, value: Value): Value | undefined {
    if (of !== undefined) return this.#ids.get(of)?.get(value as number);
    if (people === undefined) return value;
    const known = this.people.get(value as number);
    return known ?? (people === "author" ? this.#importer : undefined);
  }

  /** Notes what a row is here, also in those of its columns that name itself. */
  async note(
    db: Database,
    { name, columns }: Reading,
    row: readonly unknown[],
    { id, newId }: { readonly id: number; readonly newId: number },
  ): Promise<void> {
    this.idsOf(name).set(id, newId);
    for (const [at, known] of columns.entries()) {
      if (known?.[1].of !== name || row[at] !== id) continue;
      await db.run(`update ${name} set ${known[0]} = ? where id = ?`, [newId, newId]);
    }
  }
}

/** Inserts a row, and returns its id if it has one, or that of the one that stands for it. */
export async function insert(
  db: Database,
  { id, isElsewhere }: Here,
  { name, table }: Reading,
  given: Readonly<Record<string, Value>>,
): Promise<number | undefined> {
  const values: Record<string, Value> = { ...given };
  const { column } = HOMES[table.home ?? "project"];
  if (table.home) values[column] = id;
  for (const [key, { isNumber }] of Object.entries(table.columns)) {
    if (!isNumber || (values[key] != null && !isElsewhere)) continue;
    const [last] = await db.rows(`select max(${key}) from ${name} where ${column} = ?`, [id]);
    values[key] = ((last?.[0] as number | null) ?? 0) + 1;
  }
  const columns = Object.keys(values);
  const marks = columns.map(() => "?").join(", ");
  const inserting = `insert into ${name} (${columns.join(", ")}) values (${marks}) on conflict do nothing`;
  if (!table.numbered) {
    await db.run(inserting, Object.values(values));
    return undefined;
  }
  const [row] = await db.rows(`${inserting} returning id`, Object.values(values));
  if (row) return row[0] as number;
  if (table.same === undefined) return undefined;
  const [same] = await db.rows(`select id from ${name} where ${column} = ? and ${table.same} = ?`, [
    id,
    values[table.same] as Value,
  ]);
  return same?.[0] as number | undefined;
}
