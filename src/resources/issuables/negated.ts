import type { Viewer } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { type Condition, rowByRow } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import type { IssuableType } from "./type.ts";

/** The attributes of `not` in lists of every type. */
const negatedInput = {
  iids: param.optional(param.arrayOf(param.integer(), { max: 500 })),
  labels: param.optional(param.commaSeparated()),
  milestone: param.optional(param.anyText()),
  author_id: param.optional(param.integer()),
  author_username: param.optional(param.anyText()),
  assignee_id: param.optional(param.integer()),
  assignee_username: param.optional(param.arrayOf(param.anyText(), { max: 20 })),
  my_reaction_emoji: param.optional(param.anyText()),
};

/** The attributes of `not` in lists of issues. */
export const negatedIssueInput = { ...negatedInput, weight: param.optional(param.integer()) };

/** The attributes of `not` in lists of merge requests. */
export const negatedRequestInput = {
  ...negatedInput,
  reviewer_id: param.optional(param.integer()),
  reviewer_username: param.optional(param.anyText()),
};

/** What a list leaves out: rows of which one of these holds. */
export interface Negated {
  iids?: readonly number[] | undefined;
  /** Those with one of these labels. */
  labels?: readonly string[] | undefined;
  /** Titles. */
  milestones?: readonly string[] | undefined;
  authorIds?: readonly number[] | undefined;
  authorUsernames?: readonly string[] | undefined;
  assigneeIds?: readonly number[] | undefined;
  assigneeUsernames?: readonly string[] | undefined;
  /** Only merge requests have reviewers. */
  reviewerIds?: readonly number[] | undefined;
  reviewerUsernames?: readonly string[] | undefined;
  /** The emoji that the caller gave them. */
  reaction?: string | undefined;
  /** Only issues have a weight. */
  weight?: number | undefined;
}

const oneOrNone = <T>(value: T | undefined) => (value === undefined ? undefined : [value]);

/** What `not` of a request describes. */
export function negatedOf(
  input: Partial<param.Input<typeof negatedIssueInput & typeof negatedRequestInput>> | undefined,
): Negated | undefined {
  return (
    input && {
      iids: input.iids,
      labels: input.labels,
      milestones: oneOrNone(input.milestone),
      authorIds: oneOrNone(input.author_id),
      authorUsernames: oneOrNone(input.author_username),
      assigneeIds: oneOrNone(input.assignee_id),
      assigneeUsernames: input.assignee_username,
      reviewerIds: oneOrNone(input.reviewer_id),
      reviewerUsernames: oneOrNone(input.reviewer_username),
      reaction: input.my_reaction_emoji,
      weight: input.weight,
    }
  );
}

/** Whose user name is one of some, ignoring case, as a query for their ids. */
function named(usernames: readonly string[]): Condition {
  const among = placeholders(usernames.map((name) => name.toLowerCase()));
  return {
    sql: `select id from users where lower(username) in (${among.sql})`,
    values: among.values,
  };
}

/** The conditions under which a list does not leave a row out. */
export function negatedConditions(
  { alias, column, prefix }: IssuableType,
  viewer: Viewer,
  negated: Negated,
): Condition[] {
  const conditions: Condition[] = [];
  const add = (sql: string, values: readonly Value[]) =>
    conditions.push({ sql, values: [...values] });
  const without = (query: string, values: readonly Value[]) =>
    add(`not ${rowByRow(query)}`, values);
  /** Calls with placeholders if there is something to leave out. */
  const each = <T extends Value>(
    given: readonly T[] | undefined,
    leaveOut: (sql: string, values: readonly Value[]) => void,
  ) => {
    if (!given || given.length === 0) return;
    const { sql, values } = placeholders(given);
    leaveOut(sql, values);
  };
  const eachNamed = (
    usernames: readonly string[] | undefined,
    leaveOut: (sql: string, values: readonly Value[]) => void,
  ) => {
    if (!usernames || usernames.length === 0) return;
    const { sql, values } = named(usernames);
    leaveOut(sql, values);
  };

  each(negated.iids, (sql, values) => add(`${alias}.iid not in (${sql})`, values));
  each(negated.labels, (sql, values) =>
    without(
      `select 1 from ${prefix}_labels x join labels l on l.id = x.label_id
       where x.${column} = ${alias}.id and l.name in (${sql})`,
      values,
    ),
  );
  each(negated.milestones, (sql, values) =>
    without(
      `select 1 from milestones t where t.id = ${alias}.milestone_id and t.removed = 0 and t.title in (${sql})`,
      values,
    ),
  );
  const byAuthor = (sql: string, values: readonly Value[]) =>
    add(`(${alias}.author_id is null or ${alias}.author_id + 0 not in (${sql}))`, values);
  each(negated.authorIds, byAuthor);
  eachNamed(negated.authorUsernames, byAuthor);
  const byPeople = (people: string) => (sql: string, values: readonly Value[]) =>
    without(
      `select 1 from ${prefix}_${people} x where x.${column} = ${alias}.id and x.user_id in (${sql})`,
      values,
    );
  each(negated.assigneeIds, byPeople("assignees"));
  eachNamed(negated.assigneeUsernames, byPeople("assignees"));
  each(negated.reviewerIds, byPeople("reviewers"));
  eachNamed(negated.reviewerUsernames, byPeople("reviewers"));
  if (negated.reaction !== undefined && viewer.caller) {
    without(
      `select 1 from award_emoji e where e.${column} = ${alias}.id and e.user_id = ? and e.name = ?`,
      [viewer.caller.id, negated.reaction],
    );
  }
  if (negated.weight !== undefined) add(`coalesce(${alias}.weight, -1) <> ?`, [negated.weight]);
  return conditions;
}
