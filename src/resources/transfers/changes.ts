import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import { VISIBILITIES, type Viewer } from "../../core/access/visibility.ts";
import { ApiError, invalid } from "../../core/errors.ts";
import { requireFullPath, requirePath } from "../../core/paths.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as groups from "../groups/queries.ts";
import { tell } from "../members/followers.ts";
import * as members from "../members/queries.ts";
import * as namespaces from "../namespaces/queries.ts";
import { keepPaths } from "../namespaces/redirects.ts";
import { changed } from "../projects/followers.ts";
import * as projects from "../projects/queries.ts";
import { canCreateIn } from "../projects/rules.ts";
import { adopt, placesBelow } from "./adoption.ts";
import { adoptLater } from "./worker.ts";

/** Who transfers something, in which transaction. */
export interface Transferring {
  readonly db: Database;
  readonly caller: Caller;
  readonly viewer: Viewer;
  readonly now: number;
}

/**
 * Moves a project into another namespace. Its former path leads Git's clients to it still; it becomes no more visible
 * than the group; and it gets labels and milestones of its own for those of groups it leaves.
 *
 * @throws ApiError 400 with GitLab's reasons
 */
export async function transferProject(
  transferring: Transferring,
  project: projects.Project & { visibility: number },
  namespace: namespaces.Namespace,
): Promise<void> {
  const { db, caller, now } = transferring;
  await requireRoom(transferring, project, namespace);
  const full_path = `${namespace.full_path}/${project.path}`;
  requireFullPath(full_path);
  await keepPaths(db, { sql: "id = ?", values: [project.id] });
  const isGroup = namespace.kind === "group";
  const visibility = isGroup ? Math.min(project.visibility, namespace.visibility) : undefined;
  const changes = { namespace_id: namespace.id, full_path, visibility };
  await updateRow(db, "projects", project.id, changes, now);
  const place = { column: "project_id", id: project.id, namespaceId: namespace.id } as const;
  const { owner_id } = namespace;
  if (owner_id !== null && !(await members.find(db, place, owner_id))) {
    const owner = {
      user_id: owner_id,
      access_level: ROLES.maintainer,
      created_by_id: caller.id,
    };
    await members.insert(db, place, owner, now);
    await tell(transferring, place, "add", owner, caller.id);
  }
  if (!(await adopt(db, place, now))) await adoptLater(db, { project: project.id }, now);
  const old = { old_path_with_namespace: project.full_path };
  await changed(transferring, "transfer", { id: project.id, userId: caller.id }, old);
}

async function requireRoom(
  transferring: Transferring,
  project: projects.Project,
  namespace: namespaces.Namespace,
): Promise<void> {
  const { db } = transferring;
  const refuse = (reason: string) => invalid({ new_namespace: [reason] });
  if (namespace.id === project.namespace_id) {
    throw refuse("Project is already in this namespace.");
  }
  if (!(await canCreateIn(transferring, namespace))) {
    throw refuse("You don't have permission to transfer projects into that namespace.");
  }
  if (
    (await projects.isNameTaken(db, namespace.id, project.name)) ||
    (await namespaces.isTaken(db, `${namespace.full_path}/${project.path}`))
  ) {
    throw refuse("Project with same name or path in target namespace already exists");
  }
}

/**
 * Moves a group, with everything below it, into another group or to the top level. What is below becomes no more visible
 * than the new parent, and projects get labels and milestones of their own for those of groups they leave.
 *
 * @param parent the group it moves into; `undefined` for the top level
 * @throws ApiError 400 with GitLab's reasons
 */
export async function transferGroup(
  { db, now }: Pick<Transferring, "db" | "now">,
  group: namespaces.Namespace,
  parent: namespaces.Namespace | undefined,
): Promise<void> {
  await requireParent(db, group, parent);
  await namespaces.renameBelow(db, group.id, group, {
    full_path: parent ? `${parent.full_path}/${group.path}` : group.path,
    full_name: parent ? `${parent.full_name} / ${group.name}` : group.name,
  });
  requireFullPath(await namespaces.longestPath(db, group.id));
  await namespaces.setParent(db, group.id, parent?.id ?? null);
  await updateRow(db, "namespaces", group.id, {}, now);
  if (parent && parent.visibility < VISIBILITIES.public) {
    await namespaces.lowerVisibility(db, group.id, parent.visibility);
  }
  await adoptBelow(db, group.id, now);
}

/** 400, as GitLab says why a group is not transferred. */
export function refused(reason: string): ApiError {
  return new ApiError(400, { message: `Transfer failed: ${reason}` });
}

async function requireParent(
  db: Reader,
  group: namespaces.Namespace,
  parent: namespaces.Namespace | undefined,
): Promise<void> {
  if (!parent && group.parent_id === null) throw refused("Group is already a root group.");
  if (parent && parent.id === group.parent_id) {
    throw refused("Group is already associated to the parent group.");
  }
  if (parent && (await namespaces.isBelow(db, parent.id, group.id))) {
    throw refused("Cannot transfer group to one of its subgroup.");
  }
  requirePath(group.path, { top: !parent });
  const path = parent ? `${parent.full_path}/${group.path}` : group.path;
  const isNameTaken = parent && (await groups.isNameTaken(db, parent.id, group.name));
  if (isNameTaken || (await namespaces.isTaken(db, path))) {
    throw refused("The parent group already has a subgroup or a project with the same path.");
  }
}

/** Places for which labels and milestones are looked through within the request; a worker does it for more. */
const FEW_PLACES = 20;

async function adoptBelow(db: Database, groupId: number, now: number): Promise<void> {
  const places = await placesBelow(db, groupId, FEW_PLACES + 1);
  if (places.length > FEW_PLACES) {
    await adoptLater(db, { group: groupId }, now);
    return;
  }
  for (const place of places) {
    if (!(await adopt(db, place, now))) await adoptLater(db, { project: place.id }, now);
  }
}
