import * as audit from "../../audit/log.ts";
import type { Source } from "../../core/access/source.ts";
import { VISIBILITIES, VISIBILITY_WORDS, type Visibility } from "../../core/access/visibility.ts";
import { ApiError, forbidden, notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { dispositionOf, fileReply } from "../../core/http/file-reply.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { Json, type RequestInfo, type Resource, routes } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import * as applicationSettings from "../application-settings/queries.ts";
import { isRestricted } from "../application-settings/rules.ts";
import { mostImportBytes } from "../application-settings/sizes.ts";
import { mayCreateGroup } from "../groups/abilities.ts";
import { createGroup } from "../groups/changes.ts";
import * as namespaces from "../namespaces/queries.ts";
import { createProject } from "../projects/changes.ts";
import { IMPORT_STATUS } from "../projects/json.ts";
import { forkTarget } from "../projects/rules.ts";
import { IMPORT_CREDENTIALS } from "../url-imports/table.ts";
import { type Format, type Place, WRITTEN } from "./format.ts";
import { findOverwritten, placeUntilThen } from "./overwriting.ts";
import * as archives from "./queries.ts";
import * as relations from "./relations.ts";
import { snapshotRoute } from "./snapshots.ts";
import { migrations } from "./table.ts";
import { archiveLater } from "./worker.ts";

const GIBIBYTE = 1024 ** 3;

const project = routes({ source: "project" });
const { post } = routes({ path: "/projects" });
const group = routes({ source: "group" });
const groups = routes({ path: "/groups" });

/** Queues the export of a project or group. */
async function exportLater(
  db: Database,
  { kind, id }: Place,
  now: number,
  format?: Format,
): Promise<void> {
  await archives.queueExport(db, { kind, id }, now);
  const task = { exported: id, ...(kind === "group" && { of: kind }), ...(format && { format }) };
  await archiveLater(db, task, now);
}

/** An archive as a file to keep. */
function archiveReply(
  db: Reader,
  request: RequestInfo,
  found: archives.Archive,
  { fullPath }: Pick<Source, "fullPath">,
) {
  const name = `${fullPath.replaceAll("/", "_")}_export`;
  const day = new Date(found.created_at).toISOString().slice(0, 10);
  const isGitlabs = found.format === "gitlab";
  return fileReply(db, request, found, {
    "content-type": "application/gzip",
    "content-disposition": dispositionOf(
      "attachment",
      isGitlabs ? `${day}_${name}.tar.gz` : `${name}.ndjson.gz`,
    ),
  });
}

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
  const export_status = await archives.exportStatusOf(db, { kind: "project", id: projectId });
  if (!(await archives.findArchive(db, { kind: "project", id: projectId })))
    return { ...described, export_status };
  const url = `${base}/api/v4/projects/${projectId}/export/download`;
  return { ...described, export_status, _links: { api_url: url, web_url: url } };
}

async function describeImport(db: Reader, projectId: number) {
  const found = await archives.findImport(db, { kind: "project", id: projectId });
  const { described, importStatus } = await describe(db, projectId);
  return {
    ...described,
    // What the import itself says, with its error: it may have ended between the two statements.
    import_status: found?.status ?? importStatus,
    import_type: found ? (found.kind ?? (found.url === null ? "gitlab_project" : "git")) : null,
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
    input: {
      format: param.unlessBlank(param.choice(WRITTEN)),
      description: unsupported(param.anyText()),
      upload: unsupported(param.json("where the archive is sent to")),
    },
    status: 202,
    examples: [{ message: "202 Accepted" }],
    handle: async ({ db, source, input, now }) => {
      await exportLater(db, source, now, input.format);
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
      const found = await archives.findArchive(db, source);
      if (!found) throw notFound();
      return archiveReply(db, request, found, source);
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
      override_params: unsupported(param.json("attributes of the project")),
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
      const made = { kind: "project", id: projectId } as const;
      const queued = { place: made, fileId: input.file.id, userId: caller.id, overwritten };
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

/** What a group gets from its archive. */
const NOT_SENT = {
  description: undefined,
  lfs_enabled: undefined,
  request_access_enabled: undefined,
};

const groupRoutes = [
  group.post("/export", {
    summary: "Export a group: write an archive of it and of its subgroups, without projects",
    role: "owner",
    status: 202,
    examples: [{ message: "202 Accepted" }],
    handle: async ({ db, source, now }) => {
      await exportLater(db, source, now);
      return new Json({ message: "202 Accepted" });
    },
  }),
  group.get("/export/download", {
    answersWith: "application/octet-stream",
    summary: "Download the archive of a group that was written last",
    role: "owner",
    handle: async ({ db, source, request }) => {
      const found = await archives.findArchive(db, source);
      if (!found) throw new ApiError(404, { message: "404 Not found or has expired" });
      return archiveReply(db, request, found, source);
    },
  }),
  groups.post("/import", {
    summary: "Import a group from an archive (multipart/form-data)",
    input: {
      file: file(),
      path: param.text(),
      name: param.text(),
      parent_id: param.unlessBlank(param.integer()),
      organization_id: unsupported(param.integer(), 1),
    },
    upload: { part: "file", maxBytes: GIBIBYTE, admit: mostImportBytes },
    status: 202,
    examples: [{ message: "202 Accepted" }],
    handle: async (context) => {
      const { db, caller, input, now } = context;
      const { path, name, parent_id: parentId } = input;
      if (!(await mayCreateGroup(context, parentId))) throw forbidden();
      const parent = parentId === undefined ? undefined : await namespaces.find(db, parentId);
      const most = parent?.visibility ?? VISIBILITIES.private;
      const isTooMuch = isRestricted(await applicationSettings.find(db), caller, most);
      const visibility = VISIBILITY_WORDS[isTooMuch ? VISIBILITIES.private : most] as Visibility;
      const id = await createGroup(
        db,
        audit.actorOf(context),
        { ...{ name, path, parent, visibility, ownerId: caller.id }, ...NOT_SENT },
        now,
      );
      const place = { kind: "group", id } as const;
      await archives.queueImport(db, { place, fileId: input.file.id, userId: caller.id }, now);
      await archiveLater(db, { imported: id, of: "group" }, now);
      return new Json({ message: "202 Accepted" });
    },
  }),
];

/** An export of a relation as GitLab shows it. */
async function shownRelation(db: Reader, found: relations.RelationExport) {
  const { id, relation, status, error, total, updated_at } = found;
  const batched = found.batched === 1;
  const files = batched ? await relations.filesOf(db, id) : [];
  return {
    relation,
    status,
    error,
    updated_at: new Date(updated_at).toISOString(),
    batched,
    batches_count: files.length,
    total_objects_count: total,
    ...(batched && {
      batches: files.map((file) => ({
        status: relations.STATUSES.finished,
        batch_number: file.number,
        objects_count: file.objects,
        error: null,
        updated_at: new Date(file.updated_at).toISOString(),
      })),
    }),
  };
}

const WHEN = "2026-11-22T12:00:00.000Z";
const RELATION = {
  relation: "labels",
  status: 1,
  error: null,
  updated_at: WHEN,
  batched: false,
  batches_count: 0,
  total_objects_count: 3,
};
const BATCHED = {
  ...RELATION,
  batched: true,
  batches_count: 1,
  batches: [{ status: 1, batch_number: 1, objects_count: 3, error: null, updated_at: WHEN }],
};

/** The export of a relation. @throws ApiError 404 in GitLab's words */
async function requireRelation(db: Reader, place: Place, relation: string) {
  const found = (await relations.list(db, place)).find((one) => one.relation === relation);
  if (!found) throw new ApiError(404, { message: "Export not found" });
  return found;
}

const relationRoutes = (["group", "project"] as const).flatMap((kind) => {
  const of = routes({ source: kind, path: "/export_relations" });
  // As GitLab: whoever may administer it.
  const role = kind === "group" ? "owner" : "maintainer";
  const names = Object.keys(relations.RELATIONS[kind]);
  return [
    of.post("", {
      summary: `Export the relations of a ${kind}, each as a file of its own`,
      role,
      input: { batched: param.optional(param.boolean()) },
      status: 202,
      examples: [{ message: "202 Accepted" }],
      handle: async ({ db, source, input, now }) => {
        await relations.queue(db, source, input.batched ?? false, now);
        const task = { relationsOf: source.id, ...(kind === "group" && { of: kind }) };
        await archiveLater(db, task, now);
        return new Json({ message: "202 Accepted" });
      },
    }),
    of.get("/status", {
      summary: `Get where the exports of a ${kind}'s relations are or, with \`relation\`, that of one`,
      role,
      input: { relation: param.unlessBlank(param.text()) },
      examples: [[RELATION, BATCHED], RELATION, BATCHED],
      handle: async ({ db, source, input }) => {
        if (input.relation !== undefined) {
          const found = await requireRelation(db, source, input.relation);
          return new Json(await shownRelation(db, found));
        }
        const shown = [];
        for (const found of await relations.list(db, source)) {
          shown.push(await shownRelation(db, found));
        }
        return new Json(shown);
      },
    }),
    of.get("/download", {
      answersWith: "application/octet-stream",
      summary: `Download the exported relation of a ${kind}: ${names.map((name) => `\`${name}\``).join(", ")}`,
      role,
      input: {
        relation: param.text(),
        batched: param.optional(param.boolean()),
        batch_number: param.optional(param.integer({ min: 1 })),
      },
      handle: async ({ db, source, input, request }) => {
        const { relation, batched, batch_number } = input;
        if ((batched === undefined) !== (batch_number === undefined)) {
          const problem = "provide all or none of parameters";
          throw new ApiError(400, { error: `batched, batch_number ${problem}` });
        }
        const found = await requireRelation(db, source, relation);
        if (batched && found.batched === 0) throw refused(400, "Export is not batched");
        if (!batched && found.batched === 1) throw refused(400, "Export is batched");
        const file = await relations.findFile(db, found.id, batched ? batch_number : undefined);
        if (!file) throw refused(404, batched ? "Batch not found" : "Export file not found");
        return fileReply(db, request, file, {
          "content-type": "application/gzip",
          "content-disposition": dispositionOf("attachment", `${relation}.ndjson.gz`),
        });
      },
    }),
  ];
});

const refused = (status: number, message: string) => new ApiError(status, { message });

/** Projects and groups as archives: written here, and read here or on another server. */
export const exportResource: Resource = {
  name: "Exports and imports",
  migrations,
  sealed: [IMPORT_CREDENTIALS],
  routes: [...exportRoutes, ...groupRoutes, ...relationRoutes, snapshotRoute],
};
