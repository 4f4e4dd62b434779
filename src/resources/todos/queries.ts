import { ROLES } from "../../core/access/roles.ts";
import {
  allConfidential,
  BEING_DELETED_ROWS,
  idOf,
  inProject,
  ON_EPIC,
  usesFeature,
  type Viewer,
  visibleNotes,
  visiblePlaces,
} from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, any, type Condition, rowByRow, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Store, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { EPIC, PLACE_PATH } from "../issuables/epic.ts";
import type { IssuableType } from "../issuables/type.ts";
import { targetOf } from "../issuables/types.ts";

/** The actions to filter by. */
export const ACTIONS = [
  "assigned",
  "mentioned",
  "build_failed",
  "marked",
  "approval_required",
  "unmergeable",
  "directly_addressed",
  "review_requested",
] as const;

/** The states of todos. */
export const STATES = ["pending", "done"] as const;

/** SQL about what a row `td` of todos is about. */
export const target = targetOf("td");

/** The text of a row `td` of todos: of the note that mentions the user, or the target's title. */
export const BODY = `coalesce(nt.body, ${target.title})`;

/** The page that a row `td` of todos is about, of a project `p`. */
export const targetUrl = field.url(
  [PLACE_PATH, `${target.path} || coalesce('#note_' || td.note_id, '')`],
  (path, rest) => `/${path}/-/${rest}`,
);

const NARROW = "todos td join projects p on p.id = td.project_id";
const TARGET = `${target.joins} left join notes nt on nt.id = td.note_id`;

/** The tables a todo is read from. */
export const TODOS = `${NARROW} ${TARGET}`;

const PRESENTED = `${TODOS} join namespaces n on n.id = p.namespace_id join users u on u.id = td.author_id`;

/** The filters of a list: one value of each is enough. */
export interface TodoFilter {
  actions?: readonly string[] | undefined;
  authorIds?: readonly number[] | undefined;
  projectIds?: readonly number[] | undefined;
  /** Also the groups below them. */
  groupIds?: readonly number[] | undefined;
  states?: readonly string[] | undefined;
  types?: readonly IssuableType[] | undefined;
}

/** The caller's own todos, without those whose target or note they can no longer read. */
export function readable(viewer: Viewer): Condition {
  return all([own(viewer), withReadableTarget(viewer)]);
}

function own(viewer: Viewer): Condition {
  const caller = idOf(viewer);
  return all([
    { sql: statement`td.user_id = ${caller.sql}`, values: caller.values },
    when(`td.author_id not in (${BEING_DELETED_ROWS.users})`),
    visiblePlaces(viewer),
  ]);
}

function withReadableTarget(viewer: Viewer): Condition {
  const note = visibleNotes(viewer);
  return all([
    target.visible(viewer),
    { sql: statement`(nt.id is null or ${note.sql})`, values: note.values },
  ]);
}

/**
 * The condition under which the viewer may read whatever a todo of a project `p` is about: mostly their own project's.
 * Counting then reads no issues.
 */
function withoutLooking(viewer: Viewer): Condition {
  const asReporter = inProject(viewer, { level: ROLES.reporter });
  return all([
    usesFeature(asReporter, "issues"),
    usesFeature(asReporter, "merge_requests"),
    // Reporters read the code, and internal notes.
    allConfidential(viewer),
  ]);
}

/** The condition of a filter on a row `td` of todos, in a project `p`. */
export function filtered(filter: TodoFilter): Condition {
  const among = (column: string, values: readonly Value[] | undefined, within = "") => {
    if (!values) return undefined;
    const { sql, values: given } = placeholders(values.length > 0 ? values : [null]);
    return { sql: `${column} in (${within}${sql})${within ? ")" : ""}`, values: given };
  };
  return all([
    among("td.state", filter.states),
    among("td.action", filter.actions),
    among("td.author_id", filter.authorIds),
    among("td.project_id", filter.projectIds),
    among(
      "p.namespace_id",
      filter.groupIds,
      "select namespace_id from namespace_ancestors where ancestor_id in (",
    ),
    filter.types && {
      sql: `(${["1 = 0", ...filter.types.map(isAbout)].join(" or ")})`,
      values: [],
    },
  ]);
}

/** The condition under which a row `td` of todos, in a project `p`, is about a record of a type. */
const isAbout = (type: IssuableType) =>
  `td.${type.column} is not null and ${type.className === EPIC.className ? ON_EPIC : `not ${ON_EPIC}`}`;

/** The caller's todos, newest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  filter: TodoFilter,
): Promise<RowPage> {
  const { sql, values } = all([readable(viewer), filtered(filter)]);
  const counted = countedFrom(viewer, filter);
  return paginate(db, presenter, page, {
    from: statement`${PRESENTED} where ${sql}`,
    values,
    countFrom: counted.sql,
    countValues: counted.values,
    order: "td.id desc",
  });
}

/** What counting reads. Joined, PostgreSQL would read all issues and merge requests. */
function countedFrom(viewer: Viewer, filter: TodoFilter): Condition {
  const target = withReadableTarget(viewer);
  const looked = {
    sql: rowByRow(`select 1 from (select 1) as one ${TARGET} where ${target.sql}`),
    values: target.values,
  };
  const counted = all([own(viewer), filtered(filter), any([withoutLooking(viewer), looked])]);
  return { sql: statement`${NARROW} where ${counted.sql}`, values: counted.values };
}

/** How many todos the caller has to do. */
export async function countPending(db: Reader, viewer: Viewer): Promise<number> {
  const { sql, values } = countedFrom(viewer, { states: ["pending"] });
  const [row] = await db.rows(`select count(*) from ${sql}`, values);
  return Number(row?.[0]);
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

/** The most todos that {@link finishAll} tells. */
const MAX_TOLD = 100;

/** How many todos a transaction of {@link finishAll} marks: others wait for it. */
const AT_ONCE = 512;

/**
 * Marks a user's pending todos that a filter selects as done, from the newest on, in several transactions, between
 * which others can write. A later call continues where this one was stopped.
 *
 * @returns the ids of the newest ones
 */
export async function finishAll(
  store: Store,
  userId: number,
  filter: Omit<TodoFilter, "states">,
  now: number,
): Promise<number[]> {
  const told: number[] = [];
  const { sql, values } = filtered(filter);
  const selected = `select td.id from todos td join projects p on p.id = td.project_id
    where td.user_id = ? and td.state = 'pending' and td.id < ? and ${sql} order by td.id desc limit ${AT_ONCE}`;
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const rows = await store.rows(selected, [userId, before, ...values]);
    const ids = rows.map(([id]) => id as number);
    if (ids.length === 0) return told;
    await store.transaction((db) => setState(db, ids, "done", now));
    told.push(...ids.slice(0, MAX_TOLD - told.length));
    if (ids.length < AT_ONCE) return told;
    before = ids.at(-1) as number;
  }
}

/** How many of these todos are the caller's, and can be read. */
export async function countReadable(
  db: Reader,
  ids: readonly number[],
  viewer: Viewer,
): Promise<number> {
  const [among, own] = [placeholders(ids), readable(viewer)];
  const [row] = await db.rows(
    `select count(*) from ${TODOS} where td.id in (${among.sql}) and ${own.sql}`,
    [...among.values, ...own.values],
  );
  return row?.[0] as number;
}

/** Changes the state of todos. */
export async function setState(
  db: Database,
  ids: readonly number[],
  state: (typeof STATES)[number],
  now: number,
): Promise<void> {
  const among = placeholders(ids);
  await db.run(
    `update todos set state = ?, updated_at = ? where id in (${among.sql}) and state <> ?`,
    [state, now, ...among.values, state],
  );
}
