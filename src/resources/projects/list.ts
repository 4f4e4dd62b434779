import type { Role } from "../../core/access/roles.ts";
import {
  isFrozen,
  memberProjects,
  NOT_ARCHIVED,
  usesFeature,
  type Viewer,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { idsOf, NO_START, startOf, withoutIndex } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import {
  type KeysetPage,
  type ListQuery,
  offsetOf,
  type Page,
  paginateByKey,
  type RowPage,
} from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, belowGroup, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import {
  type AttributeFilter,
  haveAttributes,
  withAttributes,
} from "../custom-attributes/queries.ts";
import { FROZEN, markedOn } from "../namespaces/marked.ts";
import { hasTopic } from "../topics/queries.ts";
import { embed } from "./embed.ts";
import { PROJECTS } from "./json.ts";
import { PROJECT_SEARCH } from "./search.ts";
import { SIZE_ORDERS, type SizeOrder } from "./sizes.ts";

/** The filters of a list of projects. */
export interface ProjectFilter extends AttributeFilter {
  /** Only projects directly in this namespace; with `below`, also in its subgroups. */
  namespaceId?: number | undefined;
  below?: boolean | undefined;
  /** Also projects that are shared with the namespace, a group. */
  withShared?: boolean | undefined;
  /** Only projects that are shared with this group. */
  sharedWith?: number | undefined;
  archived?: boolean | undefined;
  /** Only projects that are neither archived nor to be deleted, or only these. */
  active?: boolean | undefined;
  /** Only projects that were marked for deletion on this day. */
  markedOn?: string | undefined;
  visibility?: number | undefined;
  search?: string | undefined;
  /** Only projects that the caller owns. */
  owned?: boolean | undefined;
  /** Only projects the caller is a member of. */
  membership?: boolean | undefined;
  /** Only projects that this user has starred. */
  starredBy?: number | undefined;
  /** Only projects in which this user did something since then. */
  contributedBy?: { readonly userId: number; readonly since: number } | undefined;
  role?: Role | undefined;
  withIssuesEnabled?: boolean | undefined;
  withMergeRequestsEnabled?: boolean | undefined;
  /** When it was last active, or changed, at the earliest and at the latest. */
  activeSince?: number | undefined;
  activeUntil?: number | undefined;
  updatedSince?: number | undefined;
  updatedUntil?: number | undefined;
  /** Whether a search looks into the paths of its groups, too. */
  searchesNamespaces?: boolean | undefined;
  /** Only projects that have all topics of these names. */
  topics?: readonly string[] | undefined;
  topicId?: number | undefined;
  /** Only forks of this project. */
  forkedFrom?: number | undefined;
  /** Only this project, and those on the list of projects whose CI jobs may access it. */
  allowedIn?: number | undefined;
  idAfter?: number | undefined;
  idBefore?: number | undefined;
}

/** The columns that lists of projects are ordered by. */
export const COLUMN_ORDERS = [
  "id",
  "name",
  "path",
  "created_at",
  "updated_at",
  "last_activity_at",
  "star_count",
] as const;

/** The order of a list of projects. */
export interface ProjectOrder {
  /** `similarity` is that to the searched text, of which the list then must have one. */
  orderBy: (typeof COLUMN_ORDERS)[number] | SizeOrder | "similarity";
  sort: "asc" | "desc";
}

/** An order of a list as SQL with its values, ending in the id. */
function orderOf({ orderBy, sort }: ProjectOrder, search: string | undefined): Condition {
  if (orderBy === "id") return { sql: `p.id ${sort}`, values: [] };
  if (orderBy === "similarity") {
    const { sql, values } = unlikeness(search ?? "");
    return { sql: `${sql}, length(p.path), p.id desc`, values };
  }
  const sorted = orderBy in SIZE_ORDERS ? SIZE_ORDERS[orderBy as SizeOrder] : `p.${orderBy}`;
  return { sql: `${sorted} ${sort}, p.id ${sort}`, values: [] };
}

/**
 * How little a project that a text finds is like it: first those that are called so, then those whose path or name begins
 * with it, has it, or whose description does. Of equals, the shorter the path, the more of it the text is.
 */
export function unlikeness(text: string): Condition {
  const some = (condition: (column: string) => string) =>
    `(${condition("lower(p.path)")} or ${condition("lower(p.name)")})`;
  return {
    sql: `case when ${some((column) => `${column} = lower(?)`)} then 0
      when ${some((column) => `instr(${column}, lower(?)) = 1`)} then 1
      when ${some((column) => `instr(${column}, lower(?)) > 0`)} then 2 else 3 end`,
    values: [text, text, text, text, text, text],
  };
}

/** The projects the caller may read. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  asked: ProjectFilter,
  wanted: ProjectOrder,
): Promise<RowPage> {
  const { namespaceId = 0, withShared = false } = asked;
  const filter = { ...asked, withShared: withShared && (await hasShared(db, namespaceId)) };
  const order = orderOf(wanted, filter.search);
  const start = await startOf(db, "p", startsOf(filter), () =>
    // The index has no paths of groups.
    filter.searchesNamespaces
      ? Promise.resolve(NO_START)
      : searchStart(db, PROJECT_SEARCH, "p", filter.search),
  );
  const where = conditionOf(viewer, filter);
  const listed = await paginateFrom(db, presenter, page, start, {
    alias: "p",
    tables: "projects p",
    presented: { sql: PROJECTS, values: [] },
    where,
    picked: isOfMember(filter) || isComputed(wanted) ? picking(page, where, order) : undefined,
    order: order.sql,
    orderValues: order.values,
  });
  await embed(db, listed.rows, presenter, viewer, filter);
  return listed;
}

/** The projects the caller may read, with keyset pagination by id. */
export async function listByKey(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  filter: ProjectFilter,
  direction: "asc" | "desc",
): Promise<KeysetPage> {
  const key = { column: "p.id", direction };
  const listed = await paginateByKey(db, presenter, page, filtered(viewer, filter), key);
  await embed(db, listed.rows, presenter, viewer, filter);
  return listed;
}

const conditionOf = (viewer: Viewer, filter: ProjectFilter): Condition =>
  all([
    membership(viewer, filter),
    ...columnConditions(filter),
    filter.withIssuesEnabled ? usesFeature(viewer, "issues") : undefined,
    filter.withMergeRequestsEnabled ? usesFeature(viewer, "merge_requests") : undefined,
  ]);

function filtered(viewer: Viewer, filter: ProjectFilter): Omit<ListQuery, "order"> {
  const where = conditionOf(viewer, filter);
  return {
    from: `${PROJECTS} where ${where.sql}`,
    countFrom: `projects p where ${where.sql}`,
    values: where.values,
  };
}

/** Whether an order is computed for each project. */
const isComputed = ({ orderBy }: ProjectOrder) =>
  orderBy === "similarity" || orderBy in SIZE_ORDERS;

/** Whether only projects that the caller is a member of are listed. */
const isOfMember = ({ owned, role, membership }: ProjectFilter): boolean =>
  owned === true || role !== undefined || membership === true;

/**
 * Picks the first projects, up to the page, where they are sorted: rows with all columns of the answer
 * take much longer to sort than these.
 */
function picking(page: Page, { sql, values }: Condition, order: Condition): Condition {
  return {
    sql: statement`p.id in (select id from
      (select p.id from projects p where ${sql} order by ${order.sql} limit ?) as first)`,
    values: [...values, ...order.values, offsetOf(page) + page.size + 1],
  };
}

/** The condition on the caller's membership. */
function membership(viewer: Viewer, { owned, role, membership }: ProjectFilter): Condition {
  if (owned) return memberProjects(viewer, "owner");
  if (role || membership) return memberProjects(viewer, role);
  return visibleProjects(viewer);
}

/** The spans of time of a filter. @param sqlOf SQL of a column */
function spansOf(filter: ProjectFilter, sqlOf: (column: string) => string): Condition[] {
  const [activity, update] = ["last_activity_at", "updated_at"].map(sqlOf);
  return [
    when(`${activity} >= ?`, filter.activeSince),
    when(`${activity} <= ?`, filter.activeUntil),
    when(`${update} >= ?`, filter.updatedSince),
    when(`${update} <= ?`, filter.updatedUntil),
  ].filter((end) => end !== undefined);
}

/** Where a list may start that is filtered by time, or of what is archived or marked for deletion. */
function startsOf(filter: ProjectFilter): Condition[] {
  const { active, markedOn: day } = filter;
  const marked = markedOn("p", day);
  const spans = spansOf(filter, (column) => `p.${column}`);
  return [
    ...withAttributes("project_id", filter),
    ...(filter.sharedWith === undefined ? [] : [shared(filter.sharedWith)]),
    ...(filter.withShared ? [ofGroupAndShared(filter)] : []),
    ...(spans.length > 0 ? [idsOf("projects p", all(spans))] : []),
    ...(marked ? [idsOf("projects p", marked)] : []),
    ...(active === false
      ? [
          {
            sql: `select id from projects where archived = 1
              union select id from projects where marked_for_deletion_at is not null
              union select id from projects where namespace_id in (${FROZEN})`,
            values: [],
          },
        ]
      : []),
  ];
}

/** A query for the ids of projects that are shared with a group. */
const shared = (groupId: number): Condition => ({
  sql: "select project_id as id from group_links where group_id = ? and project_id is not null",
  values: [groupId],
});

/** A query for the ids of the projects of a group, and of those that are shared with it. */
function ofGroupAndShared(filter: ProjectFilter): Condition {
  const [own, lent] = [inNamespace("o", filter), shared(filter.namespaceId ?? 0)];
  return {
    sql: `select o.id from projects o where ${own?.sql} union ${lent.sql}`,
    values: [...(own?.values ?? []), ...lent.values],
  };
}

const isIn = ({ sql, values }: Condition): Condition => ({ sql: `p.id in (${sql})`, values });

function inNamespace(alias: string, { namespaceId, below }: ProjectFilter): Condition | undefined {
  return below && namespaceId !== undefined
    ? belowGroup(`${alias}.namespace_id`, namespaceId)
    : when(`${alias}.namespace_id = ?`, namespaceId);
}

/** Whether any projects are shared with a group: mostly none is, and lists of its own have indexes. */
async function hasShared(db: Reader, groupId: number): Promise<boolean> {
  const { sql, values } = shared(groupId);
  return (await db.rows(`${sql} limit 1`, values)).length > 0;
}

const ACTIVE = `(${NOT_ARCHIVED} and p.marked_for_deletion_at is null and not ${isFrozen("p.namespace_id")})`;

/** The conditions on the project itself. */
function columnConditions(filter: ProjectFilter): (Condition | undefined)[] {
  const { archived, withShared, search } = filter;
  return [
    // Most are not: the sum keeps the engines from starting with them, in another order than the list's.
    archived === undefined ? undefined : when(archived ? "p.archived = 1" : NOT_ARCHIVED),
    filter.active === undefined ? undefined : when(filter.active ? ACTIVE : `not ${ACTIVE}`),
    markedOn("p", filter.markedOn),
    when("p.visibility = ?", filter.visibility),
    withShared ? isIn(ofGroupAndShared(filter)) : inNamespace("p", filter),
    filter.sharedWith === undefined ? undefined : isIn(shared(filter.sharedWith)),
    search ? searchedProjects(search, filter.searchesNamespaces) : undefined,
    when("p.id in (select project_id from project_stars where user_id = ?)", filter.starredBy),
    when(
      `p.id in (select project_id from events
        where author_id = ? and created_at > ? and action not in ('joined', 'left', 'expired'))`,
      filter.contributedBy?.userId,
      filter.contributedBy?.since,
    ),
    ...spansOf(filter, (column) => withoutIndex(`p.${column}`)),
    ...(filter.topics ?? []).map(hasTopic),
    when("p.id in (select project_id from project_topics where topic_id = ?)", filter.topicId),
    when("p.forked_from_project_id = ?", filter.forkedFrom),
    when(
      `p.id in (select id from projects where id = ?
        union all select target_project_id from job_token_projects where project_id = ?)`,
      filter.allowedIn,
      filter.allowedIn,
    ),
    ...haveAttributes("project_id", "p.id", filter),
    when("p.id > ?", filter.idAfter),
    when("p.id < ?", filter.idBefore),
  ];
}

/** The condition under which a text finds a project. */
export const searchedProjects = (text: string, inNamespaces = false): Condition =>
  contains(["p.name", "p.path", "p.description", ...(inNamespaces ? ["p.full_path"] : [])], text);

/** One project as a row of its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  viewer: Viewer,
  shown: AttributeFilter = {},
): Promise<Value[]> {
  const [found] = await db.rows(
    statement`select ${presenter.columns} from ${PROJECTS} where p.id = ?`,
    [projectId],
  );
  await embed(db, [found as Value[]], presenter, viewer, shown);
  return found as Value[];
}
