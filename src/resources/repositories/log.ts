import {
  MAX_READ_CHARACTERS,
  offsetOf,
  type Page,
  pageOf,
  type RowPage,
} from "../../core/pagination.ts";
import { readCommit } from "../../git/commits.ts";
import { type LogQuery, logOf } from "../../git/log.ts";
import type { Value } from "../../store/port.ts";
import { commitRow, commitValues } from "./json.ts";
import type { OpenRepository } from "./open.ts";

/** What a log is read from: the repository of a project, or of its wiki. */
type Logged = Pick<OpenRepository, "repository" | "budget" | "project">;

/** How the commits of a page become rows. */
type RowsOf<Opened> = (opened: Opened, numbers: readonly number[]) => Promise<Value[][]>;

/** The rows of commits, as many as are read at once. */
export const commitRows: RowsOf<Logged> = async (opened, numbers) => {
  const rows: Value[][] = [];
  let characters = 0;
  for (const number of numbers) {
    const commit = await readCommit(opened.repository, number);
    rows.push(commitRow(commitValues(opened, commit)));
    characters += commit.message.length;
    if (characters > MAX_READ_CHARACTERS) break;
  }
  return rows;
};

/** A page of a log. @param rowsOf default: {@link commitRows} */
export async function pageOfLog<Opened extends Logged>(
  opened: Opened,
  page: Page,
  query: LogQuery,
  rowsOf: RowsOf<Opened> = commitRows,
): Promise<RowPage> {
  const log = logOf(opened.repository, query);
  const needed = Math.max(offsetOf(page) + page.size, page.limits.countedTotal) + 1;
  const numbers = await log.first(opened.repository, needed, opened.budget);
  return pageOf(page, numbers.length, (from, to) => rowsOf(opened, numbers.slice(from, to)));
}
