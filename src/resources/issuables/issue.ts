import { visibleIssues } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { issuableFields, subscribed, timeStats } from "./fields.ts";
import { placeLabels } from "./positions.ts";
import { type IssuableType, issuableJoins } from "./type.ts";

/** Put into a row in place of a weight that is not shown. */
const HIDDEN = "";

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
  closed_by: issuableFields.closed_by,
  labels: issuableFields.labels,
  milestone: issuableFields.milestone,
  assignees: issuableFields.assignees,
  author: issuableFields.author,
  assignee: issuableFields.assignee,
  user_notes_count: issuableFields.user_notes_count,
  merge_requests_count: field.constant(0),
  upvotes: issuableFields.upvotes,
  downvotes: issuableFields.downvotes,
  due_date: field.date("i.due_date"),
  confidential: field.flag("i.confidential"),
  discussion_locked: field.flag("i.discussion_locked"),
  web_url: field.url(["p.full_path", "i.iid"], (path, iid) => `/${path}/-/issues/${iid}`),
  time_stats: field.nested(timeStats("i")),
  weight: field.omittedIf((value) => value === HIDDEN, field.integer("i.weight")),
};

const link = (suffix: string) =>
  field.url(
    ["i.project_id", "i.iid"],
    (project, iid) => `/api/v4/projects/${project}/issues/${iid}${suffix}`,
  );

/** Issues. */
export const ISSUE: IssuableType = {
  table: "issues",
  alias: "i",
  column: "issue_id",
  number: "iid",
  prefix: "issue",
  className: "Issue",
  path: "issues",
  parameter: "issue_iid",
  sigil: "#",
  name: "issue",
  one: "an issue",
  many: "issues",
  whenDisabled: "leave out",
  search: {
    name: "issue_search",
    table: "issues",
    columns: ["title", "description"],
    owners: ["project_id"],
  },
  from: `issues i join projects p on p.id = i.project_id ${issuableJoins("i")}`,
  visible: visibleIssues,
  listed: presenter(fields),
  single: presenter({
    ...fields,
    _links: field.nested({
      self: link(""),
      notes: link("/notes"),
      award_emoji: link("/award_emoji"),
      project: field.url("i.project_id", (project) => `/api/v4/projects/${project}`),
    }),
    subscribed,
  }),
  place: placeLabels,
  // The free tier has no weights.
  embedOwn: (rows, { presenter, tier }) => {
    if (tier !== "free") return;
    for (const row of rows) row[presenter.at("weight")] = HIDDEN;
  },
};
