import {
  memberProjects,
  type Viewer,
  visibleCode,
  visibleIssues,
  visibleProjects,
} from "../../core/access/visibility.ts";
import {
  countUpTo,
  MOST_AT_ONCE,
  offsetOf,
  type Page,
  type RowPage,
} from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { announce, announceLast } from "../../jobs/outbox.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** The actions that are stored, and that lists can be filtered by. */
export const ACTIONS = [
  "created",
  "updated",
  "closed",
  "reopened",
  "pushed",
  "commented",
  "merged",
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
 * gets it only at the end.
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

/** Counts an event and updates its project's last activity, at most once an hour like GitLab. */
function noteActivity(db: Database, projectId: number, authorId: number, now: number): void {
  db.last(COUNT, [projectId, authorId, 1]);
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

/** Records a push, updates the head of the branch's open merge requests, and returns the event's id. */
export async function recordPush(db: Database, push: Push, now: number): Promise<number> {
  if (push.ref_type === "branch" && push.commit_to !== null) {
    await db.run(
      `update merge_requests set sha = ?, updated_at = ?
       where source_project_id = ? and source_branch = ? and state = 'opened'`,
      [push.commit_to, now, push.project_id, push.ref],
    );
  }
  const [inserted] = await db.rows(
    `insert into events (project_id, author_id, action, created_at, commit_count, push_action, ref_type,
       commit_from, commit_to, ref, commit_title)
     values (?, ?, 'pushed', ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      push.project_id,
      push.author_id,
      now,
      push.commit_count,
      push.push_action,
      push.ref_type,
      push.commit_from,
      push.commit_to,
      push.ref,
      shortened(push.commit_title),
    ],
  );
  const id = inserted?.[0] as number;
  await announce(db, { event: id }, push.project_id, now);
  noteActivity(db, push.project_id, push.author_id, now);
  return id;
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
  const [found] = await db.rows(
    `select commit_to from events
     where project_id = ? and ref = ? and action = 'pushed' and ref_type = 'branch'
     order by id desc limit 1`,
    [projectId, branch],
  );
  return (found?.[0] as string | null | undefined) ?? null;
}

/** Filters and order of a list of events. */
export interface EventFilter {
  action?: Action | undefined;
  targetType?: TargetType | undefined;
  /** Only events before the start of this day, `YYYY-MM-DD`. */
  before?: string | undefined;
  /** Only events after the end of this day, `YYYY-MM-DD`. */
  after?: string | undefined;
  sort: "asc" | "desc";
}

/** Whose events, or which project's. */
export type EventScope =
  | { authorId: number }
  | { projectId: number }
  /** Everybody's in the caller's projects. */
  | "callers-projects";

const DAY = 86_400_000;

const EVENTS = `events e join projects p on p.id = e.project_id
  join users u on u.id = e.author_id
  left join notes nt on e.target_type = 'Note' and nt.id = e.target_id
  left join issues i on i.id = case when e.target_type = 'Issue' then e.target_id else nt.issue_id end
  left join merge_requests mr
    on mr.id = case when e.target_type = 'MergeRequest' then e.target_id else nt.merge_request_id end
  left join milestones ms on e.target_type = 'Milestone' and ms.id = e.target_id
  left join users nu on nu.id = nt.author_id`;

/**
 * The events of a scope, by date. The ids of a page are picked from an index alone; reading the events then leaves out
 * those the caller may not see. A page can therefore hold fewer events than its size, and totals include hidden events,
 * as GitLab's do.
 */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  scope: EventScope,
  filter: EventFilter,
): Promise<RowPage> {
  const picked = await pick(db, page, viewer, scope, filter);
  const hasNext = picked.length > page.size;
  if (hasNext) picked.pop();
  const offset = offsetOf(page);
  const isLast = !hasNext && (picked.length > 0 || offset === 0);
  const slice = await read(db, presenter, page, viewer, picked, filter.sort);
  if (page.skip > 0) return { ...slice, hasNext, total: undefined };
  const total = isLast ? offset + picked.length : await countAll(db, page, viewer, scope, filter);
  return {
    ...slice,
    hasNext,
    total: total !== undefined && total > page.limits.countedTotal ? undefined : total,
  };
}

async function read(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  picked: readonly Value[],
  sort: EventFilter["sort"],
): Promise<Pick<RowPage, "rows" | "read">> {
  const ids = picked.slice(page.skip);
  if (ids.length === 0) return { rows: [] };
  const among = placeholders(ids);
  const visible = visibleProjects(viewer);
  const open = visibleTargets(viewer);
  const { rows, more } = await db.slice(
    `select ${presenter.columns}, e.id from ${EVENTS}
     where e.id in (${among.sql}) and ${visible.sql} and ${open.sql}
     order by e.created_at ${sort}, e.id ${sort}`,
    [...among.values, ...visible.values, ...open.values],
    MOST_AT_ONCE,
  );
  return more ? { rows, read: picked.indexOf(rows.at(-1)?.at(-1) as Value) + 1 } : { rows };
}

/** The conditions of a filter on events `e`, each starting with `and`. */
function filtered(filter: EventFilter): Condition {
  const conditions: string[] = [];
  const values: Value[] = [];
  const add = (sql: string, value: Value) => {
    conditions.push(` and ${sql}`);
    values.push(value);
  };
  if (filter.action) add("e.action = ?", filter.action);
  if (filter.targetType) add("e.target_type = ?", TARGET_TYPES[filter.targetType]);
  if (filter.before) add("e.created_at < ?", Date.parse(filter.before));
  if (filter.after) add("e.created_at >= ?", Date.parse(filter.after) + DAY);
  return { sql: conditions.join(""), values };
}

/** The ids of a page, and one more if there is a next page. */
async function pick(
  db: Reader,
  page: Page,
  viewer: Viewer,
  scope: EventScope,
  filter: EventFilter,
): Promise<Value[]> {
  const { sort } = filter;
  const some = filtered(filter);
  const order = `order by e.created_at ${sort}, e.id ${sort}`;
  const limits = [page.size + 1, offsetOf(page)];
  const ids = async (from: string, values: readonly Value[]) => {
    const sql = `select e.id from ${from} ${order} limit ? offset ?`;
    return (await db.rows(sql, [...values, ...limits])).map(([id]) => id as Value);
  };
  const among = amongProjects(viewer, scope, filter);
  if (!among) {
    const own = scoped(viewer, scope);
    return ids(`${own.from} where ${own.sql}${some.sql}`, [...own.values, ...some.values]);
  }
  const { whose, seen, projects } = among;
  const most = offsetOf(page) + page.size + 1;
  const walked = Math.min(among.steps * most, MOST_STEPS);
  if (most <= walked) {
    // Callers who see most of the events find a full page among the newest, including hidden ones.
    const dated = filtered({ ...filter, action: undefined, targetType: undefined });
    const newest = await ids(
      `(select e.id, e.created_at, e.project_id, e.action, e.target_type from events e
        where ${whose.sql}${dated.sql} ${order} limit ?) as e
       cross join projects p where p.id = e.project_id and ${seen.sql}${some.sql}`,
      [...whose.values, ...dated.values, walked, ...seen.values, ...some.values],
    );
    if (newest.length > page.size) return newest;
  }
  // Otherwise take the `most` projects with the newest events, plus ties for the last place, and the `most` newest
  // events of each: the newest `most` events overall are among these. (Oldest instead of newest if sorted that way.)
  const edge = sort === "desc" ? "max" : "min";
  return ids(
    `(select id from (
       select id, rank() over (order by latest ${sort}) as place from (
         select p.id, (
           select ${edge}(e.created_at) from events e where e.project_id = p.id and ${whose.sql}${some.sql}) as latest
         from ${projects.from} where ${projects.sql}) as known
       where latest is not null) as active where place <= ?) as recent
     join events e on e.id in (
       select e.id from events e where e.project_id = recent.id and ${whose.sql}${some.sql}
       ${order} limit ?)`,
    [
      ...[...whose.values, ...some.values, ...projects.values, most],
      ...[...whose.values, ...some.values, most],
    ],
  );
}

/** A condition and the tables it refers to. */
type Source = Condition & { from: string };

/** Selects the events of a scope by index alone. Callers' own events in hidden projects are left out only when read. */
function scoped(viewer: Viewer, scope: EventScope): Source {
  if (scope !== "callers-projects" && "projectId" in scope) {
    return { from: "events e", sql: "e.project_id = ?", values: [scope.projectId] };
  }
  const joined = "events e join projects p on p.id = e.project_id";
  if (scope === "callers-projects") return { from: joined, ...memberProjects(viewer) };
  const byAuthor = { sql: "e.author_id = ?", values: [scope.authorId] };
  if (scope.authorId === viewer.caller?.id) return { from: "events e", ...byAuthor };
  return { from: joined, ...both(byAuthor, visibleProjects(viewer)) };
}

/** How to find events spread over many projects, some of which the caller may not see. */
interface AmongProjects {
  /** The condition on events `e`, in whatever project. */
  whose: Condition;
  /** The condition on projects `p` the caller sees. */
  seen: Condition;
  /** The projects among these that can have such events. */
  projects: Source;
  /** How many events to scan for each one the page needs, before searching project by project. */
  steps: number;
}

const MOST_STEPS = 10_000;

/** `undefined` if a plain index scan is fast enough. */
function amongProjects(
  viewer: Viewer,
  scope: EventScope,
  { action, targetType }: EventFilter,
): AmongProjects | undefined {
  if (scope === "callers-projects") {
    const mine = memberProjects(viewer);
    const everyones = { sql: "1 = 1", values: [] };
    return { whose: everyones, seen: mine, projects: { from: "projects p", ...mine }, steps: 10 };
  }
  if ("projectId" in scope || scope.authorId === viewer.caller?.id) return undefined;
  // An author's events of one kind are found by index; the scan passes over those in hidden projects.
  if (action || targetType) return undefined;
  const visible = visibleProjects(viewer);
  const theirs = {
    sql: "c.author_id = ? and c.events > 0 and p.id = c.project_id",
    values: [scope.authorId],
  };
  return {
    whose: { sql: "e.author_id = ?", values: [scope.authorId] },
    seen: visible,
    projects: { from: "event_counts c cross join projects p", ...both(theirs, visible) },
    // The index on authors contains the project as well, which makes a step cheaper.
    steps: 50,
  };
}

function both(one: Condition, other: Condition): Condition {
  return { sql: `${one.sql} and ${other.sql}`, values: [...one.values, ...other.values] };
}

/** How many pairs of project and author are summed first, and the factor by which each further attempt sums more. */
const SUMMED = { first: 100, growth: 5 };

/** The number of events in a scope, or `undefined` if there are more than are counted. */
async function countAll(
  db: Reader,
  page: Page,
  viewer: Viewer,
  scope: EventScope,
  filter: EventFilter,
): Promise<number | undefined> {
  const some = filtered(filter);
  const own = scoped(viewer, scope);
  if (some.sql !== "") {
    const among = amongProjects(viewer, scope, filter);
    const { from, sql, values } = among
      ? {
          from: `${among.projects.from} cross join events e`,
          ...both(both({ sql: "e.project_id = p.id", values: [] }, among.whose), among.projects),
        }
      : own;
    return countUpTo(db, page, `${from} where ${sql}${some.sql}`, [...values, ...some.values]);
  }
  const counts = own.from.replace("events e", "event_counts e");
  // Each pair has at least one event. For large totals the first few pairs usually exceed the limit already.
  for (let most = SUMMED.first; ; most *= SUMMED.growth) {
    const [found] = await db.rows(
      `select count(*), coalesce(sum(events), 0) from (
         select e.events from ${counts} where ${own.sql} and e.events > 0 limit ?) as counted`,
      [...own.values, most],
    );
    const [pairs, total] = found as [number, number];
    if (total > page.limits.countedTotal) return undefined;
    if (pairs < most) return total;
  }
}

/** Events are visible to callers who may read their target; events about disabled features to nobody. */
function visibleTargets(viewer: Viewer): Condition {
  const [issue, code] = [visibleIssues(viewer), visibleCode(viewer)];
  return {
    sql: `(i.id is null or ${issue.sql}) and (mr.id is null or p.merge_requests_enabled = 1)
      and (ms.id is null or p.issues_enabled = 1 or p.merge_requests_enabled = 1)
      and ((e.action <> 'pushed' and nt.merge_request_id is null
        and (e.target_type is null or e.target_type <> 'MergeRequest')) or ${code.sql})`,
    values: [...issue.values, ...code.values],
  };
}

/** How many events are older than an instant, in epoch milliseconds. */
export async function countOlder(db: Reader, than: number): Promise<number> {
  const [counted] = await db.rows("select count(*) from events where created_at < ?", [than]);
  return counted?.[0] as number;
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

/** Removes the events about something that is about to be deleted, and about its notes. */
export async function forget(
  db: Database,
  target: { type: "issue" | "merge_request" | "note"; id: number },
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
