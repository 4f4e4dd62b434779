import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

/** A locked path. */
export interface Lock {
  readonly id: number;
  readonly path: string;
  readonly created_at: number;
  readonly user_id: number;
  /** The name of who holds it. */
  readonly name: string;
}

/** Locks that a project has at most. */
export const MOST_LOCKS = 10_000;

const LOCKS = `select k.id, k.path, k.created_at, k.user_id, u.name from lfs_locks k
  join users u on u.id = k.user_id where k.project_id = ?`;

/** The lock of a path, or `undefined`. */
export const findLockOf = (
  db: Reader,
  projectId: number,
  path: string,
): Awaitable<Lock | undefined> => db.one<Lock>(`${LOCKS} and k.path = ?`, [projectId, path]);

/** A lock of a project by its id, or `undefined`. */
export const findLock = (db: Reader, projectId: number, id: number): Awaitable<Lock | undefined> =>
  db.one<Lock>(`${LOCKS} and k.id = ?`, [projectId, id]);

/** Some locks of a project by their ids, from one on. */
export const locksFrom = (
  db: Reader,
  projectId: number,
  first: number,
  most: number,
): Awaitable<Lock[]> =>
  db.all<Lock>(`${LOCKS} and k.id >= ? order by k.id limit ?`, [projectId, first, most]);

/** How many locks a project has. */
export async function countLocks(db: Reader, projectId: number): Promise<number> {
  const [row] = await db.rows("select count(*) from lfs_locks where project_id = ?", [projectId]);
  return Number(row?.[0]);
}

/** Locks a path that nobody has locked, in a transaction in which nobody else can. */
export async function lockPath(
  db: Database,
  projectId: number,
  userId: number,
  path: string,
  now: number,
): Promise<Lock> {
  const columns = { project_id: projectId, user_id: userId, path, created_at: now };
  const id = await insertRow(db, "lfs_locks", columns);
  return (await findLock(db, projectId, id)) as Lock;
}

/** Takes a lock away. */
export async function unlock(db: Database, { id }: Lock): Promise<void> {
  await db.run("delete from lfs_locks where id = ?", [id]);
}
