import { colorOf } from "../../core/colors.ts";
import { invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { Context } from "../../core/resource.ts";
import type { Database } from "../../store/port.ts";
import { place } from "../hierarchy/changes.ts";
import { maySetTimes } from "../issuables/abilities.ts";
import { created } from "../issuables/change.ts";
import { EPIC } from "../issuables/epic.ts";
import { plannedLinks } from "../issuables/planning.ts";
import { findById } from "../issuables/queries.ts";
import * as issues from "../issues/queries.ts";
import { ensureHome } from "../namespaces/home.ts";
import * as epics from "./queries.ts";

const day = () => param.clearable(param.date());
const flag = () => param.optional(param.boolean());

/** The attributes of epics, besides the title. */
export const attributes = {
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  color: param.optional(param.text()),
  confidential: flag(),
  start_date_is_fixed: flag(),
  start_date_fixed: day(),
  start_date: day(),
  due_date_is_fixed: flag(),
  due_date_fixed: day(),
  due_date: day(),
  end_date: day(),
  labels: param.clearable(param.commaSeparated()),
};
type Given = param.Input<typeof attributes>;

/** The attributes of a new epic. */
export const beginnings = {
  title: param.title(),
  created_at: param.optional(param.looseInstant()),
  ...attributes,
};

/** The details of an epic after a change. @throws ApiError 400 for a colour that is none */
export function detailsAfter(before: epics.Details, input: Given): epics.Details {
  const color = input.color === undefined ? before.color : colorOf(input.color);
  if (color === undefined) throw invalid({ color: ["must be a valid color code"] });
  const dated = (
    fixed: string | null | undefined,
    isFixed: boolean | undefined,
    had: { fixed: string | null; isFixed: number },
  ) => ({
    fixed: fixed === undefined ? had.fixed : fixed,
    // A day that is set is the epic's, unless it is said not to be.
    isFixed: Number(isFixed ?? (fixed === undefined ? had.isFixed : fixed !== null)),
  });
  const { start_date: start, due_date: due = input.end_date } = input;
  const starts = dated(input.start_date_fixed ?? start, input.start_date_is_fixed, {
    fixed: before.start_date_fixed,
    isFixed: before.start_date_is_fixed,
  });
  const ends = dated(input.due_date_fixed ?? due, input.due_date_is_fixed, {
    fixed: before.due_date_fixed,
    isFixed: before.due_date_is_fixed,
  });
  return {
    color,
    start_date_fixed: starts.fixed,
    start_date_is_fixed: starts.isFixed,
    due_date_fixed: ends.fixed,
    due_date_is_fixed: ends.isFixed,
  };
}

/** The days of an epic as issues have them. @throws ApiError 400 if it is due before it starts */
export function daysOf(details: epics.Details) {
  const start_date = details.start_date_is_fixed === 1 ? details.start_date_fixed : null;
  const due_date = details.due_date_is_fixed === 1 ? details.due_date_fixed : null;
  if (start_date && due_date && due_date < start_date) {
    throw invalid({ due_date: ["must be greater than or equal to start date"] });
  }
  return { start_date, due_date };
}

/** Creates an epic in the group of the path. @returns its id */
export async function create(
  context: Context<typeof beginnings, Database, unknown, "user">,
  parentId?: number | null,
): Promise<number> {
  const { db, source, caller, input, now } = context;
  const details = detailsAfter(epics.NO_DETAILS, input);
  const home = { ...source, id: await ensureHome(db, source, now) };
  const { title, description } = input;
  const given = { project_id: home.id, author_id: caller.id, title, description };
  const { id, iid } = await issues.insert(
    db,
    {
      ...given,
      columns: {
        issue_type: "epic",
        confidential: Number(input.confidential ?? false),
        ...daysOf(details),
      },
    },
    (maySetTimes(source) ? input.created_at : undefined) ?? now,
  );
  await epics.replaceDetails(db, id, details);
  const writing = { ...context, source: home };
  const epic = { id, iid, title, description: description ?? null };
  await created(writing, EPIC, epic, plannedLinks(writing, input));
  if (parentId) await place(writing, await findById(db, EPIC, id), { parentId });
  return id;
}
