import { commitId, commitNumber } from "../../git/commits.ts";
import { LIMITS } from "../../git/limits.ts";
import { Packs } from "../../git/packs.ts";
import { Input } from "../../git/pkt-line.ts";
import type { Outcome, Push, RefChange } from "../../git/push.ts";
import type { StagedPack } from "../../git/receive.ts";
import { type Before, receiveChanges } from "../../git/receive-pack.ts";
import {
  BRANCHES,
  headOfRequest,
  isReserved,
  listRefsBelow,
  MERGE_REQUESTS,
  TAGS,
} from "../../git/refs.ts";
import { fetchFrom, type RemoteRefs } from "../../git/remote.ts";
import type { Repository, RepositoryRow } from "../../git/repository.ts";
import { Shown } from "../../git/shown.ts";
import type { Reader, Store } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { mostImportBytes, mostPushBytes } from "../application-settings/sizes.ts";
import { isLikeAnOid } from "../protected-refs/abilities.ts";
import { findRecord, openRecord } from "../repositories/open.ts";

/** What is fetched from, and for which project. */
export interface Fetching {
  readonly store: Store;
  readonly now: () => number;
  readonly projectId: number;
  readonly listed: RemoteRefs;
  readonly signal: AbortSignal;
  readonly budget: Budget;
}

/** Changes that were fetched, and what the project has been before. */
export interface Fetched extends Push {
  /** The record of its repository, if it has one. */
  readonly row: RepositoryRow | undefined;
  /** Whether it has no branch yet. */
  readonly isEmpty: boolean;
  /** The full name of its default branch, which may not exist; without any branch, the one of the other server. */
  readonly head: string;
}

/** Commits that a remote is told are here, at most. */
const MOST_HAVES = 10_000;
/** How many commits before a branch's newest one the last of these may be. */
const FARTHEST = 1024;
const LIKE_AN_OID = "its name looks like that of a commit";

/** The branches and tags among the references of a remote. */
export const branchesAndTags = ({ refs }: RemoteRefs): string[] =>
  [...refs.keys()].filter((name) => name.startsWith(BRANCHES) || name.startsWith(TAGS));

/** The references for the code of merge requests among those of a GitLab server. */
export const requestHeads = ({ refs }: RemoteRefs): string[] =>
  [...refs.keys()].filter((name) => headOfRequest.test(name));

/**
 * Fetches the first references that are not as they are on the other server, as many at a time as a push may change.
 *
 * @param names in full, all of them those of clients or all of them those that only servers make
 * @param apply makes the changes that have no problem, and says what became of all of them
 * @returns that; nothing if all references are as they are there
 */
export async function fetchSome(
  { store, now, projectId, listed, signal, budget }: Fetching,
  names: readonly string[],
  apply: (fetched: Fetched) => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> {
  const db = store.reader();
  const { row, defaultBranch } = await findRecord(db, projectId);
  const branches = row ? await listRefsBelow(db, row.id, BRANCHES) : [];
  const tags = row ? await listRefsBelow(db, row.id, TAGS) : [];
  const by = names.some(isReserved) ? "server" : "client";
  const requests = row && by === "server" ? await listRefsBelow(db, row.id, MERGE_REQUESTS) : [];
  const here = new Map([...branches, ...tags, ...requests].map(({ name, oid }) => [name, oid]));
  const wanted = names
    .map((name) => ({ name, from: here.get(name), to: listed.refs.get(name) as string }))
    .filter(({ from, to }) => from !== to)
    .slice(0, LIMITS.commands);
  if (wanted.length === 0) return [];
  const repository = await openRecord(store, row);
  const version = row?.version ?? 0;
  const before = { repository, version, shown: new Shown(db, repository, row) };
  const pack = await fetchMissing(wanted, here, before, { db, listed, signal, budget });
  const input = pack && new Input(pack, budget);
  const packs = Packs.of(store);
  let staged: StagedPack | undefined;
  try {
    const received = await receiveChanges(input, wanted, before, packs, now(), budget, by);
    staged = received.staged;
    const changes = received.changes.map((change) => ({
      ...change,
      problem: change.problem ?? (isLikeAnOid(change.name) ? LIKE_AN_OID : undefined),
    }));
    const isEmpty = branches.length === 0;
    const head = (isEmpty ? listed.head : undefined) ?? BRANCHES + defaultBranch;
    return await apply({ ...received, changes, version, isAtomic: false, row, isEmpty, head });
  } catch (error) {
    await staged?.discard();
    throw error;
  } finally {
    await pack?.return(undefined);
  }
}

/** Fetches the objects that changes need and that are not here. @returns a pack; `undefined` if there are none */
async function fetchMissing(
  changes: readonly (RefChange & { readonly to: string })[],
  here: ReadonlyMap<string, string>,
  { repository, shown }: Before,
  { db, listed, signal, budget }: Pick<Fetching, "listed" | "signal" | "budget"> & { db: Reader },
): Promise<AsyncGenerator<Buffer> | undefined> {
  const there = [...new Set(listed.refs.values())].map((oid) => ({
    oid,
    object: repository.findHex(oid),
  }));
  const objects = there.map(({ object }) => object).filter((object) => object >= 0);
  const seen = await shown.those(objects, budget);
  const common = there.filter(({ object }) => seen.has(object)).map(({ oid }) => oid);
  const known = new Set(common);
  const wants = [...new Set(changes.map(({ to }) => to))].filter((oid) => !known.has(oid));
  if (wants.length === 0) return undefined;
  const haves = new Set<string>();
  for (const { from } of changes) {
    if (haves.size > MOST_HAVES) break;
    for (const oid of from === undefined ? [] : spreadOf(repository, from)) haves.add(oid);
    if (budget.isDue) await budget.pause();
  }
  const all = [...new Set([...haves, ...common, ...here.values()])].slice(0, MOST_HAVES);
  const limits = [LIMITS.packBytes, await mostPushBytes(db), await mostImportBytes({ db })];
  const most = Math.min(...limits.filter((limit) => limit !== undefined));
  return fetchFrom(listed, { wants, haves: all, most }, signal, budget);
}

/** A commit and some of those before it, ever farther from each other: which of them are there as well is not known. */
function spreadOf(repository: Repository, oid: string): string[] {
  const spread: string[] = [];
  let commit = commitNumber(repository, oid);
  for (let at = 0, next = 0; commit !== undefined && at <= FARTHEST; at += 1) {
    if (at === next) {
      spread.push(commitId(repository, commit));
      next = Math.max(1, 2 * at);
    }
    commit = repository.graph.parentsOf(commit)[0];
  }
  return spread;
}
