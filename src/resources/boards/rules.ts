import type { Source } from "../../core/access/source.ts";
import { notFound } from "../../core/errors.ts";
import type { Reader } from "../../store/port.ts";
import * as boards from "./queries.ts";

interface In {
  readonly db: Reader;
  readonly source: Source;
  readonly input: { readonly board_id: number };
}

/** The board that a path names. @throws ApiError 404 if the group or project has none with this id */
export async function findBoard({ db, source, input }: In): Promise<boards.Board> {
  const found = await boards.find(db, source, input.board_id);
  if (!found) throw notFound();
  return found;
}
