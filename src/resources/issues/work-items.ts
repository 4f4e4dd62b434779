import * as field from "../../core/field.ts";
import {
  arg,
  computed,
  connection,
  constant,
  date,
  enumeration,
  first,
  type GraphqlModule,
  gid,
  interfaceType,
  type OutputField,
  type OutputFields,
  property,
  type RowType,
  required,
  rowType,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { when } from "../../store/conditions.ts";
import { issuableFields, permissions } from "../issuables/graphql.ts";
import { ISSUE } from "../issuables/issue.ts";
import { workItemState } from "../issue-links/graphql.ts";
import { filters, SORT as ISSUE_SORT, ofProject, ROWS } from "./graphql.ts";

// GitLab's newer clients know issues as work items: the same rows under another name, with most of what they have in
// widgets.

const type = valueType("WorkItemType", "What kind of work item it is.", {
  id: required(property("ID")),
  name: required(property("String")),
  iconName: property("String"),
});
/** The kind of all issues, with GitLab's number for it. */
const ISSUE_TYPE = {
  id: "gid://gitlab/WorkItems::Type/1",
  name: "Issue",
  iconName: "work-item-issue",
};

const shared = issuableFields(ISSUE);
/** Fields that issues share with merge requests. */
const fieldsOf = (...names: readonly string[]): OutputFields =>
  Object.fromEntries(names.map((name) => [name, shared[name] as OutputField]));

/** Those that work items have themselves. */
const SHARED = [
  ...["iid", "title", "titleHtml", "name", "description", "confidential", "author", "project"],
  ...["createdAt", "updatedAt", "closedAt", "webUrl", "webPath", "reference"],
];

/** The fields of each widget, by its type. */
const FIELDS: Readonly<Record<string, OutputFields>> = {
  ASSIGNEES: {
    ...fieldsOf("assignees"),
    allowsMultipleAssignees: constant("Boolean", true),
    canInviteMembers: constant("Boolean!", false),
  },
  DESCRIPTION: { ...fieldsOf("description") },
  LABELS: { ...fieldsOf("labels"), allowsScopedLabels: constant("Boolean", false) },
  MILESTONE: fieldsOf("milestone"),
  PARTICIPANTS: fieldsOf("participants"),
  START_AND_DUE_DATE: { startDate: date("null"), ...fieldsOf("dueDate") },
  TIME_TRACKING: fieldsOf("timeEstimate", "totalTimeSpent"),
  WEIGHT: fieldsOf("weight"),
};

const WIDGET = enumeration("WorkItemWidgetType", "What a widget has.", Object.keys(FIELDS));

/** `START_AND_DUE_DATE` is `WorkItemWidgetStartAndDueDate`. */
const classOf = (widget: string) =>
  `WorkItemWidget${widget
    .split("_")
    .map((part) => `${part[0]}${part.slice(1).toLowerCase()}`)
    .join("")}`;

const SORT: typeof ISSUE_SORT = { ...ISSUE_SORT, name: "WorkItemSort" };

const widgets: readonly RowType[] = Object.entries(FIELDS).map(([widget, fields]) =>
  rowType(classOf(widget), {
    about: "A part of a work item.",
    ...ROWS,
    implements: ["WorkItemWidget"],
    fields: { type: word(WIDGET, field.constant(widget)), ...fields },
  }),
);

const workItem = rowType("WorkItem", {
  about: "An issue, as GitLab's newer clients know it.",
  ...ROWS,
  fields: {
    ...fieldsOf(...SHARED),
    hidden: constant("Boolean", false),
    id: gid("WorkItem", "i.id"),
    state: required(workItemState),
    workItemType: required(computed(type, [], () => ISSUE_TYPE)),
    userPermissions: permissions(ISSUE, "WorkItem"),
    widgets: computed(
      "[WorkItemWidget!]",
      ["i.id"],
      ([id], _, { onlyTypes = Object.keys(FIELDS), exceptTypes = [] }) =>
        onlyTypes
          .filter((widget) => !exceptTypes.includes(widget))
          .map((widget) => ({ type: classOf(widget), key: id })),
      { onlyTypes: arg.list(arg.choice(WIDGET)), exceptTypes: arg.list(arg.choice(WIDGET)) },
    ),
  },
});

/** Issues as work items. */
export const graphqlModule: GraphqlModule = {
  types: [
    workItem,
    interfaceType("WorkItemWidget", "A part of a work item.", {
      type: word(WIDGET, field.constant(null)),
    }),
    ...widgets,
  ],
  extend: {
    Project: {
      workItems: connection("WorkItem", {
        args: { ...filters, sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]) },
        query: ofProject,
      }),
    },
    Query: {
      workItem: first("WorkItem", {
        args: { id: arg.required(arg.gid("WorkItem")) },
        query: ({ id }) => ({ where: when("i.id = ?", id) }),
      }),
    },
  },
};
