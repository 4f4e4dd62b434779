import { hasTier, type Tier } from "../../core/resource.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { rulersOf } from "../protected-refs/queries.ts";
import { hasCodeOwners } from "../protected-refs/tiers.ts";
import { fits } from "../protected-refs/wildcards.ts";
import { approvers } from "./approvers.ts";
import { keepingCoverage } from "./coverage.ts";
import { inForce } from "./settings.ts";

/** How far the approval of a merge request is. */
export interface ApprovalState {
  /** Who approved it and when, the first one first. */
  readonly approvals: readonly { readonly userId: number; readonly at: number }[];
  /** Whether it has rules of its own, in place of the project's. */
  readonly isOverwritten: boolean;
  readonly rules: readonly RuleState[];
  /** Users whose approval counts for no rule: its author, unless the project allows that. */
  readonly excluded: readonly number[];
  readonly required: number;
  readonly left: number;
  /** Whether nobody's approval is missing. */
  readonly isApproved: boolean;
}

/** How far one rule of a merge request is. */
export interface RuleState {
  readonly id: number;
  readonly name: string;
  readonly rule_type: RuleType;
  readonly required: number;
  readonly left: number;
  /** Whose approvals count for it. */
  readonly approvedBy: readonly number[];
  readonly isApproved: boolean;
  /** Whether it asks for more approvals than it has approvers. Then it counts as approved, as in GitLab. */
  readonly isInvalid: boolean;
}

/**
 * Any member can approve for `any_approver`; only the approvers of the rule for the others. A `report_approver` rule asks
 * only for what a report of the pipeline says.
 */
export type RuleType = "any_approver" | "regular" | "code_owner" | "report_approver";

/** What a rule of the type `report_approver` is about: that merge requests lower the coverage of tests. */
export const REPORT_TYPES = ["code_coverage"] as const;

/** Whether a tier has rules about approvals. */
export function hasRules(tier: Tier): boolean {
  return hasTier(tier, "premium");
}

const ASKS = "(ar.approvals_required > 0 or ar.rule_type = 'code_owner')";

/** SQL that says whether a rule of its project, of a group above, or its own, is about approvals of a merge request `mr`. */
export const HAS_RULES = `(exists (select 1 from approval_rules ar where ${ASKS} and ar.merge_request_id = mr.id)
  or exists (select 1 from ${rulersOf("protected_branches", "mr.project_id")} t cross join approval_rules ar
    where ar.project_id = t.owner_id and ar.merge_request_id is null and ${ASKS}))`;

interface Request {
  id: number;
  project_id: number;
  author_id: number | null;
  target_branch: string;
  author_may_approve: number;
  committers_may_approve: number;
  may_override: number;
}

interface Rule {
  id: number;
  /** The project of the merge requests that it counts for. */
  project_id: number;
  /** Whether it is of a group above that project: merge requests can't replace it. */
  is_inherited: number;
  merge_request_id: number | null;
  name: string;
  rule_type: RuleType;
  approvals_required: number;
  all_protected_branches: number;
  is_optional: number;
}

/**
 * How far the approvals of merge requests are, in a bounded number of statements. Below the premium tier nobody must
 * approve anything.
 *
 * @param today `YYYY-MM-DD`: memberships in approvers' groups that expire on or before it have ended
 */
export async function statesOf(
  db: Reader,
  ids: readonly number[],
  tier: Tier,
  today: string,
): Promise<Map<number, ApprovalState>> {
  if (ids.length === 0) return new Map();
  const approvals = await approvalsOf(db, ids);
  if (!hasRules(tier)) {
    return new Map(ids.map((id) => [id, stateOf(approvals.get(id) ?? [], [], [], false)]));
  }
  const requests = await requestsOf(db, ids);
  const rules = (await rulesOf(db, requests)).filter(
    ({ rule_type }) => rule_type !== "code_owner" || hasCodeOwners(tier),
  );
  const committers = await committersOf(db, requests);
  const branches = await branchTests(db, requests, rules);
  const ruled = requests.map((request) => {
    const { id, project_id, author_id, target_branch } = request;
    const all = rules.filter(({ merge_request_id }) => merge_request_id === id);
    const own = all.filter(({ rule_type }) => rule_type !== "code_owner");
    const isOverwritten = request.may_override === 1 && own.length > 0;
    const inherited = rules.filter(
      (rule) =>
        rule.merge_request_id === null &&
        rule.project_id === project_id &&
        branches.applies(rule, target_branch),
    );
    const defined = isOverwritten ? [...own, ...inherited.filter(isKept)] : inherited;
    const owned = all.filter(({ rule_type }) => rule_type === "code_owner");
    const excluded = [
      ...(request.author_may_approve === 0 && author_id !== null ? [author_id] : []),
      ...(committers.get(id) ?? []),
    ];
    const isOwned = branches.asksOwners(project_id, target_branch);
    return { request, isOverwritten, isOwned, counting: [...defined, ...owned], excluded };
  });
  const ruleIds = [...new Set(ruled.flatMap(({ counting }) => counting.map(({ id }) => id)))];
  const people = new Set([
    ...[...approvals.values()].flat().map(({ userId }) => userId),
    ...ruled.flatMap(({ excluded }) => excluded),
  ]);
  const able = await approversAmong(db, ruleIds, [...people], today);
  const reported = ruled.filter(({ counting }) => counting.some(isAboutReport));
  const keeping = await keepingCoverage(
    db,
    reported.map(({ request }) => request.id),
  );
  return new Map(
    ruled.map(({ request, isOverwritten, isOwned, counting, excluded }) => {
      const given = approvals.get(request.id) ?? [];
      const asked = { isOwned, isReported: !keeping.has(request.id) };
      const states = counting.map((rule) => ruleState(rule, given, excluded, able, asked));
      return [request.id, stateOf(given, states, excluded, isOverwritten)];
    }),
  );
}

/** Whether a rule counts beside those that a merge request has of its own. */
const isKept = (rule: Rule) => isAboutReport(rule) || rule.is_inherited === 1;

const isAboutReport = ({ rule_type }: Rule) => rule_type === "report_approver";

/** The state of one merge request: see {@link statesOf}. */
export async function approvalState(
  db: Reader,
  id: number,
  tier: Tier,
  today: string,
): Promise<ApprovalState> {
  return (await statesOf(db, [id], tier, today)).get(id) as ApprovalState;
}

type Approvals = ApprovalState["approvals"];

function stateOf(
  approvals: Approvals,
  rules: readonly RuleState[],
  excluded: readonly number[],
  isOverwritten: boolean,
): ApprovalState {
  // One approval counts both for a rule of its approver and for those about any.
  const most = (of: "required" | "left") => Math.max(...sumsOf(rules, of));
  return {
    approvals,
    isOverwritten,
    rules,
    excluded,
    required: most("required"),
    left: most("left"),
    isApproved: rules.every((rule) => rule.isApproved),
  };
}

/**
 * The approvals that rules about any approver ask for (the one that asks for most), and all others together.
 *
 * @param of whether those that are left
 */
export function sumsOf(
  rules: readonly RuleState[],
  of: "required" | "left",
): readonly [any: number, others: number] {
  const [any, others] = [true, false].map((isAny) =>
    rules
      .filter(({ rule_type }) => (rule_type === "any_approver") === isAny)
      .map((rule) => rule[of]),
  ) as [number[], number[]];
  return [Math.max(0, ...any), others.reduce((total, count) => total + count, 0)];
}

function ruleState(
  rule: Rule,
  approvals: Approvals,
  excluded: readonly number[],
  able: Approvers,
  asked: Asked,
): RuleState {
  const { id, name, rule_type } = rule;
  const isAny = rule_type === "any_approver";
  const known = able.get(id) ?? { count: 0, among: new Set<number>() };
  const approvedBy = approvals
    .map(({ userId }) => userId)
    .filter((userId) => !excluded.includes(userId) && (isAny || known.among.has(userId)));
  const barred = new Set(excluded.filter((userId) => known.among.has(userId)));
  const remaining = known.count - barred.size;
  const required = requiredBy(rule, asked, remaining);
  const left = Math.max(0, required - approvedBy.length);
  const isInvalid = !isAny && required > remaining;
  const isApproved = left === 0 || isInvalid;
  return { id, name, rule_type, required, left, approvedBy, isApproved, isInvalid };
}

/** What is asked for because of the target branch and of the pipeline. */
interface Asked {
  /** Whether the target branch asks for approvals of code owners. */
  readonly isOwned: boolean;
  /** Whether there is something in the report that is to be approved. */
  readonly isReported: boolean;
}

/** How many approvals a rule asks for. Those of code owners are asked for by some protected branches only. */
function requiredBy(
  { rule_type, approvals_required: required, is_optional }: Rule,
  { isOwned, isReported }: Asked,
  approvers: number,
): number {
  if (rule_type === "report_approver") return isReported ? required : 0;
  if (rule_type !== "code_owner") return required;
  return isOwned && is_optional === 0 && approvers > 0 ? Math.max(1, required) : 0;
}

/** Users whose approvals of merge requests don't count since they have committed to them, where projects say so. */
async function committersOf(
  db: Reader,
  requests: readonly Request[],
): Promise<Map<number, number[]>> {
  const strict = requests.filter((request) => request.committers_may_approve === 0);
  if (strict.length === 0) return new Map();
  const ids = placeholders(strict.map(({ id }) => id));
  const found = await db.rows(
    `select merge_request_id, user_id from merge_request_committers where merge_request_id in (${ids.sql})`,
    ids.values,
  );
  return gathered(found, ([, userId]) => userId as number);
}

async function approvalsOf(
  db: Reader,
  ids: readonly number[],
): Promise<Map<number, { userId: number; at: number }[]>> {
  const among = placeholders(ids);
  const found = await db.rows(
    `select a.merge_request_id, a.user_id, a.created_at from approvals a
     where a.merge_request_id in (${among.sql}) order by a.created_at, a.user_id`,
    among.values,
  );
  return gathered(found, ([, userId, at]) => ({ userId: userId as number, at: at as number }));
}

/** What rows say by the id in their first column. */
function gathered<T>(
  rows: readonly Value[][],
  read: (row: readonly Value[]) => T,
): Map<number, T[]> {
  const all = new Map<number, T[]>();
  for (const row of rows) {
    const id = row[0] as number;
    const known = all.get(id);
    if (known) known.push(read(row));
    else all.set(id, [read(row)]);
  }
  return all;
}

async function requestsOf(db: Reader, ids: readonly number[]): Promise<Request[]> {
  const among = placeholders(ids);
  const sql = `select mr.id, mr.project_id, mr.author_id, mr.target_branch,
       ${inForce("merge_requests_author_approval")} as author_may_approve,
       1 - ${inForce("merge_requests_disable_committers_approval")} as committers_may_approve,
       1 - ${inForce("disable_overriding_approvers_per_merge_request")} as may_override
     from merge_requests mr join projects p on p.id = mr.project_id where mr.id in (${among.sql})`;
  if (ids.length > 1) return db.all<Request>(sql, among.values);
  // The store caches single rows (decision 3).
  const request = await db.one<Request>(sql, among.values);
  return request ? [request] : [];
}

/** The rules of merge requests and of their projects. Those about any approver come first, as in GitLab. */
async function rulesOf(db: Reader, requests: readonly Request[]): Promise<Rule[]> {
  if (requests.length === 0) return [];
  const projects = placeholders([...new Set(requests.map(({ project_id }) => project_id))]);
  const ids = placeholders(requests.map(({ id }) => id));
  const columns = `ar.id, ar.merge_request_id, ar.name, ar.rule_type, ar.approvals_required, ar.all_protected_branches, ar.is_optional,
      case ar.rule_type when 'any_approver' then 0 when 'regular' then 1 else 2 end as place`;
  return db.all<Rule>(
    `select t.project_id, case when t.owner_id = t.project_id then 0 else 1 end as is_inherited, ${columns}
     from ${rulersOf("protected_branches", projects.sql)} t cross join approval_rules ar
     where ar.project_id = t.owner_id and ar.merge_request_id is null
     union all select ar.project_id, 0, ${columns} from approval_rules ar where ar.merge_request_id in (${ids.sql})
     order by place, is_inherited, id`,
    [...projects.values, ...projects.values, ...ids.values],
  );
}

/** What rules and protected branches say about the targets of merge requests. */
interface BranchTests {
  /** Whether a rule applies to merge requests into a branch. */
  applies(rule: Rule, branch: string): boolean;
  /** Whether a branch asks for approvals of code owners. */
  asksOwners(projectId: number, branch: string): boolean;
}

async function branchTests(
  db: Reader,
  requests: readonly Request[],
  rules: readonly Rule[],
): Promise<BranchTests> {
  if (rules.length === 0) return { applies: () => true, asksOwners: () => false };
  const ids = placeholders(rules.map(({ id }) => id));
  const named = gathered(
    await db.rows(
      `select x.rule_id, pr.name from approval_rule_branches x
       join protected_branches pr on pr.id = x.branch_id where x.rule_id in (${ids.sql})`,
      ids.values,
    ),
    ([, name]) => name as string,
  );
  const needed = rules.some(
    (rule) => rule.all_protected_branches === 1 || rule.rule_type === "code_owner",
  );
  const protections = gathered(
    needed ? await protectionsOf(db, requests) : [],
    ([, name, asks]) => ({ name: name as string, asks: asks === 1 }),
  );
  const fitting = (projectId: number, branch: string) =>
    (protections.get(projectId) ?? []).filter(({ name }) => fits(name, branch));
  return {
    applies: ({ id, project_id, all_protected_branches }, branch) => {
      if (all_protected_branches === 1) return fitting(project_id, branch).length > 0;
      const names = named.get(id);
      return names === undefined || names.some((name) => fits(name, branch));
    },
    asksOwners: (projectId, branch) => fitting(projectId, branch).some(({ asks }) => asks),
  };
}

/** The rules about protected branches that may fit the targets of merge requests, by project. */
function protectionsOf(db: Reader, requests: readonly Request[]) {
  const projects = placeholders([...new Set(requests.map(({ project_id }) => project_id))]);
  const targets = placeholders([...new Set(requests.map(({ target_branch }) => target_branch))]);
  return db.rows(
    `select t.project_id, pr.name, pr.code_owner_approval_required
     from ${rulersOf("protected_branches", projects.sql)} t cross join protected_branches pr
     where pr.project_id = t.owner_id and (pr.is_wildcard = 1 or pr.name in (${targets.sql}))`,
    [...projects.values, ...projects.values, ...targets.values],
  );
}

/** How many approvers rules have, and which of some users are among them. */
type Approvers = Map<number, { count: number; among: Set<number> }>;

async function approversAmong(
  db: Reader,
  ruleIds: readonly number[],
  userIds: readonly number[],
  today: string,
): Promise<Approvers> {
  if (ruleIds.length === 0) return new Map();
  const all = approvers(ruleIds, today);
  const found = await db.rows(
    `select x.rule_id, count(*) from (${all.sql}) x group by x.rule_id`,
    all.values,
  );
  const able: Approvers = new Map(
    found.map(([id, count]) => [id as number, { count: count as number, among: new Set() }]),
  );
  if (userIds.length === 0) return able;
  const people = placeholders(userIds);
  for (const [id, userId] of await db.rows(
    `select x.rule_id, x.user_id from (${all.sql}) x where x.user_id in (${people.sql})`,
    [...all.values, ...people.values],
  )) {
    able.get(id as number)?.among.add(userId as number);
  }
  return able;
}
