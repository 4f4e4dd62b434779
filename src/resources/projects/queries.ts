import type { Role } from "../../core/access/roles.ts";
import { memberProjects, type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import {
  type KeysetPage,
  type ListQuery,
  type Page,
  paginate,
  paginateByKey,
  type RowPage,
} from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** Projects joined with their namespace, and with its owner if it is personal. */
const PROJECTS = `projects p join namespaces n on n.id = p.namespace_id
  left join users u on u.id = n.owner_id`;

/** A project as stored. */
export interface Project {
  id: number;
  namespace_id: number;
  name: string;
  path: string;
  full_path: string;
  description: string | null;
  default_branch: string | null;
  forked_from_project_id: number | null;
  star_count: number;
  updated_at: number;
}

/** The filters of a list of projects. */
export interface ProjectFilter {
  /** Only projects directly in this namespace; with `below`, also in its subgroups. */
  namespaceId?: number | undefined;
  below?: boolean | undefined;
  archived?: boolean | undefined;
  visibility?: number | undefined;
  search?: string | undefined;
  /** Only projects that the caller owns. */
  owned?: boolean | undefined;
  /** Only projects the caller is a member of. */
  membership?: boolean | undefined;
  starred?: boolean | undefined;
  role?: Role | undefined;
  withIssuesEnabled?: boolean | undefined;
  /** Only forks of this project. */
  forkedFrom?: number | undefined;
  idAfter?: number | undefined;
  idBefore?: number | undefined;
}

/** The order of a list of projects. */
export interface ProjectOrder {
  orderBy: "id" | "name" | "path" | "created_at" | "updated_at" | "last_activity_at";
  sort: "asc" | "desc";
}

/** The projects the caller may read. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  filter: ProjectFilter,
  { orderBy, sort }: ProjectOrder,
): Promise<RowPage> {
  const order = orderBy === "id" ? `p.id ${sort}` : `p.${orderBy} ${sort}, p.id ${sort}`;
  const listed = await paginate(db, presenter, page, { ...filtered(viewer, filter), order });
  await embed(db, listed.rows, presenter, viewer);
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
  await embed(db, listed.rows, presenter, viewer);
  return listed;
}

function filtered(viewer: Viewer, filter: ProjectFilter): Omit<ListQuery, "order"> {
  const callerId = viewer.caller?.id ?? 0;
  const conditions: Condition[] = [];
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });

  if (filter.owned) conditions.push(memberProjects(viewer, "owner"));
  else if (filter.role) conditions.push(memberProjects(viewer, filter.role));
  else if (filter.membership) conditions.push(memberProjects(viewer));
  else conditions.push(visibleProjects(viewer));

  if (filter.archived !== undefined) add("p.archived = ?", filter.archived ? 1 : 0);
  if (filter.visibility !== undefined) add("p.visibility = ?", filter.visibility);
  if (filter.namespaceId !== undefined) {
    if (filter.below) {
      add(
        "p.namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
        filter.namespaceId,
      );
    } else add("p.namespace_id = ?", filter.namespaceId);
  }
  if (filter.search)
    conditions.push(contains(["p.name", "p.path", "p.description"], filter.search));
  if (filter.starred) {
    add("p.id in (select project_id from project_stars where user_id = ?)", callerId);
  }
  if (filter.withIssuesEnabled) add("p.issues_enabled = 1");
  if (filter.forkedFrom !== undefined) add("p.forked_from_project_id = ?", filter.forkedFrom);
  if (filter.idAfter !== undefined) add("p.id > ?", filter.idAfter);
  if (filter.idBefore !== undefined) add("p.id < ?", filter.idBefore);
  const where = conditions.map(({ sql }) => sql).join(" and ");
  return {
    from: `${PROJECTS} where ${where}`,
    countFrom: `projects p where ${where}`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** One project as a row of its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  viewer: Viewer,
): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from ${PROJECTS} where p.id = ?`, [
    projectId,
  ]);
  await embed(db, [found as Value[]], presenter, viewer);
  return found as Value[];
}

/** Fills in the embedded values of all rows, one query each; no query waits for another's result. */
async function embed(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  viewer: Viewer,
): Promise<void> {
  if (rows.length === 0) return;
  await Promise.all([
    embedOpenIssues(db, rows, presenter),
    embedForkSources(db, rows, presenter, viewer),
    embedPermissions(db, rows, presenter, viewer),
  ]);
}

/** Fills in the source project of forks, if the caller may read it, with one query for all rows. */
async function embedForkSources(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  viewer: Viewer,
): Promise<void> {
  const at = presenter.at("forked_from_project");
  const forks = at < 0 ? [] : rows.filter((row) => row[at] !== null);
  if (forks.length === 0) return;
  const among = placeholders([...new Set(forks.map((row) => row[at] as Value))]);
  const visible = visibleProjects(viewer);
  const found = await db.all<{
    id: number;
    name: string;
    full_name: string;
    path: string;
    full_path: string;
  }>(
    `select p.id, p.name, n.full_name, p.path, p.full_path
     from projects p join namespaces n on n.id = p.namespace_id
     where p.id in (${among.sql}) and ${visible.sql}`,
    [...among.values, ...visible.values],
  );
  const sources = new Map(
    found.map(({ id, name, full_name, path, full_path }) => [
      id as Value,
      JSON.stringify({
        id,
        name,
        name_with_namespace: `${full_name} / ${name}`,
        path,
        path_with_namespace: full_path,
      }),
    ]),
  );
  for (const row of forks) row[at] = sources.get(row[at] as Value) ?? null;
}

/**
 * Fills in the number of open issues that are not confidential, with one query for all rows. As in GitLab, projects
 * with issues disabled have no count.
 */
async function embedOpenIssues(db: Reader, rows: Value[][], presenter: Presenter): Promise<void> {
  const at = presenter.at("open_issues_count");
  if (at < 0) return;
  const idAt = presenter.at("id");
  const among = placeholders(rows.map((row) => row[idAt] as Value));
  const counted = await db.rows(
    `select project_id, count(*) from issues
     where project_id in (${among.sql}) and state = 'opened' and confidential = 0 group by project_id`,
    among.values,
  );
  const counts = new Map(counted.map(([id, count]) => [id as Value, String(count)]));
  const enabledAt = presenter.at("issues_enabled");
  for (const row of rows) {
    if (row[enabledAt] === 1) row[at] = counts.get(row[idAt] as Value) ?? "0";
  }
}

/** Fills in the caller's access levels, with one query for all rows. */
async function embedPermissions(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  { caller, today }: Viewer,
): Promise<void> {
  const permissionsAt = presenter.at("permissions");
  if (permissionsAt < 0 || !caller) return;
  const [idAt, namespaceAt] = [presenter.at("id"), presenter.at("namespace")];
  const own = placeholders(rows.map((row) => row[idAt] as Value));
  const above = placeholders([...new Set(rows.map((row) => row[namespaceAt] as Value))]);
  const found = await db.rows(
    `select 0 as of_group, m.project_id, m.access_level from members m
     where m.user_id = ? and (m.expires_at is null or m.expires_at > ?) and m.project_id in (${own.sql})
     union all
     select 1, a.namespace_id, max(m.access_level) from members m
     join namespace_ancestors a on a.ancestor_id = m.namespace_id
     where m.user_id = ? and (m.expires_at is null or m.expires_at > ?)
       and a.namespace_id in (${above.sql}) group by a.namespace_id`,
    [caller.id, today, ...own.values, caller.id, today, ...above.values],
  );
  const projectLevels = levels(found.filter(([ofGroup]) => ofGroup === 0));
  const groupLevels = levels(found.filter(([ofGroup]) => ofGroup === 1));
  for (const row of rows) {
    const project = projectLevels.get(row[idAt] as Value) ?? "null";
    const group = groupLevels.get(row[namespaceAt] as Value) ?? "null";
    row[permissionsAt] = `{"project_access":${project},"group_access":${group}}`;
  }
}

/** The `*_access` object as JSON, by the id of the project or group. */
function levels(rows: Value[][]): Map<Value, string> {
  return new Map(
    rows.map(([, id, level]) => [id as Value, `{"access_level":${level},"notification_level":3}`]),
  );
}

const PROJECT =
  "select id, namespace_id, name, path, full_path, description, default_branch, forked_from_project_id, star_count, updated_at from projects";

/** A project by id, or `undefined`. */
export async function find(db: Reader, projectId: number): Promise<Project | undefined> {
  const found = await db.one<Project>(`${PROJECT} where id = ?`, [projectId]);
  return found;
}

/** The number of projects in a user's personal namespace. */
export async function countPersonal(db: Reader, userId: number): Promise<number> {
  const [found] = await db.rows(
    `select count(*) from projects p join namespaces n on n.id = p.namespace_id where n.owner_id = ?`,
    [userId],
  );
  return found?.[0] as number;
}

/** Whether a namespace has another project than `exceptId` with this name, ignoring case. */
export async function isNameTaken(
  db: Reader,
  namespaceId: number,
  name: string,
  exceptId = 0,
): Promise<boolean> {
  const found = await db.rows(
    "select 1 from projects where namespace_id = ? and lower(name) = lower(?) and id <> ?",
    [namespaceId, name, exceptId],
  );
  return found.length > 0;
}

/** The values of a new project; the rest has the schema's defaults. */
export interface NewProject {
  namespace: { id: number; full_path: string };
  creator_id: number | null;
  name: string;
  path: string;
  visibility: number;
  description?: string | null | undefined;
  default_branch?: string | null | undefined;
  topics?: readonly string[] | undefined;
  forked_from_project_id?: number | undefined;
}

/** Adds a project and returns its id. */
export async function insert(db: Database, project: NewProject, now: number): Promise<number> {
  const [inserted] = await db.rows(
    `insert into projects (namespace_id, creator_id, name, path, full_path, visibility, description,
       default_branch, topics, forked_from_project_id, created_at, updated_at, last_activity_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      project.namespace.id,
      project.creator_id,
      project.name,
      project.path,
      `${project.namespace.full_path}/${project.path}`,
      project.visibility,
      project.description ?? null,
      project.default_branch ?? null,
      JSON.stringify(project.topics ?? []),
      project.forked_from_project_id ?? null,
      now,
      now,
      now,
    ],
  );
  return inserted?.[0] as number;
}

/** Stars a project for a user; returns whether that changed anything. */
export async function star(db: Database, projectId: number, userId: number): Promise<boolean> {
  const changed = await db.run(
    "insert into project_stars (project_id, user_id) values (?, ?) on conflict do nothing",
    [projectId, userId],
  );
  return recount(db, projectId, changed);
}

/** Removes a user's star; returns whether that changed anything. */
export async function unstar(db: Database, projectId: number, userId: number): Promise<boolean> {
  const changed = await db.run("delete from project_stars where project_id = ? and user_id = ?", [
    projectId,
    userId,
  ]);
  return recount(db, projectId, changed);
}

/** Removes all of a user's stars. */
export async function unstarAll(db: Database, userId: number): Promise<void> {
  await db.run(
    `update projects set star_count = star_count - 1
     where id in (select project_id from project_stars where user_id = ?)`,
    [userId],
  );
  await db.run("delete from project_stars where user_id = ?", [userId]);
}

async function recount(db: Database, projectId: number, changed: number): Promise<boolean> {
  if (changed === 0) return false;
  await db.run(
    `update projects set star_count = (select count(*) from project_stars where project_id = ?)
     where id = ?`,
    [projectId, projectId],
  );
  return true;
}

/** A project as operators see it. */
export interface ProjectDetails {
  id: number;
  name: string;
  path: string;
  full_path: string;
  visibility: number;
  archived: number;
}

/** All projects, or the one with an id, ordered by full path. */
export function listDetails(db: Reader, projectId?: number): Awaitable<ProjectDetails[]> {
  const where = all([when("id = ?", projectId)]);
  return db.all<ProjectDetails>(
    `select id, name, path, full_path, visibility, archived from projects
     where ${where.sql} order by full_path`,
    where.values,
  );
}

/** Removes a project with all its contents. */
export async function remove(db: Database, projectId: number): Promise<void> {
  await db.run("delete from projects where id = ?", [projectId]);
}
