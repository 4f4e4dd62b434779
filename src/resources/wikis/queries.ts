import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import type { Format, PageName } from "./rules.ts";

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

/**
 * The bytes of an upload, a piece at a time.
 *
 * @throws Error if it is deleted meanwhile
 */
export async function* bytesOf(
  db: Reader,
  blob: { readonly id: number; readonly size: number },
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
