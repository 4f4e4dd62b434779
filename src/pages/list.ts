import { type OffsetWindow, offsetOf, type Page } from "../core/pagination.ts";
import type { PageContext, RawReply } from "../core/resource.ts";
import type { Awaitable } from "../store/port.ts";
import { type Html, html } from "./html.ts";
import { mountOf } from "./navigation.ts";
import { redirect } from "./page.ts";

/** The rows of one page of a list. */
interface ListPage<T> {
  rows: T[];
  page: Page;
  hasNext: boolean;
}

/**
 * Reads one page of a list.
 *
 * @param read returns the rows from an offset on, at most as many as asked for
 */
export async function listPageOf<T>(
  page: Page,
  read: (part: OffsetWindow) => Awaitable<T[]>,
): Promise<ListPage<T>> {
  const rows = await read({ limit: page.size + 1, offset: offsetOf(page) });
  const hasNext = rows.length > page.size;
  return { rows: rows.slice(0, page.size), page, hasNext };
}

/** How a list is displayed. */
interface ListSpec<T> {
  /** The path of its page. */
  path: string;
  /** The text of an empty list. */
  none: string;
  /** Its page parameter. Default `"page"`. */
  parameter?: string;
  row: (row: T) => Html;
}

/** A page of a list with links to the previous and next one, which open at the top of the list. */
export function list<T>(
  visit: Pick<PageContext, "request" | "view">,
  { rows, page, hasNext }: ListPage<T>,
  { path, none, parameter = "page", row }: ListSpec<T>,
): Html {
  const { number } = page;
  const linkTo = (target: number, rel: string, label: string) =>
    html`<a href="${mountOf(visit.view)}${path}${queryWith(visit, parameter, target)}#${parameter}" rel="${rel}">${label}</a>`;
  const content =
    rows.length > 0
      ? html`<ul class="rows" id="${parameter}">${rows.map(row)}</ul>`
      : html`<p class="lead">${number === 1 ? none : `There is nothing on page ${number}.`}</p>`;
  if (number === 1 && !hasNext) return content;
  return html`${content}
<nav class="pager" aria-label="Pages">
${number > 1 && (rows.length > 0 ? linkTo(number - 1, "prev", "Previous") : linkTo(1, "first", "First page"))}
<span>Page ${number}</span>
${hasNext && linkTo(number + 1, "next", "Next")}
</nav>`;
}

/** The suffix of an action's path that lets {@link back} return to the same page of the list. */
export function pageQueryOf({ request }: Pick<PageContext, "request">): string {
  const query = String(new URLSearchParams(request.query));
  return query && `?${query}`;
}

/** Redirects back to the page of the list where the action was. */
export function back(visit: Pick<PageContext, "request" | "view">, path: string): RawReply {
  return redirect(mountOf(visit.view) + path + pageQueryOf(visit));
}

function queryWith(
  { request }: Pick<PageContext, "request">,
  parameter: string,
  number: number,
): string {
  const query = new URLSearchParams(request.query);
  query.delete(parameter);
  if (number > 1) query.set(parameter, String(number));
  const text = String(query);
  return text && `?${text}`;
}
