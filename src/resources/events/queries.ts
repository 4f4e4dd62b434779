import { type Condition, memberProjects, type Viewer, visibleProjects } from "../../core/access.ts";
import { type Listed, type Page, paginate } from "../../core/pagination.ts";
import type { Shape } from "../../core/present.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { visibleIssues } from "../issues/queries.ts";
import { visibleCode } from "../merge-requests/queries.ts";

/** What can be filtered by, and is kept (contract §6). */
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

/** The target types of filters, and the class names they stand for (contract §6). */
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

/** What happened to what. */
export interface NewEvent {
  project_id: number;
  author_id: number;
  action: Action;
  target?: { type: TargetType; id: number; iid?: number | null; title?: string | null } | undefined;
}

/** Keeps an event, in the transaction of what caused it, and gives its id. */
export async function record(db: Database, event: NewEvent, now: number): Promise<number> {
  const { project_id, author_id, action, target } = event;
  const [inserted] = await db.rows(
    `insert into events (project_id, author_id, action, target_type, target_id, target_iid, target_title, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      project_id,
      author_id,
      action,
      target ? TARGET_TYPES[target.type] : null,
      target?.id ?? null,
      target?.iid ?? target?.id ?? null,
      target?.title ?? null,
      now,
    ],
  );
  return inserted?.[0] as number;
}

/** A push to a ref of a repository, as Git tells of it. */
export interface Push {
  project_id: number;
  author_id: number;
  /** Without `refs/heads/` or `refs/tags/`. */
  ref: string;
  ref_type: "branch" | "tag";
  push_action: "created" | "removed" | "pushed";
  commit_count: number;
  /** Null for a ref that is new. */
  commit_from: string | null;
  /** Null for a ref that is gone. */
  commit_to: string | null;
  /** The first line of the last commit's message; cut to 70 characters. */
  commit_title: string | null;
}

/** Keeps a push and gives its event's id. Open merge requests of the branch have a new head. */
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
  return inserted?.[0] as number;
}

/** An event of a history that is brought in: what happened, or a push, and when. */
export type PastEvent = (NewEvent | Push) & { at: number };

const COLUMNS = `project_id, author_id, action, target_type, target_id, target_iid, target_title, created_at,
  commit_count, push_action, ref_type, commit_from, commit_to, ref, commit_title`;
const BATCH = 500;

/** Keeps many events, a batch a statement. Merge requests don't get to know of the pushes among them. */
export async function insertMany(db: Database, past: readonly PastEvent[]): Promise<void> {
  for (let start = 0; start < past.length; start += BATCH) {
    const batch = past.slice(start, start + BATCH).map(valuesOf);
    const tuple = `(${batch[0]?.map(() => "?").join(", ")})`;
    await db.run(
      `insert into events (${COLUMNS}) values ${batch.map(() => tuple).join(", ")}`,
      batch.flat(),
    );
  }
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

/** The commit that the last push known left a branch at, or null. */
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

/** What a list of events can be narrowed by. */
export interface EventFilter {
  action?: Action | undefined;
  targetType?: TargetType | undefined;
  /** Only events before the start of this day, `YYYY-MM-DD`. */
  before?: string | undefined;
  /** Only events after the end of this day, `YYYY-MM-DD`. */
  after?: string | undefined;
  sort: "asc" | "desc";
}

/** Whose or which project's events. */
export type EventScope =
  | { authorId: number }
  | { projectId: number }
  /** Those of everybody in the caller's projects. */
  | "callers-projects";

const DAY = 86_400_000;

const COUNTED = `events e join projects p on p.id = e.project_id
  left join notes nt on e.target_type = 'Note' and nt.id = e.target_id
  left join issues i on i.id = case when e.target_type = 'Issue' then e.target_id else nt.issue_id end`;

const EVENTS = `${COUNTED}
  join users u on u.id = e.author_id
  left join merge_requests mr
    on mr.id = case when e.target_type = 'MergeRequest' then e.target_id else nt.merge_request_id end
  left join milestones ms on e.target_type = 'Milestone' and ms.id = e.target_id
  left join users nu on nu.id = nt.author_id`;

/** The events of a scope that the caller may see, in the order they happened or the other way round. */
export function list(
  db: Reader,
  shape: Shape,
  page: Page,
  viewer: Viewer,
  scope: EventScope,
  filter: EventFilter,
): Promise<Listed> {
  const conditions: Condition[] = [];
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });

  if (scope === "callers-projects") conditions.push(memberProjects(viewer));
  else if ("projectId" in scope) add("e.project_id = ?", scope.projectId);
  else {
    add("e.author_id = ?", scope.authorId);
    conditions.push(visibleProjects(viewer));
  }
  if (filter.action) add("e.action = ?", filter.action);
  if (filter.targetType) add("e.target_type = ?", TARGET_TYPES[filter.targetType]);
  if (filter.before) add("e.created_at < ?", Date.parse(filter.before));
  if (filter.after) add("e.created_at >= ?", Date.parse(filter.after) + DAY);
  conditions.push(visibleTargets(viewer));

  const where = conditions.map(({ sql }) => sql).join(" and ");
  return paginate(db, shape, page, {
    from: `${EVENTS} where ${where}`,
    countFrom: `${COUNTED} where ${where}`,
    values: conditions.flatMap(({ values }) => values),
    order: `e.created_at ${filter.sort}, e.id ${filter.sort}`,
  });
}

/** What is told of a confidential issue, or of code, is for those who may read that (gitlab-facts §7.5). */
function visibleTargets(viewer: Viewer): Condition {
  const [issue, code] = [visibleIssues(viewer), visibleCode(viewer)];
  return {
    sql: `(i.id is null or ${issue.sql})
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

/** Removes at most `batch` events older than an instant, the oldest first, and gives how many. */
export function removeOlder(db: Database, than: number, batch: number) {
  return db.run(
    `delete from events where id in
      (select id from events where created_at < ? order by created_at, id limit ?)`,
    [than, batch],
  );
}
