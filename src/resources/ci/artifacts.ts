import { basename } from "node:path/posix";
import { type ArtifactAccess, REPORT_KINDS } from "../../ci/index.ts";
import { badRequest, forbidden, notFound } from "../../core/errors.ts";
import { dispositionOf, fileReply, uploadHeaders } from "../../core/http/file-reply.ts";
import { RawReply, type RequestInfo } from "../../core/resource.ts";
import type { StoredFile } from "../../files/write.ts";
import { type ZipEntry, zipFolder, zipMember } from "../../files/zip.ts";
import { among } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { type Downloader, mayDownload } from "./abilities.ts";
import { FINISHED } from "./statuses.ts";

/** A file that a job has uploaded. */
export interface NewArtifact {
  readonly project_id: number;
  readonly job_id: number;
  readonly file_type: string;
  readonly file_format: string;
  readonly file_name: string;
  readonly access: ArtifactAccess;
}

/** What kinds of files jobs upload. */
export const ARTIFACT_TYPES: readonly string[] = [
  ...["archive", "metadata", "trace", "coverage_report", "license_scanning"],
  ...REPORT_KINDS,
];

/** Adds a file to a job. @returns `false` if it has one of that type with another content */
export async function addArtifact(
  db: Database,
  artifact: NewArtifact,
  { id, sha256 }: StoredFile,
  now: number,
): Promise<boolean> {
  const [known] = await db.rows(
    `select f.sha256 from job_artifacts a join stored_files f on f.id = a.file_id
     where a.job_id = ? and a.file_type = ?`,
    [artifact.job_id, artifact.file_type],
  );
  if (known) return known[0] === sha256;
  await insertRow(db, "job_artifacts", { ...artifact, file_id: id, created_at: now });
  return true;
}

/** Whether a job has any artifacts. */
export async function hasArtifacts(db: Reader, jobId: number): Promise<boolean> {
  const found = await db.rows("select 1 from job_artifacts where job_id = ? limit 1", [jobId]);
  return found.length > 0;
}

/** Deletes the artifacts of jobs; the sweep deletes their content. */
export async function deleteArtifacts(db: Database, jobIds: readonly number[]): Promise<void> {
  if (jobIds.length === 0) return;
  const these = among("job_id", jobIds);
  await db.run(`delete from job_artifacts where ${these.sql}`, these.values);
  const jobs = among("id", jobIds);
  await db.run(`update ci_jobs set artifacts_expire_at = null where ${jobs.sql}`, jobs.values);
}

/** Deletes the artifacts of all jobs of a project that have ended. */
export async function deleteAllArtifacts(db: Database, projectId: number): Promise<void> {
  const ended = `project_id = ? and status in (${FINISHED.map((status) => `'${status}'`).join(", ")})`;
  await db.run(
    `delete from job_artifacts where project_id = ? and job_id in (select id from ci_jobs where ${ended})`,
    [projectId, projectId],
  );
  await db.run(
    `update ci_jobs set artifacts_expire_at = null where artifacts_expire_at is not null and ${ended}`,
    [projectId],
  );
}

type ArchiveFile = StoredFile & { readonly file_name: string; readonly access: ArtifactAccess };

/**
 * The archive of a job's artifacts.
 *
 * @param downloader `undefined` for the server itself
 * @throws ApiError 404; 403 for those who may not download it
 */
async function archiveOf(
  db: Reader,
  jobId: number,
  downloader: Downloader | undefined,
): Promise<ArchiveFile> {
  const found = await db.one<ArchiveFile>(
    `select f.id, f.size, f.sha256, a.file_name, a.access from job_artifacts a join stored_files f on f.id = a.file_id
     where a.job_id = ? and a.file_type = 'archive'`,
    [jobId],
  );
  if (!found) throw notFound();
  if (downloader && !mayDownload(downloader, found.access)) throw forbidden();
  return found;
}

/** Answers the archive of a job's artifacts. @throws ApiError 404; 403 for those who may not download it */
export async function archiveReply(
  store: Store,
  db: Reader,
  request: Pick<RequestInfo, "method" | "header">,
  jobId: number,
  downloader: Downloader,
): Promise<RawReply> {
  const found = await archiveOf(db, jobId, downloader);
  return fileReply(store, request, found, {
    "content-type": "application/zip",
    "content-disposition": dispositionOf("attachment", found.file_name),
  });
}

/**
 * Lists a folder of a job's artifacts, or everything below it.
 *
 * @param path of the folder in the archive; empty for its root
 * @throws ApiError 404; 403 for those who may not download them
 */
export async function artifactEntries(
  store: Store,
  db: Reader,
  jobId: number,
  { path, recursive }: { readonly path: string; readonly recursive: boolean },
  downloader: Downloader,
): Promise<ZipEntry[]> {
  const folder = path === "" || path.endsWith("/") ? path : `${path}/`;
  const archive = await archiveOf(db, jobId, downloader);
  const found = await zipFolder(store, archive, folder, recursive);
  if (!found) throw notFound();
  return found;
}

/**
 * The text of one file of a job's artifacts, for the server itself.
 *
 * @param most bytes of a file
 * @returns `undefined` if there is none, or it is larger
 */
export async function artifactText(
  store: Store,
  db: Reader,
  jobId: number,
  path: string,
  most: number,
): Promise<string | undefined> {
  const archive = await archiveOf(db, jobId, undefined);
  const member = await zipMember(store, archive, path);
  if (!member || member.length > most) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of member.chunks()) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Answers one file of a job's artifacts.
 *
 * @param path its path in the archive
 * @throws ApiError 400 for a path that leaves the archive, 404; 403 for those who may not download them
 */
export async function artifactReply(
  store: Store,
  db: Reader,
  jobId: number,
  path: string,
  downloader: Downloader,
): Promise<RawReply> {
  if (path.split("/").some((name) => ["", ".", ".."].includes(name)))
    throw badRequest("Invalid path");
  const member = await zipMember(store, await archiveOf(db, jobId, downloader), path);
  if (!member) throw notFound();
  return new RawReply(200, uploadHeaders(basename(path)), member);
}
