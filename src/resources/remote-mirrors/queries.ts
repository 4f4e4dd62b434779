import { pageReader } from "../../core/pagination.ts";
import { rowReader } from "../../core/presenter.ts";
import type { Secrets } from "../../core/secrets.ts";
import { add, addLast, hasten } from "../../jobs/outbox.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Store } from "../../store/port.ts";
import { type MirrorAddress, sealed } from "../mirrors/address.ts";
import { purposeOf } from "./table.ts";

/** The name of the worker that pushes to mirrors. */
export const MIRROR_WORKER = "mirrors";

/** What the worker is to do: to bring a mirror, by its id, to the state of its project. */
export interface MirrorTask {
  readonly mirror: number;
}

/** A mirror, as handlers and the worker need it. */
export interface Mirror {
  readonly id: number;
  readonly project_id: number;
  readonly enabled: number;
  readonly url: string;
  readonly credentials: string | null;
  readonly only_protected_branches: number;
  readonly keep_divergent_refs: number;
  readonly mirror_branch_regex: string | null;
  readonly large_files_until: number;
  readonly update_status: string;
  readonly updated_at: number;
}

const COLUMNS = `id, project_id, enabled, url, credentials, only_protected_branches, keep_divergent_refs,
  mirror_branch_regex, large_files_until, update_status, updated_at`;

/** The mirrors of a project, oldest first. */
export const list = pageReader({
  from: "remote_mirrors mir where mir.project_id = ?",
  order: "mir.id",
});

/** A mirror as a row of its presenter. */
export const row = rowReader("remote_mirrors mir where mir.id = ?");

/** A mirror of a project, or `undefined`. */
export function find(db: Reader, projectId: number, id: number): Awaitable<Mirror | undefined> {
  return db.one<Mirror>(`select ${COLUMNS} from remote_mirrors where project_id = ? and id = ?`, [
    projectId,
    id,
  ]);
}

/** The mirror with this id, whichever project it is of, if it is enabled. */
export function findEnabled(db: Reader, id: number): Awaitable<Mirror | undefined> {
  return db.one<Mirror>(`select ${COLUMNS} from remote_mirrors where id = ? and enabled = 1`, [id]);
}

/** How many mirrors a project has. */
export async function count(db: Reader, projectId: number): Promise<number> {
  const [counted] = await db.rows("select count(*) from remote_mirrors where project_id = ?", [
    projectId,
  ]);
  return (counted as [number])[0];
}

/** What a new mirror has. */
export interface NewMirror extends MirrorAddress {
  readonly projectId: number;
  readonly enabled: boolean;
}

/**
 * Adds a mirror, with its credentials encrypted, and returns its id.
 *
 * @throws SecretKeyError if it has credentials, but there is no key
 */
export async function insert(
  db: Database,
  secrets: Secrets,
  { projectId, enabled, ...address }: NewMirror,
  now: number,
): Promise<number> {
  const id = await insertRow(db, "remote_mirrors", {
    ...{ project_id: projectId, url: address.url, enabled: Number(enabled) },
    ...{ created_at: now, updated_at: now },
  });
  const credentials = await sealed(db, secrets, address, purposeOf(id));
  if (credentials !== null) {
    await db.run("update remote_mirrors set credentials = ? where id = ?", [credentials, id]);
  }
  return id;
}

/** Has the enabled mirrors of a project updated, at the end of a transaction that changes its branches or tags. */
export function queueAll(db: Database, projectId: number, now: number): void {
  const due = "project_id = ? and enabled = 1 and update_status <> 'scheduled'";
  addLast(
    db,
    {
      sql: `select '${MIRROR_WORKER}' as worker, '{"mirror":' || id || '}' as payload, id as order_key
        from remote_mirrors where ${due}`,
      values: [projectId],
    },
    now,
  );
  db.last(`update remote_mirrors set update_status = 'scheduled' where ${due}`, [projectId]);
}

/** Has a mirror updated, at once even if an update that failed is to be repeated later. */
export async function queue(db: Database, id: number, now: number): Promise<void> {
  await add<MirrorTask>(db, MIRROR_WORKER, [{ mirror: id }], now, ({ mirror }) => mirror);
  await hasten(db, MIRROR_WORKER, id);
  await db.run("update remote_mirrors set update_status = 'scheduled' where id = ?", [id]);
}

/** Notes that a mirror is not updated though that was scheduled, since it is no longer enabled. */
export async function drop(db: Database, id: number): Promise<void> {
  await db.run(
    "update remote_mirrors set update_status = 'none' where id = ? and update_status = 'scheduled'",
    [id],
  );
}

/** Has an update that failed in an unforeseen way, and looks as if it ran, repeated at once. */
export async function hurry(db: Database, id: number): Promise<void> {
  await hasten(db, MIRROR_WORKER, id);
}

/** Notes that an update of a mirror begins: pushes from now on need another one. */
export async function begin(db: Database, id: number, now: number): Promise<void> {
  await db.run(
    "update remote_mirrors set update_status = 'started', last_update_started_at = ? where id = ?",
    [now, id],
  );
}

/** Notes up to which object of Git LFS a mirror was sent all. */
export async function rememberLargeFiles(store: Store, id: number, until: number): Promise<void> {
  await store.transaction((db) =>
    db.run("update remote_mirrors set large_files_until = ? where id = ?", [until, id]),
  );
}

/**
 * Notes how an update ended.
 *
 * @param status of the mirror, unless another update is scheduled
 * @param error why it failed; `null` if it did not
 */
export async function end(
  db: Database,
  id: number,
  status: "finished" | "to_retry" | "failed",
  error: string | null,
  now: number,
): Promise<void> {
  await db.run(
    `update remote_mirrors set last_update_at = ?, last_error = ?,
       update_status = case when update_status = 'started' then ? else update_status end,
       last_successful_update_at = case when ? = 'finished' then ? else last_successful_update_at end
     where id = ?`,
    [now, error, status, status, now, id],
  );
}
