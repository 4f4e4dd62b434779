import { ISSUE } from "./issue.ts";
import { MERGE_REQUEST } from "./merge-request.ts";
import type { IssuableType } from "./type.ts";

/** All types of issuables. A new one is added here. */
export const ISSUABLE_TYPES: readonly IssuableType[] = [ISSUE, MERGE_REQUEST];

/** The type with this class name, or `undefined`. */
export function typeNamed(className: unknown): IssuableType | undefined {
  return ISSUABLE_TYPES.find((type) => type.className === className);
}

/**
 * SQL about the issuable that a row refers to, for a table with one column for each type, of which one is set.
 *
 * @param alias the table's alias in the query
 */
export function targetOf(alias: string) {
  const each = (write: (type: IssuableType) => string) => ISSUABLE_TYPES.map(write);
  const first = (column: string) =>
    `coalesce(${each((type) => `${type.alias}.${column}`).join(", ")})`;
  return {
    /** Joins the issuables' tables. */
    joins: each(
      (type) =>
        `left join ${type.table} ${type.alias} on ${type.alias}.id = ${alias}.${type.column}`,
    ).join(" "),
    id: `coalesce(${each(({ column }) => `${alias}.${column}`).join(", ")})`,
    className: `case ${each(({ column, className }) => `when ${alias}.${column} is not null then '${className}'`).join(" ")} end`,
    /** With {@link joins}. */
    iid: first("iid"),
    title: first("title"),
  };
}
