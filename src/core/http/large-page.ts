import type { View } from "../field.ts";
import type { RowPage } from "../pagination.ts";
import type { Presenter } from "../presenter.ts";
import type { Result } from "../resource.ts";
import type { Bytes } from "./incoming.ts";
import { partByPart } from "./large-replies.ts";
import { writeList } from "./reply.ts";

/** The first rows of a page that is too large to read at once. */
export type PartOfPage = RowPage & { read: number };

/** Whether a handler returned only the first rows of a page. */
export function isPartOfPage(result: Result): result is PartOfPage {
  return typeof result === "object" && "read" in result && result.read !== undefined;
}

/**
 * Writes a page whose rows are read as the client takes them, so that only one part is in memory. Each part shows the
 * database at the time it is read.
 */
export function writeParts(
  first: PartOfPage,
  rest: (skip: number) => Promise<Result>,
  presenter: Presenter,
  view: View,
): Bytes {
  let text: string | undefined = writeList(first.rows, presenter, view).slice(0, -1);
  let next: number | undefined = first.read;
  let isEmpty = first.rows.length === 0;
  return partByPart(async () => {
    if (text === undefined && next !== undefined) {
      const result = (await rest(next)) as RowPage;
      const written = writeList(result.rows, presenter, view).slice(1, -1);
      text = `${isEmpty || written === "" ? "" : ","}${written}`;
      isEmpty &&= written === "";
      next = result.read;
      if (next === undefined) text += "]";
    }
    const part = text;
    text = undefined;
    return part;
  });
}
