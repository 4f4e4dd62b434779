import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { type Marked, type Marking, markingOf } from "../namespaces/marking.ts";
import { keepPaths } from "../namespaces/redirects.ts";
import { changed } from "./followers.ts";
import { isNameTaken } from "./queries.ts";

/** A project as its deletion needs it. */
export interface DeletedProject {
  id: number;
  namespace_id: number;
  name: string;
  path: string;
  full_path: string;
  marked_for_deletion_at: number | null;
  updated_at: number;
}

/** The project with an id, which exists. */
export async function findDeleted(db: Reader, projectId: number): Promise<DeletedProject> {
  return (await db.one<DeletedProject>(
    `select id, namespace_id, name, path, full_path, marked_for_deletion_at, updated_at
     from projects where id = ?`,
    [projectId],
  )) as DeletedProject;
}

/** How projects are marked for deletion, and their marks taken back. */
export const { mark, restore } = markingOf<DeletedProject>(
  "project",
  (db, { id, namespace_id }, name) => isNameTaken(db, namespace_id, name, id),
  changeMark,
);

async function changeMark(
  context: Marking,
  { id, full_path: before, path: oldPath }: DeletedProject,
  changes: Marked,
): Promise<void> {
  const { db, caller, now } = context;
  await keepPaths(db, { sql: "id = ?", values: [id] });
  const full_path = `${before.slice(0, -oldPath.length)}${changes.path}`;
  await updateRow(db, "projects", id, { ...changes, full_path }, now);
  const old = { old_path_with_namespace: before };
  await changed(context, "rename", { id, userId: caller.id }, old);
}
