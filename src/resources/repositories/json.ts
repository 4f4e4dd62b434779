import * as field from "../../core/field.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { type Commit, timeOf, titleOf } from "../../git/commits.ts";
import { type Trailer, trailersOf } from "../../git/trailers.ts";
import type { Value } from "../../store/port.ts";
import type { OpenRepository } from "./open.ts";

/** The fields of a commit, wherever one is shown. Their columns are those of {@link commitValues}. */
export const commitFields = {
  id: field.text("id"),
  short_id: field.derived(["id"], "string", ([id]) => String(id).slice(0, 8)),
  created_at: field.zoned("committed_date"),
  parent_ids: field.json("parent_ids", "array of string"),
  title: field.text("title"),
  message: field.text("message"),
  author_name: field.text("author_name"),
  author_email: field.text("author_email"),
  authored_date: field.zoned("authored_date"),
  committer_name: field.text("committer_name"),
  committer_email: field.text("committer_email"),
  committed_date: field.zoned("committed_date"),
  trailers: field.json("trailers", "object"),
  extended_trailers: field.json("extended_trailers", "object"),
  web_url: field.url(["project_path", "id"], (path, id) => `/${path}/-/commit/${id}`),
};

/** A commit. */
export const commit = presenter(commitFields);

/** The row of a commit, from {@link commitValues}. */
export const commitRow = rowMaker(commit);

/** The values of commits without trailers, as long as the commits are kept. */
const known = new WeakMap<Commit, Readonly<Record<string, Value>>>();

/**
 * The values of {@link commitFields}, by column.
 *
 * @param options `trailers`: whether they are filled in. Default: not, as in most of GitLab's lists
 */
export function commitValues(
  { project }: Pick<OpenRepository, "project">,
  commit: Commit,
  options: { trailers?: boolean | undefined } = {},
): Readonly<Record<string, Value>> {
  if (options.trailers) return valuesOf(project.fullPath, commit, trailersOf(commit.message));
  const before = known.get(commit);
  // Forks share commits, and projects are renamed.
  if (before?.["project_path"] === project.fullPath) return before;
  const values = valuesOf(project.fullPath, commit, []);
  known.set(commit, values);
  return values;
}

function valuesOf(
  projectPath: string,
  { id, parents, message, author, committer }: Commit,
  trailers: readonly Trailer[],
): Record<string, Value> {
  const extended = new Map<string, string[]>();
  for (const [key, value] of trailers) extended.set(key, [...(extended.get(key) ?? []), value]);
  return {
    id,
    parent_ids: JSON.stringify(parents),
    title: titleOf(message),
    message,
    author_name: author.name,
    author_email: author.email,
    authored_date: timeOf(author),
    committer_name: committer.name,
    committer_email: committer.email,
    committed_date: timeOf(committer),
    trailers: JSON.stringify(Object.fromEntries(trailers)),
    extended_trailers: JSON.stringify(Object.fromEntries(extended)),
    project_path: projectPath,
  };
}
