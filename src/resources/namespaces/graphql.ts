import {
  ON_EPIC,
  VISIBILITIES,
  VISIBILITY_WORDS,
  visibleGroups,
  visibleProjects,
} from "../../core/access/visibility.ts";
import {
  arg,
  type ChildQuery,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  loaded,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";

/** Who may see something, as numbers. */
export const VISIBILITY = enumeration<number>("VisibilityLevelsEnum", "Who may see something.", {
  ...VISIBILITIES,
});

/** How rows of projects belong to a group. */
export const inGroup = (includesSubgroups = true): Pick<ChildQuery, "join" | "parent"> =>
  includesSubgroups
    ? {
        join: "join namespace_ancestors a on a.namespace_id = p.namespace_id",
        parent: "a.ancestor_id",
      }
    : { parent: "p.namespace_id" };

/** A group, the place of a user's own projects, or a project: GitLab has a namespace for each. */
export interface Namespace {
  readonly kind: "group" | "user" | "project";
  /** The number of the group, of the user's namespace, or of the project. */
  readonly id: number;
  readonly full_path: string;
  readonly path: string;
  readonly name: string;
  readonly full_name: string;
  readonly description: string | null;
  readonly visibility: number;
  /** The group that a group or project is in. */
  readonly parent_id: number | null;
}

const CLASSES = {
  group: "Group",
  user: "Namespaces::UserNamespace",
  project: "Namespaces::ProjectNamespace",
};

/** The id of a namespace, as an argument. */
export const NAMESPACE_ID = arg.gid("Namespace", [
  "Namespace",
  "Group",
  "Namespaces::UserNamespace",
]);

const read = <T>(type: string, of: (namespace: Namespace) => T) => property(type, of);

/** The type of namespaces. */
export const namespace = valueType(
  "Namespace",
  "A group, the place of a user's own projects, or a project.",
  {
    id: required(read("ID", ({ kind, id }) => `gid://gitlab/${CLASSES[kind]}/${id}`)),
    fullPath: required(read("ID", ({ full_path }) => full_path)),
    path: required(read("String", ({ path }) => path)),
    name: required(read("String", ({ name }) => name)),
    fullName: required(read("String", ({ full_name }) => full_name)),
    description: read("String", ({ description }) => description),
    visibility: read("String", ({ visibility }) => VISIBILITY_WORDS[visibility]),
    parent: read("Group", ({ parent_id }) => parent_id),
  },
);

const NAMESPACE_COLUMNS =
  "n.kind, n.id, n.full_path, n.path, n.name, n.full_name, n.description, n.visibility, n.parent_id, n.owner_id";
const NAMESPACE = `select ${NAMESPACE_COLUMNS} from namespaces n`;

const PROJECT_NAMESPACE = `select 'project' as kind, p.id, p.full_path, p.path, p.name,
    n.full_name || ' / ' || p.name as full_name, p.description, p.visibility,
    case when n.kind = 'group' then n.id end as parent_id
  from projects p join namespaces n on n.id = p.namespace_id`;

/** Groups and users' namespaces that the caller may see, by a column. */
async function namespacesBy(
  column: "id" | "owner_id",
  values: readonly Value[],
  { db, viewer }: GraphContext,
): Promise<Map<Value, Namespace>> {
  const [among, groups] = [placeholders(values), visibleGroups(viewer)];
  const found = await db.all<Namespace & { owner_id: number | null }>(
    `${NAMESPACE} where n.${column} in (${among.sql}) and (n.kind = 'user' or ${groups.sql})`,
    [...among.values, ...groups.values],
  );
  return new Map(found.map((row) => [row[column], row]));
}

/** The namespace of each row, by a column with its number or, by default, that of its owner. */
export const namespaceOf = (key?: string) =>
  key === undefined
    ? loaded(namespace, (ids, context) => namespacesBy("owner_id", ids, context))
    : loaded(namespace, (ids, context) => namespacesBy("id", ids, context), { key });

/** The groups of the hidden projects that have their epics, with these projects' numbers. */
const HOME_NAMESPACE = `select ${NAMESPACE_COLUMNS}, p.id as place_id
  from namespaces n join projects p on p.namespace_id = n.id`;

/** The namespaces of projects that the caller may see, and the groups of hidden ones, by a column with the projects' numbers. */
export const placeNamespaceOf = (key: string) =>
  loaded(
    namespace,
    async (ids, { db }) => {
      const among = placeholders(ids);
      const [projects, groups] = await Promise.all([
        db.all<Namespace>(
          `${PROJECT_NAMESPACE} where p.id in (${among.sql}) and not (${ON_EPIC})`,
          among.values,
        ),
        db.all<Namespace & { place_id: number }>(
          `${HOME_NAMESPACE} where p.id in (${among.sql}) and ${ON_EPIC}`,
          among.values,
        ),
      ]);
      return new Map([
        ...projects.map((row) => [row.id, row] as const),
        ...groups.map((row) => [row.place_id, row] as const),
      ]);
    },
    { key },
  );

/** The namespace at a path that the caller may see. */
async function namespaceAt(
  path: string,
  { db, viewer }: GraphContext,
): Promise<Namespace | undefined> {
  const [groups, projects] = [visibleGroups(viewer), visibleProjects(viewer)];
  const found = await db.one<Namespace>(
    `${NAMESPACE} where lower(n.full_path) = lower(?) and (n.kind = 'user' or ${groups.sql})`,
    [path, ...groups.values],
  );
  if (found) return found;
  return db.one<Namespace>(
    `${PROJECT_NAMESPACE} where lower(p.full_path) = lower(?) and ${projects.sql}`,
    [path, ...projects.values],
  );
}

/** Groups, users' own namespaces and those of projects. */
export const graphqlModule: GraphqlModule = {
  types: [namespace],
  extend: {
    Query: {
      namespace: property(
        namespace,
        (_, context: GraphContext, { fullPath }) => namespaceAt(fullPath, context),
        { fullPath: arg.required(arg.id) },
      ),
    },
    User: { namespace: namespaceOf() },
  },
};
