import {
  arg,
  enumeration,
  type GraphqlModule,
  interfaceType,
  PAGE_ARGS,
  pagesOf,
  property,
  required,
  type ValueType,
  valueType,
} from "../../graphql/declare.ts";
import { listOf, pageOfList } from "../../graphql/loaded-pages.ts";
import { childTypesOf } from "../hierarchy/types.ts";
import { ISSUE_TYPES, type IssueType, typeName } from "../issuables/attributes.ts";
import { TYPE } from "../issuables/issue-filters.ts";

/** The widgets that work items have, in the order in which they are shown. */
export const WIDGETS = [
  ...[
    "ASSIGNEES",
    "AWARD_EMOJI",
    "COLOR",
    "CURRENT_USER_TODOS",
    "DESCRIPTION",
    "DEVELOPMENT",
    "HIERARCHY",
  ],
  "ITERATION",
  ...["LABELS", "LINKED_ITEMS", "MILESTONE", "NOTES", "NOTIFICATIONS", "PARTICIPANTS"],
  ...["START_AND_DUE_DATE", "TIME_TRACKING", "WEIGHT"],
] as const;
/** Those of GitLab that nothing has here. */
export const ABSENT_WIDGETS = [
  ...["AGENT_PLAN", "AI_SESSION", "CRM_CONTACTS", "CUSTOM_FIELDS", "DESIGNS"],
  ...["EMAIL_PARTICIPANTS", "ERROR_TRACKING", "HEALTH_STATUS", "LINKED_RESOURCES"],
  ...["PROGRESS", "REQUIREMENT_LEGACY", "STATUS", "TEST_REPORTS", "VERIFICATION_STATUS"],
  "VULNERABILITIES",
];

/** What a widget has. */
export const WIDGET = enumeration<string>(
  "WorkItemWidgetType",
  "What a widget has.",
  Object.fromEntries([...WIDGETS, ...ABSENT_WIDGETS].map((widget) => [widget, widget])),
);

/** The end of a class's name: `StartAndDueDate` for `START_AND_DUE_DATE`. */
export const classPart = (widget: string): string =>
  widget
    .split("_")
    .map((part) => `${part[0]}${part.slice(1).toLowerCase()}`)
    .join("");

/** A kind of work items. */
export interface Kind {
  /** GitLab's number for it. */
  readonly number: number;
  readonly name: string;
  readonly iconName: string;
  /** What is stored of those that there are. */
  readonly type: IssueType | undefined;
}

const TYPES: readonly IssueType[] = [...ISSUE_TYPES, "epic"];

/** The kinds that GitLab has, in the order of their numbers. */
export const KINDS: readonly Kind[] = [
  ...["Issue", "Incident", "Test Case", "Requirement", "Task", "Objective", "Key Result", "Epic"],
  "Ticket",
].map((name, at) => ({
  number: at + 1,
  name,
  iconName: `work-item-${name === "Key Result" ? "keyresult" : name.toLowerCase().replace(" ", "-")}`,
  type: TYPES.find((type) => typeName(type) === name),
}));

const isEpic = ({ type }: Kind) => type === "epic";

/** The kinds that work items have here. */
const OFFERED = KINDS.filter(({ type }) => type !== undefined);

/** The kind of a stored type. */
export const kindOf = (type: unknown): Kind => OFFERED.find((kind) => kind.type === type) as Kind;

/** Which kinds may be below one, and above it. */
const below = ({ type }: Kind) => childTypesOf(type).map(kindOf);
const above = ({ type }: Kind) =>
  OFFERED.filter((kind) => childTypesOf(kind.type).some((child) => child === type));

/** The widgets that only some kinds have. */
const IS_OF: Readonly<Partial<Record<(typeof WIDGETS)[number], (kind: Kind) => boolean>>> = {
  HIERARCHY: (kind) => below(kind).length + above(kind).length > 0,
  COLOR: isEpic,
  ...Object.fromEntries(
    (["ASSIGNEES", "DEVELOPMENT", "ITERATION", "MILESTONE", "TIME_TRACKING"] as const).map(
      (widget) => [widget, (kind: Kind) => !isEpic(kind)],
    ),
  ),
};

/** The widgets of a kind. */
export const widgetsOf = (kind: Kind): readonly (typeof WIDGETS)[number][] =>
  WIDGETS.filter((widget) => IS_OF[widget]?.(kind) ?? true);

/** The stored types of the kinds that have a widget. */
export const typesWith = (widget: (typeof WIDGETS)[number]): readonly IssueType[] =>
  OFFERED.filter((kind) => widgetsOf(kind).includes(widget)).map(({ type }) => type as IssueType);

/** The id of a kind, as an argument. */
export const KIND_ID = arg.gid("WorkItemsType", ["WorkItems::Type"]);

const constantly = (type: string, value: unknown) => required(property(type, () => value));
const definition = (name: string, fields: ValueType["fields"] = {}) =>
  valueType(`WorkItemWidgetDefinition${name}`, "A widget that work items of a kind have.", fields, {
    implements: ["WorkItemWidgetDefinition"],
  });

const status = property("[WorkItemStatus!]", () => []);
const noStatus = property("WorkItemStatus", () => null);
/** The definitions that tell more than the widget. */
const DEFINITIONS: readonly ValueType[] = [
  definition("Assignees", {
    allowsMultipleAssignees: constantly("Boolean", true),
    canInviteMembers: constantly("Boolean", false),
  }),
  definition("Labels", { allowsScopedLabels: constantly("Boolean", false) }),
  definition("Weight", {
    editable: constantly("Boolean", true),
    rollUp: constantly("Boolean", false),
  }),
  definition("StartAndDueDate", { canRollUp: property("Boolean", () => false) }),
  definition("Generic"),
  definition("Status", {
    allowedStatuses: status,
    defaultOpenStatus: noStatus,
    defaultClosedStatus: noStatus,
  }),
  definition("Progress", { showPopover: constantly("Boolean", false) }),
];
const kindsThat = (read: (kind: Kind) => readonly Kind[]) =>
  property(
    "WorkItemTypeConnection",
    ({ kind }: { kind: Kind }, _, args) => pageOfList(listOf(read(kind)), args),
    PAGE_ARGS,
  );
const hierarchy = definition("Hierarchy", {
  allowedChildTypes: kindsThat(below),
  allowedParentTypes: kindsThat(above),
  autoExpandTreeOnMove: property("Boolean", () => false),
  propagatesMilestone: constantly("Boolean", false),
});

const customField = valueType("CustomField", "A field that a group has defined for work items.", {
  id: required(property("ID")),
  name: required(property("String")),
  fieldType: required(property("String")),
  selectOptions: {
    ...property("[CustomFieldSelectOption!]"),
    declares: valueType("CustomFieldSelectOption", "What a custom field may be.", {
      id: required(property("ID")),
      value: required(property("String")),
    }),
  },
  workItemTypes: property("[WorkItemType!]"),
});
const fieldValue = (name: string, fields: ValueType["fields"]) =>
  valueType(`WorkItem${name}FieldValue`, "The value of a custom field.", fields, {
    implements: ["WorkItemCustomFieldValue"],
  });
/** The types of custom fields, of which there are none: documents of clients name them. */
const CUSTOM_FIELDS = [
  customField,
  interfaceType("WorkItemCustomFieldValue", "The value of a custom field.", {
    customField: required(property("CustomField")),
  }),
  // A Float in GitLab, which allows that documents ask for it beside the text of others.
  fieldValue("Number", { value: property("String") }),
  fieldValue("Text", { value: property("String") }),
  fieldValue("Date", { value: property("Date") }),
  fieldValue("Select", { selectedOptions: property("[CustomFieldSelectOption!]") }),
];
const customFields = definition("CustomFields", {
  customFieldValues: property("[WorkItemCustomFieldValue!]", () => []),
});

const defined = new Set([...DEFINITIONS, hierarchy].map(({ name }) => name));
const definitionOf = (kind: Kind, widget: string) => {
  const type = `WorkItemWidgetDefinition${classPart(widget)}`;
  return {
    type: defined.has(type) ? type : "WorkItemWidgetDefinitionGeneric",
    key: { widget, kind },
  };
};

/** What kind of work item one is. */
export const workItemType = valueType("WorkItemType", "What kind of work item it is.", {
  id: required(
    property("WorkItemsTypeID", ({ number }: Kind) => `gid://gitlab/WorkItems::Type/${number}`),
  ),
  name: required(property("String")),
  iconName: property("String"),
  enabled: constantly("Boolean", true),
  archived: property("Boolean", () => false),
  canPromoteToObjective: property("Boolean", () => false),
  isConfigurable: property("Boolean", () => false),
  isGroupWorkItemType: property("Boolean", isEpic),
  isIncidentManagement: property("Boolean", ({ type }: Kind) => type === "incident"),
  isServiceDesk: property("Boolean", () => false),
  isFilterableListView: constantly("Boolean", true),
  isFilterableBoardView: constantly("Boolean", true),
  showProjectSelector: property("Boolean", (kind: Kind) => !isEpic(kind)),
  supportsMoveAction: property("Boolean", (kind: Kind) => !isEpic(kind)),
  supportsRoadmapView: property("Boolean", () => false),
  useIssueView: property("Boolean", () => false),
  visibleInSettings: property("Boolean", () => true),
  enabledByDefaultForNewNamespaces: constantly("Boolean", true),
  supportedConversionTypes: property("[WorkItemType!]", (kind: Kind) =>
    isEpic(kind) ? [] : OFFERED.filter((other) => other !== kind && !isEpic(other)),
  ),
  unavailableWidgetsOnConversion: property(
    "[WorkItemWidgetDefinition!]",
    (kind: Kind, _, { target }) => {
      const other = KINDS.find(({ number }) => number === target);
      const kept = other ? widgetsOf(other) : [];
      const lost = widgetsOf(kind).filter((widget) => !kept.includes(widget));
      return lost.map((widget) => definitionOf(kind, widget));
    },
    { target: arg.required(KIND_ID) },
  ),
  widgetDefinitions: property("[WorkItemWidgetDefinition!]", (kind: Kind) =>
    widgetsOf(kind).map((widget) => definitionOf(kind, widget)),
  ),
});

const PAGES = pagesOf(workItemType, "A page of kinds of work items.");

/** The kinds of work items of a project, or of a group itself: epics. */
export const workItemTypes = <T>(kindOfPlace: (of: T) => "project" | "group" | "user") =>
  property(
    PAGES,
    (of: T, _, { name, ...args }) => {
      const place = kindOfPlace(of);
      const kinds = OFFERED.filter((kind) => place === (isEpic(kind) ? "group" : "project"));
      const named = kinds.filter(({ type }) => name === undefined || type === name.toLowerCase());
      return pageOfList(listOf(named), args);
    },
    { name: arg.choice(TYPE), onlyAvailable: arg.boolean, ...PAGE_ARGS },
  );

/** Kinds of work items and what they have. */
export const kinds: GraphqlModule["types"] = [
  workItemType,
  interfaceType("WorkItemWidgetDefinition", "A widget that work items of a kind have.", {
    type: required(property(WIDGET.name, ({ widget }: { widget: string }) => widget)),
  }),
  ...DEFINITIONS,
  hierarchy,
  customFields,
  ...CUSTOM_FIELDS,
];
