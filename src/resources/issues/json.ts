import * as field from "../../core/field.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import type { Tier } from "../../core/resource.ts";
import type { Value } from "../../store/port.ts";
import { anyMilestoneFields } from "../milestones/json.ts";
import { userFields } from "../users/json.ts";

/** Fields of both issues and merge requests. Those that are embedded are filled in by `embed` in queries.ts. */
export const embeddedFields = {
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

/** Time tracking is not supported. */
export const timeStats = field.constant({
  time_estimate: 0,
  total_time_spent: 0,
  human_time_estimate: null,
  human_total_time_spent: null,
});

const HIDDEN = "";

/** Shown from the premium tier on, `null` if not set; {@link hideWeight} removes it in the free tier. */
const weight = field.omittedIf((value) => value === HIDDEN, field.integer("i.weight"));

const {
  labels,
  assignees,
  assignee,
  user_notes_count,
  upvotes,
  downvotes,
  author,
  closed_by,
  milestone,
} = embeddedFields;

const fields = {
  id: field.integer("i.id"),
  iid: field.integer("i.iid"),
  project_id: field.integer("i.project_id"),
  title: field.text("i.title"),
  description: field.text("i.description"),
  state: field.text("i.state"),
  created_at: field.instant("i.created_at"),
  updated_at: field.instant("i.updated_at"),
  closed_at: field.instant("i.closed_at"),
  closed_by,
  labels,
  milestone,
  assignees,
  author,
  assignee,
  user_notes_count,
  merge_requests_count: field.constant(0),
  upvotes,
  downvotes,
  due_date: field.date("i.due_date"),
  confidential: field.flag("i.confidential"),
  discussion_locked: field.flag("i.discussion_locked"),
  web_url: field.url(["p.full_path", "i.iid"], (path, iid) => `/${path}/-/issues/${iid}`),
  time_stats: timeStats,
  weight,
};

const link = (suffix: string) =>
  field.url(
    ["i.project_id", "i.iid"],
    (project, iid) => `/api/v4/projects/${project}/issues/${iid}${suffix}`,
  );

/** An issue in lists. */
export const issue = presenter(fields);

/** A single issue. Only this presenter says whether the caller is subscribed. */
export const singleIssue = presenter({
  ...fields,
  _links: field.nested({
    self: link(""),
    notes: link("/notes"),
    award_emoji: link("/award_emoji"),
    project: field.url("i.project_id", (project) => `/api/v4/projects/${project}`),
  }),
  subscribed: field.embedded("subscribed", "boolean", "null"),
});

/** Removes the weight in the free tier. */
export function hideWeight(rows: readonly Value[][], presenter: Presenter, tier: Tier): void {
  if (tier !== "free") return;
  for (const row of rows) row[presenter.at("weight")] = HIDDEN;
}
