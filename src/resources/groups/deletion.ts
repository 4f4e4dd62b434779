import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import type { Context } from "../../core/resource.ts";
import { recordGroup } from "../../hooks/records.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { impossible, madeFree, suffixOf, withoutSuffix } from "../namespaces/marked.ts";
import * as namespaces from "../namespaces/queries.ts";
import { isNameTaken } from "./queries.ts";

/** A group as its deletion needs it. */
export interface DeletedGroup extends namespaces.Namespace {
  readonly marked_for_deletion_at: number | null;
}

type Changing = Pick<Context, "now" | "request"> & { db: Database; caller: Caller };

/** The group with an id, which exists. */
export async function findDeleted(db: Reader, groupId: number): Promise<DeletedGroup> {
  const found = (await namespaces.find(db, groupId)) as namespaces.Namespace;
  const [row] = await db.rows("select marked_for_deletion_at from namespaces where id = ?", [
    groupId,
  ]);
  return { ...found, marked_for_deletion_at: row?.[0] as number | null };
}

/** Marks a group, which is deleted later with everything below it, and frees its name and path. */
export async function mark(context: Changing, found: DeletedGroup): Promise<void> {
  const suffix = suffixOf(found.id);
  await changeMark(context, found, {
    name: `${found.name}${suffix}`,
    path: `${found.path}${suffix}`,
    marked_for_deletion_at: context.now,
  });
  const target = found.full_path;
  const place = { kind: "group", id: found.id, fullPath: target } as const;
  await audit.log(context, "group marked for deletion", { target, place });
}

/**
 * Takes the mark of a group back. It gets its name and path again; if others have taken them, similar ones.
 *
 * @throws ApiError 400 if it has no mark
 */
export async function restore(context: Changing, found: DeletedGroup): Promise<void> {
  if (found.marked_for_deletion_at === null) {
    throw impossible("Group has not been marked for deletion");
  }
  const { db } = context;
  const [name, path] = [withoutSuffix(found.name, found.id), withoutSuffix(found.path, found.id)];
  const folder = found.full_path.slice(0, -found.path.length);
  const isFree = path === found.path || !(await namespaces.isTaken(db, `${folder}${path}`));
  const hasName =
    name === found.name ||
    found.parent_id === null ||
    !(await isNameTaken(db, found.parent_id, name));
  await changeMark(context, found, {
    name: hasName ? name : madeFree(name),
    path: isFree ? path : madeFree(path),
    marked_for_deletion_at: null,
  });
  const target = `${folder}${path}`;
  const place = { kind: "group", id: found.id, fullPath: target } as const;
  await audit.log(context, "group restored", { target, place });
}

/** However long its path becomes: what has the longest must be deletable, too. */
async function changeMark(
  context: Changing,
  found: DeletedGroup,
  changes: Pick<DeletedGroup, "name" | "path" | "marked_for_deletion_at">,
): Promise<void> {
  const { db, caller, now } = context;
  const { id, name, path, full_name, full_path, parent_id: parentId } = found;
  await namespaces.renameBelow(db, id, found, {
    full_path: `${full_path.slice(0, -path.length)}${changes.path}`,
    full_name: `${full_name.slice(0, -name.length)}${changes.name}`,
  });
  await updateRow(db, "namespaces", id, changes, now);
  const old = { old_path: path, old_full_path: full_path };
  await recordGroup(context, "rename", { id, parentId, userId: caller.id }, old);
}
