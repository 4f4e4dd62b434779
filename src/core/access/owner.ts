import { aboveNamespace, type Condition } from "../../store/conditions.ts";

/** The group or project that a record belongs to. */
export interface Owner {
  /** The column that refers to it in tables for both. */
  readonly column: "namespace_id" | "project_id";
  readonly id: number;
}

/** The group or project that shows a record: its owner, or one below its owner. */
export interface Heir extends Owner {
  /** The group itself, or the project's namespace. */
  readonly namespaceId: number;
  /** Whether it is the hidden project that has a group's epics. */
  readonly isHome?: true;
}

/** Whose labels are made for what belongs to a group or project: those of epics are their group's. */
export const labelOwnerOf = (heir: Heir): Heir =>
  heir.isHome
    ? { column: "namespace_id", id: heir.namespaceId, namespaceId: heir.namespaceId }
    : heir;

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
