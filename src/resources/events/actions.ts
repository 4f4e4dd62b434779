import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { Json, routes } from "../../core/resource.ts";
import { isHidden, requireUser } from "../users/rules.ts";
import { contributionsOf } from "./contributions.ts";
import { filterOf, filters } from "./filters.ts";
import { eventFields } from "./json.ts";
import * as events from "./list.ts";

// What GitLab has on pages and not in REST: pages perform these routes, which have no address. Of events that are nobody's
// secret, they tell visitors too.

/** An event with the project that it was in. */
const placed = presenter({ ...eventFields, project_path: field.text("p.full_path") });

const user = { user_id: param.integer() };

/** The events of a group's projects, and of those below it. */
export const GROUP_ACTIVITY = routes({ source: "group" }).list("/activity", {
  summary: "List the events of the projects of a group that the caller may see",
  access: "anyone",
  input: filters,
  presenter: placed,
  handle: ({ db, source, presenter, page, viewer, input }) =>
    events.list(db, presenter, page, viewer, { groupId: source.id }, filterOf(input)),
});

/** The events of somebody. */
export const USER_ACTIVITY = routes().list("/users/:user_id/activity", {
  summary: "List the events of a user that the caller may see",
  access: "anyone",
  input: { ...user, ...filters },
  presenter: placed,
  handle: async ({ db, presenter, page, viewer, input }) => {
    const found = await requireUser(db, input.user_id);
    if (isHidden(found, viewer)) return { rows: [], hasNext: false, total: 0 };
    return events.list(db, presenter, page, viewer, { authorId: found.id }, filterOf(input));
  },
});

/** Everybody's events in the projects of the caller. */
export const OWN_ACTIVITY = routes().list("/activity", {
  summary: "List the events of the caller's projects",
  input: filters,
  presenter: placed,
  handle: ({ db, presenter, page, viewer, input }) =>
    events.list(db, presenter, page, viewer, "callers-projects", filterOf(input)),
});

/** How much somebody did on each day of the last year. */
export const CONTRIBUTIONS = routes().get("/users/:user_id/contributions", {
  summary: "Count the events of a user by day",
  access: "anyone",
  input: user,
  handle: async ({ db, viewer, input, now }) => {
    const found = await requireUser(db, input.user_id);
    return new Json(isHidden(found, viewer) ? null : await contributionsOf(db, viewer, found, now));
  },
});
