import type { Source } from "../../core/access/source.ts";
import {
  NOT_DELETED_MILESTONE,
  type Viewer,
  visibleIssues,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { PAGE_LIMITS } from "../../core/pagination.ts";
import { all, belowGroup, type Condition, joinFound, when } from "../../store/conditions.ts";
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

const labelIds = (from: string) =>
  `(select string_agg(cast(s.label_id as text), ',') from ${from} where s.board_id = b.id)`;

/** The columns of boards `b` that {@link scopeOf} reads. */
const SCOPE_COLUMNS = [
  "b.id",
  "b.milestone_id",
  "b.assignee_id",
  "b.weight",
  labelIds("board_labels s"),
  labelIds("board_lists s"),
];

function scopeOf(values: readonly Value[]): BoardScope {
  const [id, milestoneId, assigneeId, weight, labels, listed] = values as [
    number,
    ...(number | null)[],
  ];
  return {
    id,
    milestone_id: milestoneId ?? null,
    assignee_id: assigneeId ?? null,
    weight: weight ?? null,
    label_ids: idsIn(labels),
    listed_label_ids: idsIn(listed),
  };
}

/** The ids of a column of {@link SCOPE_COLUMNS}. */
function idsIn(column: unknown): number[] {
  const ids = typeof column === "string" ? column.split(",").map(Number) : [];
  return ids.sort((one, other) => one - other);
}

/** The scope of a board, or `undefined` if there is no such board. */
export async function findScope(db: Reader, boardId: number): Promise<BoardScope | undefined> {
  const [found] = await db.rows(`select ${SCOPE_COLUMNS.join(", ")} from boards b where b.id = ?`, [
    boardId,
  ]);
  return found && scopeOf(found);
}

/** Who looks at a board, and whose it is. */
export interface Viewing {
  readonly source: Pick<Source, "kind" | "id">;
  readonly viewer: Viewer;
}

type List = Pick<BoardList, "list_type" | "label_id">;

/** A list, with all that its issues depend on except who looks at it. */
export interface ShownList {
  readonly source: Viewing["source"];
  readonly board: BoardScope;
  readonly list: List;
}

/** The columns of lists `bl` of boards `b` that {@link shownList} reads. */
export const LIST_COLUMNS = [
  ...SCOPE_COLUMNS,
  "b.namespace_id",
  "b.project_id",
  "bl.list_type",
  "bl.label_id",
];

/** A list, given its row of {@link LIST_COLUMNS}. */
export function shownList(values: readonly Value[]): ShownList {
  const [namespaceId, projectId, type, labelId] = values.slice(SCOPE_COLUMNS.length);
  return {
    source:
      projectId === null
        ? { kind: "group", id: namespaceId as number }
        : { kind: "project", id: projectId as number },
    board: scopeOf(values),
    list: { list_type: type as List["list_type"], label_id: labelId as number | null },
  };
}

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
  /** Only those ahead of this place. */
  readonly before?: Place | undefined;
  /** From the end of the list, the last one first. */
  readonly reversed?: boolean | undefined;
  /** Further conditions on rows `i` of issues, `p` of their projects and `m` of their milestones. */
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
  selection: Selection,
): Promise<Place[]> {
  const { sql, values } = placesIn(db.dialect, viewing, board, list, selection);
  const rows = await db.rows(sql, values);
  return rows.map(([place, issueId]) => ({ at: place as number, id: issueId as number }));
}

/** The condition under which an issue `i` is among those that {@link listIssues} gives. */
export function isAmong(
  { dialect }: Pick<Reader, "dialect">,
  viewing: Viewing,
  { board, list }: ShownList,
  selection: Selection,
): Condition {
  const { sql, values } = placesIn(dialect, viewing, board, list, selection);
  return { sql: `i.id in (select places.id from (${sql}) as places)`, values };
}

/** The condition under which an issue `i` belongs to a list. */
export function isInList(
  viewing: Viewing,
  { board, list }: ShownList,
  filter?: Condition,
): Condition {
  const { from, id } = readingOf(list);
  const where = all([projectsOf(viewing), ...conditionsOf(viewing, board, list), filter]);
  return {
    sql: `i.id in (select ${id} from projects p cross join ${from} where ${where.sql})`,
    values: where.values,
  };
}

/** The order of a list's issues `i`. */
export function orderOf(list: List): { sql: string; descending: boolean }[] {
  const { column, descends } = readingOf(list);
  return [`i.${column}`, "i.id"].map((sql) => ({ sql, descending: descends }));
}

function placesIn(
  dialect: Reader["dialect"],
  viewing: Viewing,
  board: BoardScope,
  list: List,
  { first, after, before, reversed = false, filter }: Selection,
): Condition {
  const { from, at, id, column, descends } = readingOf(list);
  const [direction, behind, ahead] = descends === reversed ? ["asc", ">", "<"] : ["desc", "<", ">"];
  const conditions = all([
    ...conditionsOf(viewing, board, list),
    filter,
    after && when(`(${at}, ${id}) ${behind} (?, ?)`, after.at, after.id),
    before && when(`(${at}, ${id}) ${ahead} (?, ?)`, before.at, before.id),
  ]);
  const projects = projectsOf(viewing);
  const ofProject = `select ${id} from ${from} where ${conditions.sql}
    order by ${at} ${direction}, ${id} ${direction} limit ?`;
  const order = `i.${column} ${direction}, i.id ${direction}`;
  return {
    sql: `select i.${column}, i.id from (
       select active.id from (
         select p.id, (${ofProject}) as first_id from projects p where ${projects.sql}) as active
       join issues i on i.id = active.first_id order by ${order} limit ?) as chosen
     join projects p on p.id = chosen.id
     ${joinFound(dialect, "issues", "i", ofProject)} order by ${order} limit ?`,
    values: [
      ...conditions.values,
      1,
      ...projects.values,
      first,
      ...conditions.values,
      first,
      first,
    ],
  };
}

/**
 * The number of issues of a list that the caller can read, and the sum of their weights as a text; `undefined` above
 * `PAGE_LIMITS.countedTotal` issues.
 */
export async function countIssues(
  db: Reader,
  viewing: Viewing,
  board: BoardScope,
  list: List,
  filter?: Condition,
): Promise<{ issues: number; weight: string } | undefined> {
  const most = PAGE_LIMITS.countedTotal;
  const where = all([projectsOf(viewing), ...conditionsOf(viewing, board, list), filter]);
  const [counted] = await db.rows(
    `select count(*), coalesce(sum(weight), 0) from (
       select i.weight from projects p cross join ${readingOf(list).from} where ${where.sql} limit ${most + 1}) as counted`,
    where.values,
  );
  const [issues, weight] = (counted as Value[]).map(Number) as [number, number];
  return issues > most ? undefined : { issues, weight: String(weight) };
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

/** For filters. Both engines leave it out of a statement that doesn't use it. */
const MILESTONE = `left join milestones m on m.id = i.milestone_id and ${NOT_DELETED_MILESTONE}`;

/** From which tables a list is read, and in which order. */
function readingOf({ list_type }: List) {
  if (list_type === "label") {
    const from = `issue_labels x join issues i on i.id = x.issue_id ${MILESTONE}`;
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
  return { from: `issues i ${MILESTONE}`, at: `i.${column}`, id: "i.id", column, descends };
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
    // As in GitLab, boards show neither tasks nor test cases.
    when("i.issue_type in ('issue', 'incident')"),
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
