import { attachmentName } from "../../core/http/attachments.ts";
import { imageTypeOf } from "../../core/http/images.ts";
import type { StoredFile } from "../../files/write.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";

/** What has a picture: the column that refers to it, its table, and its place in addresses. */
const OWNERS = {
  user: ["user_id", "users", "user"],
  group: ["namespace_id", "namespaces", "group"],
  project: ["project_id", "projects", "project"],
  topic: ["topic_id", "topics", "projects/topic"],
} as const;

/** Whose picture it is. */
export interface Owner {
  readonly kind: keyof typeof OWNERS;
  readonly id: number;
}

/** A picture with its content. */
export interface Avatar extends StoredFile {
  readonly file_name: string;
  readonly content_type: string;
}

/** The picture of a user, group, project or topic, or `undefined`. */
export function find(db: Reader, { kind, id }: Owner): Awaitable<Avatar | undefined> {
  const [column, table] = OWNERS[kind];
  return db.one<Avatar>(
    `select a.file_name, a.content_type, f.id, f.size, f.sha256
     from avatars a join stored_files f on f.id = a.file_id join ${table} o on o.id = a.${column}
     where a.${column} = ? and o.avatar_url is not null`,
    [id],
  );
}

/** A received picture: a file, what it is called and how it begins. */
export interface Picture extends StoredFile {
  readonly name: string;
  readonly head: Buffer;
}

/**
 * Replaces or removes the picture of a user, group, project or topic.
 *
 * @param picture an image; `null` for none, `undefined` to leave it as it is
 * @throws ApiError 400 for an empty file name
 */
export async function change(
  db: Database,
  { kind, id }: Owner,
  picture: Picture | null | undefined,
  now: number,
): Promise<void> {
  if (picture === undefined) return;
  const [column, table, place] = OWNERS[kind];
  await db.run(`delete from avatars where ${column} = ?`, [id]);
  let path: string | null = null;
  if (picture !== null) {
    const file_name = attachmentName(picture.name);
    const content_type = imageTypeOf(picture.head) as string;
    await insertRow(db, "avatars", { [column]: id, file_id: picture.id, file_name, content_type });
    path = `/uploads/-/system/${place}/avatar/${id}/${file_name}`;
  }
  await updateRow(db, table, id, { avatar_url: path }, now);
}
