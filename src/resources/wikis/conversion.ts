import type { Signature } from "../../git/commits.ts";
import { LIMITS } from "../../git/limits.ts";
import { BLOB, oidOf } from "../../git/objects.ts";
import { Packs } from "../../git/packs.ts";
import { inBatches } from "../../jobs/batches.ts";
import { startWorker, type Worker, type Working } from "../../jobs/worker.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { WikiHistory } from "./history.ts";
import { type PageFile, placePage } from "./pages.ts";
import { isUnconverted } from "./record.ts";
import { type Format, isAllowed, titleOf } from "./rules.ts";
import { CONVERTER } from "./table.ts";

/** The bytes of a file that was attached before wikis were repositories. */
async function* bytesOf(
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

/** A version of a page, as it was stored before wikis were repositories. */
interface Version {
  readonly id: number;
  readonly page_id: number;
  readonly action: "created" | "updated" | "deleted";
  readonly message: string;
  readonly created_at: number;
  readonly slug: string;
  readonly format: Format;
  readonly content: string;
  readonly author_username: string | null;
  readonly name: string | null;
  readonly email: string | null;
}

interface Attachment {
  readonly id: number;
  readonly blob_id: number;
  readonly size: number;
  readonly path: string;
  readonly file_name: string;
  readonly created_at: number;
  readonly name: string | null;
  readonly email: string | null;
}

/** The file of a page, and the slug that the page had. */
interface ConvertedFile extends PageFile {
  readonly wanted: string;
}

/** A page as its table has it. */
interface Page {
  readonly id: number;
  readonly slug: string;
  readonly format: Format;
  readonly content: string;
  readonly updated_at: number;
}

const VERSIONS = `select v.id, page_id, action, message, v.created_at, slug, format, content, author_username, u.name, u.email
  from wiki_page_versions v left join users u on u.id = v.author_id`;
const ATTACHMENTS = `select a.id, blob_id, b.size, 'uploads/' || secret || '/' || file_name as path, file_name, a.created_at, u.name, u.email
  from wiki_attachments a join wiki_blobs b on b.id = a.blob_id left join users u on u.id = a.author_id`;

/** Texts of a megabyte that memory holds. */
const BATCH = 20;

/** Rows of a project after one of them, by id. */
function rowsAfter<Row extends object>(
  db: Reader,
  select: string,
  alias: string,
  projectId: number,
  after: number,
) {
  return db.all<Row>(
    `${select} where ${alias}.project_id = ? and ${alias}.id > ? order by ${alias}.id limit ${BATCH}`,
    [projectId, after],
  );
}

/** Makes a repository of a wiki's versions and attachments: a commit of each. */
class Conversion {
  readonly history: WikiHistory;
  readonly #store: Store;
  readonly #projectId: number;
  /** All folders that pages were ever in: no file gets such a path. */
  readonly #folders = new Set<string>();
  /** The files of pages, by the pages' ids, and their slugs. */
  readonly #files = new Map<number, ConvertedFile>();
  readonly #slugs = new Set<string>();
  /** Pages that have other slugs than their files: their ids, and the slugs of the files. */
  #renamed: [id: number, slug: string][] = [];
  #lastVersion = 0;
  #lastAttachment = 0;
  #attachments: Attachment[] = [];

  constructor(store: Store, projectId: number, now: number, signal: AbortSignal | undefined) {
    this.#store = store;
    this.#projectId = projectId;
    this.history = new WikiHistory(Packs.of(store), now, signal);
  }

  /** Adds commits of what there is, and was not there before. */
  async goOn(): Promise<void> {
    await this.#findFolders();
    for (;;) {
      const after = [this.#projectId, this.#lastVersion] as const;
      const versions = await rowsAfter<Version>(this.#store, VERSIONS, "v", ...after);
      for (const version of versions) {
        await this.#attach(version.created_at);
        await this.#addVersion(version);
        this.#lastVersion = version.id;
      }
      if (versions.length === 0) break;
    }
    await this.#attach(Number.POSITIVE_INFINITY);
    await this.#addRest();
    await this.history.store();
  }

  /** Whether nothing was added since. */
  async isComplete(db: Reader): Promise<boolean> {
    const [newer] = await db.rows(
      `select 1 where exists (select 1 from wiki_page_versions where project_id = ? and id > ?)
         or exists (select 1 from wiki_attachments where project_id = ? and id > ?)`,
      [this.#projectId, this.#lastVersion, this.#projectId, this.#lastAttachment],
    );
    return newer === undefined;
  }

  /** Makes it the wiki's repository. Pages whose slugs no file can have get those of their files. */
  async apply(db: Database): Promise<void> {
    await this.history.apply(db, this.#projectId);
    for (const [id, slug] of this.#renamed) {
      const title = titleOf(slug);
      await db.run("update wiki_pages set slug = ?, title = ? where id = ?", [slug, title, id]);
    }
  }

  async #findFolders(): Promise<void> {
    const slugs = await this.#store.rows(
      `select slug from wiki_page_versions where project_id = ? union select slug from wiki_pages where project_id = ?`,
      [this.#projectId, this.#projectId],
    );
    for (const [slug] of slugs) {
      const parts = allowedSlug(slug as string).split("/");
      for (let end = 1; end < parts.length; end += 1) {
        this.#folders.add(parts.slice(0, end).join("/"));
      }
    }
  }

  /** Adds the attachments that are older than a version. */
  async #attach(before: number): Promise<void> {
    for (;;) {
      if (this.#attachments.length === 0) {
        const after = [this.#projectId, this.#lastAttachment] as const;
        this.#attachments = await rowsAfter(this.#store, ATTACHMENTS, "a", ...after);
      }
      const [next] = this.#attachments;
      if (!next || next.created_at > before) return;
      this.#attachments.shift();
      this.#lastAttachment = next.id;
      // No repository can have it.
      if (next.size > LIMITS.objectBytes) continue;
      const { size } = next;
      const pieces: Uint8Array[] = [];
      for await (const piece of bytesOf(this.#store, { id: next.blob_id, size }))
        pieces.push(piece);
      const author = signatureOf(next, null);
      const message = `Upload attachment ${next.file_name}`;
      await this.history.commit(author, message, async (tree, add) => {
        await tree.set(next.path, add(Buffer.concat(pieces)));
      });
    }
  }

  async #addVersion(version: Version): Promise<void> {
    const { page_id, action, slug, format, content, message } = version;
    const author = signatureOf(version, version.author_username);
    await this.#write(author, message, {
      id: page_id,
      slug,
      format,
      content: action === "deleted" ? undefined : content,
    });
  }

  /** Adds what the versions do not say, of pages that an operator has changed. */
  async #addRest(): Promise<void> {
    const ids = new Set<number>();
    this.#renamed = [];
    const select = "select id, slug, format, content, updated_at from wiki_pages w";
    for (let last = 0; ; ) {
      const after = [this.#projectId, last] as const;
      const pages = await rowsAfter<Page>(this.#store, select, "w", ...after);
      for (const page of pages) {
        ids.add(page.id);
        await this.#addCurrent(page);
        const slug = this.#files.get(page.id)?.slug ?? page.slug;
        if (slug !== page.slug) this.#renamed.push([page.id, slug]);
        last = page.id;
      }
      if (pages.length === 0) break;
    }
    for (const [id, { slug, format }] of [...this.#files]) {
      if (ids.has(id)) continue;
      const gone = { id, slug, format, content: undefined };
      await this.#write(NOBODY, `deleted page: ${titleOf(slug)}`, gone);
    }
  }

  async #addCurrent(page: Page): Promise<void> {
    const file = this.#files.get(page.id);
    const oid = oidOf(BLOB, Buffer.from(page.content)).toString("hex");
    if (file?.oid === oid && file.format === page.format && file.wanted === page.slug) return;
    const author = { ...NOBODY, time: Math.floor(page.updated_at / 1000) };
    await this.#write(author, `updated page: ${titleOf(page.slug)}`, page);
  }

  /** Adds a commit that gives a page its file, or takes it away. */
  async #write(
    author: Signature,
    message: string,
    page: {
      readonly id: number;
      readonly slug: string;
      readonly format: Format;
      readonly content: string | undefined;
    },
  ): Promise<void> {
    const { id, format, content } = page;
    const before = this.#files.get(id);
    this.#files.delete(id);
    if (before) this.#slugs.delete(before.slug);
    await this.history.commit(author, message, async (tree, add) => {
      if (before) await tree.remove(before.path);
      if (content === undefined) return;
      const entry = add(Buffer.from(content));
      const allowed = allowedSlug(page.slug);
      for (const slug of [allowed, `${allowed}~${id}`, `page~${id}`]) {
        const isTaken = this.#slugs.has(slug);
        const path = isTaken
          ? undefined
          : await placePage(tree, { slug, format }, entry, this.#folders);
        if (path === undefined) continue;
        this.#slugs.add(slug);
        this.#files.set(id, { slug, format, path, oid: entry.oid, wanted: page.slug });
        return;
      }
    });
  }
}

/** The authors of changes that no version names. */
const NOBODY: Signature = { name: "", email: "", time: 0, zone: 0 };

/** A slug without names that Git forbids, such as `.git`. */
const allowedSlug = (slug: string) =>
  slug
    .split("/")
    .map((part) => (isAllowed(part) ? part : `_${part}`))
    .join("/");

function signatureOf(
  by: { readonly name: string | null; readonly email: string | null; readonly created_at: number },
  username: string | null,
): Signature {
  const time = Math.floor(by.created_at / 1000);
  return { name: by.name ?? username ?? "", email: by.email ?? "", time, zone: 0 };
}

/** The conversions that a process is making, by store and project. */
const running = new WeakMap<Store, Map<number, Promise<void>>>();

/**
 * Makes a wiki a repository, if it is from before wikis were. Its versions and attachments become commits by their
 * authors and of their times; its pages stay what they are.
 *
 * @param now epoch milliseconds
 * @param signal ends the work, of which nothing is left then
 * @throws what the signal was aborted with
 */
export async function convert(
  store: Store,
  projectId: number,
  now: number,
  signal?: AbortSignal,
): Promise<void> {
  if (!(await isUnconverted(store, projectId))) return;
  const ours = running.get(store) ?? new Map<number, Promise<void>>();
  running.set(store, ours);
  const known = ours.get(projectId);
  if (known) return known;
  const work = convertNow(store, projectId, now, signal).finally(() => ours.delete(projectId));
  ours.set(projectId, work);
  return work;
}

async function convertNow(
  store: Store,
  projectId: number,
  now: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const conversion = new Conversion(store, projectId, now, signal);
  try {
    for (;;) {
      await conversion.goOn();
      const outcome = await store.transaction(
        async (db) => {
          db.lock(projectId);
          // Another process may have been faster.
          if (!(await isUnconverted(db, projectId))) return "unneeded";
          if (!(await conversion.isComplete(db))) return "incomplete";
          await conversion.apply(db);
          return "done";
        },
        { shared: true },
      );
      if (outcome === "done") return;
      if (outcome === "unneeded") break;
    }
    await conversion.history.discard();
  } catch (error) {
    await conversion.history.discard();
    throw error;
  }
}

/** Deletes, in batches, what a converted wiki does not need any more. */
async function removeOld(store: Store, projectId: number, signal: AbortSignal): Promise<void> {
  const batchOf = (table: string, condition: string) =>
    `delete from ${table} where id in (select id from ${table} where project_id = ? and ${condition} limit ?)`;
  const large = `blob_id in (select id from wiki_blobs where size > ${LIMITS.objectBytes})`;
  for (const sql of [
    batchOf("wiki_page_versions", "1 = 1"),
    batchOf("wiki_attachments", `not ${large}`),
    batchOf("wiki_blobs", `sha256 is not null and size <= ${LIMITS.objectBytes}`),
  ]) {
    await inBatches(store, (db, batch) => db.run(sql, [projectId, batch]), { signal });
  }
}

/** Starts the worker that makes wikis from before repositories. */
export function startConverter(settings: Working): Promise<Worker> {
  const { store, now } = settings;
  return startWorker({
    ...settings,
    name: CONVERTER,
    announced: false,
    interval: 1000,
    lanes: 1,
    grace: 0,
    work: async ({ payload }, signal) => {
      const { project } = JSON.parse(payload) as { project: number };
      try {
        await convert(store, project, now(), signal);
        await removeOld(store, project, signal);
        return { done: true };
      } catch (error) {
        if (signal.aborted) return "interrupted";
        throw error;
      }
    },
  });
}
