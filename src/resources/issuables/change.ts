import { forbidden } from "../../core/errors.ts";
import { follow } from "../../core/followers.ts";
import type { Context } from "../../core/resource.ts";
import type { Awaitable, Value } from "../../store/port.ts";
import { sendUpdate } from "../../store/update.ts";
import * as events from "../events/record.ts";
import { leaveTrain } from "../train-state/cars.ts";
import { mayDelete } from "./abilities.ts";
import type { Cause, Change } from "./changed.ts";
import { FOLLOWERS } from "./followers.ts";
import * as issuables from "./queries.ts";
import type { Difference, IssuableType, Writing } from "./type.ts";

/** What is to become of an issuable; what is `undefined` stays. */
export interface Wanted {
  /** The columns of its row. An `updated_at` takes the place of now. */
  readonly columns?: Readonly<Record<string, Value | undefined>>;
  /** The ids of its labels, given those it has. */
  readonly labels?:
    | ((before: readonly { id: number; name: string }[]) => Awaitable<readonly number[]>)
    | undefined;
  /** The ids of users, of whom those who may not read it are left out. */
  readonly assignees?: readonly number[] | undefined;
  readonly reviewers?: readonly number[] | undefined;
}

/**
 * Changes an issuable, and does what follows from it: see {@link FOLLOWERS}. The only way to do so.
 *
 * @param before as `find` has read it in this transaction
 */
export async function change(
  writing: Writing,
  type: IssuableType,
  before: issuables.Issuable,
  wanted: Wanted,
  cause: Cause = {},
): Promise<void> {
  const { updated_at: at, ...columns } = wanted.columns ?? {};
  sendUpdate(writing.db, type.table, before.id, columns, (at ?? writing.now) as number);
  const given = Object.entries(columns).filter(([, value]) => value !== undefined);
  const issuable: issuables.Issuable = { ...before, ...Object.fromEntries(given) };
  const links = await link(writing, type, before.id, wanted, false);
  const differences = { ...differencesBetween(before, issuable), ...links };
  await followed({ writing, type, issuable, differences, cause });
}

/** Does what follows from the creation of an issuable, which was inserted, and gives it its labels and people. */
export async function created(
  writing: Writing,
  type: IssuableType,
  issuable: Omit<Change["issuable"], "state"> & {
    readonly milestone_id?: number | null | undefined;
    readonly weight?: Value | undefined;
    readonly iteration_id?: number | undefined;
  },
  wanted: Omit<Wanted, "columns">,
  cause: Cause = {},
): Promise<void> {
  const made = { ...issuable, state: "opened" };
  const links = await link(writing, type, made.id, wanted, true);
  await followed({
    writing,
    type,
    issuable: made,
    differences: { ...differencesBetween({}, made), ...links },
    cause,
  });
}

/** Does what follows from something that happens to an issuable without a change of what is stored of itself. */
export function happened(
  writing: Writing,
  type: IssuableType,
  issuable: Change["issuable"],
  cause: Cause,
): Promise<void> {
  return followed({ writing, type, issuable, differences: {}, cause });
}

function followed(change: Change): Promise<void> {
  const { type, differences, cause } = change;
  const happens = (name: string) => (differences[name] ?? cause[name as keyof Cause]) !== undefined;
  return follow(FOLLOWERS[type.path === "epics" ? "epic" : type.prefix], change, happens);
}

/** What is different between two rows: in the columns that the second one has. */
function differencesBetween(before: object, after: object): Record<string, Difference> {
  const previous = new Map<string, Value>(Object.entries(before));
  const differing = Object.entries(after).flatMap(([name, current = null]) => {
    const was = previous.get(name) ?? null;
    return was === current ? [] : [[name, { previous: was, current }] as const];
  });
  return Object.fromEntries(differing);
}

const ascending = (ids: readonly number[]) => [...new Set(ids)].sort((one, other) => one - other);
const isSame = ({ previous, current }: Difference) =>
  JSON.stringify(previous) === JSON.stringify(current);

/** Gives an issuable other labels and people. @returns what is different */
async function link(
  { db, viewer, now }: Writing,
  type: IssuableType,
  id: number,
  wanted: Omit<Wanted, "columns">,
  isNew: boolean,
): Promise<Record<string, Difference>> {
  const differences: Record<string, Difference> = {};
  if (wanted.labels) {
    const had = isNew ? [] : await issuables.labelsOf(db, type, id);
    const current = ascending(await wanted.labels(had));
    const labels = { previous: ascending(had.map((label) => label.id)), current };
    if (!isSame(labels)) {
      await issuables.replaceLabels(db, type, id, current);
      differences["labels"] = labels;
    }
  }
  for (const role of ["assignees", "reviewers"] as const) {
    const ids = wanted[role]?.filter((userId) => userId > 0);
    if (!ids || (isNew && ids.length === 0)) continue;
    const previous = isNew ? [] : await issuables.peopleOf(db, type, role, id);
    const current = await issuables.readers(db, type, { id }, { ids }, viewer.today);
    const people = { previous, current };
    if (isSame(people)) continue;
    await issuables.replacePeople(db, type, role, id, people, now);
    differences[role] = people;
  }
  return differences;
}

/** The columns of an issuable that closing or reopening it changes; none if it is not in the state for that. */
export function stateColumns(
  { caller, now }: Pick<Writing, "caller" | "now">,
  { state }: Pick<issuables.Issuable, "state">,
  event: "close" | "reopen" | undefined,
): { state?: string; closed_at?: number | null; closed_by_id?: number | null } {
  if (event === "close" && state === "opened") {
    return { state: "closed", closed_at: now, closed_by_id: caller.id };
  }
  if (event === "reopen" && state === "closed") {
    return { state: "opened", closed_at: null, closed_by_id: null };
  }
  return {};
}

/** The columns of a merge request that merging it changes. */
export const mergeColumns = ({ caller, now }: Pick<Writing, "caller" | "now">) => ({
  state: "merged",
  merged_at: now,
  merged_by_id: caller.id,
  merge_error: null,
});

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
  if (type.prefix === "merge_request") await leaveTrain(context.db, id, context.now);
  await issuables.remove(context.db, type, id);
}
