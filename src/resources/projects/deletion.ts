import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import type { Context } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { impossible, madeFree, suffixOf, withoutSuffix } from "../namespaces/marked.ts";
import * as namespaces from "../namespaces/queries.ts";
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

type Changing = Pick<Context, "now" | "request"> & { db: Database; caller: Caller };

/** The project with an id, which exists. */
export async function findDeleted(db: Reader, projectId: number): Promise<DeletedProject> {
  return (await db.one<DeletedProject>(
    `select id, namespace_id, name, path, full_path, marked_for_deletion_at, updated_at
     from projects where id = ?`,
    [projectId],
  )) as DeletedProject;
}

/** Marks a project, which is deleted later, and frees its name and path. */
export async function mark(context: Changing, found: DeletedProject): Promise<void> {
  const suffix = suffixOf(found.id);
  await changeMark(context, found, {
    name: `${found.name}${suffix}`,
    path: `${found.path}${suffix}`,
    marked_for_deletion_at: context.now,
  });
  const target = found.full_path;
  const place = { kind: "project", id: found.id, fullPath: target } as const;
  await audit.log(context, "project marked for deletion", { target, place });
}

/**
 * Takes the mark of a project back. It gets its name and path again; if others have taken them, similar ones.
 *
 * @throws ApiError 400 if it has no mark
 */
export async function restore(context: Changing, found: DeletedProject): Promise<void> {
  if (found.marked_for_deletion_at === null) {
    throw impossible("Project has not been marked for deletion");
  }
  const { db } = context;
  const [name, path] = [withoutSuffix(found.name, found.id), withoutSuffix(found.path, found.id)];
  const folder = found.full_path.slice(0, -found.path.length);
  const isFree = path === found.path || !(await namespaces.isTaken(db, `${folder}${path}`));
  const hasName = !(await isNameTaken(db, found.namespace_id, name, found.id));
  await changeMark(context, found, {
    name: hasName ? name : madeFree(name),
    path: isFree ? path : madeFree(path),
    marked_for_deletion_at: null,
  });
  const target = `${folder}${path}`;
  const place = { kind: "project", id: found.id, fullPath: target } as const;
  await audit.log(context, "project restored", { target, place });
}

async function changeMark(
  context: Changing,
  { id, full_path: before, path: oldPath }: DeletedProject,
  changes: Pick<DeletedProject, "name" | "path" | "marked_for_deletion_at">,
): Promise<void> {
  const { db, caller, now } = context;
  await keepPaths(db, { sql: "id = ?", values: [id] });
  const full_path = `${before.slice(0, -oldPath.length)}${changes.path}`;
  await updateRow(db, "projects", id, { ...changes, full_path }, now);
  const old = { old_path_with_namespace: before };
  await changed(context, "rename", { id, userId: caller.id }, old);
}
