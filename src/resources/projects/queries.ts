import { BEING_DELETED } from "../../core/access/visibility.ts";
import { all, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { setTopics } from "../topics/queries.ts";

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
  max_artifacts_size: number | null;
  updated_at: number;
}

const PROJECT = `select id, namespace_id, name, path, full_path, description, default_branch,
  forked_from_project_id, star_count, max_artifacts_size, updated_at from projects where id = ?`;

/** A project by id, or `undefined`. */
export function find(db: Reader, projectId: number): Awaitable<Project | undefined> {
  return db.one<Project>(PROJECT, [projectId]);
}

/** The number of projects in a user's personal namespace. */
export async function countPersonal(db: Reader, userId: number): Promise<number> {
  const counted = await db.one<{ count: number }>(
    `select count(*) as count from projects p join namespaces n on n.id = p.namespace_id where n.owner_id = ?`,
    [userId],
  );
  return counted?.count ?? 0;
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
  const [group] = await db.rows("select lfs_enabled from namespaces where id = ?", [
    project.namespace.id,
  ]);
  const id = await insertRow(db, "projects", {
    namespace_id: project.namespace.id,
    creator_id: project.creator_id,
    name: project.name,
    path: project.path,
    full_path: `${project.namespace.full_path}/${project.path}`,
    visibility: project.visibility,
    description: project.description ?? null,
    default_branch: project.default_branch ?? null,
    forked_from_project_id: project.forked_from_project_id ?? null,
    request_access_enabled: 1,
    lfs_enabled: group?.[0] ?? 1,
    created_at: now,
    updated_at: now,
    last_activity_at: now,
  });
  const { topics = [] } = project;
  if (topics.length > 0) await setTopics(db, id, topics, now);
  return id;
}

/** Stars a project for a user; returns whether that changed anything. */
export async function star(
  db: Database,
  projectId: number,
  userId: number,
  now: number,
): Promise<boolean> {
  const changed = await db.run(
    "insert into project_stars (project_id, user_id, created_at) values (?, ?, ?) on conflict do nothing",
    [projectId, userId, now],
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
  /** The bytes of its repositories and files. */
  storage_size: number;
}

/** As in `statistics` of the API. */
const STORAGE_SIZE = `(select coalesce(sum(k.bytes), 0) from git_repositories r
    join git_repository_packs rk on rk.repository_id = r.id join git_packs k on k.id = rk.pack_id
    where r.project_id = p.id)
  + (select coalesce(sum(f.size), 0) from packages g join package_files f on f.package_id = g.id
    where g.project_id = p.id)
  + (select coalesce(sum(f.size), 0) from project_uploads f where f.project_id = p.id)
  + (select coalesce(sum(f.size), 0) from job_artifacts a join stored_files f on f.id = a.file_id
    where a.project_id = p.id)`;

/** All projects, or the one with an id, ordered by full path. */
export function listDetails(db: Reader, projectId?: number): Awaitable<ProjectDetails[]> {
  const where = all([when("p.id = ?", projectId), when(`p.visibility > ${BEING_DELETED}`)]);
  return db.all<ProjectDetails>(
    `select p.id, p.name, p.path, p.full_path, p.visibility, p.archived, ${STORAGE_SIZE} as storage_size
     from projects p where ${where.sql} order by p.full_path`,
    where.values,
  );
}
