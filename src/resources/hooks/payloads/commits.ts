import { textOf } from "../../../git/changes.ts";
import {
  commitId,
  commitNumber,
  readCommit,
  readTag,
  timeOf,
  titleOf,
} from "../../../git/commits.ts";
import { logOf } from "../../../git/log.ts";
import type { Repository } from "../../../git/repository.ts";
import { Budget } from "../../../turns/budget.ts";
import { changesOf } from "../../repositories/diffs.ts";
import { findRecord, openRecord } from "../../repositories/open.ts";
import type { Block } from "./blocks.ts";
import type { Making } from "./making.ts";

/** The code of a project. */
export interface Code {
  readonly repository: Repository;
  /** Where its pages begin. */
  readonly url: string;
}

/** Opens the code of a project. */
export async function openCode({ store, view }: Making, projectId: number): Promise<Code> {
  const { row } = await findRecord(store, projectId);
  const [found] = await store.rows("select full_path from projects where id = ?", [projectId]);
  const repository = await openRecord(store, row);
  return { repository, url: `${view.base}/${found?.[0]}` };
}

/** A commit, as payloads show it; null if it is gone. */
export async function commitBlock({ repository, url }: Code, oid: string): Promise<Block | null> {
  const number = commitNumber(repository, oid);
  return number === undefined ? null : shown(repository, url, number);
}

async function shown(repository: Repository, url: string, number: number): Promise<Block> {
  const { id, message, author, committer } = await readCommit(repository, number);
  return {
    id,
    message,
    title: titleOf(message),
    timestamp: timeOf(committer),
    url: `${url}/-/commit/${id}`,
    author: { name: author.name, email: author.email },
  };
}

/** Commits that the payload of a push shows: the newest. */
const MOST_COMMITS = 20;
/** Files of each commit that are named. */
const MOST_FILES = 1000;

/**
 * The newest commits of a push with the files they changed, oldest first.
 *
 * @param from commits that were there before, with all before them
 */
export async function pushedBlocks(
  { repository, url }: Code,
  from: readonly string[],
  to: string,
): Promise<Block[]> {
  const end = commitNumber(repository, to);
  if (end === undefined) return [];
  const not = from.flatMap((oid) => commitNumber(repository, oid) ?? []);
  const log = logOf(repository, { from: [end], not });
  const numbers = (await log.first(repository, MOST_COMMITS)).slice(0, MOST_COMMITS);
  const blocks: Block[] = [];
  for (const number of [...numbers].reverse()) {
    blocks.push(await withFiles(repository, url, number));
  }
  return blocks;
}

/** What payloads say of a tag's object. */
interface Tagged {
  /** The commit that the tag stands for in the end, with the files that it changed; none if it is gone. */
  readonly commits: Block[];
  /** The commit's name, or the object's own if it is none. */
  readonly target: string;
  /** Of an annotated tag. */
  readonly message: string | null;
}

/** Reads what a tag stands for. */
export async function taggedOf({ repository, url }: Code, oid: string): Promise<Tagged> {
  const object = repository.findHex(oid);
  if (object < 0) return { commits: [], target: oid, message: null };
  const message = (await readTag(repository, object))?.message.trimEnd() ?? null;
  const peeled = await repository.peel(object);
  const number = repository.graph.commitOf(peeled);
  if (number < 0) return { commits: [], target: oid, message };
  const commits = [await withFiles(repository, url, number)];
  return { commits, target: commitId(repository, number), message };
}

async function withFiles(repository: Repository, url: string, number: number): Promise<Block> {
  return {
    ...(await shown(repository, url, number)),
    ...(await filesOf(repository, number)),
  };
}

async function filesOf(repository: Repository, number: number): Promise<Block> {
  const changes = (await changesOf(repository, number, new Budget())).slice(0, MOST_FILES);
  const paths = (fits: (from: unknown, to: unknown) => unknown) =>
    changes
      .filter(({ from, to }) => fits(from, to))
      .map(({ from, to }) => textOf((to ?? from)?.path ?? ""));
  return {
    added: paths((from) => !from),
    modified: paths((from, to) => from && to),
    removed: paths((_, to) => !to),
  };
}
