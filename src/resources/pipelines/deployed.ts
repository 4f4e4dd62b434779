import { type Source, sourcesById } from "../../core/access/source.ts";
import { dayOf } from "../../core/time.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import type { DeploymentStatus } from "../ci/environments.ts";
import { openRepository } from "../repositories/open.ts";

/** The newest commits of a deployment whose merge requests are looked for, at most. */
const MOST_COMMITS = 5000;
/** Commits, or merge requests, of one statement. */
const CHUNK = 500;

/** A deployment, as far as it decides what it brought. */
interface Deployment {
  readonly id: number;
  readonly environment_id: number;
  readonly status: DeploymentStatus;
  /** In hex. */
  readonly sha: string;
}

/**
 * The names of the commits that a deployment brought, in hex: those since the one before it in its environment, or all.
 * A deployment that did not succeed brought none.
 */
export async function commitsOf(
  preparing: { readonly db: Reader; readonly store: Store; readonly source: Source },
  deployment: Deployment,
): Promise<string[]> {
  if (deployment.status !== "success") return [];
  const { repository } = await openRepository(preparing);
  const tip = commitNumber(repository, deployment.sha);
  if (tip === undefined) return [];
  const before = await previousSha(preparing.db, deployment);
  const base = before === undefined ? undefined : commitNumber(repository, before);
  const log = logOf(repository, { from: [tip], not: base === undefined ? undefined : [base] });
  const numbers = await log.first(repository, MOST_COMMITS);
  return numbers.map((number) => commitId(repository, number));
}

/** The ids of the merge requests of a project that were merged by some commits: of their merge, squash or last commit. */
export async function requestsMergedBy(
  db: Reader,
  projectId: number,
  commits: readonly string[],
): Promise<number[]> {
  const ids: number[] = [];
  for (let at = 0; at < commits.length; at += CHUNK) {
    const among = placeholders(commits.slice(at, at + CHUNK));
    const found = await db.rows(
      `select id from merge_requests where project_id = ? and state = 'merged'
         and coalesce(merge_commit_sha, squash_commit_sha, sha) in (${among.sql})`,
      [projectId, ...among.values],
    );
    ids.push(...found.map(([id]) => id as number));
  }
  return ids;
}

/** The commit that an environment had before a deployment, or `undefined`. */
async function previousSha(
  db: Reader,
  { id, environment_id }: Deployment,
): Promise<string | undefined> {
  const [found] = await db.rows(
    `select sha from deployments where environment_id = ? and status = 'success' and id < ?
     order by id desc limit 1`,
    [environment_id, id],
  );
  return found?.[0] as string | undefined;
}

/** The server itself reads all projects. */
const SERVER = { id: 0, username: "", admin: true, external: false } as const;

/**
 * Finds out which merge requests a deployment brought, for the filters of their lists.
 *
 * @returns what stores them
 */
export async function planDeployed(
  store: Store,
  id: number,
  now: number,
): Promise<(db: Database) => Promise<void>> {
  const db = store.reader();
  const found = await db.one<Deployment & { project_id: number }>(
    "select id, project_id, environment_id, status, sha from deployments where id = ?",
    [id],
  );
  const viewer = { caller: SERVER, today: dayOf(now) };
  const sources = found && (await sourcesById(db, "project", [found.project_id], viewer));
  const source = found && sources?.get(found.project_id);
  const commits = source ? await commitsOf({ db, store, source }, found) : [];
  const ids = source ? await requestsMergedBy(db, source.id, commits) : [];
  return async (writing) => {
    for (let at = 0; at < ids.length; at += CHUNK) {
      const among = placeholders(ids.slice(at, at + CHUNK));
      await writing.run(
        `insert into deployed_merge_requests (merge_request_id, deployment_id, environment_id, deployed_at)
         select mr.id, d.id, d.environment_id, coalesce(d.finished_at, d.updated_at)
         from deployments d join merge_requests mr on mr.id in (${among.sql})
         where d.id = ? and d.status = 'success' on conflict do nothing`,
        [...among.values, id],
      );
    }
  };
}

/** Forgets which merge requests a deployment brought, as it did not succeed after all. */
export async function forgetDeployed(db: Database, id: number): Promise<void> {
  await db.run("delete from deployed_merge_requests where deployment_id = ?", [id]);
}
