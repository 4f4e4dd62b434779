import { type Heir, inheritedBy, type Owner, ownedBy } from "../../core/access/owner.ts";
import { NOT_DELETED_MILESTONE, type Viewer, visibleOwner } from "../../core/access/visibility.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, any, belowGroup, projectsBelow, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { MILESTONE_SEARCH } from "./search.ts";

const MILESTONES = `milestones m left join namespaces mn on mn.id = m.namespace_id
  left join projects mp on mp.id = m.project_id`;

/** A milestone as stored. */
export interface Milestone {
  id: number;
  iid: number;
  title: string;
  description: string | null;
  state: "active" | "closed";
  due_date: string | null;
  start_date: string | null;
  updated_at: number;
}

/** Days of milestones, each `YYYY-MM-DD`. */
interface Days {
  /** One between the first and the last day of a milestone that has both. */
  readonly contained?: string | undefined;
  /** With `last`: days of which a milestone has one. A milestone with one date is open at its other end. */
  readonly first?: string | undefined;
  readonly last?: string | undefined;
}

/** The filters of a list. */
export interface MilestoneFilter {
  state?: "active" | "closed" | undefined;
  iids?: readonly number[] | undefined;
  title?: string | undefined;
  search?: string | undefined;
  /** Words that the title has, all of them. */
  titled?: readonly string[] | undefined;
  days?: Days | undefined;
  updatedAfter?: number | undefined;
  updatedBefore?: number | undefined;
  /** Whether those of the groups above it are listed, too. */
  ancestors?: boolean | undefined;
  /** Whether those of groups and projects below a group are listed, too. */
  descendants?: boolean | undefined;
}

/** The milestones of a group or project, newest first. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  owner: Heir & Owner,
  filter: MilestoneFilter,
): Promise<RowPage> {
  const { state, iids, title, search, titled = [], days = {} } = filter;
  // No milestone has the number 0.
  const numbers = iids && placeholders(iids.length > 0 ? iids : [0]);
  const { column, id } = owner;
  const isWider = filter.ancestors || filter.descendants;
  const below = [belowGroup("m.namespace_id", id), projectsBelow("m.project_id", id)];
  const where = all([
    any([
      filter.ancestors ? inheritedBy("m", owner) : ownedBy("m", owner),
      ...(filter.descendants ? below : []),
    ]),
    isWider ? visibleOwner(viewer, "m", ["issues", "merge_requests"]) : undefined,
    when(NOT_DELETED_MILESTONE),
    when("m.updated_at >= ?", filter.updatedAfter),
    when("m.updated_at <= ?", filter.updatedBefore),
    when("m.state = ?", state),
    when("m.title = ?", title),
    numbers && when(`m.iid in (${numbers.sql})`, ...numbers.values),
    search ? contains(["m.title", "m.description"], search) : undefined,
    ...titled.map((word) => contains(["m.title"], word)),
    when("m.start_date <= ?", days.contained),
    when("m.due_date >= ?", days.contained),
    when(
      "coalesce(m.start_date, m.due_date) is not null and coalesce(m.start_date, '') <= ?",
      days.last,
    ),
    when("coalesce(m.due_date, '9999') >= ?", days.first),
  ]);
  const owners = isWider ? undefined : [{ column, id }];
  const start = await searchStart(db, MILESTONE_SEARCH, "m", search, { owners });
  return paginateFrom(db, presenter, page, start, {
    alias: "m",
    tables: "milestones m",
    presented: { sql: MILESTONES, values: [] },
    where,
    order: "m.id desc",
  });
}

/**
 * The milestones that the caller may read and whose texts contain a text, newest first; with a group, those in it and
 * below; with a project, its own.
 */
export async function search(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  {
    text,
    groupId,
    projectId,
  }: {
    readonly text: string;
    readonly groupId?: number | undefined;
    readonly projectId?: number | undefined;
  },
): Promise<RowPage> {
  const where = all([
    when(NOT_DELETED_MILESTONE),
    groupId === undefined
      ? undefined
      : any([belowGroup("m.namespace_id", groupId), projectsBelow("m.project_id", groupId)]),
    when("m.project_id = ?", projectId),
    contains(["m.title", "m.description"], text),
    visibleOwner(viewer, "m", ["issues", "merge_requests"]),
  ]);
  const owners =
    projectId === undefined ? undefined : [{ column: "project_id", id: projectId } as const];
  const start = await searchStart(db, MILESTONE_SEARCH, "m", text, { owners });
  return paginateFrom(db, presenter, page, start, {
    alias: "m",
    tables: "milestones m",
    presented: { sql: MILESTONES, values: [] },
    where,
    order: "m.id desc",
  });
}

/** One milestone as a row of its presenter. */
export const row = rowReader(`${MILESTONES} where m.id = ?`);

/** A milestone of a group or project by its id, or `undefined`. */
export function find(
  db: Reader,
  owner: Owner,
  milestoneId: number,
): Awaitable<Milestone | undefined> {
  return db.one<Milestone>(
    `select id, iid, title, description, state, due_date, start_date, updated_at from milestones
     where id = ? and ${owner.column} = ? and removed = 0`,
    [milestoneId, owner.id],
  );
}

/**
 * Whether another milestone than `exceptId` has this title: in the project or its group, or in the group or one of its
 * own projects.
 */
export async function isTaken(
  db: Reader,
  source: Heir,
  title: string,
  exceptId = 0,
): Promise<boolean> {
  const inProjects =
    source.column === "project_id" ? "?" : "select id from projects where namespace_id = ?";
  const found = await db.rows(
    `select 1 from milestones where namespace_id = ? and title = ? and id <> ?
     union all
     select 1 from milestones where project_id in (${inProjects}) and title = ? and id <> ? limit 1`,
    [source.namespaceId, title, exceptId, source.id, title, exceptId],
  );
  return found.length > 0;
}

/** Adds a milestone with its owner's next number, and returns its id. */
export async function insert(
  db: Database,
  owner: Owner,
  milestone: {
    title: string;
    description?: string | null | undefined;
    due_date?: string | null | undefined;
    start_date?: string | null | undefined;
  },
  now: number,
): Promise<number> {
  const [added] = await db.all<{ id: number }>(
    `insert into milestones (iid, ${owner.column}, title, description, due_date, start_date, created_at, updated_at)
     select coalesce(max(iid), 0) + 1, ?, ?, ?, ?, ?, ?, ? from milestones where ${owner.column} = ?
     returning id`,
    [
      owner.id,
      milestone.title,
      milestone.description ?? null,
      milestone.due_date ?? null,
      milestone.start_date ?? null,
      now,
      now,
      owner.id,
    ],
  );
  return (added as { id: number }).id;
}

/** A milestone of a group or project or of a group above it, by id or title, or `undefined`. */
export function findFor(
  db: Reader,
  source: Heir,
  by: { id: number } | { title: string },
): Awaitable<{ id: number; title: string } | undefined> {
  const [column, value] = "id" in by ? ["id", by.id] : ["title", by.title];
  const scope = inheritedBy("m", source);
  return db.one<{ id: number; title: string }>(
    `select m.id, m.title from milestones m where m.${column} = ? and ${scope.sql} and ${NOT_DELETED_MILESTONE}
     order by case when m.project_id is null then 1 else 0 end, m.id desc limit 1`,
    [value as Value, ...scope.values],
  );
}
