import type { Context } from "../../core/resource.ts";
import { knownMergeability, type Mergeability } from "../../git/mergeability.ts";
import { BRANCHES } from "../../git/refs.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { HAS_RULES, statesOf } from "../approval-state/state.ts";
import { checksOf } from "../check-state/state.ts";
import { ACTIVE, HEAD_STATUS } from "../ci/heads.ts";

/** The title prefixes of drafts, which cannot be merged, in lower case. */
export const DRAFT_PREFIXES = ["[wip]", "[draft]", "(draft)", "wip:", "draft:", "wip "];

const FIRST_OF_DRAFTS = new Set(
  DRAFT_PREFIXES.flatMap(([first = ""]) => [`'${first}'`, `'${first.toUpperCase()}'`]),
);

/** SQL that says whether a merge request `mr` is a draft: for most the first character says that they are not. */
export const IS_DRAFT = `(substr(ltrim(mr.title), 1, 1) in (${[...FIRST_OF_DRAFTS].join(", ")})
  and (${DRAFT_PREFIXES.map(
    (prefix) => `substr(lower(ltrim(mr.title)), 1, ${prefix.length}) = '${prefix}'`,
  ).join(" or ")}))`;

/** SQL that says whether a merge request `mr` has code: in a project without a repository it is only a record. */
const HAS_CODE = "exists (select 1 from merge_request_versions v where v.merge_request_id = mr.id)";

/** SQL that says whether unresolved discussions keep a merge request `mr` of a project `p` from being merged. */
export const IS_BLOCKED = `(p.only_allow_merge_if_all_discussions_are_resolved = 1
  and exists (select 1 from notes un where un.merge_request_id = mr.id
    and un.thread_id is not null and un.system = 0 and un.resolved_at is null))`;

/** Something that a merge request must not be to be merged. */
export interface MergeCheck {
  /** What `detailed_merge_status` then is. */
  readonly status: string;
  /**
   * SQL that says whether the check applies to a merge request `mr` of a project `p`; `target.oid` is the newest commit of
   * its target branch, or null. Default: it always does.
   */
  readonly when?: string;
  /** Whether it only applies to merge requests that have code. */
  readonly ofCode?: true;
  /** Whether the code fails it. Default: it fails whenever it applies. */
  readonly fails?: (code: Mergeability) => boolean;
  /** Whether it is about approvals: then it fails only if one is missing. */
  readonly ofApprovals?: true;
  /** Whether it is about status checks: then it fails only if the merge request has not passed one. */
  readonly ofStatusChecks?: true;
  /** What merging answers: 405 `405 Method Not Allowed`, or 406 `Branch cannot be merged`. */
  readonly answer: 405 | 406;
  /** Whether it may come to pass by itself: then a merge request can be told to be merged as soon as it does. */
  readonly mayPass?: true;
}

/** What is checked before a merge, in GitLab's order: the first check that fails is `detailed_merge_status`. */
const MERGE_CHECKS: readonly MergeCheck[] = [
  {
    status: "not_approved",
    when: `(mr.state <> 'merged' and ${HAS_RULES})`,
    ofApprovals: true,
    answer: 405,
    mayPass: true,
  },
  { status: "not_open", when: "mr.state <> 'opened'", answer: 405 },
  { status: "draft_status", when: IS_DRAFT, answer: 405, mayPass: true },
  { status: "commits_status", when: "target.oid is null", ofCode: true, answer: 405 },
  { status: "commits_status", ofCode: true, fails: ({ isAhead }) => !isAhead, answer: 405 },
  { status: "discussions_not_resolved", when: IS_BLOCKED, answer: 405, mayPass: true },
  {
    status: "ci_still_running",
    when: `(mr.state = 'opened' and p.only_allow_merge_if_pipeline_succeeds = 1 and ${HEAD_STATUS} in ${ACTIVE})`,
    answer: 405,
    mayPass: true,
  },
  {
    status: "ci_must_pass",
    when: `(mr.state = 'opened' and p.only_allow_merge_if_pipeline_succeeds = 1
      and coalesce(${HEAD_STATUS}, 'none') <> 'success'
      and not (p.allow_merge_on_skipped_pipeline = 1 and coalesce(${HEAD_STATUS}, 'none') = 'skipped'))`,
    answer: 405,
  },
  {
    status: "merge_request_blocked",
    when: `(mr.state = 'opened' and exists (select 1 from merge_request_blocks mq
      join merge_requests other on other.id = mq.blocking_id where mq.blocked_id = mr.id and other.state <> 'merged'))`,
    answer: 405,
    mayPass: true,
  },
  {
    status: "status_checks_must_pass",
    when: `(mr.state = 'opened' and mr.sha is not null and p.only_allow_merge_if_all_status_checks_passed = 1
      and exists (select 1 from hooks h where h.project_id = mr.project_id and h.check_name is not null))`,
    ofStatusChecks: true,
    answer: 405,
    mayPass: true,
  },
  { status: "conflict", ofCode: true, fails: ({ hasConflicts }) => hasConflicts, answer: 406 },
  {
    status: "need_rebase",
    when: "p.merge_method <> 'merge'",
    ofCode: true,
    fails: ({ isBehind }) => isBehind,
    answer: 406,
  },
];

/** Whether a merge request can be merged. */
export interface MergeState {
  /** As far as the code is concerned. */
  readonly status: "unchecked" | "can_be_merged" | "cannot_be_merged";
  /** The check that fails first. `undefined` if none does, or if it is not known yet whether one of the code fails. */
  readonly failed: MergeCheck | undefined;
  /** The newest commits of the branches, if their code still has to be looked at: see `findMergeability`. */
  readonly unknown: { readonly source: string; readonly target: string } | undefined;
}

/** What `detailed_merge_status` says. */
export const detailedStatus = ({ failed, unknown }: MergeState): string =>
  failed?.status ?? (unknown ? "unchecked" : "mergeable");

/** A bit of `applies` for each check: one value is read faster than ten. */
const APPLIES = MERGE_CHECKS.map(
  ({ when = "1 = 1" }, at) => `case when ${when} then ${1 << at} else 0 end`,
).join(" + ");

/** Whether a check applies. @param applies a value of {@link APPLIES} */
const isApplying = (applies: Value | undefined, at: number): boolean =>
  ((applies as number) & (1 << at)) !== 0;

const FACTS = `select mr.id as id, mr.state as state, mr.sha as sha, target.oid as target,
    case when ${HAS_CODE} then 1 else 0 end as has_code, ${APPLIES} as applies
  from merge_requests mr join projects p on p.id = mr.project_id
  left join git_repositories gr on gr.project_id = mr.project_id and gr.kind = 'code'
  left join git_refs target
    on target.repository_id = gr.id and target.name = '${BRANCHES}' || mr.target_branch`;

const OF_APPROVALS = MERGE_CHECKS.findIndex(({ ofApprovals }) => ofApprovals);
const OF_STATUS_CHECKS = MERGE_CHECKS.findIndex(({ ofStatusChecks }) => ofStatusChecks);

/** Where approvals count: see {@link statesOf}. */
export type Approving = Pick<Context, "tier" | "viewer">;

/**
 * Whether merge requests can be merged, as far as it is known: in a bounded number of statements. What their code says
 * must have been found out before (`findMergeability`).
 *
 * @param approving `undefined` if it does not matter whether approvals are missing
 * @returns by their ids
 */
export async function mergeStatesOf(
  db: Reader,
  ids: readonly Value[],
  approving: Approving | undefined,
): Promise<Map<Value, MergeState>> {
  if (ids.length === 0) return new Map();
  const rows = await factsOf(db, ids);
  const isApproved = await approvedAmong(db, rows, approving);
  const hasPassed = await passedAmong(db, rows);
  return new Map(
    rows.map((row) => {
      const id = row[0] as number;
      return [id, stateOf(row, { isApproved: isApproved(id), hasPassed: hasPassed(id) })];
    }),
  );
}

/** Asks what status checks say. @returns whether a merge request has passed all that are asked about it */
async function passedAmong(db: Reader, rows: readonly Value[][]): Promise<(id: number) => boolean> {
  const asked = rows.filter((row) => isApplying(row[APPLIES_AT], OF_STATUS_CHECKS));
  if (asked.length === 0) return () => true;
  const checks = await checksOf(
    db,
    asked.map(([id]) => id as number),
  );
  return (id) => (checks.get(id) ?? []).every(({ status }) => status === "passed");
}

/**
 * Asks for the approvals of the merge requests that a rule is about.
 *
 * @param rows of {@link FACTS}
 * @returns whether none is missing to a merge request
 */
async function approvedAmong(
  db: Reader,
  rows: readonly Value[][],
  approving: Approving | undefined,
): Promise<(id: number) => boolean> {
  const ruled = rows.filter((row) => isApplying(row[APPLIES_AT], OF_APPROVALS));
  if (!approving || ruled.length === 0) return () => true;
  const ids = ruled.map(([id]) => id as number);
  const states = await statesOf(db, ids, approving.tier, approving.viewer.today);
  return (id) => states.get(id)?.isApproved ?? true;
}

const FACTS_OF_ONE = `${FACTS} where mr.id = ?`;

async function factsOf(db: Reader, ids: readonly Value[]): Promise<Value[][]> {
  if (ids.length === 1) {
    // A single row may come from a cache, which answers the second time that a request asks.
    const row = await db.one<Record<string, Value>>(FACTS_OF_ONE, ids);
    return row ? [Object.values(row)] : [];
  }
  const among = placeholders(ids);
  return db.rows(statement`${FACTS} where mr.id in (${among.sql})`, among.values);
}

/** Whether one merge request can be merged: see {@link mergeStatesOf}. */
export async function mergeStateOf(
  db: Reader,
  id: number,
  approving: Approving | undefined,
): Promise<MergeState> {
  return (await mergeStatesOf(db, [id], approving)).get(id) as MergeState;
}

/** Where the checks are in a row of {@link FACTS}. */
const APPLIES_AT = 5;

/** @param row of {@link FACTS} */
function stateOf(
  row: Value[],
  { isApproved, hasPassed }: { readonly isApproved: boolean; readonly hasPassed: boolean },
): MergeState {
  const [, state, source, target, hasCode, applies] = row;
  const isOpen = state === "opened";
  const heads =
    hasCode === 1 && isOpen && typeof source === "string" && typeof target === "string"
      ? { source, target }
      : undefined;
  const code = heads && knownMergeability(heads.source, heads.target);
  const failed = MERGE_CHECKS.find(
    ({ ofCode, fails, ofApprovals, ofStatusChecks }, at) =>
      isApplying(applies, at) &&
      (!ofCode || hasCode === 1) &&
      (!fails || (code !== undefined && fails(code))) &&
      !(ofApprovals && isApproved) &&
      !(ofStatusChecks && hasPassed),
  );
  const isPossible = !isOpen || hasCode === 0 || (code?.isAhead && !code.hasConflicts);
  const status = isPossible ? "can_be_merged" : "cannot_be_merged";
  const isUnknown = heads !== undefined && code === undefined;
  return {
    status: isUnknown ? "unchecked" : status,
    failed,
    unknown: isUnknown ? heads : undefined,
  };
}
