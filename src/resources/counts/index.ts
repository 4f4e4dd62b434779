import { findSource, type Source } from "../../core/access/source.ts";
import { forbidden, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, type Resource, routes, type Tier } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { inputOf, valuesIn } from "../issuables/filter.ts";
import { ISSUE } from "../issuables/issue.ts";
import { ISSUE_FILTERS } from "../issuables/issue-filters.ts";
import type { ListQuery } from "../issuables/list.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { countByState } from "../issuables/statistics.ts";
import { requireUser } from "../users/rules.ts";
import { recentIssuables, recentMembers } from "./activity.ts";
import * as counts from "./queries.ts";

/** The filters of lists of issues. */
const { state: _, ...STATELESS } = ISSUE_FILTERS;
const filters = inputOf(STATELESS);

type Counting = Pick<Context, "budget" | "caller" | "viewer"> & {
  readonly db: Reader;
  readonly input: param.Input<typeof filters>;
};

/** @param scope whose issues are counted, if the caller does not say so */
async function statistics(
  context: Counting,
  place: Pick<ListQuery, "projectId" | "groupId" | "isWithoutArchived">,
  scope = "all",
) {
  const { input, caller } = context;
  const values: ListQuery["values"] = valuesIn(STATELESS, { scope, ...input });
  if (values.scope !== "all" && !caller) throw unauthorized();
  const found = await countByState(context, ISSUE, { ...place, values, not: input.not });
  const [opened, closed] = [found.get("opened") ?? 0, found.get("closed") ?? 0];
  return new Json({ statistics: { counts: { all: opened + closed, closed, opened } } });
}

type Recent = Pick<Context, "db" | "viewer" | "budget" | "now">;

/** What is counted of a group's last 90 days. */
const RECENT = {
  issues: (context, group) => recentIssuables(context, group, ISSUE),
  merge_requests: (context, group) => recentIssuables(context, group, MERGE_REQUEST),
  new_members: recentMembers,
} satisfies Record<string, (context: Recent, group: Source) => Promise<number>>;

const examples = [{ statistics: { counts: { all: 3, closed: 1, opened: 2 } } }];

/** As GitLab shows a license without an end and without a limit of users; the most users there ever were are not recorded. */
const licenseOf = (plan: Tier, active: number) => ({
  id: 1,
  plan,
  created_at: null,
  starts_at: null,
  expires_at: null,
  historical_max: active,
  maximum_user_count: active,
  licensee: {},
  add_ons: {},
  expired: false,
  overage: 0,
  user_limit: 0,
  active_users: active,
});

/** How much there is of what people ask for first. */
export const countResource: Resource = {
  name: "Counts",
  migrations: [],
  routes: [
    routes().get("/user_counts", {
      summary: "Count the caller's open issues, merge requests and todos",
      examples: [
        {
          merge_requests: 1,
          assigned_issues: 2,
          assigned_merge_requests: 1,
          review_requested_merge_requests: 0,
          todos: 3,
        },
      ],
      handle: async ({ db, viewer, budget }) =>
        new Json(await counts.ofCaller({ db, viewer, budget })),
    }),
    routes().get("/users/:user_id/associations_count", {
      summary: "Count what belongs to a user, for themselves and administrators",
      input: { user_id: param.recordId() },
      examples: [{ groups_count: 1, projects_count: 2, issues_count: 3, merge_requests_count: 4 }],
      handle: async ({ db, caller, input, budget }) => {
        const { id } = await requireUser(db, input.user_id);
        if (id !== caller.id && !caller.admin) throw forbidden();
        return new Json(await counts.ofUser(db, id, budget));
      },
    }),
    routes().get("/application/statistics", {
      summary: "Count what there is on the instance",
      access: "admin",
      examples: [
        {
          ...{ forks: 1, issues: 20, merge_requests: 5, notes: 60, snippets: 2, ssh_keys: 3 },
          ...{ milestones: 4, users: 9, projects: 6, groups: 2, active_users: 8 },
        },
      ],
      handle: async ({ db, budget }) => new Json(await counts.ofInstance(db, budget)),
    }),
    routes().get("/license", {
      tier: "premium",
      summary:
        "Get the license: its plan is the server's tier, it never ends, and any number of users may be active",
      access: "admin",
      examples: [licenseOf("ultimate", 8)],
      handle: async ({ db, tier, budget }) =>
        new Json(licenseOf(tier, await counts.activeUsers(db, budget))),
    }),
    routes().get("/issues_statistics", {
      summary:
        "Count the caller's issues by state or, with `scope=all`, all issues the caller can see",
      access: "anyone",
      input: filters,
      examples,
      handle: (context) => statistics(context, { isWithoutArchived: true }, "created_by_me"),
    }),
    routes({ source: "group" }).get("/issues_statistics", {
      summary: "Count the issues of all projects in a group and its subgroups, by state",
      access: "anyone",
      input: filters,
      examples,
      handle: (context) =>
        statistics(context, { groupId: context.source.id, isWithoutArchived: true }),
    }),
    routes({ source: "project", features: ["issues"], whenDisabled: "leave out" }).get(
      "/issues_statistics",
      {
        summary: "Count the issues of a project, by state",
        access: "anyone",
        input: filters,
        examples,
        handle: (context) => statistics(context, { projectId: context.source.id }),
      },
    ),
    ...Object.entries(RECENT).map(([name, count]) =>
      routes().get(`/analytics/group_activity/${name}_count`, {
        tier: "premium",
        summary: `Count the ${name.replace("_", " ")} of the last 90 days in a group and its subgroups, up to 1,000, for members of the group`,
        input: { group_path: param.text() },
        examples: [{ [`${name}_count`]: 10 }],
        handle: async (context) => {
          const { db, viewer, input } = context;
          const group = await findSource(db, "group", input.group_path, viewer);
          if (group.level === 0) throw forbidden();
          return new Json({ [`${name}_count`]: await count(context, group) });
        },
      }),
    ),
  ],
};
