import { forbidden } from "../../core/errors.ts";
import type { Context } from "../../core/resource.ts";
import { recordMoment } from "../../hooks/moments.ts";
import type { Value } from "../../store/port.ts";
import { sendUpdate, updateRow } from "../../store/update.ts";
import { queueEnd } from "../ci/progress.ts";
import * as events from "../events/record.ts";
import { mayDelete } from "./abilities.ts";
import {
  areHeard,
  type Changes,
  changesSince,
  type Snapshot,
  STATE_IDS,
  snapshotOf,
  stateChanges,
} from "./differences.ts";
import * as history from "./history.ts";
import { MERGE_REQUEST } from "./merge-request.ts";
import { type Planning, plan } from "./planning.ts";
import * as issuables from "./queries.ts";
import * as todos from "./todos.ts";
import type { IssuableType, Writing } from "./type.ts";

/** Records what happened to an issuable; see `record` for who is notified. */
export function recordEvent(
  { db, source, caller, now }: Writing,
  type: IssuableType,
  action: events.Action,
  { id, iid, title }: { id: number; iid?: number; title: string },
): void {
  const target = { type: type.prefix, id, iid: iid ?? null, title };
  events.record(db, { project_id: source.id, author_id: caller.id, action, target }, now);
}

/** An approval that is given or taken back; `approved` and `unapproved` if it is the one that counts. */
type Approval = "approval" | "approved" | "unapproval" | "unapproved";

/**
 * Records for webhooks what happens to an issuable.
 *
 * @param changes by attribute, those that it is told with
 * @param oldrev of a merge request that got new commits: its head before
 */
export function recordChange(
  context: Writing,
  { prefix }: IssuableType,
  id: number,
  action: "open" | "close" | "reopen" | "update" | "merge" | Approval,
  changes: Changes = {},
  oldrev?: string | null,
): void {
  const { source, caller } = context;
  const of = { project: source.id };
  recordMoment(context, {
    kind: prefix,
    of,
    userId: caller.id,
    id,
    action,
    data: { changes, oldrev },
  });
}

/** What follows from creating an issuable: its event, labels and assignees, and todos for mentioned users. */
export async function afterCreating(
  context: Writing,
  type: IssuableType,
  created: { id: number; iid?: number; title: string; description: string | null | undefined },
  input: Planning,
): Promise<void> {
  const { id, title, description } = created;
  recordEvent(context, type, "created", created);
  recordChange(context, type, id, "open");
  await plan(context, type, id, input, true);
  const before = { id, milestone_id: null, state: "opened" };
  if (input.milestone_id) await history.recordMilestone(context, type, before);
  await todos.mention(context, type, { id }, { after: [title, description] });
}

/**
 * What follows from changing an issuable: labels and assignees, todos for newly mentioned users, and what follows from
 * its new state. Its own columns are changed already, with {@link stateColumns}.
 *
 * @param before the issuable before the change
 */
export async function afterChanging(
  context: Writing,
  type: IssuableType,
  before: issuables.Issuable,
  input: Planning & {
    title: string | undefined;
    description: string | null | undefined;
    state_event: StateEvent | undefined;
  },
): Promise<void> {
  const { id } = before;
  const { title = before.title, description = before.description } = input;
  await plan(context, type, id, input);
  if (input.milestone_id !== undefined) {
    await history.recordMilestone(context, type, before);
  }
  if (input.title !== undefined || input.description !== undefined) {
    const texts = { after: [title, description], before: [before.title, before.description] };
    await todos.mention(context, type, { id }, texts);
  }
  await afterStateChange(context, type, { ...before, title }, input.state_event);
}

/**
 * Records for webhooks what a request has changed of an issuable.
 *
 * @param before what it was, see `snapshotOf`; `undefined` if nobody is told
 */
export async function recordChanges(
  context: Writing,
  type: IssuableType,
  id: number,
  before: Snapshot | undefined,
): Promise<void> {
  if (!before) return;
  const changes = await changesSince(context.db, type, id, before);
  if (Object.keys(changes).length === 0) return;
  const state = changes["state_id"]?.current;
  const action =
    state === undefined ? "update" : state === STATE_IDS["closed"] ? "close" : "reopen";
  recordChange(context, type, id, action, changes);
}

/** Makes a change of an issuable, and records for webhooks what it has changed: see {@link recordChanges}. */
export async function changeHeard<T>(
  context: Writing,
  type: IssuableType,
  id: number,
  change: () => Promise<T>,
): Promise<T> {
  const isHeard = await areHeard(context, type);
  const before = isHeard ? await snapshotOf(context.db, type, id) : undefined;
  const result = await change();
  await recordChanges(context, type, id, before);
  return result;
}

type StateEvent = "close" | "reopen";

/** Whether an issuable is in the state for being closed or reopened. */
function changesState(
  { state }: Pick<issuables.Issuable, "state">,
  event: StateEvent | undefined,
): event is StateEvent {
  return event !== undefined && state === (event === "close" ? "opened" : "closed");
}

/** The columns of an issuable that closing or reopening it changes; none if it is not in the state for that. */
export function stateColumns(
  { caller, now }: Pick<Writing, "caller" | "now">,
  issuable: Pick<issuables.Issuable, "state">,
  event: StateEvent | undefined,
): { state?: string; closed_at?: number | null; closed_by_id?: number | null } {
  if (!changesState(issuable, event)) return {};
  return event === "close"
    ? { state: "closed", closed_at: now, closed_by_id: caller.id }
    : { state: "opened", closed_at: null, closed_by_id: null };
}

/**
 * Closes or reopens an issuable, unless it is not in the state for that.
 *
 * @param cause what does it, if it is not the caller directly
 */
export async function setState(
  context: Writing,
  type: IssuableType,
  issuable: issuables.Issuable,
  event: StateEvent | undefined,
  cause?: history.Cause,
): Promise<void> {
  if (!changesState(issuable, event)) return;
  const { db, now } = context;
  sendUpdate(db, type.table, issuable.id, stateColumns(context, issuable, event), now);
  recordChange(context, type, issuable.id, event, stateChanges(issuable.state, event, now));
  await afterStateChange(context, type, issuable, event, cause);
}

/**
 * Records that a merge request was merged: its state, event and history; the caller's todos about it are done.
 *
 * @param columns what else is stored of the merge
 */
export async function merge(
  context: Writing,
  request: Pick<issuables.Issuable, "id" | "iid" | "title">,
  columns: Readonly<Record<string, Value | undefined>>,
): Promise<void> {
  const { db, caller, now } = context;
  const merged = { state: "merged", merged_at: now, merged_by_id: caller.id, merge_error: null };
  await updateRow(db, MERGE_REQUEST.table, request.id, { ...merged, ...columns }, now);
  recordEvent(context, MERGE_REQUEST, "merged", request);
  recordChange(context, MERGE_REQUEST, request.id, "merge", {
    state_id: { previous: STATE_IDS["opened"], current: STATE_IDS["merged"] },
  });
  history.recordState(context, MERGE_REQUEST, request.id, "merged");
  todos.resolve(db, MERGE_REQUEST, request.id, caller.id, now);
  await queueEnd(db, request.id, caller.id, now);
}

/**
 * What follows from a new state of an issuable, whose columns are changed already: its place on boards, its event, its
 * history and its environments. Nothing if it was not in the state for that.
 *
 * @param issuable before the change
 */
export async function afterStateChange(
  context: Writing,
  type: IssuableType,
  issuable: issuables.Issuable,
  event: StateEvent | undefined,
  cause?: history.Cause,
): Promise<void> {
  if (!changesState(issuable, event)) return;
  const { db, caller, now } = context;
  const state = event === "close" ? "closed" : "reopened";
  type.place?.(db, [issuable.id]);
  recordEvent(context, type, state, issuable);
  history.recordState(context, type, issuable.id, state, cause);
  if (event !== "close") return;
  todos.resolve(db, type, issuable.id, caller.id, now);
  if (type === MERGE_REQUEST) await queueEnd(db, issuable.id, caller.id, now);
}

/**
 * Deletes an issuable with its notes and events, as owners may.
 *
 * @throws ApiError 403, or 412 if it was changed meanwhile
 */
export async function remove(
  context: Writing & Pick<Context, "requireUnmodified">,
  type: IssuableType,
  { id, updated_at }: issuables.Issuable,
): Promise<void> {
  if (!mayDelete(context.source)) throw forbidden();
  context.requireUnmodified(updated_at);
  await events.forget(context.db, { type: type.prefix, id });
  await issuables.remove(context.db, type, id);
}
