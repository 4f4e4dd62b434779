import { ApiError, badRequest } from "../../core/errors.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import { blame } from "../../git/blame.ts";
import { type Commit, readCommit, timeOf } from "../../git/commits.ts";
import { linesOf } from "../../git/lines.ts";
import type { Repository } from "../../git/repository.ts";
import type { Budget } from "../../turns/budget.ts";

/** Larger files are not blamed, in bytes. */
const MOST_BLAMED = 2 * 1024 * 1024;

/** Lines of a file, counted from 1: from the first one up to the last one. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads which lines of a file a client asks for.
 *
 * @throws ApiError 400
 */
export function readRange(sent: Parameter | undefined): Range | undefined {
  if (sent === undefined || sent === null) return undefined;
  const read = (name: "start" | "end") => {
    const value = typeof sent === "object" && !Array.isArray(sent) ? sent[name] : undefined;
    if (value === undefined || value === null || value === "") {
      throw new ApiError(400, { error: `range[${name}] is missing` });
    }
    const number = Number(value);
    if (Number.isInteger(number) && number > 0) return number;
    throw new ApiError(400, { error: `range[${name}] is invalid` });
  };
  const range = { start: read("start"), end: read("end") };
  if (range.start <= range.end) return range;
  throw badRequest("range[start] must be less than or equal to range[end]");
}

/**
 * The lines of a file, in parts that are from one commit each.
 *
 * @throws ApiError 400 if it is too large or has too long a history
 */
export async function blamedLines(
  repository: Repository,
  commit: number,
  { path, object }: { readonly path: string; readonly object: number },
  range: Range | undefined,
  budget: Budget,
): Promise<object[]> {
  const tooLarge = () => badRequest("The file or its history is too large to be blamed");
  if (repository.sizeOf(object) > MOST_BLAMED) throw tooLarge();
  const lines = await budget.take(linesOf((await repository.read(object)).data));
  const from = (range?.start ?? 1) - 1;
  const to = Math.min(range?.end ?? lines.length, lines.length);
  const parts = await blame(repository, commit, path, { from, to }, budget);
  if (!parts) throw tooLarge();
  const commits = new Map<number, object>();
  for (const { commit } of parts) {
    if (!commits.has(commit)) commits.set(commit, shown(await readCommit(repository, commit)));
  }
  return parts.map(({ commit, from, count }) => ({
    commit: commits.get(commit),
    lines: lines.slice(from, from + count).map(textOfLine),
  }));
}

/** A line without its end. */
const textOfLine = (line: string) =>
  Buffer.from(line, "latin1").toString("utf8").replace(/\n$/, "");

/** A commit as it is shown with its lines. */
const shown = ({ id, parents, message, author, committer }: Commit) => ({
  id,
  parent_ids: parents,
  message,
  authored_date: timeOf(author),
  author_name: author.name,
  author_email: author.email,
  committed_date: timeOf(committer),
  committer_name: committer.name,
  committer_email: committer.email,
});
