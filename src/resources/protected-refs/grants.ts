import { linkedMembership } from "../../core/access/memberships.ts";
import { NOT_DELETED_USER, type Viewer } from "../../core/access/visibility.ts";
import { among, type Condition, projectsBelow } from "../../store/conditions.ts";
import { insertMany } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** Where rules are: those about branches, or those about tags. */
export type RulesTable = "protected_branches" | "protected_tags";

/** What a rule lets some do: the first three with branches, the last one with tags. */
export type Action = "push" | "merge" | "unprotect" | "create";

/** The column of grants that names their rule. */
const RULE_COLUMN = { protected_branches: "branch_id", protected_tags: "tag_id" } as const;

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

/**
 * {@link held} of one right. Each grant that matters is found by an index, however many there are. Groups are looked at from
 * the grants on, not from the viewer's memberships, which may be thousands: for that SQLite needs the cross joins.
 */
function heldBy(rule: "branch_id" | "tag_id", action: Action): string {
  const of = `g.${rule} = r.id and g.action = '${action}'`;
  const named = `${of} and g.access_level is null`;
  return `(select min(g.access_level) from protection_grants g where ${of} and g.access_level > 0) as ${action}_level,
    case when exists (select 1 from protection_grants g where ${named} and (g.user_id = ? or g.deploy_key_id = ?)) or exists (
      select 1 from protection_grants g cross join namespace_ancestors a cross join members m
      where ${named} and g.user_id is null
        and g.group_id in (select ancestor_id from namespace_ancestors where namespace_id = p.namespace_id
          union all select l.group_id from group_links l where l.project_id = p.id and (l.expires_at is null or l.expires_at > ?))
        and a.namespace_id = g.group_id and m.namespace_id = a.ancestor_id and m.user_id = ?
        and (m.expires_at is null or m.expires_at > ?))
    then 1 else 0 end as ${action}_named`;
}

const HELD = {
  protected_branches: `${heldBy("branch_id", "push")}, ${heldBy("branch_id", "merge")}`,
  protected_tags: heldBy("tag_id", "create"),
  unprotect: heldBy("branch_id", "unprotect"),
};

/**
 * What a rule `r` of a project `p` lets do, as columns: for each right the lowest access level that has it, and whether the
 * viewer is named.
 *
 * @param viewer without one, nobody is named
 */
export function held(of: keyof typeof HELD, viewer: Viewer | undefined): Condition {
  const id = viewer?.caller?.id ?? 0;
  const today = viewer?.today ?? "";
  const who = [id, viewer?.caller?.reach?.keyId ?? 0, today, id, today];
  return { sql: HELD[of], values: of === "protected_branches" ? [...who, ...who] : who };
}

/** The grants of a rule about branches, in the order they were made. */
export async function grantsOf(
  db: Reader,
  ruleId: number,
): Promise<(Grant & { readonly action: Action })[]> {
  const rows = await db.rows(
    `select id, action, ${SUBJECTS.join(", ")} from protection_grants where branch_id = ? order by id`,
    [ruleId],
  );
  return rows.map(([id, action, ...values]) => {
    const at = values.findIndex((value) => value !== null);
    return {
      id: id as number,
      action: action as Action,
      column: SUBJECTS[at] ?? "access_level",
      value: values[at] as number,
    };
  });
}

/** Adds grants to a rule. @param added for each right whom it is given to */
export function addGrants(
  db: Database,
  table: RulesTable,
  ruleId: number,
  added: readonly { readonly action: Action; readonly added: readonly Subject[] }[],
): Promise<void> {
  const rows = added.flatMap(({ action, added: subjects }) =>
    subjects.map((subject) => [ruleId, action, ...valuesOf(subject)]),
  );
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

/** Removes those of the named grants that let users do something in projects that they no longer belong to. */
const ofStrangers = ({ sql, values }: Condition): Condition => ({
  sql: `delete from protection_grants where ${sql} and not exists (
     select 1 from projects p where p.id = ${PROJECT} and (
       exists (select 1 from members m where m.user_id = protection_grants.user_id
         and (m.project_id = p.id or m.namespace_id in (
           select ancestor_id from namespace_ancestors where namespace_id = p.namespace_id)))
       or ${linkedMembership("p.namespace_id", "p.id", "protection_grants.user_id")}))`,
  values,
});

/** Removes what lets users do something in projects that they no longer belong to. */
export async function removeGrantsOfStrangers(
  db: Database,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return;
  const { sql, values } = ofStrangers(among("user_id", userIds));
  await db.run(sql, values);
}

/**
 * Removes what lets a group that is no longer invited, and users who belonged to projects by that, do something there.
 *
 * @param link that has ended, of a project or of a group with what is below it
 */
export async function removeGrantsByLink(
  db: Database,
  link: {
    readonly project_id: number | null;
    readonly namespace_id: number | null;
    readonly group_id: number;
  },
): Promise<void> {
  const { project_id: projectId, namespace_id: namespaceId, group_id: groupId } = link;
  if (projectId !== null) {
    await db.run(
      `delete from protection_grants where group_id = ? and ${PROJECT} = ? and group_id not in (
         select a.ancestor_id from projects p join namespace_ancestors a on a.namespace_id = p.namespace_id
         where p.id = ?)`,
      [groupId, projectId, projectId],
    );
  }
  const projects: Condition =
    projectId === null
      ? projectsBelow("project_id", namespaceId as number)
      : { sql: "project_id = ?", values: [projectId] };
  const { sql, values } = ofStrangers({
    sql: `user_id is not null and (branch_id in (select id from protected_branches where ${projects.sql})
      or tag_id in (select id from protected_tags where ${projects.sql}))`,
    values: [...projects.values, ...projects.values],
  });
  await db.run(sql, values);
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
    `select ${columns}, ${rule}, g.action from ${NAMED_GRANTS} where ${rule} in (${among.sql})
       and (g.user_id is null or ${NOT_DELETED_USER}) order by g.id`,
    among.values,
  );
}
