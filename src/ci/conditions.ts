import type { Glob } from "../core/globs.ts";
import { isTrue } from "./expressions.ts";
import { readGlobs } from "./patterns.ts";
import type { Circumstances, Commit, Existing, Expression, Lookup, Rule } from "./types.ts";
import { expandVariables } from "./variables.ts";

/** A rule can't be decided. */
export class RuleError extends Error {
  override get name() {
    return "RuleError" as const;
  }
}

/** Maximum number of comparisons of globs with paths; what comes after counts as found, as in GitLab. */
const MAX_COMPARISONS = 500_000;
/** Maximum number of commits of other projects whose files are looked at: all of their paths are kept. */
const MAX_OTHERS = 5;
/** Maximum number of revisions that commits are compared with: the paths that differ are kept, too. */
const MAX_REVISIONS = 20;
/** Maximum number of conditions that one configuration causes to be decided. */
const MAX_DECISIONS = 1_000_000;

type Paths = readonly (readonly string[])[];

/** Decides rules for a commit. Each list of paths is asked for once, and each glob compared once with each. */
export class Conditions {
  readonly #circumstances: Circumstances;
  readonly #lists = new Map<string, Promise<Paths | undefined>>();
  readonly #found = new Map<string, boolean>();
  #comparisons = 0;
  #decisions = 0;
  #others = 0;
  #revisions = 0;

  constructor(circumstances: Circumstances) {
    this.#circumstances = circumstances;
  }

  /**
   * The first rule that fits.
   *
   * @throws RuleError if one can't be decided
   */
  async first(rules: readonly Rule[], values: Lookup): Promise<Rule | undefined> {
    const { pace } = this.#circumstances;
    for (const rule of rules) {
      if (pace.isDue) await pace.pause();
      if (rule.if && !this.isTrue(rule.if, values)) continue;
      if (!rule.changes && !rule.exists) return rule;
      if (await this.#fitsPaths(rule, values)) return rule;
    }
    return undefined;
  }

  /** Whether an expression is true. */
  isTrue(expression: Expression, values: Lookup): boolean {
    this.#decisions += 1;
    if (this.#decisions > MAX_DECISIONS) throw new RuleError("there are too many rules");
    return isTrue(expression, values);
  }

  async #fitsPaths({ changes, exists }: Rule, values: Lookup): Promise<boolean> {
    if (changes && !(await this.haveChanged(changes.paths, values, changes.compareTo)))
      return false;
    return !exists || (await this.#exist(exists, values));
  }

  /** Whether a file that fits one of some globs was changed. */
  async haveChanged(
    globs: readonly string[],
    values: Lookup,
    compareTo?: string,
  ): Promise<boolean> {
    const revision =
      compareTo === undefined ? undefined : expandVariables(compareTo, values, KEEP_UNKNOWN);
    const list = `changes ${revision ?? ""}`;
    const paths = await this.#paths(list, async () => {
      this.#revisions += 1;
      if (this.#revisions > MAX_REVISIONS) {
        throw new RuleError(`rules:changes:compare_to can name ${MAX_REVISIONS} revisions at most`);
      }
      const changed = await this.#circumstances.changes(revision);
      if (changed === null) throw new RuleError("rules:changes:compare_to is not a valid ref");
      return changed;
    });
    return !paths || this.#someFit(list, paths, globs, values);
  }

  async #exist({ paths: globs, ...place }: Existing, values: Lookup): Promise<boolean> {
    const named = (text: string | undefined) =>
      text === undefined ? undefined : expandVariables(text, values, KEEP_UNKNOWN);
    const [project, ref] = [named(place.project), named(place.ref)];
    const list = `exists ${JSON.stringify([project, ref])}`;
    const paths = await this.#paths(list, async () =>
      project === undefined
        ? this.#circumstances.paths()
        : (await this.#other(project, ref)).paths(),
    );
    return this.#someFit(list, paths ?? [], globs, values);
  }

  async #other(project: string, ref: string | undefined): Promise<Commit> {
    this.#others += 1;
    if (this.#others > MAX_OTHERS) {
      throw new RuleError(`rules:exists:project can name ${MAX_OTHERS} commits of others at most`);
    }
    const commit = await this.#circumstances.elsewhere.project(project, ref, false);
    if (commit === "project") {
      throw new RuleError(
        `rules:exists:project \`${project}\` is not a valid project path, or not shown`,
      );
    }
    if (commit === "reference") {
      throw new RuleError(
        `rules:exists:ref \`${ref}\` is not a valid ref in project \`${project}\``,
      );
    }
    return commit;
  }

  #paths(
    list: string,
    read: () => Promise<readonly string[] | undefined>,
  ): Promise<Paths | undefined> {
    const known = this.#lists.get(list);
    if (known) return known;
    const paths = read().then((found) => found?.map((path) => path.split("/")));
    this.#lists.set(list, paths);
    return paths;
  }

  #someFit(list: string, paths: Paths, globs: readonly string[], values: Lookup): boolean {
    return globs.some((glob) => {
      const expanded = expandVariables(glob, values, KEEP_UNKNOWN);
      const key = `${list}\n${expanded}`;
      const known = this.#found.get(key);
      if (known !== undefined) return known;
      const found = readGlobs(expanded).some((one) => this.#fitsOne(one, paths));
      this.#found.set(key, found);
      return found;
    });
  }

  #fitsOne(glob: Glob, paths: Paths): boolean {
    return paths.some((names) => {
      this.#comparisons += 1;
      return this.#comparisons > MAX_COMPARISONS || glob.fits(names);
    });
  }
}

const KEEP_UNKNOWN = { keepUnknown: true };
