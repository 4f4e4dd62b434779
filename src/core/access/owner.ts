import { aboveNamespace, type Condition } from "../../store/conditions.ts";
import type { Source } from "./source.ts";

/** The group or project that a record belongs to. */
export type Owner = Pick<Source, "column" | "id">;

/** The group or project that shows a record: its owner, or one below its owner. */
export type Heir = Owner & Pick<Source, "namespaceId">;

/** The condition under which a row with columns `namespace_id` and `project_id` belongs to a group or project. */
export function ownedBy(alias: string, owner: Owner): Condition {
  return { sql: `${alias}.${owner.column} = ?`, values: [owner.id] };
}

/** The condition under which such a row belongs to a group or project or to a group above it. */
export function inheritedBy(alias: string, { column, id, namespaceId }: Heir): Condition {
  const above = aboveNamespace(`${alias}.namespace_id`, namespaceId);
  if (column === "namespace_id") return above;
  return { sql: `(${alias}.project_id = ? or ${above.sql})`, values: [id, ...above.values] };
}
