import type { InterfaceType, OutputFields, RowType, UnionType, ValueType } from "./declarations.ts";

/** Declares a type of rows. */
export const rowType = (name: string, type: Omit<RowType, "kind" | "name">): RowType => ({
  kind: "row",
  name,
  ...type,
});

/** Declares a type of values. */
export const valueType = (
  name: string,
  about: string,
  fields: OutputFields,
  more: Pick<ValueType, "implements"> = {},
): ValueType => ({ kind: "value", name, about, fields, ...more });

/** Declares an interface. */
export const interfaceType = (
  name: string,
  about: string,
  fields: OutputFields,
  rows?: InterfaceType["rows"],
): InterfaceType => ({ kind: "interface", name, about, fields, ...(rows && { rows }) });

/** Declares a union. */
export const unionType = (name: string, about: string, types: readonly string[]): UnionType => ({
  kind: "union",
  name,
  about,
  types,
});
