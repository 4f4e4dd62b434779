import { commitNumber } from "../../git/commits.ts";
import { keptName, pipelineNameOf } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { insertMany } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database } from "../../store/port.ts";

/** Branches or tags that one statement looks up. */
const TOGETHER = 50;
/** Pipelines of a branch or tag, and deployments, whose commits are kept: the newest ones. */
const MOST = 1000;

/** A branch or tag. */
interface Named {
  readonly ref: string;
  readonly ref_type: "branch" | "tag";
}

/**
 * Keeps the commits of the pipelines and deployments of branches and tags when these are deleted or replaced: their jobs
 * fetch them, and may be retried. Those of pipelines are `refs/pipelines/…`, those of deployments `refs/keep-around/…`. The push that does this raises the version of the references.
 *
 * @param repository the project's
 */
export async function keepCommits(
  db: Database,
  projectId: number,
  repository: Repository,
  replaced: readonly Named[],
): Promise<void> {
  for (const type of ["branch", "tag"] as const) {
    const names = replaced.filter(({ ref_type }) => ref_type === type).map(({ ref }) => ref);
    for (let start = 0; start < names.length; start += TOGETHER) {
      await keepSome(db, projectId, repository, names.slice(start, start + TOGETHER), type);
    }
  }
}

async function keepSome(
  db: Database,
  projectId: number,
  repository: Repository,
  names: readonly string[],
  type: Named["ref_type"],
): Promise<void> {
  const [[repositoryId] = []] = await db.rows(
    "select id from git_repositories where project_id = ? and kind = 'code'",
    [projectId],
  );
  if (repositoryId === undefined) return;
  const tag = Number(type === "tag");
  const values = names.flatMap((name) => [projectId, name, tag]);
  const branches = placeholders(names);
  // The sum keeps the engines from looking through all pipelines of the project in the wanted order.
  const ofRequests = `select * from (select pl.id, pl.sha from merge_requests mr
    cross join pipelines pl
    where mr.source_project_id = ? and mr.source_branch in (${branches.sql})
      and pl.merge_request_id = mr.id and pl.project_id + 0 = mr.source_project_id
    order by pl.id desc limit ${MOST}) as of_requests`;
  const pipelines = [...newestOf("pipelines", names), ...(tag === 0 ? [ofRequests] : [])];
  const isNew = (name: string) =>
    `not exists (select 1 from git_refs where repository_id = ? and name = ${name})`;
  const ofPipelines = await db.rows(
    `select id, sha from (${pipelines.join(" union ")}) as newest
     where ${isNew(`'${pipelineNameOf("")}' || newest.id`)} order by id desc limit ${MOST}`,
    [...values, ...(tag === 0 ? [projectId, ...branches.values] : []), repositoryId],
  );
  const ofDeployments = await db.rows(
    `select distinct sha from (${newestOf("deployments", names).join(" union ")}) as newest
     where ${isNew(`'${keptName("")}' || newest.sha`)}`,
    [...values, repositoryId],
  );
  const kept = [
    ...(ofPipelines as [number, string][]).map(([id, sha]) => [pipelineNameOf(id), sha] as const),
    ...(ofDeployments as [string][]).map(([sha]) => [keptName(sha), sha] as const),
  ].filter(([, sha]) => commitNumber(repository, sha) !== undefined);
  const rows = kept.map(([name, sha]) => [repositoryId, name, sha]);
  await insertMany(db, "git_refs", ["repository_id", "name", "oid"], rows);
}

/** Statements for the newest ones of each branch or tag. */
const newestOf = (table: "pipelines" | "deployments", names: readonly string[]) =>
  names.map(
    (_, at) => `select * from (select id, sha from ${table}
      where project_id = ? and ref = ? and tag = ? order by id desc limit ${MOST}) as of_${at}`,
  );

/** Keeps the commit of a pipeline no longer, which is deleted. */
export async function releaseCommit(
  db: Database,
  projectId: number,
  pipelineId: number,
): Promise<void> {
  const repository = "project_id = ? and kind = 'code'";
  const released = await db.run(
    `delete from git_refs where name = ?
     and repository_id = (select id from git_repositories where ${repository})`,
    [pipelineNameOf(pipelineId), projectId],
  );
  if (released === 0) return;
  await db.run(
    `update git_repositories set refs_version = refs_version + 1, has_garbage = 1 where ${repository}`,
    [projectId],
  );
}
