import { badRequest, notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import * as field from "../../core/field.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { commitId, readCommit } from "../../git/commits.ts";
import { changesBetween } from "../../git/compared.ts";
import { logOf } from "../../git/log.ts";
import { mergeBases } from "../../git/merge-bases.ts";
import { findCommit } from "../../git/revisions.ts";
import type { Value } from "../../store/port.ts";
import { diff, readAllDiffs } from "./diffs.ts";
import { commit, commitRow, commitValues } from "./json.ts";
import type { OpenRepository } from "./open.ts";

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
export interface Comparing {
  readonly from: string;
  readonly to: string;
  /** The project that `from` is in. */
  readonly from_project_id?: number | undefined;
  /** Whether the commits themselves are compared, instead of the second one with what they have in common. */
  readonly straight?: boolean | undefined;
  readonly unidiff?: boolean | undefined;
}

/**
 * Compares two commits: the commits that only the second one has, the oldest first, and what they changed.
 *
 * @param opened with both names
 * @throws ApiError 404 if there is no such commit
 */
export async function compare(
  opened: OpenRepository,
  input: Comparing,
  view: View,
): Promise<Value[]> {
  const { repository, project } = opened;
  const { from_project_id = project.id, straight, unidiff } = input;
  if (from_project_id !== project.id) {
    const reason = `Target project id:${from_project_id} is not a fork of project id:${project.id}`;
    throw badRequest(reason);
  }
  const from = await findCommit(opened, input.from);
  const to = await findCommit(opened, input.to);
  if (from === undefined || to === undefined) throw notFound("Ref");
  const log = logOf(repository, { from: [to], not: [from], order: "date" });
  const newest = (await log.first(repository, MOST_COMMITS)).slice(0, MOST_COMMITS);
  const commits: string[] = [];
  for (const number of newest.toReversed()) {
    const row = commitRow(commitValues(opened, await readCommit(repository, number)));
    commits.push(commit.write(row, view));
  }
  const [base = from] = straight ? [from] : mergeBases(repository.graph, to, [from]);
  const changes = await changesBetween(repository, base, to);
  const diffs = await readAllDiffs(repository, changes.slice(0, MOST_FILES), unidiff);
  return comparisonRow({
    commit: commits.at(-1) ?? "null",
    commits: `[${commits.join(",")}]`,
    diffs: `[${diffs.map((row) => diff.write(row, view)).join(",")}]`,
    compare_same_ref: from === to ? 1 : 0,
    project_path: project.fullPath,
    range: `${commitId(repository, base)}...${commitId(repository, to)}`,
  });
}
