import { durationOf } from "../../ci/index.ts";
import { storedIn } from "../../core/kept.ts";
import { bytesOf, NearbyReader, readFile } from "../../files/read.ts";
import { discardFile, type StoredFile, storeFile } from "../../files/write.ts";
import { type PackedMember, packedMembers, unpacked } from "../../files/zip.ts";
import { insertMany, insertRow } from "../../store/insert.ts";
import type { Database, Reader, Store, Value } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import { keptSettings } from "../application-settings/kept.ts";
import { concludeSite, specOf } from "../ci/progress.ts";
import { prefixOf } from "./place.ts";
import { MOST_BYTES, readRedirects } from "./redirects.ts";

/** Files of a site. */
const MOST_FILES = 50_000;
/** Characters of a file's path. */
const MOST_PATH = 1024;
/** Deployments of a project, with its main one. */
const MOST_DEPLOYMENTS = 100;
/** Mebibytes of a site where the settings of the application say nothing. */
const MOST_MEBIBYTES = 100;
const MEBIBYTE = 1024 * 1024;
/** Files that one transaction records or deletes. */
const BATCH = 1000;
/** How long a deployment beside the main one stays unless it says so, in milliseconds, as in GitLab. */
const DAY = 86_400_000;

/** The type of a symbolic link, among the bits of a mode that are its type. */
const LINK = 0o120000;
const TYPE = 0o170000;

/** Why a site is not published. */
class SiteProblem extends Error {}

/** What a job publishes. */
interface Publication {
  readonly projectId: number;
  readonly jobId: number;
  readonly prefix: string;
  /** The folder in the archive. */
  readonly folder: string;
  readonly expiresAt: number | null;
  readonly archive: StoredFile;
}

/** A file of a site, with its place in the stored file of the deployment. */
interface SiteFile extends PackedMember {
  /** Its path in the site. */
  readonly name: string;
  readonly beginsAt: number;
}

/**
 * Publishes the site of a job. Called once more for the same job, it begins anew unless it had come to its end.
 *
 * @param statusId of the status that says whether it was
 * @returns what ends that status
 */
export async function publish(
  store: Store,
  { site: jobId, status: statusId }: { readonly site: number; readonly status: number },
  now: number,
): Promise<(db: Database) => Promise<void>> {
  const problem = await deploy(store, jobId, now).then(
    () => undefined,
    (error) => {
      if (error instanceof SiteProblem) return error.message;
      throw error;
    },
  );
  return async (db) => {
    const [job] = await db.rows("select project_id from ci_jobs where id = ?", [statusId]);
    if (!job) return;
    db.lock(job[0] as number);
    await concludeSite(db, statusId, problem, now);
  };
}

/** @throws SiteProblem */
async function deploy(store: Store, jobId: number, now: number): Promise<void> {
  const publication = await publicationOf(store, jobId, now);
  const { projectId, archive } = publication;
  await removeDeployments(store, "project_id = ? and state <> 'live'", [projectId]);
  const known = await store.rows(
    "select 1 from site_deployments where project_id = ? and job_id = ?",
    [projectId, jobId],
  );
  if (known.length > 0) return;
  const files = await filesOf(store, publication);
  const redirects = await redirectsIn(store, archive, files);
  const content = await storeFile(store, contentsOf(store, archive, files), now);
  const id = await store.transaction(
    (db) =>
      insertRow(db, "site_deployments", {
        project_id: projectId,
        job_id: jobId,
        path_prefix: publication.prefix,
        root_directory: publication.folder.slice(0, -1),
        file_id: content.id,
        redirects,
        state: "new",
        expires_at: publication.expiresAt,
        created_at: now,
      }),
    { shared: true },
  );
  for (let at = 0; at < files.length; at += BATCH) {
    const rows = files.slice(at, at + BATCH).map((file): Value[] => {
      const { name, beginsAt, packed, length, isDeflated } = file;
      return [projectId, id, name, beginsAt, packed, length, Number(isDeflated)];
    });
    const columns = [
      "project_id",
      "deployment_id",
      "path",
      "begins_at",
      "packed",
      "length",
      "deflated",
    ];
    await store.transaction((db) => insertMany(db, "site_files", columns, rows), { shared: true });
  }
  // What it replaces is removed later: somebody may be reading it.
  await store.transaction((db) => goLive(db, publication, id, now));
}

/** Puts a deployment in the place of the one before it. @throws SiteProblem if there is a newer one, or there are too many */
async function goLive(
  db: Database,
  { projectId, jobId, prefix }: Publication,
  id: number,
  now: number,
): Promise<void> {
  db.lock(projectId);
  await db.run(
    "update site_deployments set state = 'dead' where project_id = ? and state = 'live' and expires_at <= ?",
    [projectId, now],
  );
  const live = await db.rows(
    "select path_prefix, job_id from site_deployments where project_id = ? and state = 'live'",
    [projectId],
  );
  const before = live.find(([path]) => path === prefix);
  if (before && (before[1] as number) > jobId) {
    throw new SiteProblem("build SHA is outdated for this ref");
  }
  if (!before && live.length >= MOST_DEPLOYMENTS) {
    throw new SiteProblem(`more than ${MOST_DEPLOYMENTS} deployments`);
  }
  await db.run(
    "update site_deployments set state = 'dead' where project_id = ? and state = 'live' and path_prefix = ?",
    [projectId, prefix],
  );
  await db.run("update site_deployments set state = 'live' where id = ?", [id]);
}

/** @throws SiteProblem */
async function publicationOf(store: Store, jobId: number, now: number): Promise<Publication> {
  const [row] = await store.rows(
    `select cj.project_id, f.id, f.size, f.sha256 from ci_jobs cj
     join projects p on p.id = cj.project_id and p.visibility > -1
     left join job_artifacts a on a.job_id = cj.id and a.file_type = 'archive'
     left join stored_files f on f.id = a.file_id where cj.id = ?`,
    [jobId],
  );
  const { options } = await specOf(store, jobId);
  const { publish: path = "public", path_prefix: text = "", expire_in } = options.pages ?? {};
  if (!row || row[1] === null) throw new SiteProblem("missing pages artifacts");
  const prefix = prefixOf(text);
  const seconds =
    expire_in === undefined || expire_in === "never" ? undefined : durationOf(expire_in);
  const lasts =
    seconds === undefined && expire_in === undefined && prefix !== "" ? DAY : (seconds ?? 0) * 1000;
  const folder = path.split("/").filter((part) => part !== "" && part !== ".");
  return {
    projectId: row[0] as number,
    jobId,
    prefix,
    folder: folder.map((part) => `${part}/`).join(""),
    expiresAt: lasts === 0 ? null : now + lasts,
    archive: { id: row[1] as number, size: row[2] as number, sha256: row[3] as string },
  };
}

/** The files that are published: links, and those whose names no URL can have, are not. @throws SiteProblem */
async function filesOf(
  store: Store,
  { archive, folder }: Publication,
): Promise<readonly SiteFile[]> {
  const most = await mostBytes(store);
  const files = new Map<string, SiteFile>();
  const pace = new Pace();
  let [beginsAt, bytes] = [0, 0];
  for await (const member of packedMembers(store, archive, folder)) {
    if (pace.isDue) await pace.pause();
    const name = member.path.slice(folder.length);
    const isLink = (member.mode & TYPE) === LINK;
    if (isLink || files.has(name) || name.length > MOST_PATH || /[\0\\]/.test(name)) continue;
    files.set(name, { ...member, name, beginsAt });
    beginsAt += member.packed;
    bytes += Math.max(member.length, member.packed);
    if (bytes > most) throw new SiteProblem(`artifacts for pages are too large: ${bytes} bytes`);
    if (files.size > MOST_FILES) throw new SiteProblem(`more than ${MOST_FILES} files`);
  }
  if (files.size === 0)
    throw new SiteProblem(`the ${folder.slice(0, -1) || "."} folder is missing or empty`);
  return [...files.values()];
}

async function mostBytes(db: Reader): Promise<number> {
  const stored = await storedIn(db, "application_settings", 1);
  const size = keptSettings.read(stored).max_pages_size ?? MOST_MEBIBYTES;
  return size === 0 ? Number.POSITIVE_INFINITY : size * MEBIBYTE;
}

async function* contentsOf(
  store: Store,
  archive: StoredFile,
  files: readonly SiteFile[],
): AsyncGenerator<Uint8Array> {
  const reader = new NearbyReader(store, archive);
  const pace = new Pace();
  for (const { at, packed } of files) {
    if (pace.isDue) await pace.pause();
    yield* reader.read(at, at + packed);
  }
}

/** The rules of the site's redirects as JSON; `null` if it has none, or they are too many. */
async function redirectsIn(
  store: Store,
  archive: StoredFile,
  files: readonly SiteFile[],
): Promise<string | null> {
  const file = files.find(({ name }) => name === "_redirects");
  if (!file || file.length > MOST_BYTES) return null;
  const packed = readFile(store, archive, file.at, file.at + file.packed);
  const text = await bytesOf(unpacked(packed, file)).then(String, () => "");
  const rules = readRedirects(text.replaceAll("\0", ""));
  return rules.length === 0 ? null : JSON.stringify(rules);
}

/** Removes deployments, some files at a time, and lets their stored files go. @param where a condition on `site_deployments` */
async function removeDeployments(
  store: Store,
  where: string,
  values: readonly Value[],
): Promise<void> {
  const found = await store.rows(`select id, file_id from site_deployments where ${where}`, values);
  for (const [id, file] of found) {
    const some = `select id from site_files where deployment_id = ? order by path limit ${BATCH}`;
    const remove = () =>
      store.transaction(
        (db) => db.run(`delete from site_files where id in (${some})`, [id as number]),
        {
          shared: true,
        },
      );
    while ((await remove()) === BATCH);
    await store.transaction(
      (db) => db.run("delete from site_deployments where id = ?", [id as number]),
      { shared: true },
    );
    if (file !== null) await discardFile(store, file as number);
  }
}

/** Removes deployments that have expired, were replaced or taken away, or whose publication was given up a day ago. */
export async function sweepSites(store: Store, now: number): Promise<void> {
  await store.transaction(
    (db) =>
      db.run(
        "update site_deployments set state = 'dead' where expires_at <= ? and state = 'live'",
        [now],
      ),
    { shared: true },
  );
  await removeDeployments(store, "state <> 'live' and (state = 'dead' or created_at < ?)", [
    now - DAY,
  ]);
}
