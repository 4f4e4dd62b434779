import { notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { RawReply } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import type { Nuspec } from "./nuspec.ts";
import { compareVersions } from "./versions.ts";

/** Versions that are read at a time, and that a search shows of a package. */
const BATCH = 50;
const MOST_SHOWN = 10;

const NUGET = "packages pk join projects p on p.id = pk.project_id";
const json = { "content-type": "application/json", "cache-control": "private, no-cache" };

/** A version of a package. */
export interface Row {
  readonly id: number;
  readonly project_id: number;
  readonly name: string;
  readonly version: string;
  readonly created_at: number;
  readonly manifest: string;
}

/** The packages of a name, in any case. @param where which packages `pk` of which projects `p` */
const named = (name: string, where: Condition): Condition => ({
  sql: `pk.package_type = 'nuget' and lower(pk.name) = ? and ${where.sql}`,
  values: [name.toLowerCase(), ...where.values],
});

/** A version of a package, or `undefined`. Of one that several projects have, the newest counts. @param version normalized */
export function findRow(
  db: Reader,
  name: string,
  version: string,
  where: Condition,
): Awaitable<Row | undefined> {
  const of = named(name, where);
  return db.one<Row>(
    `select pk.id, pk.project_id, pk.name, pk.version, pk.created_at, pk.manifest from ${NUGET}
     where ${of.sql} and lower(pk.version) = ? order by pk.id desc limit 1`,
    [...of.values, version.toLowerCase()],
  );
}

/** The versions of a package, the lowest first. @throws ApiError 404 if there are none */
export async function versionsOf(db: Reader, name: string, where: Condition): Promise<string[]> {
  const of = named(name, where);
  const found = await db.rows(
    `select distinct pk.version from ${NUGET} where ${of.sql}`,
    of.values,
  );
  if (found.length === 0) throw notFound("Package");
  return found.map(([version]) => String(version)).sort(compareVersions);
}

const placeOf = ({ base }: View, project: number) =>
  `${base}/api/v4/projects/${project}/packages/nuget`;

/** The addresses of a version. */
function linksOf(view: View, { project_id: project, name, version }: Row) {
  const file = `${name}.${version}.nupkg`.toLowerCase();
  const place = placeOf(view, project);
  return {
    "@id": `${place}/metadata/${name}/${version}.json`,
    packageContent: `${place}/download/${name}/${version}/${file}`,
  };
}

/** What NuGet is told of a version. */
export function shownOf(view: View, row: Row): object {
  const links = linksOf(view, row);
  const { dependencies, ...told } = JSON.parse(row.manifest) as Nuspec;
  const group = (framework: string | undefined, list: readonly Dependency[]) => {
    const id = `${links["@id"]}#dependencyGroup${framework ? `/${framework.toLowerCase()}` : ""}`;
    return {
      "@id": id,
      "@type": "PackageDependencyGroup",
      ...(framework && { targetFramework: framework }),
      dependencies: list.map((one) => ({
        "@id": `${id}/${one["@id"].toLowerCase()}`,
        "@type": "PackageDependency",
        id: one["@id"],
        range: one["@version"] ?? "",
      })),
    };
  };
  const groups = [
    ...(dependencies?.dependency ? [group(undefined, dependencies.dependency)] : []),
    ...(dependencies?.group ?? []).map((one) =>
      group(one?.["@targetFramework"], one?.dependency ?? []),
    ),
  ];
  return {
    ...links,
    catalogEntry: {
      ...links,
      ...told,
      authors: told.authors ?? "",
      summary: told.summary ?? "",
      tags: told.tags ?? "",
      id: row.name,
      version: row.version,
      published: isoInstant(row.created_at),
      listed: true,
      dependencyGroups: groups,
    },
  };
}

type Dependency = NonNullable<NonNullable<Nuspec["dependencies"]>["dependency"]>[number];

/**
 * All versions of a package, a few at a time.
 *
 * @param where which packages `pk` of which projects `p` the registry has
 * @throws ApiError 404 if there are none
 */
export async function registrationOf(
  db: Reader,
  view: View,
  name: string,
  where: Condition,
): Promise<RawReply> {
  const versions = await versionsOf(db, name, where);
  const of = named(name, where);
  const rowsBefore = (id: number) =>
    db.all<Row>(
      `select pk.id, pk.project_id, pk.name, pk.version, pk.created_at, pk.manifest from ${NUGET}
       where ${of.sql} and pk.id < ? order by pk.id desc limit ${BATCH}`,
      [...of.values, id],
    );
  const first = await rowsBefore(Number.MAX_SAFE_INTEGER);
  const [newest] = first;
  if (!newest) throw notFound("Package");
  const page = {
    "@id": linksOf(view, newest)["@id"],
    count: versions.length,
    lower: versions[0],
    upper: versions.at(-1),
  };
  return new RawReply(200, json, {
    chunks: async function* () {
      const seen = new Set<string>();
      yield Buffer.from(`{"count":1,"items":[${JSON.stringify(page).slice(0, -1)},"items":[`);
      for (let rows = first; rows.length > 0; ) {
        let text = "";
        for (const row of rows) {
          if (seen.has(row.version)) continue;
          text += `${seen.size > 0 ? "," : ""}${JSON.stringify(shownOf(view, row))}`;
          seen.add(row.version);
        }
        yield Buffer.from(text);
        const last = rows.at(-1) as Row;
        rows = rows.length < BATCH ? [] : await rowsBefore(last.id);
      }
      yield Buffer.from("]}]}");
    },
  });
}

/** What is searched for. */
interface Search {
  readonly q?: string | undefined;
  readonly skip?: number | undefined;
  readonly take?: number | undefined;
  readonly prerelease?: boolean | undefined;
}

/** Finds packages by a part of their names, with their newest versions. @param where which projects `p` are searched */
export async function search(
  db: Reader,
  view: View,
  where: Condition,
  { q = "", skip = 0, take = 20, prerelease = true }: Search,
): Promise<object> {
  const found = all([
    when("pk.package_type = 'nuget'"),
    where,
    q === "" ? undefined : contains(["pk.name"], q),
    prerelease ? undefined : when("instr(pk.version, '-') = 0"),
  ]);
  const names = await db.rows(
    `select lower(pk.name) as name from ${NUGET} where ${found.sql}
     group by lower(pk.name) order by name limit ? offset ?`,
    [...found.values, take, skip],
  );
  const [total] = await db.rows(
    `select count(distinct lower(pk.name)) from ${NUGET} where ${found.sql}`,
    found.values,
  );
  const totalHits = Number(total?.[0]);
  if (names.length === 0) return { totalHits, data: [] };
  const among = placeholders(names.map(([name]) => String(name)));
  const rows = await db.all<Row>(
    `select id, project_id, name, version, created_at, manifest from (
       select pk.id, pk.project_id, pk.name, pk.version, pk.created_at, pk.manifest,
         row_number() over (partition by lower(pk.name) order by pk.id desc) as place
       from ${NUGET} where ${found.sql} and lower(pk.name) in (${among.sql})) newest
     where place <= ${MOST_SHOWN} order by id desc`,
    [...found.values, ...among.values],
  );
  const data = names.map(([name]) => {
    const own = rows.filter((row) => row.name.toLowerCase() === name);
    const latest = own.reduce((a, b) => (compareVersions(a.version, b.version) < 0 ? b : a));
    const { dependencies: _, ...told } = JSON.parse(latest.manifest) as Nuspec;
    const versions = own
      .map((row) => ({ "@id": linksOf(view, row)["@id"], version: row.version, downloads: 0 }))
      .sort((a, b) => compareVersions(a.version, b.version));
    return {
      "@type": "Package",
      ...told,
      ...{ authors: told.authors ?? "", summary: told.summary ?? "", tags: told.tags ?? "" },
      ...{ id: latest.name, title: told.title ?? latest.name, version: latest.version },
      ...{ totalDownloads: 0, verified: true, versions },
    };
  });
  return { totalHits, data };
}

/** Where NuGet finds what, of a project or of a group, which has no downloads of its own. */
export function serviceIndex(
  view: View,
  of: { readonly project: number } | { readonly group: number },
) {
  const isProject = "project" in of;
  const place = isProject
    ? placeOf(view, of.project)
    : `${view.base}/api/v4/groups/${of.group}/-/packages/nuget`;
  const service = (path: string, comment: string, ...types: string[]) =>
    types.map((type) => ({ "@id": `${place}${path}`, "@type": type, comment }));
  const versioned = (name: string) => [name, `${name}/3.0.0-beta`, `${name}/3.0.0-rc`];
  return {
    version: "3.0.0",
    resources: [
      ...(isProject
        ? service("/download", "Get package content (.nupkg).", "PackageBaseAddress/3.0.0")
        : []),
      ...service(
        "/query",
        "Filter and search for packages by keyword.",
        ...versioned("SearchQueryService"),
      ),
      ...(isProject
        ? [
            ...service("", "Push and delete (or unlist) packages.", "PackagePublish/2.0.0"),
            ...service("/symbolpackage", "Push symbol packages.", "SymbolPackagePublish/4.9.0"),
          ]
        : []),
      ...service("/metadata", "Get package metadata.", ...versioned("RegistrationsBaseUrl")),
    ],
  };
}
