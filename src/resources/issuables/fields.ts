import * as field from "../../core/field.ts";
import { anyMilestoneFields } from "../milestones/json.ts";
import { userFields } from "../users/json.ts";
import { humanDuration } from "./duration.ts";

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
};

/** In words; `null` for no time. */
const human = (column: string) =>
  field.derived([`nullif(${column}, 0)`], "string", ([seconds]) => humanDuration(Number(seconds)));

/** The estimated and the spent time of an issuable, in seconds and in words. */
export const timeStats = (alias: string) => ({
  time_estimate: field.integer(`${alias}.time_estimate`),
  total_time_spent: field.integer(`${alias}.total_time_spent`),
  human_time_estimate: human(`${alias}.time_estimate`),
  human_total_time_spent: human(`${alias}.total_time_spent`),
});

/** Whether the caller is subscribed: only in answers with a single issuable, as in GitLab. */
export const subscribed = field.embedded("subscribed", "boolean", "null");
