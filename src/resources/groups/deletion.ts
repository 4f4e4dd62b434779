import { recordGroup } from "../../hooks/records.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { type Marked, type Marking, markingOf } from "../namespaces/marking.ts";
import * as namespaces from "../namespaces/queries.ts";
import { isNameTaken } from "./queries.ts";

/** A group as its deletion needs it. */
export interface DeletedGroup extends namespaces.Namespace {
  readonly marked_for_deletion_at: number | null;
}

/** The group with an id, which exists. */
export async function findDeleted(db: Reader, groupId: number): Promise<DeletedGroup> {
  const found = (await namespaces.find(db, groupId)) as namespaces.Namespace;
  const [row] = await db.rows("select marked_for_deletion_at from namespaces where id = ?", [
    groupId,
  ]);
  return { ...found, marked_for_deletion_at: row?.[0] as number | null };
}

/** How groups are marked for deletion, with everything below them, and their marks taken back. */
export const { mark, restore } = markingOf<DeletedGroup>(
  "group",
  (db, { parent_id: parentId }, name) => parentId !== null && isNameTaken(db, parentId, name),
  changeMark,
);

/** However long its path becomes: what has the longest must be deletable, too. */
async function changeMark(context: Marking, found: DeletedGroup, changes: Marked): Promise<void> {
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
