import { ApiError, invalid } from "../../core/errors.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { STATUSES } from "../ci/json.ts";
import { EXTERNAL, settle, timesOf } from "../ci/progress.ts";
import { insertPipeline } from "../ci/records.ts";

/** The statuses that can be reported. */
export const REPORTED = ["pending", "running", "success", "failed", "canceled", "skipped"] as const;

/** Jobs and statuses of a pipeline to which others are added: what follows from each is found by looking at all. */
const MOST_JOBS = 1000;

/** What is reported of a commit. */
interface Report {
  readonly name: string;
  readonly state: (typeof REPORTED)[number];
  readonly target_url?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly coverage?: number | undefined;
}

/** Of which commit it is reported, and by whom. */
interface Place {
  readonly project_id: number;
  readonly user_id: number;
  readonly ref: string;
  readonly sha: string;
  /** The pipeline that the status is part of; `undefined` for a new one. */
  readonly pipeline: number | undefined;
  /** Whether it has to be that one: otherwise there is a new one if that has too many jobs. */
  readonly isChosen: boolean;
}

/** A job or status of a pipeline that has the name of what is reported. */
interface Named {
  readonly id: number;
  readonly kind: string;
  readonly status: string;
  readonly ref: string;
  readonly user_id: number | null;
}

/**
 * Stores what is reported: a status of the same name, branch and user that has not ended changes; otherwise there is a new
 * one, which replaces those of the same name.
 *
 * @returns the id of the status
 * @throws ApiError 400 if a job has the name, or the status can't become what is reported; 422 if the pipeline that it
 *   has to be part of has too many jobs
 */
export async function report(
  db: Database,
  { project_id, user_id, ref, sha, pipeline: found, isChosen }: Place,
  { name, state, target_url, description, coverage }: Report,
  now: number,
): Promise<number> {
  const named = found === undefined ? [] : await namesakes(db, found, name);
  const isFull = found !== undefined && named.length === 0 && (await hasMostJobs(db, found));
  if (isFull && isChosen) {
    throw new ApiError(422, { message: "The number of jobs has exceeded the limit" });
  }
  const pipeline = isFull ? undefined : found;
  if (named.some(({ kind }) => kind !== "external")) {
    throw invalid({ name: ["has already been taken"] });
  }
  const open = named.find(
    (one) => isOpen(one.status) && one.ref === ref && one.user_id === user_id,
  );
  if (open && isOpen(open.status)) requireTransition(open.status, state);
  const columns = {
    status: state,
    ...timesOf(state, now),
    target_url,
    description,
    coverage: coverage === undefined ? undefined : String(coverage),
    failure_reason: state === "failed" ? "api_failure" : undefined,
  };
  if (pipeline !== undefined && open) {
    await updateRow(db, "ci_jobs", open.id, columns, now);
    await settle(db, pipeline, now);
    return open.id;
  }
  const isTag = pipeline === undefined && (await isOnlyTag(db, project_id, ref));
  const pipeline_id =
    pipeline ??
    (await insertPipeline(
      db,
      { project_id, user_id, ref, tag: isTag, sha, source: "external", status: "created" },
      now,
    ));
  if (named.length > 0) {
    await db.run(
      "update ci_jobs set retried = 1 where pipeline_id = ? and retried = 0 and name = ?",
      [pipeline_id, name],
    );
  }
  const place = { project_id, pipeline_id, user_id, ref, name, ...EXTERNAL };
  const id = await insertRow(db, "ci_jobs", {
    ...place,
    created_at: now,
    updated_at: now,
    queued_at: now,
    ...given(columns),
  });
  await settle(db, pipeline_id, now);
  return id;
}

/** The jobs and statuses of a pipeline with a name, the newest first, without those that were replaced. */
function namesakes(db: Reader, pipelineId: number, name: string): Awaitable<Named[]> {
  return db.all<Named>(
    `select id, kind, status, ref, user_id from ci_jobs where pipeline_id = ? and retried = 0 and name = ?
     order by id desc`,
    [pipelineId, name],
  );
}

async function hasMostJobs(db: Reader, pipelineId: number): Promise<boolean> {
  const [counted] = await db.rows(
    `select count(*) from (select 1 from ci_jobs where pipeline_id = ? and retried = 0 limit ${MOST_JOBS}) as found`,
    [pipelineId],
  );
  return counted?.[0] === MOST_JOBS;
}

const isOpen = (status: string): status is "pending" | "running" =>
  status === "pending" || status === "running";

/** Whether a name is that of a tag, and of no branch. */
async function isOnlyTag(db: Reader, projectId: number, ref: string): Promise<boolean> {
  const found = await db.rows(
    `select r.name from git_repositories g join git_refs r on r.repository_id = g.id
     where g.project_id = ? and g.kind = 'code' and r.name in (?, ?)`,
    [projectId, `refs/heads/${ref}`, `refs/tags/${ref}`],
  );
  return found.length === 1 && String(found[0]?.[0]).startsWith("refs/tags/");
}

/** @throws ApiError 400 for a status that is reported again, or goes back. */
function requireTransition(from: "pending" | "running", to: Report["state"]): void {
  const event = to === "running" ? "run" : "enqueue";
  const isPossible = to === "running" ? from === "pending" : to !== "pending";
  if (isPossible) return;
  const reason = `Status cannot transition via "${event}"`;
  throw new ApiError(400, {
    message: `Cannot transition status via :${event} from :${from} (Reason(s): ${reason})`,
  });
}

type Columns = Readonly<Record<string, Value | undefined>>;

/** The columns that have a value, which may be null. */
const given = (columns: Columns) =>
  Object.fromEntries(
    Object.entries(columns).filter((entry): entry is [string, Value] => entry[1] !== undefined),
  );

/** A status as a row of its presenter. */
export async function statusRow(
  db: Reader,
  presenter: Presenter,
  id: number,
): Promise<Value[] | undefined> {
  const [row] = await db.rows(`select ${presenter.columns} from ${STATUSES} where cj.id = ?`, [id]);
  return row;
}
