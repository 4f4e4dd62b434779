import { newSecret } from "../../auth/token-secrets.ts";
import { FEATURE_LEVELS } from "../../core/access/features.ts";
import { BEING_DELETED, isFrozen } from "../../core/access/visibility.ts";
import { recordJobs } from "../../hooks/records.ts";
import { all, type Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { deploy } from "../ci/deploying.ts";
import { finish, noteRun, refuseGated, specOf } from "../ci/progress.ts";
import { findRunner, type Runner } from "./credentials.ts";
import { dependenciesElsewhere } from "./elsewhere.ts";

/** A job that a runner has got. */
export interface ClaimedJob {
  readonly id: number;
  readonly project_id: number;
  readonly pipeline_id: number;
  readonly user_id: number;
  readonly timeout: number;
  /** The job's token, which is stored as a digest only. */
  readonly token: string;
}

const PENDING = "cj.status = 'pending' and cj.kind = 'build'";

/** Which jobs `cj` wait for a runner, if their project's jobs are given to runners. */
const WAITING_JOBS = `${PENDING}
      and exists (select 1 from users u where u.id = cj.user_id and u.state = 'active')`;

/** Projects `p` whose jobs are given to runners. */
const OPEN_PROJECTS = `p.jobs_enabled <> ${FEATURE_LEVELS.disabled} and p.archived = 0 and p.visibility > ${BEING_DELETED}
      and not ${isFrozen("p.namespace_id")}`;

/** Which jobs `cj` of projects `p` wait for a runner. */
export const WAITING = `${WAITING_JOBS} and ${OPEN_PROJECTS}`;

/** What jobs `cj` a runner may do, if it may do those of their project. */
function fittingJobs({ id, run_untagged, access_level }: Runner): Condition {
  const isTagged = "exists (select 1 from ci_job_tags jt where jt.job_id = cj.id)";
  return {
    sql: `${WAITING_JOBS}
      ${access_level === "ref_protected" ? "and cj.protected = 1" : ""}
      ${run_untagged === 1 ? "" : `and ${isTagged}`}
      and not exists (select 1 from ci_job_tags jt where jt.job_id = cj.id
        and jt.tag not in (select tag from runner_tags where runner_id = ?))`,
    values: [id],
  };
}

/** Projects `p` of which a runner does jobs. */
function fittingProjects({ id, kind, namespace_id }: Runner): Condition {
  const owners: Record<Runner["kind"], Condition> = {
    instance_type: { sql: "p.shared_runners_enabled = 1", values: [] },
    group_type: {
      sql: "p.namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
      values: [namespace_id],
    },
    project_type: {
      sql: "p.id in (select project_id from runner_projects where runner_id = ?)",
      values: [id],
    },
  };
  return { sql: `${OPEN_PROJECTS} and ${owners[kind].sql}`, values: owners[kind].values };
}

/**
 * The oldest of the jobs of a project for which conditions hold. PostgreSQL would take an equal project as a reason to go
 * through the jobs of all projects, by their ids.
 */
const oldestOf = (project: string, jobs: Condition) =>
  `select cj.id from ci_jobs cj where cj.project_id between ${project} and ${project} and ${jobs.sql}
   order by cj.project_id, cj.id limit 1`;

/**
 * The project of the oldest job that a runner may do. Those of projects are looked for there; others are come across soon
 * among all that wait, which SQLite would sort.
 */
async function projectOfOldest(db: Reader, runner: Runner): Promise<number | undefined> {
  const fits = all([fittingProjects(runner), fittingJobs(runner)]);
  const projects =
    runner.kind === "project_type"
      ? "join projects p on p.id = cj.project_id where cj.status = 'pending'"
      : "cross join projects p where p.id = cj.project_id and cj.id > 0";
  const [found] = await db.rows(
    `select cj.project_id from ci_jobs cj ${projects} and ${fits.sql} order by cj.id limit 1`,
    fits.values,
  );
  return found?.[0] as number | undefined;
}

/**
 * The project that a runner of all projects does a job of next: of those with jobs that it may do, the one of which such
 * runners do the fewest at the moment, then that of the oldest job. So a project with many jobs does not keep others waiting,
 * as in GitLab. An index leads from one project with waiting jobs to the next, however many jobs each has.
 */
async function projectInTurn(db: Reader, runner: Runner): Promise<number | undefined> {
  const projects = fittingProjects(runner);
  const jobs = fittingJobs(runner);
  const next = (after: string) =>
    `(select min(cj.project_id) from ci_jobs cj where ${PENDING} and cj.project_id > ${after})`;
  const [found] = await db.rows(
    `with recursive waiting (project_id) as (
       select ${next("0")}
       union all
       select ${next("w.project_id")} from waiting w where w.project_id is not null
     )
     select p.id from waiting w
     cross join projects p
     cross join ci_jobs oldest
     where p.id = w.project_id and ${projects.sql}
       and oldest.id = (${oldestOf("p.id", jobs)})
     order by (select count(*) from ci_jobs rj join runners r on r.id = rj.runner_id
       where rj.project_id = p.id and rj.status in ('running', 'canceling') and r.kind = 'instance_type'), oldest.id
     limit 1`,
    [...projects.values, ...jobs.values],
  );
  return found?.[0] as number | undefined;
}

/** Whether there is a job that a runner may do, unless it is paused or gone. */
export async function hasJob(db: Reader, runnerId: number): Promise<boolean> {
  const runner = await findRunner(db, runnerId);
  return runner?.paused === 0 && (await projectOfOldest(db, runner)) !== undefined;
}

/** Projects that are looked at for a job, while other runners take theirs. */
const TRIES = 10;

/** How long a job's token may outlive its timeout, in milliseconds: it ends with the job. */
const MARGIN = 3_600_000;

/**
 * Gives a runner the oldest job that it may do, of the project whose turn it is if it is a runner of all projects. Claims in
 * one project are made one after another, and by one statement each, so no job is given out twice.
 *
 * @param manager the process of the runner, and whether it cleans up after jobs that are canceled
 * @returns `undefined` if there is none, or others were faster
 */
export async function claim(
  db: Database,
  runner: Runner,
  manager: { readonly id: number; readonly cancelsGracefully: boolean },
  now: number,
): Promise<ClaimedJob | undefined> {
  const projects = fittingProjects(runner);
  const jobs = fittingJobs(runner);
  const nextProject = runner.kind === "instance_type" ? projectInTurn : projectOfOldest;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const projectId = await nextProject(db, runner);
    if (projectId === undefined) return undefined;
    db.lock(projectId);
    const { secret: token, digest } = newSecret("glcbt");
    const [row] = await db.rows(
      `update ci_jobs set status = 'running', runner_id = ?, runner_manager_id = ?, cancels_gracefully = ?,
         token_digest = ?, started_at = ?, updated_at = ?,
         timeout = case when timeout > ? then ? else timeout end
       where status = 'pending'
         and id = (select (${oldestOf("p.id", jobs)}) from projects p where p.id = ? and ${projects.sql})
       returning id, pipeline_id, user_id, timeout, environment,
         (select 1 from ci_job_specs s where s.job_id = ci_jobs.id and instr(s.spec, '"needsElsewhere":') > 0)`,
      [
        runner.id,
        manager.id,
        Number(manager.cancelsGracefully),
        digest,
        now,
        now,
        runner.maximum_timeout ?? LONGEST,
        runner.maximum_timeout ?? LONGEST,
        ...jobs.values,
        projectId,
        ...projects.values,
      ],
    );
    if (!row) continue;
    const [id, pipeline_id, user_id, timeout, environment, needsElsewhere] = row as [
      number,
      number,
      number,
      number,
      string | null,
      number | null,
    ];
    if (environment !== null) {
      if (await refuseGated(db, { id, pipeline_id }, now)) continue;
      await deploy(db, [id], "running", now);
    }
    if (needsElsewhere !== null) {
      const { needsElsewhere: needs = [] } = await specOf(db, id);
      const asking = { project_id: projectId, pipeline_id, user_id };
      const found = await dependenciesElsewhere(db, asking, needs, now);
      if (found.includes(undefined)) {
        const outcome = { status: "failed", failureReason: "missing_dependency_failure" } as const;
        await finish(db, { id, pipeline_id, status: "running" }, outcome, now);
        continue;
      }
    }
    await recordJobs({ db, now }, projectId, [id], "running");
    await noteRun(db, pipeline_id, now);
    await insertRow(db, "job_tokens", {
      user_id,
      project_id: projectId,
      job_id: id,
      digest,
      created_at: now,
      expires_at: now + timeout * 1000 + MARGIN,
    });
    return { id, project_id: projectId, pipeline_id, user_id, timeout, token };
  }
  return undefined;
}

/** A month, in seconds: jobs may not run longer. */
const LONGEST = 2_678_400;
