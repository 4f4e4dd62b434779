import type { Source } from "../../core/access/source.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { all } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { fits, isWildcard } from "./wildcards.ts";

/** Where rules are: those about branches, or those about tags. */
export type RulesTable = "protected_branches" | "protected_tags";

/** A rule about branches, as far as it decides something. */
export interface BranchRule {
  readonly name: string;
  readonly push_level: number;
  readonly merge_level: number;
  readonly allow_force_push: number;
}

/** A rule about tags. */
export interface TagRule {
  readonly name: string;
  readonly create_level: number;
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

const COLUMNS = {
  protected_branches: "name, push_level, merge_level, allow_force_push",
  protected_tags: "name, create_level",
} as const;

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
 */
export async function rulesOf(
  db: Reader,
  projectId: number,
  names: readonly string[],
): Promise<Rules> {
  const below = (beginning: string) =>
    names.filter((name) => name.startsWith(beginning)).map((name) => name.slice(beginning.length));
  const state = await db.one<{ default_branch: string | null; is_empty: number }>(STATE, [
    projectId,
  ]);
  return {
    isEmpty: state?.is_empty !== 0,
    defaultBranch: state?.default_branch ?? null,
    branches: await fitting<BranchRule>(db, "protected_branches", projectId, below(BRANCHES)),
    tags: await fitting<TagRule>(db, "protected_tags", projectId, below(TAGS)),
  };
}

const REQUEST = "from merge_requests mr join projects p on p.id = mr.project_id";
const RULE = "mr.id, null, null, null, b.name, b.push_level, b.merge_level, b.allow_force_push";

/** What a merge request's project says about its target branch. */
interface TargetRules {
  readonly branch: string;
  readonly rules: Rules;
}

/** The rules of merge requests' projects about their target branches, by the ids of the requests, in one statement. */
export async function rulesOfTargets(
  db: Reader,
  requestIds: readonly Value[],
): Promise<Map<Value, TargetRules>> {
  const among = placeholders(requestIds);
  const where = `where mr.id in (${among.sql})`;
  const rows = await db.rows(
    `select mr.id, mr.target_branch, p.default_branch, ${IS_EMPTY}, null, null, null, null ${REQUEST} ${where}
     union all select ${RULE} ${REQUEST}
       join protected_branches b on b.project_id = p.id and b.is_wildcard = 0 and b.name = mr.target_branch
       ${where}
     union all select ${RULE} ${REQUEST}
       join protected_branches b on b.project_id = p.id and b.is_wildcard = 1 ${where}`,
    [...among.values, ...among.values, ...among.values],
  );
  const found = new Map<Value, BranchRule[]>();
  for (const [id, branch, , , name, push_level, merge_level, allow_force_push] of rows) {
    const rules = found.get(id as Value) ?? [];
    found.set(id as Value, rules);
    if (branch === null) {
      rules.push({ name, push_level, merge_level, allow_force_push } as BranchRule);
    }
  }
  const targets = new Map<Value, TargetRules>();
  for (const [id, branch, defaultBranch, isEmpty] of rows) {
    if (branch === null) continue;
    const rules = found.get(id as Value) ?? [];
    targets.set(id as Value, {
      branch: branch as string,
      rules: {
        isEmpty: isEmpty !== 0,
        defaultBranch: defaultBranch as string | null,
        branches: (name) => rules.filter((rule) => fits(rule.name, name)),
        tags: () => [],
      },
    });
  }
  return targets;
}

const NOTHING = { sql: "", values: [] };

/** Loads the rules that may fit some names. @returns which of them fit a name */
async function fitting<Rule extends { readonly name: string }>(
  db: Reader,
  table: RulesTable,
  projectId: number,
  names: readonly string[],
): Promise<(name: string) => readonly Rule[]> {
  if (names.length === 0) return () => [];
  const exact = new Map<string, Rule>();
  const wild: Rule[] = [];
  const select = `select ${COLUMNS[table]} from ${table} where project_id = ? and is_wildcard =`;
  for (let at = 0; at < names.length; at += NAMES_AT_ONCE) {
    const among = placeholders(names.slice(at, at + NAMES_AT_ONCE));
    const named = { sql: `${select} 0 and name in (${among.sql})`, values: among.values };
    const more = at === 0 ? { sql: ` union all ${select} 1`, values: [projectId] } : NOTHING;
    const rules = await db.all<Rule>(named.sql + more.sql, [
      projectId,
      ...named.values,
      ...more.values,
    ]);
    for (const rule of rules) {
      if (isWildcard(rule.name)) wild.push(rule);
      else exact.set(rule.name, rule);
    }
  }
  return (name) => {
    const own = exact.get(name);
    const others = wild.filter((rule) => fits(rule.name, name));
    return own ? [own, ...others] : others;
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

/** The access levels of a rule about branches. */
export interface BranchLevels extends Pick<BranchRule, "push_level" | "merge_level"> {
  readonly id: number;
}

/** The access levels of a rule about branches that exists. */
export async function levelsOf(db: Reader, id: number): Promise<BranchLevels> {
  const sql = "select id, push_level, merge_level from protected_branches where id = ?";
  return (await db.one<BranchLevels>(sql, [id])) as BranchLevels;
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

/** Adds a rule. @returns its id */
export function insert(
  db: Database,
  table: RulesTable,
  projectId: number,
  rule: BranchRule | TagRule,
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

/** The rules of a project, the oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  table: RulesTable,
  { id }: Source,
  search: string | undefined,
): Promise<RowPage> {
  const where = all([
    { sql: "pr.project_id = ?", values: [id] },
    search ? contains(["pr.name"], search) : undefined,
  ]);
  return paginate(db, presenter, page, {
    from: `${table} pr where ${where.sql}`,
    values: where.values,
    order: "pr.id",
  });
}

/** One rule as a row for its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  table: RulesTable,
  id: number,
): Promise<Value[]> {
  const rows = await db.rows(`select ${presenter.columns} from ${table} pr where pr.id = ?`, [id]);
  return rows[0] as Value[];
}
