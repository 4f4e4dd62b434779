import { type Viewer, visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import { all, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader } from "../../store/port.ts";

// Where issues are in the order that people give them: `relative_position`. All issues of the installation share one
// order, without equal positions (docs/decisions/0024).

/** The distance between the positions of two issues that nobody has moved. */
const GAP = 2 ** 20;

/** SQL of the position of a new issue: ids only grow, so it is behind all others. */
export const NEW_POSITION = `id * ${GAP}`;

/** The position that a new issue with an id has. @see NEW_POSITION */
export const newPositionOf = (id: number): number => id * GAP;

/**
 * The position of the issue that is added next, so that the indexes of positions are written only once. `null` on
 * PostgreSQL, where others may add issues meanwhile: {@link NEW_POSITION} is set when its id is known.
 */
export async function positionOfNext(db: Database): Promise<number | null> {
  if (db.dialect === "postgres") return null;
  const [last] = await db.rows("select seq from sqlite_sequence where name = 'issues'");
  return (((last?.[0] as number | undefined) ?? 0) + 1) * GAP;
}

/**
 * Copies the projects and positions of issues to their labels, with which boards read a label's open issues in order. To be called
 * whenever their labels, their state or their positions have changed.
 */
export function placeLabels(db: Database, issueIds: readonly number[]): void {
  const among = placeholders(issueIds);
  db.send(
    `update issue_labels set (project_id, open_position) = (
       select project_id, case when state = 'opened' then coalesce(relative_position, ${NEW_POSITION}) end
       from issues where issues.id = issue_labels.issue_id)
     where issue_id in (${among.sql})`,
    among.values,
  );
}

/** The issues that another one is moved between, by their ids. One of them may be missing. */
export interface Neighbours {
  before?: number | undefined;
  after?: number | undefined;
}

/**
 * Moves an issue next to others: behind `before` and, unless these two are in the other order, ahead of `after`.
 * Neighbours that the caller can't read are ignored. They may belong to any project, so the transaction must run alone.
 *
 * @throws ApiError 422 if no neighbour is left, or there is no room, which takes hundreds of thousands of moves to one
 *   place
 */
export async function reorder(
  { db, viewer }: { db: Database; viewer: Viewer },
  issueId: number,
  neighbours: Neighbours,
): Promise<void> {
  const readable = await readableOf(db, viewer, neighbours);
  const place = () => placeBetween(db, issueId, readable);
  const position = (await place()) ?? ((await makeRoom(db, readable)) ? await place() : undefined);
  if (position === undefined) throw unprocessable();
  await db.run("update issues set relative_position = ? where id = ?", [position, issueId]);
  placeLabels(db, [issueId]);
}

function unprocessable(): ApiError {
  return new ApiError(422, { message: { error: "Unprocessable Entity" } });
}

/** The neighbours that the caller can read. @throws ApiError 422 if there is none */
async function readableOf(
  db: Reader,
  viewer: Viewer,
  { before = 0, after = 0 }: Neighbours,
): Promise<Neighbours> {
  const readable = all([
    when("i.id in (?, ?)", before, after),
    visibleProjects(viewer),
    visibleIssues(viewer),
  ]);
  const found = await db.rows(
    `select i.id from issues i join projects p on p.id = i.project_id where ${readable.sql}`,
    readable.values,
  );
  if (found.length === 0) throw unprocessable();
  const ids = found.map(([id]) => id);
  return {
    before: ids.includes(before) ? before : undefined,
    after: ids.includes(after) ? after : undefined,
  };
}

/** A free position, adjacent to one of the neighbours; `undefined` if there is none. */
async function placeBetween(
  db: Reader,
  issueId: number,
  { before, after }: Neighbours,
): Promise<number | undefined> {
  const places = await Promise.all(
    [before, after].map(async (id) => (id === undefined ? undefined : positionOf(db, id))),
  );
  const [first, last] = places as [number | undefined, number | undefined];
  const isSwapped = first !== undefined && last !== undefined && last < first;
  const low = isSwapped ? last : first;
  const [from, to] =
    low === undefined
      ? [await previous(db, last as number, issueId), last as number]
      : [low, await next(db, low, issueId)];
  const middle = Math.floor((from + to) / 2);
  return middle > from ? middle : undefined;
}

async function positionOf(db: Reader, issueId: number): Promise<number> {
  const [found] = await db.rows("select relative_position from issues where id = ?", [issueId]);
  return (found as [number])[0];
}

/** The nearest position below another; 0 if there is none. */
async function previous(db: Reader, position: number, exceptId = 0): Promise<number> {
  const [found] = await db.rows(
    `select relative_position from issues where relative_position < ? and id <> ?
     order by relative_position desc limit 1`,
    [position, exceptId],
  );
  return (found?.[0] as number | undefined) ?? 0;
}

/** The nearest position above another; if there is none, the end of its gap, which no new issue reaches. */
async function next(db: Reader, position: number, exceptId = 0): Promise<number> {
  const [found] = await db.rows(
    `select relative_position from issues where relative_position > ? and id <> ?
     order by relative_position limit 1`,
    [position, exceptId],
  );
  return (found?.[0] as number | undefined) ?? (Math.floor(position / GAP) + 1) * GAP;
}

/** How many issues around a place are spread anew, and how far apart they must then be; more only if that is not enough. */
const WINDOWS = [
  { issues: 16, apart: 2 ** 14 },
  { issues: 128, apart: 2 ** 10 },
  { issues: 1024, apart: 4 },
];

/** Spreads the issues around a place evenly over the room they have; false if even many have too little. */
async function makeRoom(db: Database, { before, after }: Neighbours): Promise<boolean> {
  const place = await positionOf(db, (before ?? after) as number);
  for (const { issues, apart } of WINDOWS) {
    const [first] = (await db.rows(
      `select min(relative_position) from (
         select relative_position from issues where relative_position <= ?
         order by relative_position desc limit ?) as below`,
      [place, issues / 2],
    )) as [[number]];
    const [last] = (await db.rows(
      `select max(relative_position), count(*) from (
         select relative_position from issues where relative_position >= ?
         order by relative_position limit ?) as window_of_issues`,
      [first[0], issues],
    )) as [[number, number]];
    const [from, to] = [await previous(db, first[0]), await next(db, last[0])];
    const step = Math.floor((to - from) / (last[1] + 1));
    if (step < apart) continue;
    const moved = await db.all<{ id: number }>(
      `update issues set relative_position = ? + ? * spread.place from (
         select id as of_id, row_number() over (order by relative_position) as place from issues
         where relative_position between ? and ?) as spread
       where issues.id = spread.of_id returning id`,
      [from, step, first[0], last[0]],
    );
    placeLabels(
      db,
      moved.map(({ id }) => id),
    );
    return true;
  }
  return false;
}
