import {
  countedNotes,
  NOT_DELETED_LABEL,
  type Viewer,
  visibleNotes,
} from "../../core/access/visibility.ts";
import { paginate, type RowPage } from "../../core/pagination.ts";
import type { Context } from "../../core/resource.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { joined, statement } from "../../store/texts.ts";
import { ATTRIBUTES, type IssueType } from "./attributes.ts";
import { TOLD_COLUMNS } from "./told.ts";
import type { Difference, IssuableType, NoteableType } from "./type.ts";

/** The columns of an issuable that handlers use, beside those of {@link ATTRIBUTES} and of others whose changes are told. */
export interface Issuable {
  readonly id: number;
  readonly iid: number;
  readonly project_id: number;
  readonly author_id: number | null;
  readonly title: string;
  readonly description: string | null;
  readonly state: string;
  readonly discussion_locked: number;
  readonly milestone_id: number | null;
  readonly closed_at: number | null;
  readonly time_estimate: number;
  readonly total_time_spent: number;
  /** Only of issues. */
  readonly issue_type?: IssueType;
  /** 1 if only members may read it. */
  readonly confidential?: number;
  readonly severity?: string;
  readonly iteration_id?: number | null;
  /** Only of merge requests. */
  readonly target_branch?: string;
  readonly created_at: number;
  readonly updated_at: number;
  /** 1 if the caller, who can read the project, may read it. */
  readonly visible: number;
  /** 1 if the caller is an assignee. */
  readonly assigned: number;
}

const OWN = ["id", "iid", "project_id", "author_id", "created_at", "updated_at"];
const columnsOf = (prefix: IssuableType["prefix"], alias: string, ...more: readonly string[]) =>
  [...new Set([...OWN, ...TOLD_COLUMNS[prefix], ...Object.keys(ATTRIBUTES[prefix]), ...more])]
    .map((name) => `${alias}.${name}`)
    .join(", ");

/** SQL of the columns of {@link Issuable}, without `visible`, by prefix. */
export const COLUMNS: Readonly<Record<IssuableType["prefix"], string>> = {
  issue: columnsOf("issue", "i", "iteration_id"),
  merge_request: columnsOf("merge_request", "mr"),
};

/** The issuable of a project by number, even if the caller may not read it, or `undefined`. */
export async function find(
  db: Reader,
  type: IssuableType,
  projectId: number,
  iid: number,
  viewer: Viewer,
): Promise<Issuable | undefined> {
  const { alias, prefix, column } = type;
  const visible = type.visible(viewer);
  return db.one<Issuable>(
    statement`select ${COLUMNS[type.prefix]}, case when ${visible.sql} then 1 else 0 end as visible,
       (select count(*) from ${prefix}_assignees where ${column} = ${alias}.id and user_id = ?) as assigned
     from ${type.table} ${alias} join projects p on p.id = ${alias}.project_id
     where ${alias}.project_id = ? and ${alias}.iid = ?`,
    [...visible.values, viewer.caller?.id ?? 0, projectId, iid],
  );
}

/** An issuable that there is, for changes that are nobody's request: whoever may read it. */
export async function findById(db: Reader, type: IssuableType, id: number): Promise<Issuable> {
  const { table, alias } = type;
  const found = await db.one<Issuable>(
    `select ${COLUMNS[type.prefix]}, 1 as visible, 0 as assigned from ${table} ${alias} where ${alias}.id = ?`,
    [id],
  );
  return found as Issuable;
}

/** Maximum users per statement. */
const USERS = 1000;

/**
 * Which of these users may read an issuable or snippet, its project and, if it is about one, its note. The conditions
 * are those of lists, checked for many users in one statement.
 *
 * @param today `YYYY-MM-DD`: memberships that expire on or before it have ended
 * @returns the ids of active users who may read it, in ascending order
 */
export async function readers(
  db: Reader,
  { table, alias, visible, projects }: NoteableType,
  { id, noteId }: { id: number; noteId?: number | null | undefined },
  who: { ids: readonly number[] } | { usernames: readonly string[] },
  today: string,
): Promise<number[]> {
  const wanted: readonly Value[] = "ids" in who ? who.ids : who.usernames;
  const each = { each: "v", today } as const;
  const conditions = all([
    projects(each),
    visible(each),
    noteId == null ? undefined : visibleNote(noteId, visibleNotes(each)),
  ]);
  const able: number[] = [];
  for (let start = 0; start < wanted.length; start += USERS) {
    const among = placeholders(wanted.slice(start, start + USERS));
    const found = await db.rows(
      `select v.id from users v join ${table} ${alias} on ${alias}.id = ? join projects p on p.id = ${alias}.project_id
       where ${"ids" in who ? "v.id" : "lower(v.username)"} in (${among.sql}) and v.state = 'active' and ${conditions.sql}`,
      [id, ...among.values, ...conditions.values],
    );
    able.push(...found.map(([userId]) => userId as number));
  }
  return able.sort((one, other) => one - other);
}

function visibleNote(noteId: number, { sql, values }: Condition): Condition {
  return {
    sql: `exists (select 1 from notes nt where nt.id = ? and ${sql})`,
    values: [noteId, ...values],
  };
}

/** Users `v` who participate in an issuable, if they may read it: with joins of it and its project, and the condition. */
export function participating(
  { table, alias, column, involved, visible, projects }: IssuableType,
  id: number,
  viewer: Viewer,
): Condition & { join: string } {
  const each = { each: "v", today: viewer.today } as const;
  // Nobody who is banned is found: only active users are.
  const notes = countedNotes(viewer);
  const { sql, values } = all([
    when(`${alias}.id = ?`, id),
    {
      sql: `v.id in (
        select author_id from ${table} where id = ?
        ${involved.map((people) => `union select user_id from ${people} where ${column} = ?`).join(" ")}
        union select nt.author_id from notes nt where nt.${column} = ? and nt.system = 0 and ${notes.sql}
        union select user_id from todos where ${column} = ?
          and action in ('mentioned', 'directly_addressed'))`,
      values: [id, ...involved.map(() => id), id, ...notes.values, id],
    },
    when("v.state = 'active'"),
    projects(each),
    visible(each),
  ]);
  // The condition names the one row: there is nothing of the users to join it by.
  const join = `join ${table} ${alias} on 1 = 1 join projects p on p.id = ${alias}.project_id`;
  return { join, sql, values };
}

/**
 * A page of the participants of an issuable: its author, assignees, reviewers, the authors of notes that the caller may read, and
 * users it mentions, as far as they are active and may read it.
 *
 * @param presenter of users `v`
 */
export function participants(
  { db, presenter, page, viewer }: Pick<Context, "presenter" | "page" | "viewer"> & { db: Reader },
  type: IssuableType,
  id: number,
): Promise<RowPage> {
  const { join, sql, values } = participating(type, id, viewer);
  return paginate(db, presenter, page, {
    from: `users v ${join} where ${sql}`,
    values,
    order: "v.id",
  });
}

/** The ids of the assignees or reviewers, in ascending order. */
export async function peopleOf(
  db: Reader,
  { column, prefix }: IssuableType,
  role: Role,
  id: number,
): Promise<number[]> {
  const found = await db.rows(
    `select user_id from ${prefix}_${role} where ${column} = ? order by user_id`,
    [id],
  );
  return found.map(([userId]) => userId as number);
}

type Role = "assignees" | "reviewers";

/** Replaces the assignees or reviewers by others; people in both lists stay as they are. */
export async function replacePeople(
  db: Database,
  { column, prefix }: IssuableType,
  role: Role,
  id: number,
  { previous, current }: Difference<readonly number[]>,
  now: number,
): Promise<void> {
  const people = `${prefix}_${role}`;
  for (const userId of previous.filter((each) => !current.includes(each))) {
    await db.run(`delete from ${people} where ${column} = ? and user_id = ?`, [id, userId]);
  }
  for (const user_id of current.filter((each) => !previous.includes(each))) {
    const row = { [column]: id, user_id, ...(role === "reviewers" && { created_at: now }) };
    const names = Object.keys(row);
    await db.run(
      `insert into ${people} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`,
      Object.values(row),
    );
  }
}

/** The labels of an issuable. */
export async function labelsOf(
  db: Reader,
  { column, prefix }: IssuableType,
  id: number,
): Promise<{ id: number; name: string }[]> {
  return db.all<{ id: number; name: string }>(
    `select l.id, l.name from ${prefix}_labels x join labels l on l.id = x.label_id
     where x.${column} = ? and ${NOT_DELETED_LABEL}`,
    [id],
  );
}

/** Replaces the labels. */
export async function replaceLabels(
  db: Database,
  { column, prefix, place }: IssuableType,
  id: number,
  labelIds: readonly number[],
): Promise<void> {
  const kept = placeholders(labelIds.length > 0 ? labelIds : [0]);
  await db.run(
    `delete from ${prefix}_labels where ${column} = ? and label_id not in (${kept.sql})`,
    [id, ...kept.values],
  );
  for (const labelId of labelIds) {
    await db.run(
      `insert into ${prefix}_labels (${column}, label_id) values (?, ?) on conflict do nothing`,
      [id, labelId],
    );
  }
  if (labelIds.length > 0) place?.(db, [id]);
}

/**
 * Whether a user is subscribed: as they chose or, if they made no choice, because they participate as author, assignee,
 * reviewer or commenter, or were mentioned.
 */
export async function isSubscribed(
  db: Reader,
  type: IssuableType,
  id: number,
  userId: number,
): Promise<boolean> {
  return (await subscriptionsOf(db, type, [id], userId)).get(id) === true;
}

/** To which issuables a user is subscribed, by their ids: see {@link isSubscribed}. */
export async function subscriptionsOf(
  db: Reader,
  { table, column, prefix, involved }: IssuableType,
  ids: readonly Value[],
  userId: number,
): Promise<Map<Value, boolean>> {
  const among = placeholders(ids);
  const found = await db.rows(
    statement`select t.id, case
       when s.subscribed is not null then s.subscribed
       when t.author_id = ?
         ${joined(
           involved.map(
             (people) =>
               statement`or exists (select 1 from ${people} where ${column} = t.id and user_id = ?)`,
           ),
           " ",
         )}
         or exists (select 1 from notes where ${column} = t.id and author_id = ?)
         or exists (select 1 from todos where ${column} = t.id and user_id = ?
           and action in ('mentioned', 'directly_addressed')) then 1
       else 0 end
     from ${table} t left join ${prefix}_subscriptions s on s.${column} = t.id and s.user_id = ?
     where t.id in (${among.sql})`,
    [userId, ...involved.map(() => userId), userId, userId, userId, ...among.values],
  );
  return new Map(found.map(([id, subscribed]) => [id as Value, subscribed === 1]));
}

/** Subscribes or unsubscribes a user; returns whether that changed anything. */
export async function subscribe(
  db: Database,
  type: IssuableType,
  id: number,
  userId: number,
  subscribed: boolean,
): Promise<boolean> {
  if ((await isSubscribed(db, type, id, userId)) === subscribed) return false;
  const { column, prefix } = type;
  await db.run(
    `insert into ${prefix}_subscriptions (${column}, user_id, subscribed) values (?, ?, ?)
     on conflict (${column}, user_id) do update set subscribed = excluded.subscribed`,
    [id, userId, subscribed ? 1 : 0],
  );
  return true;
}

/** Counts one more issuable of a project, and returns its number. */
export async function nextNumber(
  db: Database,
  type: IssuableType,
  projectId: number,
): Promise<number> {
  const [counted] = await db.rows(`${countOneMore(type)} returning ${type.prefix}_count`, [
    projectId,
  ]);
  return (counted as [number])[0];
}

/** The statement that counts one more issuable of a project. */
export const countOneMore = ({ prefix }: IssuableType) =>
  `update projects set ${prefix}_count = ${prefix}_count + 1 where id = ?`;

/** Removes an issuable with all that refers to it. Its events must be removed first. */
export async function remove(db: Database, { table }: IssuableType, id: number): Promise<void> {
  await db.run(`delete from ${table} where id = ?`, [id]);
}
