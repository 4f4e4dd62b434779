import type { Condition } from "../store/conditions.ts";
import type { Value } from "../store/port.ts";
import { GraphError, type Order } from "./declare.ts";

/** The values that a cursor's row has in the columns of the order. */
export type Place = readonly (string | number)[];

/** The cursor of a row: opaque to clients, and stable while rows are added, changed and removed. */
export function cursorOf(values: readonly Value[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

/**
 * Reads a cursor.
 *
 * @throws GraphError if it is none of this order
 */
export function placeOf(cursor: string, order: readonly Order[]): Place {
  const values = parsed(cursor);
  const fits =
    Array.isArray(values) &&
    values.length === order.length &&
    order.every(({ isText }, index) => {
      const value: unknown = values[index];
      if (isText) return typeof value === "string" && value.isWellFormed() && !value.includes("\0");
      return Number.isSafeInteger(value);
    });
  if (!fits) throw new GraphError("Please provide a valid cursor");
  return values as Place;
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return undefined;
  }
}

/** The same order backwards. */
export function reversed(order: readonly Order[]): Order[] {
  return order.map((term) => ({ ...term, descending: !term.descending }));
}

/** An order as SQL. */
export function orderSql(order: readonly Order[]): string {
  return order.map(({ sql, descending }) => `${sql} ${descending ? "desc" : "asc"}`).join(", ");
}

/** The values of an order's SQL. */
export const orderValues = (order: readonly Order[]): Value[] =>
  order.flatMap(({ values = [] }) => values);

/** The condition under which a row comes after a place. */
export function after(order: readonly Order[], place: Place): Condition {
  const [first] = order;
  const isUniform = order.every(({ descending }) => !descending === !first?.descending);
  if (isUniform) {
    const columns = order.map(({ sql }) => sql).join(", ");
    const marks = order.map(() => "?").join(", ");
    return {
      sql: `(${columns}) ${first?.descending ? "<" : ">"} (${marks})`,
      values: [...orderValues(order), ...place],
    };
  }
  const values: Value[] = [];
  const alternatives = order.map((term, index) => {
    const equal = order.slice(0, index).map((one, at) => {
      values.push(...orderValues([one]), place[at] as Value);
      return `${one.sql} = ?`;
    });
    values.push(...orderValues([term]), place[index] as Value);
    return [...equal, `${term.sql} ${term.descending ? "<" : ">"} ?`].join(" and ");
  });
  return { sql: `(${alternatives.map((one) => `(${one})`).join(" or ")})`, values };
}
