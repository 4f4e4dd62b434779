import { hasRole, ROLES, type Role } from "../../core/access/roles.ts";
import { type Source, withSources } from "../../core/access/source.ts";
import { VISIBILITIES } from "../../core/access/visibility.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { RulesTable } from "./grants.ts";
import { type Rules, rulesOf, rulesOfTargets, unprotectingOf } from "./queries.ts";

/** A change of a reference that somebody asks for. */
interface WantedChange {
  /** In full, such as `refs/heads/main`. */
  readonly name: string;
  /** What it is for now; `undefined` if it does not exist. */
  readonly from: string | undefined;
  /** What it is to be for; `undefined` to delete it. */
  readonly to: string | undefined;
  /** Whether commits are lost by it. */
  readonly isForced: boolean;
  /** Whether a protected branch has the commit already: users who may merge into a new branch may create it from such a commit. */
  readonly isMerged?: boolean;
}

/**
 * What a change is made with: a push with Git; the API, which can create and delete some protected branches that a push
 * can't; the merge of a merge request, for which the right to merge is enough; or the update of a pull mirror, which
 * brings what others have, whatever is protected.
 */
export type Via = "push" | "api" | "merge" | "mirror";

/** The default branch of a project that has none yet. */
const DEFAULT_BRANCH = "main";

/** Names that could be taken for those of objects. */
const LIKE_AN_OID = /^[0-9a-f]{40}/i;

/** Whether the name of a branch or tag, in full, could be taken for that of an object. */
export const isLikeAnOid = (name: string): boolean =>
  LIKE_AN_OID.test(name.replace(/^refs\/(heads|tags)\//, ""));

/**
 * What a caller may do with some branches and tags of a project.
 *
 * @param project found for the caller
 * @param names of the branches and tags in full, such as `refs/heads/main`; the rights are about no others
 */
export async function rightsOf(
  db: Reader,
  project: Source,
  names: readonly string[],
): Promise<RefRights> {
  const shared = await sharedBranches(db, project, names);
  return new RefRights(project, await rulesOf(db, project.id, names, project.viewer), shared);
}

/**
 * Whether a caller may change or remove a rule, for which their role is enough unless it is about branches and has grants
 * that say who.
 *
 * @param project found for the caller
 */
export async function mayUnprotect(
  db: Reader,
  project: Source,
  table: RulesTable,
  ruleId: number,
): Promise<boolean> {
  if (table === "protected_tags") return true;
  const { is_said, unprotect_level, unprotect_named } = await unprotectingOf(
    db,
    ruleId,
    project.viewer,
  );
  return is_said === 0 || isHeld(project, unprotect_level, unprotect_named);
}

/** Whether a rule lets a caller do something: by their level, or by name. */
const isHeld = ({ level }: Project, least: number | null, named: number): boolean =>
  named === 1 || (least !== null && level >= least);

const NONE: ReadonlySet<string> = new Set();

/** Merge requests of one project that are looked at for branches that callers may push to. */
const MOST_REQUESTS = 1000;

/**
 * The branches of a fork that a caller who is no developer there may push to, if they are not protected: the source branches
 * of open merge requests that allow it (`allow_collaboration`) and that the caller may merge. As in GitLab, neither project
 * is private then.
 *
 * @param names of the branches in full. Default: all
 */
async function sharedBranches(
  db: Reader,
  project: Source,
  names?: readonly string[],
): Promise<ReadonlySet<string>> {
  const { viewer } = project;
  const isPossible =
    viewer.caller !== undefined &&
    (names?.some((name) => name.startsWith(BRANCHES)) ?? true) &&
    !hasRole(project, "developer") &&
    !project.archived &&
    project.visibility > VISIBILITIES.private;
  if (!isPossible) return NONE;
  const found = await db.all<{ id: number; project_id: number; source_branch: string }>(
    `select mr.id, mr.project_id, mr.source_branch from merge_requests mr join projects p on p.id = mr.project_id
     where mr.source_project_id = ? and mr.state = 'opened' and mr.allow_collaboration = 1
       and mr.project_id <> mr.source_project_id and p.visibility > ? order by mr.id desc limit ${MOST_REQUESTS}`,
    [project.id, VISIBILITIES.private],
  );
  const requests = names
    ? found.filter(({ source_branch }) => names.includes(BRANCHES + source_branch))
    : found;
  if (requests.length === 0) return NONE;
  const targets = await withSources(db, requests, viewer);
  const mergeable = await mergeableBy(db, new Map(targets.map(({ id, source }) => [id, source])));
  return new Set(
    requests.filter(({ id }) => mergeable.has(id)).map(({ source_branch }) => source_branch),
  );
}

/** Whether a caller may run pipelines of a branch or tag, in full: see {@link RefRights.mayRun}. */
export const mayRun = async (db: Reader, project: Source, ref: string): Promise<boolean> =>
  (await rightsOf(db, project, [ref])).mayRun(ref);

/** Whether a caller's role lets them push to a project: protected branches and tags may ask for more. */
export const mayWriteCode = (project: Pick<Source, "archived" | "level">): boolean =>
  !project.archived && hasRole(project, "developer");

/** Whether the updates of a pull mirror may be somebody's: as in GitLab, of who may push to all branches. */
export const mayMirror = (project: Pick<Source, "archived" | "level">): boolean =>
  !project.archived && hasRole(project, "maintainer");

/** What is said to others. */
export const MIRROR_REFUSAL =
  "The mirror user is not allowed to push code to all branches on this project.";

/** Whether there is a branch of a project that a caller may push to, if it is not protected: by role, or because a merge request allows it. */
export async function mayPushSomewhere(db: Reader, project: Source): Promise<boolean> {
  return mayWriteCode(project) || (await sharedBranches(db, project)).size > 0;
}

/**
 * Whether a caller may merge a merge request, as far as the right to do so is concerned.
 *
 * @param project of the merge request, with the caller's level in it
 */
export async function mayMergeRequest(
  db: Reader,
  project: Project,
  requestId: Value,
): Promise<boolean> {
  return (await mergeableBy(db, new Map([[requestId, project]]))).has(requestId);
}

/**
 * Those of some merge requests that a caller may merge, as {@link mayMergeRequest} says, with one statement.
 *
 * @param requests their projects, all found for the caller, by the ids of the requests
 */
export async function mergeableBy(
  db: Reader,
  requests: ReadonlyMap<Value, Project>,
): Promise<Set<Value>> {
  // Without such a role it does not matter what is protected.
  const possible = [...requests].filter(([, project]) => mayWriteCode(project));
  const [first] = possible;
  if (!first) return new Set();
  const targets = await rulesOfTargets(
    db,
    possible.map(([id]) => id),
    first[1].viewer,
  );
  const mergeable = possible.filter(([id, project]) => {
    const target = targets.get(id);
    return target && new RefRights(project, target.rules).mayMergeInto(target.branch);
  });
  return new Set(mergeable.map(([id]) => id));
}

/** What rights depend on of a project. */
type Project = Pick<Source, "viewer" | "fullPath" | "level" | "archived">;

/**
 * What a caller may do with some branches and tags of a project. It is the only place that decides so: for pushes, for
 * the API, and for what branches say about themselves.
 */
export class RefRights {
  readonly #project: Project;
  readonly #rules: Rules;
  readonly #shared: ReadonlySet<string>;

  /** @param shared branches that the caller may push to without a role, unless they are protected */
  constructor(project: Project, rules: Rules, shared: ReadonlySet<string> = NONE) {
    this.#project = project;
    this.#rules = rules;
    this.#shared = shared;
  }

  /** Whether the repository has no branch yet. */
  get isEmpty(): boolean {
    return this.#rules.isEmpty;
  }

  /** The default branch, which may not exist. */
  get defaultBranch(): string {
    return this.#rules.defaultBranch ?? DEFAULT_BRANCH;
  }

  /** Whether a branch is protected. In an empty repository all are, as the first one will be. */
  isProtected(branch: string): boolean {
    return this.#rules.isEmpty || this.#rules.branches(branch).length > 0;
  }

  /** Whether a tag is protected. */
  isProtectedTag(tag: string): boolean {
    return this.#rules.tags(tag).length > 0;
  }

  /** Whether the caller may push to a branch, also by changing its files through the API. */
  mayPush(branch: string): boolean {
    if (!this.mayWrite) return this.#isShared(branch);
    if (this.#rules.isEmpty) return this.#has("maintainer");
    const rules = this.#rules.branches(branch);
    return (
      rules.length === 0 || rules.some((rule) => this.#holds(rule.push_level, rule.push_named))
    );
  }

  /** Whether the caller may merge into a branch. */
  mayMerge(branch: string): boolean {
    if (!this.mayWrite) return false;
    const rules = this.#rules.branches(branch);
    return (
      this.mayPush(branch) ||
      (!this.#rules.isEmpty &&
        rules.some((rule) => this.#holds(rule.merge_level, rule.merge_named)))
    );
  }

  /** Whether the caller may run pipelines of a branch or tag, given in full: they get its protected variables. */
  mayRun(ref: string): boolean {
    if (ref.startsWith(TAGS)) return this.mayWrite && this.#mayCreateTag(ref.slice(TAGS.length));
    const branch = ref.slice(BRANCHES.length);
    return !this.isProtected(branch) || this.mayMerge(branch);
  }

  /**
   * Whether the caller may merge a merge request into a branch. Without a repository there is nothing to protect: merge
   * requests are only records then.
   */
  mayMergeInto(branch: string): boolean {
    return this.#rules.isEmpty ? this.mayWrite : this.mayMerge(branch);
  }

  /** Whether a rule lets developers push to a branch. */
  developersMayPush(branch: string): boolean {
    return this.#rules.branches(branch).some(({ push_level }) => push_level === ROLES.developer);
  }

  /** Whether a rule lets developers merge into a branch. */
  developersMayMerge(branch: string): boolean {
    return this.#rules.branches(branch).some(({ merge_level }) => merge_level === ROLES.developer);
  }

  /**
   * Why the caller may not change a reference, in the words that Git shows; `undefined` if they may.
   *
   * @param via what they use
   */
  refusalOf(change: WantedChange, via: Via): string | undefined {
    const { name, to } = change;
    const isBranch = name.startsWith(BRANCHES);
    const branch = name.slice(BRANCHES.length);
    if (via === "mirror") return mayMirror(this.#project) ? undefined : MIRROR_REFUSAL;
    if (!this.mayWrite && !(isBranch && to !== undefined && this.#isShared(branch))) {
      return this.#project.archived
        ? "You can't push code to an archived project."
        : "You are not allowed to push code to this project.";
    }
    if (isBranch) return this.#branchRefusal(branch, change, via);
    return name.startsWith(TAGS)
      ? this.#tagRefusal(name.slice(TAGS.length), change, via)
      : undefined;
  }

  #branchRefusal(branch: string, change: WantedChange, via: Via): string | undefined {
    const { from, to, isForced } = change;
    if (to === undefined && branch === this.defaultBranch) {
      return "The default branch of a project cannot be deleted.";
    }
    if (to !== undefined && LIKE_AN_OID.test(branch)) {
      return "You cannot create a branch with a SHA-1 or SHA-256 branch name.";
    }
    if (!this.isProtected(branch)) return undefined;
    if (this.#rules.isEmpty) {
      return this.mayPush(branch)
        ? undefined
        : `A default branch (e.g. ${DEFAULT_BRANCH}) does not yet exist for ${this.#project.fullPath}\n` +
            "Ask a project Owner or Maintainer to create a default branch.";
    }
    if (to === undefined) return this.#deletionRefusal(via);
    if (from === undefined) return this.#creationRefusal(branch, change, via);
    if (isForced && !this.#rules.branches(branch).some((rule) => rule.allow_force_push === 1)) {
      return "You are not allowed to force push code to a protected branch on this project.";
    }
    return (via === "merge" ? this.mayMerge(branch) : this.mayPush(branch))
      ? undefined
      : "You are not allowed to push code to protected branches on this project.";
  }

  #deletionRefusal(via: Via): string | undefined {
    if (!this.#has("maintainer")) {
      return (
        "You are not allowed to delete protected branches from this project. " +
        "Only a project maintainer or owner can delete a protected branch."
      );
    }
    return via === "push"
      ? "You can only delete protected branches using the web interface."
      : undefined;
  }

  #creationRefusal(branch: string, { isMerged }: WantedChange, via: Via): string | undefined {
    if (this.mayPush(branch)) return undefined;
    if (!this.mayMerge(branch)) {
      return "You are not allowed to create protected branches on this project.";
    }
    if (via === "push") {
      return "You can only create protected branches using the web interface and API.";
    }
    return isMerged
      ? undefined
      : "You can only use an existing protected branch ref as the basis of a new protected branch.";
  }

  #tagRefusal(tag: string, { from, to }: WantedChange, via: Via): string | undefined {
    if (from === undefined && tag === this.defaultBranch) {
      return "You cannot use default branch name to create a tag";
    }
    if (to !== undefined && LIKE_AN_OID.test(tag)) {
      return "You cannot create a tag with a SHA-1 or SHA-256 tag name.";
    }
    if (!this.isProtectedTag(tag)) return undefined;
    if (from !== undefined && to !== undefined) return "Protected tags cannot be updated.";
    if (to === undefined) {
      if (!this.#has("maintainer")) {
        return (
          "You are not allowed to delete protected tags from this project. " +
          "Only a project maintainer or owner can delete a protected tag."
        );
      }
      if (via === "push") return "You can only delete protected tags using the web interface.";
    }
    return this.#mayCreateTag(tag)
      ? undefined
      : "You are not allowed to create this tag as it is protected.";
  }

  #mayCreateTag(tag: string): boolean {
    const rules = this.#rules.tags(tag);
    return (
      rules.length === 0 || rules.some((rule) => this.#holds(rule.create_level, rule.create_named))
    );
  }

  #isShared(branch: string): boolean {
    return this.#shared.has(branch) && !this.isProtected(branch);
  }

  /** Whether the caller may push here by their role: see {@link mayWriteCode}. */
  get mayWrite(): boolean {
    return mayWriteCode(this.#project);
  }

  #holds(least: number | null, named: number): boolean {
    return isHeld(this.#project, least, named);
  }

  #has(role: Role): boolean {
    return hasRole(this.#project, role);
  }
}
