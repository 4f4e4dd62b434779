import type { Source } from "../../core/access/source.ts";
import { OF_HOMES, type Viewer } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Context } from "../../core/resource.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { all, among } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { held, type RulesTable } from "./grants.ts";
import { embedGrants } from "./json.ts";
import { fits, isWildcard } from "./wildcards.ts";

/** A rule about branches, as far as it decides something for a viewer. */
interface BranchRule {
  readonly name: string;
  /** The lowest access level that may push; `null` if none may. */
  readonly push_level: number | null;
  /** 1 if the viewer, or a group of theirs, may push by name. */
  readonly push_named: number;
  readonly merge_level: number | null;
  readonly merge_named: number;
  readonly allow_force_push: number;
}

/** A rule about tags, as far as it decides something for a viewer. */
interface TagRule {
  readonly name: string;
  readonly create_level: number | null;
  readonly create_named: number;
}

/** What a project says about some of its branches and tags. */
export interface Rules {
  /** Whether its repository has no branch yet. */
  readonly isEmpty: boolean;
  readonly defaultBranch: string | null;
  /** The rules whose name fits a branch; it must be one of those that were asked for. */
  branches(name: string): readonly BranchRule[];
  /** The rules whose name fits a tag. */
  tags(name: string): readonly TagRule[];
}

/** SQL that says whether the repository of a project `p` has no branch yet. */
const IS_EMPTY = `case when exists (
    select 1 from git_repositories g join git_refs r on r.repository_id = g.id
    where g.project_id = p.id and g.kind = 'code' and r.name > 'refs/heads/' and r.name < 'refs/heads0')
  then 0 else 1 end`;

const STATE = `select p.default_branch, ${IS_EMPTY} as is_empty from projects p where p.id = ?`;

/** Names that one statement asks for. */
const NAMES_AT_ONCE = 256;

/**
 * The rules of a project about some references.
 *
 * @param names in full, such as `refs/heads/main`
 * @param viewer whom the rules may name; without one, they say only what is protected, and for which levels
 */
export async function rulesOf(
  db: Reader,
  projectId: number,
  names: readonly string[],
  viewer?: Viewer,
): Promise<Rules> {
  const below = (beginning: string) =>
    names.filter((name) => name.startsWith(beginning)).map((name) => name.slice(beginning.length));
  const state = await db.one<{ default_branch: string | null; is_empty: number }>(STATE, [
    projectId,
  ]);
  return {
    isEmpty: state?.is_empty !== 0,
    defaultBranch: state?.default_branch ?? null,
    branches: await fitting<BranchRule>(
      db,
      "protected_branches",
      projectId,
      below(BRANCHES),
      viewer,
    ),
    tags: await fitting<TagRule>(db, "protected_tags", projectId, below(TAGS), viewer),
  };
}

/**
 * SQL of the projects whose rules are in force in some projects: a project itself and, for branches, the hidden projects of the
 * groups above it, which have the groups' rules. Rows have `project_id` and `owner_id`.
 *
 * @param projectIds SQL of ids, which is there once for tags and twice for branches
 */
export function rulersOf(table: RulesTable, projectIds: string): string {
  const own = `select o.id as project_id, o.id as owner_id from projects o where o.id in (${projectIds})`;
  if (table === "protected_tags") return `(${own})`;
  return `(${own} union all select o.id, h.id from projects o cross join namespace_ancestors a cross join projects h
    where o.id in (${projectIds}) and a.namespace_id = o.namespace_id and h.namespace_id = a.ancestor_id
      and h.visibility = ${OF_HOMES})`;
}

/** What a merge request's project says about its target branch. */
interface TargetRules {
  readonly branch: string;
  readonly rules: Rules;
}

/** The rules of merge requests' projects about their target branches, by the ids of the requests, in one statement. */
export async function rulesOfTargets(
  db: Reader,
  requestIds: readonly Value[],
  viewer: Viewer,
): Promise<Map<Value, TargetRules>> {
  const among = placeholders(requestIds);
  const may = held("protected_branches", viewer);
  const requests = `from merge_requests mr where mr.id in (${among.sql})`;
  const rules = `select null, t.project_id, null, null, null, r.name, r.allow_force_push, ${may.sql}
    from ${rulersOf("protected_branches", `select mr.project_id ${requests}`)} t
    cross join protected_branches r cross join projects p where r.project_id = t.owner_id and p.id = r.project_id and`;
  const rows = await db.rows(
    `select mr.id, p.id, mr.target_branch, p.default_branch, ${IS_EMPTY}, null, null, null, null, null, null
       from merge_requests mr join projects p on p.id = mr.project_id where mr.id in (${among.sql})
     union all ${rules} r.is_wildcard = 0 and (t.project_id, r.name) in (select mr.project_id, mr.target_branch ${requests})
     union all ${rules} r.is_wildcard = 1`,
    [
      ...among.values,
      ...[...may.values, ...among.values, ...among.values, ...among.values],
      ...[...may.values, ...among.values, ...among.values],
    ],
  );
  const found = new Map<Value, BranchRule[]>();
  const targets = new Map<Value, TargetRules>();
  for (const [id, projectId, branch, defaultBranch, isEmpty, ...columns] of rows) {
    const own = found.get(projectId as Value) ?? [];
    found.set(projectId as Value, own);
    if (id === null) {
      const [name, allow_force_push, push_level, push_named, merge_level, merge_named] = columns;
      const named = { push_named, merge_named };
      own.push({ name, allow_force_push, push_level, merge_level, ...named } as BranchRule);
      continue;
    }
    const rulesOfProject: Rules = {
      isEmpty: isEmpty !== 0,
      defaultBranch: defaultBranch as string | null,
      branches: (name) => own.filter((rule) => fits(rule.name, name)),
      tags: () => [],
    };
    targets.set(id as Value, { branch: branch as string, rules: rulesOfProject });
  }
  return targets;
}

const NOTHING = { sql: "", values: [] };

/** What rules decide besides what their grants let do. */
const DECIDING = { protected_branches: "r.allow_force_push, ", protected_tags: "" } as const;

/** Loads the rules that may fit some names. @returns which of them fit a name */
async function fitting<Rule extends { readonly name: string }>(
  db: Reader,
  table: RulesTable,
  projectId: number,
  names: readonly string[],
  viewer: Viewer | undefined,
): Promise<(name: string) => readonly Rule[]> {
  if (names.length === 0) return () => [];
  const exact = new Map<string, Rule[]>();
  const wild: Rule[] = [];
  const may = held(table, viewer);
  const projectIds = table === "protected_tags" ? [projectId] : [projectId, projectId];
  const values = [...may.values, ...projectIds];
  const rulers = rulersOf(table, "?");
  const select = (where: string) =>
    statement`select r.name, ${DECIDING[table]}${may.sql} from ${rulers} t cross join ${table} r cross join projects p
      where r.project_id = t.owner_id and p.id = r.project_id and ${where}`;
  for (let at = 0; at < names.length; at += NAMES_AT_ONCE) {
    const among = placeholders(names.slice(at, at + NAMES_AT_ONCE));
    const named = select(`r.is_wildcard = 0 and r.name in (${among.sql})`);
    const more = at === 0 ? { sql: ` union all ${select("r.is_wildcard = 1")}`, values } : NOTHING;
    const rules = await db.all<Rule>(named + more.sql, [
      ...values,
      ...among.values,
      ...more.values,
    ]);
    for (const rule of rules) {
      if (isWildcard(rule.name)) wild.push(rule);
      else exact.set(rule.name, [...(exact.get(rule.name) ?? []), rule]);
    }
  }
  return (name) => {
    const others = wild.filter((rule) => fits(rule.name, name));
    return [...(exact.get(name) ?? []), ...others];
  };
}

/** A rule's columns that handlers use. */
export interface FoundRule {
  readonly id: number;
  readonly updated_at: number;
}

/** The rule with a name, or `undefined`. */
export function find(
  db: Reader,
  table: RulesTable,
  projectId: number,
  name: string,
): Awaitable<FoundRule | undefined> {
  return db.one<FoundRule>(
    `select id, updated_at from ${table} where project_id = ? and name = ?`,
    [projectId, name],
  );
}

/** The rule about branches with a name that is in force in a project: its own, or one of a group above it. */
export function findInForce(
  db: Reader,
  projectId: number,
  name: string,
): Awaitable<FoundRule | undefined> {
  return db.one<FoundRule>(
    `select r.id, r.updated_at, case when r.project_id = t.project_id then 0 else 1 end as is_inherited
     from ${rulersOf("protected_branches", "?")} t cross join protected_branches r
     where r.project_id = t.owner_id and r.name = ? order by is_inherited, r.id limit 1`,
    [projectId, projectId, name],
  );
}

/** Who may unprotect by a rule. */
export interface Unprotecting {
  /** Whether it says so at all: 0 if not. */
  readonly is_said: number;
  readonly unprotect_level: number | null;
  readonly unprotect_named: number;
}

/** Who may unprotect what a rule about branches protects, as far as a viewer is concerned. */
export async function unprotectingOf(
  db: Reader,
  ruleId: number,
  viewer: Viewer,
): Promise<Unprotecting> {
  const may = held("unprotect", viewer);
  const found = await db.one<Unprotecting>(
    `select case when exists (
         select 1 from protection_grants g where g.branch_id = r.id and g.action = 'unprotect')
       then 1 else 0 end as is_said, ${may.sql}
     from protected_branches r join projects p on p.id = r.project_id where r.id = ?`,
    [...may.values, ruleId],
  );
  return found as Unprotecting;
}

/** How many rules of a project have wildcards. */
export async function countWildcards(
  db: Reader,
  table: RulesTable,
  projectId: number,
): Promise<number> {
  const sql = `select count(*) from ${table} where project_id = ? and is_wildcard = 1`;
  const [counted] = await db.rows(sql, [projectId]);
  return (counted as [number])[0];
}

/** What a new rule has besides its grants. */
export interface NewRule {
  readonly name: string;
  readonly allow_force_push?: number;
  readonly code_owner_approval_required?: number;
}

/** Adds a rule without grants. @returns its id */
export function insert(
  db: Database,
  table: RulesTable,
  projectId: number,
  rule: NewRule,
  now: number,
): Promise<number> {
  return insertRow(db, table, {
    ...rule,
    project_id: projectId,
    is_wildcard: Number(isWildcard(rule.name)),
    created_at: now,
    updated_at: now,
  });
}

/** Removes a rule. */
export async function remove(db: Database, table: RulesTable, id: number): Promise<void> {
  await db.run(`delete from ${table} where id = ?`, [id]);
}

/** What presenting rules depends on. */
type Presenting = Pick<Context, "presenter" | "view"> & { readonly db: Reader };

/** The projects that have rules about branches in force in a project. */
async function rulersWithRules(db: Reader, projectId: number): Promise<Value[]> {
  const found = await db.rows(
    `select t.owner_id from ${rulersOf("protected_branches", "?")} t
     where exists (select 1 from protected_branches r where r.project_id = t.owner_id)`,
    [projectId, projectId],
  );
  return found.map(([id]) => id as Value);
}

/** The rules of a project, the oldest first; about branches then those of the groups above it. */
export async function list(
  presenting: Presenting,
  page: Page,
  table: RulesTable,
  { id, isHome }: Source,
  search: string | undefined,
): Promise<RowPage> {
  const { db, presenter } = presenting;
  const rulers = table === "protected_tags" || isHome ? [id] : await rulersWithRules(db, id);
  const where = all([
    among("pr.project_id", rulers),
    search ? contains(["pr.name"], search) : undefined,
  ]);
  // An index has the order of one project's rules.
  const order =
    rulers.length > 1
      ? { order: "case when pr.project_id = ? then 0 else 1 end, pr.id", orderValues: [id] }
      : { order: "pr.id" };
  const listed = await paginate(db, presenter, page, {
    from: `${table} pr where ${where.sql}`,
    values: where.values,
    ...order,
  });
  await embedGrants(presenting, presenter, listed.rows);
  return listed;
}

/** One rule as a row for its presenter. */
export async function row(presenting: Presenting, table: RulesTable, id: number): Promise<Value[]> {
  const { db, presenter } = presenting;
  const rows = await db.rows(`select ${presenter.columns} from ${table} pr where pr.id = ?`, [id]);
  await embedGrants(presenting, presenter, rows);
  return rows[0] as Value[];
}
