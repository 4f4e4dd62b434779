import type { Caller } from "../../core/access/caller.ts";
import { insertRow } from "../../store/insert.ts";
import type { Issuable } from "./queries.ts";
import type { IssuableType, Writing } from "./type.ts";

type Recording = Pick<Writing, "db" | "now"> & { readonly caller: Pick<Caller, "id"> };

/** Records which labels the caller added to an issuable, and which they removed. */
export async function recordLabels(
  { db, caller, now }: Recording,
  { column }: IssuableType,
  id: number,
  before: readonly number[],
  after: readonly number[],
): Promise<void> {
  const added = after.filter((labelId) => !before.includes(labelId));
  const removed = before.filter((labelId) => !after.includes(labelId));
  const rows = [
    ...added.map((labelId) => [id, caller.id, labelId, "add", now]),
    ...removed.map((labelId) => [id, caller.id, labelId, "remove", now]),
  ];
  for (let start = 0; start < rows.length; start += ROWS) {
    const some = rows.slice(start, start + ROWS);
    await db.run(
      `insert into resource_label_events (${column}, user_id, label_id, action, created_at)
       values ${some.map(() => "(?, ?, ?, ?, ?)").join(", ")}`,
      some.flat(),
    );
  }
}

/** Maximum rows per statement. */
const ROWS = 1000;

/**
 * Records that the caller set the milestone of an issuable, or removed it; nothing if it is still the same.
 *
 * @param before the issuable before the change
 */
export async function recordMilestone(
  { db, caller, now }: Recording,
  { table, column }: IssuableType,
  { id, milestone_id: before, state }: Pick<Issuable, "id" | "milestone_id" | "state">,
): Promise<void> {
  const [found] = await db.rows(`select milestone_id from ${table} where id = ?`, [id]);
  const [after] = found as [number | null];
  if (after === before) return;
  await insertRow(db, "resource_milestone_events", {
    [column]: id,
    user_id: caller.id,
    milestone_id: after ?? before,
    action: after === null ? "remove" : "add",
    state,
    created_at: now,
  });
}

/** What the state of an issuable was changed by, if it was not changed itself. */
export interface Cause {
  /** The name of a commit whose message says so, in hex. */
  readonly commit?: string;
  /** The id of a merge request that was merged. */
  readonly mergeRequestId?: number;
}

/** Records that the caller changed the state of an issuable. */
export function recordState(
  { db, caller, now }: Recording,
  { column }: IssuableType,
  id: number,
  state: "closed" | "reopened" | "merged",
  { commit, mergeRequestId }: Cause = {},
): void {
  db.send(
    `insert into resource_state_events
       (${column}, user_id, state, source_commit, source_merge_request_id, created_at)
     values (?, ?, ?, ?, ?, ?)`,
    [id, caller.id, state, commit ?? null, mergeRequestId ?? null, now],
  );
}
