import { REMOVED_ROWS } from "../../core/access/visibility.ts";
import { invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { rowByRow } from "../../store/conditions.ts";
import type { Value } from "../../store/port.ts";
import { type Filter, instantOf, userOf } from "../issuables/filters.ts";
import { IS_DRAFT } from "../issuables/merge-checks.ts";

/** The users who must all have approved, at most, as in GitLab. */
const MOST_APPROVERS = 5;

/** The attributes of lists of merge requests that those of issues do not have. */
export const ownInput = {
  source_branch: param.optional(param.anyText()),
  target_branch: param.optional(param.anyText()),
  reviewer_id: param.optional(param.anyText()),
  reviewer_username: param.optional(param.anyText()),
  approved_by_ids: param.optional(param.commaSeparated({ max: MOST_APPROVERS })),
  approved_by_usernames: param.optional(param.commaSeparated({ max: MOST_APPROVERS })),
  wip: param.optional(param.choice(["yes", "no"])),
  environment: param.optional(param.anyText()),
  deployed_after: param.optional(param.writtenInstant()),
  deployed_before: param.optional(param.writtenInstant()),
  merge_user_id: param.optional(param.integer()),
  merge_user_username: param.optional(param.anyText()),
};

type OwnInput = Partial<param.Input<typeof ownInput>>;
type OwnFilter = NonNullable<Filter["own"]>[number];

/**
 * The filters that they describe.
 *
 * @throws ApiError 400
 */
export function ownFilters(input: OwnInput): OwnFilter[] {
  const { reviewer_id, reviewer_username, approved_by_ids, approved_by_usernames } = input;
  return [
    ...byBranch("source_branch", input.source_branch),
    ...byBranch("target_branch", input.target_branch),
    ...byId("merge_request_reviewers", userOf("reviewer_id", reviewer_id)),
    ...byUsername("merge_request_reviewers", reviewer_username),
    ...approversOf(approved_by_ids).flatMap((user) => byId("approvals", user)),
    ...(approved_by_usernames ?? []).flatMap((name) => byUsername("approvals", name)),
    ...byDraft(input.wip),
    ...byMerger("?", input.merge_user_id),
    ...byMerger(BY_NAME, input.merge_user_username),
  ];
}

/**
 * Where and when the merge requests that they ask for were deployed.
 *
 * @throws ApiError 400
 */
export function deployedFilter(input: OwnInput): Filter["deployed"] {
  return deployedIn({
    environment: input.environment,
    after: instantOf("deployed_after", input.deployed_after),
    before: instantOf("deployed_before", input.deployed_before),
  });
}

/** The filter, if it says anything. */
export function deployedIn(deployed: NonNullable<Filter["deployed"]>): Filter["deployed"] {
  return Object.values(deployed).some((value) => value !== undefined) ? deployed : undefined;
}

function byBranch(column: "source_branch" | "target_branch", value: string | undefined) {
  if (value === undefined) return [];
  const values = [value];
  return [
    {
      // Not a bare column: an engine should not start with a branch that most merge requests have.
      condition: { sql: `mr.${column} || '' = ?`, values },
      ids: { sql: `select id from merge_requests where ${column} = ?`, values },
      ...(column === "target_branch" ? { isBroad: true as const } : {}),
    },
  ];
}

function byDraft(wip: "yes" | "no" | undefined): OwnFilter[] {
  if (wip === undefined) return [];
  if (wip === "no") return [{ condition: { sql: `not ${IS_DRAFT}`, values: [] } }];
  // There is an index of drafts.
  const ids = { sql: `select mr.id from merge_requests mr where ${IS_DRAFT}`, values: [] };
  return [{ condition: { sql: rowByRow(`select 1 where ${IS_DRAFT}`), values: [] }, ids }];
}

/** The account with a user name. */
const BY_NAME = "(select id from users where lower(username) = lower(?))";

/** A table with users of merge requests. */
type Table = "merge_request_reviewers" | "approvals";

function byId(table: Table, user: ReturnType<typeof userOf>): OwnFilter[] {
  if (user === undefined) return [];
  if (typeof user === "number") return byUser(table, "x.user_id = ?", user);
  const somebody = `x.user_id not in (${REMOVED_ROWS.users})`;
  const exists = `exists (select 1 from ${table} x where x.merge_request_id = mr.id and ${somebody})`;
  if (user === "none") return [{ condition: { sql: `not ${exists}`, values: [] } }];
  const ids = { sql: `select distinct merge_request_id as id from ${table}`, values: [] };
  return [{ condition: { sql: exists, values: [] }, ids, isBroad: true }];
}

function byUsername(table: Table, name: string | undefined): OwnFilter[] {
  if (name === undefined) return [];
  return byUser(table, `x.user_id = ${BY_NAME}`, name);
}

function byMerger(user: string, value: Value | undefined): OwnFilter[] {
  if (value === undefined) return [];
  const values = [value];
  return [
    {
      condition: { sql: `mr.merged_by_id = ${user}`, values },
      ids: { sql: `select id from merge_requests where merged_by_id = ${user}`, values },
    },
  ];
}

function byUser(table: Table, user: string, value: Value): OwnFilter[] {
  const sql = `select x.merge_request_id as id from ${table} x where ${user}`;
  const values = [value];
  return [{ condition: { sql: `mr.id in (${sql})`, values }, ids: { sql, values } }];
}

/** All of these users must have approved; or nobody, or anybody. */
function approversOf(sent: readonly string[] = []): ReturnType<typeof userOf>[] {
  const users = sent.map((value) => userOf("approved_by_ids", value));
  if (users.length > 1 && users.some((user) => typeof user !== "number")) {
    throw invalid({ approved_by_ids: ["is invalid"] });
  }
  return users;
}
