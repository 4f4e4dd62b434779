import type { Caller } from "../../core/access/caller.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import type { PageName } from "./rules.ts";

/** The formats of pages; the first is the default. */
export const FORMATS = ["markdown", "rdoc", "asciidoc"] as const;
export type Format = (typeof FORMATS)[number];

/** A page as stored. */
export interface WikiPage extends PageName {
  id: number;
  format: Format;
  content: string;
}

/** The pages of a project by title. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: "wiki_pages w where w.project_id = ?",
    values: [projectId],
    order: "w.title, w.id",
  });
}

/** One page as a row of its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  slug: string,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from wiki_pages w where w.project_id = ? and w.slug = ?`,
    [projectId, slug],
  );
  return found;
}

/** A page, or `undefined`. */
export function find(db: Reader, projectId: number, slug: string): Awaitable<WikiPage | undefined> {
  return db.one<WikiPage>(
    `select id, slug, title, format, content from wiki_pages where project_id = ? and slug = ?`,
    [projectId, slug],
  );
}

/** Whether a project has a page with this slug. */
export async function isTaken(db: Reader, projectId: number, slug: string): Promise<boolean> {
  const found = await db.rows("select 1 from wiki_pages where project_id = ? and slug = ?", [
    projectId,
    slug,
  ]);
  return found.length > 0;
}

/** The user who changes a page; `undefined` if an operator does. */
export type Author = Pick<Caller, "id" | "username"> | undefined;

/** Adds a page with its first version. */
export async function insert(
  db: Database,
  projectId: number,
  page: Omit<WikiPage, "id">,
  author: Author,
  now: number,
): Promise<void> {
  const id = await insertRow(db, "wiki_pages", {
    project_id: projectId,
    slug: page.slug,
    title: page.title,
    format: page.format,
    created_at: now,
    updated_at: now,
    content: page.content,
  });
  await insertVersion(db, projectId, { ...page, id }, "created", author, now);
}

/** Updates a page and adds the result as a version. */
export async function update(
  db: Database,
  projectId: number,
  page: WikiPage,
  author: Author,
  now: number,
): Promise<void> {
  await db.run(
    "update wiki_pages set slug = ?, title = ?, format = ?, updated_at = ?, content = ? where id = ?",
    [page.slug, page.title, page.format, now, page.content, page.id],
  );
  await insertVersion(db, projectId, page, "updated", author, now);
}

/** Subscribes a user to a page, or unsubscribes. */
export async function subscribe(
  db: Database,
  pageId: number,
  userId: number,
  subscribed: boolean,
): Promise<void> {
  await db.run(
    subscribed
      ? "insert into wiki_page_subscriptions (page_id, user_id) values (?, ?) on conflict do nothing"
      : "delete from wiki_page_subscriptions where page_id = ? and user_id = ?",
    [pageId, userId],
  );
}

/** Removes a page; its versions stay. */
export async function remove(
  db: Database,
  projectId: number,
  page: WikiPage,
  author: Author,
  now: number,
): Promise<void> {
  await db.run("delete from wiki_pages where id = ?", [page.id]);
  // The previous version has its content.
  await insertVersion(db, projectId, { ...page, content: "" }, "deleted", author, now);
}

async function insertVersion(
  db: Database,
  projectId: number,
  page: WikiPage,
  action: "created" | "updated" | "deleted",
  author: Author,
  now: number,
): Promise<void> {
  await insertRow(db, "wiki_page_versions", {
    project_id: projectId,
    page_id: page.id,
    action,
    author_id: author?.id ?? null,
    author_username: author?.username ?? null,
    message: `${author ? `${author.username} ` : ""}${action} page: ${page.title}`,
    created_at: now,
    slug: page.slug,
    title: page.title,
    format: page.format,
    content: page.content,
  });
}

/** The maximum duration of an upload. Older unfinished ones were left behind by a process that died. */
const ABANDONED_AFTER = 24 * 3_600_000;

/** Begins an upload and returns its id; deletes abandoned ones. */
export async function beginBlob(db: Database, projectId: number, now: number): Promise<number> {
  await db.run("delete from wiki_blobs where sha256 is null and created_at < ?", [
    now - ABANDONED_AFTER,
  ]);
  return insertRow(db, "wiki_blobs", { project_id: projectId, created_at: now });
}

/** Stores one piece of an upload. */
export async function appendToBlob(
  db: Database,
  blobId: number,
  number: number,
  bytes: Uint8Array,
): Promise<void> {
  await db.run("insert into wiki_blob_pieces (blob_id, number, bytes) values (?, ?, ?)", [
    blobId,
    number,
    bytes,
  ]);
}

/** Deletes an upload. */
export async function discardBlob(db: Database, blobId: number): Promise<void> {
  await db.run("delete from wiki_blobs where id = ?", [blobId]);
}

/** Finishes an upload and returns its blob's id: an older one if the project already had the same content. */
export async function finishBlob(
  db: Database,
  projectId: number,
  blob: { id: number; sha256: string; size: number },
): Promise<number> {
  const [same] = await db.rows("select id from wiki_blobs where project_id = ? and sha256 = ?", [
    projectId,
    blob.sha256,
  ]);
  if (same) {
    await discardBlob(db, blob.id);
    return same[0] as number;
  }
  await db.run("update wiki_blobs set sha256 = ?, size = ? where id = ?", [
    blob.sha256,
    blob.size,
    blob.id,
  ]);
  return blob.id;
}

/** Adds an attachment. */
export async function insertAttachment(
  db: Database,
  projectId: number,
  attachment: { blob_id: number; secret: string; file_name: string; branch: string },
  author: Author,
  now: number,
): Promise<void> {
  await insertRow(db, "wiki_attachments", {
    project_id: projectId,
    ...attachment,
    author_id: author?.id ?? null,
    created_at: now,
  });
}

/** The content of an attachment. */
export interface Blob {
  id: number;
  sha256: string;
  size: number;
}

/** The content of an attachment, or `undefined` if the project has none with this path. */
export function findAttachment(
  db: Reader,
  projectId: number,
  secret: string,
  fileName: string,
): Awaitable<Blob | undefined> {
  return db.one<Blob>(
    `select b.id, b.sha256, b.size from wiki_attachments a join wiki_blobs b on b.id = a.blob_id
     where a.project_id = ? and a.secret = ? and a.file_name = ?`,
    [projectId, secret, fileName],
  );
}

/**
 * The bytes of a blob, a piece at a time.
 *
 * @throws Error if it is deleted meanwhile
 */
export async function* bytesOf(
  db: Reader,
  blob: Pick<Blob, "id" | "size">,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for (let number = 0; sent < blob.size; number += 1) {
    const [found] = await db.rows(
      "select bytes from wiki_blob_pieces where blob_id = ? and number = ?",
      [blob.id, number],
    );
    if (!found) throw new Error("the attachment was deleted while it was read");
    const bytes = found[0] as Uint8Array;
    sent += bytes.length;
    yield bytes;
  }
}
