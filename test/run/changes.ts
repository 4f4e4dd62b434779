import { git } from "./share.ts";

/** What is tested: everything since a commit. */
export interface Changes {
  /** The commit before the changes; `undefined` if there is no history to compare with. */
  readonly base: string | undefined;
  /** The paths of changed, added and removed files. */
  readonly files: readonly string[];
}

/** On the main branch, what is tested are the commits of these hours: longer than somebody works before they share it. */
const RECENT_SECONDS = 4 * 60 * 60;

/**
 * What changed since the main branch as others have it, with what is not committed. On the main branch itself, whatever
 * was committed within some hours before its newest commit counts. `TEST_BASE` names another commit to compare with.
 */
export function changesToTest(): Changes {
  const base = baseOf();
  if (base === undefined) return { base, files: [] };
  const changed = git("diff", "--name-only", "--no-renames", base) ?? "";
  const untracked = git("ls-files", "--others", "--exclude-standard") ?? "";
  const files = new Set([...changed.split("\n"), ...untracked.split("\n")]);
  files.delete("");
  return { base, files: [...files].sort() };
}

function baseOf(): string | undefined {
  const named = process.env["TEST_BASE"] || process.env["CI_MERGE_REQUEST_DIFF_BASE_SHA"];
  if (named) {
    const found = git("rev-parse", "--verify", "--quiet", `${named}^{commit}`);
    if (found === undefined) throw new Error(`TEST_BASE=${named} is not a commit of this clone`);
    return found;
  }
  const head = git("rev-parse", "HEAD");
  const shared = git("merge-base", "HEAD", "origin/main");
  if (shared !== undefined && shared !== head) return shared;
  const newest = Number(git("show", "--no-patch", "--format=%ct", "HEAD"));
  if (!newest) return undefined;
  return git("rev-list", "-1", `--before=${newest - RECENT_SECONDS}`, "HEAD") || undefined;
}
