import { inBatches } from "../../jobs/batches.ts";
import { areFew, SMALL } from "../../jobs/removal.ts";
import { belowGroup } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { NAMINGS, type Naming, rename } from "./adoption.ts";

/** A label or milestone that takes the place of those of the same name in the projects of a group. */
export interface Promoted {
  readonly kind: "labels" | "milestones";
  readonly id: number;
  /** The id of the group. */
  readonly group: number;
}

const NAMES = { labels: "name", milestones: "title" } as const;
const COLUMNS = { labels: "label_id", milestones: "milestone_id" } as const;

/** Labels or milestones whose places are taken within the request, at most. */
const MOST_AT_ONCE = 20;

/** The ids of the first labels or milestones whose place is taken. */
async function others(db: Reader, { kind, id, group }: Promoted, most: number): Promise<number[]> {
  const below = belowGroup("p.namespace_id", group);
  const found = await db.rows(
    `select o.id from ${kind} o join projects p on p.id = o.project_id
     where o.${NAMES[kind]} = (select ${NAMES[kind]} from ${kind} where id = ?) and o.removed = 0 and ${below.sql}
     order by o.id limit ?`,
    [id, ...below.values, most],
  );
  return found.map(([other]) => other as number);
}

/** Takes the places in a transaction. @returns `false`, with nothing done, if too much has them */
export async function mergeFew(db: Database, promoted: Promoted): Promise<boolean> {
  const { kind, id: to } = promoted;
  const found = await others(db, promoted, MOST_AT_ONCE + 1);
  if (found.length > MOST_AT_ONCE) return false;
  const column = COLUMNS[kind];
  const parts = NAMINGS[kind].map(({ table, of }) => [table, column, of] as const);
  if (found.length > 0 && !(await areFew(db, parts, placeholders(found), SMALL))) return false;
  for (const from of found) {
    for (const naming of NAMINGS[kind]) {
      const some = {
        sql: `select ${naming.of} from ${naming.table} where ${column} = ?`,
        values: [from],
      };
      await rename(db, naming, column, some, { from, to });
    }
    await db.run(`delete from ${kind} where id = ?`, [from]);
  }
  return true;
}

/** Takes the places in batches. Doing it again goes on. @throws what the signal was aborted with */
export async function mergeAll(
  store: Store,
  promoted: Promoted,
  signal: AbortSignal,
): Promise<void> {
  const { kind, id: to } = promoted;
  for (;;) {
    const [from] = await others(store, promoted, 1);
    if (from === undefined) return;
    for (const naming of NAMINGS[kind]) {
      const work = (db: Database, batch: number) =>
        mergeSome(db, naming, COLUMNS[kind], { from, to }, batch);
      await inBatches(store, work, { signal });
    }
    await store.transaction((db) => db.run(`delete from ${kind} where id = ?`, [from]));
  }
}

async function mergeSome(
  db: Database,
  naming: Naming,
  column: "label_id" | "milestone_id",
  places: { from: number; to: number },
  batch: number,
): Promise<number> {
  const { table, of } = naming;
  const found = await db.rows(
    `select ${of} from ${table} where ${column} = ? and ${of} is not null limit ?`,
    [places.from, batch],
  );
  if (found.length === 0) return 0;
  const some = placeholders([...new Set(found.map(([id]) => id as number))]);
  await rename(db, naming, column, some, places);
  return found.length;
}
