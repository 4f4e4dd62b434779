import type { Heir } from "../../core/access/owner.ts";
import { type Viewer, visibleGroups } from "../../core/access/visibility.ts";
import { offsetOf, type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import {
  aboveNamespace,
  all,
  among,
  any,
  belowGroup,
  type Condition,
  joinFound,
  when,
} from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import type { IterationState } from "./json.ts";
import type { Span } from "./schedule.ts";

/** The condition under which a row `it` of iterations is not being deleted. */
export const NOT_DELETED_ITERATION = "it.removed = 0";

/** A cadence as stored. */
export interface Cadence {
  id: number;
  namespace_id: number;
  title: string;
  description: string | null;
  start_date: string | null;
  duration_in_weeks: number | null;
  iterations_in_advance: number | null;
  automatic: number;
  active: number;
  roll_over: number;
}

const CADENCE =
  "id, namespace_id, title, description, start_date, duration_in_weeks, iterations_in_advance, automatic, active, roll_over";

/** An iteration as stored. */
export interface Iteration extends Span {
  id: number;
  cadence_id: number;
  title: string | null;
}

/** Which iterations a list has. */
export interface IterationFilter {
  readonly state?: IterationState | "opened" | undefined;
  /** A text, and in what it is searched. */
  readonly search?: { readonly text: string; readonly in: readonly SearchedField[] } | undefined;
  readonly updatedAfter?: number | undefined;
  readonly updatedBefore?: number | undefined;
}

/** In what a search looks. */
export type SearchedField = "title" | "cadence_title";

/** In what a search looks if it says so, and it is not blank; otherwise in titles. */
export const searchedIn = (sent: readonly SearchedField[] | undefined): readonly SearchedField[] =>
  sent?.length ? sent : ["title"];

/** The condition that a row `it` of iterations is in a state today. */
function inState(state: IterationState | "opened", today: string): Condition {
  if (state === "opened") return { sql: "it.due_date >= ?", values: [today] };
  if (state === "closed") return { sql: "it.due_date < ?", values: [today] };
  if (state === "upcoming") return { sql: "it.start_date > ?", values: [today] };
  return { sql: "it.start_date <= ? and it.due_date >= ?", values: [today, today] };
}

/** The condition that a row `it` of iterations fits a filter. */
export function fitting(
  { state, search, updatedAfter, updatedBefore }: IterationFilter,
  today: string,
): Condition {
  const titled = search && contains(["c.title"], search.text);
  const searched = search && [
    ...(search.in.includes("title") ? [contains(["it.title"], search.text)] : []),
    ...(search.in.includes("cadence_title") && titled
      ? [
          {
            sql: `exists (select 1 from iteration_cadences c where c.id = it.cadence_id and ${titled.sql})`,
            values: titled.values,
          },
        ]
      : []),
  ];
  return all([
    when(NOT_DELETED_ITERATION),
    state && inState(state, today),
    searched && any(searched),
    when("it.updated_at >= ?", updatedAfter),
    when("it.updated_at <= ?", updatedBefore),
  ]);
}

/** Of which groups a list has the iterations. */
export interface Scope {
  readonly ancestors: boolean;
  readonly descendants: boolean;
}

/** The condition that a row, whose column has the id of a namespace, belongs to a group or those of a scope. */
export function inScope(
  column: string,
  namespaceId: number,
  { ancestors, descendants }: Scope,
): Condition {
  return any([
    ancestors
      ? aboveNamespace(column, namespaceId)
      : { sql: `${column} = ?`, values: [namespaceId] },
    ...(descendants ? [belowGroup(column, namespaceId)] : []),
  ]);
}

/**
 * The iterations of a group, or of a project's group, that the viewer may see, in the order of their days: of each group only
 * the first ones are read.
 */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  viewer: Viewer,
  { namespaceId }: Pick<Heir, "namespaceId">,
  filter: IterationFilter & Scope,
): Promise<RowPage> {
  // Whoever sees a group or project sees the iterations that it has from above.
  const seen = any([aboveNamespace("n.id", namespaceId), visibleGroups(viewer)]);
  const groups = all([inScope("n.id", namespaceId, filter), filter.descendants ? seen : undefined]);
  const own = fitting(filter, viewer.today);
  const ofGroup = `select it.id from iterations it where it.namespace_id = n.id and ${own.sql}`;
  const first = `${ofGroup} order by it.due_date, it.id limit ?`;
  return paginate(db, presenter, page, {
    from: `namespaces n ${joinFound(db.dialect, "iterations", "it", first)}
      join namespaces itn on itn.id = it.namespace_id where ${groups.sql}`,
    values: [...own.values, offsetOf(page) + page.size + 1, ...groups.values],
    countFrom: `namespaces n join iterations it on it.namespace_id = n.id and ${own.sql} where ${groups.sql}`,
    countValues: [...own.values, ...groups.values],
    order: "it.due_date, it.id",
  });
}

/** An iteration that issues of a project can be in, of its group or one above: by its id, or by its title: of several, the one that ends last. */
export function findFor(
  db: Reader,
  { namespaceId }: Pick<Heir, "namespaceId">,
  by: { readonly id: number } | { readonly title: string },
): Awaitable<Iteration | undefined> {
  const above = aboveNamespace("it.namespace_id", namespaceId);
  const [column, value] = "id" in by ? ["id", by.id] : ["title", by.title];
  return db.one<Iteration>(
    `select it.id, it.cadence_id, it.title, it.start_date, it.due_date from iterations it
     where it.${column} = ? and ${above.sql} and ${NOT_DELETED_ITERATION} order by it.due_date desc, it.id limit 1`,
    [value as string | number, ...above.values],
  );
}

/** The cadences of a project's group and those above, by their titles; with a title or an id, those that have it. */
export function cadencesFor(
  db: Reader,
  { namespaceId }: Pick<Heir, "namespaceId">,
  by: { readonly id?: number | undefined; readonly title?: string | undefined } = {},
): Awaitable<Cadence[]> {
  const where = all([
    aboveNamespace("namespace_id", namespaceId),
    when("id = ?", by.id),
    when("title = ?", by.title),
  ]);
  return db.all<Cadence>(
    `select ${CADENCE} from iteration_cadences where ${where.sql} order by title, id limit 100`,
    where.values,
  );
}

/** A cadence of a group by its id, or `undefined`. */
export function findCadence(
  db: Reader,
  groupId: number,
  id: number,
): Awaitable<Cadence | undefined> {
  return db.one<Cadence>(
    `select ${CADENCE} from iteration_cadences where id = ? and namespace_id = ?`,
    [id, groupId],
  );
}

/** The cadence of a group that iterations are added to if none is named: the first without automation. */
export function findDefaultCadence(db: Reader, groupId: number): Awaitable<Cadence | undefined> {
  return db.one<Cadence>(
    `select ${CADENCE} from iteration_cadences where namespace_id = ? and automatic = 0 order by id limit 1`,
    [groupId],
  );
}

/** Cadences with automation, by their ids. @param after an id */
export function automaticCadences(db: Reader, after: number, most: number): Awaitable<Cadence[]> {
  return db.all<Cadence>(
    `select ${CADENCE} from iteration_cadences where automatic = 1 and active = 1 and id > ? order by id limit ?`,
    [after, most],
  );
}

/** An iteration that is over, which nobody has seen yet, and whether its open issues go on to the next one. */
export function firstEnded(
  db: Reader,
  today: string,
): Awaitable<{ id: number; cadence_id: number; due_date: string; rolls: number } | undefined> {
  return db.one(
    `select it.id, it.cadence_id, it.due_date, c.active * c.automatic * c.roll_over as rolls
     from iterations it join iteration_cadences c on c.id = it.cadence_id
     where it.ended = 0 and it.due_date < ? order by it.due_date, it.id limit 1`,
    [today],
  );
}

/** The id of the iteration that the issues of one go on to: the next of its cadence that ends after today. */
export async function nextOf(
  db: Reader,
  { cadence_id, due_date }: { readonly cadence_id: number; readonly due_date: string },
  today: string,
): Promise<number | undefined> {
  const [row] = await db.rows(
    `select id from iterations where cadence_id = ? and start_date >= ? and due_date > ?
     order by due_date, id limit 1`,
    [cadence_id, due_date, today],
  );
  return row?.[0] as number | undefined;
}

/** An iteration of a group by its id, or `undefined`. */
export function find(db: Reader, groupId: number, id: number): Awaitable<Iteration | undefined> {
  return db.one<Iteration>(
    `select id, cadence_id, title, start_date, due_date from iterations
     where id = ? and namespace_id = ? and removed = 0`,
    [id, groupId],
  );
}

/** The iterations of a cadence, by their days. */
export function ofCadence(db: Reader, cadenceId: number): Awaitable<Iteration[]> {
  return db.all<Iteration>(
    `select id, cadence_id, title, start_date, due_date from iterations
     where cadence_id = ? order by due_date, id`,
    [cadenceId],
  );
}

/** Adds an iteration with its group's next number, and returns its id. @param today `YYYY-MM-DD` */
export async function insert(
  db: Database,
  { id: cadenceId, namespace_id }: Pick<Cadence, "id" | "namespace_id">,
  iteration: Span & {
    readonly title?: string | null | undefined;
    readonly description?: string | null | undefined;
  },
  today: string,
  now: number,
): Promise<number> {
  const [row] = await db.rows(
    "select coalesce(max(iid), 0) + 1 from iterations where namespace_id = ?",
    [namespace_id],
  );
  return insertRow(db, "iterations", {
    iid: (row as [number])[0],
    namespace_id,
    cadence_id: cadenceId,
    title: iteration.title ?? null,
    description: iteration.description ?? null,
    start_date: iteration.start_date,
    due_date: iteration.due_date,
    ended: Number(iteration.due_date < today),
    created_at: now,
    updated_at: now,
  });
}

/** Numbers the iterations of a cadence by their days. */
export async function number(db: Database, cadenceId: number): Promise<void> {
  await db.run(
    `update iterations set sequence = numbered.place from (
       select id as numbered_id, row_number() over (order by start_date, id) as place
       from iterations where cadence_id = ?) as numbered
     where id = numbered.numbered_id and sequence <> numbered.place`,
    [cadenceId],
  );
}

/** The condition that a row `i` of issues is in an iteration of one of some cadences. */
export function inCadences(column: string, ids: readonly number[]): Condition {
  const { sql, values } = among("cadence_id", ids);
  return { sql: `${column} in (select id from iterations where ${sql})`, values };
}
