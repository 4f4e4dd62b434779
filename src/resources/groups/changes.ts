import { type Actor, record } from "../../accounts/audit.ts";
import { ROLES, VISIBILITIES } from "../../core/access.ts";
import { conflict, invalid } from "../../core/errors.ts";
import * as is from "../../core/input.ts";
import { requireFullPath, requirePath } from "../../core/paths.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as members from "../members/queries.ts";
import * as groups from "./queries.ts";

const attributes = {
  description: is.clearable(is.anyText()),
  visibility: is.optional(is.choice(["private", "internal", "public"])),
  lfs_enabled: is.optional(is.boolean()),
  request_access_enabled: is.optional(is.boolean()),
};

/** What a group is made of. */
export const newGroupInput = { name: is.text(), path: is.text(), ...attributes };

/** What of a group can be changed. */
export const groupInput = {
  name: is.optional(is.text()),
  path: is.optional(is.text()),
  ...attributes,
};

/**
 * Makes a group.
 *
 * @param group `parent`: the group it is in, if any; `ownerId`: the user who becomes its owner, if any
 * @returns its id
 * @throws ApiError 400 for a path or visibility that can't be, 409 for a path that is taken
 */
export async function createGroup(
  db: Database,
  by: Actor,
  group: is.Input<typeof newGroupInput> & {
    parent?: groups.Namespace | undefined;
    ownerId: number | undefined;
  },
  now: number,
): Promise<number> {
  const { path, parent, ownerId } = group;
  requirePath(path, { top: !parent });
  const visibility = VISIBILITIES[group.visibility ?? "private"];
  requireVisibility(visibility, parent);
  const fullPath = parent ? `${parent.full_path}/${path}` : path;
  await requireFreePath(db, fullPath);
  const id = await groups.insert(db, { ...group, kind: "group", visibility }, now);
  if (ownerId !== undefined) {
    const owner = {
      user_id: ownerId,
      access_level: ROLES.owner,
      created_by_id: by.id ?? undefined,
    };
    await members.insert(db, { column: "namespace_id", id }, owner, now);
    const target = `${fullPath} (owner)`;
    const added = { action: "member added", author: by, userId: ownerId, target } as const;
    await record(db, { ...added, ip: by.ip }, now);
  }
  return id;
}

/**
 * Changes a group; with its path, those of all below it change.
 *
 * @throws ApiError 400 for a path or visibility that can't be, 409 for a path that is taken
 */
export async function changeGroup(
  db: Database,
  found: groups.Namespace,
  input: is.Input<typeof groupInput>,
  now: number,
): Promise<void> {
  const parent = found.parent_id ? await groups.find(db, found.parent_id) : undefined;
  const level = input.visibility && VISIBILITIES[input.visibility];
  if (level !== undefined) requireVisibility(level, parent);
  const flag = (value: boolean | undefined) => (value === undefined ? undefined : Number(value));
  await updateRow(
    db,
    "namespaces",
    found.id,
    {
      name: input.name,
      path: input.path,
      description: input.description === null ? "" : input.description,
      visibility: level,
      lfs_enabled: flag(input.lfs_enabled),
      request_access_enabled: flag(input.request_access_enabled),
    },
    now,
  );
  await rename(db, found, parent, input);
}

/** A taken path is a conflict, said in the words of GitLab's 400. */
async function requireFreePath(db: Reader, fullPath: string): Promise<void> {
  requireFullPath(fullPath);
  if (await groups.isTaken(db, fullPath)) throw conflict({ path: ["has already been taken"] });
}

/** Nothing is more visible than the group it is in. */
function requireVisibility(level: number, parent: groups.Namespace | undefined): void {
  if (parent?.kind === "group" && level > parent.visibility) {
    throw invalid({ visibility_level: ["cannot be higher than that of the parent group"] });
  }
}

/** After a change of name or path: the full ones of the group and of all below it. */
async function rename(
  db: Database,
  before: groups.Namespace,
  parent: groups.Namespace | undefined,
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
  if (path !== before.path) {
    requirePath(path, { top: !parent });
    const onlyCase = path.toLowerCase() === before.path.toLowerCase();
    if (!onlyCase) await requireFreePath(db, after.full_path);
  }
  await groups.renameBelow(db, before.id, before, after);
  requireFullPath(await groups.longestPath(db, before.id));
}
