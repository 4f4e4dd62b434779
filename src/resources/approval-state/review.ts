import { CODE_OWNERS_PATHS, type CodeOwnerEntry, CodeOwners } from "../../core/code-owners.ts";
import { type FileChange, textOf } from "../../git/changes.ts";
import { readCommit } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import { BLOB } from "../../git/objects.ts";
import type { Repository } from "../../git/repository.ts";
import { entryAt, treeOf, typeOfMode } from "../../git/trees.ts";
import { Pace } from "../../turns/pace.ts";

/** What the code of a merge request says about who must approve it, and who can't. */
export interface ReviewFacts {
  /** The lines of the target branch's CODEOWNERS file that own a changed file. */
  readonly owned: readonly OwnedFiles[];
  /** The addresses of those who committed or wrote its commits, in lower case. */
  readonly committers: readonly string[];
}

/** A line of a CODEOWNERS file, and whether its section asks for no approvals. */
export interface OwnedFiles extends CodeOwnerEntry {
  readonly isOptional: boolean;
}

/** The bytes of a CODEOWNERS file that are read. */
const MOST_BYTES = 256 * 1024;
/** The commits whose committers are read at most, the newest ones. */
const MOST_COMMITS = 1000;

/**
 * Finds out what the code of a merge request says about its approvals. It takes too long for a transaction.
 *
 * @param head its newest commit
 * @param start the newest commit of its target branch
 * @param changes the files that it changes
 */
export async function readReview(
  repository: Repository,
  head: number,
  start: number,
  changes: readonly FileChange[],
): Promise<ReviewFacts> {
  return {
    owned: await ownedBy(repository, start, changes),
    committers: await committersOf(repository, head, start),
  };
}

async function ownedBy(
  repository: Repository,
  start: number,
  changes: readonly FileChange[],
): Promise<OwnedFiles[]> {
  const text = await codeOwnersAt(repository, start);
  if (text === undefined) return [];
  const owners = new CodeOwners(text);
  const paths = changes.flatMap(({ from, to }) => [from?.path ?? [], to?.path ?? []].flat());
  const found = new Set<CodeOwnerEntry>();
  const pace = new Pace();
  for (const path of new Set(paths)) {
    for (const entry of owners.entriesOf(textOf(path))) found.add(entry);
    if (pace.isDue) await pace.pause();
  }
  return [...found].map((entry) => ({ ...entry, isOptional: owners.isOptional(entry.section) }));
}

/** The text of a commit's CODEOWNERS file, if it has one. */
async function codeOwnersAt(repository: Repository, commit: number): Promise<string | undefined> {
  for (const path of CODE_OWNERS_PATHS) {
    const entry = await entryAt(repository, treeOf(repository, commit), path);
    if (!entry || typeOfMode(entry.mode) !== BLOB) continue;
    const { data } = await repository.read(repository.findHex(entry.oid));
    return data.toString("utf8", 0, MOST_BYTES);
  }
  return undefined;
}

async function committersOf(
  repository: Repository,
  head: number,
  start: number,
): Promise<string[]> {
  const log = logOf(repository, { from: [head], not: [start], order: "date" });
  const emails = new Set<string>();
  for (const number of (await log.first(repository, MOST_COMMITS)).slice(0, MOST_COMMITS)) {
    const { author, committer } = await readCommit(repository, number);
    emails.add(author.email.toLowerCase()).add(committer.email.toLowerCase());
  }
  return [...emails];
}
