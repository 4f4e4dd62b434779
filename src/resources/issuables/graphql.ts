import { withSources } from "../../core/access/source.ts";
import { LIVING_USER, type Viewer, visibleOwner } from "../../core/access/visibility.ts";
import {
  type Args,
  always,
  arg,
  connection,
  costing,
  type EnumType,
  enumeration,
  type GraphContext,
  GraphError,
  htmlLine,
  inputType,
  int,
  loaded,
  type OutputFields,
  one,
  required,
  string,
  userPermissions,
  type Values,
} from "../../graphql/declare.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { type ApprovalState, statesOf } from "../approval-state/state.ts";
import { mergeableBy } from "../protected-refs/abilities.ts";
import {
  type IssuableSubject,
  mayAdmin,
  mayApproveNow,
  mayCreateNote,
  mayUpdate,
} from "./abilities.ts";
import { timeStats } from "./fields.ts";
import type { Filter } from "./filters.ts";
import { conditionsOf, hasMilestone } from "./list.ts";
import { negatedConditions } from "./negated.ts";
import { participating, subscriptionsOf } from "./queries.ts";
import type { IssuableType } from "./type.ts";

/** What permissions depend on, by id. */
async function subjectsOf(
  { table, prefix, column }: IssuableType,
  ids: readonly Value[],
  { db, viewer, caller, tier }: GraphContext,
) {
  const among = placeholders(ids);
  const found = await db.all<
    IssuableSubject & { id: number; project_id: number; discussion_locked: number; state: string }
  >(
    `select t.id, t.project_id, t.author_id, t.discussion_locked, t.state,
       (select count(*) from ${prefix}_assignees where ${column} = t.id and user_id = ?) as assigned
     from ${table} t where t.id in (${among.sql})`,
    [caller?.id ?? 0, ...among.values],
  );
  const rows = await withSources(db, found, viewer);
  const requests = prefix === "merge_request" ? rows : [];
  const mergeable = await mergeableBy(db, new Map(requests.map(({ id, source }) => [id, source])));
  const approvals = await statesOf(
    db,
    requests.map(({ id }) => id),
    tier,
    viewer.today,
  );
  return rows.map((row) => ({
    ...row,
    isMergeable: mergeable.has(row.id),
    approval: approvals.get(row.id) as ApprovalState,
  }));
}

/** What the caller may do, under the names that a class has. Default: the type's. */
export const permissions = (type: IssuableType, className: string = type.className) =>
  userPermissions<Awaited<ReturnType<typeof subjectsOf>>[number]>(
    `${className}Permissions`,
    type.one,
    {
      [`read${className}`]: always,
      [`update${className}`]: mayUpdate(type),
      [`admin${className}`]: mayAdmin(type),
      [`reopen${className}`]: mayUpdate(type),
      createNote: mayCreateNote,
      ...(type.prefix === "merge_request" && {
        canMerge: ({ isMergeable }) => isMergeable,
        canApprove: mayApproveNow,
      }),
    },
  )((ids, context) => subjectsOf(type, ids, context));

/** How many of an emoji each was given, by id. */
async function votesOf(
  { column }: IssuableType,
  db: Reader,
  ids: readonly Value[],
  name: "thumbsup" | "thumbsdown",
): Promise<Map<Value, unknown>> {
  const among = placeholders(ids);
  const counted = await db.rows(
    `select ${column}, count(*) from award_emoji where ${column} in (${among.sql}) and name = ? group by ${column}`,
    [...among.values, name],
  );
  return new Map(counted.map(([id, count]) => [id as Value, count]));
}

/** The estimated and the spent time, in seconds and in words. */
function timeFields({ alias }: IssuableType): OutputFields {
  const stats = timeStats(alias);
  return {
    timeEstimate: required(int(stats.time_estimate)),
    totalTimeSpent: required(int(stats.total_time_spent)),
    humanTimeEstimate: string(stats.human_time_estimate),
    humanTotalTimeSpent: string(stats.human_total_time_spent),
  };
}

/** The fields that all types of issuables have. */
export function issuableFields(type: IssuableType): OutputFields {
  const { alias, column, prefix } = type;
  const isIssue = prefix === "issue";
  const labels = connection("Label", {
    areFew: true,
    query: () => ({
      join: `join ${prefix}_labels x on x.label_id = l.id`,
      parent: `x.${column}`,
      order: [{ sql: "l.name", isText: true }, { sql: "l.id" }],
    }),
  });
  return {
    name: string(`${alias}.title`),
    titleHtml: htmlLine(`${alias}.title`),
    author: one("UserCore", `${alias}.author_id`),
    milestone: one("Milestone", `${alias}.milestone_id`),
    labels: isIssue ? labels : costing(5, labels),
    assignees: costing(
      isIssue ? 1 : 5,
      connection("UserCore", {
        areFew: true,
        query: () => ({
          join: `join ${prefix}_assignees x on x.user_id = u.id`,
          where: when(LIVING_USER),
          parent: `x.${column}`,
        }),
      }),
    ),
    participants: costing(
      isIssue ? 5 : 15,
      connection("UserCore", {
        needs: [`${alias}.id`],
        query: (_, { viewer }, [id]) => {
          const { join, ...where } = participating(type, id as number, viewer);
          return { join: `join users v on v.id = u.id ${join}`, where };
        },
      }),
    ),
    ...timeFields(type),
    upvotes: required(
      loaded("Int", (ids, { db }) => votesOf(type, db, ids, "thumbsup"), { empty: 0 }),
    ),
    downvotes: required(
      loaded("Int", (ids, { db }) => votesOf(type, db, ids, "thumbsdown"), { empty: 0 }),
    ),
    subscribed: costing(
      5,
      required(
        loaded(
          "Boolean",
          (ids, { db, caller }) =>
            caller ? subscriptionsOf(db, type, ids, caller.id) : new Map<Value, boolean>(),
          { empty: false },
        ),
      ),
    ),
    userPermissions: permissions(type),
  };
}

const wildcard = enumeration("NoneOrAny", "Whether something is set at all.", ["NONE", "ANY"]);
const MILESTONE_WILDCARD = enumeration(
  "MilestoneWildcardId",
  "Milestones by what they have in common.",
  ["NONE", "ANY", "STARTED", "UPCOMING"],
);
const ASSIGNEE_WILDCARD: EnumType<string> = { ...wildcard, name: "AssigneeWildcardId" };
const WEIGHT_WILDCARD: EnumType<string> = { ...wildcard, name: "WeightWildcardId" };
const SEARCHABLE = enumeration<"title" | "description">(
  "IssuableSearchableField",
  "What a search looks into.",
  { TITLE: "title", DESCRIPTION: "description" },
);
const SUBSCRIPTION = enumeration("SubscriptionStatus", "Whether the caller chose to subscribe.", [
  "EXPLICITLY_SUBSCRIBED",
  "EXPLICITLY_UNSUBSCRIBED",
]);

/** The arguments that lists of all types share. */
export const commonFilters = {
  iids: arg.about("Only those with these numbers.", arg.list(arg.string)),
  labelName: arg.about("Only those with all of these labels.", arg.listWithNulls(arg.string)),
  authorUsername: arg.string,
  milestoneWildcardId: arg.choice(MILESTONE_WILDCARD),
  search: arg.about("A text in the title or description.", arg.string),
  createdAfter: arg.time,
  createdBefore: arg.time,
  updatedAfter: arg.time,
  updatedBefore: arg.time,
  myReactionEmoji: arg.about("An emoji that the caller gave, `None` or `Any`.", arg.string),
  subscribed: arg.choice(SUBSCRIPTION),
} satisfies Args;

/** What else lists of issues, and those of boards, filter by. */
export const issueOnlyFilters = {
  assigneeUsername: arg.string,
  assigneeWildcardId: arg.choice(ASSIGNEE_WILDCARD),
  weight: arg.string,
  weightWildcardId: arg.choice(WEIGHT_WILDCARD),
} satisfies Args;

export const searchIn = arg.about(
  "Where to search; by default everywhere.",
  arg.list(arg.choice(SEARCHABLE)),
);

export type CommonFilters = Partial<Values<typeof commonFilters>>;

/** Numbers in a project, as texts. @throws GraphError for anything else */
function numbersOf(iids: readonly string[] | undefined): number[] | undefined {
  return iids?.map((iid) => {
    if (!/^\d{1,15}$/.test(iid)) throw new GraphError(`"${iid.slice(0, 100)}" is not a valid iid`);
    return Number(iid);
  });
}

/** Refuses arguments of which only one may be sent. */
export function requireOnlyOne(args: object, ...names: readonly string[]): void {
  const sent = names.filter((name) => (args as Record<string, unknown>)[name] !== undefined);
  if (sent.length > 1) {
    throw new GraphError(
      `Only one of [${names.join(", ")}] arguments is allowed at the same time.`,
    );
  }
}

/** The filter that arguments describe, to be completed by what a type has of its own. */
export function commonFilter(
  type: IssuableType,
  args: CommonFilters,
  { viewer }: GraphContext,
): Pick<
  Filter,
  | "iids"
  | "labels"
  | "authorUsername"
  | "search"
  | "reaction"
  | "createdAfter"
  | "createdBefore"
  | "updatedAfter"
  | "updatedBefore"
> & { own: Condition[] } {
  const { alias } = type;
  const reaction = args.myReactionEmoji?.toLowerCase();
  const some: (Condition | undefined)[] = [
    milestoneCondition(alias, args.milestoneWildcardId, viewer),
    args.subscribed && subscribedBy(type, args.subscribed, viewer),
  ];
  return {
    iids: numbersOf(args.iids),
    labels: args.labelName,
    authorUsername: args.authorUsername,
    search: args.search === "" ? undefined : args.search,
    reaction:
      reaction === "none" || reaction === "any"
        ? reaction
        : args.myReactionEmoji === undefined
          ? undefined
          : { name: args.myReactionEmoji },
    createdAfter: args.createdAfter,
    createdBefore: args.createdBefore,
    updatedAfter: args.updatedAfter,
    updatedBefore: args.updatedBefore,
    own: some.filter((condition) => condition !== undefined),
  };
}

function milestoneCondition(
  alias: string,
  wildcard: string | undefined,
  { today }: Viewer,
): Condition | undefined {
  switch (wildcard) {
    case undefined:
      return undefined;
    case "NONE":
      return when(hasMilestone(`${alias}.milestone_id`, false));
    case "ANY":
      return when(hasMilestone(`${alias}.milestone_id`, true));
    case "STARTED":
      return when(
        "(m.state = 'active' and (m.start_date is not null or m.due_date is not null) and coalesce(m.start_date, ?) <= ? and coalesce(m.due_date, ?) >= ?)",
        today,
        today,
        today,
        today,
      );
    default:
      return when("(m.state = 'active' and m.start_date > ?)", today);
  }
}

function subscribedBy(
  { alias, prefix, column }: IssuableType,
  status: string,
  { caller }: Viewer,
): Condition {
  return {
    sql: `${alias}.id in (select ${column} from ${prefix}_subscriptions where user_id = ? and subscribed = ?)`,
    values: [caller?.id ?? 0, status === "EXPLICITLY_SUBSCRIBED" ? 1 : 0],
  };
}

/** The condition that the milestone has one of some titles. */
export function titled(titles: readonly (string | null)[]): Condition {
  const among = placeholders(titles.length > 0 ? titles : [""]);
  return { sql: `m.title in (${among.sql})`, values: among.values };
}

/** The condition that a column is one of some texts, ignoring case. */
function isOneOf(column: string, texts: readonly string[]): Condition {
  if (texts.length === 0) return { sql: "1 = 0", values: [] };
  const among = placeholders(texts.map((text) => text.toLowerCase()));
  return { sql: `lower(${column}) in (${among.sql})`, values: among.values };
}

const authoredBy = (alias: string, usernames: readonly string[]): Condition => {
  const { sql, values } = isOneOf("username", usernames);
  return { sql: `${alias}.author_id in (select id from users where ${sql})`, values };
};

const assignedTo = (
  { alias, prefix, column }: IssuableType,
  usernames: readonly string[],
): Condition => {
  const { sql, values } = isOneOf("u.username", usernames);
  return {
    sql: `exists (select 1 from ${prefix}_assignees x join users u on u.id = x.user_id
      where x.${column} = ${alias}.id and ${sql})`,
    values,
  };
};

const labelledBySome = (
  { alias, prefix, column }: IssuableType,
  names: readonly string[],
): Condition => {
  const among = placeholders(names.length > 0 ? names : [""]);
  return {
    sql: `exists (select 1 from ${prefix}_labels x join labels l on l.id = x.label_id
      where x.${column} = ${alias}.id and l.name in (${among.sql}))`,
    values: among.values,
  };
};

/** What a list leaves out. */
export const NEGATED = inputType("NegatedIssueFilterInput", "What a list leaves out.", {
  iids: arg.list(arg.string),
  labelName: arg.list(arg.string),
  milestoneTitle: arg.list(arg.string),
  authorUsername: arg.list(arg.string),
  assigneeUsernames: arg.list(arg.string),
  assigneeUsername: arg.list(arg.string),
  weight: arg.string,
  myReactionEmoji: arg.string,
});

/** What a list takes one of. */
export const UNIONED = inputType("UnionedIssueFilterInput", "What a list takes if one holds.", {
  authorUsernames: arg.list(arg.string),
  assigneeUsernames: arg.list(arg.string),
  labelNames: arg.list(arg.string),
});

/** The conditions of {@link NEGATED} and {@link UNIONED}. */
export function combinedConditions(
  type: IssuableType,
  negated:
    | (Partial<Values<(typeof NEGATED)["fields"]>> & { reviewerUsernames?: readonly string[] })
    | undefined,
  unioned: Partial<Values<(typeof UNIONED)["fields"]>> | undefined,
  { viewer }: GraphContext,
): Condition[] {
  const conditions: Condition[] = [];
  if (negated) {
    const { assigneeUsername = [], assigneeUsernames = [], weight } = negated;
    const leftOut = {
      iids: numbersOf(negated.iids),
      labels: negated.labelName,
      milestones: negated.milestoneTitle,
      authorUsernames: negated.authorUsername,
      assigneeUsernames: [...assigneeUsernames, ...assigneeUsername],
      reviewerUsernames: negated.reviewerUsernames,
      reaction: negated.myReactionEmoji,
      weight: weight === undefined ? undefined : weightOf(weight),
    };
    conditions.push(...negatedConditions(type, viewer, leftOut));
  }
  if (unioned) {
    const { authorUsernames, assigneeUsernames, labelNames } = unioned;
    if (authorUsernames) conditions.push(authoredBy(type.alias, authorUsernames));
    if (assigneeUsernames) conditions.push(assignedTo(type, assigneeUsernames));
    if (labelNames) conditions.push(labelledBySome(type, labelNames));
  }
  return conditions;
}

/** A weight, as a text. @throws GraphError for anything else */
export function weightOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new GraphError(`"${text.slice(0, 100)}" is not a weight`);
  return Number(text);
}

/** The condition of a filter, and of a type's own ones, on a row of the type. */
export function filtered(
  type: IssuableType,
  { own, ...filter }: Omit<Filter, "orderBy" | "sort" | "own"> & { own: readonly Condition[] },
  { viewer }: GraphContext,
): Condition {
  const common = conditionsOf(type, viewer, { ...filter, orderBy: "created_at", sort: "desc" });
  return all([...common, ...own]);
}

/** The orders of any type that have an index, by name. */
export const indexedOrders = ({ alias }: IssuableType) => ({
  CREATED: { sql: `${alias}.created_at` },
  UPDATED: { sql: `${alias}.updated_at` },
});

/** The names of labels by their ids, since the routes take names: without those that the caller may not see. */
export async function labelNames(
  { db, viewer }: Pick<GraphContext, "db" | "viewer">,
  ids: readonly number[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const among = placeholders(ids);
  const visible = visibleOwner(viewer, "l");
  const found = await db.rows(
    `select l.name from labels l where l.id in (${among.sql}) and ${visible.sql}`,
    [...among.values, ...visible.values],
  );
  return found.map(([name]) => name as string);
}
