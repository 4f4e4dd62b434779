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
import { SUBJECT_ID, SUBJECTS, type Subject } from "./subjects.ts";

/** A board, as far as the issues of its lists depend on it. */
export interface BoardScope {
  readonly id: number;
  readonly milestone_id: number | null;
  readonly assignee_id: number | null;
  readonly weight: number | null;
  /** Labels, all of which its issues have. */
  readonly label_ids: readonly number[];
  /** What its lists are of: open issues that are in none of them are in the open list. */
  readonly listed: Readonly<Record<Subject, readonly number[]>>;
}

const idsOf = (type: Subject, from: string) =>
  `(select string_agg(cast(s.${type}_id as text), ',') from ${from} s where s.board_id = b.id)`;

/** The columns of boards `b` that {@link scopeOf} reads. */
const SCOPE_COLUMNS = [
  "b.id",
  "b.milestone_id",
  "b.assignee_id",
  "b.weight",
  idsOf("label", "board_labels"),
  ...SUBJECTS.map((type) => idsOf(type, "board_lists")),
];

function scopeOf(values: readonly Value[]): BoardScope {
  const [id, milestoneId, assigneeId, weight, labels, ...listed] = values as [
    number,
    ...(number | null)[],
  ];
  return {
    id,
    milestone_id: milestoneId ?? null,
    assignee_id: assigneeId ?? null,
    weight: weight ?? null,
    label_ids: idsIn(labels),
    listed: Object.fromEntries(
      SUBJECTS.map((type, index) => [type, idsIn(listed[index])]),
    ) as Record<Subject, number[]>,
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

type List = Pick<BoardList, "list_type" | "subject_id">;

/** A list, with all that its issues depend on except who looks at it. */
export interface ShownList {
  readonly source: Viewing["source"];
  readonly board: BoardScope;
  readonly list: List;
}

/** The columns of boards `b` that {@link shownBoard} reads. */
export const BOARD_COLUMNS = [...SCOPE_COLUMNS, "b.namespace_id", "b.project_id"];
/** The columns of lists `bl` of boards `b` that {@link shownList} reads. */
export const LIST_COLUMNS = [...BOARD_COLUMNS, "bl.list_type", SUBJECT_ID];

/** A board and whose it is, given its row of {@link BOARD_COLUMNS}. */
export function shownBoard(values: readonly Value[]): Omit<ShownList, "list"> {
  const [namespaceId, projectId] = values.slice(SCOPE_COLUMNS.length);
  return {
    source:
      projectId === null
        ? { kind: "group", id: namespaceId as number }
        : { kind: "project", id: projectId as number },
    board: scopeOf(values),
  };
}

/** A list, given its row of {@link LIST_COLUMNS}. */
export function shownList(values: readonly Value[]): ShownList {
  const [type, subjectId] = values.slice(BOARD_COLUMNS.length);
  return {
    ...shownBoard(values),
    list: { list_type: type as List["list_type"], subject_id: subjectId as number | null },
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
 * first ones. So the cost grows with the projects, and with the issues that are passed over (docs/decisions/0024). Those of
 * a user are read all, and sorted: no index has them in this order.
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
  const { all: from, id } = readingOf(list);
  const where = all([projectsOf(viewing), ...conditionsOf(viewing, board, list), filter]);
  return {
    sql: `i.id in (select ${id} from ${from} where ${where.sql})`,
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
  const { from, all: everywhere, at, id, column, descends } = readingOf(list);
  const [direction, behind, ahead] = descends === reversed ? ["asc", ">", "<"] : ["desc", "<", ">"];
  const conditions = all([
    ...conditionsOf(viewing, board, list),
    filter,
    after && when(`(${at}, ${id}) ${behind} (?, ?)`, after.at, after.id),
    before && when(`(${at}, ${id}) ${ahead} (?, ?)`, before.at, before.id),
  ]);
  const projects = projectsOf(viewing);
  if (from === undefined) {
    const where = all([projects, conditions]);
    return {
      sql: `select i.${column}, i.id from ${everywhere} where ${where.sql}
        order by i.${column} ${direction}, i.id ${direction} limit ?`,
      values: [...where.values, first],
    };
  }
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
       select i.weight from ${readingOf(list).all} where ${where.sql} limit ${most + 1}) as counted`,
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

/** From which tables a list is read, and in which order: in a project `p`, unless that would be slower, or in `all`. */
function readingOf({ list_type }: List) {
  const descends = list_type === "closed";
  const column = descends ? "closed_at" : "relative_position";
  if (list_type === "assignee") {
    const all = `issue_assignees x cross join issues i cross join projects p ${MILESTONE}`;
    return { from: undefined, all, at: `i.${column}`, id: "i.id", column, descends };
  }
  const [from, at, id] =
    list_type === "label"
      ? ["issue_labels x join issues i on i.id = x.issue_id", "x.open_position", "x.issue_id"]
      : ["issues i", `i.${column}`, "i.id"];
  const tables = `${from} ${MILESTONE}`;
  return { from: tables, all: `projects p cross join ${tables}`, at, id, column, descends };
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

const HAS_LABEL = "exists (select 1 from issue_labels o where o.issue_id = i.id and o.label_id";
const HAS_ASSIGNEE =
  "exists (select 1 from issue_assignees o where o.issue_id = i.id and o.user_id";

/** The conditions for the issues `i` of a project `p` that a list has. */
function conditionsOf(
  { viewer }: Viewing,
  board: BoardScope,
  { list_type, subject_id }: List,
): Condition[] {
  const isOpen = when("i.project_id = p.id and i.state = 'opened'");
  const subject = subject_id ?? 0;
  const notListed = (type: Subject, sql: (among: string) => string) => {
    const among = placeholders(board.listed[type]);
    return board.listed[type].length === 0 ? undefined : when(sql(among.sql), ...among.values);
  };
  const conditions = {
    label: () => [
      when("x.project_id = p.id and x.open_position is not null"),
      when("x.label_id = ?", subject),
    ],
    assignee: () => [isOpen, when("x.user_id = ? and i.id = x.issue_id", subject)],
    milestone: () => [isOpen, when("i.milestone_id = ?", subject)],
    iteration: () => [isOpen, when("i.iteration_id = ?", subject)],
    backlog: () => [
      isOpen,
      notListed("label", (among) => `not ${HAS_LABEL} in (${among}))`),
      notListed("assignee", (among) => `not ${HAS_ASSIGNEE} in (${among}))`),
      notListed("milestone", (among) => `coalesce(i.milestone_id, 0) not in (${among})`),
      notListed("iteration", (among) => `coalesce(i.iteration_id, 0) not in (${among})`),
    ],
    closed: () => [when("i.project_id = p.id and i.state = 'closed'")],
  };
  return [...conditions[list_type](), ...conditionsOfBoard(viewer, board)].filter(
    (condition) => condition !== undefined,
  );
}

/** The conditions for the issues `i` of all lists of a board. */
function conditionsOfBoard(viewer: Viewer, board: BoardScope): (Condition | undefined)[] {
  return [
    // As in GitLab, boards show neither tasks nor test cases.
    when("i.issue_type in ('issue', 'incident')"),
    visibleIssues(viewer),
    when("i.milestone_id = ?", board.milestone_id ?? undefined),
    when("i.weight = ?", board.weight ?? undefined),
    when(`${HAS_ASSIGNEE} = ?)`, board.assignee_id ?? undefined),
    ...board.label_ids.map((id) => when(`${HAS_LABEL} = ?)`, id)),
  ];
}

/** The condition that an issue `i` is an epic that issues of a board are below, as far as they match a filter. */
export function hasIssuesOn(viewing: Viewing, board: BoardScope, filter?: Condition): Condition {
  const { viewer } = viewing;
  const where = all([projectsOf(viewing), ...conditionsOfBoard(viewer, board), filter]);
  return {
    // From those that are below others at all: few issues are.
    sql: `i.id in (select h.parent_id from work_item_parents h cross join issues i cross join projects p ${MILESTONE}
      where i.id = h.issue_id and p.id = i.project_id and ${where.sql})`,
    values: where.values,
  };
}
