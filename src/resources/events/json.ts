import * as field from "../../core/field.ts";
import type { Value } from "../../store/port.ts";
import { userFields, userSummaryFields } from "../users/json.ts";

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
      when nt.snippet_id is not null then 'Snippet' else 'Commit' end`,
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

/** An event, as a row of the tables in list.ts. */
export const eventFields = {
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
