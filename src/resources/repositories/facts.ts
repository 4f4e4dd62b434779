import { tagTime } from "../../git/commits.ts";
import { pushedCommits } from "../../git/push.ts";
import { BRANCHES, bounds, findRef, type Ref, TAGS } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import type { Database, Reader, Store, Value } from "../../store/port.ts";
import { findRecord, openRecord } from "./open.ts";
import { readmeOf } from "./readme.ts";

/** What is noted of a default branch, for lists of projects. */
export interface MainFacts {
  /** How many commits it has. */
  readonly commits: number;
  /** The path of its README, if it has one. */
  readonly readme: string | null;
}

/** Finds out what is noted of a default branch. @param to its newest commit, in hex */
export async function factsOf(repository: Repository, to: string): Promise<MainFacts> {
  const { count } = await pushedCommits(repository, to, []);
  return { commits: count, readme: await readmeOf(repository, to) };
}

/** Notes what lists of projects show of the default branch. */
export async function setMain(
  db: Database,
  repositoryId: number,
  { commits, readme }: MainFacts,
): Promise<void> {
  await db.run("update git_repositories set commit_count = ?, readme = ? where id = ?", [
    commits,
    readme,
    repositoryId,
  ]);
}

/** Tags whose dates are noted in one transaction. */
const TAGS_TOGETHER = 100;

/** Notes when the tags of a repository were made, of those that have been pushed to older versions. */
async function noteTags(store: Store, projectId: number): Promise<void> {
  const { row } = await findRecord(store.reader(), projectId);
  if (!row) return;
  const found = await store.all<Ref>(
    `select name, oid, peeled from git_refs
     where repository_id = ? and name > ? and name < ? and tagged_at is null order by name`,
    [row.id, ...bounds(TAGS)],
  );
  const repository = await openRecord(store, row);
  for (let start = 0; start < found.length; start += TAGS_TOGETHER) {
    const timed: Value[][] = [];
    for (const ref of found.slice(start, start + TAGS_TOGETHER)) {
      timed.push([await tagTime(repository, ref), row.id, ref.name, ref.oid]);
    }
    await store.transaction(
      async (db) => {
        for (const values of timed) {
          await db.run(
            "update git_refs set tagged_at = ? where repository_id = ? and name = ? and oid = ?",
            values,
          );
        }
      },
      { shared: true },
    );
  }
}

/** Notes facts of repositories that older versions left out. Others can push meanwhile. */
export async function noteFacts(store: Store): Promise<void> {
  const found = await store.rows(
    "select id, project_id from git_repositories where is_noted = 0 order by id",
  );
  for (const [id, projectId] of found as [number, number][]) {
    const main = await findMain(store.reader(), projectId);
    const facts = main && (await factsOf(await openRecord(store, main.row), main.oid));
    await noteTags(store, projectId);
    await store.transaction(
      async (db) => {
        db.lock(projectId);
        // Whoever has pushed since has noted them.
        if (facts && (await findMain(db, projectId))?.oid === main.oid)
          await setMain(db, id, facts);
        await db.run("update git_repositories set is_noted = 1 where id = ?", [id]);
      },
      { shared: true },
    );
  }
}

/** The head of a project's default branch, if there is one. */
async function findMain(db: Reader, projectId: number) {
  const { row, defaultBranch } = await findRecord(db, projectId);
  const ref = row && (await findRef(db, row.id, BRANCHES + defaultBranch));
  return ref && { row, oid: ref.oid };
}
