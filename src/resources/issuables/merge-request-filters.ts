import { BEING_DELETED_ROWS, visibleDeployments } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { unsupported, withoutEffect } from "../../core/kept.ts";
import { arg, enumeration } from "../../graphql/declare/args.ts";
import { all, among, type Condition, rowByRow, when } from "../../store/conditions.ts";
import {
  type Filters,
  type FilterValues,
  filter,
  type IssuableFilter,
  listOf,
  takes,
} from "./filter.ts";
import {
  COMMON_FILTERS,
  isNamed,
  type LabelValue,
  labelsOf,
  type Somebody,
  somebody,
  somebodyOf,
  states,
  username,
} from "./filters.ts";
import { IS_DRAFT } from "./merge-checks.ts";

/** The states of merge requests. */
export const STATE = enumeration("MergeRequestState", "Whether a merge request is open.", [
  "opened",
  "closed",
  "locked",
  "merged",
  "all",
]);

/** The users who must all have approved, at most, as in GitLab. */
const MOST_APPROVERS = 5;

function branch(column: "source_branch" | "target_branch", argument: string) {
  const branches = { [argument]: takes(arg.list(arg.string)) };
  return filter<readonly string[]>({
    input: username(),
    arguments: branches,
    negatedArguments: branches,
    // Not a bare column: an engine should not start with a branch that most merge requests have.
    condition: (names) => among(`mr.${column} || ''`, names),
    index: (names) => {
      const { sql, values } = among(column, names);
      const ids = { sql: `select id from merge_requests where ${sql}`, values };
      return [{ ids, isBroad: column === "target_branch" }];
    },
  });
}

/** A table with users of merge requests. */
type People = "merge_request_reviewers" | "approvals";

/** A query for the ids of merge requests that a user is in a table of. */
const ofUser = (people: People, { sql, values }: Condition): Condition => ({
  sql: `select x.merge_request_id as id from ${people} x where x.user_id ${sql}`,
  values,
});

const isAmong = ({ sql, values }: Condition): Condition => ({ sql: `mr.id in (${sql})`, values });

const hasSomebody = (people: People) =>
  `exists (select 1 from ${people} x where x.merge_request_id = mr.id and x.user_id not in (${BEING_DELETED_ROWS.users}))`;

/** Whether somebody is in a table of users. */
const bySomebody = (
  people: People,
): Required<Pick<IssuableFilter<Somebody>, "condition" | "index">> => ({
  condition: (user) =>
    typeof user === "number"
      ? isAmong(ofUser(people, { sql: "= ?", values: [user] }))
      : when(user === "any" ? hasSomebody(people) : `not ${hasSomebody(people)}`),
  index: (user) => {
    if (typeof user === "number") return [{ ids: ofUser(people, { sql: "= ?", values: [user] }) }];
    const ids = { sql: `select distinct merge_request_id as id from ${people}`, values: [] };
    return user === "any" ? [{ ids, isBroad: true }] : [];
  },
});

/** Whether users with these names are in a table of users. */
const byNames = (people: People): IssuableFilter<readonly string[]> => ({
  condition: (names) => isAmong(ofUser(people, isNamed(names))),
  index: (names) => names.map((name) => ({ ids: ofUser(people, isNamed([name])) })),
});

const drafts = (given: param.Attribute<boolean>) =>
  filter<boolean>({
    input: param.optional(given),
    condition: (is) => when(is ? rowByRow(`select 1 where ${IS_DRAFT}`) : `not ${IS_DRAFT}`),
    // There is an index of drafts.
    index: (is) =>
      is
        ? [{ ids: { sql: `select mr.id from merge_requests mr where ${IS_DRAFT}`, values: [] } }]
        : [],
  });

const merger = (user: Condition) => ({
  condition: when(`mr.merged_by_id ${user.sql}`, ...user.values),
  ids: {
    sql: `select id from merge_requests where merged_by_id ${user.sql}`,
    values: user.values,
  },
});

/** All of these users must have approved; or nobody, or anybody. */
function approversOf(
  sent: readonly string[],
): readonly number[] | "none" | "any" | undefined | typeof param.REFUSED {
  const users = sent.map(somebodyOf);
  const [only] = users;
  if (users.length === 1 && typeof only === "string") return only;
  if (users.some((user) => typeof user !== "number")) return param.REFUSED;
  return users.length > 0 ? (users as number[]) : undefined;
}

/** Filters of merge requests by what became of them, which ask for one deployment together. */
const DEPLOYED = ["environment", "deployed_after", "deployed_before"] as const;

function deployedWith(values: FilterValues): Condition {
  const { environment, deployed_after, deployed_before } = values as {
    readonly environment?: string;
    readonly deployed_after?: number;
    readonly deployed_before?: number;
  };
  return all([
    when("x.environment_id in (select id from environments where name = ?)", environment),
    when("x.deployed_at >= ?", deployed_after),
    when("x.deployed_at <= ?", deployed_before),
  ]);
}

const deployed = <T>(
  name: (typeof DEPLOYED)[number],
  declared: Pick<IssuableFilter<T>, "input" | "arguments">,
) =>
  filter<T>({
    ...declared,
    condition: (_, { values, viewer }) => {
      if (DEPLOYED.find((one) => values[one] !== undefined) !== name) return undefined;
      const { sql, values: given } = deployedWith(values);
      const query = `select 1 from deployed_merge_requests x where x.merge_request_id = mr.id and ${sql}`;
      return all([visibleDeployments(viewer), { sql: rowByRow(query), values: given }]);
    },
    index: (_, { values }) => {
      if (DEPLOYED.find((one) => values[one] !== undefined) !== name) return [];
      const { sql, values: given } = deployedWith(values);
      const query = `select distinct x.merge_request_id as id from deployed_merge_requests x where ${sql}`;
      return [{ ids: { sql: query, values: given }, isBroad: values["environment"] === undefined }];
    },
  });

/** Filters of lists of merge requests. */
export const MERGE_REQUEST_FILTERS = {
  ...COMMON_FILTERS,
  iids: filter<readonly number[]>({ ...COMMON_FILTERS.iids, negatedArguments: {} }),
  author_username: filter<readonly string[]>({
    ...COMMON_FILTERS.author_username,
    negatedArguments: { authorUsername: takes(arg.string, listOf<string>) },
  }),
  state: filter<string>({
    ...COMMON_FILTERS.state,
    input: states("opened", "closed", "locked", "merged"),
    arguments: {
      state: takes(arg.choice(STATE), (state) => (state === "all" ? undefined : state)),
    },
  }),
  labels: filter<LabelValue>({
    ...COMMON_FILTERS.labels,
    arguments: {
      ...COMMON_FILTERS.labels.arguments,
      labels: takes(
        arg.about("Only those with all of these labels.", arg.list(arg.string)),
        labelsOf,
      ),
    },
  }),
  source_branch: branch("source_branch", "sourceBranches"),
  target_branch: branch("target_branch", "targetBranches"),
  source_project_id: filter<number>({
    input: param.optional(param.integer()),
    condition: (id) => when("mr.source_project_id + 0 = ?", id),
    index: (id) => [
      { ids: { sql: "select id from merge_requests where source_project_id = ?", values: [id] } },
    ],
  }),
  reviewer_id: filter<Somebody>({
    ...bySomebody("merge_request_reviewers"),
    input: somebody(),
    negated: param.optional(param.integer()),
  }),
  reviewer_username: filter<readonly string[]>({
    ...byNames("merge_request_reviewers"),
    input: username(),
    negated: username(),
    arguments: { reviewerUsername: takes(arg.string, listOf<string>) },
    negatedArguments: { reviewerUsername: takes(arg.string, listOf<string>) },
  }),
  approved_by_ids: filter<readonly number[] | "none" | "any">({
    input: param.optional(param.readAs(param.commaSeparated({ max: MOST_APPROVERS }), approversOf)),
    matchesEach: true,
    condition: (users, list) =>
      all(listOf<Somebody>(users).map((user) => bySomebody("approvals").condition(user, list))),
    index: async (users, list, db) => {
      const all = listOf<Somebody>(users).map((user) =>
        bySomebody("approvals").index(user, list, db),
      );
      return (await Promise.all(all)).flat();
    },
  }),
  approved_by_usernames: filter<readonly string[]>({
    ...byNames("approvals"),
    input: param.optional(param.commaSeparated({ max: MOST_APPROVERS })),
    matchesEach: true,
  }),
  approved: filter<boolean>({
    input: param.optional(param.readAs(param.choice(["yes", "no"]), (word) => word === "yes")),
    condition: (is, list) => bySomebody("approvals").condition(is ? "any" : "none", list),
    index: (is) =>
      is
        ? [
            {
              ids: { sql: "select distinct merge_request_id as id from approvals", values: [] },
              isBroad: true,
            },
          ]
        : [],
  }),
  // Rules of projects count for merge requests without being copied to them: decision 72.
  approver_ids: filter<readonly string[]>({
    input: unsupported(param.commaSeparated()),
    condition: () => undefined,
  }),
  wip: filter<boolean>({
    ...drafts(param.readAs(param.choice(["yes", "no"]), (word) => word === "yes")),
    arguments: { draft: takes(arg.boolean) },
  }),
  draft: drafts(param.boolean()),
  merge_user_id: filter<number>({
    input: param.optional(param.integer()),
    condition: (id) => merger({ sql: "= ?", values: [id] }).condition,
    index: (id) => [merger({ sql: "= ?", values: [id] })],
  }),
  merge_user_username: filter<readonly string[]>({
    input: username(),
    condition: (names) => merger(isNamed(names)).condition,
    index: (names) => [merger(isNamed(names))],
  }),
  merged_after: filter<number>({
    arguments: { mergedAfter: takes(arg.time) },
    condition: (at) => when("mr.merged_at >= ?", at),
  }),
  merged_before: filter<number>({
    arguments: { mergedBefore: takes(arg.time) },
    condition: (at) => when("mr.merged_at <= ?", at),
  }),
  environment: deployed<string>("environment", {
    input: param.optional(param.anyText()),
    arguments: {
      environmentName: takes(arg.about("The environment that they came to.", arg.string)),
    },
  }),
  deployed_after: deployed<number>("deployed_after", {
    input: param.optional(param.looseInstant()),
    arguments: { deployedAfter: takes(arg.time) },
  }),
  deployed_before: deployed<number>("deployed_before", {
    input: param.optional(param.looseInstant()),
    arguments: { deployedBefore: takes(arg.time) },
  }),
  // It is always known: the checks of a merge request are read when it is.
  with_merge_status_recheck: filter<boolean>({
    input: withoutEffect(param.optional(param.boolean())),
    condition: () => undefined,
  }),
} satisfies Filters;
