import { randomBytes } from "node:crypto";
import { ApiError } from "../../core/errors.ts";
import type { Field } from "../../core/field.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { isoInstant } from "../../core/time.ts";
import type { Condition } from "../../store/conditions.ts";

/** The attributes of deleting a project or a group. */
export const deletionInput = {
  permanently_remove: param.optional(param.boolean()),
  full_path: param.unlessBlank(param.anyText({ max: 4096 })),
};

/** What is deleted: a project or a group. */
interface Deleted {
  readonly full_path: string;
  readonly marked_for_deletion_at: number | null;
}

/**
 * Whether to mark a project or group that is to be deleted, instead of deleting it.
 *
 * @param isDelayed whether the application's settings ask for it
 * @throws ApiError 400 with GitLab's messages
 */
export function isToMark(
  what: "Project" | "Group",
  { full_path, marked_for_deletion_at }: Deleted,
  { permanently_remove, full_path: sent }: param.Input<typeof deletionInput>,
  isDelayed: boolean,
): boolean {
  const isMarked = marked_for_deletion_at !== null;
  if (!permanently_remove) {
    if (isMarked) throw impossible(`${what} has been already marked for deletion`);
    return isDelayed;
  }
  if (isDelayed && !isMarked) throw impossible(`${what} must be marked for deletion first.`);
  if (sent !== full_path && (isMarked || sent !== undefined)) {
    const name = what === "Project" ? "project" : "subgroup";
    throw impossible(
      `\`full_path\` is incorrect. You must enter the complete path for the ${name}.`,
    );
  }
  return false;
}

/** 400 for a change of what is marked, or is not. */
export const impossible = (message: string) => new ApiError(400, { message });

/** What the name and the path of a marked project or group end with, so that others can have them. */
export const suffixOf = (id: number): string => `-deletion_scheduled-${id}`;

/** A name or path as it was before it was marked. */
export const withoutSuffix = (text: string, id: number): string =>
  text.endsWith(suffixOf(id)) ? text.slice(0, -suffixOf(id).length) : text;

/** A name or path that is free, for one that others have taken meanwhile. */
export const madeFree = (text: string): string => `${text}-${randomBytes(3).toString("hex")}`;

/** The condition that a row was marked on a day, `YYYY-MM-DD`; `undefined` without one. */
export const markedOn = (alias: string, date: string | undefined): Condition | undefined => {
  if (date === undefined) return undefined;
  const start = Date.parse(date);
  const column = `${alias}.marked_for_deletion_at`;
  return { sql: `${column} >= ? and ${column} < ?`, values: [start, start + 86_400_000] };
};

/** A query for the ids of namespaces that are marked or archived, or in a group that is: see `isFrozen`. */
export const FROZEN = `select distinct namespace_id as id from namespace_ancestors
  where ancestor_id in (select id from namespaces where marked_for_deletion_at is not null
    union all select id from namespaces where archived = 1)`;

/** The day of an instant, such as that of the mark. */
export const dayOf = (column: string): Field =>
  field.derived([column], "date", ([at]) =>
    at === null || at === undefined ? null : isoInstant(at as number).slice(0, 10),
  );
