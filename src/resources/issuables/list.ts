import {
  inProject,
  NOT_ARCHIVED,
  type Viewer,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { readFirst } from "../../core/lists/first-rows.ts";
import { type IndexStart, NO_START, startFrom } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import { offsetOf, type Page, type RowPage } from "../../core/pagination.ts";
import { all, belowGroup, type Condition, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { embed } from "./embed.ts";
import {
  type Besides,
  conditionOf,
  type Filtering,
  type FilterValues,
  startsOf,
} from "./filter.ts";
import { ISSUE_FILTERS } from "./issue-filters.ts";
import { MERGE_REQUEST_FILTERS } from "./merge-request-filters.ts";
import { type ComputedOrder, orderOf } from "./orders.ts";
import { labelledTotal } from "./totals.ts";
import type { IssuableType, Presenting } from "./type.ts";

/** The filters of each type. */
export const FILTERS = { issue: ISSUE_FILTERS, merge_request: MERGE_REQUEST_FILTERS } as const;

/** An order that has an index: the name of a column. Only issues have a `relative_position`. */
type IndexedOrder = "created_at" | "updated_at" | "relative_position";

const isIndexed = (order: ListQuery["orderBy"]): order is IndexedOrder =>
  order === "created_at" || order === "updated_at" || order === "relative_position";

type FilterName = keyof typeof ISSUE_FILTERS | keyof typeof MERGE_REQUEST_FILTERS;

/** What a list has, and in which order. */
export interface ListQuery {
  readonly projectId?: number | undefined;
  /** Only those in projects of this group and its subgroups. */
  readonly groupId?: number | undefined;
  /** The projects whose rows it has, in place of those. */
  readonly within?: Condition;
  /** Whether archived projects are left out. */
  readonly isWithoutArchived?: boolean;
  readonly values: { readonly [Name in FilterName]?: unknown };
  /** What rows must not match. */
  readonly not?: FilterValues | undefined;
  readonly orderBy: IndexedOrder | ComputedOrder;
  readonly sort: "asc" | "desc";
}

/** A page of the issuables the caller may read. */
export async function list(
  given: Presenting & { page: Page; viewer: Viewer },
  type: IssuableType,
  query: ListQuery,
): Promise<RowPage> {
  const { source } = given;
  const { projectId, groupId, values, orderBy, sort } = query;
  const isOfProject = projectId !== undefined && source !== undefined;
  const context = isOfProject ? { ...given, viewer: inProject(given.viewer, source) } : given;
  const { db, presenter, page, viewer } = context;
  const { alias, table } = type;
  const isWithin = projectId !== undefined || groupId !== undefined;
  const column = isIndexed(orderBy) ? orderBy : undefined;
  const filtering: Filtering = { type, viewer, values, isWithin, column };
  const projects = projectsOf(alias, viewer, query);
  const conditions = conditionsOf(filtering, query);
  const wanted = all([projects, conditions]);
  const start = await startOf(db, filtering, projectId);
  const { order, sorted } = orderSql(type, query);
  const tables = `${table} ${alias} join projects p on p.id = ${alias}.project_id`;
  const listed = await readFirst(
    db,
    {
      table,
      alias,
      projectId,
      groupId,
      start,
      column,
      isIndexedAcross: orderBy !== "relative_position",
      sort,
      projects,
      conditions,
      wanted,
      tables,
      order,
      sorted,
      most: offsetOf(page) + page.size + 1,
    },
    (picked, total) =>
      paginateFrom(db, presenter, page, start, {
        alias,
        tables,
        presented: { sql: type.from, values: [] },
        where: wanted,
        picked,
        total,
        order,
        sorted,
        stored: labelledTotal(db, filtering, query, projectsOf("c", viewer, query)),
      }),
  );
  await embed(context, type, listed.rows);
  return listed;
}

/** The conditions on a row: those of filters, and that the caller may read it in a project that they can read. */
export function conditionsOf(list: Filtering, besides: Besides): Condition {
  const { type, viewer } = list;
  return all([type.visible(viewer), conditionOf(FILTERS[type.prefix], list, besides)]);
}

/**
 * Where a list starts: at a filter that few rows match, if there is one. Otherwise a page is soon full in the order of the
 * list, and only counting starts from a filter.
 */
export async function startOf(
  db: Reader,
  list: Filtering,
  projectId: number | undefined,
): Promise<IndexStart> {
  const { type, values } = list;
  const owners =
    projectId === undefined ? undefined : [{ column: "project_id", id: projectId } as const];
  const search = values["search"] as string | undefined;
  let counting = await searchStart(db, type.search, type.alias, search, { owners });
  if (counting.isSelective) return counting;
  for (const { ids, isBroad } of await startsOf(FILTERS[type.prefix], list, db)) {
    const found = await startFrom(db, type.alias, ids);
    if (found.isSelective) return found;
    if (!isBroad && counting === NO_START) counting = found;
  }
  return counting;
}

/** The order of a list, and the same, written so that no index has it. */
function orderSql(type: IssuableType, { orderBy, sort }: ListQuery) {
  const { alias } = type;
  if (!isIndexed(orderBy)) {
    const terms = orderOf(type, orderBy, sort);
    const order = terms.map(({ sql, descending }) => `${sql} ${descending ? "desc" : "asc"}`);
    return { order: order.join(", "), sorted: order.join(", ") };
  }
  return {
    order: `${alias}.${orderBy} ${sort}, ${alias}.id ${sort}`,
    // With a bare column, an index in the order of the list could be scanned.
    sorted: `${alias}.${orderBy} + 0 ${sort}, ${alias}.id ${sort}`,
  };
}

/** Which projects' rows a list contains. @param alias of what has a `project_id`, beside its project `p` */
export function projectsOf(
  alias: string,
  viewer: Viewer,
  { projectId, groupId, within, isWithoutArchived }: Omit<ListQuery, "orderBy" | "sort">,
): Condition {
  if (within) return within;
  return all([
    projectId === undefined ? visibleProjects(viewer) : when(`${alias}.project_id = ?`, projectId),
    groupId === undefined ? undefined : belowGroup("p.namespace_id", groupId),
    isWithoutArchived ? when(NOT_ARCHIVED) : undefined,
  ]);
}
