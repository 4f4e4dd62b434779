import { compareTrees, isRegular, textOf } from "../../git/changes.ts";
import { StoredObjects } from "../../git/contents.ts";
import { eachEntry, FOLDER } from "../../git/objects.ts";
import { OID_BYTES } from "../../git/oid-table.ts";
import type { Repository } from "../../git/repository.ts";
import { entryAt, partsOf } from "../../git/trees.ts";
import type { Placed, WorkTree } from "../../git/work-tree.ts";
import { Pace } from "../../turns/pace.ts";
import { directoryOf, ENDINGS, type Format, MAX_PAGE_BYTES, pageNameOf } from "./rules.ts";

/** A page, as a tree of a wiki's repository has it. */
export interface PageFile {
  readonly slug: string;
  readonly path: string;
  readonly format: Format;
  /** Its content's name, in hex. */
  readonly oid: string;
}

/** A folder of a tree: its pages by slug, and the folders in it. */
interface Folder {
  /** The files that could be each page. */
  readonly pages: ReadonlyMap<string, readonly RankedFile[]>;
  readonly folders: readonly string[];
}

interface RankedFile extends PageFile {
  readonly rank: number;
}

const NO_FOLDER: Folder = { pages: new Map(), folders: [] };

/** The pages of a commit. What they are follows from its files alone. Folders are read when they are looked into. */
export class PageTree {
  readonly #repository: Repository;
  readonly #root: number;
  readonly #known = new Map<string, Promise<Folder>>();

  /** @param tree its name in hex; without one there are no pages */
  constructor(repository: Repository, tree: string | undefined) {
    this.#repository = repository;
    this.#root = tree === undefined ? -1 : repository.findHex(tree);
  }

  /** The page with a slug. */
  async find(slug: string): Promise<PageFile | undefined> {
    const { pages } = await this.#folder(directoryOf(slug));
    return this.#pageOf(pages.get(slug) ?? []);
  }

  /** All pages, folder by folder. */
  async *all(): AsyncGenerator<PageFile> {
    const open = [""];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      const { pages, folders } = await this.#read(path);
      for (const files of pages.values()) {
        const page = this.#pageOf(files);
        if (page) yield page;
      }
      open.push(...folders);
    }
  }

  /** The one of several files that is the page, unless all are too large. */
  #pageOf(files: readonly RankedFile[]): PageFile | undefined {
    const repository = this.#repository;
    const possible = files.filter(
      ({ oid }) => repository.sizeOf(repository.findHex(oid)) <= MAX_PAGE_BYTES,
    );
    return possible.sort((a, b) => a.rank - b.rank || (a.path < b.path ? 1 : -1))[0];
  }

  #folder(path: string): Promise<Folder> {
    const known = this.#known.get(path) ?? this.#read(path);
    this.#known.set(path, known);
    return known;
  }

  async #read(path: string): Promise<Folder> {
    const repository = this.#repository;
    if (this.#root < 0) return NO_FOLDER;
    const entry = path === "" ? undefined : await entryAt(repository, this.#root, path);
    // A slug with slashes at an end names no page, although a path with them names a folder.
    const isFolder = entry?.mode === FOLDER && partsOf(path).join("/") === path;
    if (path !== "" && !isFolder) return NO_FOLDER;
    const { data } = await repository.read(entry ? repository.findHex(entry.oid) : this.#root);
    const pages = new Map<string, RankedFile[]>();
    const folders: string[] = [];
    eachEntry(data, (mode, from, to, at) => {
      const name = data.toString("utf8", from, to);
      // No address leads to a name that is not UTF-8.
      if (name.includes("\ufffd") && !Buffer.from(name).equals(data.subarray(from, to))) return;
      const place = path === "" ? name : `${path}/${name}`;
      if (mode === FOLDER) folders.push(place);
      const named = isRegular(mode) ? pageNameOf(place) : undefined;
      if (!named) return;
      const oid = data.toString("hex", at, at + OID_BYTES);
      const file = { ...named, path: place, oid };
      const others = pages.get(named.slug);
      if (others) others.push(file);
      else pages.set(named.slug, [file]);
    });
    return { pages, folders };
  }
}

/** The text of a page. PostgreSQL has no NUL in texts. */
export async function textOfPage(repository: Repository, { oid }: PageFile): Promise<string> {
  const { data } = await repository.read(repository.findHex(oid));
  return data.toString("utf8").replaceAll("\0", "\ufffd");
}

/** A page that differs between two commits; without a `before` it is new, without an `after` it is gone. */
export interface PageChange {
  /** Has another slug if the page was renamed. */
  readonly before: PageFile | undefined;
  readonly after: PageFile | undefined;
}

/** Files that may differ between two commits of which the pages are to be compared. */
const MOST_FILES = 50_000;
/** Pages that one transaction brings up to date, and the bytes of their texts. */
const MOST_PAGES = 5000;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Finds the pages that differ between two trees.
 *
 * @param from the name of a tree in hex; `undefined` for an empty one
 * @param to likewise
 * @param renamed the slugs of a page that is known to be renamed: the old one, and the new one. A page that is gone is
 *   also taken for renamed if a new one has the same content
 * @returns `undefined` if there are too many
 */
export async function comparePages(
  repository: Repository,
  from: string | undefined,
  to: string | undefined,
  renamed?: readonly [string, string],
): Promise<PageChange[] | undefined> {
  const { list, isCut } = await compareTrees(new StoredObjects(repository), from, to, MOST_FILES);
  if (isCut) return undefined;
  const slugs = new Set<string>();
  for (const file of list.flatMap((change) => [change.from, change.to])) {
    const slug = file && pageNameOf(textOf(file.path))?.slug;
    if (slug !== undefined) slugs.add(slug);
  }
  if (slugs.size > MOST_PAGES) return undefined;
  const [old, next] = [new PageTree(repository, from), new PageTree(repository, to)];
  const pace = new Pace();
  const changes: PageChange[] = [];
  let bytes = 0;
  for (const slug of slugs) {
    const [before, after] = [await old.find(slug), await next.find(slug)];
    const isSame = before?.oid === after?.oid && before?.format === after?.format;
    if (!isSame) changes.push({ before, after });
    if (after && !isSame) bytes += repository.sizeOf(repository.findHex(after.oid));
    if (pace.isDue) await pace.pause();
  }
  return bytes > MOST_BYTES ? undefined : withRenames(changes, renamed);
}

/** Joins pages that are gone with the new ones that they have become. */
function withRenames(
  changes: readonly PageChange[],
  renamed: readonly [string, string] | undefined,
): PageChange[] {
  const keyOf = ({ slug, oid }: PageFile, at: 0 | 1) => (renamed?.[at] === slug ? "" : oid);
  const gone = new Map<string, PageFile[]>();
  for (const { before, after } of changes) {
    if (!before || after) continue;
    const key = keyOf(before, 0);
    gone.set(key, [...(gone.get(key) ?? []), before]);
  }
  const joined: PageChange[] = [];
  for (const { before, after } of changes) {
    if (after) joined.push({ before: before ?? gone.get(keyOf(after, 1))?.shift(), after });
  }
  const left = [...gone.values()].flat().map((before) => ({ before, after: undefined }));
  return [...left, ...joined];
}

/**
 * Puts the file of a page where there is nothing, with the first ending that is free: a folder may have the name, too.
 *
 * @param taken paths that it must not get
 * @returns its path; `undefined` if there is no room for it
 */
export async function placePage(
  tree: WorkTree,
  { slug, format }: { readonly slug: string; readonly format: Format },
  entry: Placed,
  taken?: ReadonlySet<string>,
): Promise<string | undefined> {
  for (const ending of ENDINGS[format]) {
    const path = `${slug}.${ending}`;
    if (!taken?.has(path) && !(await tree.find(path)) && (await tree.set(path, entry))) return path;
  }
  return undefined;
}
