import { findVisible } from "../../core/access/source.ts";
import { unreadable } from "../../core/errors.ts";
import {
  type Args,
  arg,
  enumeration,
  GraphError,
  inputType,
  type Mutation,
  type MutationContext,
  mutation,
  notAvailable,
  property,
  type Values,
} from "../../graphql/declare.ts";
import type { Reader } from "../../store/port.ts";
import { changeAward } from "../award-emoji/graphql.ts";
import { health, STATUS_ID } from "../boards/absent.ts";
import { epicRoutes } from "../epics/graphql.ts";
import { parentIdOf } from "../hierarchy/queries.ts";
import { mayPlan } from "../issuables/abilities.ts";
import { ATTRIBUTES } from "../issuables/attributes.ts";
import { EPIC } from "../issuables/epic.ts";
import { labelNames } from "../issuables/graphql.ts";
import { ISSUE } from "../issuables/issue.ts";
import { setIteration } from "../issue-iterations.ts";
import { LINK_TYPE, linkRoutes } from "../issue-links/graphql.ts";
import type { LinkType } from "../issue-links/queries.ts";
import { issueRoutes } from "../issues/graphql.ts";
import { LABEL_ID } from "../labels/graphql.ts";
import { namespace } from "../namespaces/graphql.ts";
import { timelogRoutes } from "../time-tracking/timelogs.ts";
import { finishTodos, markOn } from "../todos/graphql.ts";
import { placeOf, placeOfIssue, type WorkItemPlace } from "./places.ts";
import { KIND_ID, KINDS, type Kind, kindOf, widgetsOf } from "./types.ts";

/** The id of a work item, as an argument. */
export const workItemId = arg.gid("WorkItem");
const item = { id: arg.required(workItemId) } satisfies Args;
const payload = { workItem: property("WorkItem") };

const input = <const A extends Args>(name: string, fields: A) =>
  arg.input(inputType(`WorkItemWidget${name}Input`, "What a widget of a work item gets.", fields));

/** The widgets that a new work item and a change have in common. */
export const widgets = {
  descriptionWidget: input("Description", { description: arg.required(arg.string) }),
  assigneesWidget: input("Assignees", {
    assigneeIds: arg.required(arg.list(arg.gid("User"))),
  }),
  milestoneWidget: input("Milestone", { milestoneId: arg.clearable(arg.gid("Milestone")) }),
  startAndDueDateWidget: input("StartAndDueDateUpdate", {
    startDate: arg.clearable(arg.plainDate),
    dueDate: arg.clearable(arg.plainDate),
    isFixed: arg.about("Dates are always those that were set.", arg.boolean),
  }),
  weightWidget: input("Weight", { weight: arg.clearable(arg.int) }),
  iterationWidget: input("Iteration", { iterationId: arg.clearable(arg.gid("Iteration")) }),
} satisfies Args;

/** Widgets that issues do not have: they are refused, so that clients know. */
const rareWidgets = {
  colorWidget: input("Color", { color: arg.required({ type: "Color" } as typeof arg.string) }),
  healthStatusWidget: input("HealthStatus", { healthStatus: arg.choice(health) }),
  statusWidget: input("Status", { status: STATUS_ID, name: arg.string }),
  crmContactsWidget: input("CrmContactsUpdate", {
    contactIds: arg.required(arg.list(arg.gid("CustomerRelationsContact"))),
  }),
  customFieldsWidget: arg.list(
    arg.input(
      inputType("WorkItemWidgetCustomFieldValueInputType", "The value of a custom field.", {
        customFieldId: arg.required(arg.gid("IssuablesCustomField")),
        selectedOptionIds: arg.list(arg.gid("IssuablesCustomFieldSelectOption")),
        numberValue: { type: "Float" },
        textValue: arg.string,
        dateValue: arg.plainDate,
      }),
    ),
  ),
} satisfies Args;

/** On which side of another work item one is put. */
export const RELATIVE = enumeration<"before" | "after">(
  "RelativePositionType",
  "Where a work item is moved.",
  { BEFORE: "before", AFTER: "after" },
);

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The widgets of epics that are only read: a discussion that is locked, and what weighs below them. */
const READ_ONLY = ["notes_widget", "weight_widget"];

/** @throws GraphError if a widget is sent that a kind does not have */
function requireKnown(sent: Readonly<Record<string, unknown>>, kind: Kind): void {
  const known = widgetsOf(kind).map((widget) => `${widget.toLowerCase()}_widget`);
  const unknown = Object.keys(sent)
    .filter((name) => name.endsWith("Widget") && sent[name] !== undefined)
    .map(snake)
    .filter((name) => !known.includes(name) || (kind.type === "epic" && READ_ONLY.includes(name)));
  if (unknown.length === 0) return;
  const names = unknown.map((name) => `:${name}`).join(", ");
  throw new GraphError(`Following widget keys are not supported by ${kind.name} type: [${names}]`);
}

/** Where a work item is put. */
interface Place {
  readonly parentId?: number | null | undefined;
  readonly adjacentWorkItemId?: number | undefined;
  readonly relativePosition?: "before" | "after" | undefined;
}

/** Puts a work item below another one, next to others, or away, if that is asked for. */
export async function putBelow(
  { call, db }: MutationContext,
  id: number,
  { parentId, adjacentWorkItemId, relativePosition }: Place,
): Promise<void> {
  if (parentId === undefined && adjacentWorkItemId === undefined) return;
  const { routes, at } = await placeOf(db, id);
  await call(routes.place, {
    ...at,
    parent_id: parentId,
    adjacent_id: adjacentWorkItemId,
    relative_position: relativePosition,
  });
}

/** Puts work items below one. @throws GraphError for too many */
async function addChildren(
  context: MutationContext,
  parentId: number,
  ids: readonly number[],
): Promise<void> {
  if (ids.length > MOST_CHILDREN) {
    throw new GraphError(`No more than ${MOST_CHILDREN} work items can be added at the same time.`);
  }
  for (const id of ids) await putBelow(context, id, { parentId });
}

/** The most work items that are put below one at once. */
const MOST_CHILDREN = 100;

/** What widgets are sent. */
export type Widgets = Partial<Values<typeof widgets>>;

/** The attributes of an issue that widgets set. */
export function attributesOf({ startAndDueDateWidget: dates, ...sent }: Widgets) {
  const ids = sent.assigneesWidget?.assigneeIds;
  const milestone = sent.milestoneWidget;
  return {
    description: sent.descriptionWidget?.description,
    assignee_ids: ids && (ids.length > 0 ? ids : [0]),
    // Nothing is sent to clear it.
    milestone_id: milestone && (milestone.milestoneId ?? 0),
    start_date: dates?.startDate,
    due_date: dates?.dueDate,
    weight: sent.weightWidget?.weight,
  };
}

/** The attributes of an epic that widgets set besides those of issues. */
const epicAttributesOf = ({
  startAndDueDateWidget: dates,
  colorWidget,
}: Widgets & { readonly colorWidget?: { readonly color: unknown } | undefined }) => ({
  color: colorWidget?.color,
  start_date_is_fixed: dates?.isFixed,
  due_date_is_fixed: dates?.isFixed,
});

/** Puts a work item into an iteration or takes it out, if that is asked for: nothing is sent to take it out. */
export async function putIntoIteration(
  { call }: MutationContext,
  { isEpic, at }: WorkItemPlace,
  { iterationWidget: sent }: Widgets,
): Promise<void> {
  if (sent && isEpic) throw notAvailable();
  if (sent) await call(setIteration, { ...at, iteration_id: sent.iterationId ?? null });
}

/** The most work items that are linked at once, as in GitLab. */
const MOST_LINKED = 10;

/** Links a work item with others. */
async function link(
  { call, db }: MutationContext,
  id: number,
  others: readonly number[],
  type: LinkType = "relates_to",
): Promise<void> {
  requireFew(others);
  const { isEpic, at } = await placeOf(db, id);
  for (const other of others) {
    const target = await placeOf(db, other);
    if (target.isEpic !== isEpic) throw new GraphError("Epics are linked with epics only.");
    await call(isEpic ? epicRoutes.link : linkRoutes.add, {
      ...at,
      [isEpic ? "target_group_id" : "target_project_id"]: String(target.id),
      [isEpic ? "target_epic_iid" : "target_issue_iid"]: target.iid,
      link_type: type,
    });
  }
}

function requireFew(ids: readonly number[]): void {
  if (ids.length <= MOST_LINKED) return;
  const problem = `No more than ${MOST_LINKED} work items can be modified at the same time.`;
  throw new GraphError(problem);
}

const listed = (ids: readonly number[]) =>
  ids.length > 1 ? `${ids.slice(0, -1).join(", ")} and ${ids.at(-1)}` : `${ids[0]}`;

const linkedItems = {
  ...item,
  workItemsIds: arg.required(arg.list(workItemId)),
} satisfies Args;
const linkedPayload = { ...payload, message: property("String") };

/** The projects of namespaces' paths. @throws GraphError unless exactly one path is sent */
function projectIn(namespacePath: string | undefined, projectPath: string | undefined): string {
  const [path, other] = [namespacePath, projectPath].filter((sent) => sent !== undefined);
  if (path !== undefined && other === undefined) return path;
  throw new GraphError(
    "Please provide either projectPath or namespacePath argument, but not both.",
  );
}

/** A kind by its number. @throws GraphError if there is none */
function kindNumbered(number: number): Kind {
  const kind = KINDS.find((one) => one.number === number);
  if (!kind) throw new GraphError(`Work Item type with id ${number} was not found`);
  return kind;
}

/** @throws ApiError if the caller may not create work items of a kind in a project that they see */
async function requireCreatable(
  { db, viewer }: MutationContext,
  project: string,
  { name, type }: Kind,
): Promise<void> {
  const source = await findVisible(db, "project", project, viewer);
  if (!source || !ATTRIBUTES.issue.issue_type.isPlanned(type) || mayPlan(source)) return;
  throw unreadable(`You are not allowed to create work items of type ${name}.`);
}

/** Closing and reopening. */
export const STATE_EVENT = enumeration<"close" | "reopen">(
  "WorkItemStateEvent",
  "A change of state.",
  {
    CLOSE: "close",
    REOPEN: "reopen",
  },
);
const EMOJI_ACTION = enumeration<"add" | "remove" | "toggle">(
  "WorkItemAwardEmojiUpdateAction",
  "What becomes of an emoji.",
  {
    ADD: "add",
    REMOVE: "remove",
    TOGGLE: "toggle",
  },
);
const TODO_ACTION = enumeration("WorkItemTodoUpdateAction", "What becomes of a todo.", [
  "ADD",
  "MARK_AS_DONE",
]);

const timelog = arg.input(
  inputType("WorkItemWidgetTimeTrackingTimelogInput", "Time that was spent.", {
    timeSpent: arg.about("Such as `1h 30m`.", arg.required(arg.string)),
    spentAt: arg.about("Default: now.", arg.time),
    summary: arg.string,
  }),
);

/** The widgets that only a change has. */
export const changing = {
  labelsWidget: input("LabelsUpdate", {
    addLabelIds: arg.list(LABEL_ID),
    removeLabelIds: arg.list(LABEL_ID),
  }),
  hierarchyWidget: input("HierarchyUpdate", {
    parentId: arg.clearable(workItemId),
    childrenIds: arg.list(workItemId),
    adjacentWorkItemId: workItemId,
    relativePosition: arg.choice(RELATIVE),
  }),
  notesWidget: input("Notes", { discussionLocked: arg.required(arg.boolean) }),
  notificationsWidget: input("NotificationsUpdate", { subscribed: arg.required(arg.boolean) }),
  awardEmojiWidget: input("AwardEmojiUpdate", {
    action: arg.required(arg.choice(EMOJI_ACTION)),
    name: arg.required(arg.string),
  }),
  currentUserTodosWidget: input("CurrentUserTodos", {
    action: arg.required(arg.choice(TODO_ACTION)),
    todoId: arg.gid("Todo"),
  }),
  timeTrackingWidget: input("TimeTracking", { timeEstimate: arg.string, timelog }),
} satisfies Args;

type Changing = Partial<Values<typeof changing>>;

/** The caller's pending todos on a work item: each action makes one. */
async function pendingOf(db: Reader, id: number, userId: number): Promise<number[]> {
  const sql = `select id from todos where user_id = ? and issue_id = ? and state = 'pending' order by id limit 50`;
  return (await db.rows(sql, [userId, id])).map(([todo]) => todo as number);
}

/** Does what widgets ask for besides changing the issue. */
async function applyOthers(
  context: MutationContext,
  id: number,
  { notificationsWidget, awardEmojiWidget, currentUserTodosWidget, timeTrackingWidget }: Changing,
): Promise<void> {
  const { call, caller, db } = context;
  const { isEpic, routes, at, iid } = await placeOf(db, id);
  if (notificationsWidget) {
    await call(notificationsWidget.subscribed ? routes.subscribe : routes.unsubscribe, at);
  }
  if (awardEmojiWidget) {
    const { action, name } = awardEmojiWidget;
    await changeAward(action, { awardableId: { type: ISSUE.className, id }, name }, context);
  }
  if (currentUserTodosWidget?.action === "ADD") {
    await call(markOn(isEpic ? EPIC : ISSUE), { ...at, target_iid: iid });
  } else if (currentUserTodosWidget) {
    const { todoId } = currentUserTodosWidget;
    const ids = todoId === undefined ? await pendingOf(db, id, caller.id) : [todoId];
    if (ids.length > 0) await finishTodos(ids, context);
  }
  const spent = timeTrackingWidget?.timelog;
  const create = timelogRoutes.get(ISSUE.className)?.create;
  if (spent && create) {
    await call(create, {
      ...at,
      time_spent: spent.timeSpent,
      summary: spent.summary ?? "",
      spent_at: spent.spentAt === undefined ? undefined : new Date(spent.spentAt).toISOString(),
    });
  }
}

/** The names of labels by their ids. */
export const namesOf = async (context: MutationContext, ids: readonly number[] | undefined) =>
  ids && (await labelNames(context, ids));

/** Mutations of work items: they perform the routes of issues. */
export const mutations: Readonly<Record<string, Mutation>> = {
  workItemCreate: mutation({
    about: "Create a work item: an issue, incident, task, test case, or an epic of a group.",
    input: {
      title: arg.required(arg.string),
      workItemTypeId: arg.required(KIND_ID),
      namespacePath: arg.about("The full path of its project, or of the group of an epic.", arg.id),
      projectPath: arg.about("The older name of `namespacePath`.", arg.id),
      description: arg.string,
      confidential: arg.boolean,
      createdAt: arg.time,
      ...widgets,
      labelsWidget: input("LabelsCreate", { labelIds: arg.required(arg.list(LABEL_ID)) }),
      hierarchyWidget: input("HierarchyCreate", { parentId: arg.clearable(workItemId) }),
      linkedItemsWidget: input("LinkedItemsCreate", {
        workItemsIds: arg.required(arg.list(workItemId)),
        linkType: arg.choice(LINK_TYPE),
      }),
      ...rareWidgets,
    },
    payload,
    run: async (sent, context) => {
      const id = projectIn(sent.namespacePath, sent.projectPath);
      const kind = kindNumbered(sent.workItemTypeId);
      if (!kind.type) throw unreadable(`There are no work items of type ${kind.name} here`);
      requireKnown(sent, kind);
      const isEpic = kind.type === "epic";
      if (!isEpic) await requireCreatable(context, id, kind);
      const parentId = sent.hierarchyWidget?.parentId ?? undefined;
      const { createdAt, description, linkedItemsWidget: linked } = sent;
      requireFew(linked?.workItemsIds ?? []);
      const older = description === undefined ? undefined : { description };
      const ofIssue = parentId === undefined ? issueRoutes.create : issueRoutes.createBelow;
      const created = await context.call(isEpic ? epicRoutes.create : ofIssue, {
        id,
        parent_id: parentId,
        title: sent.title,
        issue_type: kind.type,
        confidential: sent.confidential,
        created_at: createdAt === undefined ? undefined : new Date(createdAt).toISOString(),
        ...attributesOf({ ...sent, descriptionWidget: sent.descriptionWidget ?? older }),
        ...(isEpic && epicAttributesOf(sent)),
        labels: await namesOf(context, sent.labelsWidget?.labelIds),
      });
      const workItem = created["id"] as number;
      if (linked) await link(context, workItem, linked.workItemsIds, linked.linkType);
      await putIntoIteration(context, await placeOf(context.db, workItem), sent);
      return { workItem };
    },
  }),
  workItemUpdate: mutation({
    about: "Change, close or reopen a work item.",
    input: {
      ...item,
      title: arg.string,
      confidential: arg.boolean,
      stateEvent: arg.choice(STATE_EVENT),
      ...widgets,
      ...changing,
      ...rareWidgets,
    },
    payload,
    run: async (sent, context) => {
      const { call, db } = context;
      const [row] = await db.rows("select issue_type from issues where id = ?", [sent.id]);
      requireKnown(sent, kindOf(row?.[0] ?? "issue"));
      const { childrenIds = [], ...place } = sent.hierarchyWidget ?? {};
      await putBelow(context, sent.id, place);
      await addChildren(context, sent.id, childrenIds);
      const changes = {
        title: sent.title,
        confidential: sent.confidential,
        state_event: sent.stateEvent,
        ...attributesOf(sent),
        ...epicAttributesOf(sent),
        add_labels: await namesOf(context, sent.labelsWidget?.addLabelIds),
        remove_labels: await namesOf(context, sent.labelsWidget?.removeLabelIds),
        discussion_locked: sent.notesWidget?.discussionLocked,
        time_estimate: sent.timeTrackingWidget?.timeEstimate,
      };
      if (Object.values(changes).some((value) => value !== undefined)) {
        const { routes, at } = await placeOf(db, sent.id);
        await call(routes.change, { ...at, ...changes });
      }
      await putIntoIteration(context, await placeOf(db, sent.id), sent);
      await applyOthers(context, sent.id, sent);
      return { workItem: sent.id };
    },
  }),
  workItemDelete: mutation({
    about: "Delete a work item.",
    input: item,
    payload: { namespace: property(namespace), project: property("Project") },
    run: async ({ id }, { call, db }) => {
      const { isEpic, routes, at } = await placeOf(db, id);
      await call(routes.destroy, at);
      return isEpic ? {} : { project: at["id"] };
    },
  }),
  workItemConvert: mutation({
    about: "Change the kind of a work item.",
    input: { ...item, workItemTypeId: arg.required(KIND_ID) },
    payload,
    run: async ({ id, workItemTypeId }, { call, db }) => {
      const { name, type: issue_type } = kindNumbered(workItemTypeId);
      const refused = unreadable(`You are not allowed to change the Work Item type to ${name}.`);
      if (!issue_type || issue_type === "epic") throw refused;
      const { isEpic, at } = await placeOf(db, id);
      if (isEpic) throw refused;
      const changed = await call(issueRoutes.change, { ...at, issue_type });
      if (changed["issue_type"] !== issue_type) throw refused;
      return { workItem: id };
    },
  }),
  workItemAddLinkedItems: mutation({
    about: "Link a work item with others.",
    input: { ...linkedItems, linkType: arg.choice(LINK_TYPE) },
    payload: linkedPayload,
    run: async ({ id, workItemsIds, linkType }, context) => {
      await link(context, id, workItemsIds, linkType);
      return { workItem: id, message: `Successfully linked ID(s): ${listed(workItemsIds)}.` };
    },
  }),
  workItemRemoveLinkedItems: mutation({
    about: "Remove links of a work item.",
    input: linkedItems,
    payload: linkedPayload,
    run: async ({ id, workItemsIds }, { call, db }) => {
      requireFew(workItemsIds);
      const { isEpic, at } = await placeOf(db, id);
      for (const other of workItemsIds) {
        const found = await db.one<{ id: number }>(LINK_BETWEEN, [id, other, other, id]);
        await call(isEpic ? epicRoutes.unlink : linkRoutes.remove, {
          ...at,
          [isEpic ? "related_epic_link_id" : "issue_link_id"]: found?.id ?? 0,
        });
      }
      return { workItem: id, message: `Successfully unlinked IDs: ${listed(workItemsIds)}.` };
    },
  }),
  workItemsHierarchyReorder: mutation({
    about: "Put a work item below another one, or next to others.",
    input: {
      ...item,
      parentId: workItemId,
      adjacentWorkItemId: workItemId,
      relativePosition: arg.choice(RELATIVE),
    },
    payload: {
      ...payload,
      adjacentWorkItem: property("WorkItem"),
      parentWorkItem: property("WorkItem"),
    },
    run: async ({ id, ...sent }, context) => {
      await putBelow(context, id, sent);
      return {
        workItem: id,
        adjacentWorkItem: sent.adjacentWorkItemId ?? null,
        parentWorkItem: await parentIdOf(context.db, id),
      };
    },
  }),
  workItemHierarchyAddChildrenItems: mutation({
    about: "Put work items below another one.",
    input: { ...item, childrenIds: arg.required(arg.list(workItemId)) },
    payload: { ...payload, addedChildren: property("[WorkItem!]") },
    run: async ({ id, childrenIds }, context) => {
      await addChildren(context, id, childrenIds);
      return { workItem: id, addedChildren: childrenIds };
    },
  }),
  workItemsReorder: mutation({
    about: "Move a work item between others, in the order of `RELATIVE_POSITION_ASC`.",
    input: { ...item, moveBeforeId: workItemId, moveAfterId: workItemId },
    payload,
    run: async ({ id, moveBeforeId, moveAfterId }, { call, db }) => {
      await call(issueRoutes.reorder, {
        ...(await placeOfIssue(db, id)).at,
        move_before_id: moveBeforeId,
        move_after_id: moveAfterId,
      });
      return { workItem: id };
    },
  }),
  workItemSubscribe: mutation({
    about: "Subscribe to a work item, or unsubscribe.",
    input: { ...item, subscribed: arg.required(arg.boolean) },
    payload,
    run: async ({ id, subscribed }, { call, db }) => {
      const { routes, at } = await placeOf(db, id);
      await call(subscribed ? routes.subscribe : routes.unsubscribe, at);
      return { workItem: id };
    },
  }),
};

const LINK_BETWEEN = `select id from issue_links where source_id = ? and target_id = ?
  union all select id from issue_links where source_id = ? and target_id = ?`;
