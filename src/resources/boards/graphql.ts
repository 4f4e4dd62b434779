import { type Viewer, visibleOwner } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import type { SourceKind } from "../../core/resource.ts";
import {
  type Arg,
  type Args,
  arg,
  boolean,
  type ChildQuery,
  connection,
  constant,
  enumeration,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  gid,
  inputType,
  int,
  loaded,
  mutation,
  notAvailable,
  one,
  type PageRange,
  property,
  recordId,
  required,
  routeOf,
  rowType,
  string,
  time,
  type Values,
} from "../../graphql/declare.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { placeRoute } from "../hierarchy/changes.ts";
import { labelNames, requireOnlyOne } from "../issuables/graphql.ts";
import { NEGATED_ITERATION, TYPE } from "../issuables/issue-filters.ts";
import { filters, issueCondition } from "../issues/graphql.ts";
import { LABEL_ID } from "../labels/graphql.ts";
import { ABSENT, STATUS_ID } from "./absent.ts";
import { ACTIONS, MOVE_ISSUE } from "./actions.ts";
import { boardResource } from "./index.ts";
import {
  BOARD_COLUMNS,
  countIssues,
  hasIssuesOn,
  isAmong,
  isInList,
  LIST_COLUMNS,
  orderOf,
  type Place,
  shownBoard,
  shownList,
} from "./issues.ts";

const OWNER = `left join namespaces bn on bn.id = b.namespace_id
  left join projects bp on bp.id = b.project_id`;

/** Boards `b` of groups and projects whose issues the caller may read. */
const visibleBoards = (viewer: Viewer): Condition => visibleOwner(viewer, "b", ["issues"]);

const PATH = `case when bp.id is null then '/groups/' || bn.full_path
  else '/' || bp.full_path end || '/-/boards/' || b.id`;

const NEGATED = inputType("NegatedBoardIssueInput", "What a list leaves out.", {
  iids: arg.list(arg.string),
  labelName: arg.listWithNulls(arg.string),
  milestoneTitle: arg.string,
  authorUsername: arg.string,
  assigneeUsername: arg.listWithNulls(arg.string),
  types: arg.list(arg.choice(TYPE)),
  weight: arg.string,
  myReactionEmoji: arg.string,
  iterationId: arg.list(arg.gid("Iteration")),
  iterationTitle: arg.string,
  iterationWildcardId: arg.choice(NEGATED_ITERATION),
  epicId: arg.gid("Epic"),
});

/** Arguments of lists of issues that are the same here. */
const SHARED: ReadonlySet<string> = new Set([
  "iids",
  "labelName",
  "authorUsername",
  "milestoneWildcardId",
  "assigneeWildcardId",
  "weight",
  "weightWildcardId",
  "confidential",
  "search",
  "types",
  "myReactionEmoji",
  "iterationTitle",
  "iterationWildcardId",
  "iterationCadenceId",
  "epicWildcardId",
  "or",
]);

const FILTER = inputType("BoardIssueInput", "Which issues a list shows.", {
  ...Object.fromEntries(Object.entries<Arg<unknown>>(filters).filter(([name]) => SHARED.has(name))),
  milestoneTitle: arg.string,
  assigneeUsername: arg.about("All of these assignees.", arg.listWithNulls(arg.string)),
  iterationId: arg.list(arg.gid("Iteration")),
  epicId: arg.gid("Epic"),
  not: arg.input(NEGATED),
});

type Filter = Readonly<Record<string, unknown>>;

/** Arguments that hold what is asked of the issues of lists. */
const issueFilters = { issueFilters: arg.input(FILTER) } satisfies Args;

/** The condition of a filter. */
function conditionOf(filter: Filter | undefined, context: GraphContext): Condition | undefined {
  if (!filter) return undefined;
  requireOnlyOne(filter, "assigneeUsername", "assigneeWildcardId");
  return issueCondition(filter, context);
}

/** The issues of a list, given its row of {@link LIST_COLUMNS}. */
function issuesOf(
  { filters }: { filters?: Filter | undefined },
  context: GraphContext,
  row: readonly Value[],
): ChildQuery {
  const shown = shownList(row);
  const viewing = { source: shown.source, viewer: context.viewer };
  const filter = conditionOf(filters, context);
  const placeOf = (place: PageRange["start"]): Place | undefined =>
    place && { at: place[0] as number, id: place[1] as number };
  return {
    where: isInList(viewing, shown, filter),
    page: ({ size, isBackward, start, end }) =>
      isAmong(context.db, viewing, shown, {
        first: size,
        reversed: isBackward,
        after: placeOf(isBackward ? end : start),
        before: placeOf(isBackward ? start : end),
        filter,
      }),
    order: orderOf(shown.list),
  };
}

/** Lists whose issues one field counts, at most: each may have thousands. */
const MAX_COUNTED = 200;

/** The numbers of issues of lists, or their weights together as texts, as far as they are counted. */
async function countsOf(
  ids: readonly Value[],
  context: GraphContext,
  filter: Filter | undefined,
  what: "issues" | "weight",
): Promise<Map<Value, unknown>> {
  if (ids.length > MAX_COUNTED) {
    throw new GraphError(`The issues of more than ${MAX_COUNTED} lists are not counted`);
  }
  const { db, viewer } = context;
  const condition = conditionOf(filter, context);
  const among = placeholders(ids);
  const rows = await db.rows(
    `select bl.id, ${LIST_COLUMNS.join(", ")} from board_lists bl
     join boards b on b.id = bl.board_id where bl.id in (${among.sql})`,
    among.values,
  );
  const counted = rows.map(async ([id, ...row]) => {
    const { source, board, list } = shownList(row);
    const counted = await countIssues(db, { source, viewer }, board, list, condition);
    return [id as Value, what === "issues" ? counted?.issues : counted?.weight] as const;
  });
  return new Map(await Promise.all(counted));
}

/** Which of some lists the caller has collapsed. */
async function collapsedOf(
  ids: readonly Value[],
  { db, caller }: GraphContext,
): Promise<Map<Value, unknown>> {
  const among = placeholders(ids);
  const found = await db.rows(
    `select list_id from collapsed_board_lists where user_id = ? and list_id in (${among.sql})`,
    [caller?.id ?? 0, ...among.values],
  );
  return new Map(found.map(([id]) => [id as Value, true]));
}

const LIMIT_METRIC = enumeration("ListLimitMetric", "What the limit of a list counts.", [
  "all_metrics",
  "issue_count",
  "issue_weights",
]);

/** What lists of issues and of epics show: a row `bl`, with its label `l`. */
export const listFields = {
  title: required(
    string(
      `case bl.list_type when 'backlog' then 'Open' when 'closed' then 'Closed' when 'label' then l.name
       when 'milestone' then (select m.title from milestones m where m.id = bl.milestone_id)
       when 'assignee' then (select '@' || u.username from users u where u.id = bl.assignee_id)
       else (select coalesce(it.title, it.start_date || ' - ' || it.due_date) from iterations it where it.id = bl.iteration_id) end`,
    ),
  ),
  listType: required(string("bl.list_type")),
  position: int("bl.position"),
  label: one("Label", "bl.label_id"),
  collapsed: loaded("Boolean", collapsedOf, { empty: false }),
};

/** The labels of a board's scope. */
export const boardLabels = connection("Label", {
  isSmall: true,
  query: () => ({
    join: "join board_labels x on x.label_id = l.id",
    parent: "x.board_id",
    order: [{ sql: "l.name", isText: true }, { sql: "l.id" }],
  }),
});

const boardList = rowType("BoardList", {
  about: "A list of a board.",
  from: `board_lists bl join boards b on b.id = bl.board_id ${OWNER}
    left join labels l on l.id = bl.label_id`,
  key: "bl.id",
  visible: visibleBoards,
  fields: {
    id: gid("List", "bl.id"),
    ...listFields,
    assignee: one("UserCore", "bl.assignee_id"),
    milestone: one("Milestone", "bl.milestone_id"),
    iteration: one("Iteration", "bl.iteration_id"),
    ...ABSENT.ofLists,
    maxIssueCount: constant("Int", 0),
    maxIssueWeight: constant("Int", 0),
    limitMetric: { ...constant("ListLimitMetric", null), declares: LIMIT_METRIC },
    issuesCount: loaded("Int", (ids, context, _, given) =>
      countsOf(ids, context, given["issueFilters"] as Filter | undefined, "issues"),
    ),
    totalIssueWeight: loaded("BigInt", (ids, context, _, given) =>
      countsOf(ids, context, given["issueFilters"] as Filter | undefined, "weight"),
    ),
    issues: connection("Issue", {
      args: { filters: arg.input(FILTER) },
      needs: LIST_COLUMNS,
      query: issuesOf,
    }),
  },
});

/** The open list comes first, the closed one last. */
export const LIST_ORDER = [
  {
    sql: `case bl.list_type when 'backlog' then -1 when 'closed' then 2147483647 else bl.position end`,
  },
  { sql: "bl.id" },
];

/** A row `bl` of lists that its board `b` does not hide. */
export const SHOWN_LISTS = when(`(bl.list_type <> 'backlog' or b.hide_backlog_list = 0)
  and (bl.list_type <> 'closed' or b.hide_closed_list = 0)`);

const board = rowType("Board", {
  about: "An issue board of a group or project.",
  from: `boards b ${OWNER}`,
  key: "b.id",
  visible: visibleBoards,
  fields: {
    id: gid("Board", "b.id"),
    name: string("b.name"),
    hideBacklogList: boolean("b.hide_backlog_list"),
    hideClosedList: boolean("b.hide_closed_list"),
    createdAt: required(time("b.created_at")),
    updatedAt: required(time("b.updated_at")),
    webPath: required(string(PATH)),
    webUrl: required(string(field.url(PATH, (path) => path))),
    weight: int("b.weight"),
    assignee: one("UserCore", "b.assignee_id"),
    milestone: one("Milestone", "b.milestone_id"),
    ...ABSENT.ofBoards,
    labels: boardLabels,
    epics: connection("BoardEpic", {
      args: issueFilters,
      needs: BOARD_COLUMNS,
      query: ({ issueFilters: filter }, context, row) => {
        const { source, board } = shownBoard(row);
        const viewing = { source, viewer: context.viewer };
        return {
          where: hasIssuesOn(viewing, board, conditionOf(filter, context)),
          order: [{ sql: "i.id" }],
        };
      },
    }),
    lists: connection("BoardList", {
      isSmall: true,
      args: { id: arg.gid("List"), ...issueFilters },
      query: ({ id }) => ({
        parent: "bl.board_id",
        where: all([when("bl.id = ?", id), SHOWN_LISTS]),
        order: LIST_ORDER,
      }),
    }),
  },
});

/** By name. */
export const BOARD_ORDER = [{ sql: "lower(b.name)", isText: true }, { sql: "b.id" }];

/** The boards of groups or of projects. */
const boardsOf = (parent: "b.namespace_id" | "b.project_id") => ({
  board: first("Board", {
    args: { id: arg.required(arg.gid("Board")) },
    query: ({ id }) => ({ parent, where: when("b.id = ?", id) }),
  }),
  boards: connection("Board", {
    args: { id: arg.gid("Board") },
    query: ({ id }) => ({ parent, where: when("b.id = ?", id), order: BOARD_ORDER }),
  }),
  /** Visits of boards are not recorded, so there are none. */
  recentIssueBoards: connection("Board", {
    query: () => ({ parent, where: when("1 = 0"), order: BOARD_ORDER }),
  }),
});

/** A route of boards, by what they belong to. */
const routesOf = (method: string, below = "") => ({
  group: routeOf(boardResource, `${method} /groups/:id/boards/:board_id${below}`),
  project: routeOf(boardResource, `${method} /projects/:id/boards/:board_id${below}`),
});
const CHANGE = routesOf("PUT");
const DESTROY = routesOf("DELETE");
const MOVE_LIST = routesOf("PUT", "/lists/:list_id");
const DESTROY_LIST = routesOf("DELETE", "/lists/:list_id");

/** Whose board it is. Whether the caller may read it is checked by the routes. */
interface Owned {
  readonly kind: SourceKind;
  readonly ownerId: number;
  readonly boardId: number;
}

/** @throws GraphError if there is no such board */
async function ownerOf(db: Reader, condition: Condition): Promise<Owned> {
  const [found] = await db.rows(
    `select b.id, b.namespace_id, b.project_id from boards b
     left join board_lists bl on bl.board_id = b.id where ${condition.sql} limit 1`,
    condition.values,
  );
  if (!found) throw notAvailable();
  const [boardId, groupId, projectId] = found as [number, number | null, number];
  return groupId === null
    ? { kind: "project", ownerId: projectId, boardId }
    : { kind: "group", ownerId: groupId, boardId };
}

const ofBoard = (db: Reader, id: number) => ownerOf(db, { sql: "b.id = ?", values: [id] });
const ofList = (db: Reader, id: number) => ownerOf(db, { sql: "bl.id = ?", values: [id] });

const boardPayload = { board: property("Board") };
const listPayload = { list: property("BoardList") };

/** What can be changed of a board. `null` clears the attributes of its scope. */
const boardInput = {
  name: arg.string,
  hideBacklogList: arg.boolean,
  hideClosedList: arg.boolean,
  labels: arg.list(arg.string),
  labelIds: arg.list(LABEL_ID),
  milestoneId: arg.clearable(arg.gid("Milestone")),
  assigneeId: arg.clearable(arg.gid("User")),
  weight: arg.clearable(arg.int),
} satisfies Args;

/** The parameters of the routes that change boards. */
async function boardParameters(
  context: Pick<GraphContext, "db" | "viewer">,
  input: Values<typeof boardInput>,
): Promise<Record<string, unknown>> {
  requireOnlyOne(input, "labels", "labelIds");
  const { labels, labelIds } = input;
  return {
    name: input.name ?? undefined,
    hide_backlog_list: input.hideBacklogList ?? undefined,
    hide_closed_list: input.hideClosedList ?? undefined,
    labels: labels ?? (labelIds && (await labelNames(context, labelIds))) ?? undefined,
    milestone_id: input.milestoneId,
    assignee_id: input.assigneeId,
    weight: input.weight,
  };
}

const optionalId = (type: "List" | "Issue", sent: string | null | undefined) =>
  sent === null || sent === undefined ? undefined : recordId(sent, type);

/** Where issues come to stand if they are moved to the end of a list. */
const END = -1;

/** An issue's way on a board, as {@link MOVE_ISSUE} takes it. @throws GraphError as in GitLab */
function moveParameters(
  sent: {
    fromListId?: string | undefined;
    toListId?: string | undefined;
    moveBeforeId?: string | undefined;
    moveAfterId?: string | undefined;
    positionInList?: number | undefined;
  },
  isOfEpic: boolean,
) {
  const [from, to] = [sent.fromListId, sent.toListId].map((id) => optionalId("List", id));
  const [before, after] = [sent.moveBeforeId, sent.moveAfterId].map((id) =>
    optionalId("Issue", id),
  );
  const position = sent.positionInList ?? undefined;
  const isBetween = before !== undefined || after !== undefined;
  const isIdle = from === undefined && to === undefined && position === undefined && !isBetween;
  if (isIdle && !isOfEpic) {
    throw new GraphError(
      "At least one of the arguments fromListId, toListId, positionInList, moveAfterId, or moveBeforeId is required",
    );
  }
  if ((from === undefined) !== (to === undefined)) {
    throw new GraphError("Both fromListId and toListId must be present");
  }
  if (position !== undefined) {
    if (to === undefined) {
      throw new GraphError(
        "Both fromListId and toListId are required when positionInList is given",
      );
    }
    if (isBetween) {
      throw new GraphError(
        "positionInList is mutually exclusive with any of moveBeforeId or moveAfterId",
      );
    }
    if (position < END) throw new GraphError(`positionInList must be >= 0 or ${END}`);
  }
  return {
    from_list_id: from,
    to_list_id: to,
    move_before_id: before,
    move_after_id: after,
    position,
  };
}

/** What a list may be of, by the argument that tells. */
const SUBJECTS = {
  backlog: "backlog",
  labelId: "label",
  milestoneId: "milestone",
  assigneeId: "assignee",
  iterationId: "iteration",
  statusId: "status",
} as const;

const isSubject = (name: string): name is keyof typeof SUBJECTS => name in SUBJECTS;

/** Boards, their lists, and moves of issues on them. */
export const graphqlModule: GraphqlModule = {
  types: [board, boardList],
  extend: {
    Issue: ABSENT.ofIssues,
    Group: boardsOf("b.namespace_id"),
    Project: boardsOf("b.project_id"),
    Query: {
      boardList: first("BoardList", {
        args: { id: arg.required(arg.gid("List")), ...issueFilters },
        query: ({ id }) => ({ where: when("bl.id = ?", id) }),
      }),
    },
  },
  mutations: {
    createBoard: mutation({
      about: "Create a board.",
      input: { groupPath: arg.id, projectPath: arg.id, ...boardInput },
      payload: boardPayload,
      run: async ({ groupPath, projectPath, ...input }, context) => {
        const path = groupPath ?? projectPath;
        if (path === undefined || (groupPath !== undefined && projectPath !== undefined)) {
          throw new GraphError("Exactly one of group_path or project_path arguments is required");
        }
        const kind = groupPath === undefined ? "project" : "group";
        const { name = "Development", ...others } = await boardParameters(context, input);
        const created = { id: path, name, ...others };
        return { board: (await context.call(ACTIONS[kind].create, created))["id"] };
      },
    }),
    updateBoard: mutation({
      about: "Change a board's name or scope, or which lists it hides.",
      input: { id: arg.required(arg.gid("Board")), ...boardInput },
      payload: boardPayload,
      run: async ({ id, ...input }, context) => {
        const { kind, ownerId } = await ofBoard(context.db, id);
        const changed = await boardParameters(context, input);
        await context.call(CHANGE[kind], { id: ownerId, board_id: id, ...changed });
        return { board: id };
      },
    }),
    destroyBoard: mutation({
      about: "Delete a board.",
      input: { id: arg.required(arg.gid("Board")) },
      payload: boardPayload,
      run: async ({ id }, { call, db }) => {
        const { kind, ownerId } = await ofBoard(db, id);
        await call(DESTROY[kind], { id: ownerId, board_id: id });
        return {};
      },
    }),
    boardListCreate: mutation({
      about: "Add a list for something to a board. The open list is always there.",
      input: {
        boardId: arg.required(arg.gid("Board")),
        backlog: arg.boolean,
        labelId: LABEL_ID,
        milestoneId: arg.gid("Milestone"),
        assigneeId: arg.gid("User"),
        iterationId: arg.gid("Iteration"),
        statusId: STATUS_ID,
        position: arg.int,
      },
      payload: listPayload,
      run: async (input, { call, db }) => {
        const given = Object.keys(SUBJECTS).filter(
          (name) => isSubject(name) && (input[name] ?? false) !== false,
        );
        const [name] = given;
        if (given.length !== 1 || name === undefined || !isSubject(name)) {
          const names = Object.keys(SUBJECTS).join(" or ");
          throw new GraphError(`one and only one of ${names} is required`);
        }
        const { kind, ownerId, boardId } = await ofBoard(db, input.boardId);
        const subject = input[name];
        const list = await call(ACTIONS[kind].addList, {
          id: ownerId,
          board_id: boardId,
          list_type: SUBJECTS[name],
          subject_id: typeof subject === "number" ? subject : undefined,
          position: input.position ?? undefined,
        });
        return { list: list["id"] };
      },
    }),
    updateBoardList: mutation({
      about: "Move a list to another position, or collapse or expand it for the caller.",
      input: {
        listId: arg.required(arg.gid("List")),
        position: arg.int,
        collapsed: arg.boolean,
      },
      payload: listPayload,
      run: async ({ listId, ...input }, { call, db }) => {
        const { kind, ownerId, boardId } = await ofList(db, listId);
        const at = { id: ownerId, board_id: boardId, list_id: listId };
        const collapsed = input.collapsed ?? undefined;
        const position = input.position ?? undefined;
        if (collapsed !== undefined) await call(ACTIONS[kind].collapse, { ...at, collapsed });
        if (position !== undefined) await call(MOVE_LIST[kind], { ...at, position });
        return { list: listId };
      },
    }),
    boardListUpdateLimitMetrics: mutation({
      about: "Take the limit of a list away. Lists have none, so that none can be set.",
      input: {
        listId: arg.required(arg.gid("List")),
        limitMetric: arg.choice(LIMIT_METRIC),
        maxIssueCount: arg.int,
        maxIssueWeight: arg.int,
      },
      payload: listPayload,
      run: async ({ listId, maxIssueCount, maxIssueWeight }, { call, db }) => {
        const { kind, ownerId, boardId } = await ofList(db, listId);
        const limit = Math.max(maxIssueCount ?? 0, maxIssueWeight ?? 0);
        const at = { id: ownerId, board_id: boardId, list_id: listId };
        return { list: (await call(ACTIONS[kind].limit, { ...at, limit }))["id"] };
      },
    }),
    destroyBoardList: mutation({
      about: "Remove a list from its board.",
      input: { listId: arg.required(arg.gid("List")) },
      payload: listPayload,
      run: async ({ listId }, { call, db }) => {
        const { kind, ownerId, boardId } = await ofList(db, listId);
        await call(DESTROY_LIST[kind], { id: ownerId, board_id: boardId, list_id: listId });
        return {};
      },
    }),
    issueMoveList: mutation({
      about: "Move an issue in a list, or to another list, and into an epic or out of it.",
      input: {
        boardId: arg.required(arg.gid("Board")),
        projectPath: arg.required(arg.id),
        iid: arg.required(arg.string),
        fromListId: arg.id,
        toListId: arg.id,
        moveBeforeId: arg.about("The issue to stand behind.", arg.id),
        moveAfterId: arg.about("The issue to stand ahead of.", arg.id),
        positionInList: arg.about("Its place in the list, from 0; -1 for the end.", arg.int),
        epicId: arg.about(
          "The epic to put it into; `null` takes it out.",
          arg.clearable(arg.gid("Epic")),
        ),
      },
      payload: { issue: property("Issue") },
      run: async ({ boardId, projectPath, iid, epicId, ...way }, { call, db }) => {
        const parameters = moveParameters(way, epicId !== undefined);
        const { kind, ownerId } = await ofBoard(db, boardId);
        const moved = await call(MOVE_ISSUE, {
          id: projectPath,
          issue_iid: iid,
          board_id: boardId,
          board_kind: kind,
          board_owner_id: ownerId,
          ...parameters,
        });
        if (epicId !== undefined) {
          await call(placeRoute, { id: projectPath, iid, parent_id: epicId });
        }
        return { issue: moved["id"] };
      },
    }),
  },
};
