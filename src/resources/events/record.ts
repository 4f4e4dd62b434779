import { announce, announceLast } from "../../jobs/outbox.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";

/** The actions that are stored, and that lists can be filtered by. */
export const ACTIONS = [
  "created",
  "updated",
  "closed",
  "reopened",
  "pushed",
  "commented",
  "merged",
  "approved",
  "joined",
  "left",
  "destroyed",
  "expired",
] as const;
export type Action = (typeof ACTIONS)[number];

/** The target types of filters, with the class names that are stored and shown. */
export const TARGET_TYPES = {
  issue: "Issue",
  milestone: "Milestone",
  merge_request: "MergeRequest",
  note: "Note",
  project: "Project",
  snippet: "Snippet",
  user: "User",
} as const;
export type TargetType = keyof typeof TARGET_TYPES;

/** An event to record, other than a push. */
export interface NewEvent {
  project_id: number;
  author_id: number;
  action: Action;
  target?: { type: TargetType; id: number; iid?: number | null; title?: string | null } | undefined;
}

/**
 * Records an event at the end of the transaction that caused it. An issue's number is read then, because a new issue
 * gets it only at the end. The outbox passes the event on: for who is notified, see `recipients` in
 * src/notifications/recipients.ts.
 */
export function record(db: Database, event: NewEvent, now: number): void {
  const { project_id, author_id, action, target } = event;
  const iid =
    target?.type === "issue"
      ? { sql: "(select iid from issues where id = ?)", value: target.id }
      : { sql: "?", value: target?.iid ?? target?.id ?? null };
  db.last(
    `insert into events (project_id, author_id, action, target_type, target_id, target_iid, target_title, created_at)
     values (?, ?, ?, ?, ?, ${iid.sql}, ?, ?)`,
    [
      project_id,
      author_id,
      action,
      target ? TARGET_TYPES[target.type] : null,
      target?.id ?? null,
      iid.value,
      target?.title ?? null,
      now,
    ],
  );
  announceLast(db, "event", project_id, now);
  noteActivity(db, project_id, author_id, now);
}

const HOUR = 3_600_000;

/** Counts events and updates their project's last activity, at most once an hour like GitLab. */
function noteActivity(
  db: Database,
  projectId: number,
  authorId: number,
  now: number,
  count = 1,
): void {
  db.last(COUNT, [projectId, authorId, count]);
  db.last("update projects set last_activity_at = ? where id = ? and last_activity_at <= ?", [
    now,
    projectId,
    now - HOUR,
  ]);
}

const COUNT = `insert into event_counts (project_id, author_id, events) values (?, ?, ?)
  on conflict (project_id, author_id) do update set events = event_counts.events + excluded.events`;

/** A push to one ref of a repository, as Git reports it. */
export interface Push {
  project_id: number;
  author_id: number;
  /** Without `refs/heads/` or `refs/tags/`. */
  ref: string;
  ref_type: "branch" | "tag";
  push_action: "created" | "removed" | "pushed";
  commit_count: number;
  /** Null for a new ref. */
  commit_from: string | null;
  /** Null for a deleted ref. */
  commit_to: string | null;
  /** The first line of the last commit's message; stored cut to 70 characters. */
  commit_title: string | null;
}

/**
 * Records the changes of references of one push, and returns the ids of the events. Open merge requests without code, of
 * which the event is all that is known, get their new head.
 *
 * @param pushes of one project, by one user
 */
export async function recordPushes(
  db: Database,
  pushes: readonly Push[],
  now: number,
): Promise<number[]> {
  const ids: number[] = [];
  for (let start = 0; start < pushes.length; start += BATCH) {
    ids.push(...(await recordSome(db, pushes.slice(start, start + BATCH), now)));
  }
  const [first] = pushes;
  if (first) noteActivity(db, first.project_id, first.author_id, now, pushes.length);
  return ids;
}

/** {@link recordPushes} for one change. @returns the event's id */
export async function recordPush(db: Database, push: Push, now: number): Promise<number> {
  return (await recordPushes(db, [push], now))[0] as number;
}

async function recordSome(db: Database, pushes: readonly Push[], now: number): Promise<number[]> {
  const { project_id } = pushes[0] as Push;
  await moveHeads(db, project_id, pushes, now);
  const columns = PUSH_COLUMNS.join(", ");
  const tuple = `(${PUSH_COLUMNS.map(() => "?").join(", ")})`;
  const rows = await db.rows(
    `insert into events (${columns}) values ${pushes.map(() => tuple).join(", ")} returning id`,
    pushes.flatMap((push) => {
      const values = pushValues(push, now);
      return PUSH_COLUMNS.map((column) => values[column]);
    }),
  );
  const ids = rows.map(([id]) => id as number).sort((one, other) => one - other);
  const payloads = ids.map((event) => ({ event }));
  await announce(db, payloads, project_id, now);
  return ids;
}

const PUSH_COLUMNS = [
  ...(["project_id", "author_id", "action", "created_at", "commit_count", "push_action"] as const),
  ...(["ref_type", "commit_from", "commit_to", "ref", "commit_title"] as const),
];

const pushValues = (push: Push, now: number) => ({
  ...push,
  action: "pushed",
  created_at: now,
  commit_title: shortened(push.commit_title),
});

/** Gives open merge requests without code their new heads. */
async function moveHeads(
  db: Database,
  projectId: number,
  pushes: readonly Push[],
  now: number,
): Promise<void> {
  const heads = new Map(
    pushes.flatMap(({ ref, ref_type, commit_to }) =>
      ref_type === "branch" && commit_to !== null ? [[ref, commit_to]] : [],
    ),
  );
  if (heads.size === 0) return;
  const among = placeholders([...heads.keys()]);
  const open = await db.rows(
    `select id, source_branch from merge_requests
     where source_project_id = ? and source_branch in (${among.sql}) and state = 'opened' and not exists
       (select 1 from merge_request_versions v where v.merge_request_id = merge_requests.id)`,
    [projectId, ...among.values],
  );
  for (const [id, branch] of open) {
    await updateRow(db, "merge_requests", id as number, { sha: heads.get(branch as string) }, now);
  }
}

/** An event or push of an imported history, with its time. */
export type PastEvent = (NewEvent | Push) & { at: number };

const COLUMNS = `project_id, author_id, action, target_type, target_id, target_iid, target_title, created_at,
  commit_count, push_action, ref_type, commit_from, commit_to, ref, commit_title`;
const BATCH = 500;

/** Inserts many events, a batch per statement. Pushes among them do not update merge requests. */
export async function insertMany(db: Database, past: readonly PastEvent[]): Promise<void> {
  for (let start = 0; start < past.length; start += BATCH) {
    const batch = past.slice(start, start + BATCH).map(valuesOf);
    const tuple = `(${batch[0]?.map(() => "?").join(", ")})`;
    await db.run(
      `insert into events (${COLUMNS}) values ${batch.map(() => tuple).join(", ")}`,
      batch.flat(),
    );
  }
  await countEach(
    db,
    past.map(({ project_id, author_id }) => [project_id, author_id]),
    1,
  );
}

function valuesOf(past: PastEvent): Value[] {
  const { project_id, author_id, at } = past;
  if ("action" in past) {
    const { action, target } = past;
    const type = target ? TARGET_TYPES[target.type] : null;
    const iid = target?.iid ?? target?.id ?? null;
    const title = target?.title ?? null;
    const pushed = [null, null, null, null, null, null, null];
    return [project_id, author_id, action, type, target?.id ?? null, iid, title, at, ...pushed];
  }
  const { commit_count, push_action, ref_type, commit_from, commit_to, ref } = past;
  const pushed = [commit_count, push_action, ref_type, commit_from, commit_to, ref];
  const target = [null, null, null, null];
  const title = shortened(past.commit_title);
  return [project_id, author_id, "pushed", ...target, at, ...pushed, title];
}

function shortened(title: string | null): string | null {
  return title && [...title].slice(0, 70).join("");
}

/** The commit a branch was at after its last recorded push, or null. */
export async function headOf(
  db: Reader,
  projectId: number,
  branch: string,
): Promise<string | null> {
  const found = await db.one<{ commit_to: string | null }>(
    `select commit_to from events
     where project_id = ? and ref = ? and action = 'pushed' and ref_type = 'branch'
     order by id desc limit 1`,
    [projectId, branch],
  );
  return found?.commit_to ?? null;
}

/** How many events are older than an instant, in epoch milliseconds. */
export async function countOlder(db: Reader, than: number): Promise<number> {
  const [counted] = await db.rows("select count(*) from events where created_at < ?", [than]);
  return (counted as [number])[0];
}

/** Removes at most `batch` events older than an instant, the oldest first, and returns how many. */
export async function removeOlder(db: Database, than: number, batch: number): Promise<number> {
  const removed = await db.rows(
    `delete from events where id in
       (select id from events where created_at < ? order by created_at, id limit ?)
     returning project_id, author_id`,
    [than, batch],
  );
  await countEach(db, removed as [number, number][], -1);
  return removed.length;
}

/** Removes at most `batch` events of projects, and returns how many. @param among placeholders for their ids */
export async function removeOfProjects(
  db: Database,
  among: Condition,
  batch: number,
): Promise<number> {
  const removed = await db.rows(
    `delete from events where id in (select id from events where project_id in (${among.sql}) limit ?)
     returning project_id, author_id`,
    [...among.values, batch],
  );
  await countEach(db, removed as [number, number][], -1);
  return removed.length;
}

/** Removes at most `batch` events by a user, and returns how many. */
export async function removeOfAuthor(
  db: Database,
  authorId: number,
  batch: number,
): Promise<number> {
  const removed = await db.rows(
    `delete from events where id in (select id from events where author_id = ? limit ?)
     returning project_id, author_id`,
    [authorId, batch],
  );
  await countEach(db, removed as [number, number][], -1);
  return removed.length;
}

/** Removes the events about something that is about to be deleted, and about its notes. */
export async function forget(
  db: Database,
  target: { type: "issue" | "merge_request" | "snippet" | "note"; id: number },
): Promise<void> {
  const removed: Value[][] = [];
  if (target.type !== "note") {
    removed.push(
      ...(await db.rows(
        `delete from events where target_type = 'Note'
           and target_id in (select id from notes where ${target.type}_id = ?)
         returning project_id, author_id`,
        [target.id],
      )),
    );
  }
  removed.push(
    ...(await db.rows(
      "delete from events where target_type = ? and target_id = ? returning project_id, author_id",
      [TARGET_TYPES[target.type], target.id],
    )),
  );
  await countEach(db, removed as [number, number][], -1);
}

/** Adds `step` to the count of the project and author of each event. */
async function countEach(
  db: Database,
  events: readonly (readonly [number, number])[],
  step: 1 | -1,
): Promise<void> {
  const pairs = new Map<string, [number, number, number]>();
  for (const [projectId, authorId] of events) {
    const pair = pairs.get(`${projectId} ${authorId}`) ?? [projectId, authorId, 0];
    pair[2] += step;
    pairs.set(`${projectId} ${authorId}`, pair);
  }
  for (const [projectId, authorId, more] of pairs.values()) {
    await db.run(COUNT, [projectId, authorId, more]);
  }
}
