import type { Caller } from "../../core/access/caller.ts";
import { invalid } from "../../core/errors.ts";
import { Draft } from "../../git/draft.ts";
import { BLOB } from "../../git/objects.ts";
import { Packs } from "../../git/packs.ts";
import { BRANCHES, findRef, isShortName } from "../../git/refs.ts";
import { Repository } from "../../git/repository.ts";
import { FILE, WorkTree } from "../../git/work-tree.ts";
import type { Store } from "../../store/port.ts";
import { factsOf, type MainFacts } from "../repositories/facts.ts";
import { findRecord, MAIN, openRecord } from "../repositories/open.ts";
import { hasBranches, type PreparedPush } from "../repositories/pushes.ts";
import { signatureOf, stagePush } from "../repositories/write.ts";

/** Checks the name of a default branch. @throws ApiError 400 */
export function requireBranchName(name: string): void {
  if (!isShortName(name)) throw invalid({ default_branch: ["is invalid"] });
}

/** A project that is about to be created. */
interface NewProject {
  readonly name: string;
  readonly description: string | null | undefined;
  readonly defaultBranch: string | null | undefined;
}

/** Stages the first commit of a new project: its README. */
export async function stageReadme(
  store: Store,
  caller: Caller,
  { name, description, defaultBranch }: NewProject,
  now: number,
): Promise<PreparedPush> {
  const draft = new Draft(new Repository(Packs.of(store), []));
  const tree = new WorkTree(draft);
  const text = description ? `# ${name}\n\n${description}` : `# ${name}`;
  await tree.set("README.md", { mode: FILE, oid: draft.add(BLOB, Buffer.from(text)) });
  const author = await signatureOf(store.reader(), caller.id, now);
  const to = draft.addCommit({
    tree: await tree.write(),
    parents: [],
    author,
    committer: author,
    message: "Initial commit",
  });
  const head = BRANCHES + (defaultBranch ?? MAIN);
  return stagePush(
    store,
    draft,
    [{ name: head, from: undefined, to }],
    { row: undefined, head },
    now,
  );
}

/** The default branch that a project is to have. */
export interface ChosenBranch {
  readonly repositoryId: number;
  readonly facts: MainFacts;
}

/**
 * Looks at a branch that is to be the default one.
 *
 * @returns `undefined` if the project has no branches yet: then it may be any
 * @throws ApiError 400 if it does not exist, or can't
 */
export async function chooseBranch(
  store: Store,
  projectId: number,
  name: string | null,
): Promise<ChosenBranch | undefined> {
  if (name !== null) requireBranchName(name);
  const db = store.reader();
  const { row } = await findRecord(db, projectId);
  if (!row || !(await hasBranches(db, row.id))) return undefined;
  if (name === null) throw invalid({ default_branch: ["can't be blank"] });
  const found = await findBranch(store, projectId, name);
  if (!found) {
    throw invalid({ base: [`Could not change HEAD: branch '${name}' does not exist`] });
  }
  return found;
}

/** What a project's repository has at a branch; `undefined` if there is none of that name. */
export async function findBranch(
  store: Store,
  projectId: number,
  name: string,
): Promise<ChosenBranch | undefined> {
  const db = store.reader();
  const { row } = await findRecord(db, projectId);
  const ref = row && (await findRef(db, row.id, BRANCHES + name));
  const repository = ref && (await openRecord(store, row));
  if (!repository || repository.findHex(ref.oid) < 0) return undefined;
  return { repositoryId: row.id, facts: await factsOf(repository, ref.oid) };
}
