import type { Source } from "../../core/access/source.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

type Owner = Pick<Source, "column" | "id">;

const MILESTONES = `milestones m left join namespaces mn on mn.id = m.namespace_id
  left join projects mp on mp.id = m.project_id`;

/** A milestone as stored. */
export interface Milestone {
  id: number;
  iid: number;
  title: string;
  state: "active" | "closed";
  due_date: string | null;
  start_date: string | null;
  updated_at: number;
}

/** The filters of a list. */
export interface MilestoneFilter {
  state: "active" | "closed" | undefined;
  iids: readonly number[] | undefined;
  title: string | undefined;
  search: string | undefined;
}

/** The milestones of a group or project, newest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  owner: Owner,
  filter: MilestoneFilter,
): Promise<RowPage> {
  const where = [`m.${owner.column} = ?`];
  const values: Value[] = [owner.id];
  if (filter.state) {
    where.push("m.state = ?");
    values.push(filter.state);
  }
  if (filter.title !== undefined) {
    where.push("m.title = ?");
    values.push(filter.title);
  }
  if (filter.iids) {
    const among = placeholders(filter.iids.length > 0 ? filter.iids : [0]);
    where.push(`m.iid in (${among.sql})`);
    values.push(...among.values);
  }
  if (filter.search) {
    const search = contains(["m.title", "m.description"], filter.search);
    where.push(search.sql);
    values.push(...search.values);
  }
  return paginate(db, presenter, page, {
    from: `${MILESTONES} where ${where.join(" and ")}`,
    values,
    order: "m.id desc",
  });
}

/** One milestone as a row of its presenter. */
export async function row(db: Reader, presenter: Presenter, milestoneId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from ${MILESTONES} where m.id = ?`, [
    milestoneId,
  ]);
  return found as Value[];
}

/** A milestone of a group or project by its id, or `undefined`. */
export async function find(
  db: Reader,
  owner: Owner,
  milestoneId: number,
): Promise<Milestone | undefined> {
  const found = await db.one<Milestone>(
    `select id, iid, title, state, due_date, start_date, updated_at from milestones
     where id = ? and ${owner.column} = ?`,
    [milestoneId, owner.id],
  );
  return found;
}

/** A milestone of a group or of one of its ancestors, or `undefined`. */
export async function findInherited(
  db: Reader,
  groupId: number,
  milestoneId: number,
): Promise<{ id: number } | undefined> {
  const found = await db.one<{ id: number }>(
    `select m.id from milestones m join namespace_ancestors a on a.ancestor_id = m.namespace_id
     where a.namespace_id = ? and m.id = ?`,
    [groupId, milestoneId],
  );
  return found;
}

/**
 * Whether another milestone than `exceptId` has this title: in the project or its group, or in the group or one of its
 * own projects.
 */
export async function isTaken(
  db: Reader,
  source: Owner & Pick<Source, "namespaceId">,
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
  const [inserted] = await db.rows(
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
  return inserted?.[0] as number;
}

/** Removes a milestone, also from the boards limited to it. */
export async function remove(db: Database, milestoneId: number): Promise<void> {
  await db.run("delete from milestones where id = ?", [milestoneId]);
}

/** A milestone of a project or of one of its ancestor groups, by id or title, or `undefined`. */
export async function findFor(
  db: Reader,
  project: Pick<Source, "id" | "namespaceId">,
  by: { id: number } | { title: string },
): Promise<{ id: number; title: string } | undefined> {
  const [column, value] = "id" in by ? ["id", by.id] : ["title", by.title];
  const found = await db.one<{ id: number; title: string }>(
    `select m.id, m.title from milestones m where m.${column} = ? and (m.project_id = ?
       or m.namespace_id in (select ancestor_id from namespace_ancestors where namespace_id = ?))
     order by case when m.project_id is null then 1 else 0 end, m.id desc limit 1`,
    [value as Value, project.id, project.namespaceId],
  );
  return found;
}
