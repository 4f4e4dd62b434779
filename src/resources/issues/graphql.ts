import { visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  constant,
  date,
  digits,
  enumeration,
  type Face,
  first,
  type GraphContext,
  GraphError,
  int,
  loaded,
  mutation,
  notAvailable,
  one,
  plainGid,
  property,
  required,
  routeOf,
  rowType,
  string,
  time,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import {
  both,
  combinedConditions,
  commonFilter,
  commonFilters,
  commonOrders,
  filtered,
  issuableFields,
  issueOnlyFilters,
  LABEL_ID,
  labelNames,
  NEGATED,
  OPERATION,
  requireOnlyOne,
  searchIn,
  sortEnum,
  titled,
  UNIONED,
  userIdsNamed,
  weightOf,
} from "../issuables/graphql.ts";
import { ISSUE } from "../issuables/issue.ts";
import { changeWithEstimate, issueResource } from "./index.ts";

const STATE = enumeration("IssueState", "Whether an issue is open.", [
  "opened",
  "closed",
  "locked",
  "all",
]);
const LISTED_STATE = enumeration("IssuableState", "Which states a list shows.", [
  "opened",
  "closed",
  "locked",
  "all",
]);
/** The kinds of issues that GitLab knows. */
export const TYPE = enumeration("IssueType", "What kind of issue it is.", [
  "ISSUE",
  "INCIDENT",
  "TEST_CASE",
  "REQUIREMENT",
  "TASK",
  "TICKET",
  "OBJECTIVE",
  "KEY_RESULT",
  "EPIC",
]);
const SEVERITY = enumeration("IssuableSeverity", "How bad an incident is.", ["UNKNOWN"]);

const SORT = sortEnum(
  "IssueSort",
  "The order of a list of issues.",
  "i.id",
  {
    ...commonOrders(ISSUE),
    DUE_DATE: both("i.due_date", { last: "day", isText: true }),
    WEIGHT: both("i.weight", { last: "number" }),
  },
  { RELATIVE_POSITION_ASC: [{ sql: "i.relative_position" }, { sql: "i.id" }] },
);

/** The most bits of a position that {@link shortPosition} keeps. */
const MANTISSA = 2 ** 27;

/**
 * A position (docs/decisions/0024) as a number of 32 bits, with an exponent as in floating point: in the same order, but
 * positions that differ by less than one part in 67 million may share one.
 */
function shortPosition(position: number): number {
  let [mantissa, exponent] = [position, 0];
  while (mantissa >= MANTISSA) {
    mantissa = Math.floor(mantissa / 2);
    exponent += 1;
  }
  return (exponent * MANTISSA) / 2 + mantissa;
}

const TASK = /^\s*(?:[-*+]|\d+\.)\s+\[([ xX])\]/;

/** How many of the tasks in a description are done. */
function tasksOf(description: string) {
  let count = 0;
  let completedCount = 0;
  for (const line of description.split("\n")) {
    const mark = TASK.exec(line)?.[1];
    if (mark === undefined) continue;
    count += 1;
    if (mark !== " ") completedCount += 1;
  }
  return { count, completedCount };
}

const taskCompletion = valueType("TaskCompletionStatus", "The tasks in a description.", {
  count: required(property("Int")),
  completedCount: required(property("Int")),
});

const issue = rowType("Issue", {
  about: "An issue.",
  from: `issues i join projects p on p.id = i.project_id
    left join milestones m on m.id = i.milestone_id`,
  key: "i.id",
  implements: ["Todoable"],
  visible: (viewer) => all([visibleProjects(viewer), visibleIssues(viewer)]),
  fields: {
    id: plainGid("Issue", "i.id"),
    iid: required(digits("i.iid")),
    title: required(string("i.title")),
    description: string("i.description"),
    state: required(word(STATE, "i.state")),
    type: word(TYPE, field.constant("ISSUE")),
    severity: word(SEVERITY, field.constant("UNKNOWN")),
    confidential: required(boolean("i.confidential")),
    hidden: constant("Boolean", false),
    emailsDisabled: constant("Boolean!", false),
    discussionLocked: required(boolean("i.discussion_locked")),
    dueDate: date("i.due_date", "Time"),
    weight: int("i.weight"),
    relativePosition: computed("Int", ["i.relative_position"], ([position]) =>
      position === null ? null : shortPosition(position as number),
    ),
    createdAt: required(time("i.created_at")),
    updatedAt: required(time("i.updated_at")),
    closedAt: time("i.closed_at"),
    closedAsDuplicateOf: one("Issue", "null"),
    moved: computed("Boolean", ["i.moved_to_id"], ([id]) => id !== null),
    movedTo: one("Issue", "i.moved_to_id"),
    projectId: required(int("i.project_id")),
    project: required(one("Project", "i.project_id")),
    mergeRequestsCount: constant("Int!", 0),
    webUrl: required(
      string(field.url(["p.full_path", "i.iid"], (path, iid) => `/${path}/-/issues/${iid}`)),
    ),
    webPath: required(string("'/' || p.full_path || '/-/issues/' || i.iid")),
    reference: required(
      computed(
        "String",
        ["p.full_path", "i.iid"],
        ([path, iid], _, { full }) => `${full ? path : ""}#${iid}`,
        { full: arg.withDefault(arg.boolean, false) },
      ),
    ),
    taskCompletionStatus: required(
      computed(taskCompletion, ["i.description"], ([text]) => tasksOf(String(text ?? ""))),
    ),
    ...issuableFields(ISSUE),
  },
});

const filters = {
  ...commonFilters,
  ...issueOnlyFilters,
  iid: arg.string,
  state: arg.choice(LISTED_STATE),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
  milestoneTitle: arg.about("One of these titles.", arg.list(arg.string)),
  assigneeUsernames: arg.about("All of these assignees.", arg.list(arg.string)),
  assigneeId: arg.about("The id of an assignee, `None` or `Any`.", arg.string),
  closedAfter: arg.time,
  closedBefore: arg.time,
  dueAfter: arg.time,
  dueBefore: arg.time,
  confidential: arg.boolean,
  in: searchIn,
  types: arg.list(arg.choice(TYPE)),
  not: arg.input(NEGATED),
  or: arg.input(UNIONED),
} satisfies Args;

type Filters = Partial<Values<typeof filters>>;

const dayOf = (instant: number) => new Date(instant).toISOString().slice(0, 10);

function noneOrAny(word: string | undefined): "none" | "any" | undefined {
  const lower = word?.toLowerCase();
  return lower === "none" || lower === "any" ? lower : undefined;
}

function weightCondition(args: Filters): Condition | undefined {
  const wildcard = noneOrAny(args.weightWildcardId ?? args.weight);
  if (wildcard) return when(`i.weight is ${wildcard === "any" ? "not " : ""}null`);
  return args.weight === undefined ? undefined : when("i.weight = ?", weightOf(args.weight));
}

function assigneeOf(sent: string | undefined) {
  const wildcard = noneOrAny(sent);
  if (wildcard !== undefined || sent === undefined) return wildcard;
  const digits = /^(?:gid:\/\/gitlab\/User\/)?(\d{1,15})$/.exec(sent)?.[1];
  if (digits === undefined) throw new GraphError(`"${sent.slice(0, 100)}" is not a user's id`);
  return Number(digits);
}

/**
 * The condition under which an issue belongs in a list.
 *
 * @throws GraphError for arguments that contradict each other
 */
export function issueCondition(args: Filters, context: GraphContext): Condition {
  requireOnlyOne(args, "assigneeUsernames", "assigneeUsername", "assigneeWildcardId");
  requireOnlyOne(args, "milestoneTitle", "milestoneWildcardId");
  if (args.state === "locked") throw new GraphError("Issues are never locked");
  const common = commonFilter(ISSUE, args, context);
  const { assigneeUsernames, assigneeUsername, milestoneTitle, types } = args;
  const own: (Condition | undefined)[] = [
    ...common.own,
    args.iid === undefined ? undefined : when("i.iid = ?", numberOf(args.iid)),
    milestoneTitle && titled(milestoneTitle),
    weightCondition(args),
    when("i.closed_at >= ?", args.closedAfter),
    when("i.closed_at <= ?", args.closedBefore),
    when("i.due_date >= ?", args.dueAfter === undefined ? undefined : dayOf(args.dueAfter)),
    when("i.due_date <= ?", args.dueBefore === undefined ? undefined : dayOf(args.dueBefore)),
    args.confidential === undefined
      ? undefined
      : when("i.confidential = ?", Number(args.confidential)),
    types && !types.includes("ISSUE") ? when("1 = 0") : undefined,
    ...combinedConditions(ISSUE, args.not, args.or, context),
  ];
  return filtered(
    ISSUE,
    {
      ...common,
      state: args.state === "all" ? undefined : args.state,
      assigneeUsernames:
        assigneeUsernames ?? (assigneeUsername === undefined ? undefined : [assigneeUsername]),
      assigneeId: noneOrAny(args.assigneeWildcardId) ?? assigneeOf(args.assigneeId),
      searchIn: args.in && args.in.length > 0 ? args.in : undefined,
      own: own.filter((condition) => condition !== undefined),
    },
    context,
  );
}

/** A number in a project; one that no issue has for anything else. */
const numberOf = (iid: string) => (/^\d{1,15}$/.test(iid) ? Number(iid) : 0);

const queryOf = (args: Values<typeof filters>, context: GraphContext): ChildQuery => ({
  where: issueCondition(args, context),
  order: args.sort,
});

const ofProject = (args: Values<typeof filters>, context: GraphContext): ChildQuery => ({
  parent: "i.project_id",
  ...queryOf(args, context),
});

const groupFilters = {
  ...filters,
  includeSubgroups: arg.withDefault(arg.boolean, false),
  includeArchived: arg.withDefault(arg.boolean, false),
} satisfies Args;

const statusCounts = valueType("IssueStatusCountsType", "How many issues there are.", {
  all: property("Int"),
  opened: property("Int"),
  closed: property("Int"),
});

/** Counts the issues of projects that the caller may see, by state. */
async function countByState(
  projects: readonly Value[],
  { db, viewer }: { db: Reader; viewer: GraphContext["viewer"] },
): Promise<Map<Value, object>> {
  const among = placeholders(projects);
  const visible = visibleIssues(viewer);
  const counted = await db.rows(
    `select i.project_id, sum(case when i.state = 'opened' then 1 else 0 end), count(*)
     from issues i join projects p on p.id = i.project_id
     where i.project_id in (${among.sql}) and ${visible.sql} group by i.project_id`,
    [...among.values, ...visible.values],
  );
  return new Map(
    counted.map(([id, opened, total]) => [
      id as Value,
      { all: Number(total), opened: Number(opened), closed: Number(total) - Number(opened) },
    ]),
  );
}

const CREATE = routeOf(issueResource, "POST /projects/:id/issues");
const CHANGE = routeOf(issueResource, "PUT /projects/:id/issues/:issue_iid");
const MOVE = routeOf(issueResource, "POST /projects/:id/issues/:issue_iid/move");
const SUBSCRIBE = routeOf(issueResource, "POST /projects/:id/issues/:issue_iid/subscribe");
const UNSUBSCRIBE = routeOf(issueResource, "POST /projects/:id/issues/:issue_iid/unsubscribe");

const place = {
  projectPath: arg.about("The full path of its project.", arg.required(arg.id)),
  iid: arg.about("Its number in the project.", arg.required(arg.string)),
} satisfies Args;

/** Path parameters of the issue's routes. */
const at = ({ projectPath, iid }: Values<typeof place>) => ({ id: projectPath, issue_iid: iid });

const payload = { issue: property("Issue") };

const idOf = (shown: Record<string, unknown>) => ({ issue: shown["id"] });

/** Declares a mutation that changes one attribute of an issue. */
const setter = <const A extends Args>(
  about: string,
  input: A,
  changes: (input: Values<A>) => object,
) =>
  mutation({
    about,
    input: { ...place, ...input },
    payload,
    run: async (sent, { call }) =>
      idOf(
        await call(CHANGE, {
          ...at(sent as Values<typeof place>),
          ...changes(sent as unknown as Values<A>),
        }),
      ),
  });

const STATE_EVENT = enumeration("IssueStateEvent", "A change of state.", {
  CLOSE: "close",
  REOPEN: "reopen",
});
/** Numbers or global ids, as GitLab takes them in `updateIssue`. */
const looseIds = arg.list(arg.id);

function looseIdsOf(ids: readonly string[]): number[] {
  return ids.map((id) => {
    const digits = /^(?:gid:\/\/gitlab\/(?:Group|Project)?Label\/)?(\d{1,15})$/.exec(id)?.[1];
    if (digits === undefined) throw new GraphError(`"${id.slice(0, 100)}" is not a label's id`);
    return Number(digits);
  });
}

const namesOf = async (
  context: Pick<GraphContext, "db" | "viewer">,
  ids: readonly number[] | undefined,
) => ids && (await labelNames(context, ids));

/** Issues. */
export const face: Face = {
  types: [issue],
  extend: {
    Project: {
      issue: first("Issue", { args: filters, query: ofProject }),
      issues: connection("Issue", { args: filters, query: ofProject }),
      issueStatusCounts: loaded(statusCounts, countByState, {
        empty: { all: 0, opened: 0, closed: 0 },
      }),
    },
    Group: {
      issues: connection("Issue", {
        args: groupFilters,
        query: ({ includeSubgroups, includeArchived, ...args }, context) => {
          const { where, order } = queryOf(args, context);
          return {
            ...(includeSubgroups
              ? {
                  join: "join namespace_ancestors a on a.namespace_id = p.namespace_id",
                  parent: "a.ancestor_id",
                }
              : { parent: "p.namespace_id" }),
            where: all([where, includeArchived ? undefined : when("p.archived = 0")]),
            ...(order && { order }),
          };
        },
      }),
    },
    Query: {
      issue: first("Issue", {
        args: { id: arg.required(arg.gid("Issue")) },
        query: ({ id }) => ({ where: when("i.id = ?", id) }),
      }),
      issues: connection("Issue", {
        args: { ...filters, includeArchived: arg.withDefault(arg.boolean, false) },
        query: ({ includeArchived, ...args }, context) => {
          const { sort: _, ...sent } = args;
          if (Object.keys(sent).length === 0) {
            throw new GraphError("You must provide at least one filter argument for this query");
          }
          const { where, order } = queryOf(args, context);
          return {
            where: all([where, includeArchived ? undefined : when("p.archived = 0")]),
            ...(order && { order }),
          };
        },
      }),
    },
  },
  mutations: {
    createIssue: mutation({
      about: "Create an issue.",
      input: {
        projectPath: arg.required(arg.id),
        title: arg.required(arg.string),
        description: arg.string,
        confidential: arg.boolean,
        dueDate: arg.date,
        labels: arg.list(arg.string),
        labelIds: arg.list(LABEL_ID),
        assigneeIds: arg.list(arg.gid("User")),
        milestoneId: arg.gid("Milestone"),
        weight: arg.int,
        locked: arg.boolean,
        createdAt: arg.time,
        type: arg.choice(TYPE),
      },
      payload,
      run: async (input, { call, db, viewer }) => {
        requireOnlyOne(input, "labels", "labelIds");
        return idOf(
          await call(CREATE, {
            id: input.projectPath,
            title: input.title,
            description: input.description,
            confidential: input.confidential,
            due_date: input.dueDate,
            labels: input.labels ?? (await namesOf({ db, viewer }, input.labelIds)),
            assignee_ids: input.assigneeIds,
            milestone_id: input.milestoneId,
            weight: input.weight,
            discussion_locked: input.locked,
            created_at:
              input.createdAt === undefined ? undefined : new Date(input.createdAt).toISOString(),
          }),
        );
      },
    }),
    updateIssue: mutation({
      about: "Change, close or reopen an issue.",
      input: {
        ...place,
        title: arg.string,
        description: arg.clearable(arg.string),
        confidential: arg.boolean,
        dueDate: arg.clearable(arg.date),
        stateEvent: arg.choice(STATE_EVENT),
        labelIds: looseIds,
        addLabelIds: looseIds,
        removeLabelIds: looseIds,
        milestoneId: arg.clearable(arg.id),
        weight: arg.clearable(arg.int),
        locked: arg.boolean,
        timeEstimate: arg.about(
          "The time it takes, such as `1h 30m`; `null` or `0` for none.",
          arg.clearable(arg.string),
        ),
        type: arg.choice(TYPE),
      },
      payload,
      run: async (input, { call, db, viewer }) => {
        if (input.labelIds && (input.addLabelIds || input.removeLabelIds)) {
          throw new GraphError(
            "labelIds is mutually exclusive with any of addLabelIds or removeLabelIds",
          );
        }
        const names = async (ids: readonly string[] | undefined) =>
          namesOf({ db, viewer }, ids && looseIdsOf(ids));
        const milestone = input.milestoneId && /(\d{1,15})$/.exec(input.milestoneId)?.[1];
        if (milestone === undefined && typeof input.milestoneId === "string") {
          throw new GraphError(`"${input.milestoneId.slice(0, 100)}" is not a milestone's id`);
        }
        return idOf(
          await call(changeWithEstimate, {
            ...at(input),
            title: input.title,
            description: input.description,
            confidential: input.confidential,
            due_date: input.dueDate,
            state_event: input.stateEvent,
            labels: await names(input.labelIds),
            add_labels: await names(input.addLabelIds),
            remove_labels: await names(input.removeLabelIds),
            milestone_id: milestone,
            weight: input.weight,
            discussion_locked: input.locked,
            time_estimate: input.timeEstimate === null ? "0" : input.timeEstimate,
          }),
        );
      },
    }),
    issueSetAssignees: mutation({
      about: "Set, add or remove assignees.",
      input: {
        ...place,
        assigneeUsernames: arg.required(arg.list(arg.string)),
        operationMode: arg.withDefault(arg.choice(OPERATION), "REPLACE"),
      },
      payload,
      run: async (input, { call, db }) => {
        const { assigneeUsernames, operationMode } = input;
        const where = { projectPath: input.projectPath, iid: input.iid };
        const ids = await userIdsNamed(db, ISSUE, where, assigneeUsernames, operationMode);
        return idOf(await call(CHANGE, { ...at(input), assignee_ids: ids.length > 0 ? ids : [0] }));
      },
    }),
    issueSetConfidential: setter(
      "Make an issue confidential, or not.",
      { confidential: arg.required(arg.boolean) },
      ({ confidential }) => ({ confidential }),
    ),
    issueSetDueDate: setter(
      "Set or clear the due date.",
      { dueDate: arg.clearable(arg.time) },
      ({ dueDate }) => ({
        due_date: dueDate === undefined || dueDate === null ? null : dayOf(dueDate),
      }),
    ),
    issueSetLocked: setter(
      "Lock or unlock the discussion.",
      { locked: arg.required(arg.boolean) },
      ({ locked }) => ({ discussion_locked: locked }),
    ),
    issueSetWeight: setter(
      "Set or clear the weight.",
      { weight: arg.clearable(arg.int) },
      ({ weight }) => ({ weight: weight ?? null }),
    ),
    issueSetSubscription: mutation({
      about: "Subscribe to an issue, or unsubscribe.",
      input: { ...place, subscribedState: arg.required(arg.boolean) },
      payload,
      run: async (input, { call, db }) => {
        await call(input.subscribedState ? SUBSCRIBE : UNSUBSCRIBE, at(input));
        return { issue: await idAt(db, input) };
      },
    }),
    issueMove: mutation({
      about: "Move an issue to another project.",
      input: { ...place, targetProjectPath: arg.required(arg.id) },
      payload,
      run: async (input, { call, db }) => {
        const target = await db.one<{ id: number }>(
          "select id from projects where lower(full_path) = lower(?)",
          [input.targetProjectPath],
        );
        if (!target) throw notAvailable();
        return idOf(await call(MOVE, { ...at(input), to_project_id: target.id }));
      },
    }),
  },
};

/** The id of the issue at a place. */
async function idAt(
  db: Reader,
  { projectPath, iid }: Values<typeof place>,
): Promise<number | null> {
  const found = await db.one<{ id: number }>(
    `select i.id from issues i join projects p on p.id = i.project_id
     where lower(p.full_path) = lower(?) and i.iid = ?`,
    [projectPath, numberOf(iid)],
  );
  return found?.id ?? null;
}
