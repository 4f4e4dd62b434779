import { STEPS, type Steps } from "../turns/pace.ts";
import { baseName, type FileChange, type FileEntry, isRegular } from "./changes.ts";
import type { Objects } from "./contents.ts";
import { isBinary } from "./lines.ts";

/** Pairs of a deleted and an added file that are compared at most, as Git's `diff.renameLimit` of 1000 has it. */
const MOST_PAIRS = 1_000_000;
/** What is read at most to find similar files, in bytes. */
const MOST_READ = 32 * 1024 * 1024;
/** Chunks that are compared at most: about a second. */
const MOST_CHUNKS = 300_000_000;
/** How similar files must be, from 0 to {@link SAME}: half as a rule, three quarters if only the folder is another. */
const SAME = 60_000;
const SIMILAR = SAME / 2;
const VERY_SIMILAR = (SAME * 3) / 4;
/** How many deleted files are kept in mind for an added one. */
const CANDIDATES = 4;
/** How many deleted files of the same content are looked at. */
const ALTERNATIVES = 100;
/** The longest chunk, in bytes. */
const CHUNK = 64;

/** An added file, and the deleted file that it was. */
interface Added {
  readonly entry: FileEntry;
  was: Deleted | undefined;
}

interface Deleted {
  readonly entry: FileEntry;
  isUsed: boolean;
}

/** How similar a deleted and an added file are. */
interface Match {
  readonly added: Added;
  readonly deleted: Deleted;
  readonly score: number;
  readonly hasSameName: boolean;
}

/** What makes a rename. */
export interface RenameRules {
  /** Whether empty files can be renamed. */
  readonly allowEmpty: boolean;
  /** Which deleted files are looked for where the content is not the same; by default all. */
  readonly isRelevant?: (deleted: FileEntry) => boolean;
  /** The only path that may be a new name, if there is only one. */
  readonly only?: string;
}

/** The name of the empty file. */
const EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/**
 * Makes deleted and added files that are similar renamed ones, as `git diff -M` does: those of the same content, then
 * those of a name that only one deleted and one added file has, then the most similar ones.
 *
 * @param changes by path
 * @returns the changes by path: renamed files by their new one
 */
export async function withRenames(
  objects: Objects,
  changes: readonly FileChange[],
  { allowEmpty, isRelevant = () => true, only }: RenameRules,
): Promise<FileChange[]> {
  const added: Added[] = [];
  const deleted: Deleted[] = [];
  for (const { from, to } of changes) {
    if (from && !to) deleted.push({ entry: from, isUsed: false });
    if (!to || from || (only !== undefined && to.path !== only)) continue;
    if (allowEmpty || to.oid !== EMPTY) added.push({ entry: to, was: undefined });
  }
  if (added.length > 0 && deleted.length > 0) {
    findEqual(added, deleted);
    await findSimilar(
      objects,
      added,
      deleted.filter(({ entry, isUsed }) => !isUsed && isRelevant(entry)),
    );
  }
  const origins = new Map(added.map(({ entry, was }) => [entry.path, was?.entry]));
  const used = new Set(deleted.filter(({ isUsed }) => isUsed).map(({ entry }) => entry.path));
  return changes
    .filter(({ from, to }) => !from || to || !used.has(from.path))
    .map((change) => {
      const from = change.to && !change.from ? origins.get(change.to.path) : change.from;
      return { from, to: change.to };
    });
}

/** How similar the file is that a renamed one was, in percent, as `git diff -M` says it. */
export async function similarityOf(
  objects: Objects,
  from: FileEntry,
  to: FileEntry,
): Promise<number> {
  if (from.oid === to.oid) return 100;
  return Math.floor((100 * (await new Similarity(objects).of(from, to))) / SAME);
}

const haveSameName = (a: FileEntry, b: FileEntry) => baseName(a.path) === baseName(b.path);

function use(added: Added, deleted: Deleted): void {
  added.was = deleted;
  deleted.isUsed = true;
}

/** Finds files of the same content, at best of the same name. */
function findEqual(added: readonly Added[], deleted: readonly Deleted[]): void {
  const byContent = groupedBy(deleted, ({ entry }) => entry.oid);
  for (const file of added) {
    const candidates = byContent.get(file.entry.oid) ?? [];
    let best = -1;
    let alternatives = 0;
    for (const [at, { entry }] of candidates.entries()) {
      if (!areAlike(entry, file.entry)) continue;
      const isBest = haveSameName(entry, file.entry);
      if (best < 0 || isBest) best = at;
      alternatives += 1;
      if (isBest || alternatives === ALTERNATIVES) break;
    }
    for (const found of best < 0 ? [] : candidates.splice(best, 1)) use(file, found);
  }
}

function groupedBy<T>(values: Iterable<T>, keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group) group.push(value);
    else groups.set(keyOf(value), [value]);
  }
  return groups;
}

/** Whether one file may be the other, by their modes. */
const areAlike = (a: FileEntry, b: FileEntry) =>
  (isRegular(a.mode) && isRegular(b.mode)) || a.mode === b.mode;

async function findSimilar(
  objects: Objects,
  added: readonly Added[],
  deleted: readonly Deleted[],
): Promise<void> {
  const comparison = new Similarity(objects);
  if (!comparison.canRead([...added.filter(({ was }) => !was), ...deleted])) return;
  await findByName(comparison, added, deleted);
  const open = added.filter(({ was }) => !was);
  const left = deleted.filter(({ isUsed }) => !isUsed);
  if (open.length * left.length > MOST_PAIRS) return;
  const matches: Match[] = [];
  for (const file of open) {
    const best: Match[] = [];
    for (const candidate of left) {
      const score = await comparison.of(candidate.entry, file.entry);
      const hasSameName = haveSameName(candidate.entry, file.entry);
      keepBest(best, { added: file, deleted: candidate, score, hasSameName });
    }
    if (comparison.isExhausted) return;
    matches.push(...best);
  }
  for (const { added, deleted, score } of matches.sort(order)) {
    if (score >= SIMILAR && !added.was && !deleted.isUsed) use(added, deleted);
  }
}

/** Finds similar files of a name that only one deleted and one added file has. */
async function findByName(
  comparison: Similarity,
  added: readonly Added[],
  deleted: readonly Deleted[],
): Promise<void> {
  const nameOf = ({ entry }: { entry: FileEntry }) => baseName(entry.path);
  const newNames = groupedBy(
    added.filter(({ was }) => !was),
    nameOf,
  );
  for (const [name, [file, ...others]] of groupedBy(deleted, nameOf)) {
    const [match, ...further] = newNames.get(name) ?? [];
    if (!file || !match || others.length > 0 || further.length > 0) continue;
    if ((await comparison.of(file.entry, match.entry)) >= VERY_SIMILAR) use(match, file);
  }
}

/** The best match first. */
const order = (a: Match, b: Match) =>
  b.score - a.score || Number(b.hasSameName) - Number(a.hasSameName);

/** Keeps a match if it is one of the best. */
function keepBest(best: Match[], match: Match): void {
  if (best.length < CANDIDATES) {
    best.push(match);
    return;
  }
  let worst = 0;
  for (const [at, one] of best.entries()) {
    if (order(one, best[worst] as Match) > 0) worst = at;
  }
  if (order(best[worst] as Match, match) > 0) best[worst] = match;
}

/** The chunks that a file consists of, as numbers in order, and how many bytes all of each are. */
interface Chunks {
  readonly numbers: Uint32Array;
  readonly bytes: Uint32Array;
}

/** Compares contents of files. */
class Similarity {
  readonly #objects: Objects;
  readonly #numbers = new Map<string, number>();
  readonly #files = new Map<string, Chunks>();
  #compared = 0;

  constructor(objects: Objects) {
    this.#objects = objects;
  }

  /** Whether the comparison took too long. */
  get isExhausted(): boolean {
    return this.#compared > MOST_CHUNKS;
  }

  /** Whether files are small enough together. */
  canRead(files: readonly { readonly entry: FileEntry }[]): boolean {
    let bytes = 0;
    for (const { entry } of files) if (isRegular(entry.mode)) bytes += this.#sizeOf(entry);
    return bytes <= MOST_READ;
  }

  /** How much of the larger file the other has, too, from 0 to {@link SAME}. */
  async of(from: FileEntry, to: FileEntry): Promise<number> {
    if (!isRegular(from.mode) || !isRegular(to.mode)) return 0;
    const sizes = [this.#sizeOf(from), this.#sizeOf(to)];
    const [larger, smaller] = [Math.max(...sizes), Math.min(...sizes)];
    if (larger === 0 || larger * (SAME - SIMILAR) < (larger - smaller) * SAME) return 0;
    if (this.isExhausted) return 0;
    const { budget } = this.#objects;
    const a = await this.#chunksOf(from);
    const b = await this.#chunksOf(to);
    if (budget.isDue) await budget.pause();
    this.#compared += a.numbers.length + b.numbers.length;
    let common = 0;
    for (let at = 0, other = 0; at < a.numbers.length && other < b.numbers.length; ) {
      const difference = (a.numbers[at] as number) - (b.numbers[other] as number);
      if (difference === 0) common += Math.min(a.bytes[at] as number, b.bytes[other] as number);
      if (difference <= 0) at += 1;
      if (difference >= 0) other += 1;
    }
    return Math.floor((common * SAME) / larger);
  }

  #sizeOf({ oid }: FileEntry): number {
    return this.#objects.sizeOf(oid);
  }

  async #chunksOf({ oid }: FileEntry): Promise<Chunks> {
    const known = this.#files.get(oid);
    if (known) return known;
    const { data } = await this.#objects.read(oid);
    const counts = await this.#objects.budget.take(this.#count(data));
    const numbers = Uint32Array.from(counts.keys()).sort();
    const bytes = numbers.map((number) => counts.get(number) as number);
    const chunks = { numbers, bytes };
    this.#files.set(oid, chunks);
    return chunks;
  }

  *#count(data: Buffer): Steps<Map<number, number>> {
    const counts = new Map<number, number>();
    let steps = 0;
    for (const chunk of chunksOf(data)) {
      const number = this.#numbers.get(chunk) ?? this.#numbers.size;
      this.#numbers.set(chunk, number);
      counts.set(number, (counts.get(number) ?? 0) + chunk.length);
      steps += 1;
      if (steps % STEPS === 0) yield STEPS;
    }
    return counts;
  }
}

/** The lines of a file, cut where they are longer than a chunk. How they end does not matter in text. */
function* chunksOf(file: Buffer): Generator<string> {
  const content = file.toString("latin1");
  const text = isBinary(file) ? content : content.replaceAll("\r\n", "\n");
  for (let at = 0; at < text.length; ) {
    const line = text.indexOf("\n", at) + 1 || text.length;
    const end = Math.min(line, at + CHUNK);
    yield text.slice(at, end);
    at = end;
  }
}
