import { type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import { mentionsIn } from "../../core/mentions.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import * as issues from "../issues/queries.ts";
import { MERGE_REQUEST } from "../merge-requests/queries.ts";

/** The actions to filter by; todos here only have those of {@link Action}. */
export const ACTIONS = [
  "assigned",
  "mentioned",
  "build_failed",
  "marked",
  "approval_required",
  "unmergeable",
  "directly_addressed",
] as const;

/** Why a todo was created. */
export type Action = "assigned" | "mentioned" | "marked" | "directly_addressed";

const TODOS = `todos td join projects p on p.id = td.project_id
  left join issues i on i.id = td.issue_id left join merge_requests mr on mr.id = td.merge_request_id`;

const SHOWN = `${TODOS} join namespaces n on n.id = p.namespace_id
  join users u on u.id = td.author_id left join notes nt on nt.id = td.note_id`;

/** The filters of a list. */
export interface TodoFilter {
  action?: string | undefined;
  authorId?: number | undefined;
  projectId?: number | undefined;
  groupId?: number | undefined;
  state?: "pending" | "done" | undefined;
  type?: issues.Kind["type"] | undefined;
}

/** The caller's own todos, without those whose target they can no longer read. */
function readable(viewer: Viewer): Condition {
  const conditions = [
    { sql: "td.user_id = ?", values: [viewer.caller?.id ?? 0] },
    visibleProjects(viewer),
    ...[issues.ISSUE, MERGE_REQUEST].map((kind) => {
      const { sql, values } = kind.visible(viewer);
      return { sql: `(td.${kind.column} is null or ${sql})`, values };
    }),
  ];
  return joined(conditions);
}

function joined(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" and "),
    values: conditions.flatMap(({ values }) => values),
  };
}

function conditionsOf(viewer: Viewer, filter: TodoFilter): Condition {
  const conditions = [readable(viewer)];
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });
  add("td.state = ?", filter.state ?? "pending");
  if (filter.action) add("td.action = ?", filter.action);
  if (filter.authorId !== undefined) add("td.author_id = ?", filter.authorId);
  if (filter.projectId !== undefined) add("td.project_id = ?", filter.projectId);
  if (filter.groupId !== undefined) {
    add(
      "p.namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
      filter.groupId,
    );
  }
  if (filter.type)
    add(`td.${filter.type === "Issue" ? "issue_id" : "merge_request_id"} is not null`);
  return joined(conditions);
}

/** The caller's todos, newest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  filter: TodoFilter,
): Promise<RowPage> {
  const { sql, values } = conditionsOf(viewer, filter);
  return paginate(db, presenter, page, {
    from: `${SHOWN} where ${sql}`,
    countFrom: `${TODOS} where ${sql}`,
    values,
    order: "td.id desc",
  });
}

/** One of the caller's todos as a row of its presenter; `undefined` if they may not read its target. */
export async function row(
  db: Reader,
  presenter: Presenter,
  todoId: number,
  viewer: Viewer,
): Promise<Value[] | undefined> {
  const own = readable(viewer);
  const [found] = await db.rows(
    `select ${presenter.columns} from ${SHOWN} where td.id = ? and ${own.sql}`,
    [todoId, ...own.values],
  );
  return found;
}

/** Marks a todo of a user as done. */
export async function finish(
  db: Database,
  todoId: number,
  userId: number,
  now: number,
): Promise<void> {
  await db.run("update todos set state = 'done', updated_at = ? where id = ? and user_id = ?", [
    now,
    todoId,
    userId,
  ]);
}

/** Marks all of a user's todos as done. */
export async function finishAll(db: Database, userId: number, now: number): Promise<void> {
  await db.run(
    "update todos set state = 'done', updated_at = ? where user_id = ? and state = 'pending'",
    [now, userId],
  );
}

/** The target of a todo: an issue or merge request, and the note that mentions the user, if any. */
export interface About {
  projectId: number;
  id: number;
  noteId: number | null;
}

/** Adds a todo for each user without a pending one on the same target, and returns the new ids. */
export async function add(
  db: Database,
  { column }: issues.Kind,
  { projectId, id, noteId }: About,
  userIds: readonly number[],
  action: Action,
  authorId: number,
  now: number,
): Promise<number[]> {
  const made: number[] = [];
  for (const userId of userIds) {
    const pending = await db.rows(
      `select 1 from todos where ${column} = ? and user_id = ? and state = 'pending'`,
      [id, userId],
    );
    if (pending.length > 0) continue;
    const [inserted] = await db.rows(
      `insert into todos (user_id, project_id, ${column}, note_id, author_id, action, created_at, updated_at)
       values (?, ?, ?, ?, ?, ?, ?, ?) returning id`,
      [userId, projectId, id, noteId, authorId, action, now, now],
    );
    made.push(inserted?.[0] as number);
  }
  return made;
}

/** Marks a user's todos on a target as done, since they acted on it. */
export async function resolve(
  db: Database,
  { column }: issues.Kind,
  id: number,
  userId: number,
  now: number,
): Promise<void> {
  await db.run(
    `update todos set state = 'done', updated_at = ?
     where ${column} = ? and user_id = ? and state = 'pending'`,
    [now, id, userId],
  );
}

/**
 * Adds a todo for each newly mentioned user who may read the target, except the author.
 *
 * @param text.after the current texts: title and description, or the body of a note
 * @param text.before the previous texts, whose mentions are not new
 */
export async function mention(
  db: Database,
  kind: issues.Kind,
  about: About,
  text: { after: Texts; before?: Texts },
  author: { id: number; today: string },
  now: number,
): Promise<void> {
  const known = new Set(mentionsIn(text.before ?? []));
  const usernames = mentionsIn(text.after).filter((name) => !known.has(name));
  const able = await issues.readers(db, kind, about.id, { usernames }, author.today);
  const userIds = able.filter((userId) => userId !== author.id);
  const action = /^\s*@/.test(text.after.at(-1) ?? "") ? "directly_addressed" : "mentioned";
  await add(db, kind, about, userIds, action, author.id, now);
}

type Texts = Parameters<typeof mentionsIn>[0];
