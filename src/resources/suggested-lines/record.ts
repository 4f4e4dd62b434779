import { MAX_MARKDOWN } from "../../core/markdown.ts";
import { linksOf } from "../../git/objects.ts";
import { Packs } from "../../git/packs.ts";
import { findRow, load, type Repository } from "../../git/repository.ts";
import { entryAt } from "../../git/trees.ts";
import { isFile } from "../../git/work-tree.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database } from "../../store/port.ts";
import { contentOf, linesOf } from "./lines.ts";

/** A block of a text that suggests other lines. */
interface Block {
  /** How many lines before that of its note it is about, and how many after it. */
  readonly above: number;
  readonly below: number;
  readonly content: string;
}

/** The most lines before and after that of a note, as in GitLab. */
export const MOST_LINES = 100;
/** The most suggestions in a text. */
export const MOST = 100;
/** Of larger files no lines are suggested, in bytes. */
const MAX_FILE = 1024 * 1024;
/** How much one note may be about, with all its suggestions, in characters: every answer with the note repeats it. */
const MAX_CONTENT = 64 * 1024;

const INFO = /^suggestion(?::-(\d{1,3})\+(\d{1,3}))?$/;

/** The blocks of a text that suggest other lines. Longer texts than those that are rendered have none. */
async function blocksIn(text: string): Promise<Block[]> {
  if (!text.includes("suggestion") || text.length > MAX_MARKDOWN) return [];
  const { default: MarkdownIt } = await import("markdown-it");
  const blocks: Block[] = [];
  for (const { type, info, content } of new MarkdownIt().parse(text, {})) {
    const found = type === "fence" ? INFO.exec(info.trim()) : null;
    if (!found) continue;
    const [above, below] = [Number(found[1] ?? 0), Number(found[2] ?? 0)];
    if (above <= MOST_LINES && below <= MOST_LINES) blocks.push({ above, below, content });
  }
  return blocks.slice(0, MOST);
}

interface Placed {
  readonly position: string;
  readonly project_id: number;
}

/** Where a note is, as far as it matters here. */
interface Position {
  readonly head_sha: string;
  readonly new_path: string;
  /** Not of a removed line. */
  readonly new_line?: number | null;
}

/**
 * Records what the text of a note suggests, if it is on a line of a merge request that was not removed. What an earlier
 * text of the note suggested is forgotten, unless the new one suggests the same.
 *
 * @param before the note's earlier text, if it was edited
 */
export async function recordSuggestions(
  db: Database,
  { id, body }: { readonly id: number; readonly body: string },
  before?: string,
): Promise<void> {
  const blocks = await blocksIn(body);
  const earlier = before === undefined ? [] : await blocksIn(before);
  if (JSON.stringify(blocks) === JSON.stringify(earlier)) return;
  if (earlier.length > 0) await db.run("delete from suggestions where note_id = ?", [id]);
  if (blocks.length === 0) return;
  const placed = await db.one<Placed>(
    `select np.position, mr.project_id from notes nt join note_positions np on np.note_id = nt.id
     join merge_requests mr on mr.id = nt.merge_request_id
     where nt.id = ? and nt.commit_id is null and np.position is not null and np.outdated = 0`,
    [id],
  );
  if (!placed) return;
  const position = JSON.parse(placed.position) as Position;
  const line = position.new_line;
  if (!line) return;
  const lines = await linesAt(db, placed.project_id, position);
  let room = MAX_CONTENT;
  for (const [place, { above, below, content }] of blocks.entries()) {
    const range = { from: Math.max(line - above, 1), to: Math.min(line + below, lines.length) };
    const was = contentOf(lines, range);
    const isWindows = was.includes("\r\n");
    const will = isWindows ? content.replaceAll("\n", "\r\n") : content;
    if (was === "" || was.length > room) continue;
    room -= was.length;
    await insertRow(db, "suggestions", {
      note_id: id,
      place,
      lines_above: line - range.from,
      lines_below: range.to - line,
      from_content: JSON.stringify(was),
      to_content: JSON.stringify(will),
    });
  }
}

/** The lines of a file that a note is on, as it is after the change. */
async function linesAt(
  db: Database,
  projectId: number,
  { head_sha, new_path }: Position,
): Promise<string[]> {
  const row = await findRow(db, projectId);
  const repository = row && (await load(db, Packs.within(db), row.id));
  const commit = repository ? repository.findHex(head_sha) : -1;
  if (!repository || commit < 0) return [];
  const { data } = await repository.read(commit);
  const tree = repository.find(linksOf(data).tree, 0);
  return linesOf(await textAt(repository, tree, new_path));
}

async function textAt(repository: Repository, tree: number, path: string): Promise<string> {
  const entry = await entryAt(repository, tree, path);
  if (!entry || !isFile(entry)) return "";
  const blob = repository.findHex(entry.oid);
  if (blob < 0 || repository.sizeOf(blob) > MAX_FILE) return "";
  return (await repository.read(blob)).data.toString();
}
