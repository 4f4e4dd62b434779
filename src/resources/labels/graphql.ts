import { inheritedBy, ownedBy } from "../../core/access/owner.ts";
import { NOT_DELETED_LABEL, visibleOwner } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
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
  html,
  leaf,
  mutation,
  notAvailable,
  property,
  required,
  routeOf,
  rowType,
  string,
  time,
  type Values,
} from "../../graphql/declare.ts";
import {
  all,
  any,
  belowGroup,
  type Condition,
  projectsBelow,
  when,
} from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Value } from "../../store/port.ts";
import { changeLabel, labelResource } from "./index.ts";
import { textColor } from "./json.ts";
import { DEFAULT_COLOR } from "./queries.ts";

const label = rowType("Label", {
  about: "A label.",
  from: "labels l",
  key: "l.id",
  visible: (viewer) =>
    all([visibleOwner(viewer, "l", ["issues", "merge_requests"]), when(NOT_DELETED_LABEL)]),
  fields: {
    id: required(
      leaf(
        "LabelID",
        field.derived(
          ["l.id", "l.project_id"],
          "string",
          ([id, projectId]) =>
            `gid://gitlab/${projectId === null ? "GroupLabel" : "ProjectLabel"}/${id}`,
        ),
      ),
    ),
    title: required(string("l.name")),
    description: string("l.description"),
    descriptionHtml: html("l.description"),
    color: required(string("l.color")),
    textColor: required(string(textColor)),
    archived: required(boolean("l.archived")),
    lockOnMerge: constant("Boolean!", false),
    createdAt: required(time("l.created_at")),
    updatedAt: required(time("l.updated_at")),
  },
});

/** What labels are called in global ids. */
export const LABEL_CLASSES = ["Label", "GroupLabel", "ProjectLabel"];
/** The id of a label: of a group or of a project. */
export const LABEL_ID = arg.gid("Label", LABEL_CLASSES);

const SEARCHABLE = enumeration<string>("LabelSearchFieldList", "Where to search.", {
  TITLE: "l.name",
  DESCRIPTION: "l.description",
});

const filters = {
  title: arg.string,
  searchTerm: arg.string,
  searchIn: arg.list(arg.choice(SEARCHABLE)),
  archived: arg.about("Only archived labels, or only others. Default: all.", arg.boolean),
} satisfies Args;

function conditionOf(args: Partial<Values<typeof filters>>): Condition {
  const { title, searchTerm, searchIn, archived } = args;
  const columns = searchIn && searchIn.length > 0 ? searchIn : ["l.name", "l.description"];
  return all([
    when("l.name = ?", title),
    searchTerm ? contains(columns, searchTerm) : undefined,
    archived === undefined ? undefined : when("l.archived = ?", Number(archived)),
  ]);
}

const ORDER = [{ sql: "l.name", isText: true }, { sql: "l.id" }];

const groupFilters = {
  ...filters,
  onlyGroupLabels: arg.withDefault(arg.boolean, false),
  includeAncestorGroups: arg.withDefault(arg.boolean, false),
  includeDescendantGroups: arg.withDefault(arg.boolean, false),
} satisfies Args;

/** Labels of a group and, if asked, of the groups above and below it and of their projects. */
function ofGroup(
  args: Partial<Values<typeof groupFilters>>,
  _: GraphContext,
  [groupId]: readonly Value[],
): ChildQuery {
  const id = groupId as number;
  const own = { column: "namespace_id", id, namespaceId: id } as const;
  const scopes = [args.includeAncestorGroups ? inheritedBy("l", own) : ownedBy("l", own)];
  if (args.includeDescendantGroups) {
    scopes.push(belowGroup("l.namespace_id", id));
    if (!args.onlyGroupLabels) scopes.push(projectsBelow("l.project_id", id));
  }
  return { where: all([any(scopes), conditionOf(args)]), order: ORDER };
}

const projectFilters = {
  ...filters,
  includeAncestorGroups: arg.withDefault(arg.boolean, false),
} satisfies Args;

/** Labels of a project and, if asked, of the groups above it. */
function ofProject(
  args: Partial<Values<typeof projectFilters>>,
  _: GraphContext,
  [id, namespaceId]: readonly Value[],
): ChildQuery {
  const own = {
    column: "project_id",
    id: id as number,
    namespaceId: namespaceId as number,
  } as const;
  const scope = args.includeAncestorGroups ? inheritedBy("l", own) : ownedBy("l", own);
  return { where: all([scope, conditionOf(args)]), order: ORDER };
}

/** The columns of their parents that lists of labels need. */
const OF_GROUP = ["n.id"];
const OF_PROJECT = ["p.id", "p.namespace_id"];

const oneTitled = { title: arg.required(arg.string) } satisfies Args;

const CREATE = {
  group: routeOf(labelResource, "POST /groups/:id/labels"),
  project: routeOf(labelResource, "POST /projects/:id/labels"),
};

/** Labels. */
export const graphqlModule: GraphqlModule = {
  types: [label],
  extend: {
    Group: {
      label: first("Label", {
        args: oneTitled,
        needs: OF_GROUP,
        query: (args, context, group) =>
          ofGroup({ ...args, includeAncestorGroups: true }, context, group),
      }),
      labels: connection("Label", { args: groupFilters, needs: OF_GROUP, query: ofGroup }),
    },
    Project: {
      label: first("Label", {
        args: oneTitled,
        needs: OF_PROJECT,
        query: (args, context, project) =>
          ofProject({ ...args, includeAncestorGroups: true }, context, project),
      }),
      labels: connection("Label", { args: projectFilters, needs: OF_PROJECT, query: ofProject }),
    },
  },
  mutations: {
    labelCreate: mutation({
      about: "Create a label of a group or project.",
      input: {
        title: arg.required(arg.string),
        color: arg.withDefault(arg.string, DEFAULT_COLOR),
        description: arg.string,
        groupPath: arg.id,
        projectPath: arg.id,
      },
      payload: { label: property("Label") },
      run: async ({ title, color, description, groupPath, projectPath }, { call }) => {
        if ((groupPath === undefined) === (projectPath === undefined)) {
          throw new GraphError("Exactly one of group_path or project_path arguments is required.");
        }
        const created = await call(CREATE[groupPath === undefined ? "project" : "group"], {
          id: groupPath ?? projectPath,
          name: title,
          color,
          description,
        });
        return { label: created["id"] };
      },
    }),
    labelUpdate: mutation({
      about: "Change a label, or archive it.",
      input: {
        id: arg.required(LABEL_ID),
        archived: arg.boolean,
        title: arg.string,
        color: arg.string,
        description: arg.clearable(arg.string),
      },
      payload: { label: property("Label") },
      run: async ({ id, archived, title, color, description }, { call, db }) => {
        const owner = await db.one<{ project_id: number | null; namespace_id: number }>(
          "select project_id, namespace_id from labels where id = ?",
          [id],
        );
        if (!owner) throw notAvailable();
        const { project_id, namespace_id } = owner;
        const change = changeLabel[project_id === null ? "group" : "project"];
        const changes = { new_name: title, color, description, archived };
        await call(change, { id: project_id ?? namespace_id, label_id: id, ...changes });
        return { label: id };
      },
    }),
  },
};
