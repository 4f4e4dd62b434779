import { ROLES } from "../../core/access/roles.ts";
import { visibleMergeRequests } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { userFields } from "../users/json.ts";
import { issuableFields, subscribed, timeStats } from "./fields.ts";
import { type IssuableType, issuableJoins } from "./type.ts";

/** The title prefixes of drafts, which cannot be merged, in lower case. */
const DRAFT_PREFIXES = ["[wip]", "[draft]", "(draft)", "wip:", "draft:", "wip "];
const PREFIX = DRAFT_PREFIXES.map((prefix) => prefix.replace(/[[\]()]/g, "\\$&")).join("|");

const DRAFT = new RegExp(`^ *(?:${PREFIX})`, "i");

/** Whether a title marks a merge request as a draft. */
export const isDraft = (title: string): boolean => DRAFT.test(title);

/** SQL that says the same of a merge request `mr`. */
export const IS_DRAFT = `(${DRAFT_PREFIXES.map(
  (prefix) => `substr(lower(ltrim(mr.title)), 1, ${prefix.length}) = '${prefix}'`,
).join(" or ")})`;

/** All of these prefixes at the beginning of a title. No part of it can match in two ways, so it takes linear time. */
const DRAFTS = new RegExp(`^(?: *(?:${PREFIX}))+ *`, "i");

/** A title without the prefixes that make it a draft's. */
export const withoutDraft = (title: string): string => title.replace(DRAFTS, "");

const simpleFields = {
  id: field.integer("mr.id"),
  iid: field.integer("mr.iid"),
  project_id: field.integer("mr.project_id"),
  title: field.text("mr.title"),
  description: field.text("mr.description"),
  state: field.text("mr.state"),
  created_at: field.instant("mr.created_at"),
  updated_at: field.instant("mr.updated_at"),
};

const webUrl = field.url(
  ["p.full_path", "mr.iid"],
  (path, iid) => `/${path}/-/merge_requests/${iid}`,
);

const fields = {
  ...simpleFields,
  merged_by: field.nested(userFields("mb")),
  merged_at: field.instant("mr.merged_at"),
  closed_by: issuableFields.closed_by,
  closed_at: field.instant("mr.closed_at"),
  target_branch: field.text("mr.target_branch"),
  source_branch: field.text("mr.source_branch"),
  user_notes_count: issuableFields.user_notes_count,
  upvotes: issuableFields.upvotes,
  downvotes: issuableFields.downvotes,
  assignee: issuableFields.assignee,
  author: issuableFields.author,
  assignees: issuableFields.assignees,
  source_project_id: field.integer("mr.source_project_id"),
  target_project_id: field.integer("mr.project_id"),
  labels: issuableFields.labels,
  work_in_progress: field.derived(["mr.title"], "boolean", ([title]) => isDraft(String(title))),
  milestone: issuableFields.milestone,
  merge_when_pipeline_succeeds: field.constant(false),
  merge_status: field.constant("can_be_merged"),
  sha: field.text("mr.sha"),
  merge_commit_sha: field.text("mr.merge_commit_sha"),
  discussion_locked: field.flag("mr.discussion_locked"),
  should_remove_source_branch: field.constant(null),
  force_remove_source_branch: field.flag("mr.remove_source_branch"),
  reference: field.derived(["mr.iid"], "string", ([iid]) => `!${iid}`),
  web_url: webUrl,
  time_stats: field.nested(timeStats("mr")),
  squash: field.flag("mr.squash"),
};

/** A merge request in lists that ask for `view=simple`. */
export const simpleMergeRequest = presenter({ ...simpleFields, web_url: webUrl });

/** Merge requests. */
export const MERGE_REQUEST: IssuableType = {
  table: "merge_requests",
  alias: "mr",
  column: "merge_request_id",
  number: "iid",
  prefix: "merge_request",
  className: "MergeRequest",
  path: "merge_requests",
  parameter: "merge_request_iid",
  sigil: "!",
  name: "merge request",
  one: "a merge request",
  many: "merge requests",
  whenDisabled: "refuse",
  jobTokens: true,
  search: {
    name: "merge_request_search",
    table: "merge_requests",
    columns: ["title", "description"],
    owners: ["project_id"],
  },
  from: `merge_requests mr join projects p on p.id = mr.project_id ${issuableJoins("mr")}
    left join users mb on mb.id = mr.merged_by_id`,
  visible: visibleMergeRequests,
  listed: presenter(fields),
  single: presenter({
    ...fields,
    subscribed,
    changes_count: field.constant(null),
    merge_error: field.constant(null),
    diff_refs: field.constant(null),
    pipeline: field.constant(null),
    user: field.embedded("caller_can", "object", "null"),
  }),
  embedOwn: (rows, { presenter, source }) => {
    if (!source || !("user" in presenter.fields)) return;
    const user = `{"can_merge":${source.level >= ROLES.developer}}`;
    for (const row of rows) row[presenter.at("user")] = user;
  },
};
