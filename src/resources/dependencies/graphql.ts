import { withSources } from "../../core/access/source.ts";
import { visiblePackages, visibleProjects } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { PACKAGE_MANAGERS, type PackageManager } from "../../dependencies/types.ts";
import {
  type Args,
  arg,
  type ChildQuery,
  computed,
  connection,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  loaded,
  one,
  property,
  required,
  rowType,
  sortEnum,
  string,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { inGroup } from "../namespaces/graphql.ts";
import { mayReadVulnerabilities } from "./abilities.ts";

const upper = (manager: string) => manager.toUpperCase();

const MANAGER = enumeration<PackageManager>(
  "PackageManager",
  "What a dependency is installed with.",
  Object.fromEntries(PACKAGE_MANAGERS.map((manager) => [upper(manager), manager])),
);

const location = valueType("Location", "Where a dependency is stated.", {
  path: property("String"),
  blobPath: property("String"),
});
const version = valueType("ComponentVersion", "A version of a dependency.", {
  version: required(property("String")),
});
const vulnerability = valueType("DependencyVulnerability", "A known vulnerability.", {
  name: required(property("String")),
  severity: required(property("String")),
});

/** The vulnerabilities of dependencies: as in the REST API, only developers and above see them. */
async function vulnerabilitiesOf(
  ids: readonly Value[],
  { db, viewer }: GraphContext,
): Promise<Map<Value, unknown[]>> {
  const among = placeholders(ids);
  const found = await db.all<{ id: number; project_id: number; vulnerabilities: string }>(
    `select id, project_id, vulnerabilities from dependencies where id in (${among.sql})`,
    among.values,
  );
  const all = await withSources(db, found, viewer);
  const seen = all.filter(({ source }) => mayReadVulnerabilities(source));
  return new Map(seen.map(({ id, vulnerabilities }) => [id, JSON.parse(vulnerabilities)]));
}

const dependency = rowType("Dependency", {
  about: "A package that a project depends on.",
  from: "dependencies d join projects p on p.id = d.project_id",
  key: "d.id",
  // As in REST, only users see them, and guests of a private project may not read its repository.
  visible: (viewer) =>
    viewer.caller
      ? all([visibleProjects(viewer), visiblePackages(viewer)])
      : { sql: "1 = 0", values: [] },
  fields: {
    id: computed("ID!", ["d.id"], ([id]) => `gid://gitlab/Sbom::Occurrence/${id}`),
    name: required(string("d.name")),
    version: string("d.version"),
    componentVersion: computed(version, ["d.version"], ([stated]) => ({ version: stated })),
    packager: word(
      MANAGER,
      field.derived(["d.package_manager"], "string", ([manager]) => upper(String(manager))),
    ),
    location: computed(
      location,
      ["p.full_path", "p.default_branch", "d.dependency_file_path"],
      ([project, branch, path]) => ({
        path,
        blobPath: branch === null ? null : `/${project}/-/blob/${branch}/${path}`,
      }),
    ),
    project: required(one("Project", "d.project_id")),
    vulnerabilityCount: required(
      loaded(
        "Int",
        async (ids, context) =>
          new Map(
            [...(await vulnerabilitiesOf(ids, context))].map(([id, some]) => [id, some.length]),
          ),
        { empty: 0 },
      ),
    ),
    vulnerabilities: {
      ...loaded(vulnerability, vulnerabilitiesOf, { empty: [] }),
      type: `[${vulnerability.name}!]!`,
    },
  },
});

const SORT = sortEnum("DependencySort", "The order of dependencies.", "d.id", {
  NAME: { sql: "d.name", isText: true },
  PACKAGER: { sql: "d.package_manager", isText: true },
});

const filters = {
  packageManagers: arg.list(arg.choice(MANAGER)),
  componentNames: arg.list(arg.string),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["NAME_ASC"]),
} satisfies Args;

/** Dependencies belong to the ultimate tier. */
const dependenciesOf = (scope: Pick<ChildQuery, "join" | "parent">) =>
  connection("Dependency", {
    args: filters,
    query: ({ packageManagers, componentNames, sort }, { tier }) => ({
      ...scope,
      where: all([
        tier === "ultimate" ? undefined : when("1 = 0"),
        packageManagers?.length ? among("d.package_manager", packageManagers) : undefined,
        componentNames?.length ? among("d.name", componentNames) : undefined,
      ]),
      order: sort,
    }),
  });

/** Dependencies. */
export const graphqlModule: GraphqlModule = {
  types: [dependency],
  extend: {
    Project: { dependencies: dependenciesOf({ parent: "d.project_id" }) },
    Group: {
      dependencies: dependenciesOf(inGroup()),
    },
  },
};
