// Random histories whose commits change files in every way that Git tells apart.
import { randomOf } from "./_git.ts";

/** A file of a history: its mode, and its content with each byte as one character. */
interface File {
  readonly mode: string;
  readonly content: string;
}

type Files = Map<string, File>;
type Draw = (below: number) => number;

const WORDS = ["alpha", "beta", "gamma", "return x;", "}", "}", "{", "", "", "", "end", "import a"];
const PLACES = [
  "a",
  "b.c",
  "d/a",
  "d/b.c",
  "d/e/f",
  "d/e/g",
  "h/i/j/k",
  "h/i/l",
  "m",
  "n/a",
  "n/o",
];
const GITLINK = "160000";

/** A line that may well occur elsewhere, too, indented somehow. */
function line(draw: Draw): string {
  const word = WORDS[draw(WORDS.length)] as string;
  const indentation = ["", "", "  ", "    ", "\t", "\t  "][draw(6)] as string;
  const text = draw(3) === 0 ? `${word} ${draw(40)}` : word;
  return `${text === "" && draw(3) > 0 ? "" : indentation}${text}${draw(60) === 0 ? "\r" : ""}\n`;
}

const text = (draw: Draw, lines: number) =>
  Array.from({ length: lines }, () => line(draw)).join("");

function newContent(draw: Draw): string {
  const size = draw(20) === 0 ? 300 : 2 + draw(40);
  const kind = draw(40);
  if (kind === 0) return "";
  if (kind === 1) return `\0binary ${draw(1000)}\n${text(draw, 5)}`;
  return text(draw, size);
}

/** Changes some lines: adds, removes, replaces, moves, repeats. */
function edited(draw: Draw, content: string): string {
  const lines = content.split(/(?<=\n)/);
  for (let edits = 1 + draw(4); edits > 0; edits -= 1) {
    const at = draw(lines.length + 1);
    const count = draw(4);
    const kind = draw(6);
    if (kind === 0) lines.splice(at, count);
    else if (kind === 1) lines.splice(at, count, ...text(draw, 1 + draw(5)).split(/(?<=\n)/));
    else if (kind === 2) lines.splice(draw(lines.length + 1), 0, ...lines.splice(at, count));
    else if (kind === 3) lines.splice(at, 0, ...lines.slice(at, at + 1 + draw(6)));
    else lines.splice(at, 0, line(draw));
  }
  const result = lines.join("");
  return draw(12) === 0 ? result.replace(/\n$/, "") : result;
}

/** The highest number of a change of lines. */
const EDIT = 11;
const PERMISSIONS = ["100644", "100755"];

/** Changes the files of a commit. */
function change(draw: Draw, files: Files, isCalm: boolean): void {
  const paths = [...files.keys()];
  const known = paths[draw(paths.length)];
  const place = PLACES[draw(PLACES.length)] as string;
  const file = known === undefined ? undefined : (files.get(known) as File);
  const kind = isCalm && draw(8) > 0 ? EDIT : draw(20);
  if (known === undefined || file === undefined || kind < 3) {
    put(files, place, { mode: PERMISSIONS[draw(8)] ?? "100644", content: newContent(draw) });
  } else if (kind <= EDIT) {
    if (file.mode !== GITLINK) files.set(known, { ...file, content: edited(draw, file.content) });
  } else if (kind === 12) files.delete(known);
  else if (kind === 13) {
    const mode = PERMISSIONS.find((one) => one !== file.mode) ?? file.mode;
    if (file.mode.startsWith("100")) files.set(known, { ...file, mode });
  } else if (kind === 14) put(files, place, { mode: "120000", content: `target${draw(3)}` });
  else if (kind === 15)
    put(files, place, { mode: GITLINK, content: String(1 + draw(5)).repeat(40) });
  else if (kind === 16) moveFolder(draw, files, known);
  else {
    files.delete(known);
    const isSame = file.mode === GITLINK || draw(2) === 0;
    // Versions of Git differ in whether a last line without its end makes files similar.
    const content = isSame ? file.content : `${edited(draw, file.content)}\n`;
    put(files, `${place}${draw(3) === 0 ? "" : draw(20)}`, { ...file, content });
  }
}

function moveFolder(draw: Draw, files: Files, path: string): void {
  const folder = path.slice(0, path.indexOf("/") + 1);
  if (folder === "") return;
  for (const [name, file] of [...files]) {
    if (!name.startsWith(folder)) continue;
    files.delete(name);
    put(files, `${["q", "r", "d"][draw(3)]}/${name.slice(folder.length)}`, file);
  }
}

/** Puts a file at a path, in place of what keeps it from being there. */
function put(files: Files, path: string, file: File): void {
  for (const other of [...files.keys()]) {
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) files.delete(other);
  }
  files.set(path, file);
}

/**
 * A random history for `git fast-import`: a branch `main`, and the commits of the whole history as tags `c1` and so on.
 *
 * @param isCalm whether commits change little, and are often merged
 * @param isUnique whether no two files of a commit have the same content: which of them a merge takes for the renamed one
 *   depends on Git's hash tables
 */
export function changingHistory(
  seed: number,
  commits: number,
  isCalm = false,
  isUnique = false,
): string {
  const draw = randomOf(seed);
  const trees = new Map<number, Files>();
  const out: string[] = [];
  const data = (content: string) => `data ${content.length}\n${content}\n`;
  for (let mark = 1; mark <= commits; mark += 1) {
    const first = Math.max(0, mark - 1 - draw(3));
    const second = draw(isCalm ? 2 : 4) === 0 ? Math.max(0, mark - 1 - draw(8)) : 0;
    const files: Files = new Map(trees.get(first));
    if (second > 0) {
      for (const [path, file] of trees.get(second) as Files)
        if (draw(2) === 0) put(files, path, file);
    }
    const most = isCalm ? 3 : 6;
    for (let changes = mark === 1 ? 12 : draw(most); changes > 0; changes -= 1) {
      change(draw, files, isCalm && mark > 1);
    }
    if (isUnique) {
      const contents = new Set<string>();
      for (const [path, { content }] of [...files]) {
        if (contents.has(content)) files.delete(path);
        contents.add(content);
      }
    }
    trees.set(mark, files);
    out.push(`commit refs/tags/c${mark}\nmark :${mark}\n`);
    out.push(
      `committer A <a@example.com> ${1_600_000_000 + 100 * mark} +0000\n${data(`C${mark}\n`)}`,
    );
    out.push(`from ${first === 0 ? "0".repeat(40) : `:${first}`}\n`);
    if (second > 0 && second !== first) out.push(`merge :${second}\n`);
    out.push("deleteall\n");
    for (const [path, { mode, content }] of files) {
      if (mode === GITLINK) out.push(`M ${mode} ${content} ${path}\n`);
      else out.push(`M ${mode} inline ${path}\n${data(content)}`);
    }
  }
  out.push(`reset refs/heads/main\nfrom :${commits}\n\n`);
  return out.join("");
}

/** A history of two commits, with long files that were changed in many places, for `git fast-import`. */
export function longFilesHistory(seed: number): string {
  const draw = randomOf(seed);
  const out: string[] = [];
  const data = (content: string) => `data ${content.length}\n${content}\n`;
  const versions = Array.from({ length: 12 }, (_, at) => {
    const different = [4, 60, 2000, 100_000][at % 4] as number;
    const newLine = () => `${" ".repeat(draw(3))}${draw(different)}\n`;
    const before = Array.from({ length: 500 + draw(4000) }, newLine);
    const after = [...before];
    for (let edits = draw(at % 3 === 0 ? 2000 : 60); edits > 0; edits -= 1) {
      const moved = after.splice(draw(after.length), draw(at % 2 === 0 ? 4 : 30));
      const added = Array.from({ length: draw(6) }, newLine);
      after.splice(draw(after.length), 0, ...(draw(3) === 0 ? moved : added));
    }
    return [before.join(""), after.join("")];
  });
  for (const mark of [1, 2]) {
    const time = 1_600_000_000 + mark;
    out.push(`commit refs/tags/c${mark}\nmark :${mark}\n`);
    out.push(`committer A <a@example.com> ${time} +0000\n${data(`C${mark}\n`)}`);
    if (mark > 1) out.push("from :1\n");
    for (const [at, contents] of versions.entries()) {
      out.push(`M 100644 inline f${at}\n${data(contents[mark - 1] as string)}`);
    }
  }
  return out.join("");
}
