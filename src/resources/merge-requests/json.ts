import * as show from "../../core/present.ts";
import { embeddedFields, timeStats } from "../issues/json.ts";
import { userFields } from "../users/json.ts";

/** The title prefixes of drafts, which cannot be merged. */
const DRAFT = /^\s*(\[(WIP|draft)\]|\(draft\)|(WIP|draft):|WIP\s)/i;

/** Whether a title marks a merge request as a draft. */
export const isDraft = (title: string): boolean => DRAFT.test(title);

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

const simpleFields = {
  id: show.integer("mr.id"),
  iid: show.integer("mr.iid"),
  project_id: show.integer("mr.project_id"),
  title: show.text("mr.title"),
  description: show.text("mr.description"),
  state: show.text("mr.state"),
  created_at: show.instant("mr.created_at"),
  updated_at: show.instant("mr.updated_at"),
};

const webUrl = show.url(
  ["p.full_path", "mr.iid"],
  (path, iid) => `/${path}/-/merge_requests/${iid}`,
);

const fields = {
  ...simpleFields,
  merged_by: show.nested(userFields("mb")),
  merged_at: show.instant("mr.merged_at"),
  closed_by,
  closed_at: show.instant("mr.closed_at"),
  target_branch: show.text("mr.target_branch"),
  source_branch: show.text("mr.source_branch"),
  user_notes_count,
  upvotes,
  downvotes,
  assignee,
  author,
  assignees,
  source_project_id: show.integer("mr.source_project_id"),
  target_project_id: show.integer("mr.project_id"),
  labels,
  work_in_progress: show.derived(["mr.title"], "boolean", ([title]) => isDraft(String(title))),
  milestone,
  merge_when_pipeline_succeeds: show.constant(false),
  merge_status: show.constant("can_be_merged"),
  sha: show.text("mr.sha"),
  merge_commit_sha: show.text("mr.merge_commit_sha"),
  discussion_locked: show.flag("mr.discussion_locked"),
  should_remove_source_branch: show.constant(null),
  force_remove_source_branch: show.flag("mr.remove_source_branch"),
  reference: show.derived(["mr.iid"], "string", ([iid]) => `!${iid}`),
  web_url: webUrl,
  time_stats: timeStats,
  squash: show.flag("mr.squash"),
};

/** A merge request in lists. */
export const mergeRequest = show.shape(fields);

/** A merge request in lists that ask for `view=simple`. */
export const simpleMergeRequest = show.shape({ ...simpleFields, web_url: webUrl });

/** A single merge request. Only this one has `subscribed`, as in GitLab. */
export const singleMergeRequest = show.shape({
  ...fields,
  subscribed: show.embedded("subscribed", "boolean", "null"),
  changes_count: show.constant(null),
  merge_error: show.constant(null),
  diff_refs: show.constant(null),
  pipeline: show.constant(null),
  user: show.embedded("caller_can", "object", "null"),
});
