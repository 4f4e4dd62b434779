import type { Caller } from "../../core/access/caller.ts";
import { isFrozen, VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { forbidden, invalid, notFound } from "../../core/errors.ts";
import { problemOfProjectPath, requireFullPath } from "../../core/paths.ts";
import type { Context } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { CREATION_LEVEL } from "../namespaces/kept.ts";
import * as namespaces from "../namespaces/queries.ts";
import { refuseTaken } from "../namespaces/rules.ts";
import * as users from "../users/queries.ts";
import { mayCreateProjects } from "./abilities.ts";
import * as projects from "./queries.ts";

/** A path derived from a name: lower case, with dashes in place of characters that paths cannot have. */
export function pathOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9_.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
}

/**
 * Checks that a project can have a name and path in a namespace.
 *
 * @param except the project, if it exists: it can keep what it has
 * @throws ApiError 409 if one is taken, 400 for a path that no project can have
 */
export async function requireFree(
  db: Reader,
  namespace: namespaces.Namespace,
  wanted: { name?: string | undefined; path?: string | undefined },
  except?: projects.Project,
): Promise<void> {
  const { name, path } = wanted;
  if (path !== undefined) requireFullPath(`${namespace.full_path}/${path}`);
  const problem =
    path === undefined || path === except?.path ? undefined : problemOfProjectPath(path);
  if (problem !== undefined) throw invalid({ path: [problem] });
  const nameTaken =
    name !== undefined && (await projects.isNameTaken(db, namespace.id, name, except?.id));
  const samePath = path?.toLowerCase() === except?.path.toLowerCase();
  const pathTaken =
    path !== undefined &&
    !samePath &&
    (await namespaces.isTaken(db, `${namespace.full_path}/${path}`));
  refuseTaken({ name: nameTaken, path: pathTaken });
}

/**
 * Checks that a project is no more visible than its group.
 *
 * @throws ApiError 400
 */
export function requireVisibility(
  namespace: namespaces.Namespace,
  level: number | undefined,
): void {
  if (level !== undefined && namespace.kind === "group" && level > namespace.visibility) {
    const [wanted, allowed] = [VISIBILITY_WORDS[level], VISIBILITY_WORDS[namespace.visibility]];
    throw invalid({ visibility_level: [`${wanted} is not allowed in a ${allowed} group.`] });
  }
}

/**
 * Checks that a fork does not become more visible than what it is a fork of. It may stay so: its source may have become
 * less visible since.
 *
 * @throws ApiError 400
 */
export async function requireForkVisibility(
  db: Reader,
  fork: { readonly forked_from_project_id: number | null; readonly visibility: number },
  level: number | undefined,
): Promise<void> {
  const { forked_from_project_id: sourceId, visibility } = fork;
  if (level === undefined || level === visibility || sourceId === null) return;
  const [source] = await projects.listDetails(db, sourceId);
  if (!source || level <= source.visibility) return;
  const reason = "is not allowed since the fork source project has lower visibility.";
  throw invalid({ visibility_level: [`${VISIBILITY_WORDS[level]} ${reason}`] });
}

type In = Pick<Context, "viewer"> & { db: Reader; caller: Caller };

/**
 * The namespace of a new project: the caller's own, or a group where they are at least a maintainer.
 *
 * @throws ApiError 400 for other namespaces, 403 if the caller's project limit is reached
 */
export async function targetNamespace(
  context: In,
  namespaceId: number | undefined,
): Promise<namespaces.Namespace> {
  const namespace =
    namespaceId === undefined
      ? await namespaces.findPersonal(context.db, context.caller.id)
      : await namespaces.find(context.db, namespaceId);
  if (!namespace || !(await canCreateIn(context, namespace))) {
    throw invalid({ namespace: ["is not valid"] });
  }
  return namespace;
}

/**
 * The namespace of a new fork: the one named by id or full path, else the caller's own.
 *
 * @throws ApiError 404 if the caller may not create projects there, 403 if their project limit is reached
 */
export async function forkTarget(
  context: In,
  named: string | number | undefined,
): Promise<namespaces.Namespace> {
  if (named === undefined) return targetNamespace(context, undefined);
  const namespace = await namespaces.findNamed(context.db, String(named));
  if (!namespace || !(await canCreateIn(context, namespace))) throw notFound("Target Namespace");
  return namespace;
}

/**
 * The namespace with a full path, if the caller may create projects there.
 *
 * @throws ApiError 403 if their project limit is reached
 */
export async function creatableNamespace(
  context: In,
  fullPath: string,
): Promise<namespaces.Namespace | undefined> {
  const namespace = await namespaces.findByPath(context.db, fullPath);
  return namespace && (await canCreateIn(context, namespace)) ? namespace : undefined;
}

/** Whether the caller can create projects in a namespace. @throws ApiError 403 if it is the caller's own and their project limit is reached */
export async function canCreateIn(
  { db, caller, viewer }: In,
  namespace: namespaces.Namespace,
): Promise<boolean> {
  const level = await namespaces.levelIn(db, namespace.id, caller.id, viewer.today);
  const [row] = await db.rows(
    `select ${CREATION_LEVEL}, case when ${isFrozen("n.id")} then 1 else 0 end from namespaces n where n.id = ?`,
    [namespace.id],
  );
  const asking = { source: { level, archived: row?.[1] === 1 }, caller };
  if (!mayCreateProjects({ creation_level: Number(row?.[0]) }, asking)) return false;
  if (namespace.owner_id === caller.id) {
    const user = await users.find(db, caller.id);
    if (user && (await projects.countPersonal(db, caller.id)) >= user.projects_limit) {
      throw forbidden("Your project limit is reached.");
    }
  }
  return true;
}
