import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
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
  closed_by,
  closed_at: field.instant("mr.closed_at"),
  target_branch: field.text("mr.target_branch"),
  source_branch: field.text("mr.source_branch"),
  user_notes_count,
  upvotes,
  downvotes,
  assignee,
  author,
  assignees,
  source_project_id: field.integer("mr.source_project_id"),
  target_project_id: field.integer("mr.project_id"),
  labels,
  work_in_progress: field.derived(["mr.title"], "boolean", ([title]) => isDraft(String(title))),
  milestone,
  merge_when_pipeline_succeeds: field.constant(false),
  merge_status: field.constant("can_be_merged"),
  sha: field.text("mr.sha"),
  merge_commit_sha: field.text("mr.merge_commit_sha"),
  discussion_locked: field.flag("mr.discussion_locked"),
  should_remove_source_branch: field.constant(null),
  force_remove_source_branch: field.flag("mr.remove_source_branch"),
  reference: field.derived(["mr.iid"], "string", ([iid]) => `!${iid}`),
  web_url: webUrl,
  time_stats: timeStats,
  squash: field.flag("mr.squash"),
};

/** A merge request in lists. */
export const mergeRequest = presenter(fields);

/** A merge request in lists that ask for `view=simple`. */
export const simpleMergeRequest = presenter({ ...simpleFields, web_url: webUrl });

/** A single merge request. Only this one has `subscribed`, as in GitLab. */
export const singleMergeRequest = presenter({
  ...fields,
  subscribed: field.embedded("subscribed", "boolean", "null"),
  changes_count: field.constant(null),
  merge_error: field.constant(null),
  diff_refs: field.constant(null),
  pipeline: field.constant(null),
  user: field.embedded("caller_can", "object", "null"),
});
