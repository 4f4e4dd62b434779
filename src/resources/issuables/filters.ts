import { BEING_DELETED_ROWS } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { withoutIndex } from "../../core/lists/index-start.ts";
import { arg, enumeration } from "../../graphql/declare/args.ts";
import type { EnumType } from "../../graphql/declare/declarations.ts";
import { GraphError } from "../../graphql/errors.ts";
import { among, type Condition, rowByRow, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import type { Value } from "../../store/port.ts";
import { type Filtering, type Filters, filter, listOf, takes } from "./filter.ts";
import { withAll } from "./labelled.ts";

// Filters of lists of every type. Where a list starts follows from their order: those that few rows match come first.
// Sums, joined texts and `rowByRow` keep the engines from starting with a condition: see core/lists/README.md.

const NONE_OR_ANY = enumeration("NoneOrAny", "Whether something is set at all.", ["NONE", "ANY"]);

/** An enumeration of `NONE` and `ANY` by another name. */
export const noneOrAnyNamed = (name: string): EnumType<string> => ({ ...NONE_OR_ANY, name });

const WORDS: Readonly<Record<string, "none" | "any">> = { none: "none", any: "any" };

/** `None` and `Any` are keywords, ignoring case. */
export const noneOrAny = (text: string): "none" | "any" | undefined => WORDS[text.toLowerCase()];

/** A number in a project, as a text. @throws GraphError for anything else */
function numberIn(iid: string): number {
  if (!/^\d{1,15}$/.test(iid)) throw new GraphError(`"${iid.slice(0, 100)}" is not a valid iid`);
  return Number(iid);
}

/** A text that is left out if it is blank. */
export const word = <T>(read: (text: string) => T | undefined | typeof param.REFUSED) =>
  param.unlessBlank(param.readAs(param.anyText(), read));

/** A text or several, that are left out if they are blank. */
export const words = <T>(read: (texts: readonly string[]) => T | typeof param.REFUSED) =>
  param.unlessBlank(param.readAs(param.arrayOf(param.anyText(), { max: 20 }), read));

/** Some user by their id, nobody, or anybody. */
export type Somebody = number | "none" | "any";

/** Reads {@link Somebody}. */
export function somebodyOf(text: string): Somebody | typeof param.REFUSED {
  const special = text === "0" ? "none" : noneOrAny(text);
  if (special) return special;
  return /^\d{1,15}$/.test(text) ? Number(text) : param.REFUSED;
}

/** A user by their id, nobody, or anybody. */
export const somebody = () => word(somebodyOf);

/** One user name. */
export const username = () => param.optional(param.readAs(param.anyText(), listOf<string>));

/** Behind a column with the id of a user: that it is that of one of these names. */
export function isNamed(names: readonly string[]): Condition {
  if (names.length === 1) {
    return {
      sql: "= (select id from users where lower(username) = lower(?))",
      values: [names[0] as string],
    };
  }
  const { sql, values } = among(
    "lower(username)",
    names.map((name) => name.toLowerCase()),
  );
  return { sql: `in (select id from users where ${sql})`, values };
}

/** A query for a row of a type's table of people, or of labels, that belongs to a row of the list. */
const having = ({ type: { alias, prefix, column } }: Filtering, what: string, condition: string) =>
  `select 1 from ${prefix}_${what} x where x.${column} = ${alias}.id and ${condition}`;

/** The index of authors has the order of a list across projects. */
const authorIn = ({ type: { alias }, isWithin }: Filtering) =>
  isWithin ? withoutIndex(`${alias}.author_id`) : `${alias}.author_id`;

const authoredBy = (list: Filtering, { sql, values }: Condition): Condition => ({
  sql: `${authorIn(list)} ${sql}`,
  values,
});

const startAtAuthor = ({ type: { table } }: Filtering, { sql, values }: Condition) => [
  { ids: { sql: `select id from ${table} where author_id ${sql}`, values } },
];

const toSomebody = (list: Filtering) =>
  rowByRow(having(list, "assignees", `x.user_id not in (${BEING_DELETED_ROWS.users})`));

const assignedTo = (list: Filtering, { sql, values }: Condition): Condition => ({
  sql: rowByRow(having(list, "assignees", `x.user_id ${sql}`)),
  values,
});

const startAtAssignee = ({ type: { prefix, column } }: Filtering, user: Condition) => [
  {
    ids: {
      sql: `select distinct ${column} as id from ${prefix}_assignees where user_id ${user.sql}`,
      values: user.values,
    },
  },
];

const isUser = (id: number): Condition => ({ sql: "= ?", values: [id] });

/** A milestone by its title, or what it is to be like. */
export type MilestoneValue = readonly string[] | "none" | "any" | "started" | "upcoming";

const MILESTONE_WORDS: Readonly<Record<string, MilestoneValue>> = {
  ...WORDS,
  "no milestone": "none",
  "no+milestone": "none",
  "#started": "started",
  "#upcoming": "upcoming",
};

/** The condition under which a row has a milestone, or has none. @param column with the milestone's id */
function hasMilestone(column: string, has: boolean): Condition {
  const removed = `in (${BEING_DELETED_ROWS.milestones})`;
  return {
    sql: has
      ? `(${column} is not null and ${column} not ${removed})`
      : `(${column} is null or ${column} ${removed})`,
    values: [],
  };
}

const MILESTONE_STATES = {
  started: `t.state = 'active' and (t.start_date is not null or t.due_date is not null)
    and coalesce(t.start_date, ?) <= ? and coalesce(t.due_date, ?) >= ?`,
  upcoming: "t.state = 'active' and t.start_date > ?",
} as const;

const milestone = filter<MilestoneValue>({
  condition: (value, { type: { alias }, viewer: { today } }) => {
    if (value === "none" || value === "any") {
      return hasMilestone(withoutIndex(`${alias}.milestone_id`), value === "any");
    }
    const { sql, values } =
      value === "started" || value === "upcoming"
        ? {
            sql: MILESTONE_STATES[value],
            values: value === "started" ? [today, today, today, today] : [today],
          }
        : among("t.title", value);
    return {
      sql: rowByRow(
        `select 1 from milestones t where t.id = ${alias}.milestone_id and t.removed = 0 and ${sql}`,
      ),
      values,
    };
  },
  index: (value, { type: { table } }) => {
    const start = `select id from ${table} where milestone_id`;
    if (value === "any")
      return [{ ids: { sql: `${start} is not null`, values: [] }, isBroad: true }];
    if (typeof value === "string") return [];
    const { sql, values } = among("title", value);
    return [{ ids: { sql: `${start} in (select id from milestones where ${sql})`, values } }];
  },
});

const MILESTONE_WILDCARD = enumeration<MilestoneValue>(
  "MilestoneWildcardId",
  "Milestones by what they have in common.",
  { NONE: "none", ANY: "any", STARTED: "started", UPCOMING: "upcoming" },
);

/** GitLab's names for them in REST. */
const MILESTONE_IDS = ["None", "Any", "Upcoming", "Started"] as const;

const milestoneId = () =>
  param.optional(
    param.readAs(param.choice(MILESTONE_IDS), (name) => name.toLowerCase() as MilestoneValue),
  );

/** Labels by their names, none, or any. */
export type LabelValue = readonly string[] | "none" | "any";

const LABEL_WORDS: Readonly<Record<string, LabelValue>> = {
  ...WORDS,
  "no label": "none",
  "no+label": "none",
};

/** Names of labels, of which a single one may be a keyword. */
export function labelsOf(names: readonly string[]): LabelValue | undefined {
  const [first = ""] = names;
  const special = names.length === 1 ? LABEL_WORDS[first.toLowerCase()] : undefined;
  return special ?? (names.length > 0 ? names : undefined);
}

const emojiOf = (text: string) => noneOrAny(text) ?? { name: text };

/** A span of time, as two filters. */
function span(order: "created" | "updated") {
  const column = `${order}_at`;
  const [after, before] = [`${order}_after`, `${order}_before`] as const;
  const end = (name: string, comparison: ">=" | "<=") =>
    filter<number>({
      input: param.optional(param.looseInstant()),
      arguments: { [name.replace(/_(\w)/, (_, letter) => letter.toUpperCase())]: takes(arg.time) },
      condition: (at, { type: { alias }, column: ordered }) => {
        const bare = `${alias}.${column}`;
        return when(`${ordered === column ? bare : withoutIndex(bare)} ${comparison} ?`, at);
      },
      // Both ends together are one start.
      index: (_, { type: { table }, values }) => {
        if (name === before && values[after] !== undefined) return [];
        const { [after]: least, [before]: most } = values;
        const ids = {
          sql: `select id from ${table} where ${column} >= ? and ${column} <= ?`,
          values: [
            (least ?? Number.MIN_SAFE_INTEGER) as Value,
            (most ?? Number.MAX_SAFE_INTEGER) as Value,
          ],
        };
        return [{ ids, isBroad: true }];
      },
    });
  return { [after]: end(after, ">="), [before]: end(before, "<=") };
}

const SEARCHED = ["title", "description"] as const;
type Searched = readonly (typeof SEARCHED)[number][];

const SUBSCRIPTION = enumeration("SubscriptionStatus", "Whether the caller chose to subscribe.", [
  "EXPLICITLY_SUBSCRIBED",
  "EXPLICITLY_UNSUBSCRIBED",
]);

/** The attribute of the state that a list shows, if it is not all of them. */
export const states = <const S extends string>(...names: readonly S[]) =>
  param.optional(
    param.readAs(param.choice([...names, "all"]), (name) =>
      name === "all" ? undefined : (name as string),
    ),
  );

/** Filters of lists of every type. */
export const COMMON_FILTERS = {
  iids: filter<readonly number[]>({
    input: param.optional(
      param.readAs(param.arrayOf(param.integer(), { max: 500 }), (iids) =>
        iids.length > 0 ? iids : undefined,
      ),
    ),
    negated: param.optional(param.arrayOf(param.integer(), { max: 500 })),
    arguments: {
      iids: takes(arg.about("Only those with these numbers.", arg.list(arg.string)), (iids) =>
        iids.map(numberIn),
      ),
    },
    negatedArguments: { iids: takes(arg.list(arg.string), (iids) => iids.map(numberIn)) },
    condition: (iids, { type: { alias } }) => among(`${alias}.iid`, iids),
  }),
  /** What lists of other resources pick. */
  ids: filter<readonly number[]>({
    condition: (ids, { type: { alias } }) => among(`${alias}.id`, ids),
  }),
  state: filter<string>({
    condition: (state, { type: { alias } }) => when(`${alias}.state = ?`, state),
  }),
  search: filter<string>({
    input: param.unlessBlank(param.anyText()),
    arguments: {
      search: takes(
        arg.about("A text in the title or description.", arg.string),
        (text) => text || undefined,
      ),
    },
    // Where a search starts is known by its index: see list.ts.
    condition: (text, { type: { alias }, values }) => {
      const columns = (values["in"] ?? SEARCHED) as Searched;
      return contains(
        columns.map((column) => `${alias}.${column}`),
        text,
      );
    },
  }),
  in: filter<Searched>({
    input: param.optional(
      param.readAs(param.commaSeparated({ max: 10 }), (sent) => {
        const named = SEARCHED.filter((column) => sent.includes(column));
        return named.length > 0 ? named : undefined;
      }),
    ),
    condition: () => undefined,
  }),
  author_id: filter<number>({
    input: param.optional(param.integer()),
    negated: param.optional(param.integer()),
    condition: (id, list) => authoredBy(list, isUser(id)),
    index: (id, list) => startAtAuthor(list, isUser(id)),
  }),
  author_username: filter<readonly string[]>({
    input: username(),
    negated: username(),
    arguments: { authorUsername: takes(arg.string, listOf<string>) },
    negatedArguments: { authorUsername: takes(arg.list(arg.string), listOf<string>) },
    unionedArguments: { authorUsernames: takes(arg.list(arg.string)) },
    condition: (names, list) => authoredBy(list, isNamed(names)),
    index: (names, list) => startAtAuthor(list, isNamed(names)),
  }),
  scope: filter<string>({
    input: param.optional(
      param.readAs(
        param.choice(["created_by_me", "assigned_to_me", "all", "created-by-me", "assigned-to-me"]),
        (scope) => scope.replaceAll("-", "_"),
      ),
    ),
    condition: (scope, list) => {
      const me = isUser(list.viewer.caller?.id ?? 0);
      if (scope === "created_by_me") return authoredBy(list, me);
      return scope === "assigned_to_me" ? assignedTo(list, me) : undefined;
    },
    index: (scope, list) => {
      const me = isUser(list.viewer.caller?.id ?? 0);
      if (scope === "created_by_me") return startAtAuthor(list, me);
      return scope === "assigned_to_me" ? startAtAssignee(list, me) : [];
    },
  }),
  assignee_id: filter<Somebody>({
    input: somebody(),
    negated: param.optional(param.integer()),
    condition: (user, list) => {
      if (typeof user === "number") return assignedTo(list, isUser(user));
      return when(user === "any" ? toSomebody(list) : `not ${toSomebody(list)}`);
    },
    index: (user, list) => {
      if (typeof user === "number") return startAtAssignee(list, isUser(user));
      const { prefix, column } = list.type;
      const ids = { sql: `select distinct ${column} as id from ${prefix}_assignees`, values: [] };
      return user === "any" ? [{ ids, isBroad: true }] : [];
    },
  }),
  assignee_username: filter<readonly string[]>({
    input: param.optional(param.arrayOf(param.anyText(), { max: 20 })),
    negated: param.optional(param.arrayOf(param.anyText(), { max: 20 })),
    arguments: { assigneeUsername: takes(arg.string, listOf<string>) },
    negatedArguments: { assigneeUsernames: takes(arg.list(arg.string)) },
    unionedArguments: { assigneeUsernames: takes(arg.list(arg.string)) },
    matchesEach: true,
    condition: (names, list) => assignedTo(list, isNamed(names)),
    index: (names, list) => (names.length > 0 ? startAtAssignee(list, isNamed(names)) : []),
  }),
  /** For the lists of a milestone: that it belongs to the group or project of the path. */
  of_milestone: filter<{ readonly id: number; readonly owner: { column: string; id: number } }>({
    condition: ({ id, owner }, { type: { alias } }) =>
      when(
        `${alias}.milestone_id = ? and exists (select 1 from milestones where id = ? and ${owner.column} = ? and removed = 0)`,
        id,
        id,
        owner.id,
      ),
    index: ({ id }, { type: { table } }) => [
      { ids: { sql: `select id from ${table} where milestone_id = ?`, values: [id] } },
    ],
  }),
  milestone: filter<MilestoneValue>({
    ...milestone,
    input: word((text) => MILESTONE_WORDS[text.toLowerCase()] ?? [text]),
    // Boards leave out several.
    negated: words((texts) =>
      texts.length === 1 ? (MILESTONE_WORDS[String(texts[0]).toLowerCase()] ?? texts) : texts,
    ),
    arguments: { milestoneTitle: takes(arg.string, listOf<string>) },
    negatedArguments: { milestoneTitle: takes(arg.string, listOf<string>) },
  }),
  milestone_id: filter<MilestoneValue>({
    ...milestone,
    input: milestoneId(),
    negated: milestoneId(),
    arguments: { milestoneWildcardId: takes(arg.choice(MILESTONE_WILDCARD)) },
  }),
  labels: filter<LabelValue>({
    input: param.optional(param.readAs(param.commaSeparated(), labelsOf)),
    negated: param.optional(param.commaSeparated()),
    arguments: {
      labelName: takes(
        arg.about("Only those with all of these labels.", arg.listWithNulls(arg.string)),
        labelsOf,
      ),
    },
    negatedArguments: { labelName: takes(arg.list(arg.string)) },
    unionedArguments: { labelNames: takes(arg.list(arg.string)) },
    matchesEach: true,
    condition: (labels, list) => {
      if (typeof labels === "string") {
        const some = rowByRow(
          having(list, "labels", `x.label_id not in (${BEING_DELETED_ROWS.labels})`),
        );
        return when(labels === "any" ? some : `not ${some}`);
      }
      const { sql, values } = among("name", labels);
      const named = `x.label_id in (select id from labels where ${sql})`;
      return { sql: rowByRow(having(list, "labels", named)), values };
    },
    index: async (labels, { type }, db) => {
      const start = `select distinct ${type.column} as id from ${type.prefix}_labels x`;
      if (labels === "any") return [{ ids: { sql: start, values: [] }, isBroad: true }];
      if (labels === "none") return [];
      const names = [...new Set(labels)];
      const each = names.map((name) => ({
        ids: {
          sql: `${start} where x.label_id in (select id from labels where name = ?)`,
          values: [name],
        },
      }));
      return names.length > 1 ? [...each, { ids: await withAll(db, type, names) }] : each;
    },
  }),
  my_reaction_emoji: filter<"none" | "any" | { readonly name: string }>({
    input: word(emojiOf),
    negated: word(emojiOf),
    arguments: {
      myReactionEmoji: takes(
        arg.about("An emoji that the caller gave, `None` or `Any`.", arg.string),
        emojiOf,
      ),
    },
    negatedArguments: { myReactionEmoji: takes(arg.string, emojiOf) },
    condition: (emoji, { type: { alias, column }, viewer: { caller } }) => {
      if (!caller) return undefined;
      const names = typeof emoji === "object" ? [emoji.name] : [];
      const given = rowByRow(
        `select 1 from award_emoji e where e.${column} = ${alias}.id and e.user_id = ?${names.length > 0 ? " and e.name = ?" : ""}`,
      );
      return when(emoji === "none" ? `not ${given}` : given, caller.id, ...names);
    },
    index: (emoji, { type: { column }, viewer: { caller } }) => {
      if (emoji === "none" || !caller) return [];
      const sql = `select distinct ${column} as id from award_emoji where user_id = ? and ${column} is not null`;
      return [{ ids: { sql, values: [caller.id] } }];
    },
  }),
  ...span("created"),
  ...span("updated"),
  subscribed: filter<string>({
    arguments: { subscribed: takes(arg.choice(SUBSCRIPTION)) },
    condition: (status, { type: { alias, prefix, column }, viewer: { caller } }) =>
      when(
        `${alias}.id in (select ${column} from ${prefix}_subscriptions where user_id = ? and subscribed = ?)`,
        caller?.id ?? 0,
        status === "EXPLICITLY_SUBSCRIBED" ? 1 : 0,
      ),
  }),
} satisfies Filters;
