import { type Heir, inheritedBy, type Owner, ownedBy } from "../../core/access/owner.ts";
import type { Source } from "../../core/access/source.ts";
import {
  allConfidential,
  idOf,
  inProject,
  isKnownAs,
  NOT_DELETED_LABEL,
  usesFeature,
  type Viewer,
  visibleMergeRequests,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import { searchStart } from "../../core/lists/search-index.ts";
import { offsetOf, type Page, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, belowGroup, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { LABEL_SEARCH } from "./search.ts";

/** The colour of labels created without one. */
export const DEFAULT_COLOR = "#428BCA";

/** The columns of a label that handlers use. */
export interface Label {
  id: number;
  name: string;
  updated_at: number;
}

/** The values of a new label. */
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
const LABELS = `labels l left join label_subscriptions ls on ls.label_id = l.id and ls.user_id = ?`;

/** The labels of a group or project: its own and, if `inherited`, those of the groups above it. */
function within(source: Heir, inherited: boolean): Condition {
  return all([
    inherited ? inheritedBy("l", source) : ownedBy("l", source),
    when(NOT_DELETED_LABEL),
  ]);
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
  const { search, inherited } = filter;
  const searched = search ? contains(["l.name", "l.description"], search) : undefined;
  const owners = await ownersOf(db, source, inherited);
  const most = offsetOf(page) + page.size + 1;
  const start = await searchStart(db, LABEL_SEARCH, "l", search, { owners });
  const listed = await paginateFrom(db, presenter, page, start, {
    alias: "l",
    tables: "labels l",
    presented: { sql: LABELS, values: idOf(viewer).values },
    where: all([within(source, inherited), searched]),
    picked: inherited && most <= LOOK_AHEAD ? picking(owners, searched, most) : undefined,
    order: ORDER,
  });
  await embedCounts(db, listed.rows, presenter, source, viewer);
  return listed;
}

/**
 * Fills in how many issues and merge requests have each label, with two queries for all rows. Counts those the caller may
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
  const ids = rows.map((row) => row[idAt] as Value);
  const counts = new Map<Value, Counts>();
  const counted = [
    ...(await countedByProject(db, ids, source, viewer)),
    ...(await ownConfidential(db, ids, source, viewer)),
  ];
  for (const [labelId, kind, count] of counted) {
    const of = counts.get(labelId as Value) ?? { ...NONE };
    of[COUNT_OF_KIND[kind as keyof typeof COUNT_OF_KIND]] += count as number;
    counts.set(labelId as Value, of);
  }
  const put = putter(presenter);
  for (const row of rows) put(row, counts.get(row[idAt] as Value) ?? NONE);
}

/** How many issues and merge requests have a label. */
interface Counts {
  opened: number;
  closed: number;
  requests: number;
}

const NONE: Readonly<Counts> = { opened: 0, closed: 0, requests: 0 };

/** Which number what is counted belongs to. */
const COUNT_OF_KIND = {
  "opened issue": "opened",
  "confidential opened issue": "opened",
  "closed issue": "closed",
  "confidential closed issue": "closed",
  "opened merge request": "requests",
} as const;

/** Creates the function that puts the numbers of issues and merge requests into a row. */
function putter(presenter: Presenter): (row: Value[], counts: Counts) => void {
  const opened = presenter.at("open_issues_count");
  const closed = presenter.at("closed_issues_count");
  const requests = presenter.at("open_merge_requests_count");
  return (row, counts) => {
    row[opened] = String(counts.opened);
    row[closed] = String(counts.closed);
    row[requests] = String(counts.requests);
  };
}

/** The projects `p` whose issues and merge requests are counted. */
function projectsOf(source: Source, viewer: Viewer): Condition {
  if (source.kind === "project") return { sql: "p.id = ?", values: [source.id] };
  return all([belowGroup("p.namespace_id", source.id), visibleProjects(viewer)]);
}

/** Counts of labels by kind, of projects in which the caller may read all of a kind. */
async function countedByProject(
  db: Reader,
  labelIds: readonly Value[],
  source: Source,
  viewer: Viewer,
): Promise<Value[][]> {
  const among = placeholders(labelIds);
  const seen = source.kind === "project" ? inProject(viewer, source) : viewer;
  const [confidential, requests] = [allConfidential(seen), visibleMergeRequests(seen)];
  const issues = usesFeature(seen, "issues");
  const where = all([
    { sql: `c.label_id in (${among.sql})`, values: among.values },
    projectsOf(source, viewer),
    {
      sql: statement`case when c.kind = 'opened merge request' then ${requests.sql}
        when c.kind in ('opened issue', 'closed issue') or c.kind like 'confidential%' and ${confidential.sql}
        then ${issues.sql} else 1 = 0 end`,
      values: [...requests.values, ...confidential.values, ...issues.values],
    },
  ]);
  return db.rows(
    statement`select c.label_id, c.kind, sum(c.count) from label_counts c join projects p on p.id = c.project_id
     where ${where.sql} group by c.label_id, c.kind`,
    where.values,
  );
}

/** Counts of labels by kind, of confidential issues that callers may read as author or assignee only. */
async function ownConfidential(
  db: Reader,
  labelIds: readonly Value[],
  source: Source,
  viewer: Viewer,
): Promise<Value[][]> {
  const { caller } = viewer;
  if (!caller || isKnownAs("reporter", inProject(viewer, source))) return [];
  const among = placeholders(labelIds);
  const reporter = allConfidential(viewer);
  const where = all([
    { sql: `x.label_id in (${among.sql})`, values: among.values },
    projectsOf(source, viewer),
    usesFeature(viewer, "issues"),
    { sql: `not ${reporter.sql}`, values: reporter.values },
  ]);
  return db.rows(
    `select x.label_id, i.state || ' issue', count(*) from (
       select id from issues where author_id = ? and confidential = 1
       union select issue_id from issue_assignees where user_id = ?) as own
     cross join issues i cross join projects p cross join issue_labels x
     where i.id = own.id and i.confidential = 1 and p.id = i.project_id and x.issue_id = i.id and ${where.sql}
     group by x.label_id, i.state`,
    [caller.id, caller.id, ...where.values],
  );
}

/** The first rows of a list with inherited labels, up to this one, are collected from the first of each owner. */
const LOOK_AHEAD = 250;
const ORDER = "l.name, l.id";

/** The group or project, and, if their labels are inherited, the groups above it. */
async function ownersOf(db: Reader, source: Source, inherited: boolean): Promise<Owner[]> {
  const own = { column: source.column, id: source.id };
  if (!inherited) return [own];
  const found = await db.rows(
    "select ancestor_id from namespace_ancestors where namespace_id = ?",
    [source.namespaceId],
  );
  const groups = found.map(([id]): Owner => ({ column: "namespace_id", id: id as number }));
  return source.kind === "project" ? [...groups, own] : groups;
}

/** Picks the first `most` labels of each group or project, without sorting all of them. */
function picking(
  owners: readonly Owner[],
  searched: Condition | undefined,
  most: number,
): Condition {
  const picks = owners.map((owner, index) => {
    const { sql, values } = all([ownedBy("l", owner), when(NOT_DELETED_LABEL), searched]);
    return {
      sql: `select id from (select l.id from labels l where ${sql} order by ${ORDER} limit ?) as owner_${index}`,
      values: [...values, most],
    };
  });
  return {
    sql: `l.id in (${picks.map(({ sql }) => sql).join(" union all ")})`,
    values: picks.flatMap(({ values }) => values),
  };
}

/** One label as a row of its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  labelId: number,
  source: Source,
  viewer: Viewer,
): Promise<Value[]> {
  const found = await rowWithoutCounts(db, presenter, labelId, viewer);
  await embedCounts(db, [found], presenter, source, viewer);
  return found;
}

/** A label that was just added, so that nothing has it yet, as a row of its presenter. */
export async function newRow(
  db: Reader,
  presenter: Presenter,
  labelId: number,
  viewer: Viewer,
): Promise<Value[]> {
  const found = await rowWithoutCounts(db, presenter, labelId, viewer);
  putter(presenter)(found, NONE);
  return found;
}

async function rowWithoutCounts(
  db: Reader,
  presenter: Presenter,
  labelId: number,
  viewer: Viewer,
): Promise<Value[]> {
  const [found] = await db.rows(
    statement`select ${presenter.columns} from ${LABELS} where l.id = ?`,
    [...idOf(viewer).values, labelId],
  );
  return found as Value[];
}

/** The label of a group or project with this id or, if there is none, with this name. */
export function find(
  db: Reader,
  source: Heir,
  idOrName: string,
  options: { inherited: boolean },
): Awaitable<Label | undefined> {
  const scope = within(source, options.inherited);
  const id = /^\d{1,15}$/.test(idOrName) ? Number(idOrName) : 0;
  return db.one<Label>(
    `select l.id, l.name, l.updated_at from labels l where ${scope.sql} and (l.id = ? or l.name = ?)
     order by case when l.id = ? then 0 else 1 end, l.id limit 1`,
    [...scope.values, id, idOrName, id],
  );
}

/** The values of a label of a project itself, by id or name. */
export async function findOwn(
  db: Reader,
  source: Source,
  idOrName: string,
): Promise<NewLabel | undefined> {
  const found = await find(db, source, idOrName, { inherited: false });
  return (
    found &&
    db.one<NewLabel>("select name, color, description, priority from labels where id = ?", [
      found.id,
    ])
  );
}

/** A label of a group or project or of a group above it, by id or name; the nearest if several have the name. */
export function findInherited(
  db: Reader,
  source: Heir,
  by: { id: number } | { name: string },
): Awaitable<Label | undefined> {
  const [column, value] = "id" in by ? ["id", by.id] : ["name", by.name];
  const scope = within(source, true);
  return db.one<Label>(
    `select l.id, l.name, l.updated_at from labels l left join namespace_ancestors a
       on a.ancestor_id = l.namespace_id and a.namespace_id = ?
     where ${scope.sql} and l.${column} = ?
     order by case when l.project_id is null then 1 else 0 end, a.depth limit 1`,
    [source.namespaceId, ...scope.values, value as Value],
  );
}

/** The ids, by name, of a group's or project's labels with these names; the nearest of each name. */
export async function findNamed(
  db: Reader,
  source: Heir,
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
  source: Heir,
  name: string,
  exceptId: number,
): Promise<boolean> {
  const scope = within(source, true);
  const found = await db.rows(
    `select 1 from labels l where ${scope.sql} and l.name = ? and l.id <> ? limit 1`,
    [...scope.values, name, exceptId],
  );
  return found.length > 0;
}

/** Adds a label and returns its id. */
export function insert(db: Database, owner: Owner, label: NewLabel, now: number): Promise<number> {
  return insertRow(db, "labels", {
    [owner.column]: owner.id,
    name: label.name,
    color: label.color,
    description: label.description ?? null,
    priority: label.priority ?? null,
    created_at: now,
    updated_at: now,
  });
}

/**
 * Adds a label unless the group or project, or a group above it, has one with this name.
 *
 * @returns its id; `undefined` if the name is taken
 */
export async function insertUntaken(
  db: Database,
  source: Heir,
  label: NewLabel,
  now: number,
): Promise<number | undefined> {
  const scope = within(source, true);
  const [added] = await db.rows(
    `insert into labels (${source.column}, name, color, description, priority, created_at, updated_at)
     select cast(? as bigint), cast(? as text), cast(? as text), cast(? as text), cast(? as bigint), cast(? as bigint),
       cast(? as bigint)
     where not exists (select 1 from labels l where ${scope.sql} and l.name = ?) returning id`,
    [
      source.id,
      label.name,
      label.color,
      label.description ?? null,
      label.priority ?? null,
      now,
      now,
      ...scope.values,
      label.name,
    ],
  );
  return added?.[0] as number | undefined;
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
  const [added] = await db.all<{ id: number }>(
    `insert into labels (${owner.column}, name, color, created_at, updated_at) values (?, ?, ?, ?, ?)
     on conflict do nothing returning id`,
    [owner.id, name, DEFAULT_COLOR, now, now],
  );
  if (added) return added.id;
  const [found] = await db.all<{ id: number }>(
    `select id from labels where ${owner.column} = ? and name = ?`,
    [owner.id, name],
  );
  return (found as { id: number }).id;
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
