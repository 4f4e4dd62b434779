import { all, any, type Condition, when } from "../../store/conditions.ts";
import { statement } from "../../store/texts.ts";

import type { Person } from "./caller.ts";
import { FEATURE_LEVELS, type Feature, memberRole } from "./features.ts";
import { groupsOf, projectsOf } from "./memberships.ts";
import type { Owner } from "./owner.ts";
import { hasRole, ROLES, type Role } from "./roles.ts";

/** Visibility levels, with GitLab's numbers: who may read a group or project without being a member. */
export const VISIBILITIES = { private: 0, internal: 10, public: 20 } as const;
export type Visibility = keyof typeof VISIBILITIES;

/** The names of the visibility levels, from the lowest. */
export const VISIBILITY_NAMES = Object.keys(VISIBILITIES) as Visibility[];

/** The level of groups and projects that are being deleted, which nobody may read. */
export const BEING_DELETED = -1;
/**
 * The level of the hidden projects that have the epics and wikis of groups (docs/decisions/0104): nobody may read these projects, nor
 * see them in lists; the group decides who may read their epics. See {@link visibleHomes}.
 */
export const OF_HOMES = -2;

/** The condition under which a row `p` of projects is the hidden one that has the epics of its group. */
export const ON_EPIC = `p.visibility + 0 = ${OF_HOMES}`;

/** Queries for the ids of what is being deleted, which nobody sees any more: mostly nothing. */
export const BEING_DELETED_ROWS = {
  labels: "select id from labels where removed = 1",
  milestones: "select id from milestones where removed = 1",
  iterations: "select id from iterations where removed = 1",
  users: "select id from users where state = 'removed'",
  projects: `select id from projects where visibility = ${BEING_DELETED}`,
} as const;

/** SQL of whether a namespace, or a group above it, is marked for deletion. @param namespace SQL of its id */
export const isEnding = (namespace: string): string =>
  `exists (select 1 from namespaces e where e.marked_for_deletion_at is not null
    and e.id in (select ancestor_id from namespace_ancestors where namespace_id = ${namespace}))`;

/**
 * SQL of whether a namespace, or a group above it, is marked for deletion or archived: what is in it can't be changed then.
 *
 * @param namespace SQL of its id
 */
export const isFrozen = (namespace: string): string =>
  `exists (select 1 from namespaces e where (e.marked_for_deletion_at is not null or e.archived = 1)
    and e.id in (select ancestor_id from namespace_ancestors where namespace_id = ${namespace}))`;

/** The condition under which a row `s` of snippets belongs to a user, not to a project. */
export const PERSONAL_SNIPPET = `s.project_id is null and s.author_id not in (${BEING_DELETED_ROWS.users})`;

/** The condition under which a row `l` of labels is not being deleted. */
export const NOT_DELETED_LABEL = "l.removed = 0";
/** The condition under which a row `m` of milestones is not being deleted. */
export const NOT_DELETED_MILESTONE = "m.removed = 0";
/** The condition under which a row `u` of users is not being deleted. */
export const NOT_DELETED_USER = "u.state <> 'removed'";
/**
 * The condition that a project `p` is not archived. Of its index, SQLite would sort all that projects have, hence the sum; and
 * PostgreSQL takes few rows to equal a sum, hence no equality.
 */
export const NOT_ARCHIVED = "p.archived + 0 < 1";

/** Visibility words by their number, for presenters. */
export const VISIBILITY_WORDS: Readonly<Record<number, Visibility>> = {
  0: "private",
  10: "internal",
  20: "public",
};

/** The caller as SQL conditions need them: who they are, and the day on which memberships must be valid. */
export interface Viewer {
  readonly caller: Person | undefined;
  /** `YYYY-MM-DD`: memberships that expire on this day or before have expired. */
  readonly today: string;
  /** The caller's access level in the project that all rows belong to: see {@link inProject}. */
  readonly level?: number;
}

/**
 * The viewer of rows that all belong to one project, which has been found for them with their level: conditions about
 * their role there are constants then, instead of looking up their memberships again.
 */
export function inProject(viewer: Viewer, { level }: { readonly level: number }): Viewer {
  return { ...viewer, level };
}

/** Whether the viewer is known to have a role in the project of all rows, or to be an administrator. */
export function isKnownAs(role: Role, { caller, level = 0 }: Viewer): boolean {
  return caller?.admin === true || hasRole({ level }, role);
}

/** Every row `v` of users in a query, instead of one caller: for finding which of many users may read something. */
export interface EachUser {
  readonly each: "v";
  /** As in {@link Viewer}. */
  readonly today: string;
}

/** Groups and projects with a visibility above this one can be read without membership. */
function floorOf({ caller }: Viewer): number {
  if (caller?.admin) return BEING_DELETED;
  return caller && !caller.external ? VISIBILITIES.private : VISIBILITIES.internal;
}

/** {@link floorOf} each user, as SQL. */
const EACH_FLOOR = `case when v.external = 1 then ${VISIBILITIES.internal} else ${VISIBILITIES.private} end`;

/** Whether the caller can read a group or project, including its code, without membership. */
export function isOpenTo(viewer: Viewer, { visibility }: { readonly visibility: number }): boolean {
  return visibility > floorOf(viewer);
}

/** The viewer's id, as SQL. */
export function idOf(viewer: Viewer | EachUser): Condition {
  if ("each" in viewer) return { sql: "v.id", values: [] };
  return { sql: "?", values: [viewer.caller?.id ?? 0] };
}

/** The condition under which the viewer may read a row `p` of projects. */
export function visibleProjects(viewer: Viewer | EachUser): Condition {
  return openOrMember(viewer, "guest");
}

// The sums keep the engines from starting with the level: most rows have it, in another order than a list's.
const NOT_DELETED_PROJECT: Condition = { sql: `p.visibility + 0 > ${BEING_DELETED}`, values: [] };
/** The condition for projects that are not being deleted, also hidden ones that have the epics of groups. */
export const LIVING: Condition = { sql: `p.visibility + 0 <> ${BEING_DELETED}`, values: [] };
const NOT_DELETED_GROUP: Condition = { sql: `n.visibility + 0 > ${BEING_DELETED}`, values: [] };

/** The condition for projects that need no membership or in which the viewer has at least `role`. */
function openOrMember(viewer: Viewer | EachUser, role: Role): Condition {
  if ("each" in viewer) {
    const { sql, values } = memberProjects(viewer, role);
    return {
      sql: `(v.admin = 1 and ${NOT_DELETED_PROJECT.sql} or p.visibility > ${EACH_FLOOR} or ${sql})`,
      values,
    };
  }
  if (viewer.caller?.admin) return NOT_DELETED_PROJECT;
  if (!viewer.caller) return { sql: "p.visibility + 0 > ?", values: [floorOf(viewer)] };
  const { sql, values } = memberProjects(viewer, role);
  return { sql: statement`(p.visibility > ? or ${sql})`, values: [floorOf(viewer), ...values] };
}

/**
 * The condition under which the caller has at least `role` in a row `p` of projects: because they belong to it or to a group
 * above it (`memberships.ts`), or because it is in their own namespace. Its cost grows with the caller's memberships, not
 * with the table.
 *
 * @param among which projects it holds for. Default: those that can be seen
 */
export function memberProjects(
  viewer: Viewer | EachUser,
  role: Role = "guest",
  among = NOT_DELETED_PROJECT,
): Condition {
  if ("level" in viewer && viewer.level !== undefined) {
    return { sql: hasRole({ level: viewer.level }, role) ? "1 = 1" : "1 = 0", values: [] };
  }
  const id = idOf(viewer);
  const groups = groupsOf(id, viewer.today, ROLES[role]);
  const projects = projectsOf(id, viewer.today, ROLES[role]);
  return {
    sql: statement`(${among.sql} and (p.namespace_id in (
        select a.namespace_id from (${groups.sql}) as g
        cross join namespace_ancestors a where a.ancestor_id = g.id
        union all
        select id from namespaces where owner_id = ${id.sql})
      or p.id in (${projects.sql})))`,
    values: [...groups.values, ...id.values, ...projects.values],
  };
}

/**
 * The condition under which the caller may read the packages of a row `p` of projects that they can read. As in GitLab,
 * guests may not if they see the project only because of their membership.
 */
export function visiblePackages(viewer: Viewer | EachUser): Condition {
  return usesFrom("package_registry", viewer);
}

/** The condition under which the viewer may use a feature of a row `p` that guests of private projects may not use. */
const usesFrom = (feature: Feature, viewer: Viewer | EachUser): Condition =>
  any([all([usesFeature(viewer, feature), openOrMember(viewer, "reporter")])]);

/**
 * The condition under which the caller may read the code, and so the pushes, of a row `p` of projects that they can
 * read. As in GitLab, guests may not if they see the project only because of their membership.
 */
export function visibleCode(viewer: Viewer | EachUser): Condition {
  return usesFrom("repository", viewer);
}

/**
 * The condition under which a row's author is not banned: as in GitLab, only administrators see what banned users wrote. A
 * subquery, of which an index has the few that are.
 *
 * @param author SQL of the author's id
 */
export function notOfBanned(viewer: Viewer | EachUser, author: string): Condition {
  if (!("each" in viewer) && viewer.caller?.admin) return { sql: "1 = 1", values: [] };
  const sql = `not exists (select 1 from users b where b.state = 'banned' and b.id = ${author})`;
  return { sql: "each" in viewer ? `(v.admin = 1 or ${sql})` : sql, values: [] };
}

/**
 * The condition under which a row `p` of projects is the hidden one that has the epics of a group which the viewer may read:
 * because of its visibility, or since they belong to it, or to anything in it.
 */
export function visibleHomes(viewer: Viewer | EachUser): Condition {
  const inGroup = (sql: string) =>
    `(${ON_EPIC} and exists (select 1 from namespaces hn where hn.id = p.namespace_id and hn.visibility > ${BEING_DELETED} and ${sql}))`;
  if (!("each" in viewer) && (viewer.caller?.admin || !viewer.caller)) {
    const floor = viewer.caller ? BEING_DELETED : floorOf(viewer);
    return { sql: inGroup("hn.visibility > ?"), values: [floor] };
  }
  const { sql, values } = memberGroupIds(viewer);
  const open =
    "each" in viewer ? `v.admin = 1 or hn.visibility > ${EACH_FLOOR}` : "hn.visibility > ?";
  return {
    sql: statement`${inGroup(`(${open} or hn.id in (${sql}))`)}`,
    values: [...("each" in viewer ? [] : [floorOf(viewer)]), ...values],
  };
}

/** The condition under which the viewer may read a row `p` of projects, or the epics that a hidden one has. */
export const visiblePlaces = (viewer: Viewer | EachUser): Condition =>
  any([visibleProjects(viewer), visibleHomes(viewer)]);

/** The condition under which the viewer may use a feature of a project `p` that they can read. */
export function usesFeature(viewer: Viewer | EachUser, feature: Feature): Condition {
  const column = `p.${feature}_enabled`;
  const isEach = "each" in viewer;
  const role = memberRole(feature);
  const open = `${column} = ${FEATURE_LEVELS.enabled}`;
  if (!isEach && isKnownAs(role, viewer)) {
    return { sql: `${column} <> ${FEATURE_LEVELS.disabled}`, values: [] };
  }
  if (!isEach && (!viewer.caller || viewer.level !== undefined)) return { sql: open, values: [] };
  const member = memberProjects(viewer, role, LIVING);
  return {
    sql: statement`(${open} or ${column} = ${String(FEATURE_LEVELS.private)} and (${isEach ? "v.admin = 1 or " : ""}${member.sql}))`,
    values: member.values,
  };
}

/**
 * The condition under which the caller may read a row `i` of issues, in a project `p` they can read. They must be able to
 * use issues there; only administrators, reporters and above, authors and assignees see confidential ones.
 */
export function visibleIssues(viewer: Viewer | EachUser): Condition {
  return all([issuesByRole(viewer), notOfBanned(viewer, "i.author_id")]);
}

function issuesByRole(viewer: Viewer | EachUser): Condition {
  const isEach = "each" in viewer;
  const feature = usesFeature(viewer, "issues");
  if (!isEach && isKnownAs("reporter", viewer)) return feature;
  if (!isEach && !viewer.caller) {
    return { sql: statement`(${feature.sql} and i.confidential = 0)`, values: feature.values };
  }
  const [id, reporter] = [idOf(viewer), memberProjects(viewer, "reporter", LIVING)];
  return {
    sql: statement`(${feature.sql} and (i.confidential = 0 ${isEach ? "or v.admin = 1" : ""} or i.author_id = ${id.sql}
      or exists (select 1 from issue_assignees ia where ia.issue_id = i.id and ia.user_id = ${id.sql})
      or ${reporter.sql}))`,
    values: [...feature.values, ...id.values, ...id.values, ...reporter.values],
  };
}

/** The condition under which the viewer is reporter or above in a project `p`, or administrator. */
function atLeastReporter(viewer: Viewer): Condition {
  if (viewer.caller?.admin) return { sql: "1 = 1", values: [] };
  return viewer.caller ? memberProjects(viewer, "reporter") : { sql: "1 = 0", values: [] };
}

/** The condition under which the viewer may read all confidential issues of a project `p` that they can read. */
export const allConfidential = atLeastReporter;

/** The condition under which the viewer may read the deployments of a project `p` that they can read. */
export const visibleDeployments = (viewer: Viewer): Condition =>
  all([usesFeature(viewer, "environments"), atLeastReporter(viewer)]);

/** The condition under which the viewer may read the releases of a project `p` that they can read. */
export const visibleReleases = (viewer: Viewer): Condition =>
  all([usesFeature(viewer, "releases"), visibleProjects(viewer)]);

/** The condition under which the caller may read the merge requests of the project `p`, which they can read. */
export function visibleMergeRequests(viewer: Viewer | EachUser): Condition {
  const isEach = "each" in viewer;
  // Whoever has the role that this feature needs reads the code, which is no less visible (`feature-levels.ts`): the
  // memberships, a long text, are looked up once.
  if (!isEach && (isKnownAs("reporter", viewer) || !viewer.caller || viewer.level !== undefined)) {
    return any([all([usesFeature(viewer, "merge_requests"), openOrMember(viewer, "reporter")])]);
  }
  const member = memberProjects(viewer, "reporter");
  const column = "p.merge_requests_enabled";
  const floor = isEach ? EACH_FLOOR : "?";
  return {
    sql: statement`(${column} = ${String(FEATURE_LEVELS.enabled)} and p.visibility > ${floor}
      or ${column} <> ${String(FEATURE_LEVELS.disabled)} and (${isEach ? `v.admin = 1 and ${NOT_DELETED_PROJECT.sql} or ` : ""}${member.sql}))`,
    values: [...(isEach ? [] : [floorOf(viewer)]), ...member.values],
  };
}

/** The condition under which the caller may read a row `mr` of merge requests of the project `p`, which they can read. */
export function visibleMergeRequestRows(viewer: Viewer | EachUser): Condition {
  return all([visibleMergeRequests(viewer), notOfBanned(viewer, "mr.author_id")]);
}

/** The condition under which the viewer may see the pipelines and jobs of a row `p` of projects. */
export function visibleJobs(viewer: Viewer): Condition {
  const [feature, projects] = [usesFeature(viewer, "jobs"), visibleProjects(viewer)];
  if (viewer.caller?.admin) return any([all([feature, projects])]);
  const open = all([when("p.public_jobs = 1"), projects]);
  const who = viewer.caller ? any([open, memberProjects(viewer, "reporter")]) : open;
  return any([all([feature, who])]);
}

/**
 * The condition under which the viewer may read a row `s` of snippets without being a member of its project: because of
 * its visibility, or as its author.
 */
export function openSnippets(viewer: Viewer | EachUser): Condition {
  const id = idOf(viewer);
  if ("each" in viewer) {
    return {
      sql: `(v.admin = 1 or s.visibility > ${EACH_FLOOR} or s.author_id = ${id.sql})`,
      values: [],
    };
  }
  if (viewer.caller?.admin) return { sql: "1 = 1", values: [] };
  return {
    sql: `(s.visibility > ? or s.author_id = ${id.sql})`,
    values: [floorOf(viewer), ...id.values],
  };
}

/**
 * The condition under which the viewer may read a row `s` of snippets of a project `p` they can read, and whose snippets
 * they can use; members read all of them.
 */
export function visibleSnippets(viewer: Viewer | EachUser): Condition {
  const who = any([openSnippets(viewer), memberProjects(viewer)]);
  return any([all([usesFeature(viewer, "snippets"), who])]);
}

/**
 * The condition under which the viewer may read a row `s` of snippets, of a project `p` or of a person. Callers who are
 * not signed in see no personal ones.
 */
export function readableSnippets(viewer: Viewer): Condition {
  const ofProjects = all([visibleProjects(viewer), visibleSnippets(viewer)]);
  if (!viewer.caller) return ofProjects;
  return any([ofProjects, all([when(PERSONAL_SNIPPET), openSnippets(viewer)])]);
}

/**
 * The condition under which the viewer may read a row `nt` of notes on something they can read. As in GitLab, only
 * reporters and above, and administrators, read internal notes.
 */
export function visibleNotes(viewer: Viewer | EachUser): Condition {
  return all([countedNotes(viewer), notOfBanned(viewer, "nt.author_id")]);
}

/** {@link visibleNotes}, also those of banned users: an index can count them. */
export function countedNotes(viewer: Viewer | EachUser): Condition {
  const isEach = "each" in viewer;
  if (!isEach && isKnownAs("reporter", viewer)) return { sql: "1 = 1", values: [] };
  if (!isEach && !viewer.caller) return { sql: "nt.internal = 0", values: [] };
  const reporter = memberProjects(viewer, "reporter", LIVING);
  return {
    sql: statement`(nt.internal = 0 ${isEach ? "or v.admin = 1" : ""}
      or exists (select 1 from projects p where p.id = nt.project_id and ${reporter.sql}))`,
    values: reporter.values,
  };
}

/** The condition under which the caller may read a row `n` of namespaces that is a group. */
export function visibleGroups(viewer: Viewer): Condition {
  if (viewer.caller?.admin) return NOT_DELETED_GROUP;
  if (!viewer.caller) return { sql: "n.visibility + 0 > ?", values: [floorOf(viewer)] };
  const member = memberGroups(viewer);
  return {
    sql: `(n.visibility > ? or ${member.sql})`,
    values: [floorOf(viewer), ...member.values],
  };
}

/**
 * The condition under which the caller has at least `role` in a row `n` of namespaces. Without a role, belonging to
 * anything below the group is enough.
 */
export function memberGroups(viewer: Viewer, role?: Role): Condition {
  const ids = memberGroupIds(viewer, role);
  return { sql: `(${NOT_DELETED_GROUP.sql} and n.id in (${ids.sql}))`, values: ids.values };
}

/** A query for the ids, as `id`, of the groups of {@link memberGroups}: some more than once. */
export function memberGroupIds(viewer: Viewer | EachUser, role?: Role): Condition {
  if (!role) return groupIdsAround(viewer, "guest");
  const groups = groupsOf(idOf(viewer), viewer.today, ROLES[role]);
  return { sql: inheritedOf(groups.sql), values: groups.values };
}

const inheritedOf = (groups: string) => `select a.namespace_id as id from (${groups}) as g
      cross join namespace_ancestors a where a.ancestor_id = g.id`;

/**
 * A query for the ids, as `id`, of the groups in which, or in something below which, the caller has at least a role: some more than
 * once.
 */
export function groupIdsAround(viewer: Viewer | EachUser, role: Role): Condition {
  const id = idOf(viewer);
  const groups = groupsOf(id, viewer.today, ROLES[role]);
  const projects = projectsOf(id, viewer.today, ROLES[role]);
  return {
    sql: `${inheritedOf(groups.sql)}
      union all
      select a.ancestor_id from (${groups.sql}) as g
      cross join namespace_ancestors a where a.namespace_id = g.id
      union all
      select a.ancestor_id from (${projects.sql}) as g
      cross join projects q cross join namespace_ancestors a
      where q.id = g.id and a.namespace_id = q.namespace_id`,
    values: [...groups.values, ...groups.values, ...projects.values],
  };
}

/**
 * The condition on links `l` of a group or project that its viewer may see who belongs to it by them: those who belong to it,
 * too, see all, and others only the members of invited groups that they see, as in GitLab.
 *
 * @param owner the group or project, with the viewer's level there if that is known
 */
export function visibleLinks(
  viewer: Viewer,
  { column, id, level }: Owner & { readonly level?: number },
): Condition {
  if (viewer.caller?.admin || (level !== undefined && hasRole({ level }, "guest"))) {
    return { sql: "1 = 1", values: [] };
  }
  const groups = visibleGroups(viewer);
  const invited: Condition = {
    sql: `exists (select 1 from namespaces n where n.id = l.group_id and ${groups.sql})`,
    values: groups.values,
  };
  if (level !== undefined) return invited;
  const [own, table] =
    column === "project_id"
      ? [memberProjects(viewer), "projects p where p.id"]
      : [memberGroups(viewer, "guest"), "namespaces n where n.id"];
  return any([
    invited,
    { sql: `exists (select 1 from ${table} = ? and ${own.sql})`, values: [id, ...own.values] },
  ]);
}

/**
 * The condition under which the caller may read the group or project that a row with such columns belongs to.
 *
 * @param features of which the caller must be able to use one in a project; by default none
 */
export function visibleOwner(
  viewer: Viewer,
  alias: string,
  features: readonly ("issues" | "merge_requests")[] = [],
): Condition {
  const [projects, groups] = [visibleProjects(viewer), visibleGroups(viewer)];
  const used = any(features.map((feature) => usesFeature(viewer, feature)));
  const project = all([features.length > 0 ? used : undefined, projects]);
  return {
    sql: `(exists (select 1 from projects p where p.id = ${alias}.project_id and ${project.sql})
      or exists (select 1 from namespaces n where n.id = ${alias}.namespace_id and ${groups.sql}))`,
    values: [...project.values, ...groups.values],
  };
}
