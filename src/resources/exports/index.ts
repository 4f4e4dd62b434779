import { VISIBILITIES } from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { dispositionOf, fileReply } from "../../core/http/file-reply.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { mostImportBytes } from "../application-settings/sizes.ts";
import { createProject } from "../projects/changes.ts";
import { IMPORT_STATUS } from "../projects/json.ts";
import { forkTarget } from "../projects/rules.ts";
import { findOverwritten, placeUntilThen } from "./overwriting.ts";
import * as archives from "./queries.ts";
import { snapshotRoute } from "./snapshots.ts";
import { migrations } from "./table.ts";
import { archiveLater } from "./worker.ts";

const GIBIBYTE = 1024 ** 3;

const project = routes({ source: "project" });
const { post } = routes({ path: "/projects" });

/** What exports and imports show of their project. */
async function describe(db: Reader, projectId: number) {
  const [found] = await db.rows(
    `select p.id, p.description, p.name, n.name, p.path, p.full_path, p.created_at, ${IMPORT_STATUS}
     from projects p join namespaces n on n.id = p.namespace_id where p.id = ?`,
    [projectId],
  );
  const [id, description, name, namespace, path, fullPath, createdAt, importStatus] = found as [
    number,
    string | null,
    string,
    string,
    string,
    string,
    number,
    string,
  ];
  const described = {
    id,
    description,
    name,
    name_with_namespace: `${namespace} / ${name}`,
    path,
    path_with_namespace: fullPath,
    created_at: new Date(createdAt).toISOString(),
  };
  return { described, importStatus };
}

async function describeExport(db: Reader, projectId: number, { base }: View) {
  const { described } = await describe(db, projectId);
  const export_status = await archives.exportStatusOf(db, projectId);
  if (!(await archives.findArchive(db, projectId))) return { ...described, export_status };
  const url = `${base}/api/v4/projects/${projectId}/export/download`;
  return { ...described, export_status, _links: { api_url: url, web_url: url } };
}

async function describeImport(db: Reader, projectId: number) {
  const found = await archives.findImport(db, projectId);
  const { described, importStatus } = await describe(db, projectId);
  return {
    ...described,
    // What the import itself says, with its error: it may have ended between the two statements.
    import_status: found?.status ?? importStatus,
    import_type: found ? "gitlab_project" : null,
    correlation_id: null,
    failed_relations: [],
    import_error: found?.error ?? null,
    stats: null,
  };
}

const DESCRIBED = {
  id: 1,
  description: "What people see first",
  name: "Site",
  name_with_namespace: "Acme / Site",
  path: "site",
  path_with_namespace: "acme/site",
  created_at: "2026-11-22T12:00:00.000Z",
};
const UNDESCRIBED = { ...DESCRIBED, description: null };

const DOWNLOAD = "http://localhost:3000/api/v4/projects/1/export/download";
const EXPORTS = [
  { ...DESCRIBED, export_status: "finished", _links: { api_url: DOWNLOAD, web_url: DOWNLOAD } },
  { ...UNDESCRIBED, export_status: "none" },
];

const IMPORTED = {
  import_status: "failed",
  import_type: "gitlab_project",
  correlation_id: null,
  failed_relations: [],
  import_error: "the archive is cut short",
  stats: null,
};
const IMPORTS = [
  { ...DESCRIBED, ...IMPORTED },
  { ...UNDESCRIBED, ...IMPORTED, import_status: "none", import_type: null, import_error: null },
];

const exportRoutes = [
  project.post("/export", {
    summary: "Export a project: write an archive of it",
    role: "maintainer",
    status: 202,
    examples: [{ message: "202 Accepted" }],
    handle: async ({ db, source, now }) => {
      await archives.queueExport(db, source.id, now);
      await archiveLater(db, { exported: source.id }, now);
      return new Json({ message: "202 Accepted" });
    },
  }),
  project.get("/export", {
    summary: "Get where the export of a project is",
    role: "maintainer",
    examples: EXPORTS,
    handle: async ({ db, source, view }) => new Json(await describeExport(db, source.id, view)),
  }),
  project.get("/export/download", {
    answersWith: "application/octet-stream",
    summary: "Download the archive of a project that was written last",
    role: "maintainer",
    handle: async ({ db, source, request }) => {
      const found = await archives.findArchive(db, source.id);
      if (!found) throw notFound();
      const name = `${source.fullPath.replaceAll("/", "_")}_export.ndjson.gz`;
      return fileReply(db, request, found, {
        "content-type": "application/gzip",
        "content-disposition": dispositionOf("attachment", name),
      });
    },
  }),
  post("/import", {
    summary: "Import a project from an archive (multipart/form-data)",
    input: {
      file: file(),
      path: param.text(),
      name: param.unlessBlank(param.text()),
      namespace: param.unlessBlank(param.text()),
      overwrite: param.optional(param.boolean()),
    },
    upload: { part: "file", maxBytes: GIBIBYTE, admit: mostImportBytes },
    examples: IMPORTS,
    handle: async (context) => {
      const { db, caller, input, now } = context;
      const { path, name = path } = input;
      const namespace = await forkTarget(context, input.namespace);
      const wanted = { name, path };
      const overwritten = input.overwrite
        ? await findOverwritten(db, namespace, wanted, caller, now)
        : undefined;
      const place = overwritten ? placeUntilThen(wanted) : wanted;
      const created = { namespace, creator_id: caller.id, ...place };
      const projectId = await createProject(
        db,
        { ...created, visibility: VISIBILITIES.private },
        now,
      );
      const queued = { projectId, fileId: input.file.id, userId: caller.id, overwritten };
      await archives.queueImport(db, queued, now);
      await archiveLater(db, { imported: projectId }, now);
      return new Json(await describeImport(db, projectId));
    },
  }),
  project.get("/import", {
    summary: "Get where the import of a project is",
    role: "maintainer",
    examples: IMPORTS,
    handle: async ({ db, source }) => new Json(await describeImport(db, source.id)),
  }),
];

/** Projects as archives: written here, and read here or on another server. */
export const exportResource: Resource = {
  name: "Exports and imports",
  migrations,
  routes: [...exportRoutes, snapshotRoute],
};
