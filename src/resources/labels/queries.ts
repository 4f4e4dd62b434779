import type { Source } from "../../core/access/source.ts";
import {
  type Viewer,
  visibleIssues,
  visibleMergeRequests,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** The colour of labels created without one. */
export const DEFAULT_COLOR = "#428BCA";

/** The group or project a label belongs to. */
export type Owner = Pick<Source, "column" | "id">;

/** The columns of a label that handlers use. */
export interface Label {
  id: number;
  name: string;
  updated_at: number;
}

/** A label to insert. */
export interface NewLabel {
  name: string;
  color: string;
  description?: string | null | undefined;
  priority?: number | null | undefined;
}

/** What is wrong with a name, or `undefined`. Lists of labels are comma-separated, so names have no commas. */
export function nameProblems(name: string): string[] | undefined {
  if (name.trim() === "") return ["can't be blank"];
  if (name.includes(",")) return ["is invalid"];
  return undefined;
}

/** The tables of a label's row. The `?` is the caller's id, for their subscription. */
const LABELS = `labels l left join label_subscriptions ls on ls.label_id = l.id and ls.user_id = ?
  left join namespaces ln on ln.id = l.namespace_id`;

/** The labels of a group or project: its own and, if `inherited`, those of the groups above it. */
function within(
  source: Owner & Pick<Source, "namespaceId">,
  inherited: boolean,
): { sql: string; values: Value[] } {
  if (!inherited) return { sql: `l.${source.column} = ?`, values: [source.id] };
  const above =
    "l.namespace_id in (select ancestor_id from namespace_ancestors where namespace_id = ?)";
  return source.column === "project_id"
    ? { sql: `(l.project_id = ? or ${above})`, values: [source.id, source.namespaceId] }
    : { sql: above, values: [source.namespaceId] };
}

/** The labels of a group or project, ordered by name. */
export async function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  source: Source,
  viewer: Viewer,
  filter: { search: string | undefined; inherited: boolean },
): Promise<RowPage> {
  const scope = within(source, filter.inherited);
  const search = filter.search ? contains(["l.name", "l.description"], filter.search) : undefined;
  const listed = await paginate(db, presenter, page, {
    from: `${LABELS} where ${scope.sql}${search ? ` and ${search.sql}` : ""}`,
    values: [viewer.caller?.id ?? 0, ...scope.values, ...(search?.values ?? [])],
    order: "l.name, l.id",
  });
  await embedCounts(db, listed.rows, presenter, source, viewer);
  return listed;
}

/**
 * Fills in how many issues and merge requests have each label, in two queries for all rows. Counts those the caller may
 * read, in the project or in all projects below the group.
 */
async function embedCounts(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  source: Source,
  viewer: Viewer,
): Promise<void> {
  if (rows.length === 0) return;
  const idAt = presenter.at("id");
  const among = placeholders(rows.map((row) => row[idAt] as Value));
  const scope: Condition =
    source.kind === "project"
      ? { sql: "p.id = ?", values: [source.id] }
      : {
          sql: "p.namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
          values: [source.id],
        };
  const conditions = source.kind === "project" ? [scope] : [scope, visibleProjects(viewer)];
  const where = (more: Condition[]) => [...conditions, ...more].map(({ sql }) => sql).join(" and ");
  const values = (more: Condition[]) => [...conditions, ...more].flatMap((one) => one.values);
  const counts = new Map<string, string>();
  const issue = [visibleIssues(viewer)];
  const request = [visibleMergeRequests(viewer)];
  for (const [labelId, state, count] of await db.rows(
    `select x.label_id, i.state, count(*) from issue_labels x join issues i on i.id = x.issue_id
     join projects p on p.id = i.project_id
     where x.label_id in (${among.sql}) and ${where(issue)} group by x.label_id, i.state`,
    [...among.values, ...values(issue)],
  )) {
    counts.set(`${labelId} issues ${state}`, String(count));
  }
  for (const [labelId, count] of await db.rows(
    `select x.label_id, count(*) from merge_request_labels x
     join merge_requests mr on mr.id = x.merge_request_id join projects p on p.id = mr.project_id
     where x.label_id in (${among.sql}) and mr.state = 'opened' and ${where(request)} group by x.label_id`,
    [...among.values, ...values(request)],
  )) {
    counts.set(`${labelId} requests`, String(count));
  }
  for (const row of rows) {
    const id = row[idAt];
    row[presenter.at("open_issues_count")] = counts.get(`${id} issues opened`) ?? "0";
    row[presenter.at("closed_issues_count")] = counts.get(`${id} issues closed`) ?? "0";
    row[presenter.at("open_merge_requests_count")] = counts.get(`${id} requests`) ?? "0";
  }
}

/** One label as a row of its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  labelId: number,
  source: Source,
  viewer: Viewer,
): Promise<Value[]> {
  const [found] = await db.rows(`select ${presenter.columns} from ${LABELS} where l.id = ?`, [
    viewer.caller?.id ?? 0,
    labelId,
  ]);
  await embedCounts(db, [found as Value[]], presenter, source, viewer);
  return found as Value[];
}

/** The label of a group or project with this id or, if there is none, with this name. */
export async function find(
  db: Reader,
  source: Source,
  idOrName: string,
  options: { inherited: boolean },
): Promise<Label | undefined> {
  const scope = within(source, options.inherited);
  const id = /^\d{1,15}$/.test(idOrName) ? Number(idOrName) : 0;
  const found = await db.one<Label>(
    `select l.id, l.name, l.updated_at from labels l where ${scope.sql} and (l.id = ? or l.name = ?)
     order by case when l.id = ? then 0 else 1 end, l.id limit 1`,
    [...scope.values, id, idOrName, id],
  );
  return found;
}

/** A label of a group or of one above it, by id or name; the nearest if several have the name. */
export async function findInherited(
  db: Reader,
  groupId: number,
  by: { id: number } | { name: string },
): Promise<Label | undefined> {
  const [column, value] = "id" in by ? ["id", by.id] : ["name", by.name];
  const found = await db.one<Label>(
    `select l.id, l.name, l.updated_at from labels l
     join namespace_ancestors a on a.ancestor_id = l.namespace_id
     where a.namespace_id = ? and l.${column} = ? order by a.depth limit 1`,
    [groupId, value as Value],
  );
  return found;
}

/** The ids, by name, of a group's or project's labels with these names; the nearest of each name. */
export async function findNamed(
  db: Reader,
  source: Owner & Pick<Source, "namespaceId">,
  names: readonly string[],
): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const scope = within(source, true);
  const among = placeholders(names);
  const found = await db.all<Label>(
    `select l.id, l.name from labels l left join namespace_ancestors a
       on a.ancestor_id = l.namespace_id and a.namespace_id = ?
     where ${scope.sql} and l.name in (${among.sql})
     order by case when l.project_id is null then 1 else 0 end desc, a.depth desc`,
    [source.namespaceId, ...scope.values, ...among.values],
  );
  return new Map(found.map(({ id, name }) => [name, id]));
}

/** Whether a label other than `exceptId` has this name in a group or project or above it. */
export async function isTaken(
  db: Reader,
  source: Source,
  name: string,
  exceptId = 0,
): Promise<boolean> {
  const scope = within(source, true);
  const found = await db.rows(
    `select 1 from labels l where ${scope.sql} and l.name = ? and l.id <> ? limit 1`,
    [...scope.values, name, exceptId],
  );
  return found.length > 0;
}

/** Adds a label and returns its id. */
export async function insert(
  db: Database,
  owner: Owner,
  label: NewLabel,
  now: number,
): Promise<number> {
  const [inserted] = await db.rows(
    `insert into labels (${owner.column}, name, color, description, priority, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      owner.id,
      label.name,
      label.color,
      label.description ?? null,
      label.priority ?? null,
      now,
      now,
    ],
  );
  return inserted?.[0] as number;
}

/**
 * The id of a group's or project's own label with this name, which is added if it is missing. Works even if another
 * transaction adds the same label at the same time.
 */
export async function findOrInsert(
  db: Database,
  owner: Owner,
  name: string,
  now: number,
): Promise<number> {
  const [inserted] = await db.rows(
    `insert into labels (${owner.column}, name, color, created_at, updated_at) values (?, ?, ?, ?, ?)
     on conflict do nothing returning id`,
    [owner.id, name, DEFAULT_COLOR, now, now],
  );
  const [found] = inserted
    ? [inserted]
    : await db.rows(`select id from labels where ${owner.column} = ? and name = ?`, [
        owner.id,
        name,
      ]);
  return found?.[0] as number;
}

/** Removes a label, and with it the board lists for it. */
export async function remove(db: Database, labelId: number): Promise<void> {
  await db.run("delete from labels where id = ?", [labelId]);
}

/** Subscribes a user to a label; returns whether that changed anything. */
export async function subscribe(db: Database, labelId: number, userId: number): Promise<boolean> {
  const changed = await db.run(
    "insert into label_subscriptions (label_id, user_id) values (?, ?) on conflict do nothing",
    [labelId, userId],
  );
  return changed > 0;
}

/** Ends a user's subscription; returns whether that changed anything. */
export async function unsubscribe(db: Database, labelId: number, userId: number): Promise<boolean> {
  const changed = await db.run(
    "delete from label_subscriptions where label_id = ? and user_id = ?",
    [labelId, userId],
  );
  return changed > 0;
}
