import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { notFound } from "../errors.ts";
import type { Reach } from "./caller.ts";
import { FEATURES, type Feature, usableFeatures } from "./features.ts";
import { groupsOf, linkedLevel, projectsOf } from "./memberships.ts";
import { hasRole, ROLES, type Role } from "./roles.ts";
import { BEING_DELETED, isFrozen, isOpenTo, type Viewer } from "./visibility.ts";

/** The group or project a path names, and what the caller may do there. */
export interface Source {
  /** Whom it was found for: the caller. */
  readonly viewer: Viewer;
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
  /** The caller's level as a member of the project itself, and of a group that it is in or that was invited. */
  readonly memberships: { readonly own: number | null; readonly inherited: number | null };
  /** The features of a project that the caller may use; all for a group, without a wiki that the caller may not read. */
  readonly features: readonly Feature[];
  /** Whether it can't be changed: what is archived or marked for deletion, or in a group that is. */
  readonly archived: boolean;
  /** Whether it is a project whose pipelines and jobs everybody sees who sees the project. */
  readonly hasPublicJobs: boolean;
  /** Whether it is the hidden project that has a group's epics and its wiki: see {@link homePlace}. */
  readonly isHome?: true;
}

const ADMIN_LEVEL = 100;

// The cross join keeps SQLite from starting with the memberships of the caller, which may be thousands.
const NAMESPACE_LEVEL = `select max(m.access_level) from namespace_ancestors a cross join members m
  where a.namespace_id = n.id and m.namespace_id = a.ancestor_id and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)`;

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
  const source = await findVisible(db, kind, idOrPath, viewer);
  if (!source) throw notFound(kind === "group" ? "Group" : "Project");
  return source;
}

/** Like {@link findSource}, but `undefined` if there is none or the caller may not read it. */
export async function findVisible(
  db: Reader,
  kind: Source["kind"],
  idOrPath: string,
  viewer: Viewer,
): Promise<Source | undefined> {
  const named =
    kind === "group"
      ? await findGroup(db, idOrPath, viewer)
      : await findProject(db, idOrPath, viewer);
  const reach = viewer.caller?.reach;
  const own = named?.();
  const source = own && reach && (await isWithin(db, own, reach)) ? named?.(reach.level) : own;
  const isVisible =
    source &&
    source.visibility > BEING_DELETED &&
    (source.level > 0 || isOpenTo(viewer, source) || (await isMemberBelow(db, source, viewer)));
  return isVisible ? source : undefined;
}

/** The path of a hidden project that has the epics of a group, in that group: no project that people make can have it. */
export const HOME_PATH = "-";

/**
 * The hidden project that has a group's epics and its wiki (docs/decisions/0104), as a place with the rights that the caller has in the
 * group. Its id is 0 if the group has had neither yet.
 */
export async function homePlace(db: Reader, group: Source): Promise<Source> {
  const id = await homeOf(db, group.fullPath);
  return { ...group, kind: "project", column: "project_id", id, isHome: true };
}

/** The id of the hidden project that has the epics of the group with a path; 0 if there is none. */
export async function homeOf(db: Reader, groupPath: string): Promise<number> {
  const [row] = await db.rows("select id from projects where lower(full_path) = lower(?)", [
    `${groupPath}/${HOME_PATH}`,
  ]);
  return Number(row?.[0] ?? 0);
}

/** The project that had a path before, if the caller may read it. */
export async function findMoved(
  db: Reader,
  path: string,
  viewer: Viewer,
): Promise<Source | undefined> {
  if (!path.includes("/") || path.includes("\0")) return undefined;
  const [row] = await db.rows("select project_id from project_redirects where path = ?", [
    path.toLowerCase(),
  ]);
  return row && findVisible(db, "project", String(row[0]), viewer);
}

/** What to look up by, and the value; `undefined` if the text can be neither an id nor a path. */
function identity(idOrPath: string): { column: "id" | "path"; value: Value } | undefined {
  // PostgreSQL accepts no texts with a NUL.
  if (idOrPath.includes("\0")) return undefined;
  if (!/^\d+$/.test(idOrPath)) return { column: "path", value: idOrPath };
  const id = Number(idOrPath);
  return Number.isSafeInteger(id) ? { column: "id", value: id } : undefined;
}

const frozen = (namespace: string) =>
  `case when ${isFrozen(namespace)} then 1 else 0 end as frozen`;

interface SourceRow {
  id: number;
  full_path: string;
  visibility: number;
  level: number | null;
  linked_level: number | null;
  frozen: number;
}

interface GroupRow extends SourceRow {
  wiki_level: number;
}

/** More than any level. */
const NOBODY = 1000;

/** SQL of the level that readers of the wiki of a group `n` need: `wiki_access_level`. */
const WIKI_LEVEL = `case when instr(n.kept_settings, '"wiki_access_level":"disabled"') > 0 then ${NOBODY}
  when n.visibility <= 0 or instr(n.kept_settings, '"wiki_access_level":"private"') > 0 then ${ROLES.guest} else 0 end`;

/** The features of a group without a wiki, or whose wiki the caller may not read. */
const WITHOUT_WIKI = FEATURES.filter((feature) => feature !== "wiki");

// Built once: a newly concatenated text would be hashed again to find its statement.
const GROUP = `select n.id, n.full_path, n.visibility, (${NAMESPACE_LEVEL}) as level,
    (${linkedLevel("n.id")}) as linked_level, ${frozen("n.id")}, ${WIKI_LEVEL} as wiki_level
  from namespaces n where n.kind = 'group' and`;
const GROUP_BY = {
  id: `${GROUP} n.id = ?`,
  path: `${GROUP} lower(n.full_path) = lower(?)`,
};

/** What a path names, for the viewer. @param reached the level of a credential that reaches it, instead of the viewer's own */
type Named = (reached?: number) => Source;

async function findGroup(db: Reader, idOrPath: string, viewer: Viewer): Promise<Named | undefined> {
  const by = identity(idOrPath);
  if (!by) return undefined;
  const row = await db.one<GroupRow>(GROUP_BY[by.column], [...levelOf(viewer), by.value]);
  return row && ((reached) => groupOf(row, viewer, reached));
}

/** The values of {@link GROUP}. */
function levelOf({ caller, today }: Viewer): Value[] {
  const callerId = caller?.id ?? 0;
  return [callerId, today, callerId, today, today];
}

/** The caller's level by groups: as a member of one above, or of an invited one. */
function inheritedLevel({ level, linked_level: linked }: SourceRow): number | null {
  return linked === null ? level : Math.max(level ?? 0, linked);
}

function groupOf(row: GroupRow, viewer: Viewer, reached?: number): Source {
  const inherited = inheritedLevel(row);
  const level = reached ?? (viewer.caller?.admin ? ADMIN_LEVEL : (inherited ?? 0));
  return {
    viewer,
    kind: "group",
    id: row.id,
    fullPath: row.full_path,
    visibility: row.visibility,
    column: "namespace_id",
    namespaceId: row.id,
    level,
    memberships: { own: null, inherited },
    features: level >= row.wiki_level ? FEATURES : WITHOUT_WIKI,
    archived: row.frozen === 1,
    hasPublicJobs: false,
  };
}

interface ProjectRow extends SourceRow, Record<`${Feature}_enabled`, number> {
  namespace_id: number;
  own_level: number | null;
  personal: number;
  archived: number;
  public_jobs: number;
}

const PROJECT = `select p.id, p.full_path, p.visibility, p.namespace_id, p.public_jobs,
    case when p.marked_for_deletion_at is null then p.archived else 1 end as archived, ${frozen("p.namespace_id")},
    ${FEATURES.map((feature) => `p.${feature}_enabled`).join(", ")}, (${NAMESPACE_LEVEL}) as level,
    (${linkedLevel("p.namespace_id", "p.id")}) as linked_level, (${PROJECT_LEVEL}) as own_level, case when n.owner_id = ? then 1 else 0 end as personal
  from projects p join namespaces n on n.id = p.namespace_id where`;
const PROJECT_BY = {
  id: `${PROJECT} p.id = ?`,
  path: `${PROJECT} lower(p.full_path) = lower(?)`,
};

async function findProject(
  db: Reader,
  idOrPath: string,
  viewer: Viewer,
): Promise<Named | undefined> {
  const by = identity(idOrPath);
  if (!by) return undefined;
  const row = await db.one<ProjectRow>(PROJECT_BY[by.column], [...levelsOf(viewer), by.value]);
  return row && ((reached) => projectOf(row, viewer, reached));
}

/** The values of {@link PROJECT}. */
function levelsOf({ caller, today }: Viewer): Value[] {
  const callerId = caller?.id ?? 0;
  return [callerId, today, callerId, today, today, callerId, today, callerId];
}

function projectOf(row: ProjectRow, viewer: Viewer, reached?: number): Source {
  const inherited = inheritedLevel(row);
  const own = Math.max(inherited ?? 0, row.own_level ?? 0, row.personal === 1 ? ROLES.owner : 0);
  const level = reached ?? (viewer.caller?.admin ? ADMIN_LEVEL : own);
  return {
    viewer,
    kind: "project",
    id: row.id,
    fullPath: row.full_path,
    visibility: row.visibility,
    column: "project_id",
    namespaceId: row.namespace_id,
    level,
    memberships: { own: row.own_level, inherited },
    features: usableFeatures(row, level),
    archived: row.archived === 1 || row.frozen === 1,
    hasPublicJobs: row.public_jobs === 1,
  };
}

/**
 * Groups or projects by their ids, with one query. Whether the caller may read them is not checked: it is for those
 * they have been shown.
 */
export async function sourcesById(
  db: Reader,
  kind: Source["kind"],
  ids: readonly Value[],
  viewer: Viewer,
): Promise<Map<Value, Source>> {
  if (ids.length === 0) return new Map();
  const among = placeholders(ids);
  const sources =
    kind === "group"
      ? (
          await db.all<GroupRow>(`${GROUP} n.id in (${among.sql})`, [
            ...levelOf(viewer),
            ...among.values,
          ])
        ).map((row) => groupOf(row, viewer))
      : (
          await db.all<ProjectRow>(`${PROJECT} p.id in (${among.sql})`, [
            ...levelsOf(viewer),
            ...among.values,
          ])
        ).map((row) => projectOf(row, viewer));
  return new Map(sources.map((source) => [source.id, source]));
}

/** Rows with their projects, which {@link sourcesById} finds; `undefined` for those that have none. */
export async function withSources<Row extends { readonly project_id: Value }>(
  db: Reader,
  rows: readonly Row[],
  viewer: Viewer,
): Promise<(Row & { readonly source: SourceOf<Row["project_id"]> })[]> {
  const ids = [...new Set(rows.map(({ project_id }) => project_id))].filter((id) => id !== null);
  const sources = await sourcesById(db, "project", ids, viewer);
  type Found = SourceOf<Row["project_id"]>;
  return rows.map((row) => ({ ...row, source: sources.get(row.project_id) as Found }));
}

type SourceOf<Id> = null extends Id ? Source | undefined : Source;

/** Whether a group or project is the one a credential reaches, or below it. */
async function isWithin(db: Reader, source: Source, { column, id }: Reach): Promise<boolean> {
  if (column === "project_id") return source.kind === "project" && source.id === id;
  const sql = "select 1 from namespace_ancestors where namespace_id = ? and ancestor_id = ?";
  return (await db.one(sql, [source.namespaceId, id])) !== undefined;
}

/** Those who belong to anything below a group may read the group, as in GitLab. */
async function isMemberBelow(db: Reader, { kind, id }: Source, viewer: Viewer): Promise<boolean> {
  if (kind === "project" || !viewer.caller) return false;
  const user = { sql: "?", values: [viewer.caller.id] };
  const [groups, projects] = [groupsOf, projectsOf].map((of) => of(user, viewer.today, 0));
  const found = await db.rows(
    `select 1 from namespace_ancestors where ancestor_id = ? and (namespace_id in (${groups?.sql})
       or namespace_id in (select namespace_id from projects where id in (${projects?.sql}))) limit 1`,
    [id, ...(groups?.values ?? []), ...(projects?.values ?? [])],
  );
  return found.length > 0;
}

/** The role that the caller needs to read a project's code, as routes declare it; `undefined` if they need none. */
export const codeRole = ({ source }: { readonly source: Source }): Role | undefined =>
  isOpenTo(source.viewer, source) ? undefined : "reporter";

/** Whether the caller has the role for reading the code of a project that they can read. */
export function hasCodeRole(source: Source): boolean {
  const role = codeRole({ source });
  return role === undefined || hasRole(source, role);
}

/** Whether the caller may read the code of a project that they can read. */
export const mayReadCode = (source: Source): boolean =>
  hasCodeRole(source) && source.features.includes("repository");
