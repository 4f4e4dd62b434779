import { isRegular, textOf } from "../../git/changes.ts";
import { filesOf, gitFiles } from "../../git/clone.ts";
import { StoredObjects } from "../../git/contents.ts";
import type { Store } from "../../store/port.ts";
import { openRecord } from "../repositories/open.ts";
import { findWiki, tipOf } from "./open.ts";

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

/**
 * A project's wiki as a clone of its repository: the files of the default branch, and Git's own below `.git`. A wiki
 * without any commit has none.
 *
 * @param now epoch milliseconds
 */
export async function* exportWiki(
  store: Store,
  projectId: number,
  now: number,
): AsyncGenerator<WikiFile> {
  const { row, refs } = await findWiki(store, projectId, now);
  const repository = await openRecord(store, row);
  // Somebody may have pushed in between.
  const list = refs.list.filter(({ oid }) => repository.findHex(oid) >= 0);
  if (list.length === 0) return;
  const main = list.find(({ name }) => name === refs.head);
  const tree = main && tipOf(repository, main.oid).tree;
  yield* gitFiles(repository, { ...refs, list }, tree);
  const taken = new Paths();
  for await (const { path, mode, oid } of filesOf(new StoredObjects(repository), tree)) {
    if (!isRegular(mode)) continue;
    const bytes = repository.stream(repository.findHex(oid));
    yield { path: taken.free(textOf(path)), bytes };
  }
}

/** Assigns paths that are safe to write to. Where they differ only in case, later ones are changed. */
class Paths {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  /** The number that a path gets next, if it is taken. */
  readonly #numbers = new Map<string, number>();

  /** An unused path similar to the wanted one, with its extension. */
  free(wanted: string): string {
    const names = wanted.split("/");
    const last = names.pop() as string;
    let folder = "";
    for (const name of names) {
      folder += safeName(name);
      while (this.#files.has(keyOf(folder))) folder += "_";
      this.#folders.add(keyOf(folder));
      folder += "/";
    }
    const extension = EXTENSION.exec(last)?.[0] ?? "";
    const stem = folder + safeName(last.slice(0, last.length - extension.length));
    const first = keyOf(stem + extension);
    let path = stem + extension;
    for (let number = this.#numbers.get(first) ?? 2; this.#isTaken(path); number += 1) {
      path = `${stem}~${number}${extension}`;
      this.#numbers.set(first, number + 1);
    }
    this.#files.add(keyOf(path));
    return path;
  }

  #isTaken(path: string): boolean {
    return this.#files.has(keyOf(path)) || this.#folders.has(keyOf(path));
  }
}

const keyOf = (path: string) => path.normalize("NFC").toLowerCase();

const EXTENSION = /\.[a-z0-9]{1,8}$/i;
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
/** The maximum length of a name in bytes. File systems allow 255; an extension and a number may follow. */
const MAX_NAME_BYTES = 220;

function safeName(name: string): string {
  const most = name.slice(0, MAX_NAME_BYTES);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  let safe = most.replace(/[\x00-\x1f\x7f-\x9f<>:"\\|?*\u2028\u2029]/g, "_");
  while (Buffer.byteLength(safe) > MAX_NAME_BYTES) safe = [...safe].slice(0, -1).join("");
  safe = safe.replace(/^\.|[. ]$/g, "_");
  return safe === "" || RESERVED.test(safe) ? `_${safe}` : safe;
}
