import { randomInt } from "node:crypto";
import {
  type EachUser,
  type Viewer,
  visibleIssues,
  visibleProjects,
} from "../../core/access/visibility.ts";
import type { View } from "../../core/field.ts";
import { offsetOf, type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { userSummary } from "../users/json.ts";

/** Issues and merge requests share much code; this is how their SQL and answers differ. */
export interface Kind {
  readonly table: "issues" | "merge_requests";
  /** The alias of the table in queries. */
  readonly alias: "i" | "mr";
  /** The column with which tables for both kinds refer to this one. */
  readonly column: "issue_id" | "merge_request_id";
  /** Prefix of the tables of assignees, labels and subscriptions. */
  readonly prefix: "issue" | "merge_request";
  /** The class name shown in answers. */
  readonly type: "Issue" | "MergeRequest";
  /** Their segment in URL paths. */
  readonly path: "issues" | "merge_requests";
  /** What reading routes do if the project has the feature disabled: see `SharedOfSource` in core/resource.ts. */
  readonly whenDisabled: "refuse" | "leave out";
  /** The tables a row is shown from. */
  readonly from: string;
  /** The condition under which the caller may read a row in a project `p` they can read. */
  readonly visible: (viewer: Viewer | EachUser) => Condition;
}

/** Joins the author, closing user and milestone of a row. */
export const people = (alias: string) => `left join users u on u.id = ${alias}.author_id
  left join users cb on cb.id = ${alias}.closed_by_id
  left join milestones m on m.id = ${alias}.milestone_id
  left join namespaces mn on mn.id = m.namespace_id left join projects mp on mp.id = m.project_id`;

/** Issues as a {@link Kind}. */
export const ISSUE: Kind = {
  table: "issues",
  alias: "i",
  column: "issue_id",
  prefix: "issue",
  type: "Issue",
  path: "issues",
  whenDisabled: "leave out",
  from: `issues i join projects p on p.id = i.project_id ${people("i")}`,
  visible: visibleIssues,
};

/** Filters and order of lists of issues and merge requests. */
export interface Filter {
  projectId?: number | undefined;
  /** Only those in projects of this group and its subgroups. */
  groupId?: number | undefined;
  iids?: readonly number[] | undefined;
  state?: string | undefined;
  /** Only those that have all of these labels, no label, or any label. */
  labels?: readonly string[] | "none" | "any" | undefined;
  /** Only those with a milestone of this title, no milestone, or any milestone. */
  milestone?: { title: string } | "none" | "any" | undefined;
  search?: string | undefined;
  authorId?: number | undefined;
  authorUsername?: string | undefined;
  assigneeId?: number | "none" | "any" | undefined;
  assigneeUsernames?: readonly string[] | undefined;
  /** Only those the caller gave this emoji, none, or any; ignored for anonymous callers. */
  reaction?: { name: string } | "none" | "any" | undefined;
  createdAfter?: number | undefined;
  createdBefore?: number | undefined;
  updatedAfter?: number | undefined;
  updatedBefore?: number | undefined;
  /** Conditions that only one of the two kinds has. */
  own?: readonly Condition[];
  orderBy: "created_at" | "updated_at";
  sort: "asc" | "desc";
}

/** The issues or merge requests the caller may read. */
export function list(
  db: Reader,
  kind: Kind,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  filter: Filter,
): Promise<RowPage> {
  const { alias, table } = kind;
  const { orderBy, sort } = filter;
  const projects = projectConditions(kind, viewer, filter);
  const conditions = conditionsOf(kind, viewer, filter);
  const all = joined([...projects, ...conditions]);
  const order = `${alias}.${orderBy} ${sort}, ${alias}.id ${sort}`;
  const most = offsetOf(page) + page.size + 1;
  const picked =
    filter.groupId !== undefined && most <= LOOK_AHEAD && !isSelective(filter)
      ? picking(kind, joined(projects), joined(conditions), order, most)
      : all;
  return paginate(db, presenter, page, {
    from: `${kind.from} where ${picked.sql}`,
    values: picked.values,
    countFrom: `${table} ${alias} join projects p on p.id = ${alias}.project_id
      left join milestones m on m.id = ${alias}.milestone_id where ${all.sql}`,
    countValues: all.values,
    order,
  });
}

/** The first rows of a group's list, up to this one, are collected from the first rows of each project. */
const LOOK_AHEAD = 250;

/** Whether a filter leaves so few rows that sorting them is faster than scanning in the order of the list. */
function isSelective(filter: Filter): boolean {
  return (
    filter.iids !== undefined ||
    filter.labels !== undefined ||
    filter.milestone !== undefined ||
    filter.search !== undefined ||
    filter.authorId !== undefined ||
    filter.authorUsername !== undefined ||
    filter.assigneeId !== undefined ||
    filter.assigneeUsernames !== undefined ||
    filter.reaction !== undefined ||
    (filter.own ?? []).length > 0
  );
}

/**
 * Picks the first `most` rows of many projects without sorting all their rows: these can only be in the `most` projects
 * whose own first rows come first, and only among the first `most` rows of each.
 */
function picking(
  { alias, table }: Kind,
  projects: Condition,
  conditions: Condition,
  order: string,
  most: number,
): Condition {
  const ofProject = `select ${alias}.id from ${table} ${alias}
    where ${alias}.project_id = p.id and ${conditions.sql} order by ${order} limit ?`;
  return {
    sql: `${alias}.id in (
      select ${alias}.id from (
        select active.id from (
          select p.id, (${ofProject}) as first_id from projects p where ${projects.sql}) as active
        join ${table} ${alias} on ${alias}.id = active.first_id
        order by ${order} limit ?) as chosen
      join projects p on p.id = chosen.id
      join ${table} ${alias} on ${alias}.id in (${ofProject})
      order by ${order} limit ?)`,
    values: [...conditions.values, 1, ...projects.values, most, ...conditions.values, most, most],
  };
}

function joined(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" and "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** Which projects' rows a list contains. */
function projectConditions({ alias }: Kind, viewer: Viewer, filter: Filter): Condition[] {
  const conditions =
    filter.projectId === undefined
      ? [visibleProjects(viewer)]
      : [{ sql: `${alias}.project_id = ?`, values: [filter.projectId] }];
  if (filter.groupId !== undefined) {
    conditions.push({
      sql: "p.namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
      values: [filter.groupId],
    });
  }
  return conditions;
}

function conditionsOf(kind: Kind, viewer: Viewer, filter: Filter): Condition[] {
  const { alias, column, prefix } = kind;
  const conditions: Condition[] = [];
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });

  conditions.push(kind.visible(viewer));
  if (filter.iids) {
    const among = placeholders(filter.iids.length > 0 ? filter.iids : [0]);
    conditions.push({ sql: `${alias}.iid in (${among.sql})`, values: among.values });
  }
  if (filter.state) add(`${alias}.state = ?`, filter.state);
  conditions.push(...labelled(kind, filter.labels));
  const { milestone } = filter;
  if (milestone === "none") add(`${alias}.milestone_id is null`);
  else if (milestone === "any") add(`${alias}.milestone_id is not null`);
  else if (milestone) add("m.title = ?", milestone.title);
  if (filter.search) {
    conditions.push(contains([`${alias}.title`, `${alias}.description`], filter.search));
  }
  if (filter.authorId !== undefined) add(`${alias}.author_id = ?`, filter.authorId);
  if (filter.authorUsername !== undefined) {
    add(
      `${alias}.author_id in (select id from users where lower(username) = lower(?))`,
      filter.authorUsername,
    );
  }
  const assigned = `select ${column} from ${prefix}_assignees`;
  const { assigneeId } = filter;
  if (assigneeId === "none") add(`${alias}.id not in (${assigned})`);
  else if (assigneeId === "any") add(`${alias}.id in (${assigned})`);
  else if (assigneeId !== undefined)
    add(`${alias}.id in (${assigned} where user_id = ?)`, assigneeId);
  const usernames = [...new Set(filter.assigneeUsernames?.map((name) => name.toLowerCase()))];
  if (usernames.length > 0) {
    const among = placeholders(usernames);
    add(
      `${alias}.id in (${assigned} where user_id in (select id from users where lower(username) in (${among.sql}))
        group by ${column} having count(*) = ?)`,
      ...among.values,
      usernames.length,
    );
  }
  if (filter.reaction !== undefined && viewer.caller) {
    const named = typeof filter.reaction === "object" ? [filter.reaction.name] : [];
    add(
      `${alias}.id ${filter.reaction === "none" ? "not in" : "in"} (select ${column} from award_emoji
         where user_id = ? and ${column} is not null${named.length > 0 ? " and name = ?" : ""})`,
      viewer.caller.id,
      ...named,
    );
  }
  if (filter.createdAfter !== undefined) add(`${alias}.created_at >= ?`, filter.createdAfter);
  if (filter.createdBefore !== undefined) add(`${alias}.created_at <= ?`, filter.createdBefore);
  if (filter.updatedAfter !== undefined) add(`${alias}.updated_at >= ?`, filter.updatedAfter);
  if (filter.updatedBefore !== undefined) add(`${alias}.updated_at <= ?`, filter.updatedBefore);
  conditions.push(...(filter.own ?? []));
  return conditions;
}

/** A row must have all of the labels. */
function labelled({ alias, column, prefix }: Kind, wanted: Filter["labels"]): Condition[] {
  if (wanted === undefined) return [];
  const having = `select ${column} from ${prefix}_labels`;
  if (wanted === "none") return [{ sql: `${alias}.id not in (${having})`, values: [] }];
  if (wanted === "any") return [{ sql: `${alias}.id in (${having})`, values: [] }];
  if (wanted.length === 0) return [];
  const among = placeholders(wanted);
  return [
    {
      sql: `${alias}.id in (select x.${column} from ${prefix}_labels x
        join labels l on l.id = x.label_id
        where x.label_id in (select id from labels where name in (${among.sql}))
        group by x.${column} having count(distinct l.name) = ?)`,
      values: [...among.values, wanted.length],
    },
  ];
}

/** One issue or merge request as a row of its presenter. */
export async function row(
  db: Reader,
  kind: Kind,
  presenter: Presenter,
  id: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from ${kind.from} where ${kind.alias}.id = ?`,
    [id],
  );
  return found;
}

/** The issues or merge requests with these ids as rows of their presenter. */
export async function rowsOf(
  db: Reader,
  kind: Kind,
  presenter: Presenter,
  ids: readonly number[],
): Promise<Value[][]> {
  if (ids.length === 0) return [];
  const among = placeholders(ids);
  return db.rows(
    `select ${presenter.columns} from ${kind.from} where ${kind.alias}.id in (${among.sql})`,
    among.values,
  );
}

/** Fills in labels, assignees and the numbers of notes and votes, in three queries for all rows. */
export async function embed(
  db: Reader,
  { column, prefix }: Kind,
  rows: Value[][],
  presenter: Presenter,
  view: View,
): Promise<void> {
  if (rows.length === 0) return;
  const idAt = presenter.at("id");
  const among = placeholders(rows.map((row) => row[idAt] as Value));
  // Sent together, so that PostgreSQL answers in one round trip.
  const [labelled, assigned, counted] = await Promise.all([
    db.rows(
      `select l.name, x.${column} from ${prefix}_labels x join labels l on l.id = x.label_id
       where x.${column} in (${among.sql}) order by l.name, l.id`,
      among.values,
    ),
    db.rows(
      `select ${userSummary.columns}, x.${column} from ${prefix}_assignees x
       join users u on u.id = x.user_id where x.${column} in (${among.sql}) order by u.id`,
      among.values,
    ),
    db.rows(
      `select ${column}, 'notes', count(*) from notes
       where ${column} in (${among.sql}) and system = 0 group by ${column}
       union all
       select ${column}, name, count(*) from award_emoji
       where ${column} in (${among.sql}) and name in ('thumbsup', 'thumbsdown')
       group by ${column}, name`,
      [...among.values, ...among.values],
    ),
  ]);
  const labels = gather(labelled, ([name]) => JSON.stringify(name));
  const assignees = gather(assigned, (found) => userSummary.write(found, view));
  const counts = new Map(counted.map(([id, what, count]) => [`${id} ${what}`, String(count)]));
  const put = (row: Value[], name: string, value: string) => {
    row[presenter.at(name)] = value;
  };
  for (const row of rows) {
    const id = row[idAt] as Value;
    put(row, "labels", `[${(labels.get(id) ?? []).join(",")}]`);
    put(row, "assignees", `[${(assignees.get(id) ?? []).join(",")}]`);
    put(row, "assignee", assignees.get(id)?.[0] ?? "null");
    put(row, "user_notes_count", counts.get(`${id} notes`) ?? "0");
    put(row, "upvotes", counts.get(`${id} thumbsup`) ?? "0");
    put(row, "downvotes", counts.get(`${id} thumbsdown`) ?? "0");
  }
}

/** JSON texts by the id in the last column of each row. */
function gather(rows: Value[][], write: (row: Value[]) => string): Map<Value, string[]> {
  const texts = new Map<Value, string[]>();
  for (const row of rows) {
    const id = row.at(-1) as Value;
    const before = texts.get(id);
    if (before) before.push(write(row));
    else texts.set(id, [write(row)]);
  }
  return texts;
}

/** The columns of an issue or merge request that handlers use. */
export interface Target {
  id: number;
  iid: number;
  project_id: number;
  author_id: number | null;
  title: string;
  description: string | null;
  state: string;
  discussion_locked: number;
  milestone_id: number | null;
  created_at: number;
  updated_at: number;
  /** 1 if the caller, who can read the project, may read it. */
  visible: number;
}

/** The issue or merge request of a project by number, even if the caller may not read it, or `undefined`. */
export async function find(
  db: Reader,
  kind: Kind,
  projectId: number,
  iid: number,
  viewer: Viewer,
): Promise<Target | undefined> {
  const { alias } = kind;
  const visible = kind.visible(viewer);
  const found = await db.one<Target>(
    `select ${alias}.id, ${alias}.iid, ${alias}.project_id, ${alias}.author_id, ${alias}.title,
       ${alias}.description, ${alias}.state, ${alias}.discussion_locked, ${alias}.milestone_id,
       ${alias}.created_at, ${alias}.updated_at, case when ${visible.sql} then 1 else 0 end as visible
     from ${kind.table} ${alias} join projects p on p.id = ${alias}.project_id
     where ${alias}.project_id = ? and ${alias}.iid = ?`,
    [...visible.values, projectId, iid],
  );
  return found;
}

/** Maximum users per statement. */
const PEOPLE = 1000;

/**
 * Which of these users may read an issue or merge request and its project. The conditions are those of lists, checked
 * for many users in one statement.
 *
 * @param today `YYYY-MM-DD`: memberships that expire on or before it have ended
 * @returns the ids of active users who may read it, in ascending order
 */
export async function readers(
  db: Reader,
  { table, alias, visible }: Kind,
  id: number,
  who: { ids: readonly number[] } | { usernames: readonly string[] },
  today: string,
): Promise<number[]> {
  const wanted: readonly Value[] = "ids" in who ? who.ids : who.usernames;
  const conditions = joined([visibleProjects({ each: "v", today }), visible({ each: "v", today })]);
  const able: number[] = [];
  for (let start = 0; start < wanted.length; start += PEOPLE) {
    const among = placeholders(wanted.slice(start, start + PEOPLE));
    const found = await db.rows(
      `select v.id from users v join ${table} ${alias} on ${alias}.id = ? join projects p on p.id = ${alias}.project_id
       where ${"ids" in who ? "v.id" : "lower(v.username)"} in (${among.sql}) and v.state = 'active' and ${conditions.sql}`,
      [id, ...among.values, ...conditions.values],
    );
    able.push(...found.map(([userId]) => userId as number));
  }
  return able.sort((one, other) => one - other);
}

/** Whether a user is an assignee. */
export async function isAssigned(
  db: Reader,
  { column, prefix }: Kind,
  id: number,
  userId: number,
): Promise<boolean> {
  const found = await db.rows(
    `select 1 from ${prefix}_assignees where ${column} = ? and user_id = ?`,
    [id, userId],
  );
  return found.length > 0;
}

/** The ids of the assignees. */
export async function assigneesOf(
  db: Reader,
  { column, prefix }: Kind,
  id: number,
): Promise<number[]> {
  const found = await db.rows(`select user_id from ${prefix}_assignees where ${column} = ?`, [id]);
  return found.map(([userId]) => userId as number);
}

/** Replaces the assignees. */
export async function replaceAssignees(
  db: Database,
  { column, prefix }: Kind,
  id: number,
  userIds: readonly number[],
): Promise<void> {
  await db.run(`delete from ${prefix}_assignees where ${column} = ?`, [id]);
  for (const userId of userIds) {
    await db.run(`insert into ${prefix}_assignees (${column}, user_id) values (?, ?)`, [
      id,
      userId,
    ]);
  }
}

/** The labels of an issue or merge request. */
export async function labelsOf(
  db: Reader,
  { column, prefix }: Kind,
  id: number,
): Promise<{ id: number; name: string }[]> {
  return db.all<{ id: number; name: string }>(
    `select l.id, l.name from ${prefix}_labels x join labels l on l.id = x.label_id
     where x.${column} = ?`,
    [id],
  );
}

/** Replaces the labels. */
export async function replaceLabels(
  db: Database,
  { column, prefix }: Kind,
  id: number,
  labelIds: readonly number[],
): Promise<void> {
  await db.run(`delete from ${prefix}_labels where ${column} = ?`, [id]);
  for (const labelId of labelIds) {
    await db.run(`insert into ${prefix}_labels (${column}, label_id) values (?, ?)`, [id, labelId]);
  }
}

/**
 * Whether a user is subscribed: as they chose or, if they made no choice, because they participate as author, assignee
 * or commenter, or were mentioned.
 */
export async function isSubscribed(
  db: Reader,
  { table, column, prefix }: Kind,
  id: number,
  userId: number,
): Promise<boolean> {
  const [found] = await db.rows(
    `select case
       when s.subscribed is not null then s.subscribed
       when t.author_id = ?
         or exists (select 1 from ${prefix}_assignees where ${column} = t.id and user_id = ?)
         or exists (select 1 from notes where ${column} = t.id and author_id = ?)
         or exists (select 1 from todos where ${column} = t.id and user_id = ?
           and action in ('mentioned', 'directly_addressed')) then 1
       else 0 end
     from ${table} t left join ${prefix}_subscriptions s on s.${column} = t.id and s.user_id = ?
     where t.id = ?`,
    [userId, userId, userId, userId, userId, id],
  );
  return found?.[0] === 1;
}

/** Subscribes or unsubscribes a user; returns whether that changed anything. */
export async function subscribe(
  db: Database,
  kind: Kind,
  id: number,
  userId: number,
  subscribed: boolean,
): Promise<boolean> {
  if ((await isSubscribed(db, kind, id, userId)) === subscribed) return false;
  const { column, prefix } = kind;
  await db.run(
    `insert into ${prefix}_subscriptions (${column}, user_id, subscribed) values (?, ?, ?)
     on conflict (${column}, user_id) do update set subscribed = excluded.subscribed`,
    [id, userId, subscribed ? 1 : 0],
  );
  return true;
}

/** Removes an issue or merge request with all that refers to it. Its events must be removed first. */
export async function remove(db: Database, { table }: Kind, id: number): Promise<void> {
  await db.run(`delete from ${table} where id = ?`, [id]);
}

/** An issue to insert. */
export interface NewIssue {
  project_id: number;
  author_id: number | null;
  title: string;
  description?: string | null | undefined;
  confidential?: boolean | undefined;
  discussion_locked?: boolean | undefined;
  weight?: number | null | undefined;
  due_date?: string | null | undefined;
  milestone_id?: number | null | undefined;
}

/** Adds an issue with its project's next number. */
export async function insert(
  db: Database,
  issue: NewIssue,
  now: number,
): Promise<{ id: number; iid: number }> {
  const [counted] = await db.rows(`${COUNT_ONE_MORE} returning issue_count`, [issue.project_id]);
  const iid = counted?.[0] as number;
  return { id: await insertAs(db, iid, issue, now), iid };
}

/**
 * Adds an issue and returns its id. It gets its project's next number only at the end of the transaction, so that other
 * transactions that add issues do not wait for the rest of this one.
 */
export async function insertUnnumbered(
  db: Database,
  issue: NewIssue,
  now: number,
): Promise<number> {
  // Until then it has a random negative number, which no other transaction sees.
  const id = await insertAs(db, -randomInt(1, 2 ** 47), issue, now);
  db.last(COUNT_ONE_MORE, [issue.project_id]);
  db.last("update issues set iid = (select issue_count from projects where id = ?) where id = ?", [
    issue.project_id,
    id,
  ]);
  return id;
}

const COUNT_ONE_MORE = "update projects set issue_count = issue_count + 1 where id = ?";

async function insertAs(db: Database, iid: number, issue: NewIssue, now: number): Promise<number> {
  const [inserted] = await db.rows(
    `insert into issues (iid, project_id, author_id, title, description, confidential, discussion_locked, weight,
       due_date, milestone_id, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      iid,
      issue.project_id,
      issue.author_id,
      issue.title,
      issue.description ?? null,
      issue.confidential ? 1 : 0,
      issue.discussion_locked ? 1 : 0,
      issue.weight ?? null,
      issue.due_date ?? null,
      issue.milestone_id ?? null,
      now,
      now,
    ],
  );
  return inserted?.[0] as number;
}

/** The columns that moving an issue copies, besides those of {@link Target}. */
export async function details(
  db: Reader,
  id: number,
): Promise<{
  confidential: number;
  weight: number | null;
  due_date: string | null;
  milestone_title: string | null;
}> {
  const found = await db.one<{
    confidential: number;
    weight: number | null;
    due_date: string | null;
    milestone_title: string | null;
  }>(
    `select i.confidential, i.weight, i.due_date, m.title as milestone_title
     from issues i left join milestones m on m.id = i.milestone_id where i.id = ?`,
    [id],
  );
  return found as NonNullable<typeof found>;
}
