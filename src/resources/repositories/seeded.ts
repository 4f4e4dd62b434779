import { ApiError } from "../../core/errors.ts";
import { SeedError, type SeededSource, type Seeding } from "../../core/seeding.ts";
import { type Signature, titleOf } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { RefusedError } from "../../git/errors.ts";
import { BLOB } from "../../git/objects.ts";
import { Packs } from "../../git/packs.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { Repository } from "../../git/repository.ts";
import { EXECUTABLE, FILE, isFile, type Placed, WorkTree } from "../../git/work-tree.ts";
import { placeholders } from "../../store/placeholders.ts";
import type * as events from "../events/record.ts";
import { findRecord } from "./open.ts";
import { treePath } from "./rules.ts";
import { storeSeeded } from "./stored.ts";

/** A push of a seed, checked. */
export interface SeededPush {
  readonly author: string;
  readonly ref: string;
  readonly ref_type: "branch" | "tag";
  readonly action: "created" | "removed" | "pushed";
  readonly commits?: readonly SeededCommit[] | undefined;
  readonly start_branch?: string | undefined;
  readonly message?: string | undefined;
  readonly commit_from?: string | undefined;
  readonly commit_to?: string | undefined;
}

interface SeededCommit {
  readonly message: string;
  readonly author?: string | undefined;
  readonly created_at?: number | undefined;
  readonly files: Readonly<Record<string, string | SeededFile | null>>;
  readonly folder?: string | undefined;
  readonly merge?: string | undefined;
}

interface SeededFile {
  readonly content: string;
  readonly encoding: "text" | "base64";
  readonly executable: boolean;
}

type Pushed = Omit<events.Push, "project_id" | "author_id">;

/** A branch of a repository that is being built. */
interface Branch {
  /** Its newest commit, in hex. */
  readonly commit: string;
  /** The tree of that commit. */
  readonly tree: string;
  /** What is at the paths that have changed since it was created. */
  readonly changes: Map<string, Placed | undefined>;
  /** How many of its own commits no merge has brought to another branch. */
  readonly ahead: number;
}

/** The repository of a project of a seed. It is built in memory, push by push, and then stored as one pack. */
export class SeededCode {
  readonly #seeding: Seeding;
  readonly #project: SeededSource;
  readonly #packs: Packs;
  readonly #draft: Draft;
  readonly #people = new Map<string, { name: string; email: string }>();
  readonly #branches = new Map<string, Branch>();
  /** The objects that tags are for, in hex. */
  readonly #tags = new Map<string, string>();
  /** Where new branches and tags begin. */
  #main = "";

  private constructor(seeding: Seeding, project: SeededSource) {
    this.#seeding = seeding;
    this.#project = project;
    this.#packs = Packs.within(seeding.db);
    this.#draft = new Draft(new Repository(this.#packs, []));
  }

  /**
   * Begins a repository.
   *
   * @param pushes all that will be made
   * @throws SeedError if the seed does not have one of their authors
   */
  static async of(
    seeding: Seeding,
    project: SeededSource,
    pushes: readonly SeededPush[],
  ): Promise<SeededCode> {
    const code = new SeededCode(seeding, project);
    const authors = pushes.flatMap(({ author, commits = [] }) => [
      author,
      ...commits.map((commit) => commit.author ?? author),
    ]);
    const ids = [...new Set(authors)].map((username) => seeding.userId(username));
    const among = placeholders(ids);
    const rows = await seeding.db.rows(
      `select username, name, email from users where id in (${among.sql})`,
      among.values,
    );
    for (const [username, name, email] of rows as [string, string, string][]) {
      code.#people.set(username, { name, email });
    }
    const { defaultBranch } = await findRecord(seeding.db, project.id);
    const pushed = pushes.filter(({ ref_type, commits }) => ref_type === "branch" && commits);
    const hasDefault = pushed.some(({ ref }) => ref === defaultBranch);
    code.#main = hasDefault ? defaultBranch : (pushed[0]?.ref ?? defaultBranch);
    return code;
  }

  /**
   * Makes a push.
   *
   * @param at epoch milliseconds
   * @returns what its event says; `undefined` if it is not one of this repository: it has no commits, and says itself
   *   which ones it was about, or there is nothing it could be about
   * @throws SeedError if it is impossible
   */
  async push(push: SeededPush, at: number): Promise<Pushed | undefined> {
    const { ref, ref_type, action, commits = [] } = push;
    const isReported = push.commit_from !== undefined || push.commit_to !== undefined;
    if (isReported && !push.commits) return undefined;
    const refs = ref_type === "tag" ? this.#tags : this.#branches;
    const known = refs.get(ref);
    const from = (typeof known === "object" ? known.commit : known) ?? null;
    const event = { ref, ref_type, commit_from: from };
    if (action === "removed") {
      if (!refs.delete(ref)) return undefined;
      const none = { commit_count: 0, commit_to: null, commit_title: null };
      return { ...event, ...none, push_action: "removed" };
    }
    const push_action = from === null ? "created" : "pushed";
    if (ref_type === "tag") {
      const commit_to = this.#tag(push, at);
      if (commit_to === undefined) return undefined;
      const commit_title = push.message === undefined ? null : titleOf(push.message);
      return { ...event, push_action, commit_count: 1, commit_to, commit_title };
    }
    const before = this.#branches.get(ref) ?? this.#start(push);
    let branch = before;
    let added = 0;
    for (const commit of commits) {
      added += 1 + this.#mergedBy(commit, ref);
      branch = await this.#commit(commit, branch, push, at);
    }
    if (!branch) return undefined;
    this.#branches.set(ref, branch);
    const last = commits.at(-1);
    const commit_title = last ? titleOf(last.message) : null;
    return { ...event, push_action, commit_count: added, commit_to: branch.commit, commit_title };
  }

  /** Stores all of it. @throws SeedError if a name or an object is not valid */
  async store(): Promise<void> {
    const { db, now } = this.#seeding;
    const { fullPath } = this.#project;
    const branches = [...this.#branches].map(([name, { commit }]) => [BRANCHES + name, commit]);
    const tags = [...this.#tags].map(([name, oid]) => [TAGS + name, oid]);
    const changes = ([...branches, ...tags] as [string, string][]).map(([name, to]) => ({
      name,
      from: undefined,
      to,
    }));
    const push = await this.#draft.push(changes, 0, this.#packs, now).catch((error) => {
      throw error instanceof RefusedError
        ? new SeedError(`the repository of ${fullPath}: ${error.message}`)
        : error;
    });
    const main = this.#branches.get(this.#main);
    await storeSeeded(db, this.#project, push, main && { name: this.#main, ...main }, now);
  }

  /** What a new branch begins with; `undefined` if there is no commit yet. @throws SeedError */
  #start({ ref, start_branch }: SeededPush): Branch | undefined {
    const start = this.#branches.get(start_branch ?? this.#main);
    if (!start && start_branch !== undefined) throw this.#missing(start_branch, ref);
    return start && { ...start, changes: new Map(), ahead: 0 };
  }

  /** Creates a tag, and returns what it is for; `undefined` if there is no commit yet. @throws SeedError */
  #tag(push: SeededPush, at: number): string | undefined {
    const { ref, message, author } = push;
    const commit = this.#start(push)?.commit;
    if (commit === undefined) return undefined;
    const oid =
      message === undefined
        ? commit
        : this.#draft.addTag({ commit, name: ref, tagger: this.#signature(author, at), message });
    this.#tags.set(ref, oid);
    return oid;
  }

  /** How many commits a merge brings along, which then count no more for their branch. */
  #mergedBy({ merge }: SeededCommit, ref: string): number {
    if (merge === undefined) return 0;
    const merged = this.#branches.get(merge);
    if (!merged) throw this.#missing(merge, ref);
    this.#branches.set(merge, { ...merged, ahead: 0 });
    return merged.ahead;
  }

  /** Adds a commit to a branch. @throws SeedError if it is impossible */
  async #commit(
    { message, author, created_at, files, folder, merge }: SeededCommit,
    branch: Branch | undefined,
    push: SeededPush,
    at: number,
  ): Promise<Branch> {
    if (folder !== undefined) {
      throw notRead(`the folder ${folder}`);
    }
    const tree = new WorkTree(this.#draft, branch?.tree);
    const changes = branch?.changes ?? new Map<string, Placed | undefined>();
    const merged = merge === undefined ? undefined : this.#branches.get(merge);
    const set = async (path: string, placed: Placed | undefined) => {
      const found = await tree.find(path);
      const isTaken = found !== undefined && !isFile(found);
      if (!placed && found && !isTaken) await tree.remove(path);
      else if (!placed || isTaken || !(await tree.set(path, placed))) throw this.#clash(path, push);
      changes.set(path, placed);
    };
    for (const [path, placed] of merged?.changes ?? []) {
      // Both may have deleted it.
      if (placed || (await tree.find(path))) await set(path, placed);
    }
    for (const [given, content] of Object.entries(files)) {
      const path = this.#path(given);
      const oid = content === null ? undefined : this.#draft.add(BLOB, bytesOf(content));
      const isProgram = typeof content === "object" && content?.executable === true;
      await set(path, oid === undefined ? undefined : { mode: isProgram ? EXECUTABLE : FILE, oid });
    }
    const root = await tree.write();
    const signature = this.#signature(author ?? push.author, created_at ?? at);
    const commit = this.#draft.addCommit({
      tree: root,
      parents: [branch, merged].flatMap((parent) => parent?.commit ?? []),
      author: signature,
      committer: signature,
      message,
    });
    return { commit, tree: root, changes, ahead: (branch?.ahead ?? 0) + 1 };
  }

  #path(path: string): string {
    try {
      return treePath(path);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new SeedError(`${this.#project.fullPath} can't have a file ${JSON.stringify(path)}`);
    }
  }

  #signature(username: string, at: number): Signature {
    const person = this.#people.get(username) as { name: string; email: string };
    return { ...person, time: Math.floor(at / 1000), zone: 0 };
  }

  #missing(branch: string, ref: string) {
    return new SeedError(`${this.#project.fullPath} has no branch ${branch} when ${ref} is pushed`);
  }

  #clash(path: string, { ref }: SeededPush) {
    const at = JSON.stringify(path);
    return new SeedError(`the file ${at} can't be changed on ${ref} of ${this.#project.fullPath}`);
  }
}

/** What a seed names that is not read from there. */
export const notRead = (what: string) =>
  new SeedError(
    `${what} is not read: only seeds that are files of a test server, or given to it, may name files`,
  );

function bytesOf(file: string | SeededFile): Buffer {
  return typeof file === "string"
    ? Buffer.from(file)
    : Buffer.from(file.content, file.encoding === "base64" ? "base64" : "utf8");
}
