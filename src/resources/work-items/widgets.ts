import {
  type Viewer,
  visibleIssues,
  visibleMergeRequestRows,
  visiblePlaces,
  visibleProjects,
} from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  arg,
  boolean,
  computed,
  connection,
  constant,
  date,
  emptyConnection,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  gid,
  interfaceType,
  loaded,
  type OutputField,
  type OutputFields,
  one,
  property,
  type RowType,
  required,
  rowType,
  string,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, when } from "../../store/conditions.ts";
import type { Value } from "../../store/port.ts";
import { awardsOf } from "../award-emoji/graphql.ts";
import { ABSENT } from "../boards/absent.ts";
import { MAX_DEPTH } from "../hierarchy/queries.ts";
import { childTypesOf } from "../hierarchy/types.ts";
import type { IssueType } from "../issuables/attributes.ts";
import { EPIC_COLOR } from "../issuables/epic.ts";
import { timeStats } from "../issuables/fields.ts";
import { issuableFields } from "../issuables/graphql.ts";
import { ISSUE } from "../issuables/issue.ts";
import { tasksOf } from "../issuables/tasks.ts";
import { linkedFields } from "../issue-links/graphql.ts";
import { ROWS as ISSUES, taskCompletion } from "../issues/graphql.ts";
import { contrast } from "../labels/json.ts";
import { CLOSES } from "../merge-request-versions/references.ts";
import { workItemNotes } from "../notes/graphql.ts";
import { onTarget } from "../todos/graphql.ts";
import { ABSENT_WIDGETS, classPart, kindOf, typesWith, WIDGET, WIDGETS } from "./types.ts";

/** Issues and epics. */
export const ROWS = {
  ...ISSUES,
  visible: (viewer: Viewer) => all([visiblePlaces(viewer), visibleIssues(viewer)]),
};

const shared = issuableFields(ISSUE);
/** Fields that issues share with merge requests. */
export const fieldsOf = (...names: readonly string[]): OutputFields =>
  Object.fromEntries(names.map((name) => [name, shared[name] as OutputField]));

const closing = rowType("WorkItemClosingMergeRequest", {
  about: "A merge request that closes a work item.",
  from: `merge_request_issues x join merge_requests mr on mr.id = x.merge_request_id
    join projects p on p.id = mr.project_id`,
  key: "x.merge_request_id",
  visible: (viewer) =>
    all([visibleProjects(viewer), visibleMergeRequestRows(viewer), when(CLOSES)]),
  fields: {
    id: gid("MergeRequestsClosingIssues", "x.merge_request_id"),
    // Others can't be added.
    fromMrDescription: constant("Boolean!", true),
    mergeRequest: one("MergeRequest", "x.merge_request_id"),
  },
});

const branch = valueType("WorkItemRelatedBranch", "A branch named after a work item.", {
  name: required(property("String")),
  comparePath: property("String"),
});
const flag = valueType("FeatureFlag", "A feature flag.", {
  id: required(property("ID")),
  name: required(property("String")),
  active: required(property("Boolean")),
  path: property("String"),
  reference: required(property("String")),
});
const stats = timeStats("i");
const timeWords = rowType("WorkItemTimeTrackingHumanReadableAttributes", {
  about: "Times in words.",
  ...ROWS,
  fields: {
    timeEstimate: string(stats.human_time_estimate),
    totalTimeSpent: string(stats.human_total_time_spent),
  },
});
const states = valueType("WorkItemStateCountsType", "How many work items there are.", {
  all: property("Int"),
  opened: property("Int"),
  closed: property("Int"),
});
const counted = valueType("WorkItemTypeCountsByState", "Work items of a kind below another one.", {
  workItemType: required(property("WorkItemType")),
  countsByState: required(property(states)),
});
const depth = valueType("WorkItemTypeDepthLimitReachedByType", "Whether more fit below.", {
  workItemType: required(property("WorkItemType")),
  depthLimitReached: required(property("Boolean")),
});
const STATE = enumeration("WorkItemStateFilter", "Whether work items are open.", {
  OPEN: "opened",
  CLOSED: "closed",
});

/** How many work items of a type are below another one, by whether they are open, and what they weigh. */
interface Below {
  readonly type: string;
  readonly state: string;
  readonly count: number;
  readonly weight: number | null;
}

/** What the caller may read below some work items. */
async function belowOf(
  ids: readonly Value[],
  { db, viewer }: GraphContext,
): Promise<Map<Value, Below[]>> {
  const wanted = all([among("h.parent_id", ids), visiblePlaces(viewer), visibleIssues(viewer)]);
  const rows = await db.rows(
    `select h.parent_id, i.issue_type, i.state, count(*), sum(i.weight) from work_item_parents h
     join issues i on i.id = h.issue_id join projects p on p.id = i.project_id
     where ${wanted.sql} group by h.parent_id, i.issue_type, i.state`,
    wanted.values,
  );
  const found = new Map<Value, Below[]>();
  for (const [id, type, state, count, weight] of rows) {
    const one = { count: Number(count), weight: weight === null ? null : Number(weight) };
    found.set(id as Value, [
      ...(found.get(id as Value) ?? []),
      { type: type as string, state: state as string, ...one },
    ]);
  }
  return found;
}

const countOf = (below: readonly Below[]) => below.reduce((sum, { count }) => sum + count, 0);

/** The counts of each kind that may be below some work items. */
async function countsOf(ids: readonly Value[], context: GraphContext): Promise<Map<Value, object>> {
  const below = await belowOf(ids, context);
  const these = among("id", ids);
  const sql = `select id, issue_type from issues where ${these.sql}`;
  const rows = await context.db.rows(sql, these.values);
  return new Map(
    rows.map(([id, type]) => [
      id as Value,
      childTypesOf(type as IssueType).map((child) => {
        const own = (below.get(id as Value) ?? []).filter((one) => one.type === child);
        const closed = countOf(own.filter(({ state }) => state === "closed"));
        const total = countOf(own);
        return {
          workItemType: kindOf(child),
          countsByState: { all: total, opened: total - closed, closed },
        };
      }),
    ]),
  );
}

/** What the work items below one weigh together; `null` if none has a weight. @param state of those that count */
const weightBelow = (state?: string) =>
  loaded("Int", async (ids, context) => {
    const weights = new Map<Value, number | null>();
    for (const [id, below] of await belowOf(ids, context)) {
      const given = below.flatMap(({ weight }) => weight ?? []);
      const counting = below.filter((one) => state === undefined || one.state === state);
      const sum = counting.reduce((total, { weight }) => total + (weight ?? 0), 0);
      weights.set(id, given.length > 0 ? sum : null);
    }
    return weights;
  });
/** Whether there is something around a work item that the caller may read. @param of the column with the work item @param other that with what is around it */
const has = (of: "h.issue_id" | "h.parent_id", other: "h.issue_id" | "h.parent_id") =>
  required(
    loaded(
      "Boolean",
      async (ids, { db, viewer }) => {
        const these = among("w.id", ids);
        const around = all([visiblePlaces(viewer), visibleIssues(viewer)]);
        const found = await db.rows(
          `select w.id from issues w where ${these.sql} and exists (select 1 from work_item_parents h
             join issues i on i.id = ${other} join projects p on p.id = i.project_id
             where ${of} = w.id and ${around.sql})`,
          [...these.values, ...around.values],
        );
        return new Map(found.map(([id]) => [id as Value, true]));
      },
      { empty: false },
    ),
  );
const { linkedWorkItems, ...blocks } = linkedFields;

const COLOR = `case when i.issue_type = 'epic' then
  coalesce((select d.color from epic_details d where d.issue_id = i.id), '${EPIC_COLOR}') end`;

/** The most work items above one: epics as deep as they go, and the issue of a task. */
const MOST_ABOVE = MAX_DEPTH + 1;

const stepsUp = (count: number) =>
  Array.from(
    { length: count },
    (_, at) => `join work_item_parents h${at + 1} on h${at + 1}.issue_id = h${at}.parent_id`,
  ).join(" ");

/** SQL of all work items above others, with how far: without recursion, so that one statement reads it for many. */
const ABOVE = Array.from(
  { length: MOST_ABOVE },
  (_, at) =>
    `select h0.issue_id, h${at}.parent_id, ${at} as distance from work_item_parents h0 ${stepsUp(at)}`,
).join(" union all ");

/** Whether a work item is below another one. */
export const hasParent = has("h.issue_id", "h.parent_id");
/** The fields of epics that are those of widgets. */
export const epicFields = {
  color: string(COLOR),
  textColor: string(
    field.derived([COLOR], "string", ([color]) => (color === null ? null : contrast(`${color}`))),
  ),
  hasParent,
  hasChildren: has("h.parent_id", "h.issue_id"),
} satisfies OutputFields;

/** The fields of each widget, by its type. */
const FIELDS: Readonly<Record<(typeof WIDGETS)[number], OutputFields>> = {
  ASSIGNEES: {
    ...fieldsOf("assignees"),
    allowsMultipleAssignees: constant("Boolean", true),
    canInviteMembers: constant("Boolean!", false),
  },
  AWARD_EMOJI: {
    ...awardsOf(ISSUE.column),
    ...fieldsOf("upvotes", "downvotes"),
    newCustomEmojiPath: constant("String", null),
  },
  CURRENT_USER_TODOS: onTarget(ISSUE),
  COLOR: { color: epicFields.color, textColor: epicFields.textColor },
  DESCRIPTION: {
    ...fieldsOf("description"),
    edited: constant("Boolean!", false),
    // Who changed it last is not stored.
    lastEditedAt: constant("Time", null),
    lastEditedBy: one("UserCore", "null"),
    taskCompletionStatus: required(
      computed(taskCompletion, ["i.description"], ([text]) => tasksOf(String(text ?? ""))),
    ),
  },
  DEVELOPMENT: {
    closingMergeRequests: connection("WorkItemClosingMergeRequest", {
      query: () => ({ parent: "x.issue_id" }),
    }),
    relatedMergeRequests: connection("MergeRequest", {
      query: () => ({
        join: "join merge_request_issues x on x.merge_request_id = mr.id",
        parent: "x.issue_id",
      }),
    }),
    relatedBranches: emptyConnection(branch),
    featureFlags: emptyConnection(flag),
    willAutoCloseByMergeRequest: required(
      boolean(`case when p.autoclose_referenced_issues = 1 and exists (
        select 1 from merge_request_issues x where x.issue_id = i.id and ${CLOSES}) then 1 else 0 end`),
    ),
  },
  HIERARCHY: {
    parent: one(
      "WorkItem",
      "(select h.parent_id from work_item_parents h where h.issue_id = i.id)",
    ),
    children: connection("WorkItem", {
      args: { state: arg.choice(STATE) },
      query: ({ state }) => ({
        join: "join work_item_parents h on h.issue_id = i.id",
        parent: "h.parent_id",
        where: when("i.state = ?", state),
        order: [{ sql: "h.position" }, { sql: "i.id" }],
      }),
    }),
    ancestors: connection("WorkItem", {
      query: () => ({
        join: `join (${ABOVE}) h on h.parent_id = i.id`,
        parent: "h.issue_id",
        order: [{ sql: "h.distance", descending: true }, { sql: "i.id" }],
      }),
    }),
    hasParent,
    hasChildren: epicFields.hasChildren,
    rolledUpCountsByType: {
      ...loaded("[WorkItemTypeCountsByState!]!", countsOf, { empty: [] }),
      declares: counted,
    },
    depthLimitReachedByType: {
      ...computed("[WorkItemTypeDepthLimitReachedByType!]!", ["i.issue_type"], ([type]) =>
        childTypesOf(type as IssueType).map((child) => ({
          workItemType: kindOf(child),
          depthLimitReached: false,
        })),
      ),
      declares: depth,
    },
  },
  ITERATION: { iteration: one("Iteration", "i.iteration_id") },
  LABELS: { ...fieldsOf("labels"), allowsScopedLabels: constant("Boolean", false) },
  LINKED_ITEMS: { linkedItems: linkedWorkItems, ...blocks },
  MILESTONE: fieldsOf("milestone"),
  NOTES: { ...fieldsOf("discussionLocked"), ...workItemNotes(ISSUE) },
  NOTIFICATIONS: fieldsOf("subscribed"),
  PARTICIPANTS: fieldsOf("participants"),
  START_AND_DUE_DATE: {
    startDate: date("i.start_date"),
    ...fieldsOf("dueDate"),
    // Those of issues are always what was set.
    isFixed: required(
      boolean(`case when i.issue_type <> 'epic' or exists (select 1 from epic_details d where d.issue_id = i.id
        and (d.start_date_is_fixed = 1 or d.due_date_is_fixed = 1)) then 1 else 0 end`),
    ),
    rollUp: constant("Boolean!", false),
  },
  TIME_TRACKING: {
    ...fieldsOf("timeEstimate", "totalTimeSpent"),
    timelogs: connection("Timelog", { query: () => ({ parent: "tl.issue_id" }) }),
    humanReadableAttributes: one(timeWords.name, "i.id"),
  },
  WEIGHT: {
    ...fieldsOf("weight"),
    rolledUpWeight: weightBelow(),
    rolledUpCompletedWeight: weightBelow("closed"),
  },
};

const designs = valueType("DesignCollection", "Pictures that belong to an issue.", {
  designs: emptyConnection(
    valueType("Design", "A picture that belongs to an issue.", {
      id: required(property("ID")),
      filename: required(property("String")),
      fullPath: required(property("String")),
      image: required(property("String")),
      imageV432x230: property("String"),
    }),
  ),
});
const { status, healthStatus } = ABSENT.ofIssues;
/** The fields of widgets that no work item has, for documents that name them. */
const ABSENT_FIELDS: Readonly<Record<string, OutputFields>> = {
  CUSTOM_FIELDS: { customFieldValues: property("[WorkItemCustomFieldValue!]") },
  HEALTH_STATUS: { healthStatus },
  PROGRESS: {
    progress: constant("Int", null),
    currentValue: constant("Int", null),
    startValue: constant("Int", null),
    endValue: constant("Int", null),
    updatedAt: constant("Time", null),
  },
  STATUS: { status },
  VERIFICATION_STATUS: { verificationStatus: constant("String", null) },
  TEST_REPORTS: {
    testReports: emptyConnection(
      valueType("TestReport", "A report about a requirement.", {
        id: required(property("ID")),
        state: required(property("String")),
        createdAt: required(property("Time")),
        author: property("UserCore"),
      }),
    ),
  },
  DESIGNS: { designCollection: { ...property("DesignCollection"), declares: designs } },
  CRM_CONTACTS: {
    contacts: emptyConnection(
      valueType("CustomerRelationsContact", "A person at a customer.", {
        id: required(property("ID")),
        firstName: required(property("String")),
        lastName: required(property("String")),
        email: property("String"),
        phone: property("String"),
        organization: property(
          valueType("CustomerRelationsOrganization", "A customer.", {
            id: required(property("ID")),
            name: required(property("String")),
            description: property("String"),
          }),
        ),
      }),
    ),
    contactsAvailable: constant("Boolean!", false),
  },
  EMAIL_PARTICIPANTS: {
    emailParticipants: emptyConnection(
      valueType("EmailParticipantType", "Somebody who takes part by mail.", {
        email: required(property("String")),
      }),
    ),
  },
  LINKED_RESOURCES: {
    linkedResources: emptyConnection(
      valueType("WorkItemLinkedResource", "An address that belongs to a work item.", {
        url: required(property("String")),
      }),
    ),
  },
};

/** The key of a widget: null for kinds that do not have it. */
function keyOf(name: (typeof WIDGETS)[number]): string {
  const types = typesWith(name).map((type) => `'${type}'`);
  return `case when i.issue_type in (${types.join(", ")}) then i.id end`;
}

/** The class of a widget. */
export const classOf = (widget: string): string => `WorkItemWidget${classPart(widget)}`;

const widget = (name: string, fields: OutputFields): RowType =>
  rowType(classOf(name), {
    about: "A part of a work item.",
    ...ROWS,
    implements: ["WorkItemWidget"],
    fields: { type: word(WIDGET, field.constant(name)), ...fields },
  });

const features = rowType("WorkItemFeatures", {
  about: "The widgets of a work item by their names; null for those that it does not have.",
  ...ROWS,
  fields: Object.fromEntries(
    [...WIDGETS, ...ABSENT_WIDGETS].map((name) => {
      const part = classPart(name);
      const known = WIDGETS.find((widget) => widget === name);
      return [
        `${part[0]?.toLowerCase()}${part.slice(1)}`,
        one(classOf(name), known ? keyOf(known) : "null"),
      ];
    }),
  ),
});

/** The types of widgets. */
export const widgetTypes: GraphqlModule["types"] = [
  closing,
  timeWords,
  interfaceType("WorkItemWidget", "A part of a work item.", {
    type: word(WIDGET, field.constant(null)),
  }),
  ...WIDGETS.map((name) => widget(name, FIELDS[name])),
  ...ABSENT_WIDGETS.map((name) => widget(name, ABSENT_FIELDS[name] ?? {})),
  features,
];
