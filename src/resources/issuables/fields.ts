import * as field from "../../core/field.ts";
import { anyMilestoneFields } from "../milestones/json.ts";
import { userFields } from "../users/json.ts";

/** Fields of every type of issuable. `embed` (embed.ts) fills in those that are embedded. */
export const issuableFields = {
  labels: field.embedded("labels", "array of string", "[]"),
  assignees: field.embedded("assignees", "array of User", "[]", { items: userFields("u") }),
  assignee: field.embedded("assignee", "User", "null", { fields: userFields("u") }),
  user_notes_count: field.embedded("user_notes_count", "integer", "null"),
  upvotes: field.embedded("upvotes", "integer", "null"),
  downvotes: field.embedded("downvotes", "integer", "null"),
  author: field.nested(userFields("u")),
  closed_by: field.nested(userFields("cb")),
  milestone: field.nested(anyMilestoneFields),
  // Time tracking is not supported.
  time_stats: field.constant({
    time_estimate: 0,
    total_time_spent: 0,
    human_time_estimate: null,
    human_total_time_spent: null,
  }),
};

/** Whether the caller is subscribed: only in answers with a single issuable, as in GitLab. */
export const subscribed = field.embedded("subscribed", "boolean", "null");
