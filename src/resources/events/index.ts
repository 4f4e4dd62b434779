import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import { isHidden, requireUserNamed } from "../users/rules.ts";
import { filterOf, filters } from "./filters.ts";
import { eventFields } from "./json.ts";
import * as events from "./list.ts";
import { migrations } from "./table.ts";

const event = presenter(eventFields);

/** Events of a project also have `data`, which is always null. */
const projectEvent = presenter({ ...eventFields, data: field.constant(null) });

const { list } = routes();
const project = routes({ source: "project" });

/** Activity of the caller, of users and of projects. */
export const eventResource: Resource = {
  name: "Events",
  migrations,
  routes: [
    list("/events", {
      summary: "List the caller's events or, with `scope=all`, all events of the caller's projects",
      scopes: USER_SCOPES,
      input: { ...filters, scope: param.optional(param.anyText()) },
      presenter: event,
      handle: ({ db, presenter, page, viewer, caller, input }) =>
        events.list(
          db,
          presenter,
          page,
          viewer,
          input.scope === "all" ? "callers-projects" : { authorId: caller.id },
          filterOf(input),
        ),
    }),
    list("/users/:user_id/events", {
      summary: "List the events of a user, by id or username, that the caller may see",
      scopes: USER_SCOPES,
      input: { user_id: param.anyText(), ...filters },
      presenter: event,
      handle: async ({ db, presenter, page, viewer, input }) => {
        const found = await requireUserNamed(db, input.user_id);
        if (isHidden(found, viewer)) return { rows: [], hasNext: false, total: 0 };
        return events.list(db, presenter, page, viewer, { authorId: found.id }, filterOf(input));
      },
    }),
    project.list("/events", {
      summary: "List the events of a project that the caller may see",
      access: "anyone",
      input: filters,
      presenter: projectEvent,
      handle: ({ db, source, presenter, page, viewer, input }) =>
        events.list(db, presenter, page, viewer, { projectId: source.id }, filterOf(input)),
    }),
  ],
};
