import { ApiError } from "../../core/errors.ts";
import { ConstraintError, type Database, type Store } from "../../store/port.ts";
import { ARCHIVED, type ArchivedTable, GROUP_ARCHIVED } from "../exports/archived.ts";
import { ArchiveError, type Place } from "../exports/format.ts";
import { insert, Names, readingOf } from "../exports/rows.ts";
import * as imports from "./queries.ts";
import type { Row } from "./rows.ts";

/** Something of another server with all that is part of it, which is written as a whole or not at all. */
export interface SourceRecord {
  /** What it is called in progress, such as `issues`. */
  readonly kind: string;
  /** What it is recognized by if it is seen again. */
  readonly key: string;
  readonly title: string | null;
  /** The first one is the record itself, without which there are no others. */
  readonly rows: readonly Row[];
  /** Whom rows name, by their ids there. */
  readonly people?: ReadonlyMap<number, number>;
  /** The ids here, by table, of what rows name by them. */
  readonly here?: Readonly<Record<string, readonly number[]>>;
  /** The hidden project that has it, of an epic. */
  readonly home?: number;
  /** Takes one that is here, such as a label of that name, instead of a row of its own. */
  readonly instead?: (db: Database) => Promise<number | undefined>;
  /** What else is written with it. @param id its own */
  readonly after?: (db: Database, id: number) => Promise<void>;
}

/** Where records are written to. */
export interface Writing {
  readonly store: Store;
  readonly place: Place;
  /** The id of the user who stands for authors that are not known here. */
  readonly importer: number;
}

/** Writes in a transaction. What is written to one project can share its time with others. */
export function write<T>(
  { store, place }: Pick<Writing, "store" | "place">,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  if (place.kind === "group") return store.transaction(work);
  return store.transaction(
    (db) => {
      db.lock(place.id);
      return work(db);
    },
    { shared: true },
  );
}

/**
 * Writes a record, unless it was written before.
 *
 * @returns whether it is new, and how many of its rows could not be written
 * @throws ArchiveError if it has values that no record can have, or another one has its place
 */
export async function writeRecord(
  writing: Writing,
  record: SourceRecord,
): Promise<{ isNew: boolean; left: number }> {
  const { place } = writing;
  try {
    return await write(writing, async (db) => {
      const known = await imports.recordsOf(db, place, record.kind, [record.key]);
      if (known.size > 0) return { isNew: false, left: 0 };
      const instead = await record.instead?.(db);
      const { id, left } =
        instead === undefined ? await insertAll(db, writing, record) : { id: instead, left: 0 };
      await record.after?.(db, id);
      await imports.note(db, place, record.kind, record.key, id);
      return { isNew: true, left };
    });
  } catch (error) {
    if (error instanceof ConstraintError) throw new ArchiveError("it contradicts what is here");
    if (error instanceof ApiError) throw new ArchiveError(JSON.stringify(error.body));
    throw error;
  }
}

/** Inserts the rows of a record. @throws ArchiveError if the first one can't be inserted */
async function insertAll(
  db: Database,
  { place, importer }: Writing,
  { rows, people, here, home = 0 }: SourceRecord,
): Promise<{ id: number; left: number }> {
  const names = new Names(importer, new Map(people));
  for (const [table, ids] of Object.entries(here ?? {})) {
    for (const id of ids) names.idsOf(table).set(id, id);
  }
  const tables = place.kind === "project" ? ARCHIVED : GROUP_ARCHIVED;
  let own: number | undefined;
  let left = 0;
  for (const { table: name, values } of rows) {
    const table = tables[name] as ArchivedTable;
    const columns = Object.keys(values);
    const row = Object.values(values);
    const reading = readingOf(name, table, columns);
    let mapped: ReturnType<Names["valuesOf"]>;
    try {
      mapped = names.valuesOf(reading, row);
    } catch (error) {
      if (own === undefined || !(error instanceof ArchiveError)) throw error;
      left += 1;
      continue;
    }
    if (!mapped) continue;
    const { id, ...others } = mapped;
    const owner = table.home === "epics" ? home : place.id;
    const newId = await insert(db, { id: owner, isElsewhere: false }, reading, others);
    if (own === undefined) {
      if (newId === undefined) throw new ArchiveError("another one has its place here");
      own = newId;
    }
    if (newId !== undefined) await names.note(db, reading, row, { id: id as number, newId });
  }
  if (own === undefined) throw new ArchiveError("nobody here can have it");
  return { id: own, left };
}
