import type { Reader, Value } from "../store/port.ts";
import type { Person } from "./auth.ts";
import { forbidden, notFound } from "./errors.ts";

/** Access levels, with GitLab's numbers. */
export const ROLES = {
  guest: 10,
  reporter: 20,
  developer: 30,
  maintainer: 40,
  owner: 50,
} as const;
export type Role = keyof typeof ROLES;

/** The role of an access level, if it has one. */
export function roleOf(accessLevel: number): Role | undefined {
  return (Object.keys(ROLES) as Role[]).find((role) => ROLES[role] === accessLevel);
}

/** Visibility levels, with GitLab's numbers: who may read a group or project without being a member. */
export const VISIBILITIES = { private: 0, internal: 10, public: 20 } as const;
export type Visibility = keyof typeof VISIBILITIES;

/** Visibility words by their number, for presenters. */
export const VISIBILITY_WORDS: Readonly<Record<number, Visibility>> = {
  0: "private",
  10: "internal",
  20: "public",
};

/** The group or project a path names, and what the caller may do there. */
export interface Source {
  readonly kind: "group" | "project";
  readonly id: number;
  readonly fullPath: string;
  readonly visibility: number;
  /** The column that refers to this owner in tables for both groups and projects. */
  readonly column: "namespace_id" | "project_id";
  /** The group itself, or the project's namespace: inherited records are looked up there. */
  readonly namespaceId: number;
  /** The caller's highest access level, own or inherited; 0 for none; 100 for administrators. */
  readonly level: number;
  /** The enabled features of a project; all features for a group. */
  readonly areas: readonly Area[];
  /** Whether it is an archived project, which can't be changed. */
  readonly archived: boolean;
}

/** The features a project can disable. */
const AREAS = ["issues", "merge_requests", "snippets", "wiki"] as const;
export type Area = (typeof AREAS)[number];

/** The part of a project that a route belongs to. */
export interface Part {
  /** The part is available while one of these features is enabled. */
  readonly areas: readonly Area[];
  /** Whether the route makes changes that others see. */
  readonly writes: boolean;
  /** Whether disabled features are left out of the answer instead of refused. */
  readonly leavesOut: boolean;
}

/** Features of the parts of projects, by the part's word in paths. Other routes also work in archived projects. */
const PARTS: Readonly<Record<string, readonly Area[]>> = {
  issues: ["issues"],
  labels: ["issues", "merge_requests"],
  merge_requests: ["merge_requests"],
  milestones: ["issues", "merge_requests"],
  snippets: ["snippets"],
  wikis: ["wiki"],
};

/** Actions that affect only the caller. */
const PERSONAL = /\/(subscribe|unsubscribe|todo)$/;

/**
 * The part of a project that a route belongs to, by its path; `undefined` for the project itself, its members, badges
 * and the like, and for routes outside of projects.
 */
export function partOf({ method, path }: { method: string; path: string }): Part | undefined {
  const word = /^\/projects\/:id\/(\w+)/.exec(path)?.[1] ?? "";
  const areas = PARTS[word];
  if (!areas) return undefined;
  const reads = method === "GET";
  return { areas, writes: !reads && !PERSONAL.test(path), leavesOut: reads && word === "issues" };
}

/** Whether anyone at all can add or change something in an area of a project. */
export function isWritable(source: Source, area: Area): boolean {
  return !source.archived && source.areas.includes(area);
}

/**
 * Checks that a part of a project is enabled, and refuses changes to archived projects. As in GitLab, this applies to
 * administrators, too.
 *
 * @throws ApiError 403
 */
export function requirePart(source: Source, { areas, writes, leavesOut }: Part): void {
  const isOn = leavesOut || areas.some((area) => source.areas.includes(area));
  if (!isOn || (writes && source.archived)) throw forbidden();
}

const ADMIN_LEVEL = 100;

/** The caller as SQL conditions need them: who they are, and the day on which memberships must be valid. */
export interface Viewer {
  readonly caller: Person | undefined;
  /** `YYYY-MM-DD`: memberships that expire on this day or before have expired. */
  readonly today: string;
}

/** Every row `v` of users in a query, instead of one caller: for finding which of many users may read something. */
export interface EachUser {
  readonly each: "v";
  /** As in {@link Viewer}. */
  readonly today: string;
}

const NAMESPACE_LEVEL = `select max(m.access_level) from members m
  join namespace_ancestors a on a.ancestor_id = m.namespace_id
  where a.namespace_id = n.id and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)`;

const PROJECT_LEVEL = `select max(m.access_level) from members m
  where m.project_id = p.id and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)`;

/**
 * Finds the group or project a path parameter names, by id if it is all digits, else by full path.
 *
 * @throws ApiError 404 naming the kind, if there is none or the caller may not read it
 */
export async function findSource(
  db: Reader,
  kind: Source["kind"],
  idOrPath: string,
  viewer: Viewer,
): Promise<Source> {
  const source =
    kind === "group"
      ? await findGroup(db, idOrPath, viewer)
      : await findProject(db, idOrPath, viewer);
  const readable =
    source &&
    (source.level > 0 || isOpenTo(viewer, source) || (await isMemberBelow(db, source, viewer)));
  if (!readable) throw notFound(kind === "group" ? "Group" : "Project");
  return source;
}

/** What to look up by, and the value; `undefined` if the text can be neither an id nor a path. */
function identity(idOrPath: string): { column: "id" | "path"; value: Value } | undefined {
  // PostgreSQL accepts no texts with a NUL.
  if (idOrPath.includes("\0")) return undefined;
  if (!/^\d+$/.test(idOrPath)) return { column: "path", value: idOrPath };
  const id = Number(idOrPath);
  return Number.isSafeInteger(id) ? { column: "id", value: id } : undefined;
}

interface GroupRow {
  id: number;
  full_path: string;
  visibility: number;
  level: number | null;
}

// Built once: a newly concatenated text would be hashed again to find its statement.
const GROUP = `select n.id, n.full_path, n.visibility, (${NAMESPACE_LEVEL}) as level
  from namespaces n where n.kind = 'group' and`;
const GROUP_BY = {
  id: `${GROUP} n.id = ?`,
  path: `${GROUP} lower(n.full_path) = lower(?)`,
};

async function findGroup(
  db: Reader,
  idOrPath: string,
  viewer: Viewer,
): Promise<Source | undefined> {
  const by = identity(idOrPath);
  if (!by) return undefined;
  const row = await db.one<GroupRow>(GROUP_BY[by.column], [
    viewer.caller?.id ?? 0,
    viewer.today,
    by.value,
  ]);
  return (
    row && {
      kind: "group",
      id: row.id,
      fullPath: row.full_path,
      visibility: row.visibility,
      column: "namespace_id",
      namespaceId: row.id,
      level: viewer.caller?.admin ? ADMIN_LEVEL : (row.level ?? 0),
      areas: AREAS,
      archived: false,
    }
  );
}

interface ProjectRow extends GroupRow {
  namespace_id: number;
  own_level: number | null;
  personal: number;
  archived: number;
  issues_enabled: number;
  merge_requests_enabled: number;
  snippets_enabled: number;
  wiki_enabled: number;
}

const PROJECT = `select p.id, p.full_path, p.visibility, p.namespace_id, p.archived, p.issues_enabled,
    p.merge_requests_enabled, p.snippets_enabled, p.wiki_enabled, (${NAMESPACE_LEVEL}) as level,
    (${PROJECT_LEVEL}) as own_level, case when n.owner_id = ? then 1 else 0 end as personal
  from projects p join namespaces n on n.id = p.namespace_id where`;
const PROJECT_BY = {
  id: `${PROJECT} p.id = ?`,
  path: `${PROJECT} lower(p.full_path) = lower(?)`,
};

async function findProject(
  db: Reader,
  idOrPath: string,
  viewer: Viewer,
): Promise<Source | undefined> {
  const by = identity(idOrPath);
  if (!by) return undefined;
  const callerId = viewer.caller?.id ?? 0;
  const row = await db.one<ProjectRow>(PROJECT_BY[by.column], [
    callerId,
    viewer.today,
    callerId,
    viewer.today,
    callerId,
    by.value,
  ]);
  if (!row) return undefined;
  const level = Math.max(row.level ?? 0, row.own_level ?? 0, row.personal === 1 ? ROLES.owner : 0);
  return {
    kind: "project",
    id: row.id,
    fullPath: row.full_path,
    visibility: row.visibility,
    column: "project_id",
    namespaceId: row.namespace_id,
    level: viewer.caller?.admin ? ADMIN_LEVEL : level,
    areas: AREAS.filter((area) => row[`${area}_enabled`] === 1),
    archived: row.archived === 1,
  };
}

/** Members of anything below a group may read the group, as in GitLab. */
async function isMemberBelow(db: Reader, { kind, id }: Source, viewer: Viewer): Promise<boolean> {
  if (kind === "project" || !viewer.caller) return false;
  return (await db.one(MEMBER_BELOW, [id, viewer.caller.id, viewer.today])) !== undefined;
}

const MEMBER_BELOW = `select 1 as found from namespace_ancestors a
  join members m on m.namespace_id = a.namespace_id
    or m.project_id in (select id from projects where namespace_id = a.namespace_id)
  where a.ancestor_id = ? and m.user_id = ? and (m.expires_at is null or m.expires_at > ?) limit 1`;

/** Groups and projects with a visibility above this one can be read without membership. */
export function floorOf({ caller }: Viewer): number {
  if (caller?.admin) return -1;
  return caller && !caller.external ? VISIBILITIES.private : VISIBILITIES.internal;
}

/** Whether the caller can read a group or project, including its code, without membership. */
export function isOpenTo(viewer: Viewer, { visibility }: Pick<Source, "visibility">): boolean {
  return visibility > floorOf(viewer);
}

/** A piece of SQL with the values of its placeholders. */
export interface Condition {
  sql: string;
  values: Value[];
}

/** The viewer's id, as SQL. */
export function idOf(viewer: Viewer | EachUser): Condition {
  if ("each" in viewer) return { sql: "v.id", values: [] };
  return { sql: "?", values: [viewer.caller?.id ?? 0] };
}

/** The condition under which the viewer may read a row `p` of projects. */
export function visibleProjects(viewer: Viewer | EachUser): Condition {
  return openOrMember(viewer, "guest");
}

/** The condition for projects that need no membership or in which the viewer has at least `role`. */
function openOrMember(viewer: Viewer | EachUser, role: Role): Condition {
  if ("each" in viewer) {
    const { sql, values } = memberProjects(viewer, role);
    const floor = `case when v.external = 1 then ${VISIBILITIES.internal} else ${VISIBILITIES.private} end`;
    return { sql: `(v.admin = 1 or p.visibility > ${floor} or ${sql})`, values };
  }
  if (viewer.caller?.admin) return { sql: "1 = 1", values: [] };
  if (!viewer.caller) return { sql: "p.visibility > ?", values: [floorOf(viewer)] };
  const { sql, values } = memberProjects(viewer, role);
  return { sql: `(p.visibility > ? or ${sql})`, values: [floorOf(viewer), ...values] };
}

/**
 * The condition under which the caller has at least `role` in a row `p` of projects: as its member, as a member of a
 * group above it, or because it is in their own namespace. Its cost grows with the caller's memberships, not with the
 * table.
 */
export function memberProjects(viewer: Viewer | EachUser, role: Role = "guest"): Condition {
  const id = idOf(viewer);
  const membership = [...id.values, viewer.today, ROLES[role]];
  return {
    sql: `(p.namespace_id in (
        select a.namespace_id from members m
        join namespace_ancestors a on a.ancestor_id = m.namespace_id
        where m.user_id = ${id.sql} and (m.expires_at is null or m.expires_at > ?) and m.access_level >= ?
        union all
        select id from namespaces where owner_id = ${id.sql})
      or p.id in (
        select m.project_id from members m
        where m.user_id = ${id.sql} and (m.expires_at is null or m.expires_at > ?) and m.access_level >= ?
          and m.project_id is not null))`,
    values: [...membership, ...id.values, ...membership],
  };
}

/**
 * The condition under which the caller may read the code, and so the pushes, of a row `p` of projects that they can
 * read. As in GitLab, guests may not if they see the project only because of their membership.
 */
export function visibleCode(viewer: Viewer | EachUser): Condition {
  return openOrMember(viewer, "reporter");
}

/** The condition under which the caller may read a row `n` of namespaces that is a group. */
export function visibleGroups(viewer: Viewer): Condition {
  if (viewer.caller?.admin) return { sql: "1 = 1", values: [] };
  if (!viewer.caller) return { sql: "n.visibility > ?", values: [floorOf(viewer)] };
  const member = memberGroups(viewer);
  return {
    sql: `(n.visibility > ? or ${member.sql})`,
    values: [floorOf(viewer), ...member.values],
  };
}

/**
 * The condition under which the caller has at least `role` in a row `n` of namespaces. Without a role, belonging to
 * anything below the group is enough.
 */
export function memberGroups(viewer: Viewer, role?: Role): Condition {
  const membership = [viewer.caller?.id ?? 0, viewer.today];
  const inherited = `select a.namespace_id from members m
      join namespace_ancestors a on a.ancestor_id = m.namespace_id
      where m.user_id = ? and (m.expires_at is null or m.expires_at > ?) and m.access_level >= ?`;
  if (role) return { sql: `n.id in (${inherited})`, values: [...membership, ROLES[role]] };
  return {
    sql: `n.id in (${inherited}
      union all
      select a.ancestor_id from members m
      join namespace_ancestors a on a.namespace_id = m.namespace_id
      where m.user_id = ? and (m.expires_at is null or m.expires_at > ?)
      union all
      select a.ancestor_id from members m
      join projects q on q.id = m.project_id
      join namespace_ancestors a on a.namespace_id = q.namespace_id
      where m.user_id = ? and (m.expires_at is null or m.expires_at > ?))`,
    values: [...membership, ROLES.guest, ...membership, ...membership],
  };
}

/**
 * Checks the caller's role in a group or project they can read.
 *
 * @throws ApiError 403
 */
export function requireRole(source: Source, role: Role): void {
  if (source.level < ROLES[role]) throw forbidden();
}
