import { Budget } from "../turns/budget.ts";
import type { FileChange, FileEntry } from "./changes.ts";
import { StoredObjects } from "./contents.ts";
import { compareFiles, hunksOf } from "./patches.ts";
import { similarityOf } from "./renames.ts";
import type { Repository } from "./repository.ts";

/** About how many bytes are sent at once. */
const PIECE = 64 * 1024;
/** The name of the content of what does not exist. */
const NONE = "0".repeat(40);

/**
 * Changes of files in the format of `git diff --full-index`, which `git apply` reads, piece by piece: memory holds the
 * two contents of one file. Files that are too large to compare are shown like binary ones.
 *
 * @param changes as they are shown
 * @param signal ends the work
 */
export async function* rawDiff(
  repository: Repository,
  changes: readonly FileChange[],
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const budget = new Budget(signal);
  const objects = new StoredObjects(repository, budget);
  let held = "";
  for (const change of changes) {
    held += await headOf(objects, change);
    const difference = await compareFiles(objects, change);
    const [from, to] = [nameOf("a", change.from), nameOf("b", change.to)];
    if (typeof difference === "string") held += `Binary files ${from} and ${to} differ\n`;
    else {
      if (difference.changes.length > 0) held += `--- ${ended(from)}\n+++ ${ended(to)}\n`;
      for (const part of hunksOf(difference)) {
        held += part;
        if (held.length < PIECE) continue;
        yield Buffer.from(held, "latin1");
        held = "";
        if (budget.isDue) await budget.pause();
      }
    }
    if (budget.isDue) await budget.pause();
  }
  if (held) yield Buffer.from(held, "latin1");
}

/** The lines that say what happens to a file as a whole. */
async function headOf(objects: StoredObjects, { from, to }: FileChange): Promise<string> {
  const [old, next] = [from ?? to, to ?? from] as [FileEntry, FileEntry];
  const lines = [`diff --git ${quoted(`a/${old.path}`)} ${quoted(`b/${next.path}`)}`];
  if (!from) lines.push(`new file mode ${modeOf(next)}`);
  else if (!to) lines.push(`deleted file mode ${modeOf(old)}`);
  else if (from.mode !== to.mode) lines.push(`old mode ${modeOf(from)}`, `new mode ${modeOf(to)}`);
  if (old.path !== next.path) {
    lines.push(`similarity index ${await similarityOf(objects, old, next)}%`);
    lines.push(`rename from ${quoted(old.path)}`, `rename to ${quoted(next.path)}`);
  }
  if (from?.oid !== to?.oid) {
    const mode = from && from.mode === to?.mode ? ` ${modeOf(from)}` : "";
    lines.push(`index ${from?.oid ?? NONE}..${to?.oid ?? NONE}${mode}`);
  }
  return `${lines.join("\n")}\n`;
}

const modeOf = ({ mode }: FileEntry) => mode.toString(8).padStart(6, "0");

const nameOf = (side: string, entry: FileEntry | undefined) =>
  entry ? quoted(`${side}/${entry.path}`) : "/dev/null";

/** A name at the end of a line: a tab shows where one with spaces ends. */
const ended = (name: string) => (name.includes(" ") ? `${name}\t` : name);

/** Escapes that C has for bytes. */
const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  '"': '"',
  "\\": "\\",
};

/** A path as Git writes it: in quotes, as in C, if it has other bytes than printable ASCII, quotes or backslashes. */
function quoted(path: string): string {
  const escaped = path.replace(
    /[^\x20-\x7e]|["\\]/g,
    (byte) => `\\${ESCAPES[byte] ?? byte.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return escaped === path ? path : `"${escaped}"`;
}
