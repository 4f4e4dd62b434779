import type { Ability } from "../../core/access/abilities.ts";
import type { Source } from "../../core/access/source.ts";
import type { Method } from "../../core/resource.ts";
import type { Awaitable, Value } from "../../store/port.ts";
import type { GraphContext, LoadedField } from "./declarations.ts";
import { loaded, property, required } from "./fields.ts";
import { valueType } from "./types.ts";

/** A record as abilities see it, with its project or group. */
interface Subject {
  readonly id: Value;
  readonly source: Source | undefined;
}

/** Everybody may do it who can see the record. */
export const always: Ability<unknown, Source | undefined> = () => true;

/** Reads what abilities look at, by the keys of rows, in a bounded number of statements. */
type Load<Row> = (ids: readonly Value[], context: GraphContext) => Awaitable<readonly Row[]>;

/**
 * Declares the type of a field `userPermissions`, which tells what the caller may do with each row.
 *
 * @param what a row is, in words: `an issue`
 * @param permissions what its fields tell: abilities, or routes that the caller may call, by method and path
 * @returns declares such a field
 */
export function userPermissions<Row extends Subject>(
  name: string,
  what: string,
  permissions: Readonly<Record<string, Ability<Row, Row["source"]> | `${Method} /${string}`>>,
): (load: Load<Row>, options?: { readonly key?: string }) => LoadedField {
  const all = Object.entries(permissions);
  const fields = all.map(([field]) => [field, required(property("Boolean"))]);
  const type = valueType(name, `What the caller may do with ${what}.`, Object.fromEntries(fields));
  const valuesOf = (row: Row, { caller, mayCall }: GraphContext) => {
    const { source } = row;
    const asking = { source, caller };
    const values: Record<string, boolean> = {};
    for (const [field, permission] of all) {
      values[field] =
        typeof permission === "string"
          ? source !== undefined && mayCall(permission, source)
          : permission(row, asking);
    }
    return values;
  };
  return (load, options) =>
    required(
      loaded(
        type,
        async (ids, context) =>
          new Map((await load(ids, context)).map((row) => [row.id, valuesOf(row, context)])),
        options,
      ),
    );
}
