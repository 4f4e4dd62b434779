import type { Role } from "../../core/access/roles.ts";
import {
  isEnding,
  memberGroups,
  type Viewer,
  visibleGroups,
} from "../../core/access/visibility.ts";
import { idsOf, startOf } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { CREATION_LEVEL, SUBGROUP_LEVEL } from "../namespaces/kept.ts";
import { ENDING, markedOn } from "../namespaces/marked.ts";
import { NAMESPACE_SEARCH } from "../namespaces/search.ts";

/** Filters and order of a list of groups. */
export interface GroupFilter {
  /** Only direct subgroups of this group. */
  parentId?: number | undefined;
  /** Only subgroups of this group, and what is below them. */
  ancestorId?: number | undefined;
  search?: string | undefined;
  skip?: readonly number[] | undefined;
  /** Only groups that are not to be deleted, or only these. */
  active?: boolean | undefined;
  /** Only groups that were marked for deletion on this day. */
  markedOn?: string | undefined;
  visibility?: number | undefined;
  /** Only groups that are in no other one. */
  top?: boolean | undefined;
  /** No group that is this one or below it. */
  notBelow?: number | undefined;
  /** Only groups on the list of those whose CI jobs may access this project. */
  allowedIn?: number | undefined;
  /** Only this namespace, if it is a group, and those that it is in. */
  above?: number | undefined;
  /** Only groups in which the caller has at least this role. */
  role?: Role | undefined;
  /** Only groups in which the caller may create these: as `abilities.ts` of projects and groups say, for many groups. */
  accepting?: keyof typeof ACCEPTING | undefined;
  /** Only groups the caller belongs to. */
  member?: boolean | undefined;
  orderBy: "name" | "path" | "id";
  sort: "asc" | "desc";
}

/** The groups the caller may read. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  filter: GroupFilter,
): Promise<RowPage> {
  const { orderBy, sort, search } = filter;
  const tables =
    filter.ancestorId === undefined
      ? "namespaces n"
      : "namespace_ancestors a cross join namespaces n";
  const start = await startOf(db, "n", startsOf(filter), () =>
    searchStart(db, NAMESPACE_SEARCH, "n", search),
  );
  return paginateFrom(db, presenter, page, start, {
    alias: "n",
    tables,
    presented: { sql: tables, values: [] },
    where: filtered(viewer, filter),
    order: orderBy === "id" ? `n.id ${sort}` : `n.${orderBy} ${sort}, n.id ${sort}`,
  });
}

const ACCEPTING = { projects: CREATION_LEVEL, groups: SUBGROUP_LEVEL } as const;

function accepting({ caller, today }: Viewer, what: keyof typeof ACCEPTING): Condition {
  const living = `not ${isEnding("n.id")}`;
  if (caller?.admin) return { sql: living, values: [] };
  const level = `select max(m.access_level) from members m
    join namespace_ancestors ma on ma.ancestor_id = m.namespace_id
    where ma.namespace_id = n.id and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)`;
  const values = [caller?.id ?? 0, today];
  return { sql: `${living} and (${level}) >= ${ACCEPTING[what]}`, values };
}

/** Where a list of what is marked for deletion may start. */
function startsOf({ active, markedOn: day }: GroupFilter): Condition[] {
  const marked = markedOn("n", day);
  return [
    ...(marked ? [idsOf("namespaces n", marked)] : []),
    ...(active === false ? [{ sql: ENDING, values: [] }] : []),
  ];
}

function filtered(viewer: Viewer, filter: GroupFilter): Condition {
  const { parentId, ancestorId, search, skip = [], role, member, active } = filter;
  const skipped = skip.length > 0 ? placeholders(skip) : undefined;
  return all([
    when("n.kind = 'group'"),
    role || member ? memberGroups(viewer, role) : visibleGroups(viewer),
    filter.accepting && accepting(viewer, filter.accepting),
    active === undefined ? undefined : when(`${active ? "not " : ""}${isEnding("n.id")}`),
    markedOn("n", filter.markedOn),
    when("n.visibility + 0 = ?", filter.visibility),
    filter.top ? when("n.parent_id is null") : undefined,
    when("n.parent_id = ?", parentId),
    // There are few subgroups among all groups: reading these in their order would pass over all of them.
    when("a.ancestor_id = ? and a.depth > 0 and n.id = a.namespace_id", ancestorId),
    search ? contains(["n.name", "n.path"], search) : undefined,
    skipped && when(`n.id not in (${skipped.sql})`, ...skipped.values),
    when(
      "n.id not in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
      filter.notBelow,
    ),
    when(
      "n.id in (select ancestor_id from namespace_ancestors where namespace_id = ?)",
      filter.above,
    ),
    when(
      "n.id in (select target_group_id from job_token_groups where project_id = ?)",
      filter.allowedIn,
    ),
  ]);
}

/** One group as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, groupId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from namespaces n where n.id = ?`, [
    groupId,
  ]);
  return found as Value[];
}

/** Whether any direct subgroups or projects of a group are more visible than a level. */
export async function moreVisible(
  db: Reader,
  groupId: number,
  level: number,
): Promise<{ groups: boolean; projects: boolean }> {
  const found = await db.rows(
    `select 'group' where exists (select 1 from namespaces where parent_id = ? and visibility > ?)
     union all
     select 'project' where exists (select 1 from projects where namespace_id = ? and visibility > ?)`,
    [groupId, level, groupId, level],
  );
  const kinds = found.map(([kind]) => kind);
  return { groups: kinds.includes("group"), projects: kinds.includes("project") };
}

/** Whether a direct subgroup of a group has this name. */
export async function isNameTaken(db: Reader, parentId: number, name: string): Promise<boolean> {
  const found = await db.rows(
    "select 1 from namespaces where kind = 'group' and name = ? and parent_id = ? limit 1",
    [name, parentId],
  );
  return found.length > 0;
}
