import { ApiError, invalid } from "../../core/errors.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database } from "../../store/port.ts";
import { change } from "../issuables/change.ts";
import type { Issuable } from "../issuables/queries.ts";
import type { IssuableType, Writing } from "../issuables/type.ts";

/** The longest estimate in seconds. */
const MAX_ESTIMATE = 2 ** 31 - 1;
/** The longest time spent on one issuable in seconds: a year, as in GitLab. */
const MAX_SPENT = 31_557_600;

/**
 * Checks an estimate in seconds.
 *
 * @param seconds `undefined` for what was no duration
 * @throws ApiError 400 if it is none, negative or too long
 */
export function requireEstimate(seconds: number | undefined): number {
  if (seconds === undefined || seconds < 0 || seconds > MAX_ESTIMATE) {
    throw new ApiError(400, {
      message:
        "400 Bad request - Time estimate must have a valid format and be greater than or equal to zero.",
    });
  }
  return seconds;
}

/**
 * Estimates the time an issuable takes.
 *
 * @param seconds see {@link requireEstimate}
 */
export function estimate(
  context: Writing,
  type: IssuableType,
  issuable: Issuable,
  seconds: number | undefined,
): Promise<void> {
  return change(context, type, issuable, { columns: { time_estimate: requireEstimate(seconds) } });
}

/** Time spent on an issuable. */
export interface Spent {
  seconds: number;
  /** What was done. */
  summary?: string | undefined;
  /** When it was spent, in epoch milliseconds. Default: now. */
  spentAt?: number | undefined;
}

/**
 * Adds time that the caller spent on an issuable or, if it is negative, subtracts it.
 *
 * @returns the id of the new entry
 * @throws ApiError 400 if more is subtracted than was spent, or the sum is more than a year
 */
export async function spend(
  context: Writing,
  type: IssuableType,
  issuable: Issuable,
  { seconds, summary, spentAt = context.now }: Spent,
): Promise<number> {
  const { db, caller, now } = context;
  const total = issuable.total_time_spent + seconds;
  if (seconds < 0 && total < 0) {
    throw invalid({ base: ["Time to subtract exceeds the total time spent"] });
  }
  if (total > MAX_SPENT) throw invalid({ base: ["Total time spent cannot exceed a year."] });
  const entry = { user_id: caller.id, seconds, summary, spentAt };
  await change(context, type, issuable, { columns: { total_time_spent: total } });
  return insert(db, type, issuable, entry, now);
}

/** Takes back all time spent on an issuable, with an entry that makes the sum zero. */
export async function reset(
  context: Writing,
  type: IssuableType,
  issuable: Issuable,
): Promise<void> {
  const seconds = -issuable.total_time_spent;
  if (seconds !== 0) await spend(context, type, issuable, { seconds });
}

/** Adds an entry, whoever spent the time, and returns its id. The total is stored apart from it. */
export function insert(
  db: Database,
  { column }: IssuableType,
  { id, project_id }: Pick<Issuable, "id" | "project_id">,
  entry: Spent & { user_id: number; spentAt: number },
  now: number,
): Promise<number> {
  return insertRow(db, "timelogs", {
    project_id,
    [column]: id,
    user_id: entry.user_id,
    time_spent: entry.seconds,
    spent_at: entry.spentAt,
    summary: entry.summary ?? null,
    created_at: now,
  });
}

/** Removes an entry of an issuable; the time spent is less by it. */
export async function remove(
  context: Writing,
  type: IssuableType,
  issuable: Issuable,
  timelogId: number,
): Promise<void> {
  const [removed] = await context.db.all<{ time_spent: number }>(
    "delete from timelogs where id = ? returning time_spent",
    [timelogId],
  );
  const total = issuable.total_time_spent - (removed?.time_spent ?? 0);
  await change(context, type, issuable, { columns: { total_time_spent: total } });
}

/** Copies the estimate and the time spent of one issuable to another one. */
export async function copy(
  db: Database,
  { table, column }: IssuableType,
  fromId: number,
  to: { id: number; project_id: number },
): Promise<void> {
  await db.run(
    `insert into timelogs (project_id, ${column}, user_id, time_spent, spent_at, summary, created_at)
     select cast(? as bigint), cast(? as bigint), user_id, time_spent, spent_at, summary, created_at
     from timelogs where ${column} = ? order by id`,
    [to.project_id, to.id, fromId],
  );
  await db.run(
    `update ${table} set time_estimate = (select f.time_estimate from ${table} f where f.id = ?),
       total_time_spent = (select f.total_time_spent from ${table} f where f.id = ?) where id = ?`,
    [fromId, fromId, to.id],
  );
}
