import type { Secrets } from "../../core/secrets.ts";
import { add } from "../../jobs/outbox.ts";
import { insertMany } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { type MirrorAddress, sealed } from "../mirrors/address.ts";
import { purposeOf } from "./table.ts";

/** The name of the worker that imports projects by URL. */
export const IMPORT_WORKER = "url-imports";

/** What the worker is to do, with the id of the project. */
export interface ImportTask {
  readonly project: number;
}

/** An import by URL that has not ended. */
export interface UrlImport {
  readonly project_id: number;
  readonly user_id: number | null;
  readonly full_path: string;
  /** With stars in the place of its credentials. */
  readonly url: string;
  readonly credentials: string | null;
}

/** How many imports by URL a user has begun since an instant, in epoch milliseconds. */
export async function countSince(db: Reader, userId: number, since: number): Promise<number> {
  const [row] = await db.rows(
    "select count(*) from project_imports where user_id = ? and created_at > ? and url is not null",
    [userId, since],
  );
  return Number(row?.[0]);
}

/** Has a new project imported. @throws SecretKeyError if there is no key for its credentials */
export async function queueUrlImport(
  db: Database,
  secrets: Secrets,
  { projectId, userId, address }: UrlImportRequest,
  now: number,
): Promise<void> {
  const credentials = await sealed(db, secrets, address, purposeOf(projectId));
  const row = {
    ...{ project_id: projectId, user_id: userId, status: "scheduled" },
    ...{ url: address.url, credentials, created_at: now },
  };
  await insertMany(db, "project_imports", Object.keys(row), [Object.values(row)]);
  await add<ImportTask>(db, IMPORT_WORKER, [{ project: projectId }], now, ({ project }) => project);
}

/** An import that is asked for. */
interface UrlImportRequest {
  readonly projectId: number;
  readonly userId: number;
  readonly address: MirrorAddress;
}

/** The import of a project, unless it has ended. */
export function findOpen(db: Reader, projectId: number): Awaitable<UrlImport | undefined> {
  return db.one<UrlImport>(
    `select i.project_id, i.user_id, p.full_path, i.url, i.credentials
     from project_imports i join projects p on p.id = i.project_id
     where i.project_id = ? and i.url is not null and i.status in ('scheduled', 'started')`,
    [projectId],
  );
}

/** Notes that an import has begun. */
export async function begin(db: Database, projectId: number): Promise<void> {
  await db.run("update project_imports set status = 'started' where project_id = ?", [projectId]);
}

/** Notes how an import has ended. Its credentials are no longer needed. @param error what is missing, or why it failed */
export async function end(
  db: Database,
  projectId: number,
  status: "finished" | "failed",
  error: string | null,
): Promise<void> {
  await db.run(
    "update project_imports set status = ?, error = ?, credentials = null where project_id = ?",
    [status, error, projectId],
  );
}
