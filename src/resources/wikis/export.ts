import { isoInstant } from "../../core/time.ts";
import type { Reader } from "../../store/port.ts";
import { bytesOf, type Format } from "./queries.ts";

/** One file of an exported wiki. */
export interface WikiFile {
  /**
   * The path below the export's folder, with `/` between names. No name is `.`, `..` or empty, or has characters that
   * Windows, macOS or Linux refuse; paths are unique ignoring case.
   */
  path: string;
  /** The content, a piece at a time. */
  bytes: AsyncIterable<Uint8Array>;
}

const EXTENSIONS: Readonly<Record<Format, string>> = {
  markdown: ".md",
  rdoc: ".rdoc",
  asciidoc: ".asciidoc",
};

const encoder = new TextEncoder();

/** A project's wiki as files. Changes during the export may be included or not. */
export async function* exportWiki(db: Reader, projectId: number): AsyncGenerator<WikiFile> {
  const taken = new Paths();
  for await (const page of rowsOf<{ id: number; slug: string; format: Format; content: string }>(
    db,
    "select id, slug, format, content from wiki_pages",
    projectId,
  )) {
    const path = taken.free(page.slug, EXTENSIONS[page.format]);
    yield { path, bytes: once(page.content) };
  }
  for await (const file of rowsOf<{
    id: number;
    blob_id: number;
    secret: string;
    file_name: string;
  }>(db, "select id, blob_id, secret, file_name from wiki_attachments", projectId)) {
    const path = taken.free(`uploads/${file.secret}/${file.file_name}`, "");
    yield { path, bytes: bytesOfBlob(db, file.blob_id) };
  }
  yield { path: taken.free("history", ".jsonl"), bytes: historyOf(db, projectId) };
}

const BATCH_SIZE = 20;

/** All rows of a project by id, read in batches. */
async function* rowsOf<Row extends { id: number }>(
  db: Reader,
  select: string,
  projectId: number,
): AsyncGenerator<Row> {
  for (let after = 0; ; ) {
    const rows = await db.all<Row>(
      `${select} where project_id = ? and id > ? order by id limit ?`,
      [projectId, after, BATCH_SIZE],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield encoder.encode(text);
}

async function* bytesOfBlob(db: Reader, id: number): AsyncGenerator<Uint8Array> {
  const [found] = await db.rows("select size from wiki_blobs where id = ?", [id]);
  if (found) yield* bytesOf(db, { id, size: found[0] as number });
}

/** Every version, oldest first, as a line of JSON. */
async function* historyOf(db: Reader, projectId: number): AsyncGenerator<Uint8Array> {
  const versions = rowsOf<{ id: number; created_at: number }>(
    db,
    `select id, page_id, action, author_username as author, message, created_at, slug, title,
       format, content from wiki_page_versions`,
    projectId,
  );
  for await (const { id, ...version } of versions) {
    const line = { ...version, created_at: isoInstant(version.created_at) };
    yield encoder.encode(`${JSON.stringify(line)}\n`);
  }
}

/** Assigns paths that are safe to write to. */
class Paths {
  readonly #taken = new Set<string>();

  /** An unused path similar to the wanted one. */
  free(wanted: string, extension: string): string {
    const names = wanted.split("/");
    const name = safeName(names.pop() ?? "");
    const folder = names.map((one) => `${safeFolder(one)}/`).join("");
    for (let count = 1; ; count += 1) {
      const path = `${folder}${count === 1 ? name : `${name}~${count}`}${extension}`;
      const key = path.normalize("NFC").toLowerCase();
      if (this.#taken.has(key)) continue;
      this.#taken.add(key);
      return path;
    }
  }
}

const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
/** The maximum length of a name in bytes. File systems allow 255; an extension and a number may follow. */
const MAX_NAME_BYTES = 240;

function safeName(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  let safe = name.replace(/[\x00-\x1f\x7f-\x9f<>:"\\|?*\u2028\u2029]/g, "_");
  while (encoder.encode(safe).length > MAX_NAME_BYTES) safe = [...safe].slice(0, -1).join("");
  safe = safe.replace(/^\.|[. ]$/g, "_");
  return safe === "" || RESERVED.test(safe) ? `_${safe}` : safe;
}

/** Folders never have the name of a page's file: the page `a` and the folder of the page `a.md/b` can coexist. */
function safeFolder(name: string): string {
  const safe = safeName(name);
  return /\.(md|rdoc|asciidoc|jsonl)$/i.test(safe) ? `${safe}_` : safe;
}
