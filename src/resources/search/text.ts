import { isRegular } from "../../git/changes.ts";
import { FOLDER } from "../../git/objects.ts";
import type { Repository } from "../../git/repository.ts";
import { entriesOf } from "../../git/trees.ts";
import type { Pace } from "../../turns/pace.ts";

/** Larger files are left out. */
const MAX_FILE_BYTES = 512 * 1024;

/** What a search may still look at, in all of its repositories together. What it would find beyond is left out. */
export interface Budget {
  /** Entries of folders. */
  entries: number;
  /** Bytes of files. */
  bytes: number;
  commits: number;
}

/** What a search of one project looks at, at most. */
export const OF_PROJECT: Readonly<Budget> = {
  entries: 20_000,
  bytes: 8 * 1024 * 1024,
  commits: 5000,
};

/** What a search of several projects looks at, at most. */
export const OF_MANY: Readonly<Budget> = { ...OF_PROJECT, entries: 100_000 };

/** Lines that are shown before and after one with the text. */
const AROUND = 2;
/** The most characters of a part of a file. */
const MAX_SHOWN = 4000;

/** A part of a file with lines that have the text. */
export interface Match {
  readonly path: string;
  /** From 1. */
  readonly startline: number;
  readonly data: string;
}

/** A file to look at. */
export interface SearchedFile {
  readonly path: string;
  /** Its content's name, in hex. */
  readonly oid: string;
}

/** The files of a tree, folder by folder, as many as a search looks at. */
export async function* filesBelow(
  repository: Repository,
  tree: number,
  budget: Budget,
): AsyncGenerator<SearchedFile> {
  const open = [{ tree, path: "" }];
  for (let folder = open.pop(); folder; folder = open.pop()) {
    const below: typeof open = [];
    for (const { mode, name, oid } of await entriesOf(repository, folder.tree)) {
      if (budget.entries === 0) return;
      budget.entries -= 1;
      const path = folder.path + name;
      if (mode === FOLDER) below.push({ tree: repository.findHex(oid), path: `${path}/` });
      else if (isRegular(mode)) yield { path, oid };
    }
    open.push(...below.reverse());
  }
}

/** What is searched for in files. */
export interface Wanted {
  /** In lower case; empty for any content. */
  readonly text: string;
  /** Whether a file with this path, in lower case, is meant. */
  readonly isMeant: (path: string) => boolean;
}

const FILTER = /^(-?)(filename|path|extension):(.+)$/;

/** Reads what is searched for: a text, and filters such as `filename:*.ts`, `path:src/` and `-extension:md`. */
export function wantedIn(search: string): Wanted {
  const words = search.toLowerCase().split(" ");
  const filters = words.flatMap((word) => {
    const [, not, kind, value] = FILTER.exec(word) ?? [];
    if (kind === undefined || value === undefined) return [];
    const parts = (kind === "extension" ? `.${value}` : value).split("*");
    const hasIt = (path: string) => hasParts(path, parts, kind !== "path");
    return [not ? (path: string) => !hasIt(path) : hasIt];
  });
  const rest = filters.length > 0 ? words.filter((word) => !FILTER.test(word)) : words;
  return {
    text: rest.join(" ").trim(),
    isMeant: (path) => filters.every((isMeant) => isMeant(path)),
  };
}

/** Whether a path has some parts, one after another. @param atEnd whether the last one must be its end */
function hasParts(path: string, parts: readonly string[], atEnd: boolean): boolean {
  const last = atEnd ? (parts.at(-1) as string) : "";
  if (!path.endsWith(last)) return false;
  const end = path.length - last.length;
  let at = 0;
  for (const part of atEnd ? parts.slice(0, -1) : parts) {
    const found = path.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/**
 * Looks for a text in files and their paths, whatever its case.
 *
 * @param most how many matches are looked for
 * @returns the matches, and whether there may be more
 */
export async function matchesIn(
  repository: Repository,
  files: AsyncIterable<SearchedFile>,
  { text: wanted, isMeant }: Wanted,
  budget: Budget,
  most: number,
  pace: Pace,
): Promise<{ matches: Match[]; isCut: boolean }> {
  const matches: Match[] = [];
  for await (const { path, oid } of files) {
    if (matches.length >= most || budget.bytes <= 0) return { matches, isCut: true };
    if (pace.isDue) await pace.pause();
    budget.bytes -= path.length;
    if (!isMeant(path.toLowerCase())) continue;
    const blob = repository.findHex(oid);
    const isReadable =
      wanted !== "" &&
      blob >= 0 &&
      repository.sizeOf(blob) <= Math.min(budget.bytes, MAX_FILE_BYTES);
    const data = isReadable ? (await repository.read(blob)).data : Buffer.alloc(0);
    budget.bytes -= data.length;
    const isText = !data.subarray(0, 8000).includes(0);
    const found = isText && data.length > 0 ? partsWith(path, data.toString("utf8"), wanted) : [];
    if (found.length > 0) matches.push(...found);
    else if (path.toLowerCase().includes(wanted)) matches.push({ path, startline: 1, data: "" });
  }
  return { matches, isCut: budget.entries === 0 };
}

/** The parts of a content around lines with a text. @param wanted in lower case */
function partsWith(path: string, content: string, wanted: string): Match[] {
  if (!content.toLowerCase().includes(wanted)) return [];
  const lines = content.split("\n");
  const hits = lines.flatMap((line, at) => (line.toLowerCase().includes(wanted) ? [at] : []));
  const parts: Match[] = [];
  for (let index = 0; index < hits.length; index += 1) {
    const first = Math.max((hits[index] as number) - AROUND, 0);
    let end = (hits[index] as number) + AROUND + 1;
    while (index + 1 < hits.length && (hits[index + 1] as number) - AROUND <= end) {
      index += 1;
      end = (hits[index] as number) + AROUND + 1;
    }
    const shown = lines.slice(first, end).join("\n").slice(0, MAX_SHOWN);
    parts.push({ path, startline: first + 1, data: `${shown}\n` });
  }
  return parts;
}
