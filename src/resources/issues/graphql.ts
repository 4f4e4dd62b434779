import {
  NOT_ARCHIVED,
  NOT_DELETED_MILESTONE,
  type Viewer,
  visibleIssues,
  visibleProjects,
} from "../../core/access/visibility.ts";
import {
  type Args,
  arg,
  type ChildQuery,
  computed,
  connection,
  constant,
  enumeration,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  loaded,
  mutation,
  notAvailable,
  one,
  property,
  recordId,
  required,
  routeOf,
  rowType,
  sortEnum,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import {
  filterArguments,
  filterCondition,
  indexedOrders,
  issuableFields,
  labelNames,
  requireOnlyOne,
} from "../issuables/graphql.ts";
import {
  closingCounts,
  ISSUE,
  SEVERITIES,
  SEVERITY as SEVERITY_COLUMN,
} from "../issuables/issue.ts";
import { TYPE } from "../issuables/issue-filters.ts";
import {
  attributeArguments,
  attributesIn,
  issuableMutations,
  place,
} from "../issuables/mutations.ts";
import { ISSUE_ORDERS, orderValues } from "../issuables/orders.ts";
import { tasksOf } from "../issuables/tasks.ts";
import { setIteration } from "../issue-iterations.ts";
import { LABEL_CLASSES, LABEL_ID } from "../labels/graphql.ts";
import { inGroup } from "../namespaces/graphql.ts";
import { changeWithEstimate, createBelow, issueResource } from "./index.ts";

const STATE = enumeration("IssueState", "Whether an issue is open.", [
  "opened",
  "closed",
  "locked",
  "all",
]);
const SEVERITY = enumeration<(typeof SEVERITIES)[number]>(
  "IssuableSeverity",
  "How bad an incident is.",
  Object.fromEntries(SEVERITIES.map((severity) => [severity.toUpperCase(), severity])),
);

/** The orders of issues. */
export const SORT = sortEnum(
  "IssueSort",
  "The order of a list of issues.",
  "i.id",
  indexedOrders(ISSUE),
  {
    ...orderValues(ISSUE, [...ISSUE_ORDERS, "closed_at"]),
    RELATIVE_POSITION_ASC: [{ sql: "i.relative_position" }, { sql: "i.id" }],
  },
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

/** How many tasks are in a description. */
export const taskCompletion = valueType("TaskCompletionStatus", "The tasks in a description.", {
  count: required(property("Int")),
  completedCount: required(property("Int")),
});

/** Issues, under whichever name. */
export const ROWS = {
  from: `issues i join projects p on p.id = i.project_id
    left join milestones m on m.id = i.milestone_id and ${NOT_DELETED_MILESTONE}`,
  key: "i.id",
  visible: (viewer: Viewer) => all([visibleProjects(viewer), visibleIssues(viewer)]),
};

const issue = rowType("Issue", {
  about: "An issue.",
  ...ROWS,
  implements: ["Awardable", "Todoable"],
  totals: { weight: { sql: "coalesce(sum(i.weight), 0)", type: "Int" } },
  fields: {
    ...issuableFields(ISSUE),
    hidden: constant("Boolean", false),
    state: required(word(STATE, "i.state")),
    type: word(TYPE, "upper(i.issue_type)"),
    severity: word(SEVERITY, `upper(${SEVERITY_COLUMN})`),
    emailsDisabled: constant("Boolean!", false),
    relativePosition: computed("Int", ["i.relative_position"], ([position]) =>
      position === null ? null : shortPosition(position as number),
    ),
    closedAsDuplicateOf: one("Issue", "null"),
    iteration: one("Iteration", "i.iteration_id"),
    // Who changed it last is not stored.
    updatedBy: one("UserCore", "null"),
    moved: computed("Boolean", ["i.moved_to_id"], ([id]) => id !== null),
    movedTo: one("Issue", "i.moved_to_id"),
    mergeRequestsCount: required(
      loaded("Int", (ids, { db, viewer }) => closingCounts(db, ids, viewer), { empty: 0 }),
    ),
    taskCompletionStatus: required(
      computed(taskCompletion, ["i.description"], ([text]) => tasksOf(String(text ?? ""))),
    ),
  },
});

/** The arguments of lists of issues. */
export const filters = {
  ...filterArguments(ISSUE, "NegatedIssueFilterInput", "UnionedIssueFilterInput"),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
} satisfies Args;

type Filters = Readonly<Record<string, unknown>>;

/**
 * The condition under which an issue belongs in a list.
 *
 * @throws GraphError for arguments that contradict each other
 */
export function issueCondition(args: Filters, context: GraphContext): Condition {
  requireOnlyOne(args, "assigneeUsernames", "assigneeUsername", "assigneeWildcardId");
  requireOnlyOne(args, "milestoneTitle", "milestoneWildcardId");
  return filterCondition(ISSUE, args, context);
}

const queryOf = (
  { sort, includeArchived = true, ...args }: Values<typeof filters> & { includeArchived?: boolean },
  context: GraphContext,
): ChildQuery => ({
  where: all([issueCondition(args, context), includeArchived ? undefined : when(NOT_ARCHIVED)]),
  order: sort,
});

/** The issues of a project. */
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

const ONE = "/projects/:id/issues/:issue_iid";
/** The routes that change issues. */
export const issueRoutes = {
  create: routeOf(issueResource, "POST /projects/:id/issues"),
  createBelow,
  change: changeWithEstimate,
  reorder: routeOf(issueResource, `PUT ${ONE}/reorder`),
  move: routeOf(issueResource, `POST ${ONE}/move`),
  destroy: routeOf(issueResource, `DELETE ${ONE}`),
  subscribe: routeOf(issueResource, `POST ${ONE}/subscribe`),
  unsubscribe: routeOf(issueResource, `POST ${ONE}/unsubscribe`),
};
const { payload, parametersOf, payloadFor, setter, shared } = issuableMutations(
  ISSUE,
  issueResource,
);

/** Closing and reopening issues. */
export const ISSUE_STATE_EVENT = enumeration("IssueStateEvent", "A change of state.", {
  CLOSE: "close",
  REOPEN: "reopen",
});
/** Numbers or global ids, as GitLab takes them in `updateIssue`. */
const looseIds = arg.list(arg.id);

const namesOf = async (
  context: Pick<GraphContext, "db" | "viewer">,
  ids: readonly number[] | undefined,
) => ids && (await labelNames(context, ids));

/** Issues. */
export const graphqlModule: GraphqlModule = {
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
        query: ({ includeSubgroups, ...args }, context) => ({
          ...inGroup(includeSubgroups),
          ...queryOf(args, context),
        }),
      }),
    },
    Query: {
      issue: first("Issue", {
        args: { id: arg.required(arg.gid("Issue")) },
        query: ({ id }) => ({ where: when("i.id = ?", id) }),
      }),
      issues: connection("Issue", {
        args: { ...filters, includeArchived: arg.withDefault(arg.boolean, false) },
        query: (args, context) => {
          if (!Object.keys(args).some((name) => name !== "sort" && name !== "includeArchived")) {
            throw new GraphError("You must provide at least one filter argument for this query");
          }
          return queryOf(args, context);
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
        ...attributeArguments("issue"),
        labels: arg.list(arg.string),
        labelIds: arg.list(LABEL_ID),
        assigneeIds: arg.list(arg.gid("User")),
        milestoneId: arg.gid("Milestone"),
        iterationId: arg.gid("Iteration"),
        iid: arg.about("Ignored: the project numbers its issues.", arg.int),
        createdAt: arg.time,
        type: arg.choice(TYPE),
      },
      payload,
      run: async (input, { call, db, viewer }) => {
        requireOnlyOne(input, "labels", "labelIds");
        const { iterationId } = input;
        const created = await call(issueRoutes.create, {
          id: input.projectPath,
          title: input.title,
          description: input.description,
          ...attributesIn("issue", input),
          labels: input.labels ?? (await namesOf({ db, viewer }, input.labelIds)),
          assignee_ids: input.assigneeIds,
          milestone_id: input.milestoneId,
          issue_type: input.type?.toLowerCase(),
          created_at:
            input.createdAt === undefined ? undefined : new Date(input.createdAt).toISOString(),
        });
        if (iterationId !== undefined) {
          const at = { id: input.projectPath, issue_iid: created["iid"] };
          await call(setIteration, { ...at, iteration_id: iterationId });
        }
        return payloadFor(created);
      },
    }),
    updateIssue: mutation({
      about: "Change, close or reopen an issue.",
      input: {
        ...place,
        title: arg.string,
        description: arg.clearable(arg.string),
        ...attributeArguments("issue"),
        stateEvent: arg.choice(ISSUE_STATE_EVENT),
        labelIds: looseIds,
        addLabelIds: looseIds,
        removeLabelIds: looseIds,
        milestoneId: arg.clearable(arg.id),
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
          namesOf(
            { db, viewer },
            ids?.map((id) => recordId(id, "Label", LABEL_CLASSES)),
          );
        const { milestoneId } = input;
        return payloadFor(
          await call(issueRoutes.change, {
            ...parametersOf(input),
            title: input.title,
            description: input.description,
            ...attributesIn("issue", input),
            state_event: input.stateEvent,
            labels: await names(input.labelIds),
            add_labels: await names(input.addLabelIds),
            remove_labels: await names(input.removeLabelIds),
            milestone_id: milestoneId && recordId(milestoneId, "Milestone"),
            issue_type: input.type?.toLowerCase(),
            time_estimate: input.timeEstimate === null ? "0" : input.timeEstimate,
          }),
        );
      },
    }),
    ...shared,
    issueSetSeverity: setter(
      "Set how bad an incident is.",
      { severity: arg.required(arg.choice(SEVERITY)) },
      ({ severity }) => ({ severity }),
    ),
    issueSetIteration: mutation({
      about: "Put an issue into an iteration, or take it out.",
      input: { ...place, iterationId: arg.clearable(arg.gid("Iteration")) },
      payload,
      run: async (input, { call }) => {
        const { iterationId: id = null } = input;
        return payloadFor(await call(setIteration, { ...parametersOf(input), iteration_id: id }));
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
        return payloadFor(
          await call(issueRoutes.move, { ...parametersOf(input), to_project_id: target.id }),
        );
      },
    }),
  },
};
