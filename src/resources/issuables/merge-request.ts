import { linkedMembership } from "../../core/access/memberships.ts";
import { ROLES } from "../../core/access/roles.ts";
import {
  NOT_DELETED_USER,
  visibleMergeRequestRows,
  visibleProjects,
} from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { headPipeline } from "../ci/heads.ts";
import { listedPipeline, pipeline } from "../ci/json.ts";
import { mayMergeRequest } from "../protected-refs/abilities.ts";
import { userFields, userSummary } from "../users/json.ts";
import { issuableFields, plainFields, subscribed } from "./fields.ts";
import { gatherShared, idsOf } from "./gather.ts";
import {
  DRAFT_PREFIXES,
  detailedStatus,
  IS_BLOCKED,
  type MergeState,
  mergeStatesOf,
} from "./merge-checks.ts";
import { type IssuableType, issuableJoins } from "./type.ts";

const PREFIX = DRAFT_PREFIXES.map((prefix) => prefix.replace(/[[\]()]/g, "\\$&")).join("|");

const DRAFT = new RegExp(`^ *(?:${PREFIX})`, "i");

/** Whether a title marks a merge request as a draft. */
export const isDraft = (title: string): boolean => DRAFT.test(title);

/** All of these prefixes at the beginning of a title. No part of it can match in two ways, so it takes linear time. */
const DRAFTS = new RegExp(`^(?: *(?:${PREFIX}))+ *`, "i");

/** A title without the prefixes that make it a draft's. */
export const withoutDraft = (title: string): string => title.replace(DRAFTS, "");

const NAMED = { prefix: "merge_request", alias: "mr", path: "merge_requests", sigil: "!" } as const;

/** Changed files that are shown and counted at most. */
export const MOST_FILES = 1000;

/** How many files a merge request changes, as GitLab shows it: a text, and nothing for none. */
const sizeOf = (files: number): string | null =>
  files === 0 ? null : files > MOST_FILES ? `${MOST_FILES}+` : String(files);

const IS_FROM_FORK = "case when mr.source_project_id <> mr.project_id then 1 else 0 end";

const fields = {
  ...issuableFields(NAMED),
  merged_by: field.nested(userFields("mb")),
  merge_user: field.nested(userFields("mb")),
  merged_at: field.instant("mr.merged_at"),
  target_branch: field.text("mr.target_branch"),
  source_branch: field.text("mr.source_branch"),
  reviewers: field.embedded("reviewers", "array of User", "[]", { items: userFields("u") }),
  source_project_id: field.integer("mr.source_project_id"),
  target_project_id: field.integer("mr.project_id"),
  draft: field.derived(["mr.title"], "boolean", ([title]) => isDraft(String(title))),
  work_in_progress: field.derived(["mr.title"], "boolean", ([title]) => isDraft(String(title))),
  merge_when_pipeline_succeeds: field.flag("mr.auto_merge"),
  merge_status: field.embedded("merge_status", "string", "null"),
  detailed_merge_status: field.embedded("detailed_merge_status", "string", "null"),
  has_conflicts: field.embedded("has_conflicts", "boolean", "null"),
  blocking_discussions_resolved: field.flag(`case when ${IS_BLOCKED} then 0 else 1 end`),
  sha: field.text("mr.sha"),
  merge_commit_sha: field.text("mr.merge_commit_sha"),
  squash_commit_sha: field.text("mr.squash_commit_sha"),
  should_remove_source_branch: field.optionalFlag("mr.should_remove_source_branch"),
  allow_collaboration: field.onlyIf(IS_FROM_FORK, field.flag("mr.allow_collaboration")),
  allow_maintainer_to_push: field.onlyIf(IS_FROM_FORK, field.flag("mr.allow_collaboration")),
  reference: field.derived(["mr.iid"], "string", ([iid]) => `!${iid}`),
  squash_on_merge: field.flag(
    "case p.squash_option when 'always' then 1 when 'never' then 0 else mr.squash end",
  ),
  prepared_at: field.instant("mr.created_at"),
  merge_after: field.constant(null),
  approvals_before_merge: field.constant(null),
};

/** Whether its author is no reporter of the project and nothing of theirs was merged there before. */
const IS_FIRST = `case when exists (select 1 from merge_requests o
    where o.author_id = mr.author_id and o.project_id = mr.project_id and o.state = 'merged')
  or exists (select 1 from members me where me.user_id = mr.author_id and me.access_level >= ${ROLES.reporter}
    and (me.project_id = mr.project_id or me.namespace_id in
      (select ancestor_id from namespace_ancestors where namespace_id = p.namespace_id)))
  or ${linkedMembership("p.namespace_id", "p.id", "mr.author_id", ROLES.reporter)}
  or exists (select 1 from namespaces o where o.id = p.namespace_id and o.owner_id = mr.author_id)
  then 0 else 1 end`;

/** A merge request in lists that ask for `view=simple`. */
export const simpleMergeRequest = presenter(plainFields(NAMED));

/** Merge requests. */
export const MERGE_REQUEST: IssuableType = {
  ...NAMED,
  table: "merge_requests",
  column: "merge_request_id",
  number: "iid",
  className: "MergeRequest",
  parameter: "merge_request_iid",
  name: "merge request",
  one: "a merge request",
  many: "merge requests",
  involved: ["merge_request_assignees", "merge_request_reviewers"],
  whenDisabled: "refuse",
  jobTokens: true,
  search: {
    name: "merge_request_search",
    table: "merge_requests",
    columns: ["title", "description"],
    owners: ["project_id"],
  },
  from: `merge_requests mr join projects p on p.id = mr.project_id ${issuableJoins("mr")}
    left join users mb on mb.id = mr.merged_by_id
    left join merge_request_versions dv on dv.id =
      (select max(v.id) from merge_request_versions v where v.merge_request_id = mr.id)`,
  visible: visibleMergeRequestRows,
  projects: visibleProjects,
  listed: presenter(fields),
  single: presenter({
    ...fields,
    subscribed,
    changes_count: field.derived(["dv.changed_files"], "string", ([files]) =>
      sizeOf(Number(files)),
    ),
    merge_error: field.text("mr.merge_error"),
    diff_refs: field.nested({
      head_sha: field.text("dv.head_sha"),
      base_sha: field.text("dv.base_sha"),
      start_sha: field.text("dv.start_sha"),
    }),
    latest_build_started_at: field.embedded("build_started_at", "timestamp", "null"),
    latest_build_finished_at: field.embedded("build_finished_at", "timestamp", "null"),
    pipeline: field.embedded("pipeline_json", "object", "null", { fields: listedPipeline.fields }),
    head_pipeline: field.embedded("head_pipeline_json", "object", "null", {
      fields: pipeline.fields,
    }),
    user: field.embedded("caller_can", "object", "null"),
    first_contribution: field.flag(IS_FIRST),
    title_html: field.omittedIfNull(field.embedded("title_html", "string", "null")),
    description_html: field.omittedIfNull(field.embedded("description_html", "string", "null")),
    diverged_commits_count: field.omittedIfNull(
      field.embedded("diverged_commits_count", "integer", "null"),
    ),
    rebase_in_progress: field.omittedIfNull(
      field.embedded("rebase_in_progress", "boolean", "null"),
    ),
  }),
  readOwn: async (ids, { db, presenter, source, tier, view, viewer }) => {
    const [only] = source && "user" in presenter.fields ? ids : [];
    const isAlone = "head_pipeline" in presenter.fields && ids.length === 1;
    // Sent together, so that PostgreSQL answers in one round trip.
    const [states, reviewing, canMerge, head] = await Promise.all([
      mergeStatesOf(db, ids, { tier, viewer }),
      reviewersOf(db, ids),
      source && only !== undefined && mayMergeRequest(db, source, only),
      isAlone ? headPipeline(db, ids[0] as Value, viewer) : undefined,
    ]);
    const reviewers = gatherShared(reviewing, (found) => userSummary.write(found, view));
    const from = source?.kind === "group" ? source.fullPath : null;
    return (rows) => {
      for (const row of rows) {
        row[presenter.at("references")] = from;
        const id = row[presenter.at("id")] as Value;
        const state = states.get(id) as MergeState;
        row[presenter.at("reviewers")] = `[${(reviewers.get(id) ?? []).join(",")}]`;
        row[presenter.at("merge_status")] = `"${state.status}"`;
        row[presenter.at("detailed_merge_status")] = `"${detailedStatus(state)}"`;
        row[presenter.at("has_conflicts")] = String(state.status === "cannot_be_merged");
        if (only !== undefined) row[presenter.at("user")] = `{"can_merge":${canMerge}}`;
        if (head && "head_pipeline" in presenter.fields) {
          const { started_at, finished_at } = pipeline.value(head, view) as Record<string, unknown>;
          row[presenter.at("latest_build_started_at")] = JSON.stringify(started_at);
          row[presenter.at("latest_build_finished_at")] = JSON.stringify(finished_at);
          row[presenter.at("pipeline")] = listedPipeline.write(head, view);
          row[presenter.at("head_pipeline")] = pipeline.write(head, view);
        }
      }
    };
  },
};

/** The reviewers of merge requests, whose ids are in the last column. */
function reviewersOf(db: Reader, ids: readonly Value[]): Awaitable<Value[][]> {
  const among = placeholders(ids);
  return db.rows(
    statement`select ${userSummary.columns}, ${idsOf("x.merge_request_id")} from merge_request_reviewers x
     join users u on u.id = x.user_id where x.merge_request_id in (${among.sql}) and ${NOT_DELETED_USER}
     group by u.id order by u.id`,
    among.values,
  );
}
