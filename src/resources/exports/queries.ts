import type { StoredFile } from "../../files/write.ts";
import { insertMany } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import type { Format, Place } from "./format.ts";
import type { Overwriting } from "./overwriting.ts";
import * as relations from "./relations.ts";

/** The tables of exports and imports, with a row for each project or group at most. */
const TABLES = {
  project: { exports: "project_exports", imports: "project_imports", column: "project_id" },
  group: { exports: "group_exports", imports: "group_imports", column: "namespace_id" },
} as const;

/** Where an export is: `regeneration_in_progress` if there is an older archive meanwhile. */
export type ExportStatus =
  | "none"
  | "queued"
  | "started"
  | "finished"
  | "regeneration_in_progress"
  | "failed";

/** Where an import is. */
type ImportStatus = "none" | "scheduled" | "started" | "finished" | "failed";

/** An archive that was written. */
export interface Archive extends StoredFile {
  readonly format: Format;
  /** When it was asked for, in epoch milliseconds. */
  readonly created_at: number;
}

/** The archive that was written last; `undefined` if there is none. */
export function findArchive(db: Reader, { kind, id }: Place): Awaitable<Archive | undefined> {
  const { exports, column } = TABLES[kind];
  return db.one<Archive>(
    `select f.id, f.size, f.sha256, e.format, e.created_at from ${exports} e join stored_files f on f.id = e.file_id
     where e.${column} = ?`,
    [id],
  );
}

/** Where an export is. */
export async function exportStatusOf(db: Reader, { kind, id }: Place): Promise<ExportStatus> {
  const { exports, column } = TABLES[kind];
  const [found] = await db.rows(`select status, file_id from ${exports} where ${column} = ?`, [id]);
  const [status = "none", file] = (found ?? []) as [ExportStatus?, number?];
  const isRunning = status === "queued" || status === "started";
  return isRunning && file != null ? "regeneration_in_progress" : status;
}

/** Notes that an export was asked for. The archive before stays until there is a new one. */
export async function queueExport(db: Database, { kind, id }: Place, now: number): Promise<void> {
  const { exports, column } = TABLES[kind];
  await db.run(
    `insert into ${exports} (${column}, status, created_at) values (?, 'queued', ?)
     on conflict (${column}) do update set status = 'queued', created_at = excluded.created_at`,
    [id, now],
  );
}

/** Notes where an export is. @param written the new archive, if there is one */
export async function setExport(
  db: Database,
  { kind, id }: Place,
  status: ExportStatus,
  written?: { readonly fileId: number; readonly format: Format },
): Promise<void> {
  const { exports, column } = TABLES[kind];
  await db.run(
    `update ${exports} set status = ?, file_id = coalesce(?, file_id), format = coalesce(?, format) where ${column} = ?`,
    [status, written?.fileId ?? null, written?.format ?? null, id],
  );
}

/** Forgets archives that were written before an instant, in epoch milliseconds. */
export async function removeExports(db: Database, before: number): Promise<number> {
  let removed = await relations.removeBefore(db, before);
  for (const { exports } of Object.values(TABLES)) {
    removed += await db.run(`delete from ${exports} where created_at < ?`, [before]);
  }
  return removed;
}

/** An import. */
export interface Import {
  readonly status: ImportStatus;
  readonly file_id: number | null;
  readonly size: number | null;
  readonly user_id: number | null;
  readonly username: string | null;
  readonly admin: number | null;
  readonly error: string | null;
  /** Of an import by URL. */
  readonly url: string | null;
  /** Of an import from a server of repositories: which kind of server it is. */
  readonly kind: string | null;
  /** The project that it replaces in the end, as JSON of `Overwriting`. */
  readonly overwrites: string | null;
}

/** The import of a project or group; `undefined` if it was not imported. */
export function findImport(db: Reader, { kind, id }: Place): Awaitable<Import | undefined> {
  const { imports, column } = TABLES[kind];
  const [overwrites, url, of] =
    kind === "project" ? ["i.overwrites", "i.url", "i.kind"] : ["null", "null", "null"];
  return db.one<Import>(
    `select i.status, i.file_id, f.size, i.user_id, u.username, u.admin, i.error, ${overwrites} as overwrites,
       ${url} as url, ${of} as kind
     from ${imports} i
     left join users u on u.id = i.user_id left join stored_files f on f.id = i.file_id
     where i.${column} = ?`,
    [id],
  );
}

/** An import that was asked for. */
export interface NewImport {
  /** The project or group that is made. */
  readonly place: Place;
  readonly fileId: number;
  readonly userId: number;
  /** The project that it replaces. */
  readonly overwritten?: Overwriting | undefined;
}

/** Notes that a project or group is to be imported. */
export async function queueImport(
  db: Database,
  { place, fileId, userId, overwritten }: NewImport,
  now: number,
): Promise<void> {
  const { imports, column } = TABLES[place.kind];
  const row = {
    [column]: place.id,
    status: "scheduled",
    file_id: fileId,
    user_id: userId,
    ...(overwritten && { overwrites: JSON.stringify(overwritten) }),
    created_at: now,
  };
  await insertMany(db, imports, Object.keys(row), [Object.values(row)]);
}

/** Notes where an import is. Its archive is no longer needed once it has ended. @param error why it failed */
export async function setImport(
  db: Database,
  { kind, id }: Place,
  status: "started" | "finished" | "failed",
  error: string | null = null,
): Promise<void> {
  const { imports, column } = TABLES[kind];
  const file = status === "started" ? "file_id" : "null";
  await db.run(
    `update ${imports} set status = ?, error = ?, file_id = ${file} where ${column} = ?`,
    [status, error, id],
  );
}
