import type { Condition } from "../../store/conditions.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import { joined, statement } from "../../store/texts.ts";
import type { Heir } from "./owner.ts";
import { ROLES } from "./roles.ts";

// Who belongs to a group or project: its members, and by links (docs/decisions/0097) those of groups that were invited to
// it, and of the groups above these. Everything that asks for rights, or for who has them, asks here.

/** SQL of the level that a link `l` gives a member `m`: the lower of its own and theirs in the invited group. */
const LINKED_LEVEL =
  "case when m.access_level < l.access_level then m.access_level else l.access_level end";
/** SQL of the day on which that ends: with the link or with the membership, whichever ends first. */
const LINKED_UNTIL =
  "case when l.expires_at < m.expires_at or m.expires_at is null then l.expires_at else m.expires_at end";

const valid = (alias: string) => `(${alias}.expires_at is null or ${alias}.expires_at > ?)`;

// For SQLite, the cross joins keep the order: a lookup by user begins with the user's memberships, of which there may be many
// fewer than members of an invited group; one by place with its links, of which there are mostly none.
const LINKED_MEMBERS = "group_link_sources s cross join members m";
const OF_LINK = "s.link_id = l.id and m.namespace_id = s.namespace_id";

/** A query for ids of what a user belongs to with at least a level, by one of the two columns. */
function belonging(
  column: "namespace_id" | "project_id",
  user: Condition,
  today: string,
  level: number,
): Condition {
  return {
    sql: statement`select m.${column} as id from members m
      where m.user_id = ${user.sql} and ${valid("m")} and m.access_level >= ? and m.${column} is not null
      union all
      select l.${column} from members m cross join group_link_sources s cross join group_links l
      where m.user_id = ${user.sql} and ${valid("m")} and m.access_level >= ?
        and s.namespace_id = m.namespace_id and l.id = s.link_id
        and ${valid("l")} and l.access_level >= ? and l.${column} is not null`,
    values: [...user.values, today, level, ...user.values, today, level, today, level],
  };
}

/**
 * A query for the ids of the groups that a user belongs to, without those below them.
 *
 * @param user SQL of the user's id
 * @param today `YYYY-MM-DD`: memberships and links that expire on or before it have ended
 * @param level the level that they have at least
 */
export const groupsOf = (user: Condition, today: string, level: number): Condition =>
  belonging("namespace_id", user, today, level);

/** A query for the ids of the projects that a user belongs to by themselves, not by a group they are in; as {@link groupsOf}. */
export const projectsOf = (user: Condition, today: string, level: number): Condition =>
  belonging("project_id", user, today, level);

/** SQL of the ids of a place where rights are asked for: a namespace, and a project in it. */
interface Place {
  readonly namespace: Condition;
  readonly project?: Condition | undefined;
}

/** Queries for rows `x` of a table with both columns that belong to a place or to a group above it. */
function rowsOf(table: string, columns: string, { namespace, project }: Place): Condition[] {
  const above: Condition = {
    sql: statement`select ${columns} from namespace_ancestors a cross join ${table} x
      where a.namespace_id = ${namespace.sql} and x.namespace_id = a.ancestor_id`,
    values: namespace.values,
  };
  if (!project) return [above];
  const own: Condition = {
    sql: statement`select ${columns} from ${table} x where x.project_id = ${project.sql}`,
    values: project.values,
  };
  return [own, above];
}

const LINK = "x.id, x.group_id, x.access_level, x.expires_at";

/** The links of a place and of the groups above it, as a table `l`. @param to only of one of the two */
function linksOf(place: Place, to: "own" | "above" | "both" = "both"): Condition {
  const all = rowsOf("group_links", LINK, place);
  const queries = to === "both" ? all : to === "own" ? all.slice(0, 1) : all.slice(1);
  return {
    sql: statement`(${joined(
      queries.map(({ sql }) => sql),
      " union all ",
    )}) as l`,
    values: queries.flatMap(({ values }) => values),
  };
}

/**
 * SQL of the highest level that links give a user in a place; null if none does. Its values are the user's id, and twice
 * the day.
 *
 * @param namespace SQL of the namespace's id
 * @param project SQL of the project's id, if it is one
 */
export function linkedLevel(namespace: string, project?: string): string {
  const links = linksOf({
    namespace: { sql: namespace, values: [] },
    project: project === undefined ? undefined : { sql: project, values: [] },
  });
  return `select max(${LINKED_LEVEL}) from ${links.sql} cross join ${LINKED_MEMBERS}
    where ${OF_LINK} and m.user_id = ? and ${valid("m")} and ${valid("l")}`;
}

/**
 * SQL of whether links, expired ones too, let a user into a project, with at least a level.
 *
 * @param namespace SQL of the id of its namespace
 * @param user SQL of the user's id
 */
export function linkedMembership(
  namespace: string,
  project: string,
  user: string,
  level = 0,
): string {
  const links = linksOf({
    namespace: { sql: namespace, values: [] },
    project: { sql: project, values: [] },
  });
  return `exists (select 1 from ${links.sql} cross join ${LINKED_MEMBERS}
    where ${OF_LINK} and m.user_id = ${user} and ${LINKED_LEVEL} >= ${level})`;
}

/** What queries for memberships tell of each. */
const COLUMNS =
  "id, user_id, namespace_id, project_id, access_level, expires_at, created_by_id, created_at, updated_at";
const columnsOf = (alias: string, level: string, until: string) =>
  COLUMNS.split(", ")
    .map((name) => {
      const computed = { access_level: level, expires_at: until }[name];
      return computed === undefined ? `${alias}.${name}` : `${computed} as ${name}`;
    })
    .join(", ");
const DIRECT_COLUMNS = `${columnsOf("x", "x.access_level", "x.expires_at")}, cast(null as bigint) as group_id`;
const LINKED_COLUMNS = `${columnsOf("m", LINKED_LEVEL, LINKED_UNTIL)}, l.group_id`;

/** A query for memberships as {@link membershipsIn} tells them, of rows `x` of members that a condition names. */
export const membershipsWhere = ({ sql, values }: Condition): Condition => ({
  sql: statement`select ${DIRECT_COLUMNS} from members x where ${sql}`,
  values,
});

/** {@link membershipsIn} a group or project without those that are by links. */
export function directMemberships(heir: Heir): Condition {
  const direct = rowsOf("members", DIRECT_COLUMNS, placeOf(heir));
  return {
    sql: joined(
      direct.map(({ sql }) => sql),
      " union all ",
    ),
    values: direct.flatMap(({ values }) => values),
  };
}

const ALL: Condition = { sql: "1 = 1", values: [] };

/**
 * A query for all who belong to a group or project: the memberships of it, of the groups above it and, with `group_id`, of
 * groups that were invited to one of these, with the level and the last day that count here. Expired ones are among them.
 *
 * @param condition on the invited groups, by the links `l` that count. Default: all
 */
export function membershipsIn(heir: Heir, condition: Condition = ALL): Condition {
  return membershipsOf(placeOf(heir), condition);
}

/** {@link membershipsIn} a project of which only the id is known. */
export const membershipsInProject = (id: number): Condition =>
  membershipsOf(
    {
      namespace: { sql: "(select namespace_id from projects where id = ?)", values: [id] },
      project: { sql: "?", values: [id] },
    },
    ALL,
  );

/** Those {@link membershipsIn} a group or project that are by links. @param to only by its own links, or by those of groups above */
export function linkedMemberships(
  heir: Heir,
  condition: Condition,
  to: "own" | "above" | "both",
): Condition {
  const links = linksOf(placeOf(heir), to);
  return {
    sql: statement`select ${LINKED_COLUMNS} from ${links.sql} cross join ${LINKED_MEMBERS}
      where ${OF_LINK} and ${condition.sql}`,
    values: [...links.values, ...condition.values],
  };
}

const placeOf = ({ column, id, namespaceId }: Heir): Place => ({
  namespace: { sql: "?", values: [namespaceId] },
  project: column === "project_id" ? { sql: "?", values: [id] } : undefined,
});

function membershipsOf(place: Place, condition: Condition): Condition {
  const direct = rowsOf("members", DIRECT_COLUMNS, place);
  const links = linksOf(place);
  return {
    sql: statement`${joined(
      direct.map(({ sql }) => sql),
      " union all ",
    )} union all
      select ${LINKED_COLUMNS} from ${links.sql} cross join ${LINKED_MEMBERS}
      where ${OF_LINK} and ${condition.sql}`,
    values: [...direct.flatMap(({ values }) => values), ...links.values, ...condition.values],
  };
}

/** A group that a user is in. */
export interface GroupOfUser {
  readonly full_path: string;
  /** Their level by the membership itself. */
  readonly access_level: number;
}

const OF_USER = `m.user_id = ? and ${valid("m")} and m.access_level >= ${ROLES.guest} and n.visibility >= 0`;

/**
 * The groups that a user is a member of by a membership in them, by path.
 *
 * @param today as in {@link groupsOf}
 * @param most how many at most. Default: all
 */
export function directGroups(
  db: Reader,
  userId: number,
  today: string,
  most = Number.MAX_SAFE_INTEGER,
): Awaitable<GroupOfUser[]> {
  return db.all<GroupOfUser>(
    `select n.full_path, m.access_level from members m join namespaces n on n.id = m.namespace_id
     where ${OF_USER} order by n.full_path limit ?`,
    [userId, today, most],
  );
}

/** The paths of the groups that a user is a member of, and of all below them. @param today as in {@link groupsOf} */
export async function groupPaths(db: Reader, userId: number, today: string): Promise<string[]> {
  const rows = await db.rows(
    `select distinct n.full_path from members m join namespace_ancestors a on a.ancestor_id = m.namespace_id
     join namespaces n on n.id = a.namespace_id where ${OF_USER} order by n.full_path`,
    [userId, today],
  );
  return rows.map(([path]) => path as string);
}
