import { linkedMembership } from "../../core/access/memberships.ts";
import { ROLES } from "../../core/access/roles.ts";
import { among } from "../../store/conditions.ts";
import type { Database, Reader } from "../../store/port.ts";
import { CONFIRMED_ADDRESSES } from "../users/queries.ts";
import type { OwnedFiles, ReviewFacts } from "./review.ts";
import { inForce } from "./settings.ts";

/** A merge request whose code is stored. */
interface Owner {
  readonly id: number;
  readonly project_id: number;
}

/** Names that one statement looks up, and rows that it inserts. */
const BATCH = 500;

/** Stores what the code of a merge request says about its approvals, in place of what an older version said. */
export async function storeReview(
  db: Database,
  request: Owner,
  { owned, committers }: ReviewFacts,
  now: number,
): Promise<void> {
  await storeCommitters(db, request, committers);
  await db.run(
    "delete from approval_rules where merge_request_id = ? and rule_type = 'code_owner'",
    [request.id],
  );
  if (owned.length === 0) return;
  const ids = await insertRules(db, request, owned, now);
  const users = await usersNamed(db, request, owned);
  const groups = await groupsNamed(db, request, owned);
  const pairs = (
    known: ReadonlyMap<string, number>,
    names: (line: OwnedFiles) => readonly string[],
  ) =>
    owned.flatMap((line, at) => {
      const found = names(line).flatMap((name) => known.get(name) ?? []);
      return [...new Set(found)].map((id): [number, number] => [ids[at] as number, id]);
    });
  const named = ({ owners }: OwnedFiles) => [...owners.names, ...owners.emails];
  await insertPairs(db, "approval_rule_users", "user_id", pairs(users, named));
  const groupNames = ({ owners }: OwnedFiles) => owners.names;
  await insertPairs(db, "approval_rule_groups", "namespace_id", pairs(groups, groupNames));
}

/** Takes all approvals of a merge request back, if its project wants that for new code. */
export async function resetApprovals(db: Database, request: Owner): Promise<void> {
  await db.run(
    `delete from approvals where merge_request_id = ?
       and (select ${inForce("reset_approvals_on_push")} from projects p where p.id = ?) = 1`,
    [request.id, request.project_id],
  );
}

async function storeCommitters(
  db: Database,
  { id }: Owner,
  emails: readonly string[],
): Promise<void> {
  await db.run("delete from merge_request_committers where merge_request_id = ?", [id]);
  for (let start = 0; start < emails.length; start += BATCH) {
    const { sql, values } = among("a.email", emails.slice(start, start + BATCH));
    await db.run(
      `insert into merge_request_committers (merge_request_id, user_id)
       select distinct cast(? as bigint), a.user_id from (${CONFIRMED_ADDRESSES}) a where ${sql}
       on conflict do nothing`,
      [id, ...values],
    );
  }
}

async function insertRules(
  db: Database,
  { id, project_id }: Owner,
  owned: readonly OwnedFiles[],
  now: number,
): Promise<number[]> {
  const ids: number[] = [];
  for (const { pattern, section, approvals, isOptional, owners } of owned) {
    const roles = owners.roles.map((role) => ROLES[role]).join(",");
    const [row] = await db.rows(
      `insert into approval_rules (project_id, merge_request_id, name, rule_type, section, is_optional, roles,
         approvals_required, created_at, updated_at)
       values (?, ?, ?, 'code_owner', ?, ?, ?, ?, ?, ?) returning id`,
      [project_id, id, pattern, section, Number(isOptional), roles || null, approvals, now, now],
    );
    ids.push(row?.[0] as number);
  }
  return ids;
}

async function insertPairs(
  db: Database,
  table: string,
  column: string,
  pairs: readonly [number, number][],
): Promise<void> {
  for (let start = 0; start < pairs.length; start += BATCH) {
    const some = pairs.slice(start, start + BATCH);
    await db.run(
      `insert into ${table} (rule_id, ${column}) values ${some.map(() => "(?, ?)").join(", ")}`,
      some.flat(),
    );
  }
}

/** Ids by name, of what a query finds for some of the names. */
async function idsBy(
  names: readonly string[],
  find: (some: readonly string[]) => ReturnType<Reader["rows"]>,
): Promise<Map<string, number>> {
  const all = [...new Set(names)];
  const ids = new Map<string, number>();
  for (let start = 0; start < all.length; start += BATCH) {
    for (const [id, ...found] of await find(all.slice(start, start + BATCH))) {
      for (const name of found) ids.set(name as string, id as number);
    }
  }
  return ids;
}

/** The members of the project among the named users, by name and by address. */
function usersNamed(
  db: Reader,
  { project_id }: Owner,
  owned: readonly OwnedFiles[],
): Promise<Map<string, number>> {
  const names = owned.flatMap(({ owners }) => [...owners.names, ...owners.emails]);
  return idsBy(names, (some) => {
    const [username, email] = [among("lower(u.username)", some), among("a.email", some)];
    return db.rows(
      `select u.id, u.name from (
         select id, lower(username) as name from users u where ${username.sql}
         union all select a.user_id, a.email from (${CONFIRMED_ADDRESSES}) a where ${email.sql}) u
       join projects p on p.id = ? join namespaces n on n.id = p.namespace_id
       where (n.owner_id = u.id or u.id in (
         select m.user_id from members m where m.project_id = p.id
         union all select m.user_id from members m
           join namespace_ancestors a on a.ancestor_id = m.namespace_id and a.namespace_id = p.namespace_id)
         or ${linkedMembership("p.namespace_id", "p.id", "u.id")})`,
      [...username.values, ...email.values, project_id],
    );
  });
}

/** The project's group, those above it and, as developers, those invited to the project itself, as far as they are named. */
function groupsNamed(
  db: Reader,
  { project_id }: Owner,
  owned: readonly OwnedFiles[],
): Promise<Map<string, number>> {
  const names = owned.flatMap(({ owners }) => owners.names);
  return idsBy(names, (some) => {
    const { sql, values } = among("lower(n.full_path)", some);
    return db.rows(
      `select n.id, lower(n.full_path) from namespaces n
       where n.kind = 'group' and ${sql} and n.id in (
         select a.ancestor_id from projects p
         join namespace_ancestors a on a.namespace_id = p.namespace_id where p.id = ?
         union all select l.group_id from group_links l
         where l.project_id = ? and l.access_level >= ${ROLES.developer})`,
      [...values, project_id, project_id],
    );
  });
}
