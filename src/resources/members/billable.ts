import { ROLES, type Role, roleOf } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { BEING_DELETED, type Viewer } from "../../core/access/visibility.ts";
import { ApiError, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { startFrom } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { type Route, routes } from "../../core/resource.ts";
import {
  all,
  among,
  belowGroup,
  type Condition,
  projectsBelow,
  when,
} from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { isBot, userSummaryFields } from "../users/json.ts";
import * as users from "../users/queries.ts";
import { changeOf, removeFromGroup } from "./changes.ts";

/** How somebody belongs to what a group has, by the number that {@link ways} gives it: the first that holds counts. */
const WAYS = ["group_member", "project_member", "group_invite", "project_invite"] as const;
/** Those of these that can be taken from a single person. */
const OWN_WAYS = 2;

const billableMember = presenter({
  ...userSummaryFields,
  last_activity_on: field.date("u.last_activity_on"),
  membership_type: field.text("u.id as membership_of"),
  removable: field.flag("0 as is_removable"),
  created_at: field.instant("u.created_at"),
  last_login_at: field.instant("u.current_sign_in_at"),
});

const wordOf = (level: Value | undefined) => {
  const role: Role | undefined = roleOf(Number(level));
  return role ? `${role[0]?.toUpperCase()}${role.slice(1)}` : null;
};

const membership = presenter({
  id: field.integer("m.id"),
  source_id: field.integer("coalesce(m.project_id, m.namespace_id)"),
  source_full_name: field.text(
    "case when p.id is null then n.full_name else n.full_name || ' / ' || p.name end",
  ),
  source_members_url: field.url(["p.full_path", "n.full_path"], (project, group) =>
    project === null ? `/groups/${group}/-/group_members` : `/${project}/-/project_members`,
  ),
  created_at: field.instant("m.created_at"),
  expires_at: field.date("m.expires_at"),
  access_level: field.nested({
    string_value: field.derived(["m.access_level"], "string", ([level]) => wordOf(level)),
    integer_value: field.integer("m.access_level"),
  }),
});

/** The condition that a membership `m` is of a group, of one below it, or of a project there. */
function within(groupId: number): Condition {
  const group = belowGroup("m.namespace_id", groupId);
  const project = projectsBelow("m.project_id", groupId);
  return { sql: `(${group.sql} or ${project.sql})`, values: [...group.values, ...project.values] };
}

const valid = (alias: string) => `(${alias}.expires_at is null or ${alias}.expires_at > ?)`;

/** Memberships `m` of groups that are invited, by links `l`, to a group, to one below it, or to a project there. */
const INVITED = "group_links l cross join group_link_sources s cross join members m";
const OF_LINK = "s.link_id = l.id and m.namespace_id = s.namespace_id";

function invitedWithin(groupId: number): Condition {
  const group = belowGroup("l.namespace_id", groupId);
  const project = projectsBelow("l.project_id", groupId);
  return {
    sql: `(${group.sql} or ${project.sql}) and ${OF_LINK}`,
    values: [...group.values, ...project.values],
  };
}

/**
 * A query for the `user_id` of all who can do more than guests in a group and what is below it, with the level and the day of
 * each membership and its way, an index of {@link WAYS}.
 */
function ways(groupId: number, { today }: Viewer): Condition {
  const own = within(groupId);
  const invited = invitedWithin(groupId);
  const { guest } = ROLES;
  return {
    sql: `select m.user_id, m.access_level, m.created_at, case when m.project_id is null then 0 else 1 end as way from members m
        where ${own.sql} and m.access_level > ${guest} and ${valid("m")}
      union all
      select m.user_id, case when l.access_level < m.access_level then l.access_level else m.access_level end, m.created_at,
        case when l.project_id is null then 2 else 3 end from ${INVITED}
        where ${invited.sql} and m.access_level > ${guest} and l.access_level > ${guest} and ${valid("m")} and ${valid("l")}`,
    values: [...own.values, today, ...invited.values, today, today],
  };
}

/** Orders of the list: a column, or what is asked of the memberships. */
const ORDERS: Readonly<Record<string, { column?: string; of?: string; sort: "asc" | "desc" }>> = {
  access_level_asc: { of: "max(w.access_level)", sort: "asc" },
  access_level_desc: { of: "max(w.access_level)", sort: "desc" },
  last_joined: { of: "max(w.created_at)", sort: "desc" },
  oldest_joined: { of: "max(w.created_at)", sort: "asc" },
  name_asc: { column: "u.name", sort: "asc" },
  name_desc: { column: "u.name", sort: "desc" },
  last_activity_on_asc: { column: "coalesce(u.last_activity_on, '')", sort: "asc" },
  last_activity_on_desc: { column: "coalesce(u.last_activity_on, '')", sort: "desc" },
  recent_sign_in: { column: "coalesce(u.current_sign_in_at, 0)", sort: "desc" },
  oldest_sign_in: { column: "coalesce(u.current_sign_in_at, 0)", sort: "asc" },
};

function orderOf(sort: string | undefined, groupId: number, viewer: Viewer) {
  const { column, of, sort: direction } = ORDERS[sort ?? ""] ?? { sort: "asc" };
  if (column) return { order: `${column} ${direction}, u.id` };
  if (!of) return { order: "u.id" };
  const { sql, values } = ways(groupId, viewer);
  const order = `(select ${of} from (${sql}) w where w.user_id = u.id) ${direction}, u.id`;
  return { order, orderValues: values };
}

/** The people of a group and what is below it who use a seat: active ones that are no bots, with more rights than guests. */
async function list(
  db: Reader,
  shown: Presenter,
  page: Page,
  { id }: Source,
  viewer: Viewer,
  { search, sort }: { search?: string | undefined; sort?: string | undefined },
): Promise<RowPage> {
  const found = ways(id, viewer);
  const ids = {
    sql: `select distinct w.user_id as id from (${found.sql}) w`,
    values: found.values,
  };
  const start = await startFrom(db, "u", ids);
  const listed = await paginateFrom(db, shown, page, start, {
    alias: "u",
    tables: "users u",
    presented: { sql: "users u", values: [] },
    where: all([
      when("u.state = 'active'"),
      when(`${isBot} = 0`),
      { sql: `u.id in (${ids.sql})`, values: ids.values },
      search ? users.searched(search, viewer.caller) : undefined,
    ]),
    ...orderOf(sort, id, viewer),
  });
  await embedWays(db, listed.rows, shown, id, viewer);
  return listed;
}

/** Fills in how each belongs to the group, and whether that can be taken from them. */
async function embedWays(
  db: Reader,
  rows: readonly Value[][],
  shown: Presenter,
  groupId: number,
  viewer: Viewer,
): Promise<void> {
  if (rows.length === 0) return;
  const [typeAt, removableAt] = [shown.at("membership_type"), shown.at("removable")];
  const whose = among(
    "w.user_id",
    rows.map((row) => row[typeAt] as Value),
  );
  const { sql, values } = ways(groupId, viewer);
  const found = await db.rows(
    `select w.user_id, min(w.way) from (${sql}) w where ${whose.sql} group by w.user_id`,
    [...values, ...whose.values],
  );
  const byUser = new Map(found.map(([userId, way]) => [userId, Number(way)]));
  const owners = await db.rows(
    `select m.user_id from members m where m.namespace_id = ? and m.access_level = ${ROLES.owner} and ${valid("m")} limit 2`,
    [groupId, viewer.today],
  );
  const last = owners.length === 1 ? owners[0]?.[0] : undefined;
  for (const row of rows) {
    const userId = row[typeAt] as Value;
    const way = byUser.get(userId) ?? 0;
    row[typeAt] = WAYS[way] as string;
    row[removableAt] = Number(way < OWN_WAYS && userId !== last);
  }
}

/**
 * Checks that somebody is a billable member of a top-level group.
 *
 * @param most how many of {@link WAYS} count. Default: all
 * @throws ApiError 400 for a group that is in another one, 404 for somebody who does not belong to it
 */
async function requireBillable(
  { db, source, viewer }: { db: Reader; source: Source; viewer: Viewer },
  userId: number,
  most: number = WAYS.length,
): Promise<void> {
  requireTop(source);
  const { sql, values } = ways(source.id, viewer);
  const found = await db.rows(
    `select 1 from (${sql}) w where w.user_id = ? and w.way < ? limit 1`,
    [...values, userId, most],
  );
  if (found.length === 0) throw notFound("User");
}

function requireTop({ fullPath }: Source): void {
  if (fullPath.includes("/")) throw new ApiError(400, { message: "400 Bad request" });
}

const user = { user_id: param.recordId() };
const NAMES = `left join projects p on p.id = m.project_id
  left join namespaces n on n.id = coalesce(m.namespace_id, p.namespace_id)`;
const VISIBLE = `coalesce(p.visibility, n.visibility) > ${BEING_DELETED}`;

const { del, list: listing } = routes({ source: "group", path: "/billable_members" });

/** Those who use a seat in a top-level group, for its owners. */
export const billable: readonly Route[] = [
  listing("", {
    summary:
      "List the people who use a seat in a top-level group or below it: those who can do more than guests",
    role: "owner",
    input: {
      search: param.optional(param.anyText()),
      sort: param.optional(param.choice(Object.keys(ORDERS))),
    },
    presenter: billableMember,
    handle: ({ db, presenter, page, source, viewer, input }) => {
      requireTop(source);
      return list(db, presenter, page, source, viewer, input);
    },
  }),
  listing("/:user_id/memberships", {
    summary: "List the memberships of a billable member in a top-level group and below it",
    role: "owner",
    input: user,
    presenter: membership,
    handle: async (context) => {
      const { db, presenter, page, source, input } = context;
      await requireBillable(context, input.user_id);
      return paginate(db, presenter, page, {
        from: `members m ${NAMES} where m.user_id = ? and ${VISIBLE} and exists (
          select 1 from namespace_ancestors a where a.namespace_id = n.id and a.ancestor_id = ?)`,
        values: [input.user_id, source.id],
        order: "m.id",
      });
    },
  }),
  listing("/:user_id/indirect", {
    summary:
      "List the memberships of a billable member in groups that are invited to a top-level group or below it",
    role: "owner",
    input: user,
    presenter: membership,
    handle: async (context) => {
      const { db, presenter, page, source, input } = context;
      await requireBillable(context, input.user_id);
      return paginate(db, presenter, page, {
        from: `members m ${NAMES} where m.user_id = ? and ${VISIBLE} and exists (
          select 1 from group_link_sources s cross join group_links l left join projects t on t.id = l.project_id
          cross join namespace_ancestors a
          where s.namespace_id = m.namespace_id and l.id = s.link_id
            and a.namespace_id = coalesce(l.namespace_id, t.namespace_id) and a.ancestor_id = ?)`,
        values: [input.user_id, source.id],
        order: "m.id",
      });
    },
  }),
  del("/:user_id", {
    summary: "Remove a billable member from a top-level group and everything below it",
    role: "owner",
    input: user,
    handle: async (context) => {
      await requireBillable(context, context.input.user_id, OWN_WAYS);
      await removeFromGroup(changeOf(context), context.input.user_id);
      return undefined;
    },
  }),
];
