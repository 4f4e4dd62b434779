import { pushedCommits } from "../../git/push.ts";
import { BRANCHES, findRef } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
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

/** Notes the facts of default branches that older versions left out. Others can push meanwhile. */
export async function noteFacts(store: Store): Promise<void> {
  const found = await store.rows(
    "select id, project_id from git_repositories where is_noted = 0 order by id",
  );
  for (const [id, projectId] of found as [number, number][]) {
    const main = await findMain(store.reader(), projectId);
    const facts = main && (await factsOf(await openRecord(store, main.row), main.oid));
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
