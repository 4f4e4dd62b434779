import { basename } from "node:path/posix";
import { codeRole, type Source } from "../../core/access/source.ts";
import { visiblePackages } from "../../core/access/visibility.ts";
import { badRequest, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { all, belowGroup, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { limitOf } from "../plan-limits/limits.ts";
import { requireUnprotected } from "../protection-rules/abilities.ts";
import { downloadOf } from "./download.ts";
import { groupPackage, packageFile, projectPackage, uploadedFile } from "./json.ts";
import { requireNames } from "./names.ts";
import * as packages from "./queries.ts";
import { requireNewFile } from "./settings.ts";
import { migrations } from "./table.ts";
import { fillInTags } from "./tags.ts";

const GIBIBYTE = 1024 ** 3;

const project = routes({ source: "project", path: "/packages", features: ["package_registry"] });
const group = routes({ source: "group", path: "/packages" });

/** Callers who may read the code may read the packages. */
const reading = {
  access: "anyone",
  jobTokens: true,
  basicAuth: true,
  deployTokens: "read_package_registry",
  role: codeRole,
} as const;
const writing = {
  access: "anyone",
  jobTokens: true,
  basicAuth: true,
  concurrency: "per project",
  whenArchived: "refuse",
} as const;

const sort = param.optional(param.choice(["asc", "desc"]));
const filter = {
  order_by: param.optional(param.choice(Object.keys(packages.ORDERS) as packages.Order[])),
  sort,
  package_type: param.unlessBlank(param.text()),
  package_name: param.unlessBlank(param.text()),
  package_version: param.unlessBlank(param.text()),
  status: param.optional(param.choice(packages.STATUSES)),
  include_versionless: param.optional(param.boolean()),
};
const one = { package_id: param.recordId() };
const version = { package_name: param.anyText(), package_version: param.anyText() };
const generic = { ...version, file_name: param.anyText() };

const versionOf = (input: { package_name: string; package_version: string }) => ({
  package_type: "generic" as const,
  name: input.package_name,
  version: input.package_version,
});

/** A package of a project. @throws ApiError 404 */
async function requirePackage(db: Reader, { id }: Source, packageId: number) {
  const found = await packages.find(db, id, packageId);
  if (!found) throw notFound();
  return found;
}

const packageRoutes = [
  project.list("", {
    summary: "List the packages of a project",
    ...reading,
    input: filter,
    presenter: projectPackage,
    handle: async ({ db, source, presenter, page, view, input }) => {
      const { order_by = "created_at", sort = "asc", ...wanted } = input;
      const inProject = { sql: "pk.project_id = ?", values: [source.id] };
      const found = await packages.list(db, presenter, page, inProject, wanted, order_by, sort);
      await fillInTags(db, presenter, found.rows, view);
      return found;
    },
  }),
  group.list("", {
    summary: "List the packages of the projects in a group and below it",
    access: "anyone",
    input: { ...filter, exclude_subgroups: param.optional(param.boolean()) },
    presenter: groupPackage,
    handle: async ({ db, source, viewer, presenter, page, view, input }) => {
      const { order_by = "created_at", sort = "asc", exclude_subgroups, ...wanted } = input;
      const inGroup = all([
        exclude_subgroups
          ? when("p.namespace_id = ?", source.id)
          : belowGroup("p.namespace_id", source.id),
        visiblePackages(viewer),
      ]);
      const found = await packages.list(db, presenter, page, inGroup, wanted, order_by, sort);
      await fillInTags(db, presenter, found.rows, view);
      return found;
    },
  }),
  project.get("/:package_id", {
    summary: "Get a package",
    ...reading,
    input: one,
    presenter: projectPackage,
    handle: async ({ db, source, presenter, view, input }) => {
      const row = await packages.row(db, presenter, source.id, input.package_id);
      if (!row) throw notFound();
      await fillInTags(db, presenter, [row], view);
      return row;
    },
  }),
  project.del("/:package_id", {
    summary: "Delete a package with its files",
    ...writing,
    role: "maintainer",
    input: one,
    handle: async (context) => {
      const { db, source, input, requireUnmodified } = context;
      const found = await requirePackage(db, source, input.package_id);
      requireUnmodified(found.updated_at);
      await requireUnprotected(context, "delete", found);
      await packages.remove(db, found.id);
      return undefined;
    },
  }),
  project.list("/:package_id/package_files", {
    summary: "List the files of a package",
    ...reading,
    input: one,
    presenter: packageFile,
    handle: async ({ db, source, presenter, page, input }) => {
      const { id } = await requirePackage(db, source, input.package_id);
      return packages.files(db, presenter, page, id);
    },
  }),
  project.del("/:package_id/package_files/:package_file_id", {
    summary: "Delete a file of a package, which is deleted within a day of its last one",
    ...writing,
    role: "maintainer",
    input: { ...one, package_file_id: param.recordId() },
    handle: async (context) => {
      const { db, source, input } = context;
      const owner = await requirePackage(db, source, input.package_id);
      const found = await packages.fileRow(db, packageFile, owner.id, input.package_file_id);
      if (!found) throw notFound();
      await requireUnprotected(context, "delete", owner);
      await packages.removeFile(db, input.package_file_id);
      return undefined;
    },
  }),
  project.put("/generic/:package_name/:package_version/:file_name*", {
    summary:
      "Upload a file of a generic package, which is created if there is none: the body is the file",
    ...writing,
    deployTokens: "write_package_registry",
    role: "developer",
    input: {
      ...generic,
      status: param.optional(param.choice(packages.STATUSES)),
      select: param.optional(param.choice(["package_file"])),
    },
    body: "file",
    maxBodyBytes: GIBIBYTE,
    status: 201,
    presenter: uploadedFile,
    examples: [{ message: "201 Created" }],
    prepare: (input) => requireNames(input),
    handle: async (context) => {
      const { db, source, presenter, caller, input, body, now } = context;
      const { status = "default" } = input;
      await requireUnprotected(context, "push", {
        name: input.package_name,
        package_type: "generic",
      });
      if (body.size > (await limitOf(db, "generic_packages_max_file_size"))) {
        throw badRequest("File is too large");
      }
      const version = versionOf(input);
      const made = { status, creator_id: packages.creatorOf(caller) };
      const id = await packages.findOrInsertVersion(db, source.id, version, made, now);
      await requireNewFile(db, id, version, input.file_name);
      const file = { ...body, name: input.file_name };
      const fileId = await packages.insertFile(db, id, file, status, now);
      if (input.select !== "package_file") return new Json({ message: "201 Created" });
      return packages.fileRow(db, presenter, id, fileId);
    },
  }),
  project.get("/generic/:package_name/:package_version/:file_name*", {
    answersWith: "application/octet-stream",
    summary: "Download a file of a generic package",
    ...reading,
    input: generic,
    handle: async ({ db, source, request, input }) => {
      const found = await packages.findContent(db, source.id, versionOf(input), input.file_name);
      if (!found) throw notFound();
      return downloadOf(db, request, found, basename(input.file_name));
    },
  }),
];

/** Packages of projects: files under a name and a version. */
export const packageResource: Resource = { name: "Packages", migrations, routes: packageRoutes };
