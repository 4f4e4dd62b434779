import * as audit from "../../audit/log.ts";
import { confirmPassword } from "../../auth/confirm.ts";
import type { Asking } from "../../core/access/abilities.ts";
import { codeRole, type Source } from "../../core/access/source.ts";
import { ApiError, forbidden, invalid, notFound, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, type Resource, type Route, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { inForce } from "../approval-state/settings.ts";
import { hasRules, REPORT_TYPES } from "../approval-state/state.ts";
import { mayApprove, mayUpdate, mayUpdateApprovers } from "../issuables/abilities.ts";
import { happened } from "../issuables/change.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import { checkCode } from "../merge-requests/code.ts";
import { ensureHome } from "../namespaces/home.ts";
import { approvalsOf, requiresPassword, stateOf } from "./answers.ts";
import * as changes from "./changes.ts";
import { embed, projectRule, requestRule } from "./json.ts";
import * as rules from "./queries.ts";
import { settingRoutes } from "./settings.ts";
import { migrations } from "./table.ts";

const projects = routes({ source: "project", path: "/approval_rules" });
const groups = routes({ source: "group", path: "/approval_rules", isHome: true });
const requests = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid",
  features: ["merge_requests"],
});

const number = { merge_request_iid: param.recordId() };
const ruleId = { approval_rule_id: param.recordId() };
const required = param.integer({ min: 0, max: 100 });
const name = param.text({ max: 1024 });

const changedRule = {
  name: param.optional(name),
  approvals_required: param.optional(required),
  ...changes.approverInput,
  remove_hidden_groups: param.optional(param.boolean()),
};

type Finding = Parameters<typeof findIssuable>[0] & { input: { merge_request_iid: number } };

const requestOf = (context: Finding) =>
  findIssuable(context, MERGE_REQUEST, context.input.merge_request_iid);

/** Finds out what `merge_status` is, which answers have from the premium tier on. */
async function checkStatus(
  input: Finding["input"],
  preparing: Parameters<typeof checkCode>[0] & Pick<Context, "tier">,
): Promise<void> {
  if (hasRules(preparing.tier)) await checkCode(preparing, input.merge_request_iid);
}

/** One rule as a row of the route's presenter. */
async function ruleRow(
  context: Pick<Context, "presenter" | "view" | "viewer"> & { db: Reader },
  id: number,
): Promise<Value[]> {
  const rows = await rules.rowsOf(context.db, context.presenter, [id]);
  await embed(context, context.presenter, rows);
  return rows[0] as Value[];
}

/** @throws ApiError 404 */
async function findRule(
  { db, tier }: Pick<Context, "tier"> & { db: Reader },
  ruled: rules.Ruled,
  id: number,
): Promise<rules.Rule> {
  const found = await rules.find(db, ruled, id, tier);
  if (!found) throw notFound();
  return found;
}

/** @throws ApiError 404; 403 for a rule about code owners, which follows from their file */
async function ruleToChange(
  context: Parameters<typeof findRule>[0],
  ruled: rules.Ruled,
  id: number,
): Promise<rules.Rule> {
  const found = await findRule(context, ruled, id);
  if (found.rule_type === "code_owner") throw forbidden();
  return found;
}

const ofProject = ({ source }: Pick<Context, "source">) => ({
  projectId: source.id,
  requestId: null,
});

/** Finds a merge request whose rules the caller may change. @throws ApiError 403, 404; 400 if it is merged */
async function ruledRequest(context: Finding & Asking) {
  const found = await requestOf(context);
  const isAble = (await isOverridable(context)) && mayUpdateApprovers(found, context);
  if (!isAble) throw forbidden();
  if (found.state === "merged") throw invalid({ merge_request: ["must not be merged"] });
  return { projectId: context.source.id, requestId: found.id, request: found };
}

const PERSON = {
  id: 5,
  name: "Ada",
  username: "ada",
  state: "active",
  avatar_url: "https://pm.example.com/-/avatars/a-120.svg",
  web_url: "https://pm.example.com/ada",
};
const RULE = { id: 3, name: "security", rule_type: "regular" };

const APPROVED_BY = [{ user: PERSON, approved_at: "2026-11-22T10:00:00.000Z" }];

/** What the `/approvals` of a merge request answer from the premium tier on. */
const premiumExamples = ["Signs people in", null].map((description) => ({
  id: 7,
  iid: 1,
  project_id: 3,
  title: "Add login",
  description,
  state: "opened",
  created_at: "2026-11-22T09:00:00.000Z",
  updated_at: "2026-11-22T10:00:00.000Z",
  merge_status: "can_be_merged",
  approved: false,
  approvals_required: 2,
  approvals_left: 1,
  require_password_to_approve: false,
  approved_by: APPROVED_BY,
  suggested_approvers: [PERSON],
  approvers: [{ user: PERSON }],
  approver_groups: [],
  user_has_approved: true,
  user_can_approve: false,
  approval_rules_left: [RULE],
  has_approval_rules: true,
  merge_request_approvers_available: true,
  multiple_approval_rules_available: true,
  invalid_approvers_rules: [RULE],
}));

const approvalExamples = [
  ...premiumExamples,
  { user_has_approved: true, user_can_approve: false, approved: true, approved_by: APPROVED_BY },
];

const stateExamples = [
  {
    approval_rules_overwritten: false,
    rules: [
      {
        ...RULE,
        report_type: null,
        eligible_approvers: [PERSON],
        approvals_required: 2,
        users: [PERSON],
        groups: [],
        contains_hidden_groups: false,
        section: null,
        source_rule: null,
        overridden: false,
        code_owner: false,
        approved_by: [PERSON],
        approved: false,
      },
    ],
  },
];

const typeInput = {
  rule_type: param.optional(param.choice(["regular", "any_approver", "report_approver"])),
  report_type: param.optional(param.choice(REPORT_TYPES)),
};

/**
 * The routes of the rules of projects, or of top-level groups, whose rules count for merge requests into protected branches of
 * all projects below: as in GitLab they have no branches of their own.
 */
function ruleRoutes(kind: Source["kind"]): Route[] {
  const isGroups = kind === "group";
  const [reader, writer] = isGroups
    ? (["owner", "owner"] as const)
    : ([codeRole, "maintainer"] as const);
  const branches = isGroups ? {} : changes.branchInput;
  const { list, get, post, put, del } = isGroups ? groups : projects;
  const tier = "premium";
  return [
    list("", {
      summary: `List the approval rules of a ${kind}`,
      tier,
      role: reader,
      presenter: projectRule,
      handle: async (context) => {
        const { db, presenter: shown, page } = context;
        const listed = await rules.list(db, shown, page, ofProject(context), context.tier);
        await embed(context, shown, listed.rows);
        return listed;
      },
    }),
    get("/:approval_rule_id", {
      summary: `Get an approval rule of a ${kind}`,
      tier,
      role: reader,
      input: ruleId,
      presenter: projectRule,
      handle: async (context) => {
        const rule = await findRule(context, ofProject(context), context.input.approval_rule_id);
        return ruleRow(context, rule.id);
      },
    }),
    post("", {
      summary: `Add an approval rule to a ${isGroups ? "top-level group, for all projects below it" : "project"}`,
      tier,
      role: writer,
      input: {
        name,
        approvals_required: required,
        ...typeInput,
        ...changes.approverInput,
        ...branches,
      },
      presenter: projectRule,
      handle: async (context) => {
        const { db, input, now } = context;
        if (isGroups && context.source.fullPath.includes("/")) {
          throw invalid({ group: ["must be a top level Group"] });
        }
        const source = isGroups
          ? { ...context.source, id: await ensureHome(db, context.source, now) }
          : context.source;
        const all = isGroups && { applies_to_all_protected_branches: true };
        const id = await changes.addRule({ ...context, source }, null, { ...input, ...all });
        await audit.log(context, "approval rule added", targetOf(context, input.name));
        return ruleRow(context, id);
      },
    }),
    put("/:approval_rule_id", {
      summary: `Change an approval rule of a ${kind}`,
      tier,
      role: writer,
      input: { ...ruleId, ...changedRule, ...branches },
      presenter: projectRule,
      handle: async (context) => {
        const { input } = context;
        const rule = await ruleToChange(context, ofProject(context), input.approval_rule_id);
        await changes.changeRule(context, null, rule, input);
        await audit.log(context, "approval rule changed", targetOf(context, rule.name));
        return ruleRow(context, rule.id);
      },
    }),
    del("/:approval_rule_id", {
      summary: `Remove an approval rule of a ${kind}`,
      tier,
      role: writer,
      input: ruleId,
      handle: async (context) => {
        const { db, input } = context;
        const rule = await ruleToChange(context, ofProject(context), input.approval_rule_id);
        context.requireUnmodified(rule.updated_at);
        await rules.remove(db, rule.id);
        await audit.log(context, "approval rule removed", targetOf(context, rule.name));
        return undefined;
      },
    }),
  ];
}

/** Approvals of merge requests, and the rules about who must approve them. */
export const approvalResource: Resource = {
  name: "Merge request approvals",
  migrations,
  routes: [
    requests.get("/approvals", {
      summary:
        "Show who approved a merge request and, from the premium tier, whose approvals are missing",
      access: "anyone",
      input: number,
      examples: approvalExamples,
      prepare: checkStatus,
      handle: async (context) => new Json(await approvalsOf(context, await requestOf(context))),
    }),
    requests.post("/approvals", {
      summary: "Set how many approvals of anybody a merge request needs",
      tier: "premium",
      input: { ...number, approvals_required: required },
      examples: premiumExamples,
      prepare: checkStatus,
      handle: async (context) => {
        const { input } = context;
        const found = await requestOf(context);
        if (!mayUpdate(MERGE_REQUEST)(found, context)) throw forbidden();
        if (!(await isOverridable(context))) {
          throw new ApiError(422, { error: "Overriding approvals is disabled" });
        }
        const ruled = await ruledRequest(context);
        await changes.requireOfAnybody(context, ruled.requestId, input.approvals_required);
        return new Json(await approvalsOf(context, found));
      },
    }),
    requests.post("/approve", {
      summary:
        "Approve a merge request; 401 if the caller's approval would not count, 409 if `sha` is not its head",
      input: {
        ...number,
        sha: param.optional(param.anyText()),
        approval_password: param.optional(param.anyText()),
      },
      examples: approvalExamples,
      prepare: async (input, preparing) => {
        const isConfirmed =
          !(await requiresPassword(preparing.db, preparing.source.id)) ||
          (await confirmPassword(preparing, input.approval_password ?? ""));
        await checkStatus(input, preparing);
        return { isConfirmed };
      },
      handle: async (context) => {
        const { input, tier, prepared } = context;
        const found = await requestOf(context);
        if (!mayApprove(found, context)) throw forbidden();
        if (hasRules(tier) && !prepared.isConfirmed) throw unauthorized();
        await changes.approve(context, found, input.sha);
        return new Json(await approvalsOf(context, await requestOf(context)));
      },
    }),
    requests.post("/unapprove", {
      summary: "Take the caller's approval of a merge request back; 404 if there is none",
      input: number,
      examples: approvalExamples,
      prepare: checkStatus,
      handle: async (context) => {
        const found = await requestOf(context);
        if (!mayApprove(found, context)) throw forbidden();
        await changes.unapprove(context, found);
        return new Json(await approvalsOf(context, await requestOf(context)));
      },
    }),
    requests.put("/reset_approvals", {
      summary:
        "Take all approvals of a merge request back, as the user of a token of the project or its group; 401 for others",
      tier: "premium",
      status: 202,
      input: number,
      examples: [{ message: "202 Accepted" }],
      handle: async (context) => {
        const found = await requestOf(context);
        await changes.resetApprovals(context, found);
        return new Json({ message: "202 Accepted" });
      },
    }),
    requests.get("/approval_state", {
      summary: "Show the rules that count for a merge request, and how far each of them is",
      access: "anyone",
      tier: "premium",
      input: number,
      examples: stateExamples,
      handle: async (context) => new Json(await stateOf(context, await requestOf(context))),
    }),
    requests.list("/approval_rules", {
      summary: "List the approval rules of a merge request",
      access: "anyone",
      tier: "premium",
      input: number,
      presenter: requestRule,
      handle: async (context) => {
        const { db, presenter: shown, page, source, tier } = context;
        const { id } = await requestOf(context);
        const ruled = { projectId: source.id, requestId: id };
        const listed = await rules.list(db, shown, page, ruled, tier);
        await embed(context, shown, listed.rows);
        return listed;
      },
    }),
    requests.get("/approval_rules/:approval_rule_id", {
      summary: "Get an approval rule of a merge request",
      access: "anyone",
      tier: "premium",
      input: { ...number, ...ruleId },
      presenter: requestRule,
      handle: async (context) => {
        const { id } = await requestOf(context);
        const ruled = { projectId: context.source.id, requestId: id };
        const rule = await findRule(context, ruled, context.input.approval_rule_id);
        return ruleRow(context, rule.id);
      },
    }),
    requests.post("/approval_rules", {
      summary: "Add an approval rule to a merge request, which replaces those of its project",
      tier: "premium",
      input: {
        ...number,
        name,
        approvals_required: required,
        approval_project_rule_id: param.optional(param.integer()),
        ...changes.approverInput,
      },
      presenter: requestRule,
      handle: async (context) => {
        const { db, input, tier } = context;
        const { requestId, request } = await ruledRequest(context);
        const { approval_project_rule_id: from } = input;
        const copied =
          from === undefined ? undefined : await rules.find(db, ofProject(context), from, tier);
        const added = await changes.addRule(context, requestId, input, copied);
        await happened(context, MERGE_REQUEST, request, { rules: true });
        return ruleRow(context, added);
      },
    }),
    requests.put("/approval_rules/:approval_rule_id", {
      summary: "Change an approval rule of a merge request",
      tier: "premium",
      input: { ...number, ...ruleId, ...changedRule },
      presenter: requestRule,
      handle: async (context) => {
        const { input } = context;
        const ruled = await ruledRequest(context);
        const rule = await ruleToChange(context, ruled, input.approval_rule_id);
        await changes.changeRule(context, ruled.requestId, rule, input);
        await happened(context, MERGE_REQUEST, ruled.request, { rules: true });
        return ruleRow(context, rule.id);
      },
    }),
    requests.del("/approval_rules/:approval_rule_id", {
      summary: "Remove an approval rule of a merge request",
      tier: "premium",
      input: { ...number, ...ruleId },
      handle: async (context) => {
        const { db, input } = context;
        const ruled = await ruledRequest(context);
        const rule = await ruleToChange(context, ruled, input.approval_rule_id);
        context.requireUnmodified(rule.updated_at);
        await rules.remove(db, rule.id);
        return undefined;
      },
    }),
    ...settingRoutes,
    ...ruleRoutes("project"),
    ...ruleRoutes("group"),
  ],
};

/** What the audit log calls a rule. */
const targetOf = ({ source }: Pick<Context, "source">, rule: string) => ({
  target: `${rule} of ${source.fullPath}`,
});

/** Whether merge requests of a project can have rules of their own. */
async function isOverridable({ db, source }: Pick<Context, "db" | "source">): Promise<boolean> {
  const [row] = await db.rows(
    `select ${inForce("disable_overriding_approvers_per_merge_request")} from projects p where p.id = ?`,
    [source.id],
  );
  return row?.[0] === 0;
}
