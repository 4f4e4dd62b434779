import type { Viewer } from "../../core/access/visibility.ts";
import { visibleGroups } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import type { Context } from "../../core/resource.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Reader, Value } from "../../store/port.ts";
import { approvers } from "../approval-state/approvers.ts";
import { group } from "../groups/json.ts";
import { gather } from "../issuables/gather.ts";
import { embedGrants, protectedBranch } from "../protected-refs/json.ts";
import { userFields, userSummary } from "../users/json.ts";

/** The tables a rule is presented from: itself, and the project's rule that it was made from. */
export const RULES = "approval_rules ar left join approval_rules sr on sr.id = ar.source_id";

const people = { items: userFields("u") };

const ruleFields = {
  id: field.integer("ar.id"),
  name: field.text("ar.name"),
  rule_type: field.text("ar.rule_type"),
  report_type: field.text("ar.report_type"),
  eligible_approvers: field.embedded("eligible_approvers", "array of User", "[]", people),
  approvals_required: field.integer("ar.approvals_required"),
  users: field.embedded("users", "array of User", "[]", people),
  groups: field.embedded("groups", "array of Group", "[]", { items: group.fields }),
  contains_hidden_groups: field.embedded("contains_hidden_groups", "boolean", "null"),
};

/** A rule of a project. */
export const projectRule = presenter({
  ...ruleFields,
  protected_branches: field.embedded("protected_branches", "array of Protected branch", "[]", {
    items: protectedBranch.fields,
  }),
  applies_to_all_protected_branches: field.flag("ar.all_protected_branches"),
});

const differ = (table: string, column: string) => `exists (
    select ${column} from ${table} where rule_id = ar.id except select ${column} from ${table} where rule_id = sr.id)
  or exists (select ${column} from ${table} where rule_id = sr.id except select ${column} from ${table} where rule_id = ar.id)`;

const OVERRIDDEN = `case when sr.id is not null and (sr.name <> ar.name or sr.approvals_required <> ar.approvals_required
  or ${differ("approval_rule_users", "user_id")} or ${differ("approval_rule_groups", "namespace_id")}) then 1 else 0 end`;

const requestRuleFields = {
  ...ruleFields,
  section: field.text("ar.section"),
  source_rule: field.nested({ approvals_required: field.integer("sr.approvals_required") }),
  overridden: field.flag(OVERRIDDEN),
};

/** A rule of a merge request. */
export const requestRule = presenter(requestRuleFields);

/** A rule that counts for a merge request, and how far it is. */
export const stateRule = presenter({
  ...requestRuleFields,
  code_owner: field.flag("case when ar.rule_type = 'code_owner' then 1 else 0 end"),
  approved_by: field.embedded("approved_by", "array of User", "[]", people),
  approved: field.embedded("approved", "boolean", "null"),
});

/** What presenting rules depends on. */
export interface Presenting extends Pick<Context, "view" | "viewer"> {
  readonly db: Reader;
}

/** The approvers that a rule shows at most, and the protected branches. */
const MAX_SHOWN = 200;

/**
 * Fills the people, groups and branches of rules into their rows, with a query for each.
 *
 * @param shown the presenter of the rows
 */
export async function embed(
  { db, view, viewer }: Presenting,
  shown: Presenter,
  rows: readonly Value[][],
): Promise<void> {
  if (rows.length === 0) return;
  const idAt = shown.at("id");
  const ids = rows.map((row) => row[idAt] as number);
  const among = placeholders(ids);
  const all = approvers(ids, viewer.today);
  const eligible = `select ${userSummary.columns}, x.rule_id from (
      select a.rule_id, a.user_id, row_number() over (partition by a.rule_id order by a.user_id) as place
      from (${all.sql}) a) x
    join users u on u.id = x.user_id where x.place <= ${MAX_SHOWN} order by u.id`;
  const named = `select ${userSummary.columns}, x.rule_id from approval_rule_users x
    join users u on u.id = x.user_id where x.rule_id in (${among.sql}) order by u.id`;
  // Sent together, so that PostgreSQL answers in one round trip.
  const [able, users, groups, branches] = await Promise.all([
    db.rows(eligible, all.values),
    db.rows(named, among.values),
    groupsOf(db, ids, viewer),
    "protected_branches" in shown.fields ? branchesOf({ db, view }, ids) : [],
  ]);
  const written = {
    eligible_approvers: gather(able, (row) => userSummary.write(row, view)),
    users: gather(users, (row) => userSummary.write(row, view)),
    groups: gather(
      groups.filter((row) => row.at(-2) === 1),
      (row) => group.write(row, view),
    ),
    ...("protected_branches" in shown.fields && {
      protected_branches: gather(branches, (row) => protectedBranch.write(row, view)),
    }),
  };
  const hidden = new Set(groups.filter((row) => row.at(-2) === 0).map((row) => row.at(-1)));
  for (const row of rows) {
    const id = row[idAt] as number;
    for (const [name, texts] of Object.entries(written)) {
      row[shown.at(name)] = `[${(texts.get(id) ?? []).join(",")}]`;
    }
    row[shown.at("contains_hidden_groups")] = String(hidden.has(id));
  }
}

/** The groups of rules, each with whether the viewer may see it, and with its rule. */
function groupsOf(db: Reader, ids: readonly number[], viewer: Viewer): Awaitable<Value[][]> {
  const among = placeholders(ids);
  const visible = visibleGroups(viewer);
  return db.rows(
    `select ${group.columns}, case when ${visible.sql} then 1 else 0 end, x.rule_id
     from approval_rule_groups x join namespaces n on n.id = x.namespace_id
     where x.rule_id in (${among.sql}) order by n.id`,
    [...visible.values, ...among.values],
  );
}

async function branchesOf(
  presenting: Pick<Presenting, "db" | "view">,
  ids: readonly number[],
): Promise<Value[][]> {
  const among = placeholders(ids);
  const rows = await presenting.db.rows(
    `select ${protectedBranch.columns}, x.rule_id from (
       select rule_id, branch_id, row_number() over (partition by rule_id order by branch_id) as place from (
         select rule_id, branch_id from approval_rule_branches where rule_id in (${among.sql})
         union
         select ar.id, b.id from approval_rules ar join protected_branches b on b.project_id = ar.project_id
         where ar.id in (${among.sql}) and ar.all_protected_branches = 1) as scoped) x
     join protected_branches pr on pr.id = x.branch_id where x.place <= ${MAX_SHOWN} order by pr.id`,
    [...among.values, ...among.values],
  );
  await embedGrants(presenting, protectedBranch, rows);
  return rows;
}
