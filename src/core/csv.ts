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

/**
 * The rows of a CSV file, by the names in its first line, in small letters with `_` for what stands between words.
 *
 * @param most rows and columns that it may have
 * @throws CsvError if it has more, or a quoted cell without an end
 */
export function csvRows(
  text: string,
  most: { readonly rows: number; readonly columns: number },
): { names: readonly string[]; rows: Readonly<Record<string, string>>[] } {
  const lines = cellsOf(text.replace(/^\uFEFF/, ""), most);
  const names = (lines.shift() ?? []).map((name) =>
    name
      .trim()
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "_"),
  );
  const rows = lines.map((cells) =>
    Object.fromEntries(names.map((name, at) => [name, (cells[at] ?? "").trim()])),
  );
  return { names, rows };
}

/** The cells of each line that has any text. */
function cellsOf(
  text: string,
  most: { readonly rows: number; readonly columns: number },
): string[][] {
  const lines: string[][] = [];
  let cells: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const { value, end } = text[at] === '"' ? quotedAt(text, at) : plainAt(text, at);
    cells.push(value);
    if (cells.length > most.columns) throw new CsvError("it has too many columns");
    at = end;
    if (text[at] === ",") continue;
    if (text[at] === "\r" && text[at + 1] === "\n") at += 1;
    if (cells.some((one) => one !== "")) lines.push(cells);
    cells = [];
    if (lines.length > most.rows + 1) throw new CsvError("it has too many rows");
  }
  return lines;
}

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

function quotedAt(text: string, from: number): Cell {
  for (let at = from + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at < 0) throw new CsvError("a quote in it has no end");
    const after = text[at + 1];
    if (after === '"') continue;
    if (after !== undefined && !",\r\n".includes(after)) {
      throw new CsvError("there is a text behind a quote in it");
    }
    return { value: text.slice(from + 1, at).replaceAll('""', '"'), end: at + 1 };
  }
}
