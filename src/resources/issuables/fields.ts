import * as field from "../../core/field.ts";
import { labelDetails } from "../labels/json.ts";
import { anyMilestoneFields } from "../milestones/json.ts";
import { userFields } from "../users/json.ts";
import { fieldsOf } from "./attributes.ts";
import { humanDuration } from "./duration.ts";
import { taskCompletionStatus } from "./tasks.ts";
import type { IssuableType } from "./type.ts";

/** Labels with what lists show of them if they are asked for details. */
export const detailedLabels = field.embedded("labels", "array of Label", "[]", {
  items: labelDetails.fields,
});

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

/**
 * How an issuable is referred to from its project, from the group of the request's path or from anywhere. `readOwn` puts
 * the group's path into the first column.
 *
 * @param sigil as in texts, such as `#`
 */
const references = (alias: string, sigil: string): field.Field => ({
  ...field.derived(
    ["null as refers_from", `${alias}.iid`, "p.full_path"],
    "object",
    ([from, iid, path]) => {
      const short = `${sigil}${iid}`;
      const full = `${path}${short}`;
      if (from === null) return { short, relative: short, full };
      const below = `${from}/`;
      const isOfIt = String(path).startsWith(below) && !String(path).includes("/", below.length);
      return { short, relative: isOfIt ? full.slice(below.length) : full, full };
    },
  ),
  fields: Object.fromEntries(
    ["short", "relative", "full"].map((name) => [name, field.text("p.full_path")]),
  ),
});

/** What a type is called in the SQL, the addresses and the references of its fields. */
type Named = Pick<IssuableType, "prefix" | "alias" | "path" | "sigil">;

/** Fields of every type of issuable, in every answer. */
export const plainFields = ({ alias, path }: Named) => ({
  id: field.integer(`${alias}.id`),
  iid: field.integer(`${alias}.iid`),
  project_id: field.integer(`${alias}.project_id`),
  title: field.text(`${alias}.title`),
  description: field.text(`${alias}.description`),
  state: field.text(`${alias}.state`),
  created_at: field.instant(`${alias}.created_at`),
  updated_at: field.instant(`${alias}.updated_at`),
  web_url: field.url(
    ["p.full_path", `${alias}.iid`],
    (project, iid) => `/${project}/-/${path}/${iid}`,
  ),
});

/** Fields of every type of issuable. `embed` (embed.ts) fills in those that are embedded. */
export const issuableFields = (type: Named) => ({
  ...plainFields(type),
  closed_at: field.instant(`${type.alias}.closed_at`),
  closed_by: field.nested(userFields("cb")),
  labels: field.embedded("labels", "array of string", "[]"),
  milestone: field.nested(anyMilestoneFields),
  assignees: field.embedded("assignees", "array of User", "[]", { items: userFields("u") }),
  author: field.nested(userFields("u")),
  assignee: field.embedded("assignee", "User", "null", { fields: userFields("u") }),
  user_notes_count: field.embedded("user_notes_count", "integer", "null"),
  upvotes: field.embedded("upvotes", "integer", "null"),
  downvotes: field.embedded("downvotes", "integer", "null"),
  ...fieldsOf(type.prefix, type.alias),
  time_stats: field.nested(timeStats(type.alias)),
  references: references(type.alias, type.sigil),
  task_completion_status: taskCompletionStatus(`${type.alias}.description`),
  imported: field.constant(false),
  imported_from: field.constant("none"),
});
