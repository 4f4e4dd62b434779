import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import type { Reader, Value } from "../../store/port.ts";
import { userFields, userSummaryFields } from "../users/json.ts";
import * as users from "../users/queries.ts";
import { isHidden } from "../users/rules.ts";
import * as events from "./list.ts";
import { ACTIONS, TARGET_TYPES, type TargetType } from "./record.ts";
import { migrations } from "./table.ts";

/** The `action_name` of an event, in GitLab's words. */
function wording([action, targetType, pushAction]: readonly Value[]): string {
  switch (action) {
    case "merged":
      return "accepted";
    case "commented":
      return "commented on";
    case "expired":
      return "removed due to membership expiration from";
    case "pushed":
      return pushAction === "created"
        ? "pushed new"
        : pushAction === "removed"
          ? "deleted"
          : "pushed";
    case "created":
      return targetType === "Project" ? "created" : "opened";
    case "updated":
    case "reopened":
      return "opened";
    default:
      return String(action);
  }
}

const note = field.nested({
  id: field.integer("nt.id"),
  body: field.text("nt.body"),
  attachment: field.constant(null),
  author: field.nested(userFields("nu")),
  created_at: field.instant("nt.created_at"),
  system: field.flag("nt.system"),
  noteable_id: field.integer("coalesce(nt.issue_id, nt.merge_request_id, nt.snippet_id)"),
  noteable_type: field.text(
    `case when nt.issue_id is not null then 'Issue' when nt.merge_request_id is not null then 'MergeRequest'
      else 'Snippet' end`,
  ),
  noteable_iid: field.integer("coalesce(i.iid, mr.iid)"),
});

const push = field.nested({
  commit_count: field.integer("e.commit_count"),
  action: field.text("e.push_action"),
  ref_type: field.text("e.ref_type"),
  commit_from: field.text("e.commit_from"),
  commit_to: field.text("e.commit_to"),
  ref: field.text("e.ref"),
  commit_title: field.text("e.commit_title"),
});

const fields = {
  id: field.integer("e.id"),
  title: field.constant(null),
  project_id: field.integer("e.project_id"),
  action_name: field.derived(["e.action", "e.target_type", "e.push_action"], "string", wording),
  target_id: field.integer("e.target_id"),
  target_iid: field.integer("e.target_iid"),
  target_type: field.text("e.target_type"),
  target_title: field.text(
    `case e.target_type when 'Issue' then coalesce(i.title, e.target_title)
      when 'MergeRequest' then coalesce(mr.title, e.target_title)
      when 'Milestone' then coalesce(ms.title, e.target_title) else e.target_title end`,
  ),
  author_id: field.integer("e.author_id"),
  created_at: field.instant("e.created_at"),
  author: field.nested(userSummaryFields),
  author_username: field.text("u.username"),
  push_data: field.omittedIfNull(push),
  note: field.omittedIfNull(note),
};

const event = presenter(fields);

/** Events of a project also have `data`, which is always null. */
const projectEvent = presenter({ ...fields, data: field.constant(null) });

const filters = {
  action: param.optional(param.choice(ACTIONS)),
  target_type: param.optional(param.choice(Object.keys(TARGET_TYPES) as TargetType[])),
  before: param.optional(param.date()),
  after: param.optional(param.date()),
  sort: param.optional(param.choice(["asc", "desc"])),
};

function filterOf(input: param.Input<typeof filters>): events.EventFilter {
  const { action, target_type: targetType, before, after, sort = "desc" } = input;
  return { action, targetType, before, after, sort };
}

/** Finds the path's user: by id if it is all digits, otherwise by username. */
async function findUser(db: Reader, idOrName: string): Promise<users.User> {
  const found = /^\d{1,15}$/.test(idOrName)
    ? await users.find(db, Number(idOrName))
    : await users.findByUsername(db, idOrName);
  if (!found) throw notFound("User");
  return found;
}

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
        const found = await findUser(db, input.user_id);
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
