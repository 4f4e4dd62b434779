import type { Presenter } from "../../core/presenter.ts";
import type { Secrets } from "../../core/secrets.ts";
import { add, hasten } from "../../jobs/outbox.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Store, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { type MirrorAddress, sealed } from "../mirrors/address.ts";
import { FIRST_RETRY, TRIES } from "../mirrors/updates.ts";
import { purposeOf } from "./table.ts";

/** The name of the worker that updates projects from their pull mirrors. */
export const PULL_WORKER = "pull-mirrors";

/** What the worker is to do: to update a project from its mirror, by the mirror's id. */
export interface PullTask {
  readonly mirror: number;
}

/** A mirror, as handlers and the worker need it. */
export interface PullMirror {
  readonly id: number;
  readonly project_id: number;
  readonly user_id: number | null;
  readonly enabled: number;
  readonly url: string;
  readonly credentials: string | null;
  readonly mirror_trigger_builds: number;
  readonly only_mirror_protected_branches: number;
  readonly mirror_overwrites_diverged_branches: number;
  readonly mirror_branch_regex: string | null;
  readonly update_status: string;
  readonly last_update_at: number | null;
  readonly last_successful_update_at: number | null;
  readonly failures: number;
  /** The pack of its repository up to which all objects of Git LFS are here. */
  readonly large_files_until: number;
}

const COLUMNS = `id, project_id, user_id, enabled, url, credentials, mirror_trigger_builds,
  only_mirror_protected_branches, mirror_overwrites_diverged_branches, mirror_branch_regex, update_status,
  last_update_at, last_successful_update_at, failures, large_files_until`;

const MINUTE = 60_000;
/** Milliseconds between two updates that nobody asks for. */
const EVERY = 30 * MINUTE;
/** The longest pause after failures. */
const LAST_RETRY = 24 * 60 * MINUTE;
/** Milliseconds after a successful update in which another one that is asked for waits, as in GitLab. */
const SOONEST = 5 * MINUTE;

/** The mirror of a project, or `undefined`. */
export function find(db: Reader, projectId: number): Awaitable<PullMirror | undefined> {
  return db.one<PullMirror>(`select ${COLUMNS} from pull_mirrors where project_id = ?`, [
    projectId,
  ]);
}

/** The mirror with this id, if it is enabled. */
export function findEnabled(db: Reader, id: number): Awaitable<PullMirror | undefined> {
  return db.one<PullMirror>(`select ${COLUMNS} from pull_mirrors where id = ? and enabled = 1`, [
    id,
  ]);
}

/** The mirror of a project as a row of its presenter; `undefined` if it has none. */
export async function row(
  db: Reader,
  presenter: Presenter,
  projectId: number,
): Promise<Value[] | undefined> {
  const sql = `select ${presenter.columns} from pull_mirrors pum where pum.project_id = ?`;
  return (await db.rows(sql, [projectId]))[0];
}

/** Adds a mirror that is not enabled yet, and returns its id. */
export function insert(
  db: Database,
  { projectId, url }: { readonly projectId: number; readonly url: string },
  now: number,
): Promise<number> {
  return insertRow(db, "pull_mirrors", {
    ...{ project_id: projectId, url },
    ...{ created_at: now, updated_at: now },
  });
}

/** Sets the address of a mirror, with its credentials encrypted. @throws SecretKeyError if there is no key */
export async function setAddress(
  db: Database,
  secrets: Secrets,
  id: number,
  address: MirrorAddress,
  now: number,
): Promise<void> {
  const credentials = await sealed(db, secrets, address, purposeOf(id));
  await updateRow(db, "pull_mirrors", id, { url: address.url, credentials }, now);
}

/** Has a mirror updated, as soon as there is somebody who does it. Failures before are forgotten. */
export async function queue(db: Database, id: number, now: number): Promise<void> {
  await db.run(
    "update pull_mirrors set update_status = 'scheduled', failures = 0, next_update_at = ? where id = ?",
    [now + EVERY, id],
  );
  if ((await hasten(db, PULL_WORKER, id)) > 0) return;
  await add<PullTask>(db, PULL_WORKER, [{ mirror: id }], now, ({ mirror }) => mirror);
}

/** Notes that a mirror is not updated though that was scheduled, since it is no longer enabled. */
export async function drop(db: Database, id: number): Promise<void> {
  await db.run(
    "update pull_mirrors set update_status = 'none' where id = ? and update_status = 'scheduled'",
    [id],
  );
}

/** Has a mirror updated that somebody asks for: five minutes after the last update that succeeded, or at once. */
export async function request(db: Database, mirror: PullMirror, now: number): Promise<void> {
  const { id, last_successful_update_at: last } = mirror;
  if (last === null || last <= now - SOONEST) return queue(db, id, now);
  await db.run(
    "update pull_mirrors set failures = 0, next_update_at = ? where id = ? and next_update_at > ?",
    [last + SOONEST, id, last + SOONEST],
  );
}

/** Mirrors that are queued at once. */
const TOGETHER = 100;

/** Queues the updates that are due. Several processes may do so at once. */
export async function queueDue(store: Store, now: number): Promise<void> {
  const due = "enabled = 1 and next_update_at <= ? and update_status <> 'scheduled'";
  for (let queued = TOGETHER; queued === TOGETHER; ) {
    // Most looks find nothing, and only read.
    const [found] = await store.rows(`select 1 from pull_mirrors where ${due} limit 1`, [now]);
    if (!found) return;
    queued = await store.transaction(
      async (db) => {
        const rows = await db.rows(
          `update pull_mirrors set update_status = 'scheduled', next_update_at = ?
           where id in (select id from pull_mirrors where ${due} order by next_update_at, id limit ${TOGETHER})
             and ${due} returning id`,
          [now + EVERY, now, now],
        );
        const tasks = rows.map(([id]): PullTask => ({ mirror: id as number }));
        await add(db, PULL_WORKER, tasks, now, ({ mirror }) => mirror);
        return rows.length;
      },
      { shared: true },
    );
  }
}

/** Notes that an update of a mirror begins. */
export async function begin(db: Database, id: number, now: number): Promise<void> {
  await db.run(
    "update pull_mirrors set update_status = 'started', last_update_started_at = ? where id = ?",
    [now, id],
  );
}

/** Milliseconds until the next update, after so many failures in a row. */
function pauseAfter(failures: number): number {
  if (failures === 0) return EVERY;
  return failures < TRIES
    ? FIRST_RETRY * 2 ** (failures - 1)
    : Math.min(EVERY * 2 ** (failures - TRIES), LAST_RETRY);
}

/** Notes up to which pack all objects of Git LFS are here. */
export async function setLargeFilesUntil(db: Database, id: number, pack: number): Promise<void> {
  await db.run("update pull_mirrors set large_files_until = ? where id = ?", [pack, id]);
}

/** How an update ended. */
export interface End {
  /** Why it failed, or what of it was left out; `null` if all was done. */
  readonly error: string | null;
  /** Whether it failed as a whole, so that it is tried again earlier, and then later. */
  readonly hasFailed: boolean;
}

/** Notes how an update ended, and when the next one is due. */
export async function end(
  db: Database,
  { id, failures: before }: Pick<PullMirror, "id" | "failures">,
  { error, hasFailed }: End,
  now: number,
): Promise<void> {
  const failures = hasFailed ? before + 1 : 0;
  const status = error === null ? "finished" : "failed";
  await db.run(
    `update pull_mirrors set last_update_at = ?, last_error = ?, failures = ?, next_update_at = ?,
       update_status = case when update_status = 'started' then ? else update_status end,
       last_successful_update_at = case when ? = 'finished' then ? else last_successful_update_at end
     where id = ?`,
    [now, error, failures, now + pauseAfter(failures), status, status, now, id],
  );
}
