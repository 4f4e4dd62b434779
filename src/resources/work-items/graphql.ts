import { ON_EPIC } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  constant,
  first,
  type GraphContext,
  type GraphqlModule,
  gid,
  one,
  required,
  rowType,
  string,
  type Values,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import {
  mayAdmin,
  mayAdminParentLink,
  mayDelete,
  mayMarkAsInternal,
} from "../issuables/abilities.ts";
import { GROUP_PATH, PLACE_PATH } from "../issuables/epic.ts";
import { permissions } from "../issuables/graphql.ts";
import { ISSUE } from "../issuables/issue.ts";
import { numberOf } from "../issuables/mutations.ts";
import { orderValues } from "../issuables/orders.ts";
import { workItemState } from "../issue-links/graphql.ts";
import { SORT as ISSUE_SORT, issueCondition, filters as issueFilters } from "../issues/graphql.ts";
import { type Namespace, placeNamespaceOf } from "../namespaces/graphql.ts";
import { discussionsCount } from "../notes/graphql.ts";
import { bulkMutations } from "./bulk.ts";
import { epicModule } from "./epics.ts";
import { moreCondition, moreFilters, placesOf } from "./filters.ts";
import { mutations } from "./mutations.ts";
import { kindOf, kinds, WIDGET, widgetsOf, workItemType, workItemTypes } from "./types.ts";
import { classOf, fieldsOf, ROWS, widgetTypes } from "./widgets.ts";

// GitLab's newer clients know issues as work items: the same rows under another name, with most of what they have in
// widgets.

/** The fields that work items have themselves. */
const SHARED = [
  ...["iid", "title", "titleHtml", "name", "description", "confidential", "author"],
  ...["createdAt", "updatedAt", "closedAt"],
];

const never = () => false;
const userPermissions = permissions(ISSUE, "WorkItem", {
  setWorkItemMetadata: mayAdmin(ISSUE),
  adminWorkItemLink: mayAdmin(ISSUE),
  moveWorkItem: mayAdmin(ISSUE),
  deleteWorkItem: (_, { source }) => !source.archived && mayDelete(source),
  markNoteAsInternal: (_, { source }) => !source.archived && mayMarkAsInternal(source),
  adminParentLink: mayAdminParentLink,
  // There is nothing of these here.
  blockedWorkItems: never,
  cloneWorkItem: never,
  reportSpam: never,
  summarizeComments: never,
});

const choice = arg.list(arg.choice(WIDGET));

const webPath = `'/' || ${PLACE_PATH} || case when i.issue_type = 'epic' then '/-/epics/' else '/-/issues/' end || i.iid`;

const workItem = rowType("WorkItem", {
  about: "An issue or epic, as GitLab's newer clients know it.",
  ...ROWS,
  implements: ["Todoable"],
  fields: {
    ...fieldsOf(...SHARED),
    id: gid("WorkItem", "i.id"),
    archived: required(boolean("p.archived")),
    hidden: constant("Boolean", false),
    imported: constant("Boolean!", false),
    lockVersion: constant("Int!", 0),
    namespace: placeNamespaceOf("i.project_id"),
    // Epics have none.
    project: one("Project", "i.project_id"),
    webUrl: string(field.url(webPath, (path) => path)),
    webPath: string(webPath),
    reference: required(
      computed(
        "String",
        [
          `case when i.issue_type = 'epic' then ${GROUP_PATH} || '&' else p.full_path || '#' end`,
          "i.iid",
        ],
        ([place, iid], _, { full }) => `${full ? place : String(place).slice(-1)}${iid}`,
        { full: arg.withDefault(arg.boolean, false) },
      ),
    ),
    state: required(workItemState),
    userDiscussionsCount: discussionsCount(ISSUE),
    workItemType: required(computed(workItemType, ["i.issue_type"], ([type]) => kindOf(type))),
    userPermissions,
    createNoteEmail: constant("String", null),
    externalAuthor: constant("String", null),
    duplicatedToWorkItemUrl: constant("String", null),
    movedToWorkItemUrl: constant("String", null),
    promotedToEpicUrl: constant("String", null),
    showPlanUpgradePromotion: constant("Boolean!", false),
    widgets: computed(
      "[WorkItemWidget!]",
      ["i.id", "i.issue_type"],
      ([id, type], _, { onlyTypes, exceptTypes = [] }) =>
        widgetsOf(kindOf(type))
          .filter((one) => (onlyTypes?.includes(one) ?? true) && !exceptTypes.includes(one))
          .map((widget) => ({ type: classOf(widget), key: id })),
      { onlyTypes: choice, exceptTypes: choice },
    ),
    features: required(one("WorkItemFeatures", "i.id")),
  },
});

const SORT: typeof ISSUE_SORT = {
  ...ISSUE_SORT,
  name: "WorkItemSort",
  values: { ...ISSUE_SORT.values, ...orderValues(ISSUE, ["start_date"]) },
};
const filters = {
  ...issueFilters,
  ...moreFilters,
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_ASC"]),
} satisfies Args;

type Filters = Values<typeof filters>;

const queryOf = ({ sort, ...args }: Filters, context: GraphContext): ChildQuery => ({
  where: all([issueCondition(args, context), moreCondition(context.viewer, args)]),
  order: sort,
});

const NOTHING = when("1 = 0");

/** The work items of a namespace. */
function ofNamespace(args: Filters, context: GraphContext, { kind, id }: Namespace): ChildQuery {
  const query = queryOf(args, context);
  if (kind === "group") {
    const { parent, ...places } = placesOf(args);
    return {
      ...query,
      ...places,
      where: all([when(`${parent} = ?`, id), places.where, query.where]),
    };
  }
  const within = kind === "project" ? when("i.project_id = ?", id) : NOTHING;
  return { ...query, where: all([within, query.where]) };
}

/** Work items. */
export const graphqlModule: GraphqlModule = {
  types: [workItem, ...(kinds ?? []), ...(widgetTypes ?? []), ...epicModule.types],
  extend: {
    Issue: epicModule.extend.Issue,
    Namespace: {
      workItem: first("WorkItem", {
        needs: [],
        args: { iid: arg.string },
        query: ({ iid = "" }, _, [namespace]) => {
          const { kind, id } = namespace as unknown as Namespace;
          const place = {
            project: when("i.project_id = ?", id),
            group: all([when("p.namespace_id = ?", id), when(ON_EPIC)]),
            user: NOTHING,
          };
          return { where: all([place[kind], when("i.iid = ?", numberOf(iid))]) };
        },
      }),
      workItems: connection("WorkItem", {
        needs: [],
        args: filters,
        query: (args, context, [namespace]) =>
          ofNamespace(args, context, namespace as unknown as Namespace),
      }),
      workItemTypes: workItemTypes(({ kind }: Namespace) => kind),
    },
    Project: {
      workItems: connection("WorkItem", {
        args: filters,
        query: (args, context) => ({ parent: "i.project_id", ...queryOf(args, context) }),
      }),
      workItemTypes: workItemTypes(() => "project"),
    },
    Group: {
      ...epicModule.extend.Group,
      workItems: connection("WorkItem", {
        args: filters,
        query: (args, context) => {
          const query = queryOf(args, context);
          const places = placesOf(args);
          return { ...places, ...query, where: all([query.where, places.where]) };
        },
      }),
      workItemTypes: workItemTypes(() => "group"),
    },
    Query: {
      workItem: first("WorkItem", {
        args: { id: arg.required(arg.gid("WorkItem")) },
        query: ({ id }) => ({ where: when("i.id = ?", id) }),
      }),
    },
  },
  mutations: { ...mutations, ...bulkMutations, ...epicModule.mutations },
};
