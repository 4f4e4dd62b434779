import { placeholders } from "./placeholders.ts";
import type { Reader, Value } from "./port.ts";
import { joined, statement } from "./texts.ts";

/** A piece of SQL with the values of its placeholders. */
export interface Condition {
  sql: string;
  values: Value[];
}

/** The condition that holds if all of the given ones do; those that are `undefined` are left out. */
export function all(conditions: readonly (Condition | undefined)[]): Condition {
  const texts: string[] = [];
  const values: Value[] = [];
  // Most statements come by here: `flatMap` would take several times as long.
  for (const condition of conditions) {
    if (condition === undefined) continue;
    texts.push(condition.sql);
    for (const value of condition.values) values.push(value);
  }
  return { sql: texts.length === 0 ? "1 = 1" : joined(texts, " and "), values };
}

/** The condition that holds if one of the given ones does. */
export function any(conditions: readonly Condition[]): Condition {
  return {
    sql: statement`(${joined(
      conditions.map(({ sql }) => sql),
      " or ",
    )})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** A condition with its values, or `undefined` if a value is `undefined`: for optional filters. */
export function when(sql: string, ...values: (Value | undefined)[]): Condition | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length === values.length ? { sql, values: given } : undefined;
}

/** The condition that a column has one of some values; `undefined` without values, for optional filters. */
export function among(column: string, values: readonly Value[]): Condition;
export function among(column: string, values: readonly Value[] | undefined): Condition | undefined;
export function among(column: string, values: readonly Value[] | undefined): Condition | undefined {
  if (values === undefined) return undefined;
  if (values.length === 0) return { sql: "1 = 0", values: [] };
  const { sql, values: given } = placeholders(values);
  return { sql: `${column} in (${sql})`, values: given };
}

/**
 * The condition under which a namespace is a group or below it.
 *
 * @param column the column with the namespace's id, such as `p.namespace_id`
 * @param groupId the group's id
 */
export function belowGroup(column: string, groupId: number): Condition {
  return {
    sql: `${column} in (select namespace_id from namespace_ancestors where ancestor_id = ?)`,
    values: [groupId],
  };
}

/**
 * The condition under which a project is in a group or below it.
 *
 * @param column the column with the project's id
 */
export function projectsBelow(column: string, groupId: number): Condition {
  const { sql, values } = belowGroup("namespace_id", groupId);
  return { sql: `${column} in (select id from projects where ${sql})`, values };
}

/** The condition under which a namespace is another one or above it. */
export function aboveNamespace(column: string, namespaceId: number): Condition {
  return {
    sql: `${column} in (select ancestor_id from namespace_ancestors where namespace_id = ?)`,
    values: [namespaceId],
  };
}

/**
 * A join of rows of a table to each row before it in a `from` clause: those that a query, which refers to that row, finds
 * for it. SQLite has no `lateral`, and PostgreSQL compares every row of the table with what `in` finds.
 *
 * @param ids the query: a single column with ids of the table
 */
export function joinFound(
  dialect: Reader["dialect"],
  table: string,
  alias: string,
  ids: string,
): string {
  return dialect === "sqlite"
    ? `join ${table} ${alias} on ${alias}.id in (${ids})`
    : `cross join lateral (${ids}) as found_ids (id) join ${table} ${alias} on ${alias}.id = found_ids.id`;
}

/**
 * Rows of a table that a query finds, which are looked at before any other condition on them: `from` and the first
 * condition after `where`. PostgreSQL, which ignores the order of a `from` clause, might start with the others.
 *
 * @param alias of the table
 * @param tables with it, and without values
 * @param ids the query, for at most some thousand numbers, as `id`
 */
export function startingWith(
  dialect: Reader["dialect"],
  alias: string,
  tables: string,
  ids: string,
): string {
  return dialect === "sqlite"
    ? `(${ids}) as first cross join ${tables} where ${alias}.id = first.id`
    : `${tables} where ${alias}.id = any(array(${ids}))`;
}

/**
 * The condition that a column has one of some words; `undefined` without words, for optional filters. They are written out, so
 * that PostgreSQL, which plans a statement for all values of its placeholders at once, knows how many rows have them.
 *
 * @param words of a list of ours, never from a client
 */
export function worded(
  column: string,
  words: readonly string[] | undefined,
): Condition | undefined {
  if (words === undefined) return undefined;
  if (words.length === 0) return { sql: "1 = 0", values: [] };
  return { sql: `${column} in (${words.map((word) => `'${word}'`).join(", ")})`, values: [] };
}

/**
 * The condition under which a query finds something, for filters of lists. PostgreSQL would make a join of `exists`,
 * and guess that so few rows match that it reads and sorts the whole table; it checks a query with an offset for each
 * row, in the order of the list, and stops at the end of the page.
 */
export function rowByRow(query: string): string {
  return `exists (${query} limit 1 offset 0)`;
}

/**
 * Picks the first `most` rows of many projects without sorting all their rows: these can only be in the `most` projects
 * whose own first rows come first, and only among the first `most` rows of each.
 *
 * @param table whose rows belong to projects, and its alias
 * @param projects on a row `p` of projects
 * @param conditions on a row of the table
 * @param order that an index of the table has for each project
 */
export function firstOfProjects(
  { dialect }: Pick<Reader, "dialect">,
  { alias, table }: { readonly alias: string; readonly table: string },
  projects: Condition,
  conditions: Condition,
  order: string,
  most: number,
): Condition {
  const ofProject = `select ${alias}.id from ${table} ${alias}
    where ${alias}.project_id = p.id and ${conditions.sql} order by ${order} limit ?`;
  return {
    sql: `${alias}.id in (
      select ${alias}.id from (
        select active.id from (
          select p.id, (${ofProject}) as first_id from projects p where ${projects.sql}) as active
        join ${table} ${alias} on ${alias}.id = active.first_id
        order by ${order} limit ?) as chosen
      join projects p on p.id = chosen.id
      ${joinFound(dialect, table, alias, ofProject)}
      order by ${order} limit ?)`,
    values: [...conditions.values, 1, ...projects.values, most, ...conditions.values, most, most],
  };
}
