import {
  directMemberships,
  linkedMemberships,
  membershipsWhere,
} from "../../core/access/memberships.ts";
import { type Heir, ownedBy } from "../../core/access/owner.ts";
import { NOT_DELETED_USER, visibleLinks, visibleOwner } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  about,
  arg,
  type ChildQuery,
  computed,
  connection,
  costing,
  date,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  gid,
  interfaceType,
  leaf,
  loaded,
  mutation,
  one,
  property,
  recordId,
  required,
  routeOf,
  rowType,
  sortEnum,
  string,
  time,
  type Values,
} from "../../graphql/declare.ts";
import { all, among, any, belowGroup, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { searched } from "../users/queries.ts";
import { ACCESS_LEVEL, accessLevelOf, LEVEL, MEMBER_LEVEL } from "./access-level.ts";
import { memberResource } from "./index.ts";

const USERS = `users u on u.id = m.user_id and ${NOT_DELETED_USER}`;

const rows = {
  from: `members m join ${USERS}`,
  key: "m.id",
  // As in REST, only users see who the members are.
  visible: (viewer: GraphContext["viewer"]): Condition =>
    viewer.caller ? visibleOwner(viewer, "m") : { sql: "1 = 0", values: [] },
};

const fields = {
  id: required(
    leaf(
      "ID",
      field.derived(
        ["m.id", "m.project_id"],
        "string",
        ([id, project]) =>
          `gid://gitlab/${project === null ? "GroupMember" : "ProjectMember"}/${id}`,
      ),
    ),
  ),
  user: one("UserCore", "m.user_id"),
  accessLevel: computed(ACCESS_LEVEL, ["m.access_level"], ([level]) =>
    accessLevelOf(level as number),
  ),
  createdAt: time("m.created_at"),
  createdBy: one("UserCore", "m.created_by_id"),
  expiresAt: date("m.expires_at", "Time"),
};

const member = interfaceType("MemberInterface", "A membership.", fields, {
  ...rows,
  typeName: {
    columns: ["m.project_id"],
    of: ([project]) => (project === null ? "GroupMember" : "ProjectMember"),
  },
});

const groupMember = rowType("GroupMember", {
  about: "A membership of a group.",
  ...rows,
  implements: ["MemberInterface"],
  fields: { group: one("Group", "m.namespace_id") },
});

const projectMember = rowType("ProjectMember", {
  about: "A membership of a project.",
  ...rows,
  implements: ["MemberInterface"],
  fields: { project: one("Project", "m.project_id") },
});

const GROUP_RELATION = enumeration("GroupMemberRelation", "Whose members a group lists.", [
  "DIRECT",
  "INHERITED",
  "DESCENDANTS",
  "SHARED_FROM_GROUPS",
]);
const PROJECT_RELATION = enumeration("ProjectMemberRelation", "Whose members a project lists.", [
  "DIRECT",
  "INHERITED",
  "DESCENDANTS",
  "INVITED_GROUPS",
  "SHARED_INTO_ANCESTORS",
]);
const SORT = sortEnum("MemberSort", "The order of a list of members.", "m.id", {
  ACCESS_LEVEL: { sql: "m.access_level" },
  USER_FULL_NAME: { sql: "u.name", isText: true },
  CREATED: { sql: "m.created_at" },
  UPDATED: { sql: "m.updated_at" },
});

const filters = {
  search: arg.string,
  accessLevels: arg.list(arg.choice(LEVEL)),
  ids: arg.list(arg.id),
  sort: arg.choice(SORT),
} satisfies Args;

/**
 * Members of a group or project: each user once, with the best of the memberships that the relations name.
 *
 * @param memberships queries for them
 */
function membersIn(
  memberships: readonly Condition[],
  { search, accessLevels, ids, sort }: Partial<Values<typeof filters>>,
  { viewer }: GraphContext,
): ChildQuery {
  const named = memberships.length > 0 ? memberships : [membershipsWhere(NONE)];
  const seen = rows.visible(viewer);
  return {
    from: {
      sql: `(select * from (select x.*, row_number() over (partition by x.user_id
          order by case when x.expires_at <= ? then 1 else 0 end, x.access_level desc, x.id) as place
        from (${named.map(({ sql }) => sql).join(" union all ")}) as x) as ranked where place = 1) as m
        join ${USERS}`,
      values: [viewer.today, ...named.flatMap(({ values }) => values)],
    },
    where: all([
      // Members by an invited group are seen by callers who see the invitation: see `visibleLinks`.
      viewer.caller ? any([seen, { sql: "m.group_id is not null", values: [] }]) : seen,
      search ? searched(search, viewer.caller) : undefined,
      among("m.access_level", accessLevels),
      among(
        "m.user_id",
        ids?.map((id) => recordId(id, "User")),
      ),
    ]),
    order: sort ?? [{ sql: "m.id" }],
  };
}

const NONE: Condition = { sql: "1 = 0", values: [] };

/** Memberships of a group or project itself, and of groups above it, as far as relations name them. */
function directOf(own: Heir, relations: readonly string[]): Condition[] {
  if (relations.includes("INHERITED")) return [directMemberships(own)];
  return relations.includes("DIRECT") ? [membershipsWhere(ownedBy("x", own))] : [];
}

/** By which links the relations of a project are. */
const LINKS_OF = [
  ["INVITED_GROUPS", "own"],
  ["SHARED_INTO_ANCESTORS", "above"],
] as const;

const bulk = {
  userIds: arg.required(arg.list(arg.gid("User"))),
  accessLevel: arg.required(arg.choice(MEMBER_LEVEL)),
  expiresAt: arg.time,
} satisfies Args;

const CHANGE = {
  group: routeOf(memberResource, "PUT /groups/:id/members/:user_id"),
  project: routeOf(memberResource, "PUT /projects/:id/members/:user_id"),
};

const bulkUpdate = (kind: "group" | "project", type: string) =>
  mutation({
    about: `Change the access level of members of a ${kind}.`,
    input: { [`${kind}Id`]: arg.required(arg.gid(type)), ...bulk },
    payload: { [`${kind}Members`]: property(`[${type}Member!]`) },
    run: async (input, { call, db }) => {
      const { userIds, accessLevel, expiresAt } = input as Values<typeof bulk>;
      const id = (input as unknown as Record<string, number>)[`${kind}Id`] as number;
      for (const userId of userIds) {
        await call(CHANGE[kind], {
          id,
          user_id: userId,
          access_level: accessLevel,
          expires_at:
            expiresAt === undefined ? undefined : new Date(expiresAt).toISOString().slice(0, 10),
        });
      }
      const among = placeholders(userIds.length > 0 ? userIds : [0]);
      const column = kind === "group" ? "namespace_id" : "project_id";
      const found = await db.rows(
        `select id from members where ${column} = ? and user_id in (${among.sql}) order by id`,
        [id, ...among.values],
      );
      return { [`${kind}Members`]: found.map(([memberId]) => memberId) };
    },
  });

const memberRole = rowType("MemberRole", {
  about: "A role beside the base ones.",
  from: "member_roles mbr",
  key: "mbr.id",
  // As in REST: only administrators see the roles of the instance.
  visible: ({ caller }) => ({ sql: caller?.admin ? "1 = 1" : "1 = 0", values: [] }),
  fields: {
    id: gid("MemberRole", "mbr.id"),
    name: required(string("mbr.name")),
    description: string("mbr.description"),
    baseAccessLevel: required(
      computed(ACCESS_LEVEL, ["mbr.base_access_level"], ([level]) =>
        accessLevelOf(level as number),
      ),
    ),
    createdAt: required(time("mbr.created_at")),
  },
});

/** Members of groups and projects. */
export const graphqlModule: GraphqlModule = {
  types: [member, groupMember, projectMember, memberRole],
  extend: {
    Query: {
      memberRoles: about(
        "The roles of the instance beside the base ones, for administrators.",
        connection("MemberRole", { query: () => ({ where: when("mbr.namespace_id is null") }) }),
      ),
    },
    Group: {
      groupMembers: connection("GroupMember", {
        args: {
          ...filters,
          relations: arg.withDefault(arg.list(arg.choice(GROUP_RELATION)), ["DIRECT", "INHERITED"]),
        },
        needs: ["n.id"],
        query: ({ relations, ...args }, context, [groupId]) => {
          const id = groupId as number;
          const own = { column: "namespace_id", id, namespaceId: id } as const;
          const memberships = directOf(own, relations);
          if (relations.includes("DESCENDANTS")) {
            const below = all([belowGroup("x.namespace_id", id), when("x.namespace_id <> ?", id)]);
            memberships.push(membershipsWhere(below));
          }
          if (relations.includes("SHARED_FROM_GROUPS")) {
            const seen = visibleLinks(context.viewer, own);
            memberships.push(linkedMemberships(own, seen, "both"));
          }
          return membersIn(memberships, args, context);
        },
      }),
      groupMembersCount: required(
        loaded(
          "Int",
          async (ids, { db, caller }) => {
            if (!caller) return new Map();
            const groups = placeholders(ids);
            const counted = await db.rows(
              `select namespace_id, count(*) from members where namespace_id in (${groups.sql}) group by namespace_id`,
              groups.values,
            );
            return new Map(counted.map(([key, count]) => [key as Value, count]));
          },
          { empty: 0 },
        ),
      ),
    },
    Project: {
      projectMembers: connection("MemberInterface", {
        args: {
          ...filters,
          relations: arg.withDefault(arg.list(arg.choice(PROJECT_RELATION)), [
            "DIRECT",
            "INHERITED",
          ]),
        },
        needs: ["p.id", "p.namespace_id"],
        query: ({ relations, ...args }, context, [id, namespaceId]) => {
          const own = {
            column: "project_id",
            id: id as number,
            namespaceId: namespaceId as number,
          } as const;
          const memberships = directOf(own, relations);
          for (const [relation, to] of LINKS_OF) {
            if (!relations.includes(relation)) continue;
            memberships.push(linkedMemberships(own, visibleLinks(context.viewer, own), to));
          }
          return membersIn(memberships, args, context);
        },
      }),
    },
    User: {
      groupMemberships: costing(
        1,
        connection("GroupMember", {
          query: () => ({ parent: "m.user_id", where: when("m.namespace_id is not null") }),
        }),
      ),
      projectMemberships: costing(
        1,
        connection("ProjectMember", {
          query: () => ({ parent: "m.user_id", where: when("m.project_id is not null") }),
        }),
      ),
    },
  },
  mutations: {
    groupMemberBulkUpdate: bulkUpdate("group", "Group"),
    projectMemberBulkUpdate: bulkUpdate("project", "Project"),
  },
};
