import type { Condition } from "../store/conditions.ts";
import type { Reader, Value } from "../store/port.ts";
import { statement } from "../store/texts.ts";
import { ApiError, invalid, queryTooLong } from "./errors.ts";
import type { Presenter } from "./presenter.ts";

/** Page sizes and the counting limit. Tests of clients lower them to get several pages from little data. */
export interface PageLimits {
  /** Items per page if `per_page` is not sent. Default 20. */
  perPage: number;
  /** Maximum items per page. Default 100. */
  maxPerPage: number;
  /** Collections larger than this leave out `X-Total`, `X-Total-Pages` and `rel="last"`. Default 10,000. */
  countedTotal: number;
}

/** GitLab's sizes. */
export const PAGE_LIMITS: PageLimits = { perPage: 20, maxPerPage: 100, countedTotal: 10_000 };

/** The page a request asks for, and its size. */
export interface Page {
  readonly number: number;
  readonly size: number;
  /** How many of its rows have been read already; above 0 for the later parts of a page too large to read at once. */
  readonly skip: number;
  /** How many of its rows to read at most: the size, except for later parts. */
  readonly maxRows: number;
  readonly limits: PageLimits;
}

/** A part of a list: `limit` rows, after `offset` others. */
export interface OffsetWindow {
  readonly limit: number;
  readonly offset: number;
}

/** One page of a collection. `total` is `undefined` above `countedTotal`. */
export interface RowPage {
  rows: Value[][];
  hasNext: boolean;
  total: number | undefined;
  /** Set if the page is too large to read at once: how many of its rows have been read so far. */
  read?: number;
  /** Set if the list was asked for as a whole: its answer then says nothing of pages. */
  isWhole?: true;
}

/**
 * What to read of a page after a part of it; `undefined` at its end. These are few rows, since some drivers read all
 * rows of a statement at once, and they are likely to be as large as those before.
 */
export function nextPart(page: Page, { rows, read }: RowPage): Page | undefined {
  return read === undefined
    ? undefined
    : { ...page, skip: read, maxRows: Math.max(1, 2 * rows.length) };
}

/** Characters after which reading pauses: a row may have a megabyte, and a page a hundred of those. */
export const MAX_READ_CHARACTERS = 256 * 1024;

/** A page found by key, with the query parameters of the next one; none at the end of the collection. */
export interface KeysetPage {
  rows: Value[][];
  next: Record<string, string> | undefined;
}

/**
 * Reads `page` and `per_page` as GitLab does: page numbers below 1 mean the first page, negative sizes the default, and
 * large sizes are capped.
 *
 * @throws ApiError 400 for anything but whole numbers, and for a size of 0
 */
export function readPage(input: Readonly<Record<string, unknown>>, limits: PageLimits): Page {
  const number = wholeNumber("page", input["page"]);
  const size = wholeNumber("per_page", input["per_page"]);
  if (size === 0) throw invalid({ per_page: ["has a value not allowed"] });
  const asked = size === undefined || size < 0 ? limits.perPage : Math.min(size, limits.maxPerPage);
  return {
    number: number === undefined || number < 1 ? 1 : number,
    size: asked,
    skip: 0,
    maxRows: asked,
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

/** The number of items before a page. */
export function offsetOf(page: Page): number {
  return Math.min((page.number - 1) * page.size, Number.MAX_SAFE_INTEGER);
}

/** A list query without its columns, order and limits. */
export interface ListQuery {
  /** Everything after `select … from`, with `?` placeholders: tables, joins, `where`. */
  from: string;
  values: readonly Value[];
  /** Everything after `order by`, ending in a unique column. */
  order: string;
  /** The values of `order`. Default: none. */
  orderValues?: readonly Value[];
  /** `from` without the joins that only presenting needs, for counting. Default `from`. */
  countFrom?: string;
  /** The values of `countFrom`, if they differ. */
  countValues?: readonly Value[];
  /** How many rows there are, if that is known. */
  total?: number | undefined;
  /** A query for how many rows there are, if that is stored; where it finds `null`, they are counted. */
  stored?: Condition | undefined;
}

/**
 * Runs a list query for one page. The first statement reads the page and one row more, which often reveals the total;
 * otherwise a second one counts, stopping above `countedTotal`.
 */
export async function paginate(
  db: Reader,
  presenter: Presenter,
  page: Page,
  query: ListQuery,
): Promise<RowPage> {
  const offset = offsetOf(page);
  const left = page.size - page.skip;
  const wanted = Math.min(left, page.maxRows);
  const within = limited(page, wanted + 1, offset + page.skip);
  const slice = await db.slice(
    statement`select ${presenter.columns} from ${query.from} order by ${query.order} ${within.sql}`,
    [...query.values, ...(query.orderValues ?? []), ...within.values],
    MAX_READ_CHARACTERS,
  );
  const { rows } = slice;
  const hasNext = slice.more || rows.length > wanted;
  if (rows.length > wanted) rows.pop();
  if (hasNext && rows.length < left) {
    return { ...(await placeOf(db, page, query)), rows, read: page.skip + rows.length };
  }
  // The headers were sent with the first part of the page.
  if (page.skip > 0) return { rows, hasNext, total: undefined };
  if (!hasNext && (rows.length > 0 || offset === 0)) {
    const total = offset + rows.length;
    return { rows, hasNext, total: total > page.limits.countedTotal ? undefined : total };
  }
  return { rows, hasNext, total: await countAll(db, page, query) };
}

/**
 * How a list of what belongs to one row is read, such as the labels of a project.
 *
 * @param query its rows, with one `?` for the id of what they belong to
 * @returns reads a page of it
 */
export function pageReader(query: Omit<ListQuery, "values">) {
  return (db: Reader, presenter: Presenter, page: Page, id: number): Promise<RowPage> =>
    paginate(db, presenter, page, { ...query, values: [id] });
}

async function countAll(db: Reader, page: Page, query: ListQuery): Promise<number | undefined> {
  const { from, values, countFrom = from, countValues = values, total, stored } = query;
  if (total !== undefined) return total;
  if (stored) {
    const [row] = await db.rows(stored.sql, stored.values);
    const count = row?.[0] ?? undefined;
    if (count !== undefined) {
      return Number(count) > page.limits.countedTotal ? undefined : Number(count);
    }
  }
  return countUpTo(db, page, countFrom, countValues);
}

/** The header values of a page of which only the first rows have been read. */
async function placeOf(
  db: Reader,
  page: Page,
  query: ListQuery,
): Promise<Pick<RowPage, "hasNext" | "total">> {
  if (page.skip > 0) return { hasNext: false, total: undefined };
  const total = await countAll(db, page, query);
  const end = offsetOf(page) + page.size;
  if (total !== undefined) return { hasNext: end < total, total };
  const next = await db.rows(
    `select 1 from ${query.from} order by ${query.order} limit 1 offset ?`,
    [...query.values, ...(query.orderValues ?? []), end],
  );
  return { hasNext: next.length > 0, total };
}

/**
 * The `limit` clause of a list's statement. First pages of the usual sizes have literal numbers: PostgreSQL then sees
 * how few rows are wanted and reuses its plan; otherwise it plans each request anew, which takes longer than the query
 * (docs/decisions/0010).
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
 * Counts the rows of a query; `undefined` above `countedTotal`.
 *
 * @param from everything after `select … from`
 */
export async function countUpTo(
  db: Reader,
  page: Page,
  from: string,
  values: readonly Value[],
): Promise<number | undefined> {
  const max = page.limits.countedTotal;
  const counted = await db.one<{ total: number }>(
    `select count(*) as total from (select 1 from ${from} limit ${max + 1}) as counted`,
    values,
  );
  const total = counted?.total as number;
  return total > max ? undefined : total;
}

/**
 * Runs a list query for one page in the order of a unique id; the query itself skips the pages before. A page too large
 * to read at once is cut short, and the next one begins after its last row.
 *
 * @param key `column`: the id's column; `direction`: its order
 */
export async function paginateByKey(
  db: Reader,
  presenter: Presenter,
  page: Page,
  query: Omit<ListQuery, "order" | "orderValues">,
  key: { column: string; direction: "asc" | "desc" },
): Promise<KeysetPage> {
  const within = limited(page, page.size, 0);
  const { rows } = await db.slice(
    `select ${presenter.columns}, ${key.column} from ${query.from} order by ${key.column} ${key.direction} ${within.sql}`,
    [...query.values, ...within.values],
    MAX_READ_CHARACTERS,
  );
  const last = rows.at(-1)?.at(-1);
  if (last === undefined) return { rows, next: undefined };
  return { rows, next: { [key.direction === "asc" ? "id_after" : "id_before"]: String(last) } };
}

/**
 * A page of a list that is not selected from the database.
 *
 * @param length how many items the list has; beyond `countedTotal` it need not be exact
 * @param read makes the rows of a part of the list: at least the first one, and no more once their texts have reached
 *   {@link MAX_READ_CHARACTERS}
 */
export async function pageOf(
  page: Page,
  length: number,
  read: (from: number, to: number) => Promise<Value[][]>,
): Promise<RowPage> {
  const { size, skip, maxRows, limits } = page;
  const end = Math.min(offsetOf(page) + size, length);
  const from = offsetOf(page) + skip;
  const rows = from < end ? await read(from, Math.min(from + maxRows, end)) : [];
  const listed = {
    rows,
    hasNext: end < length,
    total: length > limits.countedTotal ? undefined : length,
  };
  return from + rows.length < end ? { ...listed, read: skip + rows.length } : listed;
}

/** 405 for keyset pagination in an order without a key. */
export function keysetUnavailable(): ApiError {
  return new ApiError(405, {
    error: "Keyset pagination is not yet available for this type of request",
  });
}

/** The URL a list was requested with, for its `Link` header. */
export interface PagedUrl {
  /** Origin, mount and path as called: `http://127.0.0.1:3000/api/v4/projects`. */
  url: string;
  /** The caller's query, decoded, in order. Credentials are left out of every link. */
  query: URLSearchParams;
}

/** Maximum characters of a query, escaped, that a link can repeat. */
export const MAX_QUERY_LENGTH = 8192;
const CREDENTIALS = [
  ...["private_token", "access_token", "bearer_token", "job_token"],
  ...["feed_token", "rss_token"],
];

/** A query without credentials, as links and redirects may repeat it. */
export function withoutCredentials(query: URLSearchParams): [name: string, value: string][] {
  return [...query].filter(([name]) => !CREDENTIALS.includes(name));
}

/** The headers of an offset page; none for a list as a whole. */
export function pageHeaders(page: Page, listed: RowPage, at: PagedUrl): Record<string, string> {
  const { number, size } = page;
  const { total } = listed;
  if (listed.isWhole) return {};
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

/** Maximum characters of a `Link` header: Node's client accepts 16 KiB of headers, proxies often only 4 or 8 KiB. */
const MAX_LINK_HEADER = 4096;
/** The links a client can do without, least important first. `next` is always sent. */
const DISPENSABLE = ["last", "first", "prev"];

/** Joins as many links as fit. */
function fitting(links: readonly string[]): string {
  let left = links;
  for (const rel of DISPENSABLE) {
    if (left.join(", ").length <= MAX_LINK_HEADER) break;
    left = left.filter((link) => !link.endsWith(`rel="${rel}"`));
  }
  return left.join(", ");
}

/** The headers of a keyset page: the link to the next one, or none on the empty page at the end. */
export function keysetHeaders(listed: KeysetPage, at: PagedUrl): Record<string, string> {
  if (!listed.next) return {};
  at.query.delete("id_after");
  at.query.delete("id_before");
  at.query.delete("page");
  return { link: linkWriter(at)("next", listed.next) };
}

/** @returns a function whose `changes` are names and values that need no escaping */
function linkWriter(at: PagedUrl): (rel: string, changes: Record<string, string>) => string {
  // Escaped once for all links of a response.
  const repeated = withoutCredentials(at.query).map(([name, value]) => ({
    name,
    pair: String(new URLSearchParams([[name, value]])),
  }));
  if (repeated.reduce((length, { pair }) => length + pair.length + 1, 0) > MAX_QUERY_LENGTH) {
    throw queryTooLong();
  }
  return (rel, changes) => {
    const pairs = [
      ...repeated.filter(({ name }) => !Object.hasOwn(changes, name)),
      ...Object.entries(changes).map(([name, value]) => ({ name, pair: `${name}=${value}` })),
    ].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return `<${at.url}?${pairs.map(({ pair }) => pair).join("&")}>; rel="${rel}"`;
  };
}
