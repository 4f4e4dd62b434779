import type { Pace } from "../turns/pace.ts";
import { RefusedError } from "./errors.ts";
import type { Deepening, FetchRequest } from "./fetch-request.ts";
import type { Graph } from "./graph.ts";
import { BRANCHES, type Ref, type Refs, TAGS } from "./refs.ts";
import type { Repository } from "./repository.ts";
import { Selection } from "./select.ts";

/** The depth that clients send to get all of a history. */
const INFINITE = 2 ** 31 - 1;

/** Works out what a client that asks for something lacks. */
export class FetchPlan {
  readonly #repository: Repository;
  readonly #graph: Graph;
  readonly #refs: Refs;
  readonly #request: FetchRequest;
  /** The wanted commits; tags stand for theirs. */
  readonly #tips: number[];
  /** Commits at which the client's history ends now. */
  readonly #oldEnds: ReadonlySet<number>;
  /** Commits at which it will end. */
  #ends: ReadonlySet<number>;
  /** Marks for the commits that may be sent, if they are limited. */
  #within: Uint8Array | undefined;
  /** Parents of commits at which it ended before, but no longer does. */
  readonly #revealed: number[] = [];
  /** The names of commits at which the history begins to end. */
  readonly shallow: string[] = [];
  /** The names of those at which it no longer ends. */
  readonly unshallow: string[] = [];

  /** @throws RefusedError if something is wanted that is not there */
  constructor(repository: Repository, refs: Refs, request: FetchRequest) {
    this.#repository = repository;
    this.#graph = repository.graph;
    this.#refs = refs;
    this.#request = request;
    for (const oid of request.wants) {
      if (!this.has(oid)) throw new RefusedError(`upload-pack: not our ref ${oid}`);
    }
    const peeled = new Map(refs.list.map((ref) => [ref.oid, ref.peeled ?? ref.oid]));
    this.#tips = this.#commitsOf(request.wants.map((oid) => peeled.get(oid) ?? oid));
    this.#oldEnds = new Set(this.#commitsOf(request.shallow));
    this.#ends = this.#oldEnds;
    if (request.deepening) this.#deepen(request.deepening);
  }

  /** Whether the repository has an object. */
  has(oid: string): boolean {
    return this.#repository.findHex(oid) >= 0;
  }

  /** Whether each wanted commit has an ancestor among what the client has: then more haves change little. */
  isReady(haves: readonly string[]): boolean {
    const common = new Set(this.#commitsOf(haves));
    return common.size > 0 && this.#graph.areBelow(this.#tips, common);
  }

  /**
   * Selects what the client lacks.
   *
   * @param haves what both have
   * @param hasGarbage whether the repository may have objects that no reference reaches
   */
  async select(haves: readonly string[], hasGarbage: boolean, pace: Pace): Promise<Selection> {
    const { wants, filter, includeTags, deepening } = this.#request;
    const isRelative = deepening?.isRelative === true;
    const selection = new Selection(this.#repository, filter, pace);
    const graph = this.#graph;
    const common = this.#commitsOf(haves);
    const isWhole = common.length === 0 && !this.#within && this.#oldEnds.size === 0;
    if (isWhole && !hasGarbage && this.#areAllWanted()) {
      selection.addAll();
      return selection;
    }
    const starts: number[] = [];
    for (const want of wants) {
      const commit = await selection.addWanted(this.#repository.findHex(want));
      if (commit !== undefined) starts.push(commit);
    }
    const had = graph.reach(common, this.#oldEnds);
    // What deepens a history lies behind what the client has.
    const wanted = this.#within
      ? graph.reach([...this.#tips, ...this.#revealed], this.#ends)
      : graph.reach(starts, this.#ends, had);
    const commits: number[] = [];
    for (let commit = 0; commit < graph.count; commit += 1) {
      if (!wanted[commit] || had[commit]) continue;
      if (!this.#within || isRelative || this.#within[commit]) commits.push(commit);
    }
    const { generations } = graph;
    commits.sort((a, b) => (generations[a] as number) - (generations[b] as number));
    await selection.addCommits(commits, this.#ends, isWhole);
    if (includeTags) this.#addTags(selection, wanted);
    return selection;
  }

  /** The commits among objects. */
  #commitsOf(oids: readonly string[]): number[] {
    return oids
      .map((oid) => this.#graph.commitOf(this.#repository.findHex(oid)))
      .filter((commit) => commit >= 0);
  }

  /** Whether the wants reach all references. */
  #areAllWanted(): boolean {
    const wanted = new Set(this.#request.wants);
    const reached = this.#graph.reach(this.#tips);
    const isReached = ({ oid, peeled }: Ref) => {
      const [commit] = this.#commitsOf([peeled ?? oid]);
      return commit !== undefined && reached[commit] === 1;
    };
    // A tag is an object of its own, which reaching its commit does not include; `include-tag` does.
    return this.#refs.list.every(
      (ref) =>
        wanted.has(ref.oid) ||
        (isReached(ref) && (ref.peeled === null || this.#request.includeTags)),
    );
  }

  /** Selects the annotated tags of commits that are sent. */
  #addTags(selection: Selection, wanted: Uint8Array): void {
    for (const { oid, peeled } of this.#refs.list) {
      if (peeled === null) continue;
      const [commit] = this.#commitsOf([peeled]);
      if (commit !== undefined && wanted[commit]) selection.add(this.#repository.findHex(oid));
    }
  }

  /** Limits the history that is sent. @throws RefusedError if nothing is left of it */
  #deepen({ depth, isRelative, since, not }: Deepening): void {
    const graph = this.#graph;
    const excluded = graph.reach(this.#commitsOf(not.map((name) => this.#oidOf(name))));
    const isInside = (commit: number) =>
      !excluded[commit] && (since === 0 || (graph.times[commit] as number) >= since);
    const isEndless = depth >= INFINITE;
    let level = isRelative ? [...this.#oldEnds] : this.#tips.filter(isInside);
    if (isEndless) level = [...this.#tips, ...this.#oldEnds];
    const levels = depth === 0 || isEndless ? INFINITE : isRelative ? depth + 1 : depth;
    const within = new Uint8Array(graph.count);
    for (const commit of level) within[commit] = 1;
    let last: readonly number[] = [];
    for (let count = 1; level.length > 0; count += 1) {
      if (count === levels) {
        last = level;
        break;
      }
      const next: number[] = [];
      for (const commit of level) {
        for (const parent of graph.parentsOf(commit)) {
          if (within[parent] || !isInside(parent)) continue;
          within[parent] = 1;
          next.push(parent);
        }
      }
      level = next;
    }
    if (!within.includes(1)) throw new RefusedError("no commits selected for shallow requests");
    const ends = new Set(last);
    for (let commit = 0; commit < graph.count && depth === 0; commit += 1) {
      if (within[commit] && graph.parentsOf(commit).some((parent) => !within[parent])) {
        ends.add(commit);
      }
    }
    this.#setEnds(ends, within);
  }

  #setEnds(ends: Set<number>, within: Uint8Array): void {
    const graph = this.#graph;
    const hex = (commit: number) =>
      this.#repository.oidOf(graph.objects[commit] as number).toString("hex");
    for (const commit of ends) {
      if (!this.#oldEnds.has(commit)) this.shallow.push(hex(commit));
    }
    for (const commit of this.#oldEnds) {
      if (!within[commit]) ends.add(commit);
      else if (!ends.has(commit)) {
        this.unshallow.push(hex(commit));
        this.#revealed.push(...graph.parentsOf(commit));
      }
    }
    this.#ends = ends;
    this.#within = within;
  }

  /** What a reference stands for, by its full name, or as a tag or branch. @throws RefusedError if it is unknown */
  #oidOf(name: string): string {
    const ref = ["", TAGS, BRANCHES]
      .map((beginning) => this.#refs.list.find((one) => one.name === beginning + name))
      .find((found) => found !== undefined);
    if (!ref) throw new RefusedError(`deepen-not is not a ref: ${name.slice(0, 100)}`);
    return ref.peeled ?? ref.oid;
  }
}
