import { randomBytes } from "node:crypto";
import type { Person } from "../../core/access/caller.ts";
import { findVisible } from "../../core/access/source.ts";
import { ApiError, forbidden } from "../../core/errors.ts";
import { dayOf } from "../../core/time.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { suffixOf } from "../namespaces/marked.ts";
import type { Namespace } from "../namespaces/queries.ts";
import { mayDeleteProject } from "../projects/abilities.ts";
import { type DeletedProject, findDeleted } from "../projects/deletion.ts";
import { changed } from "../projects/followers.ts";
import { remove } from "../projects/removal.ts";
import { requireFree } from "../projects/rules.ts";
import { ArchiveError } from "./format.ts";

/** The name and path of a project. */
interface Place {
  readonly name: string;
  readonly path: string;
}

/** What an import replaces once its archive was read, and the place that the new project gets then. */
export interface Overwriting extends Place {
  readonly projectId: number;
}

/**
 * The project that an import is to replace: the one with its path, which only its owners may replace.
 *
 * @returns `undefined` if there is none, or the caller can't see it: then its path is taken for them as for anybody
 * @throws ApiError 403
 */
export async function findOverwritten(
  db: Reader,
  namespace: Namespace,
  { name, path }: Place,
  caller: Person,
  now: number,
): Promise<Overwriting | undefined> {
  const viewer = { caller, today: dayOf(now) };
  const found = await findVisible(db, "project", `${namespace.full_path}/${path}`, viewer);
  // Not one that has left that path.
  const isThere = found?.fullPath.toLowerCase() === `${namespace.full_path}/${path}`.toLowerCase();
  if (!found || !isThere) return undefined;
  if (!mayDeleteProject(found)) throw forbidden();
  return { projectId: found.id, name, path };
}

/** Where the new project is until it replaces the other. */
export function placeUntilThen({ name, path }: Place): Place {
  const suffix = `-${randomBytes(6).toString("hex")}`;
  return { name: `${name}${suffix}`, path: `${path}${suffix}` };
}

/**
 * Gives an imported project the place that it was asked for, and deletes the project that has it.
 *
 * @throws ArchiveError if whoever asked for it may not delete that project any more, or another one has the place
 */
export async function overwrite(
  db: Database,
  { namespace, projectId, by }: { namespace: Namespace; projectId: number; by: Person },
  { projectId: oldId, name, path }: Overwriting,
  now: number,
): Promise<void> {
  const recording = { db, now };
  const viewer = { caller: by, today: dayOf(now) };
  const old = await findVisible(db, "project", String(oldId), viewer);
  if (old) {
    if (!mayDeleteProject(old)) {
      throw new ArchiveError(
        "The project that it was to replace may not be deleted by its importer",
      );
    }
    await changed(recording, "destroy", { id: oldId, userId: by.id });
    const suffix = suffixOf(oldId);
    const found = await findDeleted(db, oldId);
    await rename(
      db,
      found,
      { name: `${found.name}${suffix}`, path: `${found.path}${suffix}` },
      now,
    );
    await remove(db, oldId, now);
  }
  const made = await findDeleted(db, projectId);
  await requireFree(db, namespace, { name, path }).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
    throw new ArchiveError(`Another project has the path ${path} or the name ${name} by now`);
  });
  await rename(db, made, { name, path }, now);
  const before = { old_path_with_namespace: made.full_path };
  await changed(recording, "rename", { id: projectId, userId: by.id }, before);
}

async function rename(
  db: Database,
  { id, full_path, path }: DeletedProject,
  to: Place,
  now: number,
): Promise<void> {
  const folder = full_path.slice(0, -path.length);
  await updateRow(db, "projects", id, { ...to, full_path: `${folder}${to.path}` }, now);
}
