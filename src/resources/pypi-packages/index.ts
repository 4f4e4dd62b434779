import { ApiError, badRequest, notFound } from "../../core/errors.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { withoutEffect } from "../../core/kept.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { among } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { downloadOf } from "../packages/download.ts";
import { inGroup, ofProject, reading, readingProject, writing } from "../packages/places.ts";
import * as packages from "../packages/queries.ts";
import { limitOf, OWN } from "../plan-limits/limits.ts";
import { requireUnprotected } from "../protection-rules/abilities.ts";
import { isFileName, isFileOf, isName, isVersion, namesOf, normalized } from "./names.ts";
import { filesIndex, type Manifest, packagesIndex } from "./simple.ts";

/** Files of one package in a project, of all its versions together. */
const MOST_FILES = 10_000;

const project = routes({
  source: "project",
  path: "/packages/pypi",
  features: ["package_registry"],
});
const group = routes({ source: "group", path: "/-/packages/pypi" });

/** pip sends what it was given only once it is asked for it. */
const asked = { basicAuth: "asked" } as const;
const ofGroups = { ...reading, ...asked } as const;
const ofProjects = { ...readingProject, ...asked } as const;

const named = { package_name: param.checked(param.anyText(), isName, "is invalid") };
const index = { answersWith: "text/html" } as const;
const untold = withoutEffect(param.unlessBlank(param.anyText({ max: 1024 * 1024 })));

/** A digest that is sent with a file. @throws ApiError 422 if it is none, 400 if it is that of another file */
function requireDigest(sent: string | undefined, sha256: string): void {
  if (sent === undefined) return;
  if (!/^[0-9a-f]{64}$/i.test(sent)) {
    throw new ApiError(422, { message: "sha256_digest is invalid" });
  }
  if (sent.toLowerCase() !== sha256) throw badRequest("sha256_digest is that of another file");
}

/** @throws ApiError 400 if a version has a file of this name, or the package has as many as may be */
async function requireNew(db: Reader, projectId: number, name: string, fileName: string) {
  const [found] = await db.rows(
    `select count(*), sum(case when pf.file_name = ? then 1 else 0 end)
     from packages pk join package_files pf on pf.package_id = pk.id
     where pk.project_id = ? and pk.package_type = 'pypi' and pk.name = ?`,
    [fileName, projectId, name],
  );
  const [count, same] = (found ?? []).map(Number) as [number, number];
  if (same > 0) throw badRequest("Validation failed: File name has already been taken");
  if (count >= MOST_FILES) throw badRequest(`A package may have ${MOST_FILES} files at most`);
}

const pypiRoutes = [
  project.post("", {
    summary: "Upload a file of a Python package, as twine does (multipart/form-data)",
    ...writing,
    ...asked,
    input: {
      content: file(),
      name: param.checked(param.text(), isName, "is invalid"),
      version: param.checked(param.text(), isVersion, "is invalid"),
      requires_python: param.unlessBlank(param.anyText({ max: 255 })),
      sha256_digest: param.unlessBlank(param.anyText()),
      md5_digest: untold,
      metadata_version: untold,
      author_email: untold,
      description: untold,
      description_content_type: untold,
      summary: untold,
      keywords: untold,
    },
    upload: {
      part: "content",
      maxBytes: OWN.pypi_max_file_size,
      admit: ({ db }) => limitOf(db, "pypi_max_file_size"),
      whenTooLarge: () => badRequest("File is too large"),
    },
    examples: [{ message: "201 Created" }],
    handle: async (context) => {
      const { db, source, caller, input, now } = context;
      const { content, version } = input;
      const name = normalized(input.name);
      await requireUnprotected(context, "push", { name, package_type: "pypi" });
      if (!isFileOf(content.name, name))
        throw badRequest("Validation failed: File name is invalid");
      requireDigest(input.sha256_digest, content.sha256);
      await requireNew(db, source.id, name, content.name);
      const of: packages.Version = { package_type: "pypi", name, version };
      const manifest: Manifest = {
        ...(input.requires_python && { requires_python: input.requires_python }),
      };
      const made = {
        status: "default",
        creator_id: packages.creatorOf(caller),
        manifest: JSON.stringify(manifest),
      } as const;
      const id = await packages.findOrInsertVersion(db, source.id, of, made, now);
      await packages.insertFile(db, id, content, "default", now);
      return new Json({ message: "201 Created" });
    },
  }),
  project.get("/simple", {
    summary: "List the Python packages of a project, as pip reads it: HTML, or JSON (PEP 691)",
    ...ofProjects,
    ...index,
    handle: ({ db, request, source }) => packagesIndex(db, request, { project: source.id }),
  }),
  project.get("/simple/:package_name", {
    summary: "List the files of a Python package of a project, as pip reads it",
    ...ofProjects,
    ...index,
    input: named,
    handle: ({ db, request, view, source, input }) =>
      filesIndex(db, request, view, normalized(input.package_name), ofProject(source)),
  }),
  group.get("/simple", {
    summary: "List the Python packages of the projects in a group and below it, as pip reads it",
    ...ofGroups,
    ...index,
    handle: (context) =>
      packagesIndex(context.db, context.request, { where: inGroup(context.source, context) }),
  }),
  group.get("/simple/:package_name", {
    summary: "List the files of a Python package of the projects in a group and below it",
    ...ofGroups,
    ...index,
    input: named,
    handle: (context) => {
      const { db, request, view, source, input } = context;
      const where = inGroup(source, context);
      return filesIndex(db, request, view, normalized(input.package_name), where);
    },
  }),
  project.get("/files/:sha256/:file_identifier", {
    summary: "Download a file of a Python package",
    answersWith: "application/octet-stream",
    ...ofProjects,
    input: { sha256: param.text(), file_identifier: param.anyText() },
    handle: async ({ db, source, request, input }) => {
      const { sha256, file_identifier: name } = input;
      if (!isFileName(name)) throw notFound();
      const { sql, values } = among("pk.name", namesOf(name));
      const found = await db.one<{ id: number; size: number; sha256: string }>(
        `select pf.file_id as id, pf.size, pf.sha256 from packages pk
         join package_files pf on pf.package_id = pk.id
         where pk.project_id = ? and pk.package_type = 'pypi' and ${sql} and pf.file_name = ? and pf.sha256 = ?
         limit 1`,
        [source.id, ...values, name, sha256.toLowerCase()],
      );
      if (!found) throw notFound();
      return downloadOf(db, request, found, name);
    },
  }),
];

/** The registry of Python packages, over the packages of projects (docs/packages.md). */
export const pypiPackageResource: Resource = {
  name: "Python packages",
  migrations: [],
  routes: pypiRoutes,
};
