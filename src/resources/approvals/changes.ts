import type { Source } from "../../core/access/source.ts";
import { ApiError, invalid, missing, notFound, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { Tier } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import {
  approvalState,
  hasRules,
  type REPORT_TYPES,
  type RuleType,
} from "../approval-state/state.ts";
import { mayAdmin, mayApproveNow } from "../issuables/abilities.ts";
import { happened } from "../issuables/change.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import type { Issuable } from "../issuables/queries.ts";
import type { Writing } from "../issuables/type.ts";
import { setReviewState } from "../reviewers/queries.ts";
import * as approvals from "./queries.ts";

/**
 * Approves a merge request, and what follows from it: its event, whose recipients get a mail, a note that records it,
 * and the caller's todos, which are done.
 *
 * @throws ApiError 401 if the caller has approved it already, or their approval would not count; 409 if `sha` is not
 *   its head
 */
export async function approve(
  writing: Writing & { tier: Tier },
  request: Issuable,
  sha: string | undefined,
): Promise<void> {
  const { db, caller, viewer, tier, now } = writing;
  const head = await headOf(db, request.id);
  if (sha !== undefined && sha !== head) {
    throw new ApiError(409, {
      message: `SHA does not match HEAD of source branch: ${head ?? "unknown"}`,
    });
  }
  const state = await approvalState(db, request.id, tier, viewer.today);
  if (!mayApproveNow({ ...request, approval: state }, writing)) throw unauthorized();
  await approvals.approve(db, request.id, caller.id, now);
  await setReviewState(db, request.id, caller.id, "approved");
  const { isApproved } = await approvalState(db, request.id, tier, viewer.today);
  const approval = isApproved ? "approved" : "approval";
  const note = "approved this merge request";
  await happened(writing, MERGE_REQUEST, request, { approval, note });
}

/**
 * Takes the caller's approval of a merge request back, which a note records and mails tell.
 *
 * @throws ApiError 404 if they have not approved it, or it is merged
 */
export async function unapprove(
  writing: Writing & { tier: Tier },
  request: Issuable,
): Promise<void> {
  const { db, caller, viewer, tier } = writing;
  const before = await approvalState(db, request.id, tier, viewer.today);
  if (request.state === "merged" || !(await approvals.unapprove(db, request.id, caller.id))) {
    throw notFound();
  }
  await setReviewState(db, request.id, caller.id, "unapproved");
  const after = await approvalState(db, request.id, tier, viewer.today);
  const isLost = !hasRules(tier) || (before.isApproved && !after.isApproved);
  const approval = isLost ? "unapproved" : "unapproval";
  const note = "unapproved this merge request";
  await happened(writing, MERGE_REQUEST, request, { approval, note });
}

/**
 * Takes all approvals of a merge request back, as in GitLab only for programs that use a token of the project or of a group
 * above it.
 *
 * @throws ApiError 401 for others, and once it is merged
 */
export async function resetApprovals(writing: Writing, request: Issuable): Promise<void> {
  const { db, caller } = writing;
  const isBot = (await db.rows("select 1 from resource_bots where user_id = ?", [caller.id]))
    .length;
  const mayReset =
    isBot > 0 && mayAdmin(MERGE_REQUEST)(request, writing) && request.state !== "merged";
  if (!mayReset) throw unauthorized();
  await approvals.unapproveAll(db, request.id);
}

async function headOf(db: Reader, id: number): Promise<string | null> {
  const [row] = await db.rows("select sha from merge_requests where id = ?", [id]);
  return row?.[0] as string | null;
}

const ids = param.arrayOf(param.integer());

/** The attributes of rules of projects and of merge requests. */
export const approverInput = {
  user_ids: param.optional(ids),
  usernames: param.optional(param.commaSeparated()),
  group_ids: param.optional(ids),
};

/** The attributes that only rules of projects have. */
export const branchInput = {
  protected_branch_ids: param.optional(ids),
  applies_to_all_protected_branches: param.optional(param.boolean()),
};

/** The values of {@link approverInput} and {@link branchInput}, and what a rule is called and asks for. */
export type RuleInput = Partial<param.Input<typeof approverInput & typeof branchInput>> & {
  name?: string | undefined;
  approvals_required?: number | undefined;
  rule_type?: RuleType | undefined;
  report_type?: (typeof REPORT_TYPES)[number] | undefined;
  remove_hidden_groups?: boolean | undefined;
};

/** How many rules a project or merge request can have: all of them are looked at whenever it is merged. */
const MAX_RULES = 100;

/** What a rule is called that anybody can approve for. */
const ALL_MEMBERS = "All Members";

/**
 * Adds a rule. One without approvers is about any approver; people who are no members of the project and groups that
 * the caller can't see are left out, as in GitLab.
 *
 * @param copied the project's rule whose name and approvers it takes, unless it names some
 * @returns its id
 * @throws ApiError 400
 */
export async function addRule(
  writing: Writing,
  requestId: number | null,
  input: RuleInput & { approvals_required: number },
  copied?: approvals.Rule,
): Promise<number> {
  const { db, source, now } = writing;
  const ruled = { projectId: source.id, requestId };
  const named = await approversIn(writing, input, copied);
  const isRegular = [input.user_ids, input.usernames, input.group_ids].some((one) => one?.length);
  const isCopied = copied !== undefined && copied.rule_type !== "any_approver";
  const report = reportOf(input, requestId);
  const rule = {
    name: copied?.name ?? input.name ?? ALL_MEMBERS,
    rule_type: report
      ? "report_approver"
      : (input.rule_type ?? (isRegular || isCopied ? "regular" : "any_approver")),
    report_type: report,
    approvals_required: input.approvals_required,
    all_protected_branches: Number(input.applies_to_all_protected_branches ?? false),
    source_id: copied?.id ?? null,
  };
  await requireRoomFor(writing, ruled, rule);
  const id = await approvals.insert(db, ruled, rule, now);
  await storeNamed(writing, id, named, input);
  return id;
}

/** What a project's rule about the coverage of tests is called: GitLab takes its type from that. */
const COVERAGE_CHECK = "Coverage-Check";

/** The report that a new rule is about; `null` for a rule of another type. @throws ApiError 400 if it names none */
function reportOf({ name, rule_type, report_type }: RuleInput, requestId: number | null) {
  const isNamed = requestId === null && name === COVERAGE_CHECK;
  if ((rule_type ?? (isNamed ? "report_approver" : undefined)) !== "report_approver") {
    if (report_type === undefined) return null;
    throw invalid({ report_type: ["is only for rules of the type report_approver"] });
  }
  if (report_type === undefined && !isNamed) throw missing("report_type");
  return report_type ?? "code_coverage";
}

/**
 * Changes a rule. Groups that the caller can't see stay, unless they are removed explicitly.
 *
 * @throws ApiError 400
 */
export async function changeRule(
  writing: Writing,
  requestId: number | null,
  rule: approvals.Rule,
  input: RuleInput,
): Promise<void> {
  const { db, source, viewer, now } = writing;
  const { name, approvals_required, applies_to_all_protected_branches: all } = input;
  if (name !== undefined && name !== rule.name) {
    await requireRoomFor(writing, { projectId: source.id, requestId }, { ...rule, name });
  }
  const named = await approversIn(writing, input);
  if (named.groups && !input.remove_hidden_groups) {
    const before = await approvals.namedBy(db, "groups", rule.id);
    const visible = await approvals.groupsAmong(db, before, viewer);
    named.groups.push(...before.filter((id) => !visible.includes(id)));
  }
  const changes = {
    name,
    approvals_required,
    all_protected_branches: all === undefined ? undefined : Number(all),
  };
  await updateRow(db, "approval_rules", rule.id, changes, now);
  await storeNamed(writing, rule.id, named, input);
}

/** Sets how many approvals of anybody a project or merge request needs. */
export async function requireOfAnybody(
  writing: Writing,
  requestId: number | null,
  approvals_required: number,
): Promise<void> {
  const { db, source, now } = writing;
  const names = await approvals.namesOf(db, { projectId: source.id, requestId });
  const any = names.find(({ rule_type }) => rule_type === "any_approver");
  if (any) await updateRow(db, "approval_rules", any.id, { approvals_required }, now);
  else if (approvals_required > 0) await addRule(writing, requestId, { approvals_required });
}

interface Named {
  users?: number[];
  groups?: number[];
}

/** The approvers that an input or a copied rule names; nothing that it leaves as it is. */
async function approversIn(
  { db, source, viewer }: Pick<Writing, "db" | "source" | "viewer">,
  { user_ids: ids, usernames, group_ids }: RuleInput,
  copied?: approvals.Rule,
): Promise<Named> {
  if (copied && !ids && !usernames && !group_ids) {
    return {
      users: await approvals.namedBy(db, "users", copied.id),
      groups: await approvals.namedBy(db, "groups", copied.id),
    };
  }
  const people = { ids: ids ?? [], usernames: usernames ?? [] };
  return {
    ...((ids || usernames) && {
      users: await approvals.membersAmong(db, source, people, viewer.today),
    }),
    ...(group_ids && { groups: await approvals.groupsAmong(db, group_ids, viewer) }),
  };
}

async function storeNamed(
  { db, source }: { db: Writing["db"]; source: Source },
  ruleId: number,
  { users, groups }: Named,
  { protected_branch_ids: branches }: RuleInput,
): Promise<void> {
  if (users) await approvals.replaceNamed(db, "users", ruleId, users);
  if (groups) await approvals.replaceNamed(db, "groups", ruleId, groups);
  if (branches) {
    const known = await approvals.branchesAmong(db, source, branches);
    await approvals.replaceNamed(db, "branches", ruleId, known);
  }
}

/** @throws ApiError 400 if there is a rule like this one, or no room for another */
async function requireRoomFor(
  { db, source }: Pick<Writing, "db" | "source">,
  ruled: approvals.Ruled,
  rule: { id?: number; name: string; rule_type: RuleType },
): Promise<void> {
  const all = await approvals.namesOf(db, ruled);
  const others = all.filter((other) => other.id !== rule.id);
  const alike = others.filter(({ rule_type }) => rule_type === rule.rule_type);
  if (rule.rule_type === "any_approver" && alike.length > 0) {
    const place = source.isHome ? "group" : "project";
    const owner = ruled.requestId === null ? place : "merge request";
    throw invalid({ rule_type: [`any-approver for the ${owner} already exists`] });
  }
  if (alike.some(({ name }) => name === rule.name)) {
    throw invalid({ name: ["has already been taken"] });
  }
  if (others.length >= MAX_RULES) {
    throw invalid({
      base: [`There are ${MAX_RULES} approval rules already, which is the maximum`],
    });
  }
}
