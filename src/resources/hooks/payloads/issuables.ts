import * as field from "../../../core/field.ts";
import { type Presenter, presenter } from "../../../core/presenter.ts";
import { HEAD } from "../../ci/heads.ts";
import { fieldsOf, type IssueType, typeName } from "../../issuables/attributes.ts";
import { plainFields, timeStats } from "../../issuables/fields.ts";
import { ISSUE, SEVERITY } from "../../issuables/issue.ts";
import { detailedStatus, mergeStateOf } from "../../issuables/merge-checks.ts";
import { isDraft, MERGE_REQUEST } from "../../issuables/merge-request.ts";
import { STATE_IDS } from "../../issuables/told.ts";
import type { IssuableType } from "../../issuables/type.ts";
import { type Block, blockOf, labelsOf, projectOf, usersOf } from "./blocks.ts";
import { commitBlock, openCode } from "./commits.ts";
import type { Making } from "./making.ts";

const none = field.constant(null);

const shared = (type: IssuableType) => {
  const { prefix, alias } = type;
  const { project_id: _, web_url: url, ...plain } = plainFields(type);
  return {
    ...plain,
    state_id: field.derived([`${alias}.state`], "integer", ([state]) => STATE_IDS[String(state)]),
    author_id: field.integer(`${alias}.author_id`),
    milestone_id: field.integer(`${alias}.milestone_id`),
    ...fieldsOf(prefix, alias, true),
    last_edited_at: none,
    last_edited_by_id: none,
    updated_by_id: none,
    time_change: field.constant(0),
    human_time_change: none,
    ...timeStats(alias),
    url,
  };
};

const issue = presenter({
  ...shared(ISSUE),
  project_id: field.integer("i.project_id"),
  closed_at: field.instant("i.closed_at"),
  moved_to_id: field.integer("i.moved_to_id"),
  duplicated_to_id: none,
  relative_position: field.integer("i.relative_position"),
  type: field.derived(["i.issue_type"], "string", ([type]) => typeName(type as IssueType)),
  severity: field.text(SEVERITY),
});

const draft = field.derived(["mr.title"], "boolean", ([title]) => isDraft(String(title)));

const mergeRequest = presenter({
  ...shared(MERGE_REQUEST),
  source_branch: field.text("mr.source_branch"),
  target_branch: field.text("mr.target_branch"),
  source_project_id: field.integer("mr.source_project_id"),
  target_project_id: field.integer("mr.project_id"),
  first_contribution:
    field.flag(`case when exists (select 1 from merge_requests o where o.project_id = mr.project_id
    and o.author_id = mr.author_id and o.state = 'merged' and o.id <> mr.id) then 0 else 1 end`),
  merge_commit_sha: field.text("mr.merge_commit_sha"),
  merge_error: field.text("mr.merge_error"),
  merge_user_id: field.integer("mr.merged_by_id"),
  merge_when_pipeline_succeeds: field.flag("mr.auto_merge"),
  merge_params: field.nested({
    force_remove_source_branch: field.flag("mr.remove_source_branch"),
  }),
  head_pipeline_id: field.integer(HEAD),
  draft,
  work_in_progress: draft,
  prepared_at: field.instant("mr.created_at"),
  sha: field.text("mr.sha"),
});

const SHOWN: Readonly<Record<IssuableType["prefix"], Presenter>> = {
  issue,
  merge_request: mergeRequest,
};

/** An issuable, as payloads show it, with its labels and people. */
export interface IssuableBlocks {
  readonly attributes: Block;
  readonly labels: readonly Block[];
  readonly assignees: readonly Block[];
  readonly reviewers: readonly Block[];
}

/** An issuable as payloads show it, or `undefined` if it is gone. */
export async function issuableOf(
  making: Making,
  type: IssuableType,
  id: number,
): Promise<IssuableBlocks | undefined> {
  const { prefix, alias, table, column } = type;
  const from = `${table} ${alias} join projects p on p.id = ${alias}.project_id where ${alias}.id = ?`;
  const found = await blockOf(making, SHOWN[prefix], from, [id]);
  if (!found) return undefined;
  const idsIn = async (key: string, of: string) => {
    const sql = `select ${key} from ${prefix}_${of} where ${column} = ? order by ${key}`;
    return (await making.store.rows(sql, [id])).flat();
  };
  const labels = await labelsOf(making, await idsIn("label_id", "labels"));
  const assignees = await usersOf(making, await idsIn("user_id", "assignees"));
  const isRequest = prefix === "merge_request";
  const reviewers = isRequest ? await usersOf(making, await idsIn("user_id", "reviewers")) : [];
  const people = {
    assignee_id: assignees[0]?.["id"] ?? null,
    assignee_ids: assignees.map((user) => user["id"]),
    ...(isRequest && { reviewer_ids: reviewers.map((user) => user["id"]) }),
  };
  const { sha, ...plain } = found;
  const code = isRequest ? await codeOf(making, found, sha) : {};
  const attributes = { ...plain, ...people, labels, ...code };
  return { attributes, labels, assignees, reviewers };
}

/** What payloads show of a merge request's projects, of its last commit, and of whether it can be merged. */
async function codeOf(making: Making, request: Block, sha: unknown): Promise<Block> {
  const { id, source_project_id: sourceId, target_project_id: targetId } = request;
  const [source, target] = await Promise.all(
    [sourceId, targetId].map((one) => (one === null ? null : projectOf(making, one as number))),
  );
  const opened = await openCode(making, (sourceId ?? targetId) as number);
  const state = await mergeStateOf(making.store, id as number, undefined);
  return {
    source: source ?? null,
    target: target ?? null,
    last_commit: typeof sha === "string" ? await commitBlock(opened, sha) : null,
    merge_status: state.status,
    detailed_merge_status: detailedStatus(state),
    blocking_discussions_resolved: state.failed?.status !== "discussions_not_resolved",
  };
}
