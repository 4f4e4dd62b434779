import type { Source } from "../../core/access/source.ts";
import { type Viewer, visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import { PAGE_LIMITS } from "../../core/pagination.ts";
import { all, belowGroup, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { BoardList } from "./queries.ts";

/** A board, as far as the issues of its lists depend on it. */
export interface BoardScope {
  readonly id: number;
  readonly milestone_id: number | null;
  readonly assignee_id: number | null;
  readonly weight: number | null;
  /** Labels, all of which its issues have. */
  readonly label_ids: readonly number[];
  /** The labels of its lists: open issues without any of them are in the open list. */
  readonly listed_label_ids: readonly number[];
}

/** The scope of a board, or `undefined` if there is no such board. */
export async function findScope(db: Reader, boardId: number): Promise<BoardScope | undefined> {
  const [board, scope, lists] = await Promise.all([
    db.one<Omit<BoardScope, "label_ids" | "listed_label_ids">>(
      "select id, milestone_id, assignee_id, weight from boards where id = ?",
      [boardId],
    ),
    db.rows("select label_id from board_labels where board_id = ? order by label_id", [boardId]),
    db.rows(
      "select label_id from board_lists where board_id = ? and label_id is not null order by label_id",
      [boardId],
    ),
  ]);
  const idsOf = (rows: Value[][]) => rows.map(([id]) => id as number);
  return board && { ...board, label_ids: idsOf(scope), listed_label_ids: idsOf(lists) };
}

/** Who looks at a board, and whose it is. */
export interface Viewing {
  readonly source: Pick<Source, "kind" | "id">;
  readonly viewer: Viewer;
}

type List = Pick<BoardList, "list_type" | "label_id">;

/** An issue's place in a list. */
export interface Place {
  /** Its relative position; in the closed list, when it was closed. */
  readonly at: number;
  readonly id: number;
}

/** Which of a list's issues to read. */
export interface Selection {
  /** Maximum issues. */
  readonly first: number;
  /** Only those behind this place. */
  readonly after?: Place | undefined;
  /** From the end of the list, the last one first. */
  readonly reversed?: boolean | undefined;
  /** Further conditions on rows `i` of issues, `p` of their projects. */
  readonly filter?: Condition | undefined;
}

/**
 * The places of a list's first issues that the caller can read, in the order of the list: by relative position; in the
 * closed list, those closed last come first.
 *
 * In each project they are read from an index with the list's order, and then only from the projects that have the
 * first ones. So the cost grows with the projects, and with the issues that are passed over (docs/decisions/0024).
 */
export async function listIssues(
  db: Reader,
  viewing: Viewing,
  board: BoardScope,
  list: List,
  { first, after, reversed = false, filter }: Selection,
): Promise<Place[]> {
  const { from, at, id, column, descends } = readingOf(list);
  const [direction, behind] = descends === reversed ? ["asc", ">"] : ["desc", "<"];
  const conditions = all([
    ...conditionsOf(viewing, board, list),
    filter,
    after && when(`(${at}, ${id}) ${behind} (?, ?)`, after.at, after.id),
  ]);
  const projects = projectsOf(viewing);
  const ofProject = `select ${id} from ${from} where ${conditions.sql}
    order by ${at} ${direction}, ${id} ${direction} limit ?`;
  const order = `i.${column} ${direction}, i.id ${direction}`;
  const rows = await db.rows(
    `select i.${column}, i.id from (
       select active.id from (
         select p.id, (${ofProject}) as first_id from projects p where ${projects.sql}) as active
       join issues i on i.id = active.first_id order by ${order} limit ?) as chosen
     join projects p on p.id = chosen.id
     join issues i on i.id in (${ofProject}) order by ${order} limit ?`,
    [...conditions.values, 1, ...projects.values, first, ...conditions.values, first, first],
  );
  return rows.map(([place, issueId]) => ({ at: place as number, id: issueId as number }));
}

/** The number of issues of a list that the caller can read; `undefined` above `PAGE_LIMITS.countedTotal`. */
export async function countIssues(
  db: Reader,
  viewing: Viewing,
  board: BoardScope,
  list: List,
  filter?: Condition,
): Promise<number | undefined> {
  const most = PAGE_LIMITS.countedTotal;
  const where = all([projectsOf(viewing), ...conditionsOf(viewing, board, list), filter]);
  const counted = await db.one<{ total: number }>(
    `select count(*) as total from (
       select 1 from projects p cross join ${readingOf(list).from} where ${where.sql} limit ${most + 1}) as counted`,
    where.values,
  );
  const total = counted?.total ?? 0;
  return total > most ? undefined : total;
}

/** Whether an issue belongs to a project whose issues a board shows. */
export async function isOnBoard(db: Reader, viewing: Viewing, issueId: number): Promise<boolean> {
  const projects = projectsOf(viewing);
  const found = await db.rows(
    `select 1 from issues i join projects p on p.id = i.project_id where i.id = ? and ${projects.sql}`,
    [issueId, ...projects.values],
  );
  return found.length > 0;
}

/** From which tables a list is read, and in which order. */
function readingOf({ list_type }: List) {
  if (list_type === "label") {
    const from = "issue_labels x join issues i on i.id = x.issue_id";
    return {
      from,
      at: "x.open_position",
      id: "x.issue_id",
      column: "relative_position",
      descends: false,
    };
  }
  const descends = list_type === "closed";
  const column = descends ? "closed_at" : "relative_position";
  return { from: "issues i", at: `i.${column}`, id: "i.id", column, descends };
}

/** The projects whose issues a board shows. Boards of groups leave out archived ones, as in GitLab. */
function projectsOf({ source, viewer }: Viewing): Condition {
  return all([
    source.kind === "project"
      ? when("p.id = ?", source.id)
      : all([belowGroup("p.namespace_id", source.id), when("p.archived = 0")]),
    visibleProjects(viewer),
  ]);
}

/** The conditions for the issues `i` of a project `p` that a list has. */
function conditionsOf(
  { viewer }: Viewing,
  board: BoardScope,
  { list_type, label_id }: List,
): Condition[] {
  const hasLabel = "exists (select 1 from issue_labels o where o.issue_id = i.id and o.label_id";
  const listed = placeholders(board.listed_label_ids.length > 0 ? board.listed_label_ids : [0]);
  const conditions = {
    label: () => [
      when("x.project_id = p.id and x.open_position is not null"),
      when("x.label_id = ?", label_id ?? 0),
    ],
    backlog: () => [
      when("i.project_id = p.id and i.state = 'opened'"),
      when(`not ${hasLabel} in (${listed.sql}))`, ...listed.values),
    ],
    closed: () => [when("i.project_id = p.id and i.state = 'closed'")],
  };
  return [
    ...conditions[list_type](),
    visibleIssues(viewer),
    when("i.milestone_id = ?", board.milestone_id ?? undefined),
    when("i.weight = ?", board.weight ?? undefined),
    when(
      "exists (select 1 from issue_assignees o where o.issue_id = i.id and o.user_id = ?)",
      board.assignee_id ?? undefined,
    ),
    ...board.label_ids.map((id) => when(`${hasLabel} = ?)`, id)),
  ].filter((condition) => condition !== undefined);
}
