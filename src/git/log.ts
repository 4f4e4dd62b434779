import { Abandoned, Pace, Waiters, type Waiting } from "../turns/pace.ts";
import { readCommit } from "./commits.ts";
import type { Graph } from "./graph.ts";
import { PathFinder } from "./history.ts";
import { Lru } from "./lru.ts";
import type { PackReader } from "./packs.ts";
import type { Repository } from "./repository.ts";

/** Which commits a log has, and in which order. */
export interface LogQuery {
  /** The commits to begin at. */
  readonly from: readonly number[];
  /** Commits that are left out, with all that can be reached from them. */
  readonly not?: readonly number[] | undefined;
  /** Only commits that changed what is there. */
  readonly path?: string | undefined;
  /** Whether only the first parent of a merge is followed. */
  readonly isFirstParent?: boolean | undefined;
  /** Whether commits with several parents are left out. */
  readonly isWithoutMerges?: boolean | undefined;
  /** `date`: the newest first; `topo`: no parent before its children, one line of history after the other. */
  readonly order?: "date" | "topo" | undefined;
  /** The first and last second of the epoch in which they were committed. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Part of the author's name and address, as in `Name <address>`. */
  readonly author?: string | undefined;
}

const CACHE = 32 * 1024 * 1024;
const logs = new WeakMap<PackReader, Lru<string, Log>>();

/** The log of a query, which continues where it was last read. */
export function logOf(repository: Repository, query: LogQuery): Log {
  const cache = logs.get(repository.packs) ?? new Lru<string, Log>(CACHE);
  logs.set(repository.packs, cache);
  return cache.get(keyOf(repository, query)) ?? new Log(repository.graph, query, cache);
}

/** Logs of the same commits are the same for all later versions of a repository. */
function keyOf({ lineage }: Repository, query: LogQuery): string {
  const { from, not, path, isFirstParent, isWithoutMerges, order, since, until, author } = query;
  const which = [from, not, path, isFirstParent, isWithoutMerges, order, since, until, author];
  return JSON.stringify([lineage, ...which]);
}

/**
 * The commits of a repository that a query names, like those of git-log(1). They are looked for as they are asked for. It
 * does not keep the repository, of which there may be a later version when it is read on.
 */
export class Log {
  readonly #query: LogQuery;
  readonly #cache: Lru<string, Log>;
  /** Commits that were or are in the queue, or are left out. */
  readonly #seen: Uint8Array;
  #queue = new Queue();
  #found: number[] = [];
  #isSorted = false;
  #running: Promise<void> | undefined;
  readonly #waiters = new Waiters();

  constructor(graph: Graph, query: LogQuery, cache: Lru<string, Log>) {
    this.#query = query;
    this.#cache = cache;
    this.#seen = graph.reach(query.not ?? []);
    this.#enqueue(graph, query.from);
  }

  /**
   * The first commits of the log.
   *
   * @param repository the one that the log is of, or a later version
   * @param count how many; all are returned if there are fewer, or more if more are known
   * @param waiting ends the search, unless others wait for it, too. Default: it goes on
   */
  async first(
    repository: Repository,
    count: number,
    waiting: Waiting = new Pace(),
  ): Promise<readonly number[]> {
    this.#waiters.add(waiting);
    try {
      while (this.#found.length < count && !this.#isComplete) {
        this.#running ??= this.#findMore(repository, count).finally(() => {
          this.#running = undefined;
        });
        await this.#running.catch((error) => {
          waiting.throwIfAborted();
          // It ended just before this one began to wait.
          if (!(error instanceof Abandoned)) throw error;
        });
      }
    } finally {
      this.#waiters.delete(waiting);
    }
    return this.#found;
  }

  get #isComplete(): boolean {
    return this.#queue.size === 0 && (this.#query.order !== "topo" || this.#isSorted);
  }

  #enqueue({ times }: Graph, commits: Iterable<number>): void {
    for (const commit of commits) {
      if (this.#seen[commit]) continue;
      this.#seen[commit] = 1;
      this.#queue.push(commit, times[commit] as number);
    }
  }

  async #findMore(repository: Repository, count: number): Promise<void> {
    const walk = new Walk(repository, this.#query);
    if (this.#query.order === "topo") {
      const before = [this.#seen.slice(), this.#queue.copy()] as const;
      await this.#findAll(walk).catch((error) => {
        // What it has found so far is of no use.
        this.#seen.set(before[0]);
        this.#queue = before[1];
        throw error;
      });
    } else await this.#findNext(walk, count);
    const bytes = this.#seen.length + 8 * this.#found.length + 1000;
    this.#cache.set(keyOf(repository, this.#query), this, bytes);
  }

  async #findNext(walk: Walk, count: number): Promise<void> {
    const pace = new Pace(this.#waiters);
    while (this.#found.length < count) {
      const commit = this.#queue.first;
      if (commit === undefined) return;
      if (this.#queue.size === 1 && this.#continue(walk.repository, commit)) continue;
      const step = walk.from(commit);
      const { parents, isShown } = step instanceof Promise ? await step : step;
      this.#queue.pop();
      this.#enqueue(walk.repository.graph, parents);
      if (isShown) this.#found.push(commit);
      if (pace.isDue) await pace.pause();
    }
  }

  /** Goes on as another log does that begins with the only commit left, as after a push. */
  #continue(repository: Repository, commit: number): boolean {
    if (this.#query.not !== undefined) return false;
    const known = this.#cache.get(keyOf(repository, { ...this.#query, from: [commit] }));
    if (!known || known === this || known.#seen.length > this.#seen.length) return false;
    this.#found = [...this.#found, ...known.#found];
    this.#seen.set(known.#seen);
    this.#queue = known.#queue.copy();
    return true;
  }

  /** All commits, sorted as Git does: the last parent of the commit that was shown last comes next, if it can. */
  async #findAll(walk: Walk): Promise<void> {
    const pace = new Pace(this.#waiters);
    const visited: number[] = [];
    const parentsOf = new Map<number, readonly number[]>();
    const shown = new Set<number>();
    for (let commit = this.#queue.first; commit !== undefined; commit = this.#queue.first) {
      const { parents, isShown } = await walk.from(commit);
      if (isShown) shown.add(commit);
      this.#queue.pop();
      this.#enqueue(walk.repository.graph, parents);
      visited.push(commit);
      parentsOf.set(commit, [...parents]);
      if (pace.isDue) await pace.pause();
    }
    const children = new Map(visited.map((commit) => [commit, 0]));
    for (const parent of [...parentsOf.values()].flat()) {
      const known = children.get(parent);
      if (known !== undefined) children.set(parent, known + 1);
    }
    const open = visited.filter((commit) => children.get(commit) === 0).reverse();
    for (let commit = open.pop(); commit !== undefined; commit = open.pop()) {
      if (shown.has(commit)) this.#found.push(commit);
      for (const parent of parentsOf.get(commit) ?? []) {
        const left = children.get(parent);
        if (left === undefined) continue;
        children.set(parent, left - 1);
        if (left === 1) open.push(parent);
      }
    }
    this.#isSorted = true;
  }
}

/** Where a log goes from each commit. */
class Walk {
  readonly repository: Repository;
  readonly #query: LogQuery;
  readonly #finder: PathFinder | undefined;
  /** Whether nothing must be read. */
  readonly #isPlain: boolean;

  constructor(repository: Repository, query: LogQuery) {
    this.repository = repository;
    this.#query = query;
    this.#finder = query.path === undefined ? undefined : new PathFinder(repository, query.path);
    this.#isPlain = !this.#finder && query.author === undefined;
  }

  /** The parents to follow from a commit, and whether the log has it; a promise only if something must be read. */
  from(commit: number): Step | Promise<Step> {
    const { graph } = this.repository;
    const { isFirstParent, isWithoutMerges, since, until } = this.#query;
    const time = graph.times[commit] as number;
    if (since !== undefined && time < since) return NOWHERE;
    const all = graph.parentsOf(commit);
    const step = {
      parents: isFirstParent ? all.subarray(0, 1) : all,
      isShown: (until === undefined || time <= until) && !(isWithoutMerges && all.length > 1),
    };
    return this.#isPlain ? step : this.#look(commit, step);
  }

  async #look(commit: number, { parents, isShown }: Step): Promise<Step> {
    const finder = this.#finder;
    if (finder) {
      const value = await finder.at(commit);
      // If a parent has the same at the path, only that one is followed.
      for (const parent of parents) {
        if ((await finder.at(parent)) === value) return { parents: [parent], isShown: false };
      }
      const isFirst = parents.length === 0;
      if (isFirst && PathFinder.isNothing(value)) return { parents, isShown: false };
    }
    return { parents, isShown: isShown && (await this.#isByAuthor(commit)) };
  }

  async #isByAuthor(commit: number): Promise<boolean> {
    const { author } = this.#query;
    if (author === undefined) return true;
    const { name, email } = (await readCommit(this.repository, commit)).author;
    return `${name} <${email}>`.includes(author);
  }
}

/** Where a walk goes from a commit. */
interface Step {
  readonly parents: Int32Array | readonly number[];
  readonly isShown: boolean;
}

const NOWHERE: Step = { parents: [], isShown: false };

/** A commit of a queue. */
interface Queued {
  readonly commit: number;
  readonly time: number;
  /** How many were added before. */
  readonly place: number;
}

const isBefore = (one: Queued, other: Queued) =>
  one.time > other.time || (one.time === other.time && one.place < other.place);

/** Commits, of which the newest is taken first; of those of one second, the one that was added first. */
class Queue {
  /** A heap: what is at an index comes before what is at twice that and one or two more. */
  #heap: Queued[] = [];
  #count = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** The commit to take next. */
  get first(): number | undefined {
    return this.#heap[0]?.commit;
  }

  copy(): Queue {
    const queue = new Queue();
    queue.#heap = [...this.#heap];
    queue.#count = this.#count;
    return queue;
  }

  push(commit: number, time: number): void {
    const heap = this.#heap;
    const added = { commit, time, place: this.#count };
    this.#count += 1;
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(added, heap[above] as Queued)) break;
      heap[at] = heap[above] as Queued;
      at = above;
    }
    heap[at] = added;
  }

  /** Takes the next commit out. */
  pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (let below = 1; below < heap.length; below = 2 * at + 1) {
      const right = below + 1;
      const isRight = right < heap.length && isBefore(heap[right] as Queued, heap[below] as Queued);
      const next = isRight ? right : below;
      if (isBefore(last, heap[next] as Queued)) break;
      heap[at] = heap[next] as Queued;
      at = next;
    }
    heap[at] = last;
  }
}
