import { linkedLevel } from "../../core/access/memberships.ts";
import { ownedBy } from "../../core/access/owner.ts";
import type { Role } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import {
  isFrozen,
  memberGroupIds,
  memberGroups,
  type Viewer,
  visibleGroups,
} from "../../core/access/visibility.ts";
import { idsOf, startOf } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { aboveNamespace, all, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import {
  type AttributeFilter,
  embedAttributes,
  haveAttributes,
  withAttributes,
} from "../custom-attributes/queries.ts";
import { CREATION_LEVEL, SUBGROUP_LEVEL } from "../namespaces/kept.ts";
import { FROZEN, markedOn } from "../namespaces/marked.ts";
import { NAMESPACE_SEARCH } from "../namespaces/search.ts";

/** Filters and order of a list of groups. */
export interface GroupFilter extends AttributeFilter {
  /** Only direct subgroups of this group. */
  parentId?: number | undefined;
  /** Only subgroups of this group, and what is below them. */
  ancestorId?: number | undefined;
  search?: string | undefined;
  skip?: readonly number[] | undefined;
  /** Only groups that are not to be deleted, or only these. */
  active?: boolean | undefined;
  /** Only groups that were archived themselves, or none of these. */
  archived?: boolean | undefined;
  /** Only groups that were marked for deletion on this day. */
  markedOn?: string | undefined;
  visibility?: number | undefined;
  /** Only groups that are in no other one. */
  top?: boolean | undefined;
  /** No group that is this one or below it; or only these. */
  notBelow?: number | undefined;
  below?: number | undefined;
  /** Only groups on the list of those whose CI jobs may access this project. */
  allowedIn?: number | undefined;
  /** Only this namespace, if it is a group, and those that it is in; and groups that are invited, if these are asked for. */
  above?: number | undefined;
  /** Only groups that are invited to this group or project, or to a group above it. */
  invitedTo?: Invited | undefined;
  /** Only groups that this group is invited to. */
  sharedWith?: number | undefined;
  /** Only groups that this project may still be shared with. */
  shareableWith?: Source | undefined;
  /** Only groups in which the caller has at least this role. */
  role?: Role | undefined;
  /** Only groups in which the caller may create these: as `abilities.ts` of projects and groups say, for many groups. */
  accepting?: keyof typeof ACCEPTING | undefined;
  /** Only groups the caller belongs to. */
  member?: boolean | undefined;
  orderBy: "name" | "path" | "id";
  sort: "asc" | "desc";
}

/** Where groups are invited to, by which links. */
export interface Invited {
  readonly source: Source;
  /** Its own links, and those of groups above it. */
  readonly relation: readonly ("direct" | "inherited")[];
  /** The access level that links give at least. */
  readonly level?: number | undefined;
}

/** A query for the ids of groups that are invited. */
function invited({ source, relation, level = 0 }: Invited): Condition {
  const { column, id, namespaceId } = source;
  const own = ownedBy("l", source);
  const above = aboveNamespace("l.namespace_id", namespaceId);
  const conditions = [
    ...(relation.includes("direct") ? [own] : []),
    ...(relation.includes("inherited")
      ? [all([above, column === "namespace_id" ? when("l.namespace_id <> ?", id) : undefined])]
      : []),
  ];
  const queries = conditions.map(
    ({ sql }) => `select l.group_id as id from group_links l where ${sql} and l.access_level >= ?`,
  );
  return {
    sql: queries.length > 0 ? queries.join(" union ") : "select 0 as id",
    values: conditions.flatMap(({ values }) => [...values, level]),
  };
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
  const start = await startOf(db, "n", startsOf(viewer, filter), () =>
    searchStart(db, NAMESPACE_SEARCH, "n", search),
  );
  const listed = await paginateFrom(db, presenter, page, start, {
    alias: "n",
    tables,
    presented: { sql: tables, values: [] },
    where: filtered(viewer, filter),
    order: orderBy === "id" ? `n.id ${sort}` : `n.${orderBy} ${sort}, n.id ${sort}`,
  });
  await embedAttributes(db, listed.rows, presenter, "namespace_id", filter);
  return listed;
}

const ACCEPTING = { projects: CREATION_LEVEL, groups: SUBGROUP_LEVEL } as const;

const LINKED = linkedLevel("n.id");

function accepting({ caller, today }: Viewer, what: keyof typeof ACCEPTING): Condition {
  const living = `not ${isFrozen("n.id")}`;
  if (caller?.admin) return { sql: living, values: [] };
  const level = `select max(m.access_level) from members m
    join namespace_ancestors ma on ma.ancestor_id = m.namespace_id
    where ma.namespace_id = n.id and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)`;
  const values = [caller?.id ?? 0, today, caller?.id ?? 0, today, today];
  const least = ACCEPTING[what];
  return { sql: `${living} and ((${level}) >= ${least} or (${LINKED}) >= ${least})`, values };
}

/** A query for the ids of groups that a group is invited to. */
const shared = (groupId: number): Condition => ({
  sql: "select namespace_id as id from group_links where group_id = ? and namespace_id is not null",
  values: [groupId],
});

/** The condition that a project may still be shared with a group: it is neither in the group nor shared with it. */
function shareable({ id, namespaceId }: Source): Condition {
  return {
    sql: `n.id not in (select ancestor_id from namespace_ancestors where namespace_id = ?)
      and n.id not in (select group_id from group_links where project_id = ?)`,
    values: [namespaceId, id],
  };
}

const isIn = ({ sql, values }: Condition): Condition => ({ sql: `n.id in (${sql})`, values });

/** Where a list may start: at what is marked for deletion, at invited groups, or at those that the caller belongs to. */
function startsOf(viewer: Viewer, filter: GroupFilter): Condition[] {
  const { above, active, archived, invitedTo, member, role, sharedWith, markedOn: day } = filter;
  const marked = markedOn("n", day);
  const own = (member || role) && !viewer.caller?.admin && memberGroupIds(viewer, role);
  return [
    ...withAttributes("namespace_id", filter),
    ...(invitedTo ? [around(invitedTo, above)] : []),
    ...(sharedWith === undefined ? [] : [shared(sharedWith)]),
    ...(marked ? [idsOf("namespaces n", marked)] : []),
    ...(active === false || archived === true ? [{ sql: FROZEN, values: [] }] : []),
    ...(own ? [{ sql: `select distinct id from (${own.sql}) as own`, values: own.values }] : []),
  ];
}

const ABOVE = "select ancestor_id as id from namespace_ancestors where namespace_id = ?";

/** A query for the ids of groups that are invited, and of those above a namespace, if these are asked for, too. */
function around(invitedTo: Invited, above: number | undefined): Condition {
  const { sql, values } = invited(invitedTo);
  if (above === undefined) return { sql, values };
  return { sql: `${ABOVE} union ${sql}`, values: [above, ...values] };
}

function filtered(viewer: Viewer, filter: GroupFilter): Condition {
  const { parentId, ancestorId, search, skip = [], role, member, active } = filter;
  const { above, invitedTo } = filter;
  const skipped = skip.length > 0 ? placeholders(skip) : undefined;
  return all([
    when("n.kind = 'group'"),
    role || member ? memberGroups(viewer, role) : visibleGroups(viewer),
    filter.accepting && accepting(viewer, filter.accepting),
    active === undefined ? undefined : when(`${active ? "not " : ""}${isFrozen("n.id")}`),
    when("n.archived + 0 = ?", filter.archived === undefined ? undefined : Number(filter.archived)),
    markedOn("n", filter.markedOn),
    when("n.visibility + 0 = ?", filter.visibility),
    ...haveAttributes("namespace_id", "n.id", filter),
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
    invitedTo && isIn(around(invitedTo, above)),
    invitedTo ? undefined : when(`n.id in (${ABOVE})`, above),
    filter.sharedWith === undefined ? undefined : isIn(shared(filter.sharedWith)),
    filter.shareableWith && shareable(filter.shareableWith),
    when(
      "n.id in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
      filter.below,
    ),
    when(
      "n.id in (select target_group_id from job_token_groups where project_id = ?)",
      filter.allowedIn,
    ),
  ]);
}

/** One group as a row of its presenter. */
export const row = rowReader("namespaces n where n.id = ?");

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
