import { digest } from "../../core/digest.ts";
import { badRequest, invalid } from "../../core/errors.ts";
import type { Parameter, Parameters } from "../../core/http/parameters.ts";
import * as param from "../../core/input.ts";
import { type FileChange, textOf } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { changesBetween } from "../../git/compared.ts";
import { EMPTY_TREE, StoredObjects } from "../../git/contents.ts";
import { mapLines } from "../../git/patches.ts";
import type { Repository } from "../../git/repository.ts";
import { Budget } from "../../turns/budget.ts";
import type { Place } from "../notes/queries.ts";
import type { OpenRepository } from "../repositories/open.ts";
import { type Line, locate } from "./lines.ts";

/** The commits of a diff. */
export interface DiffRefs {
  readonly base_sha: string;
  readonly start_sha: string;
  readonly head_sha: string;
}

/** An end of several lines. */
interface LineEnd {
  readonly line_code: string;
  readonly type: "new" | "old" | null;
  readonly old_line: number | null;
  readonly new_line: number | null;
}

/** A place in a diff, as clients see it. */
export interface Position extends DiffRefs {
  readonly old_path: string;
  readonly new_path: string;
  readonly position_type: "text" | "image" | "file";
  /** The line before and after the change: both of an unchanged one. Only of texts. */
  readonly old_line?: number | null;
  readonly new_line?: number | null;
  readonly line_range?: { readonly start: LineEnd; readonly end: LineEnd } | null;
  /** Only of images. */
  readonly width?: number;
  readonly height?: number;
  readonly x?: number;
  readonly y?: number;
}

/** A position as a client sent it. */
export interface SentPosition extends DiffRefs {
  readonly old_path: string | undefined;
  readonly new_path: string | undefined;
  readonly position_type: Position["position_type"];
  readonly line: SentLine;
  readonly range: { readonly start: SentLine; readonly end: SentLine } | undefined;
  readonly image: Required<Pick<Position, "width" | "height" | "x" | "y">> | undefined;
}

/** A line as a client names it: by its number before the change, after it, or both. */
export interface SentLine {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

const MAX_PATH = 4096;
const sha = param.anyText();
const path = param.optional(param.anyText({ max: MAX_PATH }));
const number = param.optional(param.integer({ min: 0 }));

const read = param.inputReader({
  "position[base_sha]": sha,
  "position[start_sha]": sha,
  "position[head_sha]": sha,
  "position[position_type]": param.choice(["text", "image", "file"]),
  "position[old_path]": path,
  "position[new_path]": path,
  "position[old_line]": number,
  "position[new_line]": number,
  "position[width]": number,
  "position[height]": number,
  "position[x]": number,
  "position[y]": number,
  "position[line_range]": param.optional(param.json("two lines")),
});

const readEnd = param.inputReader({
  line_code: param.optional(param.anyText()),
  type: param.optional(param.anyText()),
  old_line: number,
  new_line: number,
});

/**
 * Reads a position.
 *
 * @throws ApiError 400 naming what is wrong
 */
export function readPosition(sent: Parameter): SentPosition {
  const named = Object.entries(objectIn(sent, "position"));
  const found = read(
    Object.fromEntries(named.map(([name, value]) => [`position[${name}]`, value])),
  );
  const [width, height] = [found["position[width]"], found["position[height]"]];
  const [x, y] = [found["position[x]"], found["position[y]"]];
  const position_type = found["position[position_type]"];
  const range = found["position[line_range]"];
  const position = {
    base_sha: found["position[base_sha]"],
    start_sha: found["position[start_sha]"],
    head_sha: found["position[head_sha]"],
    old_path: found["position[old_path]"],
    new_path: found["position[new_path]"],
    position_type,
    line: { before: found["position[old_line]"], after: found["position[new_line]"] },
    range: range === undefined || position_type !== "text" ? undefined : readRange(range),
    image:
      width === undefined || height === undefined || x === undefined || y === undefined
        ? undefined
        : { width, height, x, y },
  };
  const { line, image } = position;
  const isComplete =
    position.base_sha !== "" &&
    position.start_sha !== "" &&
    position.head_sha !== "" &&
    (position.old_path || position.new_path) &&
    (position_type !== "text" || line.before !== undefined || line.after !== undefined) &&
    (position_type !== "image" || image !== undefined);
  if (!isComplete) throw badRequest('Note {:position=>["is incomplete"]}');
  return position;
}

function objectIn(sent: Parameter | undefined, name: string): Parameters {
  if (typeof sent === "object" && sent !== null && !Array.isArray(sent)) return sent;
  throw invalid({ [name]: ["is invalid"] });
}

function readRange(sent: Parameter): SentPosition["range"] {
  const name = "position[line_range]";
  const { start, end } = objectIn(sent, name);
  const lineAt = (place: "start" | "end", one: Parameter | undefined): SentLine => {
    const { line_code, type, old_line, new_line } = readEnd(objectIn(one, `${name}[${place}]`));
    // A code has both numbers of every line; its type says which of them count.
    const [, before, after] = /_(\d{1,9})_(\d{1,9})$/.exec(line_code ?? "") ?? [];
    if (before === undefined) return { before: old_line, after: new_line };
    return {
      before: type === "new" ? undefined : Number(before),
      after: type === "old" ? undefined : Number(after),
    };
  };
  return { start: lineAt("start", start), end: lineAt("end", end) };
}

const NOWHERE = 'Note {:line_code=>["can\'t be blank", "must be a valid line code"]}';

/** The name of what is before a project's first commit. */
export const NOTHING = "0".repeat(40);
const NOTHINGS: readonly string[] = [NOTHING, EMPTY_TREE];

/** A place that was found in its diff. */
export interface FoundPlace extends Place {
  /** JSON text. */
  readonly position: string;
}

/**
 * Finds a position in its diff.
 *
 * @throws ApiError 400 if the diff does not have it, or is between commits that are not shown
 */
export async function placeOf(
  { repository, shown }: Pick<OpenRepository, "repository" | "shown">,
  sent: SentPosition,
): Promise<FoundPlace> {
  for (const name of [sent.base_sha, sent.head_sha]) {
    const commit = numberOf(repository, name);
    if (commit !== undefined && !(await shown.hasCommit(commit))) throw badRequest(NOWHERE);
  }
  const place = await findPlace(repository, sent);
  if (!place) throw badRequest(NOWHERE);
  return place;
}

/**
 * Finds a position in its diff.
 *
 * @param mapOf compares the lines of a file
 * @returns `undefined` if the diff does not have the position
 */
export async function findPlace(
  repository: Repository,
  sent: SentPosition,
  mapOf = (change: FileChange) => mapLines(new StoredObjects(repository), change),
): Promise<FoundPlace | undefined> {
  const { base_sha, start_sha, head_sha, position_type, image, range } = sent;
  const change = await changeAt(repository, sent, sent);
  if (!change) return undefined;
  const [old_path, new_path] = pathsOf(change);
  const position = { base_sha, start_sha, head_sha, old_path, new_path, position_type };
  const file = { path: new_path, line: null, line_type: null };
  if (position_type !== "text") {
    return { ...file, position: JSON.stringify({ ...position, ...image }) };
  }
  const map = await mapOf(change);
  const lineAt = ({ before, after }: SentLine) => {
    const line = map && locate(map, before, after);
    return line && endOf(new_path, line);
  };
  const line = lineAt(sent.line);
  const [start, end] = [range?.start, range?.end].map((one) => one && lineAt(one));
  if (!line || (range && !(start && end))) return undefined;
  const text: Position = {
    ...position,
    position_type,
    old_line: line.old_line,
    new_line: line.new_line,
    line_range: start && end ? { start, end } : null,
  };
  return {
    path: new_path,
    line: Number(line.line_code.slice(line.line_code.lastIndexOf("_") + 1)),
    line_type: line.type,
    line_code: line.line_code,
    position: JSON.stringify(text),
  };
}

/** A line as clients see it. */
function endOf(path: string, { type, before, after }: Line): LineEnd {
  return {
    line_code: `${digest("sha1", path)}_${before}_${after}`,
    type,
    old_line: type === "new" ? null : before,
    new_line: type === "old" ? null : after,
  };
}

/** The change of the file that a position names, from one commit to another. */
export async function changeAt(
  repository: Repository,
  { base_sha, head_sha }: Pick<DiffRefs, "base_sha" | "head_sha">,
  { old_path, new_path }: Pick<SentPosition, "old_path" | "new_path">,
): Promise<FileChange | undefined> {
  const to = numberOf(repository, head_sha);
  const from = numberOf(repository, base_sha);
  if (to === undefined || (from === undefined && !NOTHINGS.includes(base_sha))) return undefined;
  const changes = await changesBetween(repository, from, to, new Budget());
  return changes.find((change) => {
    const [old, next] = pathsOf(change);
    return new_path ? next === new_path : old === old_path;
  });
}

/** A commit by its whole name. */
function numberOf(repository: Repository, name: string): number | undefined {
  return /^[0-9a-f]{40}$/.test(name) ? commitNumber(repository, name) : undefined;
}

/** The path of a file before and after its change: of an added or deleted one, both are the same. */
function pathsOf({ from, to }: FileChange): [old: string, next: string] {
  const [old, next] = [from ?? to, to ?? from];
  return [textOf(old?.path ?? ""), textOf(next?.path ?? "")];
}
