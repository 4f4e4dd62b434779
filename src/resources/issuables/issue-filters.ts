import {
  BEING_DELETED_ROWS,
  type Viewer,
  visibleHomes,
  visibleIssues,
} from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { withoutIndex } from "../../core/lists/index-start.ts";
import { dayOf } from "../../core/time.ts";
import { arg, enumeration, recordId } from "../../graphql/declare/args.ts";
import { GraphError } from "../../graphql/errors.ts";
import { all, among, type Condition, rowByRow, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { CADENCE_ID } from "../iterations/ids.ts";
import { inCadences } from "../iterations/queries.ts";
import { ISSUE_TYPES } from "./attributes.ts";
import { type Filters, filter, listOf, takes } from "./filter.ts";
import {
  COMMON_FILTERS,
  type MilestoneValue,
  noneOrAny,
  noneOrAnyNamed,
  type Somebody,
  somebody,
  states,
  word,
  words,
} from "./filters.ts";

/** The types of work items that GitLab knows: those of issues are {@link ISSUE_TYPES}. */
export const TYPE = enumeration("IssueType", "What kind of issue it is.", [
  "ISSUE",
  "INCIDENT",
  "TEST_CASE",
  "REQUIREMENT",
  "TASK",
  "TICKET",
  "OBJECTIVE",
  "KEY_RESULT",
  "EPIC",
]);

const STATE = enumeration("IssuableState", "Which states a list shows.", [
  "opened",
  "closed",
  "locked",
  "all",
]);
/** Iterations by their ids, none, any, or those that today is in. */
type IterationValue = readonly number[] | "none" | "any" | "current";

const ITERATION_WILDCARD = enumeration<IterationValue>(
  "IterationWildcardId",
  "Iterations by what they have in common.",
  { NONE: "none", ANY: "any", CURRENT: "current" },
);
/** The same, where iterations are left out. */
export const NEGATED_ITERATION = enumeration<IterationValue>(
  "NegatedIterationWildcardId",
  "Iterations by what they have in common.",
  { CURRENT: "current" },
);
const ITERATION_IDS = arg.listWithNulls(arg.id);

/** An iteration by its id, or by a word, ignoring case. */
function iterationOf(text: string): IterationValue | typeof param.REFUSED {
  if (/^\d{1,15}$/.test(text)) return text === "0" ? "none" : [Number(text)];
  return text.toLowerCase() === "current" ? "current" : (noneOrAny(text) ?? param.REFUSED);
}
/** Several by their ids, or {@link iterationOf} one. */
const iterationsOf = (texts: readonly string[]): IterationValue | typeof param.REFUSED => {
  if (texts.length === 1) return iterationOf(String(texts[0]));
  return texts.every((text) => /^\d{1,15}$/.test(text)) ? texts.map(Number) : param.REFUSED;
};
/** Ids of iterations, which boards send as numbers. */
const iterationIds = (sent: readonly unknown[]) =>
  sent.map((id) => recordId(String(id), "Iteration"));

const IN_ITERATION = withoutIndex("i.iteration_id");
/** A query for the ids of the iterations that today is in. */
const currentIterations = ({ today }: Viewer): Condition => ({
  sql: `select id from iterations where removed = 0 and start_date <= ? and due_date >= ?`,
  values: [today, today],
});
/** Where a list of the issues of some iterations may start. @param found a query for their ids, or these */
const startAtIterations = ({ sql, values }: Condition) => [
  { ids: { sql: `select id from issues where iteration_id in (${sql})`, values } },
];
/** The condition that an issue is in an iteration that a condition on its row `t` holds for. */
const inIteration = (condition: Condition): Condition => ({
  sql: rowByRow(
    `select 1 from iterations t where t.id = i.iteration_id and t.removed = 0 and ${condition.sql}`,
  ),
  values: condition.values,
});
const titledIteration = () =>
  filter<string>({
    input: param.unlessBlank(param.anyText()),
    negated: param.unlessBlank(param.anyText()),
    arguments: { iterationTitle: takes(arg.string) },
    negatedArguments: { iterationTitle: takes(arg.string) },
    condition: (title) => inIteration({ sql: "t.title = ?", values: [title] }),
    index: (title) =>
      startAtIterations({ sql: "select id from iterations where title = ?", values: [title] }),
  });
const SEARCHABLE = enumeration<"title" | "description">(
  "IssuableSearchableField",
  "What a search looks into.",
  { TITLE: "title", DESCRIPTION: "description" },
);

const EVERY: Condition = { sql: "1 = 1", values: [] };
const NO: Condition = { sql: "1 = 0", values: [] };

const types = arg.list(arg.choice(TYPE));
const inLowerCase = (sent: readonly string[]) => sent.map((type) => type.toLowerCase());

/** A filter of what issues belong to in GitLab: here they belong to none. */
const nowhere = () =>
  filter<string>({
    input: param.unlessBlank(param.anyText()),
    condition: (text) => (text.toLowerCase() === "none" ? EVERY : NO),
  });

/** The id of an epic, which boards send as a number. */
const epicIn = (sent: unknown) => recordId(String(sent), "Epic");

/** A query for the id of an epic, if the caller may read it. */
function readableEpic(id: number, { level: _, ...viewer }: Viewer): Condition {
  const readable = all([when("i.id = ?", id), visibleHomes(viewer), visibleIssues(viewer)]);
  return {
    sql: `select i.id from issues i join projects p on p.id = i.project_id where ${readable.sql}`,
    values: readable.values,
  };
}

/** A weight, as a text. @throws GraphError for anything else */
function weightOf(text: string): Weight {
  const special = noneOrAny(text);
  if (special) return special;
  if (!/^\d{1,9}$/.test(text)) throw new GraphError(`"${text.slice(0, 100)}" is not a weight`);
  return Number(text);
}

type Weight = number | "none" | "any";

const weightInput = () =>
  word((text) => noneOrAny(text) ?? (/^\d{1,9}$/.test(text) ? Number(text) : param.REFUSED));

/** Days from one to another, or no day, or any. */
type Days = { readonly from?: string; readonly to?: string } | "none" | "any";

const DUE_DATES = [
  "0",
  "any",
  "today",
  "tomorrow",
  "overdue",
  "week",
  "month",
  "next_month_and_previous_two_weeks",
] as const;

const DAY = 86_400_000;

/** The days that a word means, today. Weeks begin on Mondays. */
function daysOf(word: (typeof DUE_DATES)[number], today: string): Days {
  const now = Date.parse(today);
  const date = new Date(now);
  const [year, month, weekday] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDay()];
  const monday = now - ((weekday + 6) % 7) * DAY;
  switch (word) {
    case "0":
      return "none";
    case "any":
      return "any";
    case "today":
      return { from: today, to: today };
    case "tomorrow":
      return { from: dayOf(now + DAY), to: dayOf(now + DAY) };
    case "overdue":
      return { to: dayOf(now - DAY) };
    case "week":
      return { from: dayOf(monday), to: dayOf(monday + 6 * DAY) };
    case "month":
      return { from: dayOf(Date.UTC(year, month, 1)), to: dayOf(Date.UTC(year, month + 1, 0)) };
    default:
      return { from: dayOf(now - 14 * DAY), to: dayOf(Date.UTC(year, month + 2, 0)) };
  }
}

/** The condition that a day is among some. */
const isAmong = (column: string, { from, to }: { from?: string; to?: string }): Condition =>
  all([when(`${column} >= ?`, from), when(`${column} <= ?`, to)]);

const { assignee_username, assignee_id, milestone } = COMMON_FILTERS;

/** Filters of lists of issues. */
export const ISSUE_FILTERS = {
  ...COMMON_FILTERS,
  iids: filter<readonly number[]>({
    ...COMMON_FILTERS.iids,
    arguments: {
      ...COMMON_FILTERS.iids.arguments,
      iid: takes(arg.string, (iid) => [/^\d{1,15}$/.test(iid) ? Number(iid) : 0]),
    },
  }),
  state: filter<string>({
    ...COMMON_FILTERS.state,
    input: states("opened", "closed"),
    arguments: {
      state: takes(arg.choice(STATE), (state) => {
        if (state === "locked") throw new GraphError("Issues are never locked");
        return state === "all" ? undefined : state;
      }),
    },
  }),
  in: filter<readonly ("title" | "description")[]>({
    ...COMMON_FILTERS.in,
    arguments: {
      in: takes(
        arg.about("Where to search; by default everywhere.", arg.list(arg.choice(SEARCHABLE))),
        (columns) => (columns.length > 0 ? columns : undefined),
      ),
    },
  }),
  assignee_username: filter<readonly string[]>({
    ...assignee_username,
    arguments: {
      ...assignee_username.arguments,
      assigneeUsernames: takes(arg.about("All of these assignees.", arg.list(arg.string))),
    },
    negatedArguments: {
      ...assignee_username.negatedArguments,
      assigneeUsername: takes(arg.list(arg.string), listOf<string>),
    },
  }),
  assignee_id: filter<Somebody>({
    ...assignee_id,
    arguments: {
      assigneeWildcardId: takes(arg.choice(noneOrAnyNamed("AssigneeWildcardId")), noneOrAny),
      assigneeId: takes(
        arg.about("The id of an assignee, `None` or `Any`.", arg.string),
        (sent) => noneOrAny(sent) ?? recordId(sent, "User"),
      ),
    },
  }),
  milestone: filter<MilestoneValue>({
    ...milestone,
    arguments: {
      milestoneTitle: takes(
        arg.about("One of these titles.", arg.listWithNulls(arg.string)),
        listOf<string>,
      ),
    },
    negatedArguments: { milestoneTitle: takes(arg.list(arg.string), listOf<string>) },
  }),
  weight: filter<Weight>({
    input: weightInput(),
    negated: weightInput(),
    arguments: {
      weight: takes(arg.string, weightOf),
      weightWildcardId: takes(arg.choice(noneOrAnyNamed("WeightWildcardId")), weightOf),
    },
    negatedArguments: { weight: takes(arg.string, weightOf) },
    condition: (weight) =>
      typeof weight === "number"
        ? when(`${withoutIndex("i.weight")} = ?`, weight)
        : when(`i.weight is ${weight === "any" ? "not " : ""}null`),
    index: (weight) => {
      if (weight === "none") return [];
      const isAny = weight === "any";
      const start = "select id from issues where weight is not null";
      const ids = isAny
        ? { sql: start, values: [] }
        : { sql: `${start} and weight = ?`, values: [weight as Value] };
      return [{ ids, isBroad: isAny }];
    },
  }),
  due_date: filter<(typeof DUE_DATES)[number]>({
    input: param.optional(param.choice(DUE_DATES)),
    condition: (word, { viewer }) => {
      const days = daysOf(word, viewer.today);
      if (days === "none" || days === "any") {
        return when(`i.due_date is ${days === "any" ? "not " : ""}null`);
      }
      return isAmong("i.due_date || ''", days);
    },
    index: (word, { viewer }) => {
      const days = daysOf(word, viewer.today);
      if (days === "none") return [];
      const { sql, values } = days === "any" ? EVERY : isAmong("due_date", days);
      const ids = { sql: `select id from issues where due_date is not null and ${sql}`, values };
      return [{ ids, isBroad: true }];
    },
  }),
  due_after: filter<string>({
    arguments: { dueAfter: takes(arg.time, dayOf) },
    condition: (day) => when("i.due_date >= ?", day),
  }),
  due_before: filter<string>({
    arguments: { dueBefore: takes(arg.time, dayOf) },
    condition: (day) => when("i.due_date <= ?", day),
  }),
  closed_after: filter<number>({
    arguments: { closedAfter: takes(arg.time) },
    condition: (at) => when("i.closed_at >= ?", at),
  }),
  closed_before: filter<number>({
    arguments: { closedBefore: takes(arg.time) },
    condition: (at) => when("i.closed_at <= ?", at),
  }),
  confidential: filter<boolean>({
    input: param.optional(param.boolean()),
    arguments: { confidential: takes(arg.boolean) },
    // No placeholder: the indexes of confidential issues are for this condition.
    condition: (is) => when(`i.confidential = ${Number(is)}`),
  }),
  issue_type: filter<readonly string[]>({
    input: param.optional(param.readAs(param.choice(ISSUE_TYPES), listOf<string>)),
    arguments: { types: takes(types, inLowerCase) },
    negatedArguments: { types: takes(types, inLowerCase) },
    condition: (types) => among("i.issue_type || ''", types),
    index: (types) => {
      if (types.includes("issue")) return [];
      const { sql, values } = among("issue_type", types);
      const ids = `select id from issues where issue_type <> 'issue' and ${sql}`;
      return [{ ids: { sql: ids, values } }];
    },
  }),
  epic_id: filter<Somebody>({
    input: somebody(),
    arguments: {
      epicId: takes(
        arg.about("The id of an epic, `None` or `Any`.", arg.string),
        (sent) => noneOrAny(String(sent)) ?? epicIn(sent),
      ),
      epicWildcardId: takes(arg.choice(noneOrAnyNamed("EpicWildcardId")), noneOrAny),
    },
    negatedArguments: { epicId: takes(arg.string, epicIn) },
    condition: (epic, { viewer }) => {
      if (typeof epic === "number") {
        const { sql, values } = readableEpic(epic, viewer);
        const below = `select 1 from work_item_parents h where h.issue_id = i.id and h.parent_id in (${sql})`;
        return { sql: rowByRow(below), values };
      }
      const below = `select 1 from work_item_parents h join issues e on e.id = h.parent_id
        where h.issue_id = i.id and e.issue_type = 'epic'`;
      return when(epic === "any" ? rowByRow(below) : `not ${rowByRow(below)}`);
    },
    index: (epic, { viewer }) => {
      if (epic === "none") return [];
      const { sql, values } =
        epic === "any"
          ? { sql: "select id from issues where issue_type = 'epic'", values: [] }
          : readableEpic(epic, viewer);
      const ids = `select issue_id as id from work_item_parents where parent_id in (${sql})`;
      return [{ ids: { sql: ids, values }, isBroad: epic === "any" }];
    },
  }),
  health_status: nowhere(),
  iteration_id: filter<IterationValue>({
    input: word(iterationOf),
    // Boards leave out several.
    negated: words(iterationsOf),
    arguments: {
      iterationId: takes(ITERATION_IDS, iterationIds),
      iterationWildcardId: takes(arg.choice(ITERATION_WILDCARD)),
    },
    negatedArguments: {
      iterationId: takes(ITERATION_IDS, iterationIds),
      iterationWildcardId: takes(arg.choice(NEGATED_ITERATION)),
    },
    condition: (value, { viewer: { today } }) => {
      const removed = `in (${BEING_DELETED_ROWS.iterations})`;
      switch (value) {
        case "none":
          return when(`(${IN_ITERATION} is null or ${IN_ITERATION} ${removed})`);
        case "any":
          return when(`(${IN_ITERATION} is not null and ${IN_ITERATION} not ${removed})`);
        case "current":
          return inIteration({
            sql: "t.start_date <= ? and t.due_date >= ?",
            values: [today, today],
          });
        default:
          return all([among(IN_ITERATION, value), when(`${IN_ITERATION} not ${removed}`)]);
      }
    },
    index: (value, { viewer }) => {
      if (value === "none") return [];
      if (value === "any") {
        const ids = "select id from issues where iteration_id is not null";
        return [{ ids: { sql: ids, values: [] }, isBroad: true }];
      }
      return startAtIterations(
        value === "current" ? currentIterations(viewer) : placeholders(value),
      );
    },
  }),
  iteration_title: titledIteration(),
  /** Only GraphQL has it. */
  iteration_cadence_id: filter<readonly number[]>({
    arguments: { iterationCadenceId: takes(arg.list(CADENCE_ID)) },
    condition: (ids) => inCadences(IN_ITERATION, ids),
    index: (ids) => {
      const { sql, values } = among("cadence_id", ids);
      return startAtIterations({ sql: `select id from iterations where ${sql}`, values });
    },
  }),
} satisfies Filters;
