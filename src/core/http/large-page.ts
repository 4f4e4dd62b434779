import type { View } from "../field.ts";
import { nextPart, type Page, type RowPage } from "../pagination.ts";
import type { Presenter } from "../presenter.ts";
import type { Answer } from "../resource.ts";
import type { Bytes } from "./incoming.ts";
import { partByPart } from "./large-replies.ts";

/** The first rows of a page that is too large to read at once. */
type PartOfPage = RowPage & { read: number };

/** Whether a handler returned only the first rows of a page. */
export function isPartOfPage(result: Answer): result is PartOfPage {
  return typeof result === "object" && "read" in result && result.read !== undefined;
}

/**
 * Writes a page whose rows are read as the client takes them, so that only one part is in memory. Each part shows the
 * database at the time it is read.
 *
 * @param rest runs the handler again for the part of the page that is left
 */
export function writeParts(
  first: PartOfPage,
  page: Page,
  rest: (left: Page) => Promise<Answer>,
  presenter: Presenter,
  view: View,
): Bytes {
  let rows: RowPage["rows"] | undefined = first.rows;
  let left = nextPart(page, first);
  let before = "[";
  return partByPart(async () => {
    if (!rows) {
      if (!left) return undefined;
      const result = (await rest(left)) as RowPage;
      left = nextPart(page, result);
      rows = result.rows;
    }
    const start = before;
    if (rows.length > 0) before = ",";
    const end = left ? "" : before === "[" ? "[]" : "]";
    const part = { bytes: bytesOf(rows), texts: piecesOf(rows, start, end, presenter, view) };
    rows = undefined;
    return part;
  });
}

function* piecesOf(
  rows: RowPage["rows"],
  start: string,
  end: string,
  presenter: Presenter,
  view: View,
): Generator<string> {
  let before = start;
  for (const row of rows) {
    yield before;
    yield* presenter.pieces(row, view);
    before = ",";
  }
  yield end;
}

/** The most memory that rows take. */
function bytesOf(rows: RowPage["rows"]): number {
  let bytes = 0;
  for (const value of rows.flat()) {
    if (typeof value === "string") bytes += 2 * value.length;
    else if (value instanceof Uint8Array) bytes += value.length;
  }
  return bytes;
}
