import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { Unapplied } from "../../core/errors.ts";
import { Draft } from "../../git/draft.ts";
import { RefusedError } from "../../git/errors.ts";
import { PackReader, Packs } from "../../git/packs.ts";
import { applyPush, isOutdated, type Outcome, type Push } from "../../git/push.ts";
import { BRANCHES, type Refs } from "../../git/refs.ts";
import { create, Repository } from "../../git/repository.ts";
import { WorkTree } from "../../git/work-tree.ts";
import { isListenedFor, type Recording, recordHookEvent } from "../../hooks/events.ts";
import type { Database } from "../../store/port.ts";
import { hasBranches } from "../repositories/pushes.ts";
import { impossible } from "../repositories/rules.ts";
import { signatureOf } from "../repositories/write.ts";
import { type OpenWiki, tipOf } from "./open.ts";
import { comparePages, type PageChange, type PageFile, textOfPage } from "./pages.ts";
import { findWikiRecord, MASTER } from "./record.ts";
import { titleOf } from "./rules.ts";

/** A push to a wiki, with what applying it will take. */
export interface WikiPush<P extends Push = Push> {
  readonly push: P;
  /** The full name of the default branch, as it will be. */
  readonly head: string;
  /** What happens to the pages of that branch; `undefined` if that is too much for one push. */
  readonly pages: readonly PageChange[] | undefined;
}

const TOO_MUCH =
  "A push to a wiki can change 5000 pages at most; push your commits in several steps.";

/**
 * Finds out what a push of a client does to the pages of a wiki.
 *
 * @param refs the references there are
 */
export async function receiveWiki<P extends Push>(push: P, refs: Refs): Promise<WikiPush<P>> {
  const isEmpty = !refs.list.some(({ name }) => name.startsWith(BRANCHES));
  const pushed = push.changes.filter(({ name, to }) => to && name.startsWith(BRANCHES));
  const isThere = pushed.some(({ name }) => name === refs.head);
  const head = isEmpty && !isThere ? (pushed[0]?.name ?? refs.head) : refs.head;
  const change = push.changes.find(({ name, problem }) => name === head && problem === undefined);
  if (!change) return { push, head, pages: [] };
  const { repository } = push;
  const trees = [change.from, change.to].map((oid) =>
    oid !== undefined && repository.findHex(oid) >= 0 ? tipOf(repository, oid).tree : undefined,
  );
  return { push, head, pages: await comparePages(repository, trees[0], trees[1]) };
}

/** Changes the files of a new commit. */
type Edit = (tree: WorkTree, draft: Draft) => Promise<void>;

/** A commit to a wiki. */
interface WikiCommit {
  readonly message: string;
  /** The slugs of a page that it renames: the old one, and the new one. */
  readonly renamed?: readonly [string, string] | undefined;
}

/**
 * Stages a commit to the branch that a wiki was opened for. A new branch begins at the default one.
 *
 * @returns `undefined` if nothing changes
 * @throws ApiError 400 if it is impossible
 */
export async function stageWikiCommit(
  wiki: OpenWiki,
  { caller, now }: { readonly caller: Caller; readonly now: number },
  { message, renamed }: WikiCommit,
  edit: Edit,
): Promise<WikiPush | undefined> {
  const { store, repository, branch, tip, main, row } = wiki;
  const parent = tip ?? main;
  const draft = new Draft(repository);
  const tree = new WorkTree(draft, parent?.tree);
  await edit(tree, draft);
  const root = await tree.write();
  if (root === parent?.tree) return undefined;
  const author = await signatureOf(store.reader(), caller.id, now);
  const to = draft.addCommit({
    tree: root,
    parents: parent ? [parent.commit] : [],
    author,
    committer: author,
    message,
  });
  const change = { name: branch, from: tip?.commit, to };
  const push = await draft
    .push([change], row?.version ?? 0, Packs.of(store), now)
    .catch((error) => {
      throw error instanceof RefusedError ? impossible(error.message) : error;
    });
  if (branch !== wiki.head) return { push, head: wiki.head, pages: [] };
  return {
    push,
    head: branch,
    pages: await comparePages(push.repository, tip?.tree, root, renamed),
  };
}

/** What became of a push to a wiki. */
export interface AppliedToWiki {
  readonly outcomes: readonly Outcome[];
  /** Why it was refused as a whole, if it was. */
  readonly refusal: string | undefined;
}

/** Where a wiki is: in a project, or in the hidden one of a group. */
type Place = Pick<Source, "id" | "isHome">;

/**
 * Applies a push in a transaction: its references, and the pages of the default branch.
 *
 * @param by the id of the user who pushes, and when, in epoch milliseconds
 */
export async function applyToWiki(
  db: Database,
  { id: projectId, isHome }: Place,
  { push, head, pages }: WikiPush,
  { userId, now }: { readonly userId: number; readonly now: number },
): Promise<AppliedToWiki> {
  db.lock(projectId);
  const { row, head: current } = await findWikiRecord(db, projectId);
  const isEmpty = !row || !(await hasBranches(db, row.id));
  const refusal = pages ? undefined : TOO_MUCH;
  const id = row?.id ?? (await create(db, projectId, "wiki"));
  // The words are Git's: the pages of a wiki are those of this branch.
  const kept = push.changes.map((change) =>
    change.name === current && !change.to
      ? { ...change, problem: "deletion of the current branch prohibited" }
      : change,
  );
  const checked = { ...push, changes: kept };
  const outcomes = await applyPush(db, id, checked, refusal && "pre-receive hook declined");
  const made = outcomes.find(({ change, problem }) => change.name === head && !problem);
  if (made && (isEmpty || head === current)) {
    if (head !== current) await setHead(db, id, head);
    await updatePages(db, projectId, push.repository, pages ?? [], now);
    const version = made.change.to;
    // As in GitLab, hooks are told nothing of the wikis of groups.
    if (!isHome) await tellHooks({ db, now }, { id: projectId, userId, version }, pages ?? []);
  }
  return { outcomes, refusal };
}

/** Pages of one push that hooks are told of. */
const MOST_TOLD = 100;

/** Records for webhooks what a push has changed. */
async function tellHooks(
  recording: Recording,
  { id, userId, version }: { id: number; userId: number; version: string | undefined },
  pages: readonly PageChange[],
): Promise<void> {
  const moment = { kind: "wiki_page", of: { project: id }, userId, id } as const;
  if (pages.length === 0 || !(await isListenedFor(recording.db, moment))) return;
  for (const { before, after } of pages.slice(0, MOST_TOLD)) {
    const { slug, format } = (after ?? before) as PageFile;
    const action = !after ? "delete" : before ? "update" : "create";
    recordHookEvent(recording, {
      ...moment,
      action,
      data: { slug, title: titleOf(slug), format, version },
    });
  }
}

async function setHead(db: Database, repositoryId: number, head: string): Promise<void> {
  const branch = head.slice(BRANCHES.length);
  await db.run("update git_repositories set head = ? where id = ?", [
    branch === MASTER ? null : branch,
    repositoryId,
  ]);
}

/** Brings the rows of pages up to date. Texts are read one by one: together they may be large. */
async function updatePages(
  db: Database,
  projectId: number,
  { list }: Repository,
  changes: readonly PageChange[],
  now: number,
): Promise<void> {
  // In a transaction, others' connections must not be waited for.
  const repository = new Repository(new PackReader(db), list);
  for (const { before, after } of changes) {
    if (!after) {
      const gone = [projectId, before?.slug as string];
      await db.run("delete from wiki_pages where project_id = ? and slug = ?", gone);
      continue;
    }
    const { slug, format } = after;
    const content = await textOfPage(repository, after);
    const values = [slug, titleOf(slug), format, now, content];
    if (before) {
      await db.run(
        `update wiki_pages set slug = ?, title = ?, format = ?, updated_at = ?, content = ?
         where project_id = ? and slug = ?`,
        [...values, projectId, before.slug],
      );
    } else {
      await db.run(
        `insert into wiki_pages (slug, title, format, updated_at, content, project_id, created_at)
         values (?, ?, ?, ?, ?, ?, ?)`,
        [...values, projectId, now],
      );
    }
  }
}

/**
 * Makes a staged commit in a transaction.
 *
 * @throws Unapplied 400 if others have changed the branch since, or it can't have its name
 */
export async function applyCommit(
  db: Database,
  place: Place,
  staged: WikiPush,
  by: { readonly userId: number; readonly now: number },
): Promise<void> {
  const { outcomes, refusal } = await applyToWiki(db, place, staged, by);
  const failed = outcomes.find(({ problem }) => problem !== undefined);
  if (!failed) return;
  const error = impossible(refusal ?? (failed.problem as string));
  const discard = async () => staged.push.staged?.discard();
  throw new Unapplied(error, refusal === undefined && outcomes.some(isOutdated), discard);
}
