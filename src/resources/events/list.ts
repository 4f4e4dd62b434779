import {
  memberProjects,
  NOT_DELETED_USER,
  notOfBanned,
  usesFeature,
  type Viewer,
  visibleCode,
  visibleIssues,
  visibleNotes,
  visibleProjects,
  visibleSnippets,
} from "../../core/access/visibility.ts";
import {
  countUpTo,
  MAX_READ_CHARACTERS,
  offsetOf,
  type Page,
  type RowPage,
} from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, belowGroup, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { type Action, TARGET_TYPES, type TargetType } from "./record.ts";

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
  /** Those of the projects in a group and its subgroups. */
  | { groupId: number }
  /** Everybody's in the caller's projects. */
  | "callers-projects";

const DAY = 86_400_000;

/** Events with what they are about. */
export const EVENTS = `events e join projects p on p.id = e.project_id
  join users u on u.id = e.author_id and ${NOT_DELETED_USER}
  left join notes nt on e.target_type = 'Note' and nt.id = e.target_id
  left join issues i on i.id = case when e.target_type = 'Issue' then e.target_id else nt.issue_id end
  left join merge_requests mr
    on mr.id = case when e.target_type = 'MergeRequest' then e.target_id else nt.merge_request_id end
  left join snippets s on s.id = nt.snippet_id
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
  const visible = visibleEvents(viewer);
  const { rows, more } = await db.slice(
    `select ${presenter.columns}, e.id from ${EVENTS}
     where e.id in (${among.sql}) and ${visible.sql}
     order by e.created_at ${sort}, e.id ${sort}`,
    [...among.values, ...visible.values],
    MAX_READ_CHARACTERS,
  );
  return more ? { rows, read: picked.indexOf(rows.at(-1)?.at(-1) as Value) + 1 } : { rows };
}

/** The conditions of a filter on events `e`. */
export function filtered(filter: Omit<EventFilter, "sort">): Condition[] {
  const conditions: Condition[] = [];
  const add = (sql: string, value: Value) => conditions.push({ sql, values: [value] });
  if (filter.action) add("e.action = ?", filter.action);
  if (filter.targetType) add("e.target_type = ?", TARGET_TYPES[filter.targetType]);
  if (filter.before) add("e.created_at < ?", Date.parse(filter.before));
  if (filter.after) add("e.created_at >= ?", Date.parse(filter.after) + DAY);
  return conditions;
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
    const { from, ...own } = scoped(viewer, scope);
    const wanted = all([own, ...some]);
    return ids(`${from} where ${wanted.sql}`, wanted.values);
  }
  const { whose, seen, projects } = among;
  const most = offsetOf(page) + page.size + 1;
  const walked = Math.min(among.steps * most, MAX_STEPS);
  if (most <= walked) {
    // Callers who see most of the events find a full page among the newest, including hidden ones.
    const dated = filtered({ ...filter, action: undefined, targetType: undefined });
    const scanned = all([whose, ...dated]);
    const found = all([seen, ...some]);
    const newest = await ids(
      `(select e.id, e.created_at, e.project_id, e.action, e.target_type from events e
        where ${scanned.sql} ${order} limit ?) as e
       cross join projects p where p.id = e.project_id and ${found.sql}`,
      [...scanned.values, walked, ...found.values],
    );
    if (newest.length > page.size) return newest;
  }
  // Otherwise take the `most` projects with the newest events, plus ties for the last place, and the `most` newest
  // events of each: the newest `most` events overall are among these. (Oldest instead of newest if sorted that way.)
  const edge = sort === "desc" ? "max" : "min";
  const wanted = all([whose, ...some]);
  return ids(
    `(select id from (
       select id, rank() over (order by latest ${sort}) as place from (
         select p.id, (
           select ${edge}(e.created_at) from events e where e.project_id = p.id and ${wanted.sql}) as latest
         from ${projects.from} where ${projects.sql}) as known
       where latest is not null) as active where place <= ?) as recent
     join events e on e.id in (
       select e.id from events e where e.project_id = recent.id and ${wanted.sql}
       ${order} limit ?)`,
    [...wanted.values, ...projects.values, most, ...wanted.values, most],
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
  if ("groupId" in scope) return { from: joined, ...ofGroup(viewer, scope.groupId) };
  const byAuthor = { sql: "e.author_id = ?", values: [scope.authorId] };
  if (scope.authorId === viewer.caller?.id) return { from: "events e", ...byAuthor };
  return { from: joined, ...all([byAuthor, visibleProjects(viewer)]) };
}

/** The condition on projects `p` that are in a group, or below it, and that the caller sees. */
const ofGroup = (viewer: Viewer, groupId: number): Condition =>
  all([belowGroup("p.namespace_id", groupId), visibleProjects(viewer)]);

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

const MAX_STEPS = 10_000;

/** `undefined` if a plain index scan is fast enough. */
function amongProjects(
  viewer: Viewer,
  scope: EventScope,
  { action, targetType }: EventFilter,
): AmongProjects | undefined {
  if (scope === "callers-projects" || "groupId" in scope) {
    const seen =
      scope === "callers-projects" ? memberProjects(viewer) : ofGroup(viewer, scope.groupId);
    const everyones = { sql: "1 = 1", values: [] };
    return { whose: everyones, seen, projects: { from: "projects p", ...seen }, steps: 10 };
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
    projects: { from: "event_counts c cross join projects p", ...all([theirs, visible]) },
    // The index on authors contains the project as well, which makes a step cheaper.
    steps: 50,
  };
}

/** Which of an author's events a page has. */
export interface AuthoredPage {
  readonly authorId: number;
  /** Maximum events. */
  readonly size: number;
  readonly sort: EventFilter["sort"];
  /** Further conditions on events `e`. */
  readonly where: Condition;
}

/**
 * A condition on events `e` that holds for a page of those of an author that the viewer may see, and for few others.
 * They are searched project by project: in order of time they may lie among any number of hidden ones.
 */
export function amongAuthored(
  viewer: Viewer,
  { authorId, size, sort, where }: AuthoredPage,
): Condition {
  const visible = visibleProjects(viewer);
  const theirs = all([when("e.author_id = ?", authorId), where, visibleEvents(viewer)]);
  const inOrder = `order by e.created_at ${sort}, e.id ${sort} limit ?`;
  const newestIn = (project: string, columns: string) =>
    `select ${columns} from ${EVENTS} where e.project_id = ${project} and ${theirs.sql} ${inOrder}`;
  return {
    sql: `e.id in (select found.id from (
        select id from (
          select id, rank() over (order by latest ${sort}) as place from (
            select seen.id, (${newestIn("seen.id", "e.created_at")}) as latest from (
              select p.id from event_counts c cross join projects p
              where c.author_id = ? and c.events > 0 and p.id = c.project_id and ${visible.sql}) as seen) as known
          where latest is not null) as active where place <= ?) as recent
      join events found on found.id in (${newestIn("recent.id", "e.id")}))`,
    values: [...theirs.values, 1, authorId, ...visible.values, size, ...theirs.values, size],
  };
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
  if (some.length > 0) {
    const among = amongProjects(viewer, scope, filter);
    const inEach = { sql: "e.project_id = p.id", values: [] };
    const from = among ? `${among.projects.from} cross join events e` : own.from;
    const wanted = all([...(among ? [inEach, among.whose, among.projects] : [own]), ...some]);
    return countUpTo(db, page, `${from} where ${wanted.sql}`, wanted.values);
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

/** The condition under which the caller may see a row of {@link EVENTS}. */
export function visibleEvents(viewer: Viewer): Condition {
  return all([visibleProjects(viewer), visibleTargets(viewer)]);
}

/** Events are visible to callers who may read their target; events about disabled features to nobody. */
function visibleTargets(viewer: Viewer): Condition {
  const [issue, code] = [visibleIssues(viewer), visibleCode(viewer)];
  const [snippet, note] = [visibleSnippets(viewer), visibleNotes(viewer)];
  const [issues, requests] = [usesFeature(viewer, "issues"), usesFeature(viewer, "merge_requests")];
  const request = all([requests, notOfBanned(viewer, "mr.author_id")]);
  return {
    sql: `(i.id is null or ${issue.sql}) and (s.id is null or ${snippet.sql}) and (nt.id is null or ${note.sql}) and (mr.id is null or ${request.sql})
      and (ms.id is null or ${issues.sql} or ${requests.sql})
      and ((e.action <> 'pushed' and nt.merge_request_id is null and nt.noted_commit_id is null
        and (e.target_type is null or e.target_type <> 'MergeRequest')) or ${code.sql})`,
    values: [
      ...[...issue.values, ...snippet.values, ...note.values, ...request.values],
      ...[...issues.values, ...requests.values, ...code.values],
    ],
  };
}
