import type { Viewer } from "../../core/access/visibility.ts";
import { all, type Condition } from "../../store/conditions.ts";
import { statement } from "../../store/texts.ts";
import { EPIC } from "./epic.ts";
import { ISSUE } from "./issue.ts";
import { MERGE_REQUEST } from "./merge-request.ts";
import type { DiscussedType, IssuableType, NoteableType } from "./type.ts";

/** All types of issuables. A new one is added here. */
export const ISSUABLE_TYPES: readonly IssuableType[] = [ISSUE, MERGE_REQUEST];

/** The type with this class name, or `undefined`. */
export function typeNamed(className: unknown): IssuableType | undefined {
  return ISSUABLE_TYPES.find((type) => type.className === className);
}

/** Whether it is a type of issuable, or that of epics. */
export function isIssuable(type: DiscussedType): type is IssuableType {
  return type === EPIC || (ISSUABLE_TYPES as readonly DiscussedType[]).includes(type);
}

/**
 * SQL about the record that a row refers to, for a table with one column for each type, of which one is set.
 *
 * @param alias the table's alias in the query
 * @param types the types. Default: those of issuables
 */
export function targetOf(alias: string, types: readonly NoteableType[] = ISSUABLE_TYPES) {
  const each = (write: (type: NoteableType) => string) => types.map(write);
  const classNames = each(
    ({ column, className }) => `when ${alias}.${column} is not null then '${className}'`,
  ).join(" ");
  const numbered = types.filter(({ number }) => number === "iid");
  return {
    /** Joins the types' tables. */
    joins: each(
      (type) =>
        `left join ${type.table} ${type.alias} on ${type.alias}.id = ${alias}.${type.column}`,
    ).join(" "),
    id: `coalesce(${each(({ column }) => `${alias}.${column}`).join(", ")})`,
    /** The class name that clients are shown, with {@link joins}: epics are issues here. */
    shownName: `case when i.issue_type = 'epic' then 'Epic' ${classNames} end`,
    className: `case ${classNames} end`,
    /** With {@link joins}. */
    iid: `coalesce(${numbered.map((type) => `${type.alias}.iid`).join(", ")})`,
    number: `coalesce(${each((type) => `${type.alias}.${type.number}`).join(", ")})`,
    /** Their path below that of their project, with {@link joins}. */
    path: `case when i.issue_type = 'epic' then 'epics/' || i.iid ${each((type) => `when ${alias}.${type.column} is not null then '${type.path}/' || ${type.alias}.${type.number}`).join(" ")} end`,
    /** The condition under which the viewer may read it, in a project `p` they can read; with {@link joins}. */
    visible: (viewer: Viewer): Condition =>
      all(
        types.map(({ column, visible }) => {
          const { sql, values } = visible(viewer);
          return { sql: statement`(${alias}.${column} is null or ${sql})`, values };
        }),
      ),
    title: `coalesce(${each((type) => `${type.alias}.title`).join(", ")})`,
  };
}
