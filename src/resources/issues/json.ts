import * as show from "../../core/present.ts";
import type { Tier } from "../../core/resource.ts";
import type { Value } from "../../store/port.ts";
import { anyMilestoneFields } from "../milestones/json.ts";
import { userFields } from "../users/json.ts";

/** Fields of both issues and merge requests. Those that are embedded are filled in by `embed` in queries.ts. */
export const embeddedFields = {
  labels: show.embedded("labels", "array of string", "[]"),
  assignees: show.embedded("assignees", "array of User", "[]", { items: userFields("u") }),
  assignee: show.embedded("assignee", "User", "null", { fields: userFields("u") }),
  user_notes_count: show.embedded("user_notes_count", "integer", "null"),
  upvotes: show.embedded("upvotes", "integer", "null"),
  downvotes: show.embedded("downvotes", "integer", "null"),
  author: show.nested(userFields("u")),
  closed_by: show.nested(userFields("cb")),
  milestone: show.nested(anyMilestoneFields),
};

/** Time tracking is not supported. */
export const timeStats = show.constant({
  time_estimate: 0,
  total_time_spent: 0,
  human_time_estimate: null,
  human_total_time_spent: null,
});

const ABSENT = "";

/** Shown from the premium tier on, `null` if not set; {@link hideWeight} removes it in the free tier. */
const weight: show.Field = {
  columns: ["i.weight"],
  type: "integer",
  omitted: true,
  bind:
    ([at]) =>
    (row) => {
      const value = row[at as number] as Value;
      // A field whose text is exactly `null` is left out; with a trailing blank it is shown and still the same JSON.
      return value === ABSENT ? "null" : value === null ? "null " : String(value);
    },
};

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
  id: show.integer("i.id"),
  iid: show.integer("i.iid"),
  project_id: show.integer("i.project_id"),
  title: show.text("i.title"),
  description: show.text("i.description"),
  state: show.text("i.state"),
  created_at: show.instant("i.created_at"),
  updated_at: show.instant("i.updated_at"),
  closed_at: show.instant("i.closed_at"),
  closed_by,
  labels,
  milestone,
  assignees,
  author,
  assignee,
  user_notes_count,
  merge_requests_count: show.constant(0),
  upvotes,
  downvotes,
  due_date: show.date("i.due_date"),
  confidential: show.flag("i.confidential"),
  discussion_locked: show.flag("i.discussion_locked"),
  web_url: show.url(["p.full_path", "i.iid"], (path, iid) => `/${path}/-/issues/${iid}`),
  time_stats: timeStats,
  weight,
};

const link = (suffix: string) =>
  show.url(
    ["i.project_id", "i.iid"],
    (project, iid) => `/api/v4/projects/${project}/issues/${iid}${suffix}`,
  );

/** An issue in lists. */
export const issue = show.shape(fields);

/** A single issue. Only this shape says whether the caller is subscribed. */
export const singleIssue = show.shape({
  ...fields,
  _links: show.nested({
    self: link(""),
    notes: link("/notes"),
    award_emoji: link("/award_emoji"),
    project: show.url("i.project_id", (project) => `/api/v4/projects/${project}`),
  }),
  subscribed: show.embedded("subscribed", "boolean", "null"),
});

/** Removes the weight in the free tier. */
export function hideWeight(rows: readonly Value[][], shape: show.Shape, tier: Tier): void {
  if (tier !== "free") return;
  for (const row of rows) row[shape.at("weight")] = ABSENT;
}
