import { commitNumber } from "./commits.ts";
import { treeNameOf } from "./contents.ts";
import { Draft } from "./draft.ts";
import { Lru } from "./lru.ts";
import { mergeCommits } from "./merge-commits.ts";
import type { Repository } from "./repository.ts";

/** Whether a commit can be merged into another one. */
export interface Mergeability {
  /** Whether it has commits that the other one lacks. */
  readonly isAhead: boolean;
  /** Whether it lacks commits that the other one has: then the other one can't be moved to it. */
  readonly isBehind: boolean;
  readonly hasConflicts: boolean;
}

/** What an entry takes. */
const ENTRY = 300;

/** It depends on the two commits only, so nothing in here becomes outdated. */
const known = new Lru<string, Mergeability>(4 * 1024 * 1024);

const keyOf = (source: string, target: string) => `${source} ${target}`;

/** What {@link findMergeability} has found out about two commits, if it was asked lately. */
export function knownMergeability(source: string, target: string): Mergeability | undefined {
  return known.get(keyOf(source, target));
}

/**
 * Finds out whether a commit can be merged into another one.
 *
 * @param source the name of a commit in hex
 * @param target likewise: the commit it is to be merged into
 */
export async function findMergeability(
  repository: Repository,
  source: string,
  target: string,
): Promise<Mergeability> {
  const found = knownMergeability(source, target);
  if (found) return found;
  await mergeAndNote(new Draft(repository), source, target);
  return knownMergeability(source, target) as Mergeability;
}

/**
 * Merges a commit into another one, and notes whether that is possible, as {@link findMergeability} does.
 *
 * @param draft gets the objects of the result
 * @returns the name of the result's tree, in hex; of no use if there are conflicts
 */
export async function mergeAndNote(draft: Draft, source: string, target: string): Promise<string> {
  const { repository } = draft;
  const { graph } = repository;
  const [theirs, ours] = [source, target].map((oid) => commitNumber(repository, oid));
  if (theirs === undefined || ours === undefined) throw new Error(`${source} is missing`);
  const isAhead = !graph.isAncestor(theirs, ours);
  const isBehind = !graph.isAncestor(ours, theirs);
  const merged =
    isAhead && isBehind ? await mergeCommits(repository, draft, ours, theirs) : undefined;
  const hasConflicts = merged !== undefined && merged.conflicts.size > 0;
  known.set(keyOf(source, target), { isAhead, isBehind, hasConflicts }, ENTRY);
  return merged?.tree ?? treeNameOf(repository, isAhead ? theirs : ours);
}
