import { roleOf } from "../../core/access/roles.ts";
import { type Source, sourcesById, withSources } from "../../core/access/source.ts";
import {
  isEnding,
  memberProjects,
  usesFeature,
  VISIBILITY_WORDS,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { ownAvatar } from "../../core/avatars.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  about,
  always,
  arg,
  boolean,
  computed,
  connection,
  constant,
  enumeration,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  id,
  int,
  loaded,
  mutation,
  notAvailable,
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
  valueType,
} from "../../graphql/declare.ts";
import { all, among, type Condition, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { mayAdminIssues, mayCreateMergeRequestIn } from "../issuables/abilities.ts";
import { ACCESS_LEVEL, accessLevelOf, LEVEL } from "../members/access-level.ts";
import { inGroup, namespaceOf, VISIBILITY } from "../namespaces/graphql.ts";
import { hasTopic, namesOf, topicsOf } from "../topics/queries.ts";
import { isHidden } from "../users/rules.ts";
import { countOpenIssues, type Statistics, statisticsOf } from "./embed.ts";
import { projectResource } from "./index.ts";
import { FORKS, isOn } from "./json.ts";
import { searchedProjects, unlikeness } from "./list.ts";

const permissions = userPermissions<{ id: Value; source: Source }>(
  "ProjectPermissions",
  "a project",
  {
    readProject: always,
    adminProject: "PUT /projects/:id",
    adminIssue: (_, { source }) => mayAdminIssues(source),
    createIssue: "POST /projects/:id/issues",
    createLabel: "POST /projects/:id/labels",
    createMergeRequestIn: (_, { source }) => mayCreateMergeRequestIn(source),
    createMergeRequestFrom: "POST /projects/:id/merge_requests",
    createSnippet: "POST /projects/:id/snippets",
    createWiki: "POST /projects/:id/wikis",
    pushCode: "POST /projects/:id/repository/branches",
    readWiki: "GET /projects/:id/wikis",
  },
);

const subjectsOf = (ids: readonly Value[], { db, viewer }: GraphContext) =>
  withSources(
    db,
    ids.map((id) => ({ id, project_id: id as number })),
    viewer,
  );

const bytes = (of: keyof Statistics) =>
  property("Float", (known: Statistics) => known[of] as number);
const noBytes = property("Float", () => 0);

const statistics = valueType("ProjectStatistics", "What a project has and stores, in bytes.", {
  commitCount: required(bytes("commit_count")),
  storageSize: required(bytes("storage_size")),
  repositorySize: required(bytes("repository_size")),
  wikiSize: bytes("wiki_size"),
  buildArtifactsSize: required(bytes("job_artifacts_size")),
  packagesSize: required(bytes("packages_size")),
  uploadsSize: bytes("uploads_size"),
  lfsObjectsSize: required(bytes("lfs_objects_size")),
  pipelineArtifactsSize: noBytes,
  snippetsSize: noBytes,
  containerRegistrySize: bytes("container_registry_size"),
});

const project = rowType("Project", {
  about: "A project.",
  from: "projects p join namespaces n on n.id = p.namespace_id",
  key: "p.id",
  visible: visibleProjects,
  fields: {
    id: plainGid("Project", "p.id"),
    fullPath: required(id("p.full_path")),
    path: required(string("p.path")),
    name: required(string("p.name")),
    nameWithNamespace: required(string("n.full_name || ' / ' || p.name")),
    description: string("p.description"),
    visibility: string(field.word("p.visibility", VISIBILITY_WORDS)),
    archived: boolean("p.archived"),
    markedForDeletion: required(
      boolean(
        `case when p.marked_for_deletion_at is not null or ${isEnding("p.namespace_id")} then 1 else 0 end`,
      ),
    ),
    markedForDeletionOn: time("p.marked_for_deletion_at"),
    webUrl: string(field.url("p.full_path", (path) => `/${path}`)),
    webPath: required(string("'/' || p.full_path")),
    avatarUrl: string(ownAvatar("p.avatar_url")),
    createdAt: time("p.created_at"),
    updatedAt: time("p.updated_at"),
    lastActivityAt: time("p.last_activity_at"),
    starCount: required(int("p.star_count")),
    forksCount: required(int(FORKS)),
    isForked: required(boolean("case when p.forked_from_project_id is null then 0 else 1 end")),
    openIssuesCount: loaded("Int", (ids, { db, viewer }: GraphContext) =>
      countOpenIssues(db, ids, viewer),
    ),
    httpUrlToRepo: string(field.url("p.full_path", (path) => `/${path}.git`)),
    sshUrlToRepo: string(
      field.derived(["p.full_path"], "string", ([path], { sshUrl }) => sshUrl(String(path))),
    ),
    issuesEnabled: boolean(isOn("issues")),
    wikiEnabled: boolean(isOn("wiki")),
    snippetsEnabled: boolean(isOn("snippets")),
    mergeRequestsEnabled: boolean(isOn("merge_requests")),
    jobsEnabled: boolean(isOn("jobs")),
    requestAccessEnabled: boolean("p.request_access_enabled"),
    lfsEnabled: boolean("p.lfs_enabled"),
    onlyAllowMergeIfPipelineSucceeds: boolean("p.only_allow_merge_if_pipeline_succeeds"),
    onlyAllowMergeIfAllDiscussionsAreResolved: boolean(
      "p.only_allow_merge_if_all_discussions_are_resolved",
    ),
    mergeRequestsFfOnlyEnabled: boolean("case when p.merge_method = 'ff' then 1 else 0 end"),
    allowMergeOnSkippedPipeline: boolean("p.allow_merge_on_skipped_pipeline"),
    removeSourceBranchAfterMerge: boolean("p.remove_source_branch_after_merge"),
    squashReadOnly: required(
      boolean("case when p.squash_option in ('always', 'never') then 1 else 0 end"),
    ),
    allowsMultipleMergeRequestAssignees: constant("Boolean!", true),
    allowsMultipleMergeRequestReviewers: constant("Boolean!", true),
    topics: computed("[String!]", [topicsOf("p.id")], ([found]) => namesOf(found)),
    group: one("Group", "p.namespace_id"),
    namespace: namespaceOf("p.namespace_id"),
    maxAccessLevel: required(
      loaded(ACCESS_LEVEL, async (ids, { db, viewer }) => {
        const sources = await sourcesById(db, "project", ids, viewer);
        return new Map([...sources].map(([key, { level }]) => [key, accessLevelOf(level)]));
      }),
    ),
    statistics: about(
      "Only for reporters and above.",
      loaded(statistics, (ids, { db, viewer }) => statisticsOf(db, ids, viewer)),
    ),
    userPermissions: permissions(subjectsOf),
  },
});

const SORT = sortEnum("ProjectSort", "The order of a list of projects.", "p.id", {
  ID: { sql: "p.id" },
  NAME: { sql: "p.name", isText: true },
  PATH: { sql: "p.path", isText: true },
  CREATED: { sql: "p.created_at" },
  UPDATED: { sql: "p.updated_at" },
  LATEST_ACTIVITY: { sql: "p.last_activity_at" },
  STARS: { sql: "p.star_count" },
});
const NEWEST = SORT.values["ID_DESC"] as readonly Order[];

/** How similar projects are to what is searched, the most similar first; the newest first if nothing is. */
function bySimilarity(search: string | undefined): readonly Order[] {
  if (!search) return NEWEST;
  return [unlikeness(search), { sql: "length(p.path)" }, { sql: "p.id", descending: true }];
}

/** @throws GraphError for an unknown order: `projects` takes it as a text, such as `id_desc` */
function orderOf(sort: string | undefined, search: string | undefined): readonly Order[] {
  if (sort?.toUpperCase() === "SIMILARITY") return bySimilarity(search);
  const order = sort === undefined ? NEWEST : SORT.values[sort.toUpperCase()];
  if (!order) throw new GraphError(`"${sort?.slice(0, 100)}" is not an order of projects`);
  return order;
}

/** Stands for {@link bySimilarity}, which depends on what is searched. */
const SIMILARITY: readonly Order[] = [];

const SORT_IN_GROUP = sortEnum(
  "NamespaceProjectSort",
  "The order of a group's projects.",
  "p.id",
  { PATH: { sql: "p.path", isText: true }, FULL_PATH: { sql: "p.full_path", isText: true } },
  {
    ACTIVITY_DESC: [
      { sql: "p.last_activity_at", descending: true },
      { sql: "p.id", descending: true },
    ],
    SIMILARITY,
  },
);

const ARCHIVED = enumeration("ProjectArchived", "Whether archived projects are listed.", [
  "ONLY",
  "INCLUDE",
  "EXCLUDE",
]);
const YEAR = 365 * 86_400_000;
/** The most full paths that a list takes, as in GitLab. */
const MAX_PATHS = 50;

const filters = {
  search: arg.string,
  searchNamespaces: arg.boolean,
  membership: arg.boolean,
  personal: arg.boolean,
  ids: arg.list(arg.id),
  fullPaths: arg.list(arg.string),
  namespacePath: arg.id,
  minAccessLevel: arg.choice(LEVEL),
  archived: arg.choice(ARCHIVED),
  visibilityLevel: arg.choice(VISIBILITY),
  topics: arg.list(arg.string),
  withIssuesEnabled: arg.boolean,
  withMergeRequestsEnabled: arg.boolean,
} satisfies Args;

type Filters = Partial<Values<typeof filters>>;

function conditionOf(args: Filters, { viewer }: GraphContext): Condition {
  const { search, fullPaths, membership, minAccessLevel } = args;
  if (fullPaths && fullPaths.length > MAX_PATHS) {
    throw new GraphError("You cannot provide more than 50 full_paths");
  }
  return all([
    membership || minAccessLevel !== undefined
      ? memberProjects(viewer, minAccessLevel === undefined ? undefined : roleOf(minAccessLevel))
      : undefined,
    args.personal ? when("n.owner_id = ?", viewer.caller?.id ?? 0) : undefined,
    among(
      "p.id",
      args.ids?.map((id) => recordId(id, "Project")),
    ),
    among(
      "lower(p.full_path)",
      fullPaths?.map((path) => path.toLowerCase()),
    ),
    when("lower(n.full_path) = lower(?)", args.namespacePath),
    args.archived === "ONLY" ? when("p.archived = 1") : undefined,
    args.archived === "EXCLUDE" ? when("p.archived = 0") : undefined,
    when("p.visibility = ?", args.visibilityLevel),
    args.withIssuesEnabled ? usesFeature(viewer, "issues") : undefined,
    args.withMergeRequestsEnabled ? usesFeature(viewer, "merge_requests") : undefined,
    ...(args.topics ?? []).map(hasTopic),
    search
      ? args.searchNamespaces
        ? contains(["p.name", "p.path", "p.description", "n.name", "n.full_path"], search)
        : searchedProjects(search)
      : undefined,
  ]);
}

const ofGroup = {
  ...filters,
  sort: arg.choice(SORT_IN_GROUP),
  includeSubgroups: arg.withDefault(arg.boolean, false),
  includeArchived: arg.withDefault(arg.boolean, true),
} satisfies Args;

const STAR = {
  true: routeOf(projectResource, "POST /projects/:id/star"),
  false: routeOf(projectResource, "POST /projects/:id/unstar"),
};

/** Projects. */
export const graphqlModule: GraphqlModule = {
  types: [project],
  extend: {
    Query: {
      project: first("Project", {
        args: { fullPath: arg.required(arg.id) },
        query: ({ fullPath }) => ({ where: when("lower(p.full_path) = lower(?)", fullPath) }),
      }),
      projects: connection("Project", {
        args: { ...filters, sort: arg.string },
        query: ({ sort, ...args }, context) => ({
          where: conditionOf(args, context),
          order: orderOf(sort, args.search),
        }),
      }),
    },
    Group: {
      projects: required(
        connection("Project", {
          args: ofGroup,
          query: ({ includeSubgroups, includeArchived, sort = NEWEST, ...args }, context) => ({
            ...inGroup(includeSubgroups),
            where: all([
              conditionOf(args, context),
              includeArchived ? undefined : when("p.archived = 0"),
            ]),
            order: sort.length > 0 ? sort : bySimilarity(args.search),
          }),
        }),
      ),
      projectsCount: required(
        loaded(
          "Int",
          async (ids, { db, viewer }) => {
            const groups = placeholders(ids);
            const visible = visibleProjects(viewer);
            const counted = await db.rows(
              `select p.namespace_id, count(*) from projects p
               where p.namespace_id in (${groups.sql}) and ${visible.sql} group by p.namespace_id`,
              [...groups.values, ...visible.values],
            );
            return new Map(counted.map(([key, count]) => [key as Value, count]));
          },
          { empty: 0 },
        ),
      ),
    },
    ProjectMember: {
      userPermissions: permissions(subjectsOf, { key: "m.project_id" }),
    },
    User: {
      starredProjects: connection("Project", {
        args: { search: arg.string, sort: arg.choice(SORT) },
        query: ({ sort = NEWEST, ...args }, context) => ({
          join: "join project_stars st on st.project_id = p.id join users su on su.id = st.user_id",
          parent: "st.user_id",
          where: all([
            conditionOf(args, context),
            // Private profiles hide what their users like.
            context.caller?.admin
              ? undefined
              : when("(su.private_profile = 0 or su.id = ?)", context.caller?.id ?? 0),
          ]),
          order: sort,
        }),
      }),
      contributedProjects: about(
        "Those in which they did something within a year; private profiles hide them.",
        connection("Project", {
          args: { search: arg.string, personal: arg.boolean, sort: arg.choice(SORT) },
          needs: ["u.id", "u.private_profile"],
          query: ({ sort = NEWEST, ...args }, context, [id, isPrivate]) => {
            const user = { id: id as number, private_profile: isPrivate as number };
            const contributed = when(
              `p.id in (select e.project_id from events e
                where e.author_id = ? and e.created_at > ? and e.action not in ('joined', 'left'))`,
              id,
              context.now - YEAR,
            );
            return {
              where: all([
                conditionOf(args, context),
                isHidden(user, context.viewer) ? when("1 = 0") : contributed,
              ]),
              order: sort,
            };
          },
        }),
      ),
      projectCount: about(
        "Their own projects and those they are direct members of; only they and administrators see it.",
        loaded("Int", async (ids, { db, caller, viewer }) => {
          const shown = caller?.admin ? ids : ids.filter((key) => key === caller?.id);
          if (shown.length === 0) return new Map();
          const users = placeholders(shown);
          const counted = await db.rows(
            `select user_id, count(distinct project_id) from (
               select m.user_id, m.project_id from members m
               where m.user_id in (${users.sql}) and m.project_id is not null
                 and (m.expires_at is null or m.expires_at > ?)
               union all
               select n.owner_id, p.id from namespaces n join projects p on p.namespace_id = n.id
               where n.owner_id in (${users.sql})) as theirs
             group by user_id`,
            [...users.values, viewer.today, ...users.values],
          );
          const counts = new Map(counted.map(([key, count]) => [key as Value, count]));
          return new Map(shown.map((key) => [key, counts.get(key) ?? 0]));
        }),
      ),
    },
  },
  mutations: {
    starProject: mutation({
      about: "Star a project, or take the star back.",
      input: {
        projectId: arg.required(arg.gid("Project")),
        starred: arg.required(arg.boolean),
      },
      payload: { count: required(property("String")) },
      run: async ({ projectId, starred }, { call, db }) => {
        await call(STAR[`${starred}`], { id: projectId });
        const found = await db.one<{ star_count: number }>(
          "select star_count from projects where id = ?",
          [projectId],
        );
        if (!found) throw notAvailable();
        return { count: String(found.star_count) };
      },
    }),
  },
};
