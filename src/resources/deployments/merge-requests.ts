import type { Source } from "../../core/access/source.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import { openRepository } from "../repositories/open.ts";
import { type Deployment, previousSha } from "./queries.ts";

/** The newest commits of a deployment whose merge requests are looked for, at most. */
const MOST_COMMITS = 5000;
/** Commits of one statement. */
const CHUNK = 500;

/**
 * The names of the commits that a deployment brought, in hex: those since the one before it in its environment, or all.
 * A deployment that did not succeed brought none.
 */
export async function commitsOf(
  preparing: PrepareContext & { readonly source: Source },
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
