import type { StoredFile } from "../../files/write.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

/** A repository. */
export interface Repository {
  readonly id: number;
  readonly project_id: number;
}

/** A repository of a project by its own name, or `undefined`. */
export function findRepository(
  db: Reader,
  projectId: number,
  own: string,
): Awaitable<Repository | undefined> {
  return db.one<Repository>(
    "select id, project_id from container_repositories where project_id = ? and name = ?",
    [projectId, own],
  );
}

/** The repository of a project with a name, which is made if there is none. */
export async function makeRepository(
  db: Database,
  projectId: number,
  own: string,
  now: number,
): Promise<Repository> {
  await db.run(
    `insert into container_repositories (project_id, name, created_at, updated_at) values (?, ?, ?, ?)
     on conflict (project_id, name) do nothing`,
    [projectId, own, now, now],
  );
  return (await findRepository(db, projectId, own)) as Repository;
}

/** A blob of a repository: its file, and the row by which the repository has it. */
export interface Blob extends StoredFile {
  readonly link: number;
}

/** A blob of a repository by its digest, or `undefined`. */
export function findBlob(
  db: Reader,
  repositoryId: number,
  digest: string,
): Awaitable<Blob | undefined> {
  return db.one<Blob>(
    `select b.file_id as id, b.size, f.sha256, l.id as link from container_blobs b
     join container_repository_blobs l on l.blob_id = b.id and l.repository_id = ?
     join stored_files f on f.id = b.file_id where b.digest = ?`,
    [repositoryId, digest],
  );
}

/** Digests that one statement asks for. */
const AT_ONCE = 500;

/** The rows by which a repository has blobs, by their digests; those that it does not have are missing. */
export async function linksOf(
  db: Reader,
  repositoryId: number,
  digests: readonly string[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let start = 0; start < digests.length; start += AT_ONCE) {
    const among = placeholders(digests.slice(start, start + AT_ONCE));
    const rows = await db.rows(
      `select b.digest, l.id from container_blobs b
       join container_repository_blobs l on l.blob_id = b.id and l.repository_id = ?
       where b.digest in (${among.sql})`,
      [repositoryId, ...among.values],
    );
    for (const [digest, link] of rows) found.set(String(digest), Number(link));
  }
  return found;
}

/** Lets a repository have the blob with a digest; does nothing if there is none. */
export async function linkBlob(
  db: Database,
  { id, project_id }: Repository,
  digest: string,
  now: number,
): Promise<void> {
  await db.run(
    `insert into container_repository_blobs (repository_id, project_id, blob_id, created_at)
     select cast(? as bigint), cast(? as bigint), b.id, cast(? as bigint) from container_blobs b where b.digest = ?
     on conflict (repository_id, blob_id) do update set unused_since = null`,
    [id, project_id, now, digest],
  );
}

/** Lets a repository have a file as the blob with a digest, unless there is one already: then nothing needs the file. */
export async function addBlob(
  db: Database,
  repository: Repository,
  digest: string,
  file: Pick<StoredFile, "id" | "size">,
  now: number,
): Promise<void> {
  await db.run(
    "insert into container_blobs (digest, file_id, size) values (?, ?, ?) on conflict (digest) do nothing",
    [digest, file.id, file.size],
  );
  await linkBlob(db, repository, digest, now);
}

/** Whether a manifest of its repository needs a blob. */
export async function isBlobUsed(db: Reader, link: number): Promise<boolean> {
  const used = await db.rows("select 1 from container_manifest_blobs where link_id = ? limit 1", [
    link,
  ]);
  return used.length > 0;
}

/** Takes a blob away from its repository. */
export async function unlinkBlob(db: Database, link: number): Promise<void> {
  await db.run("delete from container_repository_blobs where id = ?", [link]);
}
