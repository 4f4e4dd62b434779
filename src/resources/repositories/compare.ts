import { areRelated } from "../../core/access/forks.ts";
import { findVisible, mayReadCode } from "../../core/access/source.ts";
import { badRequest, forbidden, notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import * as field from "../../core/field.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import type { CodeSource, PrepareContext } from "../../core/resource.ts";
import { commitId, commitNumber, readCommit } from "../../git/commits.ts";
import { changesBetween } from "../../git/compared.ts";
import { logOf } from "../../git/log.ts";
import { mergeBases } from "../../git/merge-bases.ts";
import { joined } from "../../git/repository.ts";
import { findCommit } from "../../git/revisions.ts";
import type { Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { diff, readAllDiffs } from "./diffs.ts";
import { commit, commitRow, commitValues } from "./json.ts";
import { type OpenRepository, openRepository } from "./open.ts";

/** Commits and changed files that a comparison shows at most: the newest, and the first by their paths. */
const MOST_COMMITS = 1000;
const MOST_FILES = 1000;

/** What is between two commits. */
export const comparison = presenter({
  commit: field.json("commit", "Commit or null", { fields: commit.fields }),
  commits: field.json("commits", "array of Commit", { items: commit.fields }),
  diffs: field.json("diffs", "array of Diff", { items: diff.fields }),
  compare_timeout: field.constant(false),
  compare_same_ref: field.flag("compare_same_ref"),
  web_url: field.url(["project_path", "range"], (path, range) => `/${path}/-/compare/${range}`),
});
const comparisonRow = rowMaker(comparison);

/** What is to be compared, and how. */
interface Comparing {
  readonly from: string;
  readonly to: string;
  /** The project that `from` is in, if that is another one: a fork of the same project. */
  readonly from_project_id?: number | undefined;
  /** Whether the commits themselves are compared, instead of the second one with what they have in common. */
  readonly straight?: boolean | undefined;
  readonly unidiff?: boolean | undefined;
}

/** Two commits of a repository, by their numbers. */
interface Compared {
  readonly opened: OpenRepository;
  readonly from: number;
  readonly to: number;
}

/**
 * Finds what is to be compared, for the `prepare` of a route.
 *
 * @throws ApiError 404 if there is no such commit; 400 for a project that is no relative or that the caller may not read,
 *   403 if they may only not read its code
 */
export async function openCompared(
  preparing: PrepareContext & { source: CodeSource },
  { from, to, from_project_id }: Comparing,
): Promise<Compared> {
  const { db, source, viewer } = preparing;
  if (from_project_id === undefined || from_project_id === source.id) {
    const opened = await openRepository(preparing, [from, to]);
    return { opened, from: await requireRef(opened, from), to: await requireRef(opened, to) };
  }
  const other = await findVisible(db, "project", String(from_project_id), viewer);
  if (!other || !(await areRelated(db, source.id, other.id))) {
    const reason = `Target project id:${from_project_id} is not a fork of project id:${source.id}`;
    throw badRequest(reason);
  }
  if (!mayReadCode(other)) {
    throw forbidden("You don't have access to this fork's parent project");
  }
  const opened = await openRepository(preparing, [to]);
  const end = await requireRef(opened, to);
  const others = await openRepository({ ...preparing, source: other }, [from]);
  const start = commitId(others.repository, await requireRef(others, from));
  const repository =
    opened.repository.findHex(start) < 0
      ? joined(opened.repository, others.repository)
      : opened.repository;
  return {
    opened: { ...opened, repository },
    from: commitNumber(repository, start) as number,
    to: end,
  };
}

async function requireRef(opened: OpenRepository, name: string): Promise<number> {
  const commit = await findCommit(opened, name);
  if (commit === undefined) throw notFound("Ref");
  return commit;
}

/** Compares two commits: the commits that only the second one has, the oldest first, and what they changed. */
export async function compare(
  { opened, from, to }: Compared,
  { straight, unidiff }: Comparing,
  view: View,
  budget: Budget,
): Promise<Value[]> {
  const { repository, project } = opened;
  const log = logOf(repository, { from: [to], not: [from], order: "date" });
  const newest = (await log.first(repository, MOST_COMMITS, budget)).slice(0, MOST_COMMITS);
  const commits: string[] = [];
  for (const number of newest.toReversed()) {
    const row = commitRow(commitValues(opened, await readCommit(repository, number)));
    commits.push(commit.write(row, view));
  }
  const [base = from] = straight ? [from] : mergeBases(repository.graph, to, [from]);
  const changes = await changesBetween(repository, base, to, budget);
  const diffs = await readAllDiffs(repository, changes.slice(0, MOST_FILES), unidiff, budget);
  return comparisonRow({
    commit: commits.at(-1) ?? "null",
    commits: `[${commits.join(",")}]`,
    diffs: `[${diffs.map((row) => diff.write(row, view)).join(",")}]`,
    compare_same_ref: from === to ? 1 : 0,
    project_path: project.fullPath,
    range: `${commitId(repository, base)}...${commitId(repository, to)}`,
  });
}
