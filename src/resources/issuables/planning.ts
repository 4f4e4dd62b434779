import type { Source } from "../../core/access/source.ts";
import * as param from "../../core/input.ts";
import { queueNotice } from "../../jobs/notices.ts";
import type { Reader } from "../../store/port.ts";
import { labelsNamed } from "../labels/rules.ts";
import * as milestones from "../milestones/queries.ts";
import { mayPlan } from "./abilities.ts";
import * as history from "./history.ts";
import * as issuables from "./queries.ts";
import * as todos from "./todos.ts";
import type { IssuableType, Writing } from "./type.ts";

/** The planning attributes of issuables. They are ignored if the caller is below reporter. */
export const planningInput = {
  labels: param.clearable(param.commaSeparated()),
  add_labels: param.optional(param.commaSeparated()),
  remove_labels: param.optional(param.commaSeparated()),
  milestone_id: param.clearable(param.integer()),
  assignee_id: param.clearable(param.integer()),
  assignee_ids: param.clearable(param.arrayOf(param.integer(), { max: 200 })),
  discussion_locked: param.optional(param.boolean()),
};

/** The values of {@link planningInput}. */
export type Planning = param.Input<typeof planningInput>;

/** See {@link plannedColumns}. */
export interface PlannedColumns {
  milestone_id?: number | null;
  discussion_locked?: number;
}

/** The planning columns to set; none if the caller is below reporter. */
export async function plannedColumns(
  { db, source }: { db: Reader; source: Source },
  input: Planning,
): Promise<PlannedColumns> {
  if (!mayPlan(source)) return {};
  const { milestone_id, discussion_locked } = input;
  return {
    ...(milestone_id !== undefined && {
      milestone_id: milestone_id
        ? ((await milestones.findFor(db, source, { id: milestone_id }))?.id ?? null)
        : null,
    }),
    ...(discussion_locked !== undefined && { discussion_locked: Number(discussion_locked) }),
  };
}

/** Whether an input asks for labels or assignees. */
export function isPlanned(input: Planning): boolean {
  const { labels, add_labels, assignee_id, assignee_ids } = input;
  return [labels, add_labels, assignee_id, assignee_ids].some((given) => given !== undefined);
}

/**
 * Sets labels and assignees, if the caller is reporter or above. New assignees get a todo.
 *
 * @param isNew whether the issuable was only just created: the mail about that goes to its assignees, too
 */
export async function plan(
  context: Writing,
  type: IssuableType,
  id: number,
  input: Planning,
  isNew = false,
): Promise<void> {
  const { db, source, caller, viewer, now } = context;
  if (!mayPlan(source)) return;
  await planLabels(context, type, id, input);
  const wanted = input.assignee_ids === undefined ? input.assignee_id : input.assignee_ids;
  if (wanted === undefined) return;
  const userIds = [...new Set([wanted ?? []].flat())].filter((userId) => userId > 0);
  const before = await issuables.assigneesOf(db, type, id);
  const readers = await issuables.readers(db, type, { id }, { ids: userIds }, viewer.today);
  await issuables.replaceAssignees(db, type, id, readers);
  const added = readers.filter((userId) => !before.includes(userId));
  const about = { projectId: source.id, id };
  await todos.add(db, type, about, added, "assigned", caller.id, now);
  const changed = [...added, ...before.filter((userId) => !readers.includes(userId))];
  if (isNew || changed.length === 0) return;
  const of =
    type.prefix === "issue"
      ? ({ notice: "issue_reassigned", issue: id } as const)
      : ({ notice: "request_reassigned", request: id } as const);
  await queueNotice(db, { ...of, by: caller.id, at: now, about: changed }, now);
}

async function planLabels(
  context: Writing,
  type: IssuableType,
  id: number,
  { labels: named, add_labels: added = [], remove_labels: removed = [] }: Planning,
): Promise<void> {
  const { db, source, now } = context;
  if (named === undefined && added.length + removed.length === 0) return;
  const before = await issuables.labelsOf(db, type, id);
  const kept = named === undefined ? before.filter(({ name }) => !removed.includes(name)) : [];
  const names = [...new Set([...(named ?? []), ...added])];
  const labelIds = await labelsNamed(db, source, names, now);
  const after = [...new Set([...kept.map((label) => label.id), ...labelIds])];
  const idsBefore = before.map((label) => label.id);
  await changeLabels(context, type, id, idsBefore, after);
}

/** Gives an issuable other labels, and records which came and went. */
export async function changeLabels(
  context: Pick<Writing, "db" | "caller" | "now">,
  type: IssuableType,
  id: number,
  before: readonly number[],
  after: readonly number[],
): Promise<void> {
  await issuables.replaceLabels(context.db, type, id, after);
  await history.recordLabels(context, type, id, before, after);
}
