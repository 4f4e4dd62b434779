import { NOT_DELETED_LABEL, NOT_DELETED_MILESTONE } from "../../core/access/visibility.ts";
import type { Order } from "../../graphql/declare/declarations.ts";
import type { IssuableType } from "./type.ts";

/** The orders that all issuables have and no index has, by their names in REST. */
const COMPUTED_ORDERS = [
  "title",
  "priority",
  "label_priority",
  "milestone_due",
  "popularity",
] as const;
/** Those of issues. */
export const ISSUE_ORDERS = [...COMPUTED_ORDERS, "due_date", "weight"] as const;
/** Those of merge requests. */
export const REQUEST_ORDERS = [...COMPUTED_ORDERS, "merged_at"] as const;

/** An order that is computed for each row. */
export type ComputedOrder =
  | (typeof ISSUE_ORDERS)[number]
  | (typeof REQUEST_ORDERS)[number]
  | "start_date"
  | "closed_at";

const MOST = Number.MAX_SAFE_INTEGER;
/** Days are texts of digits and dashes: `''` and `'0'` come before all of them, `'~'` and `'~~'` behind. */
const [FIRST, EARLY, LATE, LAST] = ["''", "'0'", "'~'", "'~~'"];

/** A value of which rows without one come last, in either direction. */
function nullsLast(sql: string, descending: boolean, isText = false): Order {
  const [least, most] = isText ? [FIRST, LAST] : [-1, MOST];
  return { sql: `coalesce(${sql}, ${descending ? least : most})`, descending, isText };
}

/** The order of a list, without its last term: of equals, the newest comes first, as in GitLab. */
function termsOf(
  { alias, prefix, column }: IssuableType,
  order: ComputedOrder,
  descending: boolean,
): readonly Order[] {
  const labels = nullsLast(
    `(select min(l.priority) from ${prefix}_labels x join labels l on l.id = x.label_id
      where x.${column} = ${alias}.id and ${NOT_DELETED_LABEL})`,
    descending,
  );
  const ofMilestone = `from milestones m where m.id = ${alias}.milestone_id and ${NOT_DELETED_MILESTONE}`;
  switch (order) {
    case "title":
      return [{ sql: `lower(${alias}.title)`, isText: true, descending }];
    case "due_date":
    case "start_date":
      return [nullsLast(`${alias}.${order}`, descending, true)];
    case "popularity":
      return [
        {
          sql: `(select count(*) from award_emoji ae where ae.${column} = ${alias}.id and ae.name = 'thumbsup')`,
          descending,
        },
      ];
    case "label_priority":
      return [labels];
    case "milestone_due":
      // Those with a milestone that has no day come before those without one.
      return [
        nullsLast(
          `(select coalesce(m.due_date, ${descending ? EARLY : LATE}) ${ofMilestone})`,
          descending,
          true,
        ),
      ];
    case "priority":
      return [nullsLast(`(select m.due_date ${ofMilestone})`, descending, true), labels];
    default:
      return [nullsLast(`${alias}.${order}`, descending)];
  }
}

/** A computed order, ending in the unique id. */
export function orderOf(
  type: IssuableType,
  order: ComputedOrder,
  sort: "asc" | "desc",
): readonly Order[] {
  const newest = { sql: `${type.alias}.id`, descending: true };
  return [...termsOf(type, order, sort === "desc"), newest];
}

/** Orders in both directions, by their names in GraphQL, such as `TITLE_ASC`. */
export function orderValues(
  type: IssuableType,
  orders: readonly ComputedOrder[],
): Record<string, readonly Order[]> {
  const both = orders.flatMap((order) =>
    (["asc", "desc"] as const).map(
      (sort) => [`${order}_${sort}`.toUpperCase(), orderOf(type, order, sort)] as const,
    ),
  );
  return Object.fromEntries(both);
}
