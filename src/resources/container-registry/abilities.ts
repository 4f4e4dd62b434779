import type { Caller } from "../../core/access/caller.ts";
import { isInScope } from "../../core/access/job-tokens.ts";
import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { isOpenTo, type Viewer } from "../../core/access/visibility.ts";
import type { Reader } from "../../store/port.ts";
import { isProtected } from "../protection-rules/abilities.ts";
import { nameOf } from "./names.ts";
import { isRegistry } from "./settings.ts";

/** What somebody can be let do with a repository: `*` is all, and to administer it. */
export const ACTIONS = ["pull", "push", "delete", "*"] as const;
export type Action = (typeof ACTIONS)[number];

const SCOPES: Readonly<Record<Action, readonly string[]>> = {
  pull: ["api", "read_api", "read_registry"],
  push: ["api", "write_registry"],
  delete: ["api"],
  "*": ["api"],
};

const LEVEL = `select case when ${isRegistry("disabled")} then 'disabled'
    when ${isRegistry("private")} then 'private' else 'enabled' end from projects p where p.id = ?`;

/** Who may use the images of a project. */
async function levelOf(db: Reader, { id }: Source): Promise<"disabled" | "private" | "enabled"> {
  const [row] = await db.rows(LEVEL, [id]);
  return (row?.[0] ?? "disabled") as "disabled";
}

/** Whether somebody may read the images of a project that they can read. */
export async function mayPull(db: Reader, source: Source): Promise<boolean> {
  const level = await levelOf(db, source);
  if (level === "disabled") return false;
  return hasRole(source, "reporter") || (level === "enabled" && isOpenTo(source.viewer, source));
}

/** Whether a project's images can be changed, by those who may. */
async function isChangeable(db: Reader, source: Source): Promise<boolean> {
  return !source.archived && (await levelOf(db, source)) !== "disabled";
}

/**
 * Whether neither the project's settings, nor a rule, nor their token keeps somebody from deleting of a repository.
 *
 * @param own the repository's name within the project
 */
export async function mayDelete(
  db: Reader,
  source: Source,
  caller: Caller,
  own: string,
): Promise<boolean> {
  const isElsewhere = caller.by.kind === "job" && caller.by.projectId !== source.id;
  const acting = { db, source, caller };
  return (
    !isElsewhere &&
    (await isChangeable(db, source)) &&
    !(await isProtected(acting, "delete", nameOf(source.fullPath, own)))
  );
}

/**
 * Which of some actions somebody may do with a repository. Those that a rule protects from them are left out.
 *
 * @param viewer by whom the project was found
 * @param own the repository's name within the project
 */
export async function allowed(
  db: Reader,
  source: Source,
  caller: Caller | undefined,
  own: string,
  asked: readonly Action[],
): Promise<Action[]> {
  const found: Action[] = [];
  for (const action of ACTIONS) {
    if (!asked.includes(action)) continue;
    if (caller && !SCOPES[action].some((scope) => caller.scopes.includes(scope))) continue;
    if (await may(db, source, caller, own, action)) found.push(action);
  }
  return found;
}

async function may(
  db: Reader,
  source: Source,
  caller: Caller | undefined,
  own: string,
  action: Action,
): Promise<boolean> {
  if (action === "pull") return mayPull(db, source);
  if (!caller || !(await isChangeable(db, source))) return false;
  const { kind } = caller.by;
  // A job changes only what its own project has, and a deploy token what it belongs to.
  const isOwn = caller.by.kind === "job" && caller.by.projectId === source.id;
  if (kind === "job" && !isOwn) return false;
  const role = action === "push" || (action === "delete" && isOwn) ? "developer" : "maintainer";
  const isWriter =
    kind === "deploy" ? action === "push" && hasRole(source, "reporter") : hasRole(source, role);
  const name = nameOf(source.fullPath, own);
  const guarded = action === "push" ? "push" : "delete";
  return isWriter && !(await isProtected({ db, source, caller }, guarded, name));
}

/** Whether a rule is all that keeps somebody from pushing to a repository. */
export async function isPushProtected(
  db: Reader,
  source: Source,
  caller: Caller,
  own: string,
): Promise<boolean> {
  return (
    hasRole(source, caller.by.kind === "deploy" ? "reporter" : "developer") &&
    (await isProtected({ db, source, caller }, "push", nameOf(source.fullPath, own)))
  );
}

/** For whom the images of a project are found: a job's token that it does not take counts as nobody's. */
export async function viewerOf(db: Reader, source: Source, viewer: Viewer): Promise<Viewer> {
  const caller = viewer.caller as Caller | undefined;
  const isElsewhere = caller?.by.kind === "job" && !(await isInScope(db, caller.by, source));
  return isElsewhere ? { ...viewer, caller: undefined } : viewer;
}
