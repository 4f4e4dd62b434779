import { membershipsIn } from "../../core/access/memberships.ts";
import type { Source } from "../../core/access/source.ts";
import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import type { Tier } from "../../core/resource.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import type { Plan } from "./allowed.ts";
import type { Subject } from "./grants.ts";

type Named = Exclude<Subject["column"], "access_level">;

/** What rights are called in errors. */
const RIGHTS = {
  push: "Push access levels",
  merge: "Merge access levels",
  unprotect: "Unprotect access levels",
  create: "Create access levels",
} as const;

/** What holders are called in errors, and what is wrong with those that a project does not have. */
const REFUSALS: Readonly<Record<Subject["column"], readonly [name: string, refusal?: string]>> = {
  access_level: ["access level"],
  user_id: ["user", "is not a member of the project"],
  group_id: ["group", "does not have access to the project"],
  deploy_key_id: ["deploy key", "is not enabled for this project"],
};

/** Queries for the ids of those that can hold rights in a project. */
const HOLDERS: Readonly<Record<Named, (source: Source) => Condition>> = {
  user_id: (source) => {
    const members = membershipsIn(source);
    return {
      sql: `select u.id from (${members.sql}) as m join users u on u.id = m.user_id and ${NOT_DELETED_USER}
        where (m.expires_at is null or m.expires_at > ?) and u.id`,
      values: [...members.values, source.viewer.today],
    };
  },
  group_id: ({ id, namespaceId, viewer }) => ({
    sql: `select id from (select n.id from namespace_ancestors a join namespaces n on n.id = a.ancestor_id
        where a.namespace_id = ? and n.kind = 'group'
      union all select l.group_id from group_links l
        where l.project_id = ? and (l.expires_at is null or l.expires_at > ?)) as n where n.id`,
    values: [namespaceId, id, viewer.today],
  }),
  deploy_key_id: ({ id }) => ({
    sql: "select key_id from deploy_keys where project_id = ? and can_push = 1 and key_id",
    values: [id],
  }),
};

/**
 * Checks that those who are to hold rights can: users are members of the project, groups are above it or invited to it, deploy keys may push
 * to it, and nobody holds a right twice.
 *
 * @throws ApiError 422 in GitLab's words
 */
export async function requireHolders(
  { db, source, tier }: { db: Reader; source: Source; tier: Tier },
  plans: readonly Plan[],
): Promise<void> {
  const named = plans.flatMap(({ changed, added }) => [...changed, ...added]);
  const known = new Set<string>();
  for (const column of Object.keys(HOLDERS) as Named[]) {
    const ids = named.filter((subject) => subject.column === column).map(({ value }) => value);
    if (ids.length === 0) continue;
    const among = placeholders(ids);
    const { sql, values } = HOLDERS[column](source);
    const found = await db.rows(`${sql} in (${among.sql})`, [...values, ...among.values]);
    for (const [id] of found) known.add(`${column} ${id}`);
  }
  const problems = new Set<string>();
  for (const { action, changed, added, all } of plans) {
    const refuse = (column: Subject["column"], problem: string) =>
      problems.add(`${RIGHTS[action]} ${REFUSALS[column][0]} ${problem}`);
    for (const { column, value } of [...changed, ...added]) {
      const [, unknown] = REFUSALS[column];
      if (tier === "free" && (column === "user_id" || column === "group_id")) {
        refuse(column, "must be blank");
      } else if (unknown && !known.has(`${column} ${value}`)) refuse(column, unknown);
    }
    const keys = all.map(({ column, value }) => `${column} ${value}`);
    const twice = all.find((_, at) => keys.indexOf(keys[at] as string) < at);
    if (twice) refuse(twice.column, "has already been taken");
  }
  if (problems.size > 0) throw new ApiError(422, { message: [...problems] });
}
