import type { StoredFile } from "../../files/write.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

/** Maximum bytes of an object: 5 GiB. */
export const OBJECT_BYTES = 5 * 1024 ** 3;

/** Whether a project has Git LFS. */
export async function isEnabled(db: Reader, projectId: number): Promise<boolean> {
  const [row] = await db.rows("select lfs_enabled from projects where id = ?", [projectId]);
  return row?.[0] === 1;
}

/** Whether a project has Git LFS, and any object. */
export async function hasObjects(db: Reader, projectId: number): Promise<boolean> {
  const found = await db.rows(
    `select 1 from lfs_object_projects l join projects p on p.id = l.project_id and p.lfs_enabled = 1
     where l.project_id = ? limit 1`,
    [projectId],
  );
  return found.length > 0;
}

/** An object that a project with Git LFS has, or `undefined`. Its SHA-256 is its name. */
export function findObject(
  db: Reader,
  projectId: number,
  oid: string,
): Awaitable<StoredFile | undefined> {
  return db.one<StoredFile>(
    `select o.file_id as id, o.size, o.oid as sha256 from lfs_objects o
     join lfs_object_projects l on l.object_id = o.id and l.project_id = ?
     join projects p on p.id = l.project_id and p.lfs_enabled = 1 where o.oid = ?`,
    [projectId, oid],
  );
}

/**
 * Some objects that a project has.
 *
 * @param last the `end` of those before; 0 for the first
 * @returns `end`: `undefined` if there are no more
 */
export async function objectsAfter(
  db: Reader,
  projectId: number,
  last: number,
  most: number,
): Promise<{ objects: StoredFile[]; end: number | undefined }> {
  const found = await db.all<StoredFile & { object: number }>(
    `select o.id as object, o.file_id as id, o.size, o.oid as sha256 from lfs_object_projects l
     join lfs_objects o on o.id = l.object_id where l.project_id = ? and l.object_id > ? order by l.object_id limit ?`,
    [projectId, last, most],
  );
  return { objects: found, end: found.length < most ? undefined : found.at(-1)?.object };
}

/** An object that a project has, with its place among those in the order in which the project got them. */
export interface NewObject extends StoredFile {
  readonly place: number;
}

/** The objects that a project has got behind a place, in order. @param most how many */
export function newObjects(
  db: Reader,
  projectId: number,
  after: number,
  most: number,
): Awaitable<NewObject[]> {
  return db.all<NewObject>(
    `select l.id as place, o.file_id as id, o.size, o.oid as sha256 from lfs_object_projects l
     join lfs_objects o on o.id = l.object_id where l.project_id = ? and l.id > ? order by l.id limit ?`,
    [projectId, after, most],
  );
}

/** Names that one statement asks for. */
const AT_ONCE = 500;

/** The sizes of the objects among some that a project has, by their names. */
export async function sizesOf(
  db: Reader,
  projectId: number,
  oids: readonly string[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let start = 0; start < oids.length; start += AT_ONCE) {
    const among = placeholders(oids.slice(start, start + AT_ONCE));
    const rows = await db.rows(
      `select o.oid, o.size from lfs_objects o
       join lfs_object_projects l on l.object_id = o.id and l.project_id = ? where o.oid in (${among.sql})`,
      [projectId, ...among.values],
    );
    for (const [oid, size] of rows) found.set(String(oid), Number(size));
  }
  return found;
}

/** Lets a project have a file as an object, unless there is one of this content already: then nothing needs the file. */
export async function addObject(
  db: Database,
  projectId: number,
  { id, size, sha256 }: StoredFile,
  now: number,
): Promise<void> {
  await db.run(
    "insert into lfs_objects (oid, size, file_id) values (?, ?, ?) on conflict (oid) do nothing",
    [sha256, size, id],
  );
  await db.run(
    `insert into lfs_object_projects (project_id, object_id, created_at)
     select cast(? as bigint), o.id, cast(? as bigint) from lfs_objects o where o.oid = ?
     on conflict (project_id, object_id) do nothing`,
    [projectId, now, sha256],
  );
}

/** Lets a project have all objects that another one has. */
export async function shareAll(
  db: Database,
  fromId: number,
  projectId: number,
  now: number,
): Promise<void> {
  await db.run(`${SHARED} ${NEVER_TWICE}`, [projectId, now, fromId]);
}

/** Lets a project have those of some objects, by their names, that another one has. */
export async function shareObjects(
  db: Database,
  fromId: number,
  projectId: number,
  oids: readonly string[],
  now: number,
): Promise<void> {
  for (let start = 0; start < oids.length; start += AT_ONCE) {
    const among = placeholders(oids.slice(start, start + AT_ONCE));
    const named = `l.object_id in (select id from lfs_objects where oid in (${among.sql}))`;
    const values = [projectId, now, fromId, ...among.values];
    await db.run(`${SHARED} and ${named} ${NEVER_TWICE}`, values);
  }
}

const SHARED = `insert into lfs_object_projects (project_id, object_id, created_at)
  select cast(? as bigint), l.object_id, cast(? as bigint) from lfs_object_projects l where l.project_id = ?`;
const NEVER_TWICE = "on conflict (project_id, object_id) do nothing";
