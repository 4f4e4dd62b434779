import { commitNumber } from "../../git/commits.ts";
import { keptName, pipelineNameOf } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database } from "../../store/port.ts";

/** Names that one statement looks up. */
const TOGETHER = 500;
/** Pipelines, and deployments, of so many branches or tags whose commits are kept, the newest ones. */
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
  const isTag = type === "tag";
  const some = placeholders(names);
  const ofRequests = `union select q.id from merge_requests mr join pipelines q on q.merge_request_id = mr.id
      and q.project_id = mr.source_project_id
    where mr.source_project_id = ? and mr.source_branch in (${some.sql})`;
  const pipelines = await db.rows(
    `select pl.id, pl.sha from pipelines pl where pl.id in (
       select p.id from pipelines p where p.project_id = ? and p.ref in (${some.sql}) and p.tag = ?
       ${isTag ? "" : ofRequests})
     order by pl.id desc limit ${MOST}`,
    [projectId, ...some.values, Number(isTag), ...(isTag ? [] : [projectId, ...some.values])],
  );
  for (const [id, sha] of pipelines as [number, string][]) {
    await keep(db, projectId, repository, { name: pipelineNameOf(id), sha });
  }
  const deployments = await db.rows(
    `select max(d.id), d.sha from deployments d where d.project_id = ? and d.ref in (${some.sql}) and d.tag = ?
     group by d.sha order by 1 desc limit ${MOST}`,
    [projectId, ...some.values, Number(isTag)],
  );
  for (const [, sha] of deployments as [number, string][]) {
    await keep(db, projectId, repository, { name: keptName(sha), sha });
  }
}

async function keep(
  db: Database,
  projectId: number,
  repository: Repository,
  { name, sha }: { readonly name: string; readonly sha: string },
): Promise<void> {
  if (commitNumber(repository, sha) === undefined) return;
  await db.run(
    `insert into git_refs (repository_id, name, oid)
     values ((select id from git_repositories where project_id = ? and kind = 'code'), ?, ?)
     on conflict (repository_id, name) do nothing`,
    [projectId, name, sha],
  );
}

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
