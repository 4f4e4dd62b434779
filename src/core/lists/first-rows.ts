import {
  all,
  among,
  belowGroup,
  type Condition,
  firstOfProjects,
  startingWith,
  when,
} from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { RowPage } from "../pagination.ts";
import { countOf, firstIdsOf, type IndexStart } from "./index-start.ts";

/** A list of rows of projects, as {@link readFirst} needs it. */
export interface ProjectRows {
  /** The listed table, and its alias. */
  readonly table: string;
  readonly alias: string;
  /** The project or group that it is limited to. */
  readonly projectId: number | undefined;
  readonly groupId: number | undefined;
  readonly start: IndexStart;
  /** The column of its order, if an index of each project has it. */
  readonly column: string | undefined;
  /** Whether an index of all rows has it, too. */
  readonly isIndexedAcross: boolean;
  readonly sort: "asc" | "desc";
  /** The conditions on projects, those on their rows, and both. */
  readonly projects: Condition;
  readonly conditions: Condition;
  readonly wanted: Condition;
  /** The tables of all these conditions. */
  readonly tables: string;
  readonly order: string;
  /** The order, written so that no index has it. */
  readonly sorted: string;
  /** How many of the first rows the page needs: its own, those before it, and the next one. */
  readonly most: number;
}

/** Up to this row, the first ones of a list are looked for in other ways than by reading all rows in its order. */
const LOOK_AHEAD = 250;
/** Of a group with more projects, the first rows of all groups are looked at before those of each project. */
const FEW_PROJECTS = 200;
const LOOKED_AT = 1000;
/** For deep pages: so many rows of all groups for each one of the group. */
const LOOKED_AT_FOR_EACH = 4;
/** If hardly any of the first rows match, no more than these are looked at. */
const MOST_LOOKED_AT = 10_000;
/** Of more rows that an index finds, those of a list are not sorted. */
const MOST_SORTED = 100_000;

/**
 * Reads a page by the condition that finds its rows soonest.
 *
 * @param read reads the page, in the order of the list, of the rows that a condition holds for; `total` is how many rows
 *   the list has, if that is known
 */
export async function readFirst(
  db: Reader,
  list: ProjectRows,
  read: (picked: Condition, total?: number) => Promise<RowPage>,
): Promise<RowPage> {
  const { groupId, start, wanted, order, most } = list;
  if (start.isSelective) return read(wanted);
  if (list.column === undefined) return read(firstSorted(list));
  if (groupId === undefined) {
    const bound = most <= LOOK_AHEAD ? await boundOf(db, list) : undefined;
    if (!bound) return read(wanted);
    const listed = await read(all([wanted, bound]));
    if (listed.hasNext) return listed;
    const first = await firstFound(db, list);
    return first ? read(first.picked, first.total) : read(wanted);
  }
  if (!(await hasFewProjects(db, groupId))) {
    const among = await amongFirst(db, list);
    if (among) return read(among);
    const first = await firstFound(db, list);
    if (first) return read(first.picked, first.total);
  }
  if (most > LOOK_AHEAD) return read(wanted);
  return read(firstOfProjects(db, list, list.projects, list.conditions, order, most));
}

/** The first rows of a list, found by sorting all of them: without the columns of the answer, which take much longer. */
function firstSorted({ alias, wanted, tables, order, most }: ProjectRows): Condition {
  return {
    sql: `${alias}.id in (select id from
      (select ${alias}.id from ${tables} where ${wanted.sql} order by ${order} limit ?) as first)`,
    values: [...wanted.values, most],
  };
}

/**
 * The condition on the first rows of a project or of all projects, of which few may match; `undefined` if most may, or if
 * there are no more rows.
 */
async function boundOf(
  db: Reader,
  { alias, table, projectId, column, sort, start }: ProjectRows,
): Promise<Condition | undefined> {
  if (!start.ids) return undefined;
  const within = all([when("project_id = ?", projectId)]);
  const last = await db.one<{ place: number }>(
    `select ${column} as place from ${table} where ${within.sql} order by ${column} ${sort}, id ${sort}
     limit 1 offset ${MOST_LOOKED_AT}`,
    within.values,
  );
  return last && when(`${alias}.${column} ${sort === "desc" ? ">=" : "<="} ?`, last.place);
}

async function hasFewProjects(db: Reader, groupId: number): Promise<boolean> {
  const below = belowGroup("namespace_id", groupId);
  const projects = `(select 1 from projects where ${below.sql} limit ${FEW_PROJECTS + 1}) as found`;
  return (await countOf(db, projects, below.values)) <= FEW_PROJECTS;
}

/**
 * The first rows of a group with many projects, if they are among the first of all groups: then they are found without
 * asking each project. If some of these match, but too few, twice as many are looked at as should be enough.
 */
async function amongFirst(
  db: Reader,
  { alias, table, column, isIndexedAcross, sort, wanted, tables, order, most }: ProjectRows,
): Promise<Condition | undefined> {
  if (!isIndexedAcross) return undefined;
  const last = Math.min(most, LOOK_AHEAD);
  const first = `select id from ${table} order by ${column} ${sort}, id ${sort} limit ?`;
  const findAmong = (looked: number) =>
    db.rows(
      `select ${alias}.id from ${startingWith(db.dialect, alias, tables, first)} and ${wanted.sql}
       order by ${order} limit ? offset ?`,
      [looked, ...wanted.values, last, most - last],
    );
  let looked = Math.max(LOOKED_AT, LOOKED_AT_FOR_EACH * most);
  let found = await findAmong(looked);
  const enough = Math.ceil((2 * looked * last) / found.length);
  if (found.length < last && enough <= MOST_LOOKED_AT) {
    looked = enough;
    found = await findAmong(looked);
  }
  if (found.length < last) return undefined;
  if (most > LOOK_AHEAD) {
    return all([{ sql: `${alias}.id in (${first})`, values: [looked] }, wanted]);
  }
  return among(
    `${alias}.id`,
    found.map(([id]) => id as Value),
  );
}

/**
 * The first rows of a list, by sorting what an index finds, and how many it has: for filters that many rows match, but
 * hardly any of the first ones. `undefined` if the index finds too many.
 */
async function firstFound(
  db: Reader,
  { alias, start, wanted, tables, sorted, most }: ProjectRows,
): Promise<{ picked: Condition; total: number } | undefined> {
  const { ids, prefix, condition } = start;
  if (!ids) return undefined;
  const found = `(select 1 from (${ids.sql}) as matching limit ${MOST_SORTED + 1}) as found`;
  if ((await countOf(db, found, ids.values)) > MOST_SORTED) return undefined;
  const matching = all([condition, wanted]);
  const from = {
    sql: `${prefix.sql} ${tables} where ${matching.sql}`,
    values: [...prefix.values, ...matching.values],
  };
  const first = await firstIdsOf(db, `${alias}.id`, from, sorted, most);
  return {
    picked: { sql: `${alias}.id in (${first.ids.sql})`, values: first.ids.values },
    total: first.total,
  };
}
