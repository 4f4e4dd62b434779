import type { Caller } from "../../core/access/caller.ts";
import { hasRole } from "../../core/access/roles.ts";
import { findVisible } from "../../core/access/source.ts";
import { ApiError } from "../../core/errors.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader } from "../../store/port.ts";
import type { Place } from "../exports/format.ts";
import { mayCreateGroup } from "../groups/abilities.ts";
import type * as namespaces from "../namespaces/queries.ts";
import { canCreateIn } from "../projects/rules.ts";

/** Who imports, and when. */
interface Importing {
  readonly caller: Caller;
  readonly now: () => number;
}

/** Whether the importer may make a group or project in a group, or at the top. */
export async function mayMake(
  db: Reader,
  { caller, now }: Importing,
  kind: Place["kind"],
  parent: namespaces.Namespace | undefined,
): Promise<boolean> {
  const viewer = { caller, today: dayOf(now()) };
  if (kind === "group") {
    if (parent && parent.kind !== "group") return false;
    return orNot(mayCreateGroup({ db, caller, viewer }, parent?.id));
  }
  return parent !== undefined && orNot(canCreateIn({ db, caller, viewer }, parent));
}

/** Whether the importer may add to what was brought before. */
export async function mayFill(
  db: Reader,
  { caller, now }: Importing,
  { kind, id }: Place,
): Promise<boolean> {
  const viewer = { caller, today: dayOf(now()) };
  const found = await findVisible(db, kind, String(id), viewer);
  return (
    found !== undefined &&
    !found.archived &&
    hasRole(found, kind === "group" ? "owner" : "maintainer")
  );
}

/** A right, which a place that the caller can't see does not give. */
async function orNot(right: Promise<boolean>): Promise<boolean> {
  try {
    return await right;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
