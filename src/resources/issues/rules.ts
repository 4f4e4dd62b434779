import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import { requireRole, type Source } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { forbidden, invalid, notFound, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { Context } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";
import * as todos from "../todos/queries.ts";
import * as issues from "./queries.ts";

/** The filters of every list of issues or merge requests. */
export const listInput = {
  iids: param.optional(param.arrayOf(param.integer(), { max: 500 })),
  labels: param.optional(param.commaSeparated()),
  milestone: param.optional(param.anyText()),
  search: param.optional(param.anyText()),
  author_id: param.optional(param.integer()),
  author_username: param.optional(param.anyText()),
  assignee_id: param.optional(param.anyText()),
  assignee_username: param.optional(param.arrayOf(param.anyText(), { max: 20 })),
  my_reaction_emoji: param.optional(param.anyText()),
  created_after: param.optional(param.anyText()),
  created_before: param.optional(param.anyText()),
  updated_after: param.optional(param.anyText()),
  updated_before: param.optional(param.anyText()),
  scope: param.optional(
    param.choice(["created_by_me", "assigned_to_me", "all", "created-by-me", "assigned-to-me"]),
  ),
  order_by: param.optional(param.choice(["created_at", "updated_at"])),
  sort: param.optional(param.choice(["asc", "desc"])),
};

/** `None` and `Any` are keywords, ignoring case. */
function reactionOf(sent: string | undefined): issues.Filter["reaction"] {
  const word = sent?.toLowerCase();
  if (word === "none" || word === "any") return word;
  return sent ? { name: sent } : undefined;
}

const NONE = ["none", "no label", "no milestone", "no+label", "no+milestone"];

function noneOrAny(word: string | undefined): "none" | "any" | undefined {
  const lower = word?.toLowerCase() ?? "";
  return NONE.includes(lower) ? "none" : lower === "any" ? "any" : undefined;
}

function assigneeOf(value: string | undefined): number | "none" | "any" | undefined {
  const special = value === "0" ? "none" : noneOrAny(value);
  if (special || !value) return special;
  if (!/^\d{1,15}$/.test(value)) throw invalid({ assignee_id: ["is invalid"] });
  return Number(value);
}

/**
 * Parses a date, or an ISO 8601 date and time, which is in UTC if it has no offset.
 *
 * @throws ApiError 400
 */
export function instantOf(name: string, value: string | undefined): number | undefined {
  if (!value) return undefined;
  const text = value.trim().replace(/^(\d{4}-\d{2}-\d{2}) (\d)/, "$1T$2");
  const zoned = /^\d{4}-\d{2}-\d{2}T[\d:.]+$/.test(text) ? `${text}Z` : text;
  const at = /^\d{4}-\d{2}-\d{2}(T|$)/.test(text) ? Date.parse(zoned) : Number.NaN;
  if (Number.isNaN(at)) throw invalid({ [name]: ["is invalid"] });
  return at;
}

/**
 * The filter that a list's input describes.
 *
 * @throws ApiError 400, or 401 if an anonymous caller asks for their own
 */
export function filterOf(
  input: param.Input<typeof listInput>,
  caller: Caller | undefined,
  defaultScope: "created_by_me" | "all",
): issues.Filter {
  const scope = (input.scope ?? defaultScope).replaceAll("-", "_");
  if (scope !== "all" && !caller) throw unauthorized();
  const special = noneOrAny(input.labels?.length === 1 ? input.labels[0] : undefined);
  const { milestone } = input;
  return {
    iids: input.iids,
    labels: special ?? input.labels,
    milestone: noneOrAny(milestone) ?? (milestone ? { title: milestone } : undefined),
    search: input.search,
    authorId: scope === "created_by_me" ? caller?.id : input.author_id,
    authorUsername: input.author_username,
    assigneeId: scope === "assigned_to_me" ? caller?.id : assigneeOf(input.assignee_id),
    assigneeUsernames: input.assignee_username,
    reaction: reactionOf(input.my_reaction_emoji),
    createdAfter: instantOf("created_after", input.created_after),
    createdBefore: instantOf("created_before", input.created_before),
    updatedAfter: instantOf("updated_after", input.updated_after),
    updatedBefore: instantOf("updated_before", input.updated_before),
    orderBy: input.order_by ?? "created_at",
    sort: input.sort ?? "desc",
  };
}

/** The project a request is about, its caller and its time. */
export type Asking = Pick<Context, "source" | "caller" | "viewer" | "now">;

/**
 * Finds an issue or merge request by its number in the path's project.
 *
 * @throws ApiError 404 if there is none or the caller may not read it
 */
export async function findTarget(
  { db, source, viewer }: { db: Reader; source: Source; viewer: Viewer },
  kind: issues.Kind,
  iid: number,
  name?: string,
): Promise<issues.Target> {
  const found = await issues.find(db, kind, source.id, iid, viewer);
  if (!found?.visible) throw notFound(name);
  return found;
}

/** Whether a locked discussion excludes the caller. Project members may continue it, whatever their role. */
export function isLockedOut(source: Source, target: Pick<issues.Target, "discussion_locked">) {
  return target.discussion_locked === 1 && source.level === 0;
}

/**
 * Checks that the caller may change an issue or merge request: as its author, as an assignee, or by role.
 *
 * @throws ApiError 403
 */
export async function requireChanger(
  { db, source, caller }: { db: Reader; source: Source; caller: Caller | undefined },
  kind: issues.Kind,
  found: issues.Target,
  role: "reporter" | "developer",
): Promise<void> {
  if (found.visible && caller) {
    if (found.author_id === caller.id) return;
    if (await issues.isAssigned(db, kind, found.id, caller.id)) return;
    requireRole(source, role);
    return;
  }
  throw forbidden();
}

/** Planning attributes of issues and merge requests. They are ignored if the caller is below reporter. */
export const planningInput = {
  labels: param.clearable(param.commaSeparated()),
  add_labels: param.optional(param.commaSeparated()),
  remove_labels: param.optional(param.commaSeparated()),
  milestone_id: param.clearable(param.integer()),
  assignee_id: param.clearable(param.integer()),
  assignee_ids: param.clearable(param.arrayOf(param.integer(), { max: 200 })),
  discussion_locked: param.optional(param.boolean()),
};

type Planning = param.Input<typeof planningInput>;

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
  if (source.level < ROLES.reporter) return {};
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

/** Sets labels and assignees, if the caller is reporter or above. New assignees get a todo. */
export async function plan(
  context: Asking & { db: Database },
  kind: issues.Kind,
  id: number,
  input: Planning,
): Promise<void> {
  const { db, source, caller, viewer, now } = context;
  if (source.level < ROLES.reporter) return;
  await planLabels(context, kind, id, input);
  const wanted = input.assignee_ids === undefined ? input.assignee_id : input.assignee_ids;
  if (wanted === undefined) return;
  const userIds = [...new Set([wanted ?? []].flat())].filter((userId) => userId > 0);
  const before = await issues.assigneesOf(db, kind, id);
  const readers = await issues.readers(db, kind, id, { ids: userIds }, viewer.today);
  await issues.replaceAssignees(db, kind, id, readers);
  const added = readers.filter((userId) => !before.includes(userId));
  const about = { projectId: source.id, id, noteId: null };
  await todos.add(db, kind, about, added, "assigned", caller?.id ?? 0, now);
}

async function planLabels(
  { db, source, now }: Asking & { db: Database },
  kind: issues.Kind,
  id: number,
  { labels: named, add_labels: added = [], remove_labels: removed = [] }: Planning,
): Promise<void> {
  if (named !== undefined) {
    const labelIds = await labelsNamed(db, source, [...new Set([...(named ?? []), ...added])], now);
    await issues.replaceLabels(db, kind, id, labelIds);
  } else if (added.length > 0 || removed.length > 0) {
    const kept = (await issues.labelsOf(db, kind, id)).filter(
      ({ name }) => !removed.includes(name),
    );
    const labelIds = await labelsNamed(db, source, added, now);
    const all = new Set([...kept.map((label) => label.id), ...labelIds]);
    await issues.replaceLabels(db, kind, id, [...all]);
  }
}

/** The ids of the labels with these names. Missing labels are created in the project. */
async function labelsNamed(
  db: Database,
  source: Source,
  names: readonly string[],
  now: number,
): Promise<number[]> {
  const known = await labels.findNamed(db, source, names);
  for (const name of names) {
    const problems = labels.nameProblems(name);
    if (problems) throw invalid({ labels: problems });
  }
  const ids: number[] = [];
  // Sorted, so that transactions creating the same labels cannot deadlock.
  for (const name of [...names].sort()) {
    ids.push(known.get(name) ?? (await labels.findOrInsert(db, source, name, now)));
  }
  return ids;
}
