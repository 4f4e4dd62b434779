import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { dayOf } from "../../core/time.ts";

/** The states of iterations, in the order of GitLab's numbers for them, which begin with 1. */
const STATES = ["upcoming", "current", "closed"] as const;
/** One of them. */
export type IterationState = (typeof STATES)[number];

/** In which state an iteration is today. All are days, `YYYY-MM-DD`. */
export function stateOf(start: string, due: string, today: string): IterationState {
  if (start > today) return "upcoming";
  return due < today ? "closed" : "current";
}

/** The columns from which {@link stateOf} follows. */
export const DAYS = ["it.start_date", "it.due_date"] as const;

/** An iteration; `itn` is its group. */
export const iterationFields = {
  id: field.integer("it.id"),
  iid: field.integer("it.iid"),
  sequence: field.integer("it.sequence"),
  group_id: field.integer("it.namespace_id"),
  title: field.text("it.title"),
  description: field.text("it.description"),
  state: field.derived(
    DAYS,
    "integer",
    ([start, due], { now }) => STATES.indexOf(stateOf(String(start), String(due), dayOf(now))) + 1,
  ),
  created_at: field.instant("it.created_at"),
  updated_at: field.instant("it.updated_at"),
  start_date: field.date("it.start_date"),
  due_date: field.date("it.due_date"),
  web_url: field.url(
    ["itn.full_path", "it.iid"],
    (path, iid) => `/groups/${path}/-/iterations/${iid}`,
  ),
};

/** An iteration of a list. */
export const iteration = presenter(iterationFields);
