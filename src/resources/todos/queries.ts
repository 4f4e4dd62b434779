import { idOf, type Viewer, visibleNotes, visibleProjects } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, belowGroup, type Condition } from "../../store/conditions.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import type { IssuableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES, targetOf } from "../issuables/types.ts";

/** The actions to filter by. Todos here have only some of them: see `Action` in issuables/todos.ts. */
export const ACTIONS = [
  "assigned",
  "mentioned",
  "build_failed",
  "marked",
  "approval_required",
  "unmergeable",
  "directly_addressed",
] as const;

const TODOS = `todos td join projects p on p.id = td.project_id ${targetOf("td").joins}
  left join notes nt on nt.id = td.note_id`;

const PRESENTED = `${TODOS} join namespaces n on n.id = p.namespace_id join users u on u.id = td.author_id`;

/** The filters of a list. */
export interface TodoFilter {
  action?: string | undefined;
  authorId?: number | undefined;
  projectId?: number | undefined;
  groupId?: number | undefined;
  state?: "pending" | "done" | undefined;
  type?: IssuableType | undefined;
}

/** The caller's own todos, without those whose target or note they can no longer read. */
function readable(viewer: Viewer): Condition {
  const [caller, note] = [idOf(viewer), visibleNotes(viewer)];
  return all([
    { sql: `td.user_id = ${caller.sql}`, values: caller.values },
    visibleProjects(viewer),
    ...ISSUABLE_TYPES.map(({ column, visible }) => {
      const { sql, values } = visible(viewer);
      return { sql: `(td.${column} is null or ${sql})`, values };
    }),
    { sql: `(nt.id is null or ${note.sql})`, values: note.values },
  ]);
}

function conditionsOf(viewer: Viewer, filter: TodoFilter): Condition {
  const conditions = [readable(viewer)];
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });
  add("td.state = ?", filter.state ?? "pending");
  if (filter.action) add("td.action = ?", filter.action);
  if (filter.authorId !== undefined) add("td.author_id = ?", filter.authorId);
  if (filter.projectId !== undefined) add("td.project_id = ?", filter.projectId);
  if (filter.groupId !== undefined) {
    conditions.push(belowGroup("p.namespace_id", filter.groupId));
  }
  if (filter.type) add(`td.${filter.type.column} is not null`);
  return all(conditions);
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
    from: `${PRESENTED} where ${sql}`,
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
    `select ${presenter.columns} from ${PRESENTED} where td.id = ? and ${own.sql}`,
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
