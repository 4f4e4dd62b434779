import type { Signature } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { BLOB } from "../../git/objects.ts";
import type { Packs } from "../../git/packs.ts";
import { applyPush, type Push } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import { create, Repository } from "../../git/repository.ts";
import { FILE, type Placed, WorkTree } from "../../git/work-tree.ts";
import type { Database } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import { MASTER } from "./record.ts";

/** Bytes of new objects that memory holds. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Changes the files of a commit. `add` adds a file's content, and returns what stands for it in trees. */
export type Edit = (tree: WorkTree, add: (content: Buffer) => Placed) => Promise<void>;

/** A wiki's repository that is made of commits one after another, and becomes the project's at the end. */
export class WikiHistory {
  readonly #packs: Packs;
  readonly #now: number;
  readonly #stored: Push[] = [];
  readonly #pace: Pace;
  #repository: Repository;
  #draft: Draft;
  #tip: { commit: string; tree: string } | undefined;

  /**
   * @param now epoch milliseconds
   * @param signal ends the work
   */
  constructor(packs: Packs, now: number, signal?: AbortSignal) {
    this.#pace = new Pace(signal);
    this.#packs = packs;
    this.#now = now;
    this.#repository = new Repository(packs, []);
    this.#draft = new Draft(this.#repository);
  }

  /** The files as of the last commit. */
  get files(): WorkTree {
    return new WorkTree(this.#draft, this.#tip?.tree);
  }

  /** The tree of the last commit, in hex. */
  get tree(): string | undefined {
    return this.#tip?.tree;
  }

  /** The repository, with what {@link store} has stored. */
  get repository(): Repository {
    return this.#repository;
  }

  /** Adds a commit, unless it changes nothing. @throws RefusedError if an object is not valid */
  async commit(author: Signature, message: string, edit: Edit): Promise<void> {
    const tree = this.files;
    await edit(tree, (content) => ({ mode: FILE, oid: this.#draft.add(BLOB, content) }));
    const root = await tree.write();
    if (root === this.#tip?.tree) return;
    const parents = this.#tip ? [this.#tip.commit] : [];
    const commit = this.#draft.addCommit({
      tree: root,
      parents,
      author,
      committer: author,
      message,
    });
    this.#tip = { commit, tree: root };
    if (this.#draft.bytes > MOST_BYTES) await this.store();
    if (this.#pace.isDue) await this.#pace.pause();
  }

  /** Stores what is in memory, as a pack that belongs to no repository yet. */
  async store(): Promise<void> {
    const push = await this.#draft.push([], 0, this.#packs, this.#now);
    this.#stored.push(push);
    this.#repository = push.repository;
    this.#draft = new Draft(this.#repository);
  }

  /**
   * Makes it the repository of a project's wiki, which has none yet, in a transaction. All of it must have been stored.
   */
  async apply(db: Database, projectId: number): Promise<void> {
    const id = await create(db, projectId, "wiki");
    const packs = this.#stored.flatMap(({ staged }) => staged?.pack.id ?? []);
    for (const pack of packs) {
      await db.run("insert into git_repository_packs (repository_id, pack_id) values (?, ?)", [
        id,
        pack,
      ]);
    }
    if (!this.#tip) return;
    const change = { name: BRANCHES + MASTER, from: undefined, to: this.#tip.commit };
    const checked = { ...change, peeled: null, isForced: false, problem: undefined };
    const rest = { staged: undefined, repository: this.#repository, version: 0, isAtomic: true };
    await applyPush(db, id, { ...rest, changes: [checked] }, undefined);
    await db.run("update git_repositories set version = 1 where id = ?", [id]);
  }

  /** Deletes what was stored, if it is not wanted. */
  async discard(): Promise<void> {
    for (const { staged } of this.#stored) await staged?.discard();
  }
}
