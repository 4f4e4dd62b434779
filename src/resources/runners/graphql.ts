import { digestOf } from "../../auth/token-secrets.ts";
import {
  memberGroups,
  memberProjects,
  type Viewer,
  visibleJobs,
} from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  about,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  constant,
  deprecated,
  enumeration,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  gid,
  html,
  int,
  loaded,
  type MutationContext,
  mutation,
  notAvailable,
  one,
  type PageRange,
  property,
  recordId,
  required,
  routeOf,
  rowType,
  sortEnum,
  string,
  time,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, any, type Condition, when, worded } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { connectionOf, isRunning } from "../ci/json.ts";
import type { Status } from "../ci/statuses.ts";
import { JOB_STATUS } from "../pipelines/graphql.ts";
import { runnerResource } from "./index.ts";
import {
  availableIn,
  filtered,
  heldBelow,
  managedIn,
  managedRunners,
  NOT_DELETED,
  newest,
  RUNNER_KINDS,
  usableIn,
  visibleRunners,
} from "./queries.ts";

/** An enumeration of words that REST has in small letters. */
const capitals = <const N extends string>(name: string, about: string, words: readonly N[]) =>
  enumeration<N>(
    name,
    about,
    Object.fromEntries(words.map((one) => [one.toUpperCase(), one])) as Record<string, N>,
  );

const TYPE = capitals("CiRunnerType", "What a runner is for.", RUNNER_KINDS);
const STATUS = capitals("CiRunnerStatus", "When a runner was last heard of.", [
  "active",
  "paused",
  "online",
  "offline",
  "stale",
  "never_contacted",
]);
const ACCESS_LEVEL = capitals("CiRunnerAccessLevel", "For which branches and tags a runner is.", [
  "not_protected",
  "ref_protected",
]);
const ACTIVITY = capitals("CiRunnerJobExecutionStatus", "Whether a runner does jobs.", [
  "idle",
  "active",
]);
const MEMBERSHIP = enumeration("CiRunnerMembershipFilter", "Which runners of a group are meant.", [
  "DIRECT",
  "DESCENDANTS",
  "ALL_AVAILABLE",
]);
const SORT = sortEnum(
  "CiRunnerSort",
  "The order of runners.",
  "rn.id",
  {
    CREATED: { sql: "rn.id" },
    CONTACTED: { sql: "coalesce(rn.contacted_at, 0)" },
    // Tokens do not expire.
    TOKEN_EXPIRES_AT: { sql: "rn.id" },
  },
  {
    MOST_ACTIVE_DESC: [
      {
        sql: "(select count(*) from ci_jobs rj where rj.runner_id = rn.id and rj.status = 'running')",
        descending: true,
      },
      { sql: "rn.id", descending: true },
    ],
  },
);

const RUNNER_ID = arg.gid("CiRunner", ["Ci::Runner"]);

const status = (alias: "rn" | "rm") =>
  required(
    word(
      STATUS,
      field.derived(
        [`${alias}.contacted_at`, `${alias}.created_at`],
        "string",
        ([at, created], { now }) => connectionOf(at, created, now).toUpperCase(),
      ),
    ),
  );
const activity = (jobs: string) =>
  word(ACTIVITY, `case when ${isRunning(jobs)} then 'ACTIVE' else 'IDLE' end`);

/** What there is none of here. */
const none = (type = "String") => constant(type, null);

/** The tokens of runners that mutations have just made, by what executes the document: only its answer has them. */
const tokens = new WeakMap<object, Map<Value, string>>();

function keepToken(context: object, id: number, token: string): number {
  const known = tokens.get(context) ?? new Map<Value, string>();
  tokens.set(context, known.set(id, token));
  return id;
}

/** As in GitLab, no more jobs of a runner are counted: one more says that there are more. */
const MOST_COUNTED = 1000;

/** The numbers of jobs of those runners that the viewer manages. */
async function jobCounts(ids: readonly Value[], { db, viewer }: GraphContext) {
  const where = all([among("rn.id", ids), managedRunners(viewer)]);
  const rows = await db.rows(
    `select rn.id, (select count(*) from (
       select 1 as one from ci_jobs cj where cj.runner_id = rn.id limit ${MOST_COUNTED + 1}) as counted)
     from runners rn where ${where.sql}`,
    where.values,
  );
  return new Map(rows.map(([id, count]) => [id as Value, Number(count)]));
}

async function tagsOf(ids: readonly Value[], { db }: GraphContext) {
  const these = placeholders(ids);
  const rows = await db.rows(
    `select runner_id, tag from runner_tags where runner_id in (${these.sql}) order by tag`,
    these.values,
  );
  const found = new Map<Value, Value[]>();
  for (const [id = null, tag = null] of rows) found.set(id, [...(found.get(id) ?? []), tag]);
  return found;
}

async function projectCounts(ids: readonly Value[], { db }: GraphContext) {
  const these = placeholders(ids);
  const rows = await db.rows(
    `select rn.id, (select count(*) from runner_projects rp where rp.runner_id = rn.id)
     from runners rn where rn.kind = 'project_type' and rn.id in (${these.sql})`,
    these.values,
  );
  return new Map(rows.map(([id, count]) => [id as Value, Number(count)]));
}

const PERMISSIONS = valueType("RunnerPermissions", "What the caller may do with a runner.", {
  readRunner: required(property("Boolean")),
  updateRunner: required(property("Boolean")),
  deleteRunner: required(property("Boolean")),
  assignRunner: required(property("Boolean")),
});

async function permissionsOf(ids: readonly Value[], { db, viewer }: GraphContext) {
  const where = all([among("rn.id", ids), managedRunners(viewer)]);
  const rows = await db.rows(
    `select rn.id, case when rn.kind = 'project_type' and rn.locked = 0 then 1 else 0 end
     from runners rn where ${where.sql}`,
    where.values,
  );
  const managed = new Map(rows.map(([id, isOpen]) => [id, isOpen === 1]));
  return new Map(
    ids.map((id) => {
      const manages = managed.has(id);
      const assignRunner = managed.get(id) === true;
      const rights = { readRunner: true, updateRunner: manages, deleteRunner: manages };
      return [id, { ...rights, assignRunner }];
    }),
  );
}

/** Rows that REST shows only to those who manage the runner with an id. */
const ifManaged = (viewer: Viewer, id: Value): Condition => {
  const managed = managedRunners(viewer);
  return {
    sql: `exists (select 1 from runners rn where rn.id = ? and ${managed.sql})`,
    values: [id, ...managed.values],
  };
};

/**
 * The jobs of a runner that the viewer sees, the newest first.
 *
 * @param statuses those that are wanted; none means all. The first jobs of each are read, by its index: of rare ones, all others
 * would be passed over
 */
function jobsOf(viewer: Viewer, id: Value, statuses: readonly Status[]): ChildQuery {
  const shown = all([when("cj.runner_id = ?", id), ifManaged(viewer, id), visibleJobs(viewer)]);
  const order = [{ sql: "cj.id", descending: true }];
  if (statuses.length === 0) return { where: shown, order };
  const page = ({ size, isBackward, start, end }: PageRange): Condition => {
    const range = all([shown, when("cj.id < ?", start?.[0]), when("cj.id > ?", end?.[0])]);
    const firsts = statuses.map(
      () => `select id from (select cj.id from ci_jobs cj join projects p on p.id = cj.project_id
        where cj.status = ? and ${range.sql} order by cj.id ${isBackward ? "asc" : "desc"} limit ?) as firsts`,
    );
    return {
      sql: `cj.id in (${firsts.join(" union all ")})`,
      values: statuses.flatMap((status) => [status, ...range.values, size]),
    };
  };
  return { where: all([shown, worded("cj.status", statuses)]), page, order };
}

const runner = rowType("CiRunner", {
  about: "A runner, which does the jobs of pipelines.",
  from: "runners rn",
  key: "rn.id",
  visible: (viewer) => all([NOT_DELETED, visibleRunners(viewer)]),
  fields: {
    id: gid("CiRunner", "rn.id", "Ci::Runner"),
    description: string("rn.description"),
    runnerType: required(word(TYPE, "upper(rn.kind)")),
    status: status("rn"),
    paused: required(boolean("rn.paused")),
    active: deprecated("Use `paused`.", required(boolean("1 - rn.paused"))),
    locked: boolean("rn.locked"),
    runUntagged: required(boolean("rn.run_untagged")),
    tagList: loaded("[String!]", tagsOf, { empty: [] }),
    accessLevel: required(word(ACCESS_LEVEL, "upper(rn.access_level)")),
    maximumTimeout: int("rn.maximum_timeout"),
    maintenanceNote: string("rn.maintenance_note"),
    maintenanceNoteHtml: html("rn.maintenance_note"),
    jobExecutionStatus: activity("rj.runner_id = rn.id"),
    jobCount: about(
      `For those who manage it; ${MOST_COUNTED + 1} if it is more than ${MOST_COUNTED}.`,
      loaded("Int", jobCounts),
    ),
    contactedAt: time("rn.contacted_at"),
    createdAt: time("rn.created_at"),
    createdBy: one("UserCore", "rn.creator_id"),
    ipAddress: string("rn.ip_address"),
    version: string(newest("version")),
    revision: string(newest("revision")),
    platformName: string(newest("platform")),
    architectureName: string(newest("architecture")),
    executorName: none(),
    shortSha: about("Of tokens, only digests are stored.", none()),
    tokenExpiresAt: about("They do not expire.", none("Time")),
    adminUrl: none(),
    editAdminUrl: none(),
    registerAdminUrl: none(),
    ephemeralRegisterUrl: none(),
    ephemeralAuthenticationToken: about(
      "Its token: only in the answer of the mutation that has created it.",
      computed("String", ["rn.id"], ([id = null], context) => tokens.get(context)?.get(id)),
    ),
    projectCount: loaded("Int", projectCounts),
    ownerProject: one(
      "Project",
      "(select rp.project_id from runner_projects rp where rp.runner_id = rn.id order by rp.id limit 1)",
    ),
    projects: connection("Project", {
      query: () => ({
        join: "join runner_projects rp on rp.project_id = p.id",
        parent: "rp.runner_id",
        order: [{ sql: "rp.id" }],
      }),
    }),
    groups: connection("Group", {
      needs: ["rn.namespace_id"],
      query: (_, __, [id = null]) => ({ where: when("n.id = ?", id) }),
    }),
    managers: connection("CiRunnerManager", {
      query: () => ({ parent: "rm.runner_id", order: [{ sql: "rm.id", descending: true }] }),
    }),
    jobs: connection("CiJob", {
      args: { statuses: arg.list(arg.choice(JOB_STATUS)) },
      needs: ["rn.id"],
      query: ({ statuses = [] }, { viewer }, [id = null]) =>
        jobsOf(viewer, id, [...new Set(statuses)]),
    }),
    userPermissions: required(loaded(PERMISSIONS, permissionsOf)),
  },
});

const manager = rowType("CiRunnerManager", {
  about: "A process of a runner.",
  from: "runner_managers rm join runners rn on rn.id = rm.runner_id",
  key: "rm.id",
  visible: (viewer) => all([NOT_DELETED, managedRunners(viewer)]),
  fields: {
    id: gid("CiRunnerManager", "rm.id", "Ci::RunnerManager"),
    systemId: required(string("rm.system_id")),
    status: status("rm"),
    version: string("rm.version"),
    revision: string("rm.revision"),
    platformName: string("rm.platform"),
    architectureName: string("rm.architecture"),
    executorName: none(),
    ipAddress: string("rm.ip_address"),
    contactedAt: time("rm.contacted_at"),
    createdAt: time("rm.created_at"),
    jobExecutionStatus: activity("rj.runner_id = rn.id and rj.runner_manager_id = rm.id"),
    runner: one("CiRunner", "rm.runner_id"),
  },
});

const listed = {
  active: arg.about("The opposite of `paused`.", arg.boolean),
  paused: arg.boolean,
  status: arg.choice(STATUS),
  type: arg.choice(TYPE),
  tagList: arg.about("All of these tags.", arg.list(arg.string)),
  search: arg.about("Part of the description, or the whole token.", arg.string),
  creatorId: arg.gid("User"),
  creatorUsername: arg.string,
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
} satisfies Args;

/** Those runners of a list that its arguments want, in order. @param of the condition of the list: the caller may see all of them */
function queryOf(
  {
    active,
    paused,
    status,
    type,
    tagList,
    search,
    creatorId,
    creatorUsername,
    sort,
  }: Values<typeof listed>,
  { now }: GraphContext,
  of?: Condition,
): ChildQuery {
  const isPaused = paused ?? (active === undefined ? undefined : !active);
  return {
    from: { sql: "runners rn", values: [] },
    where: all([
      NOT_DELETED,
      of,
      ...filtered({ status, type, paused: isPaused, tag_list: tagList }, now),
      search
        ? any([
            contains(["rn.description"], search),
            { sql: "rn.digest = ?", values: [digestOf(search)] },
          ])
        : undefined,
      when("rn.creator_id = ?", creatorId),
      when(
        "rn.creator_id = (select id from users where lower(username) = lower(?))",
        creatorUsername,
      ),
    ]),
    order: sort,
  };
}

/** The condition on all rows that the viewer has a role in a group or project, as the route of the same list asks. */
function inOwner(viewer: Viewer, kind: "project" | "group", id: Value): Condition | undefined {
  if (viewer.caller?.admin) return undefined;
  const [table, own] =
    kind === "project"
      ? ["projects p where p.id", memberProjects(viewer, "maintainer")]
      : ["namespaces n where n.id", memberGroups(viewer, "owner")];
  return { sql: `exists (select 1 from ${table} = ? and ${own.sql})`, values: [id, ...own.values] };
}

const route = (name: string) => routeOf(runnerResource, name);
const CREATE = route("POST /user/runners");
const CHANGE = route("PUT /runners/:runner_id");
const DELETE = route("DELETE /runners/:runner_id");
const ASSIGN = route("POST /projects/:id/runners");
const UNASSIGN = route("DELETE /projects/:id/runners/:runner_id");

const attributes = {
  description: arg.string,
  maintenanceNote: arg.string,
  maximumTimeout: arg.about("Seconds.", arg.int),
  accessLevel: arg.choice(ACCESS_LEVEL),
  paused: arg.boolean,
  locked: arg.boolean,
  runUntagged: arg.boolean,
  tagList: arg.list(arg.string),
} satisfies Args;

/** The parameters of routes; what is null stays as it is. */
const parametersOf = (input: Values<typeof attributes>) => ({
  description: input.description ?? undefined,
  maintenance_note: input.maintenanceNote ?? undefined,
  maximum_timeout: input.maximumTimeout ?? undefined,
  access_level: input.accessLevel ?? undefined,
  paused: input.paused ?? undefined,
  locked: input.locked ?? undefined,
  run_untagged: input.runUntagged ?? undefined,
  tag_list: input.tagList ?? undefined,
});

/** Most runners that one mutation removes, as in GitLab. */
const MOST_DELETED = 50;

/** Removes runners one after the other; those that the caller does not manage stay, and are told. */
async function deleteEach({ call }: MutationContext, ids: readonly number[]) {
  const deleted: number[] = [];
  const refused: number[] = [];
  for (const id of ids.slice(0, MOST_DELETED)) {
    try {
      await call(DELETE, { runner_id: id });
      deleted.push(id);
    } catch (error) {
      if (!(error instanceof ApiError && [403, 404].includes(error.status))) throw error;
      if (error.status === 403) refused.push(id);
    }
  }
  const errors: string[] = [];
  if (ids.length > MOST_DELETED) {
    errors.push(
      `Can only delete up to ${MOST_DELETED} runners per call. Ignored the remaining runner(s).`,
    );
  }
  if (refused.length > 0) {
    const names = refused.map((id) => `#${id}`).join(", ");
    errors.push(`User does not have permission to delete runner(s) ${names}`);
  }
  const deletedIds = deleted.map((id) => `gid://gitlab/Ci::Runner/${id}`);
  return { deletedCount: deleted.length, deletedIds, errors };
}

/** Runners, and their processes. */
export const graphqlModule: GraphqlModule = {
  types: [runner, manager],
  extend: {
    Query: {
      runner: first("CiRunner", {
        args: { id: arg.required(RUNNER_ID) },
        query: ({ id }) => ({ where: when("rn.id = ?", id) }),
      }),
      runners: about(
        "All runners, for administrators.",
        connection("CiRunner", {
          args: listed,
          query: (args, context) => {
            if (!context.caller?.admin) throw notAvailable();
            return queryOf(args, context);
          },
        }),
      ),
    },
    CurrentUser: {
      runners: about(
        "The runners that the caller manages.",
        connection("CiRunner", {
          args: listed,
          query: (args, context) =>
            queryOf(args, context, managedIn(context.db.dialect, context.viewer)),
        }),
      ),
    },
    Project: {
      runners: about(
        "The runners that do its jobs, for maintainers.",
        connection("CiRunner", {
          args: listed,
          needs: ["p.id", "p.namespace_id"],
          query: (args, context, [id = null, namespaceId = null]) => {
            const usable = usableIn(
              context.db.dialect,
              "project",
              id as number,
              namespaceId as number,
            );
            const mine = inOwner(context.viewer, "project", id);
            return queryOf(args, context, all([mine, usable]));
          },
        }),
      ),
    },
    Group: {
      runners: about(
        "The runners of the group and of what is below it, its own, or all that do its jobs: for owners.",
        connection("CiRunner", {
          args: {
            ...listed,
            membership: arg.withDefault(arg.choice(MEMBERSHIP), "DESCENDANTS"),
          },
          needs: ["n.id"],
          query: ({ membership, ...args }, context, [id = null]) => {
            const { dialect } = context.db;
            const meant = {
              DIRECT: when("rn.namespace_id = ?", id),
              DESCENDANTS: heldBelow(dialect, id as number),
              ALL_AVAILABLE: availableIn(dialect, id as number),
            };
            const mine = inOwner(context.viewer, "group", id);
            return queryOf(args, context, all([mine, meant[membership]]));
          },
        }),
      ),
    },
    CiJob: {
      runner: one("CiRunner", "cj.runner_id"),
      runnerManager: one("CiRunnerManager", "cj.runner_manager_id"),
    },
  },
  mutations: {
    runnerCreate: mutation({
      about:
        "Create a runner of the instance, a group or a project; only this answer has its token.",
      input: {
        runnerType: arg.required(arg.choice(TYPE)),
        groupId: arg.gid("Group"),
        projectId: arg.gid("Project"),
        ...attributes,
      },
      payload: {
        runner: property("CiRunner", ({ id, token }: { id?: number; token: string }, context) =>
          id === undefined ? null : keepToken(context, id, token),
        ),
      },
      run: async ({ runnerType, groupId, projectId, ...input }, { call }) => {
        const [group_id, project_id] = [groupId ?? undefined, projectId ?? undefined];
        if (runnerType === "group_type" && group_id === undefined) {
          throw new GraphError("`group_id` is missing");
        }
        if (runnerType === "project_type" && project_id === undefined) {
          throw new GraphError("`project_id` is missing");
        }
        const place = { runner_type: runnerType, group_id, project_id };
        return call(CREATE, { ...place, ...parametersOf(input) });
      },
    }),
    runnerUpdate: mutation({
      about: "Change a runner.",
      input: {
        id: arg.required(RUNNER_ID),
        active: arg.about("The opposite of `paused`.", arg.boolean),
        ...attributes,
      },
      payload: { runner: property("CiRunner") },
      run: async ({ id, active, ...input }, { call }) => {
        const changes = { active: active ?? undefined, ...parametersOf(input) };
        await call(CHANGE, { runner_id: id, ...changes });
        return { runner: id };
      },
    }),
    runnerDelete: mutation({
      about: "Remove a runner.",
      input: { id: arg.required(RUNNER_ID) },
      payload: {},
      run: async ({ id }, { call }) => {
        await call(DELETE, { runner_id: id });
        return {};
      },
    }),
    bulkRunnerDelete: mutation({
      about: "Remove runners.",
      input: { ids: arg.list(RUNNER_ID) },
      payload: { deletedCount: property("Int"), deletedIds: property("[CiRunnerID!]") },
      run: ({ ids }, context) => deleteEach(context, ids ?? []),
    }),
    runnerAssignToProject: mutation({
      about: "Let a runner of another project do jobs of this one.",
      input: { runnerId: arg.required(RUNNER_ID), projectPath: arg.required(arg.id) },
      payload: {},
      run: async ({ runnerId, projectPath }, { call }) => {
        await call(ASSIGN, { id: projectPath, runner_id: runnerId });
        return {};
      },
    }),
    runnerUnassignFromProject: mutation({
      about: "Let a runner do no more jobs of a project.",
      input: { runnerId: arg.required(RUNNER_ID), projectPath: arg.required(arg.id) },
      payload: {},
      run: async ({ runnerId, projectPath }, { call }) => {
        await call(UNASSIGN, { id: projectPath, runner_id: runnerId });
        return {};
      },
    }),
    runnersRegistrationTokenReset: mutation({
      about: "Replace the token by which runners are registered.",
      input: {
        type: arg.required(arg.choice(TYPE)),
        id: arg.about("The global id of the group or project.", arg.id),
      },
      payload: { token: property("String") },
      run: async ({ type, id }, { call }) => {
        if (type === "instance_type") {
          if (id) throw new GraphError(`id must not be specified for '${type}' scope`);
          return call(route("POST /runners/reset_registration_token"), {});
        }
        const [path, name] = type === "group_type" ? ["groups", "Group"] : ["projects", "Project"];
        const owner = recordId(id ?? "", name as string);
        return call(route(`POST /${path}/:id/runners/reset_registration_token`), { id: owner });
      },
    }),
  },
};
