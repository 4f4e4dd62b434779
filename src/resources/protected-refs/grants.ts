import type { Viewer } from "../../core/access/visibility.ts";
import type { Condition } from "../../store/conditions.ts";
import { insertMany } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** Where rules are: those about branches, or those about tags. */
export type RulesTable = "protected_branches" | "protected_tags";

/** What a rule lets some do: the first three with branches, the last one with tags. */
export type Action = "push" | "merge" | "unprotect" | "create";

/** The column of grants that names their rule. */
export const RULE_COLUMN = { protected_branches: "branch_id", protected_tags: "tag_id" } as const;

/** The columns of which each grant has one: who it is for. Access level 0 is nobody, 60 administrators. */
export const SUBJECTS = ["access_level", "user_id", "group_id", "deploy_key_id"] as const;

/** Whom a grant lets do something. */
export interface Subject {
  readonly column: (typeof SUBJECTS)[number];
  readonly value: number;
}

/** A grant as it is stored. */
export interface Grant extends Subject {
  readonly id: number;
}

/** That a grant `g` of a rule of a project `p` names the viewer, or a group above the project that they are in. */
const NAMES_VIEWER = `(g.user_id = ? or g.group_id is not null
  and g.group_id in (select ancestor_id from namespace_ancestors where namespace_id = p.namespace_id)
  and exists (select 1 from namespace_ancestors a join members m on m.namespace_id = a.ancestor_id
    where a.namespace_id = g.group_id and m.user_id = ? and (m.expires_at is null or m.expires_at > ?)))`;

/** {@link held}, without the viewer. */
const HELD = (action: Action) =>
  `min(case when g.action = '${action}' and g.access_level > 0 then g.access_level end) as ${action}_level,
   max(case when g.action = '${action}' and ${NAMES_VIEWER} then 1 else 0 end) as ${action}_named`;

const HELD_OF = {
  protected_branches: `${HELD("push")}, ${HELD("merge")}`,
  protected_tags: HELD("create"),
  unprotect: HELD("unprotect"),
};

/**
 * What the grants `g` of each rule let do: columns with the lowest access level that may, and with whether the viewer is
 * named. They are selected by rule (`group by`).
 *
 * @param viewer without one, nobody is named
 */
export function held(of: keyof typeof HELD_OF, viewer: Viewer | undefined): Condition {
  const id = viewer?.caller?.id ?? 0;
  const who = [id, id, viewer?.today ?? ""];
  return { sql: HELD_OF[of], values: of === "protected_branches" ? [...who, ...who] : who };
}

/** The grants of a rule about one thing, in the order they were made. */
export async function grantsOf(
  db: Reader,
  table: RulesTable,
  ruleId: number,
  action: Action,
): Promise<Grant[]> {
  const rows = await db.rows(
    `select id, ${SUBJECTS.join(", ")} from protection_grants
     where ${RULE_COLUMN[table]} = ? and action = ? order by id`,
    [ruleId, action],
  );
  return rows.map(([id, ...values]) => {
    const at = values.findIndex((value) => value !== null);
    return {
      id: id as number,
      column: SUBJECTS[at] ?? "access_level",
      value: values[at] as number,
    };
  });
}

/** Adds grants to a rule. */
export function addGrants(
  db: Database,
  table: RulesTable,
  ruleId: number,
  action: Action,
  subjects: readonly Subject[],
): Promise<void> {
  const rows = subjects.map((subject) => [ruleId, action, ...valuesOf(subject)]);
  return insertMany(db, "protection_grants", [RULE_COLUMN[table], "action", ...SUBJECTS], rows);
}

const valuesOf = ({ column, value }: Subject): Value[] =>
  SUBJECTS.map((one) => (one === column ? value : null));

/** Changes whom a grant is for. */
export async function changeGrant(db: Database, grant: Grant): Promise<void> {
  const columns = SUBJECTS.map((column) => `${column} = ?`).join(", ");
  await db.run(`update protection_grants set ${columns} where id = ?`, [
    ...valuesOf(grant),
    grant.id,
  ]);
}

/** Removes grants. */
export async function removeGrants(db: Database, ids: readonly number[]): Promise<void> {
  const among = placeholders(ids);
  if (ids.length > 0) {
    await db.run(`delete from protection_grants where id in (${among.sql})`, among.values);
  }
}

const PROJECT = `coalesce(
  (select b.project_id from protected_branches b where b.id = protection_grants.branch_id),
  (select t.project_id from protected_tags t where t.id = protection_grants.tag_id))`;

/** Removes what lets users do something in projects that they are no longer members of, own or inherited. */
export async function removeGrantsOfStrangers(
  db: Database,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return;
  const among = placeholders(userIds);
  await db.run(
    `delete from protection_grants where user_id in (${among.sql}) and not exists (
       select 1 from projects p join members m on m.user_id = protection_grants.user_id
         and (m.project_id = p.id or m.namespace_id in (
           select ancestor_id from namespace_ancestors where namespace_id = p.namespace_id))
       where p.id = ${PROJECT})`,
    among.values,
  );
}

/** Removes what lets a deploy key do something in a project. */
export async function removeGrantsOfKey(
  db: Database,
  projectId: number,
  keyId: number,
): Promise<void> {
  await db.run(`delete from protection_grants where deploy_key_id = ? and ${PROJECT} = ?`, [
    keyId,
    projectId,
  ]);
}

/** The grants `g` with the names of whom they are for. */
const NAMED_GRANTS = `protection_grants g left join users u on u.id = g.user_id
  left join namespaces n on n.id = g.group_id left join ssh_keys k on k.id = g.deploy_key_id`;

/**
 * The grants of some rules, in the order they were made.
 *
 * @param columns of {@link NAMED_GRANTS}; the rule and the action follow them
 */
export function rowsOfGrants(
  db: Reader,
  table: RulesTable,
  columns: string,
  ruleIds: readonly Value[],
): Awaitable<Value[][]> {
  const among = placeholders(ruleIds);
  const rule = `g.${RULE_COLUMN[table]}`;
  return db.rows(
    `select ${columns}, ${rule}, g.action from ${NAMED_GRANTS} where ${rule} in (${among.sql}) order by g.id`,
    among.values,
  );
}
