import type { Expression } from "../../core/expressions.ts";
import * as field from "../../core/field.ts";
import { type Page, pageOf, paginate, type RowPage } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { bounds, listRefsBelow, type Ref } from "../../git/refs.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { Pace } from "../../turns/pace.ts";
import { type OpenRepository, withRefs } from "./open.ts";

const ref = presenter({
  name: field.text("name"),
  oid: field.text("oid"),
  peeled: field.text("peeled"),
});

/** How references become rows. */
type RowsOf = (opened: OpenRepository, refs: readonly Ref[]) => Promise<Value[][]>;

/**
 * A page of the branches or tags of a repository, by name.
 *
 * @param folder `refs/heads/` or `refs/tags/`
 */
export async function pageByName(
  db: Reader,
  opened: OpenRepository,
  folder: string,
  page: Page,
  rowsOf: RowsOf,
): Promise<RowPage> {
  const listed = await paginate(db, ref, page, {
    from: "git_refs where repository_id = ? and name > ? and name < ?",
    values: [opened.row?.id ?? 0, ...bounds(folder)],
    order: "name",
  });
  const refs = listed.rows.map(([name, oid, peeled]) => ({ name, oid, peeled }) as Ref);
  return { ...listed, rows: await rowsOf(await withRefs(opened, refs), refs) };
}

/**
 * A page of the branches or tags of a repository that are searched for or in another order.
 *
 * @param choose which of all of them are listed, in their order
 */
export async function pageOfChosen(
  db: Reader,
  opened: OpenRepository,
  folder: string,
  page: Page,
  choose: (
    refs: readonly Ref[],
    opened: OpenRepository,
  ) => readonly Ref[] | Promise<readonly Ref[]>,
  rowsOf: RowsOf,
): Promise<RowPage> {
  const all = opened.row ? await listRefsBelow(db, opened.row.id, folder) : [];
  const now = await withRefs(opened, all);
  const chosen = await choose(all, now);
  return pageOf(page, chosen.length, (from, to) => rowsOf(now, chosen.slice(from, to)));
}

/**
 * Searches names: for a part of them; with `^` before it or `$` behind it for how they begin or end; `*` stands for
 * anything. Cases don't matter. A name that is the text itself comes first.
 */
export function searched(refs: readonly Ref[], folder: string, search: string): Ref[] {
  const isStart = search.startsWith("^");
  const isEnd = search.endsWith("$");
  const text = search.slice(isStart ? 1 : 0, isEnd ? -1 : undefined).toLowerCase();
  const parts = text.split("*");
  const fits = (name: string) => {
    let at = 0;
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1;
      const found = isLast && isEnd ? name.length - part.length : name.indexOf(part, at);
      if (found < at || !name.startsWith(part, found)) return false;
      if (index === 0 && isStart && found > 0) return false;
      at = found + part.length;
    }
    return true;
  };
  const nameOf = (ref: Ref) => ref.name.slice(folder.length);
  const found = refs.filter((ref) => fits(nameOf(ref).toLowerCase()));
  const exact = found.filter((ref) => nameOf(ref) === search);
  return [...exact, ...found.filter((ref) => nameOf(ref) !== search)];
}

/** The references whose names fit a regular expression. */
export async function fittingOf(
  refs: readonly Ref[],
  folder: string,
  expression: Expression,
  pace: Pace,
): Promise<Ref[]> {
  const fitting: Ref[] = [];
  for (const ref of refs) {
    if (expression.fits(ref.name.slice(folder.length))) fitting.push(ref);
    if (pace.isDue) await pace.pause();
  }
  return fitting;
}
