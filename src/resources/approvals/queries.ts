import type { Source } from "../../core/access/source.ts";
import {
  LIVING,
  memberProjects,
  type Viewer,
  visibleGroups,
} from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Tier } from "../../core/resource.ts";
import { all, among, any, type Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import type { RuleType } from "../approval-state/state.ts";
import { hasCodeOwners } from "../protected-refs/tiers.ts";
import { RULES } from "./json.ts";

/** What has rules: a project, the hidden one of a group, or a merge request. */
export interface Ruled {
  readonly projectId: number;
  readonly requestId: number | null;
}

/** A rule as handlers need it. */
export interface Rule {
  id: number;
  name: string;
  rule_type: RuleType;
  updated_at: number;
}

const ofRuled = ({ projectId, requestId }: Ruled, alias = "ar") =>
  requestId === null
    ? { sql: `${alias}.project_id = ? and ${alias}.merge_request_id is null`, values: [projectId] }
    : { sql: `${alias}.merge_request_id = ?`, values: [requestId] };

/** A page of rules. Those about any approver come first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  ruled: Ruled,
  tier: Tier,
): Promise<RowPage> {
  const { sql, values } = all([ofRuled(ruled), shownIn(tier)]);
  return paginate(db, presenter, page, {
    from: `${RULES} where ${sql}`,
    values,
    order: "ar.rule_type, ar.id",
  });
}

/** Rules as rows of their presenter, in the order of {@link list}. */
export function rowsOf(
  db: Reader,
  presenter: Presenter,
  ids: readonly number[],
): Awaitable<Value[][]> {
  const { sql, values } = among("ar.id", ids);
  return db.rows(
    `select ${presenter.columns} from ${RULES} where ${sql} order by ar.rule_type, ar.id`,
    values,
  );
}

/** The rules that a tier has: those about code owners only with them. */
const shownIn = (tier: Tier): Condition | undefined =>
  hasCodeOwners(tier) ? undefined : { sql: "ar.rule_type <> 'code_owner'", values: [] };

/** A rule of a project or merge request, or `undefined`. */
export function find(
  db: Reader,
  ruled: Ruled,
  id: number,
  tier: Tier,
): Awaitable<Rule | undefined> {
  const { sql, values } = all([ofRuled(ruled), shownIn(tier)]);
  return db.one<Rule>(
    `select ar.id, ar.name, ar.rule_type, ar.updated_at from approval_rules ar where ${sql} and ar.id = ?`,
    [...values, id],
  );
}

/** The rules that people gave to a project or merge request: their names and types. */
export function namesOf(
  db: Reader,
  ruled: Ruled,
): Awaitable<Pick<Rule, "id" | "name" | "rule_type">[]> {
  const { sql, values } = ofRuled(ruled);
  return db.all(
    `select ar.id, ar.name, ar.rule_type from approval_rules ar where ${sql} and ar.rule_type <> 'code_owner'`,
    values,
  );
}

/** Adds a rule without approvers. @returns its id */
export function insert(
  db: Database,
  { projectId, requestId }: Ruled,
  rule: Pick<Rule, "name" | "rule_type"> & {
    approvals_required: number;
    all_protected_branches: number;
    source_id: number | null;
    report_type: string | null;
  },
  now: number,
): Promise<number> {
  return insertRow(db, "approval_rules", {
    project_id: projectId,
    merge_request_id: requestId,
    ...rule,
    created_at: now,
    updated_at: now,
  });
}

/** Removes a rule. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from approval_rules where id = ?", [id]);
}

/** The tables of what a rule names, with the columns of that. */
const NAMED = {
  users: ["approval_rule_users", "user_id"],
  groups: ["approval_rule_groups", "namespace_id"],
  branches: ["approval_rule_branches", "branch_id"],
} as const;

/** Replaces the users, groups or protected branches that a rule names. */
export async function replaceNamed(
  db: Database,
  kind: keyof typeof NAMED,
  ruleId: number,
  ids: readonly number[],
): Promise<void> {
  const [table, column] = NAMED[kind];
  await db.run(`delete from ${table} where rule_id = ?`, [ruleId]);
  if (ids.length === 0) return;
  await db.run(
    `insert into ${table} (rule_id, ${column}) values ${ids.map(() => "(?, ?)").join(", ")}`,
    ids.flatMap((id) => [ruleId, id]),
  );
}

/** The ids of the users or groups that a rule names. */
export async function namedBy(
  db: Reader,
  kind: "users" | "groups",
  ruleId: number,
): Promise<number[]> {
  const [table, column] = NAMED[kind];
  const found = await db.rows(`select ${column} from ${table} where rule_id = ?`, [ruleId]);
  return found.map(([id]) => id as number);
}

/** Which of these users are members of a project, by id or name. */
export async function membersAmong(
  db: Reader,
  source: Source,
  { ids, usernames }: { ids: readonly number[]; usernames: readonly string[] },
  today: string,
): Promise<number[]> {
  if (ids.length + usernames.length === 0) return [];
  const named = any([
    among("v.id", ids),
    among(
      "lower(v.username)",
      usernames.map((name) => name.toLowerCase()),
    ),
  ]);
  const member = memberProjects({ each: "v", today }, "guest", LIVING);
  const found = await db.rows(
    `select v.id from users v join projects p on p.id = ? where ${named.sql} and ${member.sql}`,
    [source.id, ...named.values, ...member.values],
  );
  return found.map(([id]) => id as number);
}

/** Which of these groups the viewer may see. */
export async function groupsAmong(
  db: Reader,
  ids: readonly number[],
  viewer: Viewer,
): Promise<number[]> {
  const [wanted, visible] = [among("n.id", ids), visibleGroups(viewer)];
  const found = await db.rows(
    `select n.id from namespaces n where n.kind = 'group' and ${wanted.sql} and ${visible.sql}`,
    [...wanted.values, ...visible.values],
  );
  return found.map(([id]) => id as number);
}

/** Which of these protected branches are of a project. */
export async function branchesAmong(
  db: Reader,
  source: Source,
  ids: readonly number[],
): Promise<number[]> {
  const wanted = among("pr.id", ids);
  const found = await db.rows(
    `select pr.id from protected_branches pr where pr.project_id = ? and ${wanted.sql}`,
    [source.id, ...wanted.values],
  );
  return found.map(([id]) => id as number);
}

/** Adds an approval. */
export async function approve(
  db: Database,
  requestId: number,
  userId: number,
  now: number,
): Promise<void> {
  await db.run("insert into approvals (merge_request_id, user_id, created_at) values (?, ?, ?)", [
    requestId,
    userId,
    now,
  ]);
}

/** Takes all approvals of a merge request back. */
export async function unapproveAll(db: Database, requestId: number): Promise<void> {
  await db.run("delete from approvals where merge_request_id = ?", [requestId]);
  await db.run(
    `update merge_request_reviewers set state = 'unapproved'
     where merge_request_id = ? and state = 'approved'`,
    [requestId],
  );
}

/** Takes a user's approval back. @returns whether there was one */
export async function unapprove(db: Database, requestId: number, userId: number): Promise<boolean> {
  const removed = await db.run("delete from approvals where merge_request_id = ? and user_id = ?", [
    requestId,
    userId,
  ]);
  return removed > 0;
}
