import { visibleProjects } from "../../core/access/visibility.ts";
import {
  type Args,
  arg,
  type ChildQuery,
  connection,
  costing,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  gid,
  int,
  mutation,
  notAvailable,
  one,
  property,
  required,
  rowType,
  sortEnum,
  string,
  time,
  type Values,
} from "../../graphql/declare.ts";
import { all, any, type Condition, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { ISSUE } from "../issuables/issue.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { ISSUABLE_TYPES, targetOf, typeNamed } from "../issuables/types.ts";
import { inGroup } from "../namespaces/graphql.ts";
import { timelogRoutes } from "./timelogs.ts";

const timelog = rowType("Timelog", {
  about: "Time that a user spent on an issue or merge request; time taken back is negative.",
  from: `timelogs tl join projects p on p.id = tl.project_id ${targetOf("tl").joins}`,
  key: "tl.id",
  visible: (viewer) =>
    all([
      visibleProjects(viewer),
      any(
        ISSUABLE_TYPES.map(({ column, visible }) =>
          all([when(`tl.${column} is not null`), visible(viewer)]),
        ),
      ),
    ]),
  totals: { totalSpentTime: { sql: "coalesce(sum(tl.time_spent), 0)", type: "BigInt" } },
  fields: {
    id: gid("Timelog", "tl.id"),
    timeSpent: required(int("tl.time_spent")),
    spentAt: time("tl.spent_at"),
    summary: string("tl.summary"),
    user: one("UserCore", "tl.user_id"),
    project: required(one("Project", "tl.project_id")),
    issue: one("Issue", `tl.${ISSUE.column}`),
    mergeRequest: one("MergeRequest", `tl.${MERGE_REQUEST.column}`),
    // Time that quick actions log is not stored with the note they were written in.
    note: one("Note", "null"),
  },
});

const SORT = sortEnum("TimelogSort", "The order of a list of timelogs.", "tl.id", {
  SPENT_AT: { sql: "tl.spent_at" },
  TIME_SPENT: { sql: "tl.time_spent" },
  CREATED: { sql: "tl.created_at" },
});

const filters = {
  startDate: arg.about("Time spent on this day or later.", arg.time),
  endDate: arg.about("Time spent on this day or earlier.", arg.time),
  startTime: arg.about("Time spent at this instant or later.", arg.time),
  endTime: arg.about("Time spent at this instant or earlier.", arg.time),
  username: arg.about("Time that this user spent.", arg.string),
  projectId: arg.gid("Project"),
  groupId: arg.about("In the projects of this group and those below it.", arg.gid("Group")),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["SPENT_AT_ASC"]),
} satisfies Args;

type Filters = Values<typeof filters>;

const DAY = 86_400_000;
const startOf = (at: number) => Math.floor(at / DAY) * DAY;

/** @throws GraphError for arguments that contradict each other */
function conditionOf(args: Filters): Condition {
  const { startDate, endDate, startTime, endTime, username } = args;
  if (startDate !== undefined && startTime !== undefined) {
    throw new GraphError("Provide either a start date or time, but not both");
  }
  if (endDate !== undefined && endTime !== undefined) {
    throw new GraphError("Provide either an end date or time, but not both");
  }
  const from = startDate === undefined ? startTime : startOf(startDate);
  const until = endDate === undefined ? endTime : startOf(endDate) + DAY - 1;
  if (from !== undefined && until !== undefined && from > until) {
    throw new GraphError("Start argument must be before End argument");
  }
  return all([
    when("tl.spent_at >= ?", from),
    when("tl.spent_at <= ?", until),
    when("tl.user_id in (select id from users where lower(username) = lower(?))", username),
    when("tl.project_id = ?", args.projectId),
    when(
      "p.namespace_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)",
      args.groupId,
    ),
  ]);
}

/** Time logged by, on or in a parent. */
const timelogsOf = (scope: Pick<ChildQuery, "join" | "parent">) =>
  connection("Timelog", {
    args: filters,
    query: (args) => ({ ...scope, where: conditionOf(args), order: args.sort }),
  });

/** Lists of all projects are for administrators; others say whose or which they want. */
function requireScope(args: Filters, { caller }: GraphContext): void {
  const isOwn =
    caller !== undefined && args.username?.toLowerCase() === caller.username.toLowerCase();
  if (caller?.admin || isOwn) return;
  if (args.projectId !== undefined || args.groupId !== undefined) return;
  throw new GraphError("Non-admin users must provide a group_id, project_id, or current username");
}

interface Place {
  project_id: number;
  iid: number;
}

/** Where an issuable is: the route that changes it checks what the caller may do there. */
async function placeOf(db: Reader, className: string, id: number) {
  const type = typeNamed(className);
  const found =
    type && (await db.one<Place>(`select project_id, iid from ${type.table} where id = ?`, [id]));
  const routes = timelogRoutes.get(className);
  if (!found || !routes) throw notAvailable();
  return { routes, at: { id: found.project_id, [type.parameter]: found.iid } };
}

/** Time spent on issues and merge requests. */
export const graphqlModule: GraphqlModule = {
  types: [timelog],
  extend: {
    Issue: { timelogs: costing(1, required(timelogsOf({ parent: "tl.issue_id" }))) },
    MergeRequest: {
      timelogs: costing(1, required(timelogsOf({ parent: "tl.merge_request_id" }))),
    },
    Project: { timelogs: timelogsOf({ parent: "tl.project_id" }) },
    Group: {
      timelogs: timelogsOf(inGroup()),
    },
    User: { timelogs: costing(5, timelogsOf({ parent: "tl.user_id" })) },
    Query: {
      timelogs: connection("Timelog", {
        args: filters,
        query: (args, context) => {
          requireScope(args, context);
          return { where: conditionOf(args), order: args.sort };
        },
      }),
    },
  },
  mutations: {
    timelogCreate: mutation({
      about: "Log time spent on an issue or merge request.",
      input: {
        issuableId: arg.required(
          arg.gidOf(
            "IssuableID",
            ISSUABLE_TYPES.map(({ className }) => className),
          ),
        ),
        timeSpent: arg.about("Such as `1h 30m`.", arg.required(arg.string)),
        summary: arg.required(arg.string),
        spentAt: arg.about("Default: now.", arg.time),
      },
      payload: { timelog: property("Timelog") },
      run: async ({ issuableId, timeSpent, summary, spentAt }, { call, db }) => {
        const { routes, at } = await placeOf(db, issuableId.type, issuableId.id);
        const { id } = await call(routes.create, {
          ...at,
          time_spent: timeSpent,
          summary,
          spent_at: spentAt === undefined ? undefined : new Date(spentAt).toISOString(),
        });
        return { timelog: id };
      },
    }),
    timelogDelete: mutation({
      about: "Remove time that was logged.",
      input: { id: arg.required(arg.gid("Timelog")) },
      payload: { timelog: property("Timelog") },
      run: async ({ id }, { call, db }) => {
        const { className, id: target } = targetOf("tl");
        const found = await db.one<{ class_name: string; target_id: number }>(
          `select ${className} as class_name, ${target} as target_id from timelogs tl where tl.id = ?`,
          [id],
        );
        if (!found) throw notAvailable();
        const { routes, at } = await placeOf(db, found.class_name, found.target_id);
        await call(routes.destroy, { ...at, timelog_id: id });
        return {};
      },
    }),
  },
};
