import { colorsOfFile, type Piece } from "../core/code-colors.ts";
import { digest } from "../core/digest.ts";
import * as param from "../core/input.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { pieceOf } from "./code-lines.ts";
import type { Shown, Visit } from "./declare.ts";
import { listed } from "./parts.ts";

/** How diffs are shown, as GitLab's links say it: one below the other, or side by side. */
const VIEWS = ["inline", "parallel"] as const;
type View = (typeof VIEWS)[number];

/** The parameters by which pages of changes are asked for in one of these ways, and without changes of white space. */
export const viewInput = {
  view: param.optional(param.choice(VIEWS)),
  w: param.optional(param.choice(["0", "1"])),
};

/** Whether changes of white space are not shown. */
const isSpaceless = ({ parameters }: Visit): boolean => parameters["w"] === "1";

/** A line of a diff. */
interface Line {
  readonly kind: "same" | "added" | "removed" | "place" | "end";
  readonly text: string;
  /** Its number before and after; of a line that is on one side only, that of the next line of the other side. */
  readonly before: number;
  readonly after: number;
}

/** The numbers of a line before and after: of a line that is on one side only, one of them. */
export interface Numbers {
  readonly before?: number | null;
  readonly after?: number | null;
}

/** What is said about lines. */
export interface Talks {
  /** By {@link lineKey}. */
  readonly of: ReadonlyMap<string, Html>;
  /** How often the lines of files were run by tests, by their paths and numbers as they are now. */
  readonly hits?: Readonly<Record<string, Readonly<Record<string, number>>>> | undefined;
  /** For those who may say more. */
  readonly more?: {
    /** The query of the page on which something is said about a line. @param name of the line */
    readonly link: (name: string) => string;
    /** The name of the line about which the visitor wants to say something. */
    readonly asked: string | undefined;
    /** The form for that. */
    readonly form: (name: string, file: Shown, line: Numbers) => Html;
  };
}

/** A line of a file, by its numbers. @param path of the file as it is now */
export const lineKey = (path: string, { before, after }: Numbers): string =>
  JSON.stringify([path, before, after]);

const HUNK = /^@@ -(\d{1,10})(?:,\d{1,10})? \+(\d{1,10})/;

/** The lines of a unified diff. */
function linesOf(diff: string): Line[] {
  let [before, after] = [0, 0];
  const texts = diff.split("\n");
  if (texts.at(-1) === "") texts.pop();
  return texts.map((whole): Line => {
    const text = whole.slice(1);
    switch (whole.charAt(0)) {
      case "@": {
        const [, old = "0", now = "0"] = HUNK.exec(whole) ?? [];
        [before, after] = [Number(old), Number(now)];
        return { kind: "place", text: whole, before, after };
      }
      case "+":
        return { kind: "added", text, before, after: after++ };
      case "-":
        return { kind: "removed", text, before: before++, after };
      case "\\":
        return { kind: "end", text, before, after };
      default:
        return { kind: "same", text, before: before++, after: after++ };
    }
  });
}

/** Lines that were removed, those added in their place, and the line after them that is neither. */
interface Part {
  readonly removed: readonly Line[];
  readonly added: readonly Line[];
  readonly line?: Line;
}

function* partsOf(lines: readonly Line[]): Generator<Part> {
  let [removed, added]: [Line[], Line[]] = [[], []];
  for (const line of lines) {
    const isNext = line.kind === "removed" && added.length > 0;
    const isOther = line.kind !== "removed" && line.kind !== "added";
    if (isNext || isOther) {
      yield { removed, added, ...(isOther && { line }) };
      [removed, added] = [[], []];
    }
    if (line.kind === "removed") removed.push(line);
    if (line.kind === "added") added.push(line);
  }
  yield { removed, added };
}

const SPACE = /\s+/g;

/**
 * The lines of a diff in which those that differ in white space only count as the same. Each is looked for once: lines that are
 * in another order stay changed.
 */
function withoutSpace(lines: readonly Line[]): Line[] {
  const kept: Line[] = [];
  for (const { removed, added, line: same } of partsOf(lines)) {
    // Of lines that are alike, the places, and how many of them are passed.
    const places = new Map<string, { at: number[]; passed: number }>();
    added.forEach(({ text }, at) => {
      const bare = text.replace(SPACE, "");
      const known = places.get(bare);
      if (known) known.at.push(at);
      else places.set(bare, { at: [at], passed: 0 });
    });
    let [left, right] = [0, 0];
    removed.forEach((line, at) => {
      const open = places.get(line.text.replace(SPACE, ""));
      if (!open) return;
      while ((open.at[open.passed] ?? right) < right) open.passed++;
      const found = open.at[open.passed++];
      if (found === undefined) return;
      const alike = added[found] as Line;
      kept.push(...removed.slice(left, at), ...added.slice(right, found));
      kept.push({ ...alike, kind: "same", before: line.before });
      [left, right] = [at + 1, found + 1];
    });
    kept.push(...removed.slice(left), ...added.slice(right));
    if (same) kept.push(same);
  }
  return changedPlaces(kept);
}

/** The places of a diff in which something is still changed. */
function changedPlaces(lines: readonly Line[]): Line[] {
  const places: Line[][] = [];
  for (const line of lines) {
    if (line.kind === "place" || places.length === 0) places.push([]);
    places.at(-1)?.push(line);
  }
  const isChange = ({ kind }: Line) => kind === "added" || kind === "removed";
  return places.filter((place) => place.some(isChange)).flat();
}

/** A line as both sides have it: the same one if nothing was changed. */
type Pair = readonly [left: Line | undefined, right: Line | undefined];

/** The lines of a diff side by side: those removed beside those added in their place. */
function pairsOf(lines: readonly Line[]): Pair[] {
  const pairs: Pair[] = [];
  for (const { removed, added, line } of partsOf(lines)) {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      pairs.push([removed[at], added[at]]);
    }
    if (line) pairs.push([line, line]);
  }
  return pairs;
}

const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000;

/** How many units two texts have in common at their begin and end, and never half of a pair of them. */
function commonOf(one: string, other: string): { start: number; end: number } {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one.charCodeAt(start) === other.charCodeAt(start)) start++;
  if (start > 0 && isLow(one.charCodeAt(start))) start--;
  let end = 0;
  const same = (at: number) =>
    one.charCodeAt(one.length - at) === other.charCodeAt(other.length - at);
  while (end < most - start && same(end + 1)) end++;
  if (end > 0 && isLow(one.charCodeAt(one.length - end))) end--;
  return { start, end };
}

/** What lines of which only a part was changed have in common with what they were, or became. */
function marksOf(pairs: readonly Pair[]): ReadonlyMap<Line, ReturnType<typeof commonOf>> {
  const marks = new Map<Line, ReturnType<typeof commonOf>>();
  for (const [left, right] of pairs) {
    if (!left || !right || left === right) continue;
    const common = commonOf(left.text, right.text);
    if (common.start + common.end === 0) continue;
    marks.set(left, common);
    marks.set(right, common);
  }
  return marks;
}

/** The lines of a diff in colours, as far as there are any: each side of each place as a text of its own. */
async function colorsOf(path: string, lines: readonly Line[], { budget }: Visit) {
  const colored = new Map<Line, readonly Piece[]>();
  const [before, after] = [await colorsOfFile(path, budget), await colorsOfFile(path, budget)];
  if (!before || !after) return colored;
  for (const line of lines) {
    if (line.kind === "place") {
      before.again();
      after.again();
    } else if (line.kind !== "end") {
      const left = line.kind !== "added" && before.line(line.text);
      const right = line.kind !== "removed" && after.line(line.text);
      colored.set(line, right || left || []);
    }
    if (budget.isDue) await budget.pause();
  }
  return colored;
}

/** The text of a line, with its colours and a mark around what was changed in it. */
function textOf(
  line: Line,
  common: ReturnType<typeof commonOf> | undefined,
  pieces: readonly Piece[] = [{ text: line.text, kind: undefined }],
): Html {
  if (!common) return pieceOf(pieces, 0, line.text.length);
  const { start } = common;
  const end = line.text.length - common.end;
  const part = start < end && pieceOf(pieces, start, end);
  const marked =
    part && (line.kind === "added" ? html`<ins>${part}</ins>` : html`<del>${part}</del>`);
  return html`${pieceOf(pieces, 0, start)}${marked}${pieceOf(pieces, end, line.text.length)}`;
}

const SIGNS: Partial<Record<Line["kind"], string>> = { added: "+", removed: "−" };

/** What GitLab's links call a file in a diff. */
const nameOfFile = (path: string): string => digest("sha1", path);
/** What GitLab's links call a line. @param file its name */
const nameOf = (file: string, { before, after }: Line): string => `${file}_${before}_${after}`;

/** The numbers that a line has on its sides. */
const numbersOf = ({ kind, before, after }: Line): Numbers => ({
  ...(kind !== "added" && { before }),
  ...(kind !== "removed" && { after }),
});

/** A file's diff as a table. */
async function table(
  file: Shown,
  view: View,
  lines: readonly Line[],
  talks: Talks,
  visit: Visit,
): Promise<Html> {
  const colored = await colorsOf(file.new_path, lines, visit);
  const name = nameOfFile(file.new_path);
  const pairs = pairsOf(lines);
  const marks = marksOf(pairs);
  const wide = view === "parallel" ? 6 : 4;
  const number = (line: Line | undefined, side: "before" | "after", id?: string) => {
    const shown = line && numbersOf(line)[side];
    const anchor = id !== undefined && html` id="${id}"`;
    if (!line || shown === undefined) return html`<td${anchor}></td>`;
    const own = nameOf(name, line);
    return html`<td${anchor}><a href="${talks.more?.link(own)}#${own}">${shown}</a></td>`;
  };
  const hits = talks.hits?.[file.new_path];
  const run = (line: Line) => {
    const times = line.kind === "removed" ? undefined : hits?.[line.after];
    if (times === undefined) return undefined;
    return html` <span class="tag">${times === 0 ? "not covered" : `covered ${times}×`}</span>`;
  };
  const code = (line: Line | undefined) =>
    line
      ? html`<td>${SIGNS[line.kind]}</td><td><code>${textOf(line, marks.get(line), colored.get(line))}</code>${run(line)}</td>`
      : html`<td></td><td></td>`;
  const classOf = (line: Line | undefined) => line && html` class="${line.kind}"`;
  const below = (line: Line | undefined): Html => {
    if (!line) return html``;
    const [own, numbers] = [nameOf(name, line), numbersOf(line)];
    const said = talks.of.get(lineKey(file.new_path, numbers));
    const form = own === talks.more?.asked && talks.more.form(own, file, numbers);
    return said || form
      ? html`<tr class="talk"><td colspan="${wide}">${said}${form}</td></tr>\n`
      : html``;
  };
  const unlined = ({ kind, text }: Line) =>
    html`<tr class="${kind}"><td colspan="${wide}">${text}</td></tr>\n`;
  const rows =
    view === "inline"
      ? lines.map((line) => {
          if (line.kind === "place" || line.kind === "end") return unlined(line);
          return html`<tr id="${nameOf(name, line)}"${classOf(line)}>${number(line, "before")}${number(line, "after")}${code(line)}</tr>\n${below(line)}`;
        })
      : pairs.map(([left, right]) => {
          if (left && (left.kind === "place" || left.kind === "end")) return unlined(left);
          if (left === right && left) {
            return html`<tr id="${nameOf(name, left)}">${number(left, "before")}${code(left)}${number(left, "after")}${code(left)}</tr>\n${below(left)}`;
          }
          const side = (line: Line | undefined, which: "before" | "after") =>
            html`${number(line, which, line && nameOf(name, line))}${code(line)}`;
          return html`<tr class="${left ? (right ? "changed" : "removed") : "added"}">${side(left, "before")}${side(right, "after")}</tr>\n${below(left)}${below(right)}`;
        });
  const head = (titles: readonly string[]) =>
    titles.map((title) => html`<th scope="col"><span class="unseen">${title}</span></th>`);
  const titles =
    view === "inline"
      ? ["Line before", "Line after", "Change", "Code"]
      : ["Line before", "Change", "Code before", "Line after", "Change", "Code after"];
  return html`<div class="diff" tabindex="0" role="region" aria-label="Changes of ${file.new_path}"><table class="${view}">
<caption class="unseen">${file.new_path}</caption>
<thead><tr>${head(titles)}</tr></thead>
<tbody>
${rows}</tbody></table></div>`;
}

/** How a file was changed, line by line. */
async function changedFile(file: Shown, view: View, visit: Visit, talks: Talks): Promise<Html> {
  const { old_path, new_path } = file;
  const title = old_path === new_path ? new_path : `${old_path} → ${new_path}`;
  const how = file.new_file ? "added" : file.deleted_file ? "deleted" : "";
  const all = linesOf(String(file.diff));
  const lines = isSpaceless(visit) ? withoutSpace(all) : all;
  const content = !file.diff
    ? html`<p class="lead">Not shown.</p>`
    : lines.length > 0
      ? await table(file, view, lines, talks, visit)
      : html`<p class="lead">Only white space was changed.</p>`;
  return html`<li id="${nameOfFile(new_path)}"><details open><summary><code>${title}</code>${how && html` <span class="tag">${how}</span>`}</summary>${content}</details></li>`;
}

/** Links to the ways of showing diffs. */
function views(view: View, visit: Visit, path: string): Html {
  const query = new URLSearchParams(visit.request.query);
  query.delete("line");
  const links = VIEWS.map((one) => {
    query.set("view", one);
    const label = one === "inline" ? "Inline" : "Side by side";
    return html`<li><a href="${mountOf(visit.view)}${path}?${query.toString()}"${one === view && html` aria-current="true"`}>${label}</a></li>`;
  });
  const spaces = new URLSearchParams(visit.request.query);
  spaces.delete("line");
  if (isSpaceless(visit)) spaces.delete("w");
  else spaces.set("w", "1");
  const text = isSpaceless(visit) ? "Show white space" : "Hide white space";
  return html`<nav class="items" aria-label="View"><ul>${links}<li><a href="${mountOf(visit.view)}${path}?${spaces.toString()}">${text}</a></li></ul></nav>`;
}

/**
 * A page of the files that something has changed.
 *
 * @param name of the answer that has the files
 * @param path of the page, below the mount
 * @param talks what is said about lines. Default: nothing
 */
export async function changed(
  name: string,
  files: readonly Shown[],
  visit: Visit,
  path: string,
  talks: Talks = { of: new Map() },
): Promise<Html> {
  const view: View = visit.parameters["view"] === "parallel" ? "parallel" : "inline";
  const shown = new Map<Shown, Html>();
  for (const file of files) shown.set(file, await changedFile(file, view, visit, talks));
  const row = (file: Shown) => shown.get(file) as Html;
  return html`<section class="files"><h2>Changes</h2>${files.length > 0 && views(view, visit, path)}${listed(name, files, visit, { path, none: "Nothing was changed.", row })}</section>`;
}
