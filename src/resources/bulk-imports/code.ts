import { commitId, commitNumber } from "../../git/commits.ts";
import { RefusedError } from "../../git/errors.ts";
import { mergeBases } from "../../git/merge-bases.ts";
import { Packs } from "../../git/packs.ts";
import { Input } from "../../git/pkt-line.ts";
import { checkChanges } from "../../git/push.ts";
import { receivePack } from "../../git/receive.ts";
import { BRANCHES, headNameOf } from "../../git/refs.ts";
import { fetchFrom, listForFetch, type Remote, type RemoteRefs } from "../../git/remote.ts";
import { Repository } from "../../git/repository.ts";
import type { Store } from "../../store/port.ts";
import { Budget } from "../../turns/budget.ts";
import { mostImportBytes } from "../application-settings/sizes.ts";
import { ArchiveError } from "../exports/format.ts";
import { writeWiki } from "../exports/reader.ts";
import { bringRefs } from "../fetched-changes/bring.ts";
import { branchesAndTags, requestHeads } from "../fetched-changes/fetch.ts";
import { reasonOf } from "../mirrors/updates.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import { findWikiRecord } from "../wikis/record.ts";
import type { Bringing } from "./running.ts";

/** Where code is brought from, and to which project. */
interface CodeOf {
  readonly store: Store;
  readonly now: () => number;
  readonly projectId: number;
  readonly remote: Remote;
  readonly signal: AbortSignal;
}

/**
 * Brings the branches, the tags and the code of merge requests; those that are here as they are there cost nothing.
 *
 * @returns those that could not be brought, each with the reason
 * @throws RemoteError, RefusedError and others: see `reasonOf` of mirrors
 */
async function bringCode({ store, now, projectId, remote, signal }: CodeOf): Promise<string[]> {
  const budget = new Budget(signal);
  const listed = asHere(await listForFetch(remote, signal, budget));
  const fetching = { store, now, projectId, listed, signal, budget };
  return [
    ...(await bringRefs(fetching, branchesAndTags(listed), false)),
    ...(await bringRefs(fetching, requestHeads(listed), false)),
  ];
}

const PULL = /^refs\/pull\/([1-9]\d{0,8})\/(head|merge)$/;

/** What a server of pull requests lists: their code has the name that it has here. */
function asHere(listed: RemoteRefs): RemoteRefs {
  const refs = new Map<string, string>();
  for (const [name, oid] of listed.refs) {
    const [, number, what] = PULL.exec(name) ?? [];
    if (number === undefined) refs.set(name, oid);
    else if (what === "head") refs.set(headNameOf(Number(number)), oid);
  }
  return { ...listed, refs };
}

/** What a project has of commits, which are named in hex. */
export interface Commits {
  readonly has: (sha: string) => boolean;
  /** The newest commit that two have in common; `null` if there is none, or one of them is not here. */
  readonly baseOf: (one: string, other: string) => string | null;
}

/** The commits of a project. */
export async function commitsOf(store: Store, projectId: number): Promise<Commits> {
  const { row } = await findRecord(store.reader(), projectId);
  const repository = await openRecord(store, row);
  return {
    has: (sha) => repository.findHex(sha) >= 0,
    baseOf: (one, other) => {
      const [first, second] = [one, other].map((sha) => commitNumber(repository, sha));
      if (first === undefined || second === undefined) return null;
      const [base] = mergeBases(repository.graph, first, [second]);
      return base === undefined ? null : commitId(repository, base);
    },
  };
}

/** The most bytes of a wiki, if there is no other limit. */
const MOST_WIKI = 1024 ** 3;

/**
 * Brings a wiki, unless there is one here.
 *
 * @param importer the id of the user whose it is then
 * @returns whether it was brought
 * @throws RemoteError, RefusedError, ArchiveError and others
 */
async function bringWiki(
  { store, now, projectId, remote, signal }: CodeOf,
  importer: number,
): Promise<boolean> {
  const db = store.reader();
  if ((await findWikiRecord(db, projectId)).row) return false;
  const budget = new Budget(signal);
  const listed = await listForFetch(remote, signal, budget);
  const refs = [...listed.refs].filter(([name]) => name.startsWith(BRANCHES));
  if (refs.length === 0) return false;
  const most = (await mostImportBytes({ db })) ?? MOST_WIKI;
  const wanted = { wants: [...new Set(refs.map(([, oid]) => oid))], haves: [], most };
  const pack = fetchFrom(listed, wanted, signal, budget);
  const packs = Packs.of(store);
  const empty = new Repository(packs, []);
  const staged = await receivePack(new Input(pack, budget), empty, packs, now());
  try {
    const repository = staged ? empty.with(staged.pack) : empty;
    const changes = await checkChanges(
      repository,
      refs.map(([name, to]) => ({ name, from: undefined, to })),
      "server",
      budget,
    );
    const push = { changes, staged, repository, version: 0, isAtomic: false };
    const head = (listed.head ?? (refs[0] as [string, string])[0]).slice(BRANCHES.length);
    await writeWiki({ store, importer, now: now() }, projectId, push, head);
    return true;
  } catch (error) {
    await staged?.discard();
    throw error;
  }
}

/** The address of a repository on the other server, with the token. @param suffix what follows its path */
export function addressOfCode({ running, entity }: Bringing, suffix: string): URL {
  const { token, record } = running;
  const url = new URL(record.source_url);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${entity.source_full_path}${suffix}`;
  // Any user name is accepted beside an access token.
  url.username = "oauth2";
  url.password = encodeURIComponent(token);
  return url;
}

/** The repository of a project on the other server. */
function codeOf(bringing: Bringing, suffix: string, projectId: number): CodeOf {
  const { store, now, signal, allowLocal } = bringing.running;
  const url = addressOfCode(bringing, suffix);
  return { store, now, signal, projectId, remote: { url, allowLocal } };
}

/** @throws ArchiveError with what could not be brought; what is no failure of the other server */
async function gitFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ArchiveError || error instanceof RefusedError)
      throw new ArchiveError(error.message);
    throw new ArchiveError(reasonOf(error));
  }
}

/**
 * Brings the code of a project.
 *
 * @returns the references that could not be brought, each with the reason
 * @throws ArchiveError with the reason if none could
 */
export const bringCodeOf = (bringing: Bringing): Promise<string[]> =>
  gitFailures(() => bringCode(codeOf(bringing, ".git", bringing.place.id)));

/** Brings a wiki into a project, or the hidden one of a group. @throws ArchiveError with the reason if that failed */
export const bringWikiOf = (bringing: Bringing, projectId: number): Promise<boolean> =>
  gitFailures(() =>
    bringWiki(codeOf(bringing, ".wiki.git", projectId), bringing.running.importer.id),
  );
