import { visibleMergeRequestRows, visibleProjects } from "../../core/access/visibility.ts";
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
  type GraphqlModule,
  gid,
  interfaceType,
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
import { all, when } from "../../store/conditions.ts";
import { awardsOf } from "../award-emoji/graphql.ts";
import { ABSENT } from "../boards/absent.ts";
import { timeStats } from "../issuables/fields.ts";
import { issuableFields } from "../issuables/graphql.ts";
import { ISSUE } from "../issuables/issue.ts";
import { tasksOf } from "../issuables/tasks.ts";
import { linkedFields } from "../issue-links/graphql.ts";
import { ROWS, taskCompletion } from "../issues/graphql.ts";
import { CLOSES } from "../merge-request-versions/references.ts";
import { workItemNotes } from "../notes/graphql.ts";
import { onTarget } from "../todos/graphql.ts";
import { ABSENT_WIDGETS, classPart, WIDGET, WIDGETS } from "./types.ts";

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
const STATE = enumeration("WorkItemStateFilter", "Whether work items are open.", [
  "OPEN",
  "CLOSED",
]);

/** No work item: none is below another one here. */
const nobody = connection("WorkItem", {
  args: { state: arg.choice(STATE) },
  query: () => ({ parent: "i.id", where: when("1 = 0") }),
});
const { linkedWorkItems, ...blocks } = linkedFields;

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
    parent: one("WorkItem", "null"),
    children: nobody,
    ancestors: nobody,
    hasParent: constant("Boolean!", false),
    hasChildren: constant("Boolean!", false),
    rolledUpCountsByType: {
      ...property("[WorkItemTypeCountsByState!]!", () => []),
      declares: counted,
    },
    depthLimitReachedByType: {
      ...property("[WorkItemTypeDepthLimitReachedByType!]!", () => []),
      declares: depth,
    },
  },
  LABELS: { ...fieldsOf("labels"), allowsScopedLabels: constant("Boolean", false) },
  LINKED_ITEMS: { linkedItems: linkedWorkItems, ...blocks },
  MILESTONE: fieldsOf("milestone"),
  NOTES: { ...fieldsOf("discussionLocked"), ...workItemNotes(ISSUE) },
  NOTIFICATIONS: fieldsOf("subscribed"),
  PARTICIPANTS: fieldsOf("participants"),
  START_AND_DUE_DATE: {
    startDate: date("null"),
    ...fieldsOf("dueDate"),
    isFixed: constant("Boolean!", true),
    rollUp: constant("Boolean!", false),
  },
  TIME_TRACKING: {
    ...fieldsOf("timeEstimate", "totalTimeSpent"),
    humanReadableAttributes: one(timeWords.name, "i.id"),
  },
  WEIGHT: {
    ...fieldsOf("weight"),
    rolledUpWeight: constant("Int", null),
    rolledUpCompletedWeight: constant("Int", null),
  },
};

const { iteration, status, healthStatus } = ABSENT.ofIssues;
/** The fields of widgets that no work item has, for documents that name them. */
const ABSENT_FIELDS: Readonly<Record<string, OutputFields>> = {
  COLOR: { color: constant("String", null), textColor: constant("String", null) },
  CUSTOM_FIELDS: { customFieldValues: property("[WorkItemCustomFieldValue!]") },
  HEALTH_STATUS: { healthStatus },
  ITERATION: { iteration },
  PROGRESS: {
    progress: constant("Int", null),
    currentValue: constant("Int", null),
    startValue: constant("Int", null),
    endValue: constant("Int", null),
    updatedAt: constant("Time", null),
  },
  STATUS: { status },
};

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
      const isThere = (WIDGETS as readonly string[]).includes(name);
      return [
        `${part[0]?.toLowerCase()}${part.slice(1)}`,
        one(classOf(name), isThere ? "i.id" : "null"),
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
