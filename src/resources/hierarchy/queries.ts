import type { Database, Reader } from "../../store/port.ts";

/** The distance between the positions of two children that nobody has moved. */
const GAP = 2 ** 20;

/** The most levels of epics, one below another, as in GitLab. */
export const MAX_DEPTH = 7;

/** Where a child is put: next to another one of the same parent. */
export interface Neighbour {
  readonly id: number;
  readonly side: "before" | "after";
}

/** The id of the issue that one is below, or `null`. */
export async function parentIdOf(db: Reader, id: number): Promise<number | null> {
  const [row] = await db.rows("select parent_id from work_item_parents where issue_id = ?", [id]);
  return (row?.[0] ?? null) as number | null;
}

/** The ids of what is above one, from its parent on: at most as many as epics may be deep, and one more. */
export async function idsAbove(db: Reader, id: number): Promise<number[]> {
  const rows = await db.rows(
    `with recursive above (id, depth) as (
       select parent_id, 1 from work_item_parents where issue_id = ?
       union all
       select h.parent_id, above.depth + 1 from above join work_item_parents h on h.issue_id = above.id
       where above.depth <= ${MAX_DEPTH})
     select id from above order by depth`,
    [id],
  );
  return rows.map(([above]) => above as number);
}

/** How many levels of epics there are from one on: 1 if none is below it. */
export async function levelsOf(db: Reader, id: number): Promise<number> {
  const [row] = await db.rows(
    `with recursive below (id, depth) as (
       select cast(? as bigint), 1
       union all
       select h.issue_id, below.depth + 1 from below join work_item_parents h on h.parent_id = below.id
         join issues i on i.id = h.issue_id
       where i.issue_type = 'epic' and below.depth <= ${MAX_DEPTH})
     select max(depth) from below`,
    [id],
  );
  return Number(row?.[0]);
}

/** How many are below one. */
export async function countChildren(db: Reader, parentId: number): Promise<number> {
  const sql = "select count(*) from work_item_parents where parent_id = ?";
  return Number((await db.rows(sql, [parentId]))[0]?.[0]);
}

/** Puts an issue below another one: behind all that are there, or next to a neighbour, which is one of them. */
export async function put(
  db: Database,
  id: number,
  parentId: number,
  neighbour?: Neighbour,
): Promise<void> {
  const place = () => positionIn(db, id, parentId, neighbour);
  let position = await place();
  if (position === undefined) {
    await spread(db, parentId);
    position = (await place()) as number;
  }
  await db.run(
    `insert into work_item_parents (issue_id, parent_id, position) values (?, ?, ?)
     on conflict (issue_id) do update set parent_id = excluded.parent_id, position = excluded.position`,
    [id, parentId, position],
  );
}

/** Takes an issue away from the one that it is below. */
export async function takeAway(db: Database, id: number): Promise<void> {
  await db.run("delete from work_item_parents where issue_id = ?", [id]);
}

/** Puts one issue into the place of another one below its epic, if it is below one. */
export async function hand(db: Database, fromId: number, toId: number): Promise<void> {
  await db.run(
    `update work_item_parents set issue_id = ?
     where issue_id = ? and parent_id in (select id from issues where issue_type = 'epic')`,
    [toId, fromId],
  );
}

/** A position for a child; `undefined` if there is no room next to its neighbour. */
async function positionIn(
  db: Reader,
  id: number,
  parentId: number,
  neighbour: Neighbour | undefined,
): Promise<number | undefined> {
  const read = async (what: string, condition: string, ...values: number[]) => {
    const sql = `select ${what} from work_item_parents where parent_id = ? and issue_id <> ? ${condition}`;
    return (await db.rows(sql, [parentId, id, ...values]))[0]?.[0] as number | null | undefined;
  };
  if (!neighbour) return ((await read("max(position)", "")) ?? 0) + GAP;
  const beside = (await read("position", "and issue_id = ?", neighbour.id)) ?? 0;
  if (neighbour.side === "after") {
    const next = await read("min(position)", "and position > ?", beside);
    return between(beside, next ?? beside + 2 * GAP);
  }
  const previous = await read("max(position)", "and position < ?", beside);
  return between(previous ?? beside - 2 * GAP, beside);
}

/** The middle of two positions, if there is one. */
function between(low: number, high: number): number | undefined {
  const middle = Math.floor((low + high) / 2);
  return middle > low ? middle : undefined;
}

/** Makes room between all that are below one. */
async function spread(db: Database, parentId: number): Promise<void> {
  await db.run(
    `update work_item_parents set position = ? * spread.place from (
       select issue_id as of_id, row_number() over (order by position, issue_id) as place
       from work_item_parents where parent_id = ?) as spread
     where work_item_parents.issue_id = spread.of_id`,
    [GAP, parentId],
  );
}

/** The types of an issue's parent and of its children that can't be there once it has another type. */
export async function typesAround(
  db: Reader,
  id: number,
): Promise<{ parent: string | undefined; children: string[] }> {
  const parent = await db.rows(
    `select p.issue_type from work_item_parents h join issues p on p.id = h.parent_id
     where h.issue_id = ?`,
    [id],
  );
  const children = await db.rows(
    `select distinct i.issue_type from work_item_parents h join issues i on i.id = h.issue_id
     where h.parent_id = ?`,
    [id],
  );
  return {
    parent: parent[0]?.[0] as string | undefined,
    children: children.map(([type]) => type as string),
  };
}

/** Whether an issue is below a confidential one, and whether some below it are not confidential. */
export async function confidentialityAround(
  db: Reader,
  id: number,
): Promise<{ isParentConfidential: boolean; hasPublicChild: boolean }> {
  const parent = await db.rows(
    `select 1 from work_item_parents h join issues p on p.id = h.parent_id
     where h.issue_id = ? and p.confidential = 1`,
    [id],
  );
  const child = await db.rows(
    `select 1 from work_item_parents h join issues i on i.id = h.issue_id
     where h.parent_id = ? and i.confidential = 0 limit 1`,
    [id],
  );
  return { isParentConfidential: parent.length > 0, hasPublicChild: child.length > 0 };
}
