import { pageReader } from "../../core/pagination.ts";
import type { StoredFile } from "../../files/write.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

/** An upload with its content. */
export interface Upload extends StoredFile {
  readonly upload_id: number;
  readonly file_name: string;
  readonly created_at: number;
}

const UPLOADS = "project_uploads up left join users u on u.id = up.uploader_id";

/** A page of the uploads of a project, the newest first. */
export const list = pageReader({ from: `${UPLOADS} where up.project_id = ?`, order: "up.id desc" });

/** How an upload is named: by its id, or as in its address. */
export type UploadName = { upload_id: number } | { secret: string; file_name: string };

/** An upload of a project, or `undefined`. */
export function find(
  db: Reader,
  projectId: number,
  name: UploadName,
): Awaitable<Upload | undefined> {
  const [sql, values] =
    "upload_id" in name
      ? ["up.id = ?", [name.upload_id]]
      : ["up.secret = ? and up.file_name = ?", [name.secret, name.file_name]];
  return db.one<Upload>(
    `select up.id as upload_id, up.file_name, up.created_at, f.id, f.size, f.sha256
     from project_uploads up join stored_files f on f.id = up.file_id where up.project_id = ? and ${sql}`,
    [projectId, ...values],
  );
}

/** Adds an upload, and returns its id. */
export function insert(
  db: Database,
  projectId: number,
  file: StoredFile,
  upload: { secret: string; file_name: string; uploader_id: number },
  now: number,
): Promise<number> {
  return insertRow(db, "project_uploads", {
    project_id: projectId,
    file_id: file.id,
    size: file.size,
    ...upload,
    created_at: now,
  });
}

/** Deletes an upload. */
export async function remove(db: Database, uploadId: number): Promise<void> {
  await db.run("delete from project_uploads where id = ?", [uploadId]);
}
