import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { badRequest, conflict, notFound } from "../../core/errors.ts";
import { file, type UploadedFile } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import type { Database } from "../../store/port.ts";
import { downloadOf } from "../packages/download.ts";
import { inGroup, ofProject, reading, readingProject, writing } from "../packages/places.ts";
import * as packages from "../packages/queries.ts";
import { mayRepeat } from "../packages/settings.ts";
import { limitOf, OWN } from "../plan-limits/limits.ts";
import { requireUnprotected } from "../protection-rules/abilities.ts";
import { findRow, registrationOf, search, serviceIndex, shownOf, versionsOf } from "./metadata.ts";
import { type Nuspec, readNuspec } from "./nuspec.ts";
import { isName, normalized } from "./versions.ts";

const project = routes({
  source: "project",
  path: "/packages/nuget",
  features: ["package_registry"],
});
const group = routes({ source: "group", path: "/-/packages/nuget" });

/** NuGet sends what it was given only once it is asked for it. */
const asked = { basicAuth: "asked" } as const;
const ofProjects = { ...readingProject, ...asked } as const;
const ofGroups = { ...reading, ...asked } as const;
const pushing = { ...writing, ...asked, apiKeys: true } as const;

const named = { package_name: param.checked(param.anyText(), isName, "is invalid") };
/** A version in an address, normalized. */
const version = param.readAs(
  param.anyText(),
  (sent) => normalized(sent) ?? param.REFUSED,
  "is invalid",
);
/** The version before `.json`. */
const versionFile = param.readAs(
  param.anyText(),
  (sent) => normalized(sent.replace(/\.json$/, "")) ?? param.REFUSED,
  "is invalid",
);
const searched = {
  q: param.unlessBlank(param.anyText({ max: 255 })),
  skip: param.optional(param.integer({ min: 0, max: 1_000_000 })),
  take: param.optional(param.integer({ min: 1, max: 100 })),
  prerelease: param.optional(param.boolean()),
};

const upload = {
  part: "package",
  maxBytes: OWN.nuget_max_file_size,
  admit: ({ db }: { db: Parameters<typeof limitOf>[0] }) => limitOf(db, "nuget_max_file_size"),
  whenTooLarge: () => badRequest("File is too large"),
} as const;

/** The name of the file of a package. */
const fileNameOf = (name: string, version: string, ending: string) =>
  `${name}.${version}.${ending}`.toLowerCase();

/** What a push is done with. */
interface Pushing {
  readonly db: Database;
  readonly source: Source;
  readonly caller: Caller | undefined;
  readonly now: number;
}

/** Adds a package to its version, which is made if there is none, and says what it says. */
async function add(pushing: Pushing, sent: UploadedFile, nuspec: Nuspec): Promise<void> {
  const { db, source, caller, now } = pushing;
  const { id: name, version } = nuspec;
  await requireUnprotected(pushing, "push", { name, package_type: "nuget" });
  const known = await findRow(db, name, version, ofProject(source));
  if (known && !(await mayRepeat(db, known.id, { ...known, package_type: "nuget" }))) {
    throw conflict("A package with the same name and version already exists");
  }
  const manifest = JSON.stringify(nuspec);
  const of: packages.Version = { package_type: "nuget", name, version };
  const made = { status: "default", creator_id: packages.creatorOf(caller), manifest } as const;
  const id = known?.id ?? (await packages.insertVersion(db, source.id, of, made, now));
  if (known) await db.run("update packages set manifest = ? where id = ?", [manifest, id]);
  await packages.requireRoom(db, id);
  const added = { ...sent, name: fileNameOf(name, version, "nupkg") };
  await packages.insertFile(db, id, added, "default", now);
}

/** Adds symbols to a version. @throws ApiError 404 if there is none */
async function addSymbols(pushing: Pushing, sent: UploadedFile, { id: name, version }: Nuspec) {
  const { db, source, now } = pushing;
  await requireUnprotected(pushing, "push", { name, package_type: "nuget" });
  const known = await findRow(db, name, version, ofProject(source));
  if (!known) throw notFound("Package");
  await packages.requireRoom(db, known.id);
  const added = { ...sent, name: fileNameOf(name, version, "snupkg") };
  await packages.insertFile(db, known.id, added, "default", now);
}

const pushed = {
  ...pushing,
  input: { package: file() },
  upload,
  status: 201,
  examples: [{ message: "201 Created" }],
} as const;

const nugetRoutes = [
  project.get("/index", {
    summary: "Tell NuGet where to find what: the service index of a project",
    ...ofProjects,
    examples: [{ version: "3.0.0", resources: [{ "@id": "", "@type": "", comment: "" }] }],
    handle: ({ view, source }) => new Json(serviceIndex(view, { project: source.id })),
  }),
  group.get("/index", {
    summary: "Tell NuGet where to find what: the service index of a group",
    ...ofGroups,
    examples: [{ version: "3.0.0", resources: [{ "@id": "", "@type": "", comment: "" }] }],
    handle: ({ view, source }) => new Json(serviceIndex(view, { group: source.id })),
  }),
  project.put("", {
    summary: "Push a package of NuGet (multipart/form-data)",
    ...pushed,
    prepare: ({ package: sent }, { db }) => readNuspec(db, sent),
    handle: async (context) => {
      await add(context, context.input.package, context.prepared);
      return new Json({ message: "201 Created" });
    },
  }),
  project.put("/symbolpackage", {
    summary: "Push the symbols of a package of NuGet, which must be there (multipart/form-data)",
    ...pushed,
    prepare: ({ package: sent }, { db }) => readNuspec(db, sent),
    handle: async (context) => {
      await addSymbols(context, context.input.package, context.prepared);
      return new Json({ message: "201 Created" });
    },
  }),
  project.del("/:package_name/:package_version", {
    summary: "Delete a version of a package of NuGet",
    ...pushing,
    role: "maintainer",
    input: { ...named, package_version: version },
    handle: async (context) => {
      const { db, source, input } = context;
      const { package_name: name, package_version: version } = input;
      const found = await findRow(db, name, version, ofProject(source));
      if (!found) throw notFound("Package");
      await requireUnprotected(context, "delete", { name: found.name, package_type: "nuget" });
      await packages.remove(db, found.id);
      return undefined;
    },
  }),
  project.get("/metadata/:package_name/index", {
    summary: "Get what NuGet needs to know of a package of a project: its versions",
    answersWith: "application/json",
    ...ofProjects,
    input: named,
    handle: ({ db, view, source, input }) =>
      registrationOf(db, view, input.package_name, ofProject(source)),
  }),
  group.get("/metadata/:package_name/index", {
    summary: "Get what NuGet needs to know of a package of the projects in a group and below it",
    answersWith: "application/json",
    ...ofGroups,
    input: named,
    handle: (context) =>
      registrationOf(
        context.db,
        context.view,
        context.input.package_name,
        inGroup(context.source, context),
      ),
  }),
  project.get("/metadata/:package_name/:package_version", {
    summary: "Get what NuGet needs to know of a version of a package of a project",
    answersWith: "application/json",
    ...ofProjects,
    input: { ...named, package_version: versionFile },
    handle: async ({ db, view, source, input }) => {
      const { package_name: name, package_version: version } = input;
      const found = await findRow(db, name, version, ofProject(source));
      if (!found) throw notFound("Package");
      return new Json(shownOf(view, found));
    },
  }),
  group.get("/metadata/:package_name/:package_version", {
    summary: "Get what NuGet needs to know of a version of a package of the projects in a group",
    answersWith: "application/json",
    ...ofGroups,
    input: { ...named, package_version: versionFile },
    handle: async (context) => {
      const { db, view, source, input } = context;
      const { package_name: name, package_version: version } = input;
      const found = await findRow(db, name, version, inGroup(source, context));
      if (!found) throw notFound("Package");
      return new Json(shownOf(view, found));
    },
  }),
  project.get("/query", {
    summary: "Search the packages of NuGet of a project",
    ...ofProjects,
    input: searched,
    examples: [{ totalHits: 0, data: [] }],
    handle: async ({ db, view, source, input }) =>
      new Json(await search(db, view, ofProject(source), input)),
  }),
  group.get("/query", {
    summary: "Search the packages of NuGet of the projects in a group and below it",
    ...ofGroups,
    input: searched,
    examples: [{ totalHits: 0, data: [] }],
    handle: async (context) => {
      const { db, view, source, input } = context;
      return new Json(await search(db, view, inGroup(source, context), input));
    },
  }),
  project.get("/download/:package_name/index", {
    summary: "List the versions of a package of NuGet",
    ...ofProjects,
    input: named,
    examples: [{ versions: ["1.0.0"] }],
    handle: async ({ db, source, input }) =>
      new Json({ versions: await versionsOf(db, input.package_name, ofProject(source)) }),
  }),
  project.get("/download/:package_name/:package_version/:package_filename", {
    summary: "Download a package of NuGet, or its symbols",
    answersWith: "application/octet-stream",
    ...ofProjects,
    input: { ...named, package_version: version, package_filename: param.anyText({ max: 512 }) },
    handle: async ({ db, request, source, input }) => {
      const { package_name: name, package_version: version } = input;
      const of = await findRow(db, name, version, ofProject(source));
      const ending = /\.(s?nupkg)$/i.exec(input.package_filename)?.[1]?.toLowerCase();
      if (!of || !ending) throw notFound("Package");
      const fileName = fileNameOf(of.name, of.version, ending);
      const known: packages.Version = { ...of, package_type: "nuget" };
      const found = await packages.findContent(db, source.id, known, fileName);
      if (!found) throw notFound("Package");
      return downloadOf(db, request, found, fileName);
    },
  }),
];

/** The registry of packages for NuGet, over the packages of projects (docs/packages.md). */
export const nugetPackageResource: Resource = {
  name: "NuGet packages",
  migrations: [],
  routes: nugetRoutes,
};
