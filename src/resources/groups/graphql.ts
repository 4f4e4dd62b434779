import { ROLES } from "../../core/access/roles.ts";
import { type Source, sourcesById } from "../../core/access/source.ts";
import {
  isEnding,
  isFrozen,
  memberGroups,
  VISIBILITY_WORDS,
  visibleGroups,
} from "../../core/access/visibility.ts";
import { ownAvatar } from "../../core/avatars.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  about,
  always,
  arg,
  boolean,
  connection,
  enumeration,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  id,
  loaded,
  mutation,
  type Order,
  one,
  plainGid,
  property,
  recordId,
  required,
  routeOf,
  rowType,
  sortEnum,
  string,
  time,
  userPermissions,
  type Values,
} from "../../graphql/declare.ts";
import { all, among, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { mayAdminIssues } from "../issuables/abilities.ts";
import { ACCESS_LEVEL, accessLevelOf } from "../members/access-level.ts";
import { VISIBILITY } from "../namespaces/graphql.ts";
import { CREATION_LEVEL } from "../namespaces/kept.ts";
import { mayCreateProjects } from "../projects/abilities.ts";
import { groupResource } from "./index.ts";

/** What permissions depend on, by id. */
async function subjectsOf(ids: readonly Value[], { db, viewer }: GraphContext) {
  const sources = await sourcesById(db, "group", ids, viewer);
  const among = placeholders(ids);
  const found = await db.rows(
    `select n.id, ${CREATION_LEVEL} from namespaces n where n.id in (${among.sql})`,
    among.values,
  );
  return found.map(([id = null, level]) => ({
    id,
    source: sources.get(id) as Source,
    creation_level: Number(level),
  }));
}

const permissions = userPermissions<Awaited<ReturnType<typeof subjectsOf>>[number]>(
  "GroupPermissions",
  "a group",
  {
    readGroup: always,
    createProjects: mayCreateProjects,
    adminGroup: "PUT /groups/:id",
    adminIssue: (_, { source }) => mayAdminIssues(source),
  },
);

const group = rowType("Group", {
  about: "A group.",
  from: "namespaces n",
  key: "n.id",
  visible: (viewer) => all([when("n.kind = 'group'"), visibleGroups(viewer)]),
  fields: {
    id: plainGid("Group", "n.id"),
    fullPath: required(id("n.full_path")),
    path: required(string("n.path")),
    name: required(string("n.name")),
    fullName: required(string("n.full_name")),
    description: string("n.description"),
    visibility: string(field.word("n.visibility", VISIBILITY_WORDS)),
    webUrl: required(string(field.url("n.full_path", (path) => `/groups/${path}`))),
    webPath: required(string("'/groups/' || n.full_path")),
    avatarUrl: string(ownAvatar("n.avatar_url")),
    createdAt: time("n.created_at"),
    updatedAt: time("n.updated_at"),
    requestAccessEnabled: boolean("n.request_access_enabled"),
    lfsEnabled: boolean("n.lfs_enabled"),
    markedForDeletion: required(boolean(`case when ${isEnding("n.id")} then 1 else 0 end`)),
    markedForDeletionOn: time("n.marked_for_deletion_at"),
    parent: one("Group", "n.parent_id"),
    maxAccessLevel: required(
      loaded(ACCESS_LEVEL, async (ids, { db, viewer }) => {
        const sources = await sourcesById(db, "group", ids, viewer);
        return new Map([...sources].map(([key, { level }]) => [key, accessLevelOf(level)]));
      }),
    ),
    userPermissions: permissions(subjectsOf),
  },
});

const COLUMNS = {
  ID: { sql: "n.id" },
  NAME: { sql: "n.name", isText: true },
  PATH: { sql: "n.path", isText: true },
  CREATED_AT: { sql: "n.created_at" },
  UPDATED_AT: { sql: "n.updated_at" },
};
const SORT = sortEnum("GroupSort", "The order of a list of groups.", "n.id", COLUMNS);
const BY_NAME = SORT.values["NAME_ASC"] as readonly Order[];

/** `groups` takes its order as a text, such as `name_asc`. */
const NAMED = sortEnum("", "", "n.id", { ...COLUMNS, CREATED: COLUMNS.CREATED_AT });

/** @throws GraphError for an unknown order */
function orderOf(sort: string | undefined): readonly Order[] {
  const order = sort === undefined ? BY_NAME : NAMED.values[sort.toUpperCase()];
  if (!order) throw new GraphError(`"${sort?.slice(0, 100)}" is not an order of groups`);
  return order;
}

const filters = {
  search: arg.string,
  ids: arg.list(arg.id),
  owned: arg.boolean,
  sort: arg.choice(SORT),
} satisfies Args;

function conditionOf(
  { search, ids, owned }: Omit<Partial<Values<typeof filters>>, "sort">,
  { viewer }: GraphContext,
): Condition {
  return all([
    search ? contains(["n.name", "n.path"], search) : undefined,
    among(
      "n.id",
      ids?.map((id) => recordId(id, "Group")),
    ),
    owned ? memberGroups(viewer, "owner") : undefined,
  ]);
}

const PERMISSION = enumeration<string>("GroupPermission", "Groups by what a user may do there.", {
  CREATE_PROJECTS: CREATION_LEVEL,
  TRANSFER_PROJECTS: CREATION_LEVEL,
  IMPORT_PROJECTS: String(ROLES.maintainer),
});

const CHANGE = routeOf(groupResource, "PUT /groups/:id");

/** Groups. */
export const graphqlModule: GraphqlModule = {
  types: [group],
  extend: {
    Query: {
      group: first("Group", {
        args: { fullPath: arg.required(arg.id) },
        query: ({ fullPath }) => ({ where: when("lower(n.full_path) = lower(?)", fullPath) }),
      }),
      groups: connection("Group", {
        args: {
          search: arg.string,
          ids: arg.list(arg.id),
          parentPath: arg.id,
          topLevelOnly: arg.boolean,
          ownedOnly: arg.boolean,
          allAvailable: arg.withDefault(arg.boolean, true),
          active: arg.boolean,
          sort: arg.string,
        },
        query: ({ parentPath, topLevelOnly, ownedOnly, allAvailable, ...args }, context) => ({
          where: all([
            conditionOf({ ...args, owned: ownedOnly }, context),
            parentPath === undefined
              ? undefined
              : when(
                  "n.parent_id in (select id from namespaces where lower(full_path) = lower(?))",
                  parentPath,
                ),
            topLevelOnly ? when("n.parent_id is null") : undefined,
            allAvailable || context.caller?.admin ? undefined : memberGroups(context.viewer),
            args.active === false ? when("1 = 0") : undefined,
          ]),
          order: orderOf(args.sort),
        }),
      }),
    },
    Group: {
      descendantGroups: connection("Group", {
        args: {
          ...filters,
          archived: arg.boolean,
          includeParentDescendants: arg.withDefault(arg.boolean, true),
        },
        query: ({ includeParentDescendants, archived, sort = BY_NAME, ...args }, context) => ({
          ...(includeParentDescendants
            ? {
                join: "join namespace_ancestors a on a.namespace_id = n.id and a.depth > 0",
                parent: "a.ancestor_id",
              }
            : { parent: "n.parent_id" }),
          where: all([
            conditionOf(args, context),
            when("n.archived = ?", archived === undefined ? undefined : Number(archived)),
          ]),
          order: sort,
        }),
      }),
      descendantGroupsCount: required(
        loaded(
          "Int",
          async (ids, { db, viewer }) => {
            const among = placeholders(ids);
            const visible = visibleGroups(viewer);
            const counted = await db.rows(
              `select n.parent_id, count(*) from namespaces n
               where n.parent_id in (${among.sql}) and ${visible.sql} group by n.parent_id`,
              [...among.values, ...visible.values],
            );
            return new Map(counted.map(([key, count]) => [key as Value, count]));
          },
          { empty: 0 },
        ),
      ),
    },
    GroupMember: {
      userPermissions: permissions(subjectsOf, { key: "m.namespace_id" }),
    },
    User: {
      // As in GitLab, only they and administrators see the groups of users.
      groups: connection("Group", {
        args: {
          search: arg.string,
          sort: arg.choice(SORT),
          permissionScope: arg.choice(PERMISSION),
        },
        query: ({ permissionScope, sort = BY_NAME, ...args }, context) => ({
          join: "join members mu on mu.namespace_id = n.id",
          parent: "mu.user_id",
          where: all([
            conditionOf(args, context),
            when("(mu.expires_at is null or mu.expires_at > ?)", context.viewer.today),
            permissionScope
              ? when(`mu.access_level >= ${permissionScope} and not ${isFrozen("n.id")}`)
              : undefined,
            context.caller?.admin ? undefined : when("mu.user_id = ?", context.caller?.id ?? 0),
          ]),
          order: sort,
        }),
      }),
      groupCount: about(
        "The groups they are direct members of; only they and administrators see it.",
        loaded("Int", async (ids, { db, caller, viewer }) => {
          const shown = caller?.admin ? ids : ids.filter((key) => key === caller?.id);
          if (shown.length === 0) return new Map();
          const among = placeholders(shown);
          const counted = await db.rows(
            `select m.user_id, count(*) from members m
             where m.user_id in (${among.sql}) and m.namespace_id is not null
               and (m.expires_at is null or m.expires_at > ?)
             group by m.user_id`,
            [...among.values, viewer.today],
          );
          const counts = new Map(counted.map(([key, count]) => [key as Value, count]));
          return new Map(shown.map((key) => [key, counts.get(key) ?? 0]));
        }),
      ),
    },
  },
  mutations: {
    groupUpdate: mutation({
      about: "Change a group.",
      input: {
        fullPath: arg.required(arg.id),
        name: arg.string,
        path: arg.string,
        visibility: arg.choice(VISIBILITY),
      },
      payload: { group: property("Group") },
      run: async ({ fullPath, visibility, ...changes }, { call }) => {
        const word = visibility === undefined ? undefined : VISIBILITY_WORDS[visibility];
        const changed = await call(CHANGE, { id: fullPath, ...changes, visibility: word });
        return { group: changed["id"] };
      },
    }),
  },
};
