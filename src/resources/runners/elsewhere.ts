import type { ArtifactAccess, NeedElsewhere } from "../../ci/index.ts";
import { isInScope } from "../../core/access/job-tokens.ts";
import { findVisible, type Source } from "../../core/access/source.ts";
import type { Reader } from "../../store/port.ts";
import { mayDownload, mayReadJobs } from "../ci/abilities.ts";
import { viewerOf } from "../pipelines/rules.ts";

/** A job whose artifacts another one gets. */
export interface Dependency {
  readonly id: number;
  readonly name: string;
  readonly archive: { readonly filename: string; readonly size: number } | undefined;
}

/** The job that gets them: what it may read is what its user may, where its token is taken. */
export interface Asking {
  readonly project_id: number;
  readonly pipeline_id: number;
  readonly user_id: number | null;
}

/**
 * Finds the jobs of other projects and pipelines whose artifacts a job gets: the newest that have succeeded and have
 * an archive.
 *
 * @returns in the order of what is needed; `undefined` for what is not there, or not shown
 */
export async function dependenciesElsewhere(
  db: Reader,
  job: Asking,
  needs: readonly NeedElsewhere[],
  now: number,
): Promise<(Dependency | undefined)[]> {
  const found: (Dependency | undefined)[] = [];
  for (const need of needs) {
    found.push(
      "project" in need ? await ofProject(db, job, need, now) : await ofPipeline(db, job, need),
    );
  }
  return found;
}

const JOB = `select cj.id, cj.name, a.file_name, f.size, a.access from pipelines pl
  join ci_jobs cj on cj.pipeline_id = pl.id
  join job_artifacts a on a.job_id = cj.id and a.file_type = 'archive' join stored_files f on f.id = a.file_id
  where cj.name = ? and cj.status = 'success' and cj.retried = 0`;

async function ofProject(
  db: Reader,
  { project_id, user_id }: Asking,
  { project: path, job, ref }: Extract<NeedElsewhere, { project: string }>,
  now: number,
): Promise<Dependency | undefined> {
  const viewer = user_id === null ? undefined : await viewerOf(db, user_id, now);
  const project = viewer && path.includes("/") && (await findVisible(db, "project", path, viewer));
  if (!project || !mayReadJobs(project)) return undefined;
  if (!(await isInScope(db, { projectId: project_id }, project))) return undefined;
  const [row] = await db.rows(
    `${JOB} and pl.project_id = ? and pl.ref = ? and pl.status = 'success' order by pl.id desc limit 1`,
    [job, project.id, ref],
  );
  return dependencyOf(row, project);
}

async function ofPipeline(
  db: Reader,
  { project_id, pipeline_id }: Asking,
  { pipeline, job }: Extract<NeedElsewhere, { pipeline: string }>,
): Promise<Dependency | undefined> {
  if (!/^\d{1,15}$/.test(pipeline)) return undefined;
  // Of the pipelines that started each other, down to this one.
  const [row] = await db.rows(
    `with root (id) as (select coalesce((select root_id from downstream_pipelines where pipeline_id = ?), cast(? as bigint)))
     ${JOB} and pl.project_id = ? and pl.id = ?
     and (pl.id in (select id from root)
       or pl.id in (select pipeline_id from downstream_pipelines where root_id in (select id from root)))
     order by cj.id desc limit 1`,
    [pipeline_id, pipeline_id, job, project_id, Number(pipeline)],
  );
  return dependencyOf(row, "later job");
}

function dependencyOf(
  row: readonly unknown[] | undefined,
  downloader: Source | "later job",
): Dependency | undefined {
  if (!row) return undefined;
  const [id, name, filename, size, access] = row as [
    number,
    string,
    string,
    number,
    ArtifactAccess,
  ];
  return mayDownload(downloader, access) ? { id, name, archive: { filename, size } } : undefined;
}
