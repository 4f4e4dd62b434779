import { membershipsIn } from "../../core/access/memberships.ts";
import { type Heir, inheritedBy, type Owner, ownedBy } from "../../core/access/owner.ts";
import type { Source } from "../../core/access/source.ts";
import { NOT_DELETED_USER, type Viewer, visibleLinks } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import {
  all,
  among,
  any,
  belowGroup,
  type Condition,
  projectsBelow,
  when,
} from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { removeGrantsOfStrangers } from "../protected-refs/grants.ts";
import * as users from "../users/queries.ts";
import type { Place } from "./followers.ts";

const PEOPLE = `users u on u.id = m.user_id and ${NOT_DELETED_USER}
  left join users mc on mc.id = m.created_by_id
  left join member_roles mbr on mbr.id = (select own.member_role_id from members own where own.id = m.id)`;
const MEMBERS = `members m join ${PEOPLE}`;

/** A membership as stored. */
export interface Member {
  id: number;
  user_id: number;
  access_level: number;
  /** The day it expires, `YYYY-MM-DD`, or `null`. */
  expires_at: string | null;
  updated_at: number;
}

/** The direct members of a group or project. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  owner: Owner,
  filter: MemberFilter,
  viewer: Viewer,
): Promise<RowPage> {
  const where = all([ownedBy("m", owner), filtered(filter, viewer)]);
  return paginate(db, presenter, page, {
    from: `${MEMBERS} where ${where.sql}`,
    values: where.values,
    order: "m.id",
  });
}

/**
 * All who belong to a group or project: its members, those of its ancestor groups, and those of groups that are invited to one
 * of these. Users with several memberships are listed once, with the highest level; expired memberships only count if there
 * is no other.
 */
export function listAll(
  db: Reader,
  presenter: Presenter,
  page: Page,
  source: Source,
  filter: MemberFilter,
  viewer: Viewer,
): Promise<RowPage> {
  const best = bestIn(source, viewer);
  const where = filtered(filter, viewer);
  return paginate(db, presenter, page, {
    from: `${best.sql} join ${PEOPLE} where ${where.sql}`,
    values: [...best.values, ...where.values],
    order: "m.id",
  });
}

/** The best membership of each who belongs to a group or project, as a table `m`. @param userId whose alone */
function bestIn(source: Source, viewer: Viewer, userId?: number): Condition {
  const memberships = membershipsIn(source, visibleLinks(viewer, source));
  return {
    sql: `(select * from (select x.*, row_number() over (partition by x.user_id
        order by case when x.expires_at <= ? then 1 else 0 end, x.access_level desc, x.id) as place
      from (${memberships.sql}) as x${userId === undefined ? "" : " where x.user_id = ?"}) as ranked where place = 1) as m`,
    values: [viewer.today, ...memberships.values, ...(userId === undefined ? [] : [userId])],
  };
}

/** Which members a list has. */
interface MemberFilter {
  /** A part of their names. */
  readonly query?: string | undefined;
  readonly user_ids?: readonly number[] | undefined;
  /** Whom it does not have. */
  readonly skip_users?: readonly number[] | undefined;
}

function filtered(
  { query, user_ids, skip_users = [] }: MemberFilter,
  { caller }: Viewer,
): Condition {
  const skipped = skip_users.length > 0 ? among("m.user_id", skip_users) : undefined;
  return all([
    query ? users.searched(query, caller) : undefined,
    user_ids && user_ids.length > 0 ? among("m.user_id", user_ids) : undefined,
    skipped && { sql: `not (${skipped.sql})`, values: skipped.values },
  ]);
}

/** One membership as a row of its presenter. */
export const row = rowReader(`${MEMBERS} where m.id = ?`);

/** A user's direct membership of a group or project, or `undefined`. */
export function find(db: Reader, owner: Owner, userId: number): Awaitable<Member | undefined> {
  return db.one<Member>(
    `select id, user_id, access_level, expires_at, updated_at from members where ${owner.column} = ? and user_id = ?`,
    [owner.id, userId],
  );
}

/** The best membership of a user who belongs to a group or project, as a row of its presenter, or `undefined`. */
export async function bestRow(
  db: Reader,
  presenter: Presenter,
  source: Source,
  userId: number,
  viewer: Viewer,
): Promise<Value[] | undefined> {
  const best = bestIn(source, viewer, userId);
  const sql = `select ${presenter.columns} from ${best.sql} join ${PEOPLE}`;
  return (await db.rows(sql, best.values))[0];
}

/** A user's membership with the highest level, direct or of an ancestor group, or `undefined`. */
export function findBest(db: Reader, source: Heir, userId: number): Awaitable<Member | undefined> {
  const scope = inheritedBy("m", source);
  return db.one<Member>(
    `select m.id, m.user_id, m.access_level, m.expires_at, m.updated_at from members m
     where m.user_id = ? and ${scope.sql} order by m.access_level desc, m.id limit 1`,
    [userId, ...scope.values],
  );
}

/** The highest level a user inherits from ancestor groups, with that group's name; direct memberships do not count. */
export function inherited(
  db: Reader,
  source: Source,
  userId: number,
  today: string,
): Awaitable<{ access_level: number; name: string } | undefined> {
  return db.one<{ access_level: number; name: string }>(
    `select m.access_level, n.name from members m
     join namespace_ancestors a on a.ancestor_id = m.namespace_id
     join namespaces n on n.id = m.namespace_id
     where a.namespace_id = ? and a.depth >= ? and m.user_id = ?
       and (m.expires_at is null or m.expires_at > ?)
     order by m.access_level desc, a.depth limit 1`,
    [source.namespaceId, source.kind === "group" ? 1 : 0, userId, today],
  );
}

/** Adds a membership and returns its id. */
export function insert(
  db: Database,
  owner: Owner,
  member: {
    user_id: number;
    access_level: number;
    expires_at?: string | null | undefined;
    member_role_id?: number | null | undefined;
    created_by_id?: number | undefined;
  },
  now: number,
): Promise<number> {
  return insertRow(db, "members", {
    [owner.column]: owner.id,
    user_id: member.user_id,
    access_level: member.access_level,
    expires_at: member.expires_at ?? null,
    member_role_id: member.member_role_id ?? null,
    created_by_id: member.created_by_id ?? null,
    created_at: now,
    updated_at: now,
  });
}

/** Whether a group has a direct owner on a day, other than the given membership. */
export async function hasOtherOwner(
  db: Reader,
  groupId: number,
  memberId: number,
  today: string,
): Promise<boolean> {
  const found = await db.rows(
    `select 1 from members where namespace_id = ? and access_level = 50 and id <> ?
       and (expires_at is null or expires_at > ?) limit 1`,
    [groupId, memberId, today],
  );
  return found.length > 0;
}

/** Ends a membership, and what its user may do by name. */
export async function remove(
  db: Database,
  { id, user_id }: Pick<Member, "id" | "user_id">,
): Promise<void> {
  await db.run("delete from members where id = ?", [id]);
  await removeGrantsOfStrangers(db, [user_id]);
}

/** A membership that was deleted. */
interface RemovedMember {
  user_id: number;
  access_level: number;
  expires_at: string | null;
  /** The project; `null` for a membership of a group. */
  project_id: number | null;
  namespace_id: number | null;
  /** The full path of the project or group. */
  full_path: string;
}

/** The group or project that a membership was of. */
export const placeOf = ({ project_id, namespace_id, full_path: fullPath }: RemovedMember): Place =>
  project_id === null
    ? { kind: "group", column: "namespace_id", id: namespace_id as number, fullPath }
    : { kind: "project", column: "project_id", id: project_id, fullPath };

const REMOVED = `user_id, access_level, expires_at, project_id, namespace_id, coalesce(
  (select p.full_path from projects p where p.id = members.project_id),
  (select n.full_path from namespaces n where n.id = members.namespace_id)) as full_path`;

/** Deletes memberships that have expired on a day, at most `batch` of them, and returns them. */
export async function removeExpired(
  db: Database,
  today: string,
  batch: number,
): Promise<RemovedMember[]> {
  const removed = await db.all<RemovedMember>(
    `delete from members where id in (select id from members where expires_at <= ? order by expires_at, id limit ?)
     returning ${REMOVED}`,
    [today, batch],
  );
  await removeGrantsOfStrangers(
    db,
    removed.map(({ user_id }) => user_id),
  );
  return removed;
}

/**
 * Deletes all memberships of a user in a group and below it, and returns them.
 *
 * @param today `YYYY-MM-DD`, if the memberships of groups are kept that have no other owner on that day
 */
export async function removeBelow(
  db: Database,
  groupId: number,
  userId: number,
  today?: string,
): Promise<RemovedMember[]> {
  const below = belowGroup("namespace_id", groupId);
  const last = when(
    `not (access_level = 50 and namespace_id is not null and not exists (
       select 1 from namespace_ancestors a join members o on o.namespace_id = a.ancestor_id
       where a.namespace_id = members.namespace_id and o.access_level = 50 and o.user_id <> members.user_id
         and (o.expires_at is null or o.expires_at > ?)))`,
    today,
  );
  const where = all([
    when("user_id = ?", userId),
    any([
      below,
      { sql: `project_id in (select id from projects where ${below.sql})`, values: below.values },
    ]),
    last,
  ]);
  const removed = await db.all<RemovedMember>(
    `delete from members where ${where.sql} returning ${REMOVED}`,
    where.values,
  );
  await removeGrantsOfStrangers(db, [userId]);
  return removed;
}

/** Takes a user from the assignees of all issues and merge requests of a project, or of a group and what is below it. */
export async function unassign(db: Database, source: Source, userId: number): Promise<void> {
  const within =
    source.kind === "project"
      ? { sql: "o.project_id = ?", values: [source.id] }
      : projectsBelow("o.project_id", source.id);
  for (const one of ["issue", "merge_request"]) {
    await db.run(
      `delete from ${one}_assignees where user_id = ? and ${one}_id in (
         select o.id from ${one}_assignees w join ${one}s o on o.id = w.${one}_id where w.user_id = ? and ${within.sql})`,
      [userId, userId, ...within.values],
    );
  }
}

/**
 * Whether a group, or one below it, would have no owner, own or inherited, without a user's memberships there.
 *
 * @param today `YYYY-MM-DD`
 */
export async function isLastOwnerBelow(
  db: Reader,
  groupId: number,
  userId: number,
  today: string,
): Promise<boolean> {
  const below = belowGroup("o.namespace_id", groupId);
  const found = await db.rows(
    `select 1 from namespace_ancestors g join members m on m.namespace_id = g.namespace_id
     where g.ancestor_id = ? and m.user_id = ? and m.access_level = 50
       and (m.expires_at is null or m.expires_at > ?)
       and not exists (
         select 1 from namespace_ancestors a join members o on o.namespace_id = a.ancestor_id
         where a.namespace_id = g.namespace_id and o.access_level = 50
           and (o.expires_at is null or o.expires_at > ?)
           and (o.user_id <> ? or not ${below.sql}))
     limit 1`,
    [groupId, userId, today, today, userId, ...below.values],
  );
  return found.length > 0;
}

/** A direct membership with its user's names. */
export interface MemberDetails {
  username: string;
  name: string;
  access_level: number;
  expires_at: string | null;
}

/** All direct members of a group or project, or one of them, in the order they were added. */
export function listDetails(db: Reader, owner: Owner, userId?: number): Awaitable<MemberDetails[]> {
  const where = all([ownedBy("m", owner), when("m.user_id = ?", userId)]);
  return db.all<MemberDetails>(
    `select u.username, u.name, m.access_level, m.expires_at from ${MEMBERS}
     where ${where.sql} order by m.id`,
    where.values,
  );
}
