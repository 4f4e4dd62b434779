import { STEPS, type Steps } from "../turns/pace.ts";

/** A cell. What a spreadsheet would compute is a text, as in GitLab. */
function cell(value: unknown): string {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line of a CSV file (RFC 4180), with its end. */
export const csvLine = (cells: readonly unknown[]): string => `${cells.map(cell).join(",")}\n`;

/** A text that is no CSV file that is read. */
export class CsvError extends Error {}

/** What a CSV file may have: rows, blank lines included, columns, and characters of a cell. */
export interface CsvLimits {
  readonly rows: number;
  readonly columns: number;
  readonly characters: number;
}

/** The rows of a CSV file, by the names of its columns. */
export interface CsvRows {
  readonly names: readonly string[];
  readonly rows: Readonly<Record<string, string>>[];
}

/**
 * Reads the rows of a CSV file, by the names in its first line, in small letters with `_` for what stands between words.
 *
 * @throws CsvError if it has more than it may have, or a quoted cell without an end
 */
export function* csvRows(text: string, most: CsvLimits): Steps<CsvRows> {
  const lines = yield* cellsOf(text.replace(/^\uFEFF/, ""), most);
  const names = (lines.shift() ?? []).map((name) =>
    name
      .trim()
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "_"),
  );
  const rows: Record<string, string>[] = [];
  for (const cells of lines) {
    rows.push(Object.fromEntries(names.map((name, at) => [name, (cells[at] ?? "").trim()])));
    yield STEPS;
  }
  return { names, rows };
}

/** The cells of the lines that are not blank. */
function* cellsOf(text: string, most: CsvLimits): Steps<string[][]> {
  const lines: string[][] = [];
  let read = 0;
  let cells: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const { value, end } =
      text[at] === '"' ? quotedAt(text, at, most.characters) : plainAt(text, at);
    if (value.length > most.characters) throw new CsvError(TOO_LONG);
    cells.push(value);
    if (cells.length > most.columns) throw new CsvError("it has too many columns");
    at = end;
    if (text[at] === ",") continue;
    if (text[at] === "\r" && text[at + 1] === "\n") at += 1;
    if (cells.some((one) => one !== "")) lines.push(cells);
    cells = [];
    read += 1;
    if (read > most.rows + 1) throw new CsvError("it has too many rows");
    yield STEPS;
  }
  return lines;
}

const TOO_LONG = "a cell in it is too long";

/** A cell, and where what ends it is. */
interface Cell {
  readonly value: string;
  readonly end: number;
}

const ENDS = /[,\r\n]/g;

function plainAt(text: string, from: number): Cell {
  ENDS.lastIndex = from;
  const end = ENDS.exec(text)?.index ?? text.length;
  return { value: text.slice(from, end), end };
}

function quotedAt(text: string, from: number, most: number): Cell {
  for (let at = from + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at < 0) throw new CsvError("a quote in it has no end");
    // Each quote within is two characters here.
    if (at - from > 2 * most + 1) throw new CsvError(TOO_LONG);
    const after = text[at + 1];
    if (after === '"') continue;
    if (after !== undefined && !",\r\n".includes(after)) {
      throw new CsvError("there is a text behind a quote in it");
    }
    return { value: text.slice(from + 1, at).replaceAll('""', '"'), end: at + 1 };
  }
}
