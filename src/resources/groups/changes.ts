import type * as audit from "../../audit/log.ts";
import { ROLES } from "../../core/access/roles.ts";
import { VISIBILITIES, VISIBILITY_NAMES, VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { requireFullPath, requirePath } from "../../core/paths.ts";
import { recordGroup } from "../../hooks/records.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { changed } from "../members/followers.ts";
import * as members from "../members/queries.ts";
import * as namespaces from "../namespaces/queries.ts";
import { refuseTaken } from "../namespaces/rules.ts";
import * as groups from "./queries.ts";

const attributes = {
  description: param.clearable(param.anyText({ max: 500 })),
  visibility: param.optional(param.choice(VISIBILITY_NAMES)),
  lfs_enabled: param.optional(param.boolean()),
  request_access_enabled: param.optional(param.boolean()),
};

/** The attributes of a new group. */
export const newGroupInput = { name: param.text(), path: param.text(), ...attributes };

/** The attributes of a group that can be changed. */
export const groupInput = {
  name: param.optional(param.text()),
  path: param.optional(param.text()),
  ...attributes,
};

/**
 * Creates a group.
 *
 * @param group `parent`: the group it is in, if any; `ownerId`: the user who becomes its owner, if any
 * @returns its id
 * @throws ApiError 400 for an invalid path or visibility, 409 for a name or path that is taken
 */
export async function createGroup(
  db: Database,
  by: audit.Actor,
  group: param.Input<typeof newGroupInput> & {
    parent?: namespaces.Namespace | undefined;
    ownerId: number | undefined;
  },
  now: number,
): Promise<number> {
  const { path, parent, ownerId } = group;
  requirePath(path, { top: !parent });
  const visibility = group.visibility ?? "private";
  await requireVisibility(db, visibility, parent);
  await requireFree(db, parent, group);
  const row = { ...group, kind: "group", visibility: VISIBILITIES[visibility] } as const;
  const id = await namespaces.insert(db, row, now);
  await recordGroup({ db, now }, "create", { id, parentId: parent?.id ?? null, userId: by.id });
  if (ownerId !== undefined) {
    const owner = {
      user_id: ownerId,
      access_level: ROLES.owner,
      created_by_id: by.id ?? undefined,
    };
    await members.insert(db, { column: "namespace_id", id }, owner, now);
    const fullPath = parent ? `${parent.full_path}/${path}` : path;
    const source = { kind: "group", column: "namespace_id", id, fullPath } as const;
    await changed({ db, by, now, source }, "joined", owner);
  }
  return id;
}

/**
 * Changes a group, and the full paths and names of everything below it.
 *
 * @throws ApiError 400 for an invalid path or visibility, 409 for a name or path that is taken
 */
export async function changeGroup(
  db: Database,
  found: namespaces.Namespace,
  input: param.Input<typeof groupInput>,
  now: number,
): Promise<void> {
  const parent = found.parent_id ? await namespaces.find(db, found.parent_id) : undefined;
  if (input.visibility) await requireVisibility(db, input.visibility, parent, found.id);
  await rename(db, found, parent, input);
  const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));
  await updateRow(
    db,
    "namespaces",
    found.id,
    {
      name: input.name,
      path: input.path,
      description: input.description === null ? "" : input.description,
      visibility: input.visibility && VISIBILITIES[input.visibility],
      lfs_enabled: flag(input.lfs_enabled),
      request_access_enabled: flag(input.request_access_enabled),
    },
    now,
  );
  if (input.path !== undefined && input.path !== found.path) {
    const old = { old_path: found.path, old_full_path: found.full_path };
    const about = { id: found.id, parentId: found.parent_id, userId: null };
    await recordGroup({ db, now }, "rename", about, old);
  }
}

/**
 * Checks that the name and path of a new or renamed group are free. Names are unique only among subgroups of one group.
 *
 * @param wanted the new name and path; `undefined` if unchanged
 * @throws ApiError 409 if one is taken, 400 if the path is too long
 */
async function requireFree(
  db: Reader,
  parent: namespaces.Namespace | undefined,
  wanted: { name?: string | undefined; path?: string | undefined },
): Promise<void> {
  const { name, path } = wanted;
  const fullPath = parent && path !== undefined ? `${parent.full_path}/${path}` : path;
  if (fullPath !== undefined) requireFullPath(fullPath);
  const nameTaken =
    parent !== undefined && name !== undefined && (await groups.isNameTaken(db, parent.id, name));
  const pathTaken = fullPath !== undefined && (await namespaces.isTaken(db, fullPath));
  refuseTaken({ name: nameTaken, path: pathTaken });
}

/**
 * Checks that a group is no more visible than its parent and no less visible than its contents.
 *
 * @param groupId the group being changed; omitted for a new one, which has no contents
 * @throws ApiError 400 with GitLab's messages
 */
async function requireVisibility(
  db: Reader,
  wanted: keyof typeof VISIBILITIES,
  parent: namespaces.Namespace | undefined,
  groupId?: number,
): Promise<void> {
  const level = VISIBILITIES[wanted];
  const problems: string[] = [];
  if (parent?.kind === "group" && level > parent.visibility) {
    const allowed = VISIBILITY_WORDS[parent.visibility];
    problems.push(`${wanted} is not allowed since the parent group has a ${allowed} visibility.`);
  }
  const more = groupId === undefined ? undefined : await groups.moreVisible(db, groupId, level);
  if (more?.projects) {
    problems.push(
      `${wanted} is not allowed since this group contains projects with higher visibility.`,
    );
  }
  if (more?.groups) {
    problems.push(`${wanted} is not allowed since there are sub-groups with higher visibility.`);
  }
  if (problems.length > 0) throw invalid({ visibility_level: problems });
}

/** Checks a new name or path, and updates the full names and paths of the group and everything below it. */
async function rename(
  db: Database,
  before: namespaces.Namespace,
  parent: namespaces.Namespace | undefined,
  {
    name = before.name,
    path = before.path,
  }: { name?: string | undefined; path?: string | undefined },
): Promise<void> {
  if (name === before.name && path === before.path) return;
  const after = {
    full_path: parent ? `${parent.full_path}/${path}` : path,
    full_name: parent ? `${parent.full_name} / ${name}` : name,
  };
  if (path !== before.path) requirePath(path, { top: !parent });
  await requireFree(db, parent, {
    name: name === before.name ? undefined : name,
    path: path.toLowerCase() === before.path.toLowerCase() ? undefined : path,
  });
  await namespaces.renameBelow(db, before.id, before, after);
  requireFullPath(await namespaces.longestPath(db, before.id));
}
