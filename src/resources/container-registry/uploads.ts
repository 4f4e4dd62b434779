import { createHash, type Hash, randomUUID } from "node:crypto";
import { readFile } from "../../files/read.ts";
import {
  appendToFile,
  beginFile,
  discardFile,
  finishFile,
  type StoredFile,
} from "../../files/write.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Store } from "../../store/port.ts";
import { addBlob, type Repository } from "./blobs.ts";

/** Maximum bytes of a blob: 5 GiB. */
export const BLOB_BYTES = 5 * 1024 ** 3;
/** Uploads that one person may have begun and not ended. */
export const OPEN_UPLOADS = 50;
/** How long an upload can go on, in milliseconds: an hour less than the sweep leaves its file. */
export const LIFETIME = 23 * 3_600_000;

/** A blob that is being uploaded. */
export interface BlobUpload {
  readonly id: number;
  readonly uuid: string;
  readonly file_id: number;
  /** The bytes that have arrived. */
  readonly size: number;
}

/** How many uploads somebody has open. */
export async function countOpen(db: Reader, person: string, now: number): Promise<number> {
  const [row] = await db.rows(
    "select count(*) from container_uploads where person = ? and started_at > ?",
    [person, now - LIFETIME],
  );
  return Number(row?.[0]);
}

/** Begins an upload. @param person who answers for it */
export async function begin(
  db: Database,
  { id: repository_id }: Repository,
  person: string,
  now: number,
): Promise<BlobUpload> {
  const uuid = randomUUID();
  const file_id = await beginFile(db, now);
  const columns = { uuid, repository_id, person, file_id, size: 0, started_at: now };
  const id = await insertRow(db, "container_uploads", columns);
  return { id, uuid, file_id, size: 0 };
}

/** An upload to a repository that is still open, or `undefined`. */
export function find(
  db: Reader,
  repositoryId: number,
  uuid: string,
  now: number,
): Awaitable<BlobUpload | undefined> {
  return db.one<BlobUpload>(
    `select id, uuid, file_id, size from container_uploads
     where repository_id = ? and uuid = ? and started_at > ?`,
    [repositoryId, uuid, now - LIFETIME],
  );
}

/** Another request has added to an upload meanwhile, or ended it. */
export class UploadChanged extends Error {}

/** How far the content of an upload was hashed. */
interface Progress {
  readonly hash: Hash;
  readonly size: number;
}

/** Uploads whose progress a process remembers; that of others is read again at their end. */
const REMEMBERED = 256;
const hashes = new Map<string, Progress>();

function remember(uuid: string, progress: Progress): void {
  hashes.set(uuid, progress);
  if (hashes.size > REMEMBERED) hashes.delete(hashes.keys().next().value as string);
}

/** The progress of an upload, which is then the caller's alone; `undefined` if this process has not seen all of it. */
function takeProgress({ uuid, size }: BlobUpload): Hash | undefined {
  const known = hashes.get(uuid);
  hashes.delete(uuid);
  if (size === 0) return createHash("sha256");
  return known?.size === size ? known.hash : undefined;
}

/**
 * Adds to an upload what arrives.
 *
 * @returns the upload as it is now
 * @throws UploadChanged if another request does so, too; whatever `chunks` throws: what has been stored by then stays
 */
export async function append(
  store: Store,
  upload: BlobUpload,
  chunks: AsyncIterable<Uint8Array>,
): Promise<BlobUpload> {
  const hash = takeProgress(upload);
  const hashed = async function* () {
    for await (const chunk of chunks) {
      hash?.update(chunk);
      yield chunk;
    }
  };
  const file = { id: upload.file_id, size: upload.size };
  const size = await appendToFile(store, file, hashed(), async (db, before, now) => {
    const changed = await db.run(
      "update container_uploads set size = ? where id = ? and size = ?",
      [now, upload.id, before],
    );
    if (changed === 0) throw new UploadChanged();
  });
  if (hash) remember(upload.uuid, { hash, size });
  return { ...upload, size };
}

/** The digest of what has been uploaded, by the algorithm of `digest`. */
async function digestOf(
  store: Store,
  upload: BlobUpload,
  digest: string,
): Promise<[string, string]> {
  const progress = takeProgress(upload);
  const algorithm = digest.slice(0, digest.indexOf(":"));
  let sha256 = progress?.digest("hex");
  if (algorithm === "sha256" && sha256 !== undefined) return [`sha256:${sha256}`, sha256];
  const all = createHash("sha256");
  const asked = createHash(algorithm);
  const file = { id: upload.file_id, size: upload.size };
  for await (const bytes of readFile(store, file)) {
    all.update(bytes);
    asked.update(bytes);
  }
  sha256 = all.digest("hex");
  return [`${algorithm}:${asked.digest("hex")}`, sha256];
}

/**
 * Ends an upload: the repository has the blob then.
 *
 * @param digest that its content must have
 * @returns whether it has; if not, the upload is gone
 * @throws UploadChanged if another request has ended it, or added to it
 */
export async function finish(
  store: Store,
  repository: Repository,
  upload: BlobUpload,
  digest: string,
  now: number,
): Promise<boolean> {
  const [found, sha256] = await digestOf(store, upload, digest);
  const file: StoredFile = { id: upload.file_id, size: upload.size, sha256 };
  if (found !== digest) {
    await cancel(store, upload);
    return false;
  }
  await store.transaction(
    async (db) => {
      const ended = await db.run("delete from container_uploads where id = ? and size = ?", [
        upload.id,
        upload.size,
      ]);
      if (ended === 0) throw new UploadChanged();
      await finishFile(db, file.id, file.size, file.sha256);
      await addBlob(db, repository, digest, file, now);
    },
    { shared: true },
  );
  await discardFile(store, file.id);
  return true;
}

/** Ends an upload of which nothing is kept. */
export async function cancel(store: Store, { uuid, file_id }: BlobUpload): Promise<void> {
  hashes.delete(uuid);
  // With the file goes the upload; a file that meanwhile became a blob stays.
  await discardFile(store, file_id);
}
