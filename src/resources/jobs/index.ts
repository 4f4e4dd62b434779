import { basename } from "node:path/posix";
import type { Caller } from "../../core/access/caller.ts";
import { badRequest, forbidden, invalid, notFound, unreadable } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { MAX_READ_CHARACTERS, pageOf } from "../../core/pagination.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import {
  AfterCommit,
  type Context,
  Json,
  RawReply,
  type Resource,
  routes,
} from "../../core/resource.ts";
import type { ZipEntry } from "../../files/zip.ts";
import { all, when, worded } from "../../store/conditions.ts";
import type { Reader, Store, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { mayAdminRun, mayForceCancel, readingRole } from "../ci/abilities.ts";
import {
  archiveReply,
  artifactEntries,
  artifactReply,
  deleteAllArtifacts,
  deleteArtifacts,
  hasArtifacts,
} from "../ci/artifacts.ts";
import { countOf } from "../ci/counts.ts";
import { environmentGates } from "../ci/environment-rights.ts";
import { job } from "../ci/json.ts";
import { outdatedAmong } from "../ci/outdated.ts";
import { cancel, play, retryJob } from "../ci/progress.ts";
import { type GivenVariable, insertVariables } from "../ci/records.ts";
import { FINISHED, type Status } from "../ci/statuses.ts";
import { traceOf } from "../ci/traces.ts";
import { type JobReading, jobRow, listJobs, scope } from "../pipelines/jobs.ts";
import { mayRunJobsOf } from "../pipelines/rules.ts";
import { openRepository } from "../repositories/open.ts";

const { del, get, list, post } = routes({ source: "project", path: "/jobs", features: ["jobs"] });
const { del: removeAll } = routes({ source: "project", path: "/artifacts", features: ["jobs"] });

const id = { job_id: param.recordId() };

/** A job, as far as rules need it. */
interface FoundJob {
  readonly id: number;
  readonly pipeline_id: number;
  readonly user_id: number | null;
  readonly name: string;
  readonly stage_index: number;
  readonly ref: string;
  /** 1 for a job of a tag. */
  readonly tag: number;
  readonly status: Status;
  readonly retried: number;
  readonly trace_bytes: number;
  readonly erased_at: number | null;
}

/** Finds a job of a project. @throws ApiError 404 */
async function findJob(db: Reader, projectId: number, jobId: number): Promise<FoundJob> {
  const found = await db.one<FoundJob>(
    `select cj.id, cj.pipeline_id, cj.user_id, cj.name, cj.stage_index, cj.ref, pl.tag, cj.status, cj.retried,
       cj.trace_bytes, cj.erased_at from ci_jobs cj join pipelines pl on pl.id = cj.pipeline_id
     where cj.id = ? and cj.project_id = ? and cj.kind <> 'external'`,
    [jobId, projectId],
  );
  if (!found) throw notFound();
  return found;
}

/** Checks that a caller may let a job deploy, and that it would not deploy what is outdated. @throws ApiError 403 */
async function requireDeployable(
  { db, caller, now }: Pick<Context, "now"> & { db: Reader; caller: Caller },
  { id }: FoundJob,
): Promise<void> {
  const gates = await environmentGates(db, [id], caller.id, now);
  if (gates.get(id) === "refused" || (await outdatedAmong(db, [id])).size > 0) throw forbidden();
}

/** Whether a job waits for approvals of its deployment. */
async function isBlocked(db: Reader, { id }: FoundJob): Promise<boolean> {
  const sql = "select 1 from deployments where job_id = ? and status = 'blocked'";
  return (await db.rows(sql, [id])).length > 0;
}

/** Variables that a job can be given. */
const MOST_VARIABLES = 100;

/** Reads the variables of a manual job. @throws ApiError 400 */
function readAttributes(sent: readonly unknown[] = []): GivenVariable[] {
  return sent.map((one, at) => {
    const { key, value } = (one ?? {}) as Record<string, unknown>;
    for (const [name, given] of Object.entries({ key, value })) {
      if (given === undefined || given === null) {
        throw unreadable(`job_variables_attributes[${at}][${name}] is missing`);
      }
    }
    const areScalars = [key, value].every((given) => typeof given !== "object");
    if (!areScalars || !/^[A-Za-z0-9_]{1,255}$/.test(String(key)) || String(value).length > 65_536)
      throw invalid({ job_variables_attributes: ["is invalid"] });
    return { key: String(key), value: String(value), variable_type: "env_var" };
  });
}

/** What routes that answer jobs have in common. */
const showing = {
  presenter: job,
  prepare: (_: unknown, preparing: Parameters<typeof openRepository>[0]) =>
    openRepository(preparing),
} as const;

/** A job that has been changed: its commit is read when the change is committed. */
const changedJob = (context: JobReading, id: number) =>
  new AfterCommit((db) => jobRow({ ...context, db }, id), "repository");

/** What ways to look into artifacts have in common. */
const looking = {
  access: "anyone",
  role: readingRole,
  prepare: (_: unknown, { store }: { readonly store: Store }) => store,
} as const;

/** What ways to download artifacts have in common. */
const downloading = { ...looking, jobTokens: true } as const;

/** A file or folder of a job's artifacts. */
const artifactEntry = presenter({
  name: field.text("name"),
  path: field.text("path"),
  type: { ...field.text("type"), type: "file, directory" },
  size: field.omittedIfNull(field.integer("size")),
  mode: field.text("mode"),
});

const toEntryRow = rowMaker(artifactEntry);

function entryRow({ path, length, mode }: ZipEntry): Value[] {
  const isFolder = path.endsWith("/");
  return toEntryRow({
    name: isFolder ? `${basename(path)}/` : basename(path),
    path,
    type: isFolder ? "directory" : "file",
    size: isFolder ? null : length,
    mode: mode === 0 ? null : mode.toString(8).padStart(6, "0"),
  });
}

/** The rows of entries, up to those whose paths are long enough for one answer. */
function entryRows(entries: readonly ZipEntry[]): Value[][] {
  let characters = 0;
  const rows: Value[][] = [];
  for (const entry of entries) {
    rows.push(entryRow(entry));
    characters += entry.path.length;
    if (characters >= MAX_READ_CHARACTERS) break;
  }
  return rows;
}

const newest = { ref_name: param.anyText({ max: 1024 }), job: param.text() };

/** The newest successful job of a name with artifacts, of a branch or tag. @throws ApiError 404 */
async function newestJob(
  db: Reader,
  projectId: number,
  { ref_name, job }: param.Input<typeof newest>,
): Promise<number> {
  const [found] = await db.rows(
    `select cj.id from pipelines pl join ci_jobs cj on cj.pipeline_id = pl.id
     where pl.project_id = ? and pl.ref = ? and pl.status = 'success' and cj.name = ? and cj.retried = 0
     and exists (select 1 from job_artifacts a where a.job_id = cj.id and a.file_type = 'archive')
     order by pl.id desc limit 1`,
    [projectId, ref_name, job],
  );
  if (!found) throw notFound();
  return found[0] as number;
}

/** Jobs of projects' pipelines. */
export const jobResource: Resource = {
  name: "Jobs",
  migrations: [],
  routes: [
    list("", {
      isShownToVisitors: true,
      summary: "List the jobs of a project, the newest first",
      role: readingRole,
      jobTokens: true,
      input: { ...scope, ref: param.optional(param.anyText({ max: 1024 })) },
      ...showing,
      handle: async (context) => {
        const { source, input, page } = context;
        const { ref } = input;
        const owner = { sql: "cj.project_id = ? and cj.kind = 'build'", values: [source.id] };
        const [ofRef, withStatus] = [when("cj.ref = ?", ref), worded("cj.status", input.scope)];
        const where = all([owner, ofRef, withStatus]);
        const hasOrder = ofRef ? !withStatus : (input.scope?.length ?? 0) <= 1;
        const starts = hasOrder ? [] : [ofRef, withStatus].filter((one) => one !== undefined);
        const isWhole = !ofRef && !withStatus;
        return listJobs(context, page, where, {
          starts: starts.map((start) => all([owner, start])),
          stored: isWhole ? countOf("job", source.id) : undefined,
        });
      },
    }),
    get("/:job_id", {
      isShownToVisitors: true,
      summary: "Get a job",
      role: readingRole,
      input: id,
      ...showing,
      handle: async (context) => {
        const found = await findJob(context.db, context.source.id, context.input.job_id);
        return jobRow(context, found.id);
      },
    }),
    get("/:job_id/trace", {
      isShownToVisitors: true,
      answersWith: "text/plain",
      summary: "Get the log of a job",
      role: readingRole,
      input: id,
      prepare: (_, { store }) => store,
      handle: async ({ db, source, input, prepared: store }) => {
        const found = await findJob(db, source.id, input.job_id);
        const headers = {
          "content-type": "text/plain; charset=utf-8",
          "content-disposition": `infile; filename="${found.id}.log"`,
        };
        const { trace_bytes: length } = found;
        return new RawReply(200, headers, length === 0 ? "" : traceOf(store, found.id, length));
      },
    }),
    post("/:job_id/cancel", {
      summary: "Cancel a job, if it has not ended",
      role: "developer",
      input: { ...id, force: param.optional(param.boolean()) },
      ...showing,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = await findJob(db, source.id, input.job_id);
        if (!(await mayRunJobsOf(db, source, found))) throw forbidden();
        if (input.force && !mayForceCancel(source)) throw forbidden();
        if (found.retried === 0) {
          await cancel(db, found.pipeline_id, { jobId: found.id, isForced: input.force }, now);
        }
        return changedJob(context, found.id);
      },
    }),
    post("/:job_id/retry", {
      summary: "Run a job again that has ended: as a new job",
      role: "developer",
      input: id,
      ...showing,
      handle: async (context) => {
        const { db, source, caller, input, now } = context;
        const found = await findJob(db, source.id, input.job_id);
        if (!(await mayRunJobsOf(db, source, found))) throw forbidden();
        await requireDeployable(context, found);
        if (found.retried === 1 || !FINISHED.includes(found.status)) {
          throw forbidden("Job is not retryable");
        }
        return changedJob(context, await retryJob(db, found, caller.id, now));
      },
    }),
    post("/:job_id/play", {
      summary: "Start a job that waits for somebody, or for its time",
      role: "developer",
      input: {
        ...id,
        job_variables_attributes: param.optional(
          param.arrayOf(param.json("variables, each with key and value"), { max: MOST_VARIABLES }),
        ),
      },
      ...showing,
      status: 200,
      handle: async (context) => {
        const { db, source, caller, input, secrets, now } = context;
        const variables = readAttributes(input.job_variables_attributes);
        const found = await findJob(db, source.id, input.job_id);
        if (!(await mayRunJobsOf(db, source, found))) throw forbidden();
        await requireDeployable(context, found);
        const isWaiting = found.status === "manual" || found.status === "scheduled";
        if (!isWaiting || found.retried === 1 || (await isBlocked(db, found))) {
          throw badRequest("Unplayable Job");
        }
        const place = { pipelineId: found.pipeline_id, jobId: found.id };
        await insertVariables(db, secrets, place, variables);
        await play(db, found, caller.id, now);
        return changedJob(context, found.id);
      },
    }),
    post("/:job_id/erase", {
      summary: "Delete the log and the artifacts of a job that has ended",
      role: "developer",
      input: id,
      ...showing,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = await findJob(db, source.id, input.job_id);
        if (!mayAdminRun(found, context)) throw forbidden();
        const isEmpty = found.trace_bytes === 0 && !(await hasArtifacts(db, found.id));
        if (!FINISHED.includes(found.status) || isEmpty) throw forbidden("Job is not erasable!");
        await deleteArtifacts(db, [found.id]);
        await db.run("delete from ci_trace_parts where job_id = ?", [found.id]);
        await db.run(
          "update ci_jobs set trace_bytes = 0, erased_at = ?, updated_at = ? where id = ?",
          [now, now, found.id],
        );
        return changedJob(context, found.id);
      },
    }),
    get("/:job_id/artifacts", {
      answersWith: "application/octet-stream",
      summary: "Get the archive of a job's artifacts",
      ...downloading,
      input: id,
      handle: async ({ db, source, input, request, prepared: store }) => {
        const found = await findJob(db, source.id, input.job_id);
        return archiveReply(store, db, request, found.id, source);
      },
    }),
    list("/:job_id/artifacts/tree", {
      summary:
        "List the files and folders of a folder of a job's artifacts: folders first, by name",
      ...looking,
      input: {
        ...id,
        path: param.optional(param.anyText({ max: 65_535 })),
        recursive: param.optional(param.boolean()),
      },
      presenter: artifactEntry,
      handle: async ({ db, source, input, page, prepared: store }) => {
        const { path = "", recursive = false } = input;
        const found = await findJob(db, source.id, input.job_id);
        const asked = { path, recursive };
        const entries = await artifactEntries(store, db, found.id, asked, source);
        return pageOf(page, entries.length, async (from, to) => entryRows(entries.slice(from, to)));
      },
    }),
    post("/:job_id/artifacts/keep", {
      summary: "Keep the artifacts of a job that would expire",
      role: "developer",
      input: id,
      ...showing,
      status: 200,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const found = await findJob(db, source.id, input.job_id);
        if (!(await hasArtifacts(db, found.id))) throw notFound();
        await updateRow(db, "ci_jobs", found.id, { artifacts_expire_at: null }, now);
        return changedJob(context, found.id);
      },
    }),
    del("/:job_id/artifacts", {
      summary: "Delete the artifacts of a job",
      role: "maintainer",
      input: id,
      handle: async ({ db, source, input }) => {
        const found = await findJob(db, source.id, input.job_id);
        await deleteArtifacts(db, [found.id]);
        return undefined;
      },
    }),
    get("/:job_id/artifacts/:artifact_path*", {
      answersWith: "application/octet-stream",
      summary: "Get one file of a job's artifacts",
      ...downloading,
      input: { ...id, artifact_path: param.anyText() },
      handle: async ({ db, source, input, prepared: store }) => {
        const found = await findJob(db, source.id, input.job_id);
        return artifactReply(store, db, found.id, input.artifact_path, source);
      },
    }),
    get("/artifacts/:ref_name*/download", {
      answersWith: "application/octet-stream",
      summary: "Get the archive of the newest successful job of a name, of a branch or tag",
      ...downloading,
      input: newest,
      handle: async ({ db, source, input, request, prepared: store }) =>
        archiveReply(store, db, request, await newestJob(db, source.id, input), source),
    }),
    get("/artifacts/:ref_name*/raw/:artifact_path*", {
      answersWith: "application/octet-stream",
      summary: "Get one file of the artifacts of the newest successful job of a name",
      ...downloading,
      input: { ...newest, artifact_path: param.anyText() },
      handle: async ({ db, source, input, prepared: store }) =>
        artifactReply(
          store,
          db,
          await newestJob(db, source.id, input),
          input.artifact_path,
          source,
        ),
    }),
    removeAll("", {
      summary: "Delete the artifacts of all jobs of a project that have ended",
      role: "maintainer",
      status: 202,
      examples: [{ message: "202 Accepted" }],
      handle: async ({ db, source }) => {
        await deleteAllArtifacts(db, source.id);
        return new Json({ message: "202 Accepted" });
      },
    }),
  ],
};
