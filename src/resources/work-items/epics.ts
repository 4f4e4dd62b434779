import { homeOf } from "../../core/access/source.ts";
import {
  type Viewer,
  visibleHomes,
  visibleIssues,
  visiblePlaces,
} from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  constant,
  costing,
  date,
  enumeration,
  first,
  type GraphContext,
  type GraphqlModule,
  gid,
  inputType,
  loaded,
  type MutationContext,
  mutation,
  notAvailable,
  one,
  property,
  required,
  rowType,
  string,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, when } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { awardsOf } from "../award-emoji/graphql.ts";
import { epicRoutes } from "../epics/graphql.ts";
import { placeRoute } from "../hierarchy/changes.ts";
import { GROUP_PATH } from "../issuables/epic.ts";
import { labelNames } from "../issuables/graphql.ts";
import { ISSUE } from "../issuables/issue.ts";
import { numberOf } from "../issuables/mutations.ts";
import { orderValues } from "../issuables/orders.ts";
import {
  SORT as ISSUE_SORT,
  ROWS as ISSUES,
  issueCondition,
  filters as issueFilters,
} from "../issues/graphql.ts";
import { LABEL_ID } from "../labels/graphql.ts";
import { discussionsCount, workItemNotes } from "../notes/graphql.ts";
import { onTarget } from "../todos/graphql.ts";
import { placesOf } from "./filters.ts";
import { putBelow, RELATIVE } from "./mutations.ts";
import { epicFields, fieldsOf, hasParent } from "./widgets.ts";

// Epics as older documents know them: the same rows that are work items of groups.

const IS_EPIC = "i.issue_type = 'epic'";
const STATE = enumeration("EpicState", "Whether an epic is open.", ["opened", "closed", "all"]);
const EVENT = enumeration("EpicStateEvent", "A change of state.", {
  CLOSE: "close",
  REOPEN: "reopen",
});

const orders = { ...ISSUE_SORT.values, ...orderValues(ISSUE, ["start_date"]) };
const SORT: typeof ISSUE_SORT = {
  ...ISSUE_SORT,
  name: "EpicSort",
  about: "The order of a list of epics.",
  values: Object.fromEntries(
    ["CREATED", "UPDATED", "TITLE", "START_DATE", "DUE_DATE"].flatMap((word) =>
      ["ASC", "DESC"].map((way) => [
        // What is called due is called the end of epics.
        `${word === "DUE_DATE" ? "END_DATE" : word}_${way}`,
        orders[`${word}_${way}`] as (typeof ISSUE_SORT)["values"][string],
      ]),
    ),
  ),
};

const filters = {
  ...(Object.fromEntries(
    [
      ...["search", "labelName", "authorUsername", "confidential"],
      ...["createdAfter", "createdBefore", "updatedAfter", "updatedBefore", "myReactionEmoji"],
    ].map((name) => [name, issueFilters[name as keyof typeof issueFilters]]),
  ) as Args),
  iid: arg.id,
  iids: arg.list(arg.id),
  state: arg.choice(STATE),
  topLevelHierarchyOnly: arg.about("Only those that are below no other one.", arg.boolean),
  includeAncestorGroups: arg.withDefault(arg.boolean, false),
  includeDescendantGroups: arg.withDefault(arg.boolean, true),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
} satisfies Args;

/** The epics of a group, and of those below it or above it. */
function ofGroup(args: Values<typeof filters>, context: GraphContext): ChildQuery {
  const {
    sort,
    state,
    topLevelHierarchyOnly,
    includeAncestorGroups,
    includeDescendantGroups,
    ...more
  } = args;
  const places = placesOf({
    includeAncestors: includeAncestorGroups,
    includeDescendants: includeDescendantGroups,
    excludeProjects: true,
  });
  const isOpen = state === undefined || state === "all" ? undefined : when("i.state = ?", state);
  const isTop = "not exists (select 1 from work_item_parents h where h.issue_id = i.id)";
  return {
    ...places,
    where: all([
      places.where,
      when(IS_EPIC),
      isOpen,
      topLevelHierarchyOnly ? when(isTop) : undefined,
      issueCondition(more, context),
    ]),
    order: sort,
  };
}

const webPath = `'/groups/' || ${GROUP_PATH} || '/-/epics/' || i.iid`;
const details = (column: string) =>
  `(select d.${column} from epic_details d where d.issue_id = i.id)`;

/** A day of an epic: milestones give it none. */
const days = (name: "start" | "due") => ({
  [`${name}Date`]: date(`i.${name}_date`),
  [`${name}DateIsFixed`]: boolean(`coalesce(${details(`${name}_date_is_fixed`)}, 0)`),
  [`${name}DateFixed`]: date(details(`${name}_date_fixed`)),
  [`${name}DateFromMilestones`]: constant("Time", null),
});

const descendants = valueType("EpicDescendantCount", "What is below an epic, at any depth.", {
  openedEpics: property("Int"),
  closedEpics: property("Int"),
  openedIssues: property("Int"),
  closedIssues: property("Int"),
});

const NONE_BELOW = { openedEpics: 0, closedEpics: 0, openedIssues: 0, closedIssues: 0 };

/** What the viewer may read below epics, at any depth. */
async function descendantsOf(
  ids: readonly Value[],
  { db, viewer }: GraphContext,
): Promise<Map<Value, typeof NONE_BELOW>> {
  const of = among("h.parent_id", ids);
  const wanted = all([visiblePlaces(viewer), visibleIssues(viewer)]);
  const counted = await db.rows(
    `with recursive below (root, id) as (
       select h.parent_id, h.issue_id from work_item_parents h where ${of.sql}
       union all select b.root, h.issue_id from below b join work_item_parents h on h.parent_id = b.id)
     select b.root, case when ${IS_EPIC} then 1 else 0 end, i.state, count(*) from below b join issues i on i.id = b.id
     join projects p on p.id = i.project_id where ${wanted.sql} group by b.root, 2, i.state`,
    [...of.values, ...wanted.values],
  );
  const found = new Map<Value, typeof NONE_BELOW>();
  for (const [root, isEpic, state, count] of counted) {
    const name = `${state}${isEpic === 1 ? "Epics" : "Issues"}`;
    found.set(root as Value, { ...NONE_BELOW, ...found.get(root as Value), [name]: Number(count) });
  }
  return found;
}

const BY_POSITION = [{ sql: "h.position" }, { sql: "i.id" }];
const PARENT = `(select h.parent_id from work_item_parents h join issues e on e.id = h.parent_id
  where h.issue_id = i.id and e.issue_type = 'epic')`;

const shown = {
  from: ISSUES.from,
  key: "i.id",
  visible: (viewer: Viewer) => all([visibleHomes(viewer), visibleIssues(viewer), when(IS_EPIC)]),
  implements: ["Awardable", "Todoable"],
  fields: {
    ...fieldsOf(
      ...["iid", "title", "titleHtml", "description", "confidential", "author", "labels"],
      ...[
        "createdAt",
        "updatedAt",
        "closedAt",
        "participants",
        "upvotes",
        "downvotes",
        "subscribed",
      ],
    ),
    ...epicFields,
    ...awardsOf(ISSUE.column),
    ...onTarget(ISSUE),
    ...workItemNotes(ISSUE),
    ...days("start"),
    ...days("due"),
    id: gid("Epic", "i.id"),
    name: string("i.title"),
    state: required(word(STATE, "i.state")),
    group: required(one("Group", "p.namespace_id")),
    workItem: one("WorkItem", "i.id"),
    parent: one("Epic", PARENT),
    children: connection("Epic", {
      query: () => ({
        join: "join work_item_parents h on h.issue_id = i.id",
        parent: "h.parent_id",
        order: BY_POSITION,
      }),
    }),
    issues: connection("EpicIssue", {
      query: () => ({
        join: "join work_item_parents h on h.issue_id = i.id",
        parent: "h.parent_id",
        order: BY_POSITION,
      }),
    }),
    descendantCounts: costing(5, loaded(descendants, descendantsOf, { empty: NONE_BELOW })),
    userDiscussionsCount: discussionsCount(ISSUE),
    webUrl: required(string(field.url(webPath, (path) => path))),
    webPath: required(string(webPath)),
    reference: required(
      computed(
        "String",
        [GROUP_PATH, "i.iid"],
        ([group, iid], _, { full }) => `${full ? group : ""}&${iid}`,
        {
          full: arg.withDefault(arg.boolean, false),
        },
      ),
    ),
  },
};

const epic = rowType("Epic", {
  about: "An epic of a group, as older documents know it.",
  ...shown,
});

const preferences = valueType(
  "BoardEpicUserPreferences",
  "How somebody looks at an epic on a board.",
  {
    collapsed: required(property("Boolean")),
  },
);

const boardEpic = rowType("BoardEpic", {
  about: "An epic on a board, with the issues there that are below it.",
  ...shown,
  fields: {
    ...shown.fields,
    // Nobody collapses one: that is not stored.
    userPreferences: { ...constant("BoardEpicUserPreferences", null), declares: preferences },
  },
});

const epicIssue = rowType("EpicIssue", {
  about: "An issue below an epic.",
  ...ISSUES,
  fields: {
    ...fieldsOf(
      ...["id", "iid", "title", "titleHtml", "description", "confidential", "author", "assignees"],
      ...["labels", "milestone", "dueDate", "weight", "createdAt", "updatedAt", "closedAt"],
      ...["project", "projectId", "webUrl", "webPath", "reference", "subscribed"],
    ),
    epicIssueId: gid("EpicIssue", "i.id"),
    state: required(string("i.state")),
    epic: one("Epic", PARENT),
  },
});

/** Which epic: its group and its number there. */
const place = {
  groupPath: arg.required(arg.id),
  iid: arg.required(arg.id),
} satisfies Args;
const at = ({ groupPath, iid }: Values<typeof place>) => ({ id: groupPath, epic_iid: iid });

const payload = { epic: property("Epic") };

/** What a new epic and a change have in common. */
const changed = {
  title: arg.string,
  description: arg.string,
  confidential: arg.boolean,
  color: arg.string,
  startDateFixed: arg.clearable(arg.string),
  startDateIsFixed: arg.boolean,
  dueDateFixed: arg.clearable(arg.string),
  dueDateIsFixed: arg.boolean,
  addLabelIds: arg.list(LABEL_ID),
  removeLabelIds: arg.list(LABEL_ID),
  addLabels: arg.list(arg.string),
} satisfies Args;

/** What routes take of {@link changed}. */
async function attributesOf(input: Partial<Values<typeof changed>>, context: MutationContext) {
  const { addLabelIds, removeLabelIds, addLabels = [] } = input;
  const added = [...addLabels, ...(addLabelIds ? await labelNames(context, addLabelIds) : [])];
  return {
    title: input.title,
    description: input.description,
    confidential: input.confidential,
    color: input.color,
    start_date_fixed: input.startDateFixed,
    start_date_is_fixed: input.startDateIsFixed,
    due_date_fixed: input.dueDateFixed,
    due_date_is_fixed: input.dueDateIsFixed,
    add_labels: added.length > 0 ? added : undefined,
    remove_labels: removeLabelIds && (await labelNames(context, removeLabelIds)),
  };
}

/** The payload for an epic at a place: the route that was performed checks who may see it. */
const storedAt = async (db: Reader, { groupPath, iid }: Values<typeof place>) => {
  const [row] = await db.rows(
    `select i.id from issues i join projects p on p.id = i.project_id
     where p.id = ? and i.iid = ?`,
    [await homeOf(db, groupPath), numberOf(iid)],
  );
  return { epic: row?.[0] ?? null };
};

/** Epics, as older documents know them. */
export const epicModule = {
  types: [epic, boardEpic, epicIssue],
  extend: {
    Issue: { epic: one("Epic", PARENT), hasEpic: hasParent },
    Group: {
      epic: first("Epic", { args: filters, query: ofGroup }),
      epics: connection("Epic", { args: filters, query: ofGroup }),
    },
  },
  mutations: {
    createEpic: mutation({
      about: "Create an epic.",
      input: { ...changed, groupPath: arg.required(arg.id) },
      payload,
      run: async ({ groupPath: id, ...input }, context) => {
        const { add_labels: labels, ...attributes } = await attributesOf(input, context);
        const made = await context.call(epicRoutes.create, { id, ...attributes, labels });
        return { epic: made["id"] };
      },
    }),
    updateEpic: mutation({
      about: "Change, close or reopen an epic.",
      input: {
        ...place,
        ...changed,
        removeLabels: arg.list(arg.string),
        stateEvent: arg.choice(EVENT),
      },
      payload,
      run: async ({ removeLabels, stateEvent, ...input }, context) => {
        const { remove_labels: removed = removeLabels, ...attributes } = await attributesOf(
          input,
          context,
        );
        const shown = await context.call(epicRoutes.change, {
          ...at(input),
          ...attributes,
          remove_labels: removed,
          state_event: stateEvent,
        });
        return { epic: shown["id"] };
      },
    }),
    epicSetSubscription: mutation({
      about: "Subscribe to an epic, or unsubscribe.",
      input: { ...place, subscribedState: arg.required(arg.boolean) },
      payload,
      run: async (input, { call, db }) => {
        await call(
          input.subscribedState ? epicRoutes.subscribe : epicRoutes.unsubscribe,
          at(input),
        );
        return storedAt(db, input);
      },
    }),
    epicAddIssue: mutation({
      about: "Put an issue below an epic.",
      input: { ...place, projectPath: arg.required(arg.id), issueIid: arg.required(arg.string) },
      payload: { ...payload, epicIssue: property("EpicIssue") },
      run: async (input, { call, db }) => {
        const { epic: parent_id } = await storedAt(db, input);
        if (parent_id === null) throw notAvailable();
        const issue = { id: input.projectPath, iid: numberOf(input.issueIid) };
        const placed = await call(placeRoute, { ...issue, parent_id });
        return { epic: parent_id, epicIssue: placed["id"] };
      },
    }),
    issueSetEpic: mutation({
      about: "Put an issue below an epic, or take it away.",
      input: {
        projectPath: arg.required(arg.id),
        iid: arg.required(arg.string),
        epicId: arg.clearable(arg.gid("Epic")),
      },
      payload: { issue: property("Issue") },
      run: async ({ projectPath, iid, epicId = null }, { call }) => {
        const placed = await call(placeRoute, {
          ...{ id: projectPath, iid: numberOf(iid) },
          parent_id: epicId,
        });
        return { issue: placed["id"] };
      },
    }),
    epicTreeReorder: mutation({
      about: "Move what is below an epic: among its neighbours, or below another one.",
      input: {
        baseEpicId: arg.required(arg.gid("Epic")),
        moved: arg.required(
          arg.input(
            inputType("EpicTreeNodeFieldsInputType", "What is moved, and where it comes.", {
              id: arg.required(arg.gidOf("EpicTreeSortingID", ["Epic", "EpicIssue"])),
              adjacentReferenceId: arg.gidOf("EpicTreeSortingID", ["Epic", "EpicIssue"]),
              relativePosition: arg.choice(RELATIVE),
              newParentId: arg.gid("Epic"),
            }),
          ),
        ),
      },
      payload: {},
      run: async ({ baseEpicId, moved }, context) => {
        await putBelow(context, moved.id.id, {
          parentId: moved.newParentId ?? baseEpicId,
          adjacentWorkItemId: moved.adjacentReferenceId?.id,
          relativePosition: moved.relativePosition,
        });
        return {};
      },
    }),
  },
} satisfies GraphqlModule;
