import type { Reader, Value } from "../store/port.ts";
import { ApiError, invalid, queryTooLong } from "./errors.ts";
import type { Shape } from "./present.ts";

/** Sizes that decide where a client has to cope with pages; small in tests of clients. */
export interface PageLimits {
  /** Items a page has when `per_page` is not sent. Default 20. */
  perPage: number;
  /** The most items a page can have. Default 100. */
  maxPerPage: number;
  /** Collections larger than this leave out `X-Total`, `X-Total-Pages` and `rel="last"`. Default 10,000. */
  countedTotal: number;
}

/** The contract's sizes (§8). */
export const PAGE_LIMITS: PageLimits = { perPage: 20, maxPerPage: 100, countedTotal: 10_000 };

/** Which page a request asks for, and of what size. */
export interface Page {
  readonly number: number;
  readonly size: number;
  /** How many of its rows were read before, where it is too large to be read at once. */
  readonly skip: number;
  readonly limits: PageLimits;
}

/** A part of a list: so many rows, after so many others. */
export interface Part {
  readonly limit: number;
  readonly offset: number;
}

/** One page of a collection. `total` is `undefined` where it is above the counted one. */
export interface Listed {
  rows: Value[][];
  hasNext: boolean;
  total: number | undefined;
  /** Where the page is too large to be read at once: how many of its rows have been read now. */
  read?: number;
}

/** Characters after which no more rows are read at once. A row may have a megabyte, and a page a hundred of those. */
export const MOST_AT_ONCE = 512 * 1024;

/** A page found by key: the query parameters that lead to the next one, or none at the end of the collection. */
export interface KeysetListed {
  rows: Value[][];
  next: Record<string, string> | undefined;
}

/**
 * Reads `page` and `per_page` as GitLab does (gitlab-facts §10): below 1 the first page, negative sizes the default,
 * large ones capped.
 *
 * @throws ApiError 400 for anything but whole numbers, and for a size of 0
 */
export function readPage(input: Readonly<Record<string, unknown>>, limits: PageLimits): Page {
  const number = wholeNumber("page", input["page"]);
  const size = wholeNumber("per_page", input["per_page"]);
  if (size === 0) throw invalid({ per_page: ["has a value not allowed"] });
  return {
    number: number === undefined || number < 1 ? 1 : number,
    size: size === undefined || size < 0 ? limits.perPage : Math.min(size, limits.maxPerPage),
    skip: 0,
    limits,
  };
}

function wholeNumber(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const digits = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const number = Number(digits);
  if (!/^[+-]?\d+$/.test(digits) || !Number.isSafeInteger(number)) {
    throw invalid({ [name]: ["is invalid"] });
  }
  return number;
}

/** How many items lie before a page. */
export function offsetOf(page: Page): number {
  return Math.min((page.number - 1) * page.size, Number.MAX_SAFE_INTEGER);
}

/** A list query without its columns, order and limits. */
export interface ListQuery {
  /** All that follows `select … from`, with `?` placeholders: tables, joins, `where`. */
  from: string;
  values: readonly Value[];
  /** All that follows `order by`, ending in a unique column. */
  order: string;
  /** The same without the joins that only presenting needs, where counting can do without. Default `from`. */
  countFrom?: string;
  /** The values of `countFrom`, where they are others. */
  countValues?: readonly Value[];
}

/**
 * Runs a list query for one page, in at most two statements: the page with one row more, which often tells the total;
 * a count, where it doesn't, that stops above the counted total.
 */
export async function paginate(
  db: Reader,
  shape: Shape,
  page: Page,
  query: ListQuery,
): Promise<Listed> {
  const offset = offsetOf(page);
  const left = page.size - page.skip;
  const within = limited(page, left + 1, offset + page.skip);
  const { rows, more } = await db.slice(
    `select ${shape.columns} from ${query.from} order by ${query.order} ${within.sql}`,
    [...query.values, ...within.values],
    MOST_AT_ONCE,
  );
  if (more && rows.length < left) {
    return { ...(await placeOf(db, page, query)), rows, read: page.skip + rows.length };
  }
  const hasNext = more || rows.length > left;
  if (rows.length > left) rows.pop();
  // What the headers say was found with the first rows of the page.
  if (page.skip > 0) return { rows, hasNext, total: undefined };
  if (!hasNext && (rows.length > 0 || offset === 0)) {
    const total = offset + rows.length;
    return { rows, hasNext, total: total > page.limits.countedTotal ? undefined : total };
  }
  return { rows, hasNext, total: await countAll(db, page, query) };
}

function countAll(db: Reader, page: Page, query: ListQuery): Promise<number | undefined> {
  const { from, values, countFrom = from, countValues = values } = query;
  return countUpTo(db, page, countFrom, countValues);
}

/** What is said of a page in its headers, where not all of its rows have been read. */
async function placeOf(
  db: Reader,
  page: Page,
  query: ListQuery,
): Promise<Pick<Listed, "hasNext" | "total">> {
  if (page.skip > 0) return { hasNext: false, total: undefined };
  const total = await countAll(db, page, query);
  const end = offsetOf(page) + page.size;
  if (total !== undefined) return { hasNext: end < total, total };
  const next = await db.rows(
    `select 1 from ${query.from} order by ${query.order} limit 1 offset ?`,
    [...query.values, end],
  );
  return { hasNext: next.length > 0, total };
}

/**
 * The end of a list's statement: how many rows, from which on. First pages of the usual sizes have a text of their own.
 * Where PostgreSQL can read how few rows are asked for it keeps its plan; else it makes one for each request, which
 * takes longer than the query (docs/decisions/0010).
 */
function limited(
  { size, limits }: Page,
  rows: number,
  offset: number,
): { sql: string; values: Value[] } {
  const isUsual = size === limits.perPage || size === limits.maxPerPage;
  if (isUsual && offset === 0) return { sql: `limit ${rows}`, values: [] };
  return { sql: "limit ? offset ?", values: [rows, offset] };
}

/**
 * Counts the rows of a query, `undefined` where there are more than are counted.
 *
 * @param from all that follows `select … from`
 */
export async function countUpTo(
  db: Reader,
  page: Page,
  from: string,
  values: readonly Value[],
): Promise<number | undefined> {
  const most = page.limits.countedTotal;
  const counted = await db.one<{ total: number }>(
    `select count(*) as total from (select 1 from ${from} limit ${most + 1}) as counted`,
    values,
  );
  const total = counted?.total as number;
  return total > most ? undefined : total;
}

/**
 * Runs a list query for one page in the order of a unique id, from the given id on. A page that is too large to be read
 * at once is shorter: the next one begins after its last row.
 *
 * @param key `column`: the id's column; `direction`; `after`: the last id of the page before
 */
export async function paginateByKey(
  db: Reader,
  shape: Shape,
  page: Page,
  query: Omit<ListQuery, "order">,
  key: { column: string; direction: "asc" | "desc" },
): Promise<KeysetListed> {
  const within = limited(page, page.size, 0);
  const { rows } = await db.slice(
    `select ${shape.columns}, ${key.column} from ${query.from} order by ${key.column} ${key.direction} ${within.sql}`,
    [...query.values, ...within.values],
    MOST_AT_ONCE,
  );
  const last = rows.at(-1)?.at(-1);
  if (last === undefined) return { rows, next: undefined };
  return { rows, next: { [key.direction === "asc" ? "id_after" : "id_before"]: String(last) } };
}

/** 405 of keyset pagination in an order that has no key (gitlab-facts §10). */
export function keysetUnavailable(): ApiError {
  return new ApiError(405, {
    error: "Keyset pagination is not yet available for this type of request",
  });
}

/** Where a list was asked for: what its `Link` header repeats. */
export interface PagedUrl {
  /** Origin, mount and path as called: `http://127.0.0.1:3000/api/v4/projects`. */
  url: string;
  /** The caller's query, decoded, in order. Credentials are left out of every link. */
  query: URLSearchParams;
}

/** Characters of a query, escaped, that a link can repeat. */
export const LONGEST_QUERY = 8192;
const CREDENTIALS = ["private_token", "access_token", "bearer_token", "job_token"];

/** The headers of an offset page (contract §8, gitlab-facts §10). */
export function pageHeaders(page: Page, listed: Listed, at: PagedUrl): Record<string, string> {
  const { number, size } = page;
  const { total } = listed;
  const pages = total === undefined ? undefined : Math.max(1, Math.ceil(total / size));
  const next = listed.hasNext ? number + 1 : undefined;
  const within = pages === undefined ? listed.rows.length > 0 || listed.hasNext : number <= pages;
  const previous = number > 1 && within ? number - 1 : undefined;

  const link = linkWriter(at);
  const to = (rel: string, target: number | undefined) =>
    target === undefined ? [] : [link(rel, { page: String(target), per_page: String(size) })];
  const headers: Record<string, string> = {
    link: fitting([
      ...to("prev", previous),
      ...to("next", next),
      ...to("first", 1),
      ...to("last", pages),
    ]),
    "x-next-page": next === undefined ? "" : String(next),
    "x-page": String(number),
    "x-per-page": String(size),
    "x-prev-page": previous === undefined ? "" : String(previous),
  };
  if (total !== undefined) {
    headers["x-total"] = String(total);
    headers["x-total-pages"] = String(pages);
  }
  return headers;
}

/** Characters of a `Link` header: Node's own client takes 16 KiB of headers, and proxies have room for 4 or 8. */
const LONGEST_HEADER = 4096;
/** The links a client can do without, the least needed first: `next` is always there. */
const DISPENSABLE = ["last", "first", "prev"];

/** As many of the links as there is room for. */
function fitting(links: readonly string[]): string {
  let left = links;
  for (const rel of DISPENSABLE) {
    if (left.join(", ").length <= LONGEST_HEADER) break;
    left = left.filter((link) => !link.endsWith(`rel="${rel}"`));
  }
  return left.join(", ");
}

/** The headers of a keyset page: the link to the next, or none on the empty page that ends a collection. */
export function keysetHeaders(listed: KeysetListed, at: PagedUrl): Record<string, string> {
  if (!listed.next) return {};
  at.query.delete("id_after");
  at.query.delete("id_before");
  at.query.delete("page");
  return { link: linkWriter(at)("next", listed.next) };
}

/** @returns a function whose `changes` are names and values that need no escapes */
function linkWriter(at: PagedUrl): (rel: string, changes: Record<string, string>) => string {
  // Escaped once for all links of an answer.
  const kept = [...at.query]
    .filter(([name]) => !CREDENTIALS.includes(name))
    .map(([name, value]) => ({ name, pair: String(new URLSearchParams([[name, value]])) }));
  if (kept.reduce((length, { pair }) => length + pair.length + 1, 0) > LONGEST_QUERY) {
    throw queryTooLong();
  }
  return (rel, changes) => {
    const pairs = [
      ...kept.filter(({ name }) => !Object.hasOwn(changes, name)),
      ...Object.entries(changes).map(([name, value]) => ({ name, pair: `${name}=${value}` })),
    ].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return `<${at.url}?${pairs.map(({ pair }) => pair).join("&")}>; rel="${rel}"`;
  };
}
