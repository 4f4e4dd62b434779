import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import type { Context } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { inForce } from "../approval-state/settings.ts";
import {
  type ApprovalState,
  approvalState,
  hasRules,
  type RuleState,
  sumsOf,
} from "../approval-state/state.ts";
import { mayApproveNow } from "../issuables/abilities.ts";
import { mergeStateOf } from "../issuables/merge-checks.ts";
import type { Issuable } from "../issuables/queries.ts";
import { userSummary } from "../users/json.ts";
import { embed, stateRule } from "./json.ts";
import { rowsOf } from "./queries.ts";

/** What answers about approvals depend on. */
interface Answering extends Pick<Context, "view" | "viewer" | "tier"> {
  readonly db: Reader;
  readonly source: Source;
  readonly caller: Caller | undefined;
}

type Shown = Record<string, unknown>;

/** Who approved a merge request, and who must, as the `/approvals` of one shows it. */
export async function approvalsOf(answering: Answering, request: Issuable): Promise<object> {
  const { db, caller, tier, viewer } = answering;
  const state = await approvalState(db, request.id, tier, viewer.today);
  const people = await usersOf(
    answering,
    state.approvals.map(({ userId }) => userId),
  );
  const approved_by = state.approvals.map(({ userId, at }) => ({
    user: people.get(userId),
    approved_at: isoInstant(at),
  }));
  const own = {
    user_has_approved: state.approvals.some(({ userId }) => userId === caller?.id),
    user_can_approve: mayApproveNow({ ...request, approval: state }, answering),
  };
  if (!hasRules(tier)) return { ...own, approved: approved_by.length > 0, approved_by };
  const rules = await rulesOf(answering, state);
  const [first] = rules;
  return {
    id: request.id,
    iid: request.iid,
    project_id: request.project_id,
    title: request.title,
    description: request.description,
    state: request.state,
    created_at: isoInstant(request.created_at),
    updated_at: isoInstant(request.updated_at),
    merge_status: (await mergeStateOf(db, request.id, undefined)).status,
    approved: state.isApproved,
    approvals_required: state.required,
    approvals_left: state.left,
    require_password_to_approve: await requiresPassword(db, request.project_id),
    approved_by,
    suggested_approvers: suggested(state, rules),
    approvers: (first ? (first["users"] as Shown[]) : []).map((user) => ({ user })),
    approver_groups: (first ? (first["groups"] as Shown[]) : []).map((one) => ({ group: one })),
    ...own,
    approval_rules_left: leftOf(state).map(short),
    has_approval_rules: rules.length > 0,
    merge_request_approvers_available: true,
    multiple_approval_rules_available: true,
    invalid_approvers_rules: state.rules.filter(({ isInvalid }) => isInvalid).map(short),
  };
}

/** The rules that count for a merge request, and how far each of them is. */
export async function stateOf(answering: Answering, request: Issuable): Promise<object> {
  const { db, tier, viewer } = answering;
  const state = await approvalState(db, request.id, tier, viewer.today);
  return {
    approval_rules_overwritten: state.isOverwritten,
    rules: await rulesOf(answering, state),
  };
}

/** Whether those who approve a project's merge requests must confirm it with their password. */
export async function requiresPassword(db: Reader, projectId: number): Promise<boolean> {
  const project = await db.one<{ is_required: number }>(
    `select ${inForce("require_password_to_approve")} as is_required from projects p where p.id = ?`,
    [projectId],
  );
  return project?.is_required === 1;
}

const short = ({ id, name, rule_type }: RuleState) => ({ id, name, rule_type });

/** The rules that are not approved; without the one about any approver, if the others ask for as many. */
function leftOf({ rules }: ApprovalState): RuleState[] {
  const [any, others] = sumsOf(rules, "left");
  const anyCounts = any > others;
  return rules.filter(
    ({ isApproved, rule_type }) => !isApproved && (anyCounts || rule_type !== "any_approver"),
  );
}

/** Approvers who have not approved, except from rules with groups that the caller can't see. */
function suggested({ approvals }: ApprovalState, rules: readonly Shown[]): Shown[] {
  const approved = new Set(approvals.map(({ userId }) => userId));
  const found = new Map<number, Shown>();
  for (const rule of rules) {
    if (rule["contains_hidden_groups"]) continue;
    for (const user of rule["eligible_approvers"] as Shown[]) {
      const id = user["id"] as number;
      if (!approved.has(id)) found.set(id, user);
    }
  }
  return [...found.values()];
}

/** The rules of a state as its answers show them. */
async function rulesOf(answering: Answering, state: ApprovalState): Promise<Shown[]> {
  const [rules = []] = await rulesOfAll(answering, [state]);
  return rules;
}

/** The rules of states as their answers show them, in a bounded number of statements. */
export async function rulesOfAll(
  answering: Pick<Answering, "db" | "view" | "viewer">,
  states: readonly ApprovalState[],
): Promise<Shown[][]> {
  const { db, view } = answering;
  const all = states.flatMap(({ rules }) => rules);
  if (all.length === 0) return states.map(() => []);
  const rows = await rowsOf(db, stateRule, [...new Set(all.map(({ id }) => id))]);
  await embed(answering, stateRule, rows);
  const people = await usersOf(
    answering,
    all.flatMap(({ approvedBy }) => approvedBy),
  );
  const shown = new Map(
    rows.map((row) => [row[stateRule.at("id")], stateRule.value(row, view) as Shown]),
  );
  return states.map(({ rules, excluded }) =>
    rules.map(({ id, rule_type, required, approvedBy, isApproved }) => {
      const rule = shown.get(id) as Shown;
      return {
        ...rule,
        ...(rule_type === "any_approver" && { name: "All Members" }),
        ...(rule_type === "report_approver" && { approvals_required: required }),
        eligible_approvers: (rule["eligible_approvers"] as { id: number }[]).filter(
          (user) => !excluded.includes(user.id),
        ),
        approved_by: approvedBy.map((userId) => people.get(userId)),
        approved: isApproved,
      };
    }),
  );
}

async function usersOf(
  { db, view }: Pick<Answering, "db" | "view">,
  ids: readonly number[],
): Promise<Map<Value, unknown>> {
  if (ids.length === 0) return new Map();
  const among = placeholders([...new Set(ids)]);
  const rows = await db.rows(
    `select ${userSummary.columns} from users u where u.id in (${among.sql})`,
    among.values,
  );
  return new Map(
    rows.map((row) => [row[userSummary.at("id")] as Value, userSummary.value(row, view)]),
  );
}
