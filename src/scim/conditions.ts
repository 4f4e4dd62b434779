import { all, type Condition } from "../store/conditions.ts";
import type { Value } from "../store/port.ts";
import { type Leaf, type List, partOf, type Target } from "./attributes.ts";
import { quoted, refused } from "./errors.ts";
import { type Comparison, type Filter, folded } from "./filter.ts";

/**
 * The condition under which a row `s` of `scim_users` matches a filter. It is never null, so that `not` means the
 * opposite.
 *
 * @param groupId the group whose users are filtered
 */
export function conditionOf(filter: Filter, groupId: number): Condition {
  return ofUser(filter, groupId, true);
}

/**
 * @param leads whether the condition may be the one that finds the rows: then a list is searched by its index first.
 *   Otherwise only the values of rows found by something else are looked at.
 */
function ofUser(filter: Filter, groupId: number, leads: boolean): Condition {
  switch (filter.kind) {
    case "and": {
      const leader = leads ? leaderOf(filter.of) : undefined;
      return joined(
        " and ",
        filter.of.map((one) => ofUser(one, groupId, one === leader)),
      );
    }
    case "or":
      return joined(
        " or ",
        filter.of.map((one) => ofUser(one, groupId, leads)),
      );
    case "not":
      return negated(ofUser(filter.of, groupId, false));
    case "any":
      return ofList(filter.list, filter.of, groupId, leads);
    default:
      return ofLeaf(filter);
  }
}

/** The condition of a conjunction that finds the fewest rows: one attribute, or a value of a list. */
function leaderOf(filters: readonly Filter[]): Filter | undefined {
  return (
    filters.find((one) => one.kind === "compare" && isSelective(one)) ?? filters.find(isSelective)
  );
}

function isSelective(filter: Filter): boolean {
  switch (filter.kind) {
    case "compare":
      return filter.operator === "eq" && filter.leaf.type !== "boolean" && !filter.leaf.values;
    case "any":
      return filter.of !== undefined && isSelective(filter.of);
    case "and":
      return filter.of.some(isSelective);
    case "or":
      return filter.of.every(isSelective);
    default:
      return false;
  }
}

function ofList(list: List, of: Filter | undefined, groupId: number, leads: boolean): Condition {
  const element = of && ofElement(of);
  if (leads && of && isSelective(of)) {
    const found = all([
      { sql: "v.namespace_id = ? and v.attribute = ?", values: [groupId, list.key] },
      element,
    ]);
    return {
      sql: `s.id in (select v.scim_user_id from scim_values v where ${found.sql})`,
      values: found.values,
    };
  }
  const own = all([
    { sql: "v.scim_user_id = s.id and v.attribute = ?", values: [list.key] },
    element,
  ]);
  return { sql: `exists (select 1 from scim_values v where ${own.sql})`, values: own.values };
}

/** The condition under which a row `v` of `scim_values` matches. */
function ofElement(filter: Filter): Condition {
  switch (filter.kind) {
    case "and":
    case "or":
      return joined(` ${filter.kind} `, filter.of.map(ofElement));
    case "not":
      return negated(ofElement(filter.of));
    case "any":
      throw new TypeError("a list has no lists");
    default:
      return ofLeaf(filter);
  }
}

function joined(by: " and " | " or ", conditions: readonly Condition[]): Condition {
  return {
    sql: `(${conditions.map(({ sql }) => sql).join(by)})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

const negated = ({ sql, values }: Condition): Condition => ({ sql: `not (${sql})`, values });

const SIGNS: Partial<Record<Comparison, string>> = {
  eq: "=",
  gt: ">",
  ge: ">=",
  lt: "<",
  le: "<=",
};

function ofLeaf(filter: Extract<Filter, { kind: "compare" | "assigned" }>): Condition {
  const { leaf } = filter;
  const column = leaf.sql ?? "null";
  const present = leaf.isFilled ? "" : `${column} is not null and `;
  if (filter.kind === "assigned") {
    return { sql: leaf.isFilled ? "1 = 1" : `${column} is not null`, values: [] };
  }
  const { operator } = filter;
  const sql = comparable(leaf, column);
  const value = bound(filter.value, leaf);
  const sign = SIGNS[operator];
  if (sign) return { sql: `(${present}${sql} ${sign} ?)`, values: [value] };
  if (operator === "ne") {
    return {
      sql: leaf.isFilled ? `${sql} <> ?` : `(${column} is null or ${sql} <> ?)`,
      values: [value],
    };
  }
  const text = String(value);
  // Every text contains the empty one, but engines disagree about where.
  if (text === "") return ofLeaf({ kind: "assigned", leaf });
  const length = [...text].length;
  switch (operator) {
    case "sw":
      return { sql: `(${present}substr(${sql}, 1, ?) = ?)`, values: [length, text] };
    case "ew":
      return {
        sql: `(${present}length(${column}) >= ? and substr(${sql}, length(${column}) - ?) = ?)`,
        values: [length, length - 1, text],
      };
    default:
      return { sql: `(${present}instr(${sql}, ?) > 0)`, values: [text] };
  }
}

/** An attribute as it is compared; indexes use the same expression. */
function comparable(leaf: Leaf, column: string): string {
  const isText = leaf.type === "string" || leaf.type === "reference";
  return isText && !leaf.caseExact ? `lower(${column})` : column;
}

function bound(value: string | boolean | number, leaf: Leaf): Value {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "string" && !leaf.caseExact ? folded(value) : value;
}

/**
 * The order of a list (RFC 7644 §3.4.2.3), everything after `order by`: users without a value come last, or first if it
 * is descending.
 *
 * @param target what to sort by; `undefined` for the order in which users were added
 * @throws ApiError 400 `invalidPath` for an attribute that has no order
 */
export function orderOf(target: Target | undefined, direction: "asc" | "desc"): string {
  if (!target) return `s.id ${direction}`;
  const [list, leaf] =
    target.kind === "part"
      ? [target.list, target.leaf]
      : [target, target.kind === "list" ? partOf(target, "value") : target];
  if (leaf?.kind !== "leaf" || leaf.sql === undefined) {
    throw refused(
      "invalidPath",
      `${quoted(target.kind === "part" ? (leaf?.name ?? "") : target.key)} has no order.`,
    );
  }
  const own = comparable(leaf, leaf.sql);
  const sql =
    list.kind === "list"
      ? `(select ${own} from scim_values v where v.scim_user_id = s.id and v.attribute = '${list.key}'
          order by case when v.is_primary = 1 then 0 else 1 end, v.position limit 1)`
      : own;
  if (leaf.isFilled && list.kind !== "list") {
    return leaf.isUnique ? `${sql} ${direction}` : `${sql} ${direction}, s.id ${direction}`;
  }
  return `case when ${sql} is null then 1 else 0 end ${direction}, ${sql} ${direction}, s.id ${direction}`;
}
