import type { Caller } from "../../core/access/caller.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader } from "../../store/port.ts";
import type { Cause } from "./changed.ts";
import type { Difference, IssuableType, Writing } from "./type.ts";

type Recording = Pick<Writing, "db" | "now"> & { readonly caller: Pick<Caller, "id"> };

/** The ids of what was added, and of what was removed. */
export interface Moves {
  readonly added: readonly number[];
  readonly removed: readonly number[];
}

/** Records which labels the caller added to an issuable, and which they removed. */
export async function recordLabels(
  { db, caller, now }: Recording,
  { column }: IssuableType,
  id: number,
  { added, removed }: Moves,
): Promise<void> {
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
 * Records that the caller set the milestone of an issuable, or removed it.
 *
 * @param issuable with the state before the change
 */
export async function recordMilestone(
  { db, caller, now }: Recording,
  { column }: IssuableType,
  { id, state }: { readonly id: number; readonly state: string },
  { previous, current }: Difference<number | null>,
): Promise<void> {
  await insertRow(db, "resource_milestone_events", {
    [column]: id,
    user_id: caller.id,
    milestone_id: current ?? previous,
    action: current === null ? "remove" : "add",
    state,
    created_at: now,
  });
}

/** Records that the caller put an issue into an iteration, or took it out. */
export async function recordIteration(
  { db, caller, now }: Recording,
  issueId: number,
  { previous, current }: Difference<number | null>,
): Promise<void> {
  await insertRow(db, "resource_iteration_events", {
    issue_id: issueId,
    user_id: caller.id,
    iteration_id: current ?? previous,
    action: current === null ? "remove" : "add",
    created_at: now,
  });
}

/** Records that the caller changed the weight of an issue. @param weight the new one; `null` for none */
export async function recordWeight(
  { db, caller, now }: Recording,
  issueId: number,
  weight: number | null,
): Promise<void> {
  const event = { issue_id: issueId, user_id: caller.id, weight, created_at: now };
  await insertRow(db, "resource_weight_events", event);
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

/** Users as a sentence names them: `@ada, @bob, and @eve`. */
export async function namesOf(db: Reader, ids: readonly number[]): Promise<string> {
  const names: string[] = [];
  for (const id of ids) {
    const [row] = await db.rows("select username from users where id = ?", [id]);
    names.push(`@${row?.[0]}`);
  }
  const last = names.pop() as string;
  if (names.length === 0) return last;
  return names.length === 1 ? `${names[0]} and ${last}` : `${names.join(", ")}, and ${last}`;
}
