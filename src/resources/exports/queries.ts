import type { StoredFile } from "../../files/write.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import type { Overwriting } from "./overwriting.ts";

/** Where the export of a project is: `regeneration_in_progress` if there is an older archive meanwhile. */
export type ExportStatus =
  | "none"
  | "queued"
  | "started"
  | "finished"
  | "regeneration_in_progress"
  | "failed";

/** Where the import of a project is. */
type ImportStatus = "none" | "scheduled" | "started" | "finished" | "failed";

/** The archive of a project that was written last; `undefined` if there is none. */
export function findArchive(db: Reader, projectId: number): Awaitable<StoredFile | undefined> {
  return db.one<StoredFile>(
    `select f.id, f.size, f.sha256 from project_exports e join stored_files f on f.id = e.file_id
     where e.project_id = ?`,
    [projectId],
  );
}

/** Where the export of a project is. */
export async function exportStatusOf(db: Reader, projectId: number): Promise<ExportStatus> {
  const [found] = await db.rows(
    "select status, file_id from project_exports where project_id = ?",
    [projectId],
  );
  const [status = "none", file] = (found ?? []) as [ExportStatus?, number?];
  const isRunning = status === "queued" || status === "started";
  return isRunning && file != null ? "regeneration_in_progress" : status;
}

/** Notes that an export was asked for. The archive before stays until there is a new one. */
export async function queueExport(db: Database, projectId: number, now: number): Promise<void> {
  await db.run(
    `insert into project_exports (project_id, status, created_at) values (?, 'queued', ?)
     on conflict (project_id) do update set status = 'queued', created_at = excluded.created_at`,
    [projectId, now],
  );
}

/** Notes where an export is. @param fileId the new archive, if there is one */
export async function setExport(
  db: Database,
  projectId: number,
  status: ExportStatus,
  fileId?: number,
): Promise<void> {
  await db.run(
    "update project_exports set status = ?, file_id = coalesce(?, file_id) where project_id = ?",
    [status, fileId ?? null, projectId],
  );
}

/** Forgets archives that were written before an instant, in epoch milliseconds. */
export async function removeExports(db: Database, before: number): Promise<number> {
  return db.run("delete from project_exports where created_at < ?", [before]);
}

/** An import of a project. */
export interface ProjectImport {
  readonly status: ImportStatus;
  readonly file_id: number | null;
  readonly size: number | null;
  readonly user_id: number | null;
  readonly admin: number | null;
  readonly error: string | null;
  /** The project that it replaces in the end, as JSON of `Overwriting`. */
  readonly overwrites: string | null;
}

/** The import of a project; `undefined` if it was not imported. */
export function findImport(db: Reader, projectId: number): Awaitable<ProjectImport | undefined> {
  return db.one<ProjectImport>(
    `select i.status, i.file_id, f.size, i.user_id, u.admin, i.error, i.overwrites from project_imports i
     left join users u on u.id = i.user_id left join stored_files f on f.id = i.file_id
     where i.project_id = ?`,
    [projectId],
  );
}

/** An import that was asked for. */
export interface NewImport {
  /** The project that is made. */
  readonly projectId: number;
  readonly fileId: number;
  readonly userId: number;
  readonly overwritten: Overwriting | undefined;
}

/** Notes that a project is to be imported. */
export async function queueImport(
  db: Database,
  { projectId, fileId, userId, overwritten }: NewImport,
  now: number,
): Promise<void> {
  await db.run(
    `insert into project_imports (project_id, status, file_id, user_id, overwrites, created_at)
     values (?, 'scheduled', ?, ?, ?, ?)`,
    [projectId, fileId, userId, overwritten ? JSON.stringify(overwritten) : null, now],
  );
}

/** Notes where an import is. Its archive is no longer needed once it has ended. @param error why it failed */
export async function setImport(
  db: Database,
  projectId: number,
  status: "started" | "finished" | "failed",
  error: string | null = null,
): Promise<void> {
  const file = status === "started" ? "file_id" : "null";
  await db.run(
    `update project_imports set status = ?, error = ?, file_id = ${file} where project_id = ?`,
    [status, error, projectId],
  );
}
