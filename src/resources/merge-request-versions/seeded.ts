import type { SeededSource, Seeding } from "../../core/seeding.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { Packs } from "../../git/packs.ts";
import { BRANCHES, listRefsBelow } from "../../git/refs.ts";
import { findRow, load, type Repository } from "../../git/repository.ts";
import { updateRow } from "../../store/update.ts";
import { broughtBy } from "./refresh.ts";
import { addVersion, planVersion } from "./versions.ts";

/** A merge request of a seed, as far as its code is concerned. */
interface SeededRequest {
  readonly source_branch: string;
  readonly target_branch: string;
  readonly state: "opened" | "closed" | "merged";
}

/** Gives the merge requests of a project of a seed their code, if it has a repository. */
export class SeededVersions {
  readonly #seeding: Seeding;
  readonly #project: SeededSource;
  readonly #repository: Repository | undefined;
  /** The newest commits of branches. */
  readonly #heads: ReadonlyMap<string, string>;

  private constructor(
    seeding: Seeding,
    project: SeededSource,
    repository: Repository | undefined,
    heads: ReadonlyMap<string, string>,
  ) {
    this.#seeding = seeding;
    this.#project = project;
    this.#repository = repository;
    this.#heads = heads;
  }

  /** Opens the repository of a project, after its pushes. */
  static async of(seeding: Seeding, project: SeededSource): Promise<SeededVersions> {
    const { db } = seeding;
    const row = await findRow(db, project.id);
    if (!row) return new SeededVersions(seeding, project, undefined, new Map());
    const repository = await load(db, Packs.within(db), row.id);
    const refs = await listRefsBelow(db, row.id, BRANCHES);
    const heads = new Map(refs.map(({ name, oid }) => [name.slice(BRANCHES.length), oid]));
    return new SeededVersions(seeding, project, repository, heads);
  }

  /**
   * Adds the version that a new merge request begins with, if both of its branches exist. One that was merged has the
   * commits that the target branch got by it.
   */
  async add(
    { id, iid }: { id: number; iid: number },
    { source_branch, target_branch, state }: SeededRequest,
    now: number,
  ): Promise<void> {
    const [head, tip] = [source_branch, target_branch].map((name) => this.#heads.get(name));
    const repository = this.#repository;
    if (!repository || head === undefined || tip === undefined) return;
    const { db } = this.#seeding;
    const project_id = this.#project.id;
    const request = { id, iid, project_id, source_project_id: project_id };
    const merge = state === "merged" ? mergeOf(repository, head, tip) : undefined;
    const version = await planVersion(repository, head, merge?.before ?? tip);
    await addVersion({ db, now }, request, version);
    if (merge) await updateRow(db, "merge_requests", id, { merge_commit_sha: merge.commit }, now);
  }
}

/** The commit that merged a branch into another one, and what that was at before; `undefined` if there is none. */
function mergeOf(
  repository: Repository,
  head: string,
  tip: string,
): { commit: string; before: string } | undefined {
  const { graph } = repository;
  const [source, target] = [head, tip].map((oid) => commitNumber(repository, oid)) as [
    number,
    number,
  ];
  if (!graph.isAncestor(source, target)) return undefined;
  const commit = broughtBy(graph, source, target);
  const [before] = graph.parentsOf(commit);
  if (before === undefined || commit === source) return undefined;
  return { commit: commitId(repository, commit), before: commitId(repository, before) };
}
