import type { Route } from "../../core/resource.ts";
import { type MutationContext, notAvailable } from "../../graphql/declare.ts";
import { epicRoutes } from "../epics/graphql.ts";
import { placeRoute } from "../hierarchy/changes.ts";
import { EPIC } from "../issuables/epic.ts";
import { ISSUE } from "../issuables/issue.ts";
import { issueRoutes } from "../issues/graphql.ts";
import { placeOfNoteable } from "../notes/places.ts";

/** The routes that issues and epics both have. */
type Shared = Readonly<Record<"change" | "destroy" | "subscribe" | "unsubscribe" | "place", Route>>;

/** Where routes find a work item, and which routes those are. */
export interface WorkItemPlace {
  readonly isEpic: boolean;
  readonly routes: Shared;
  /** Its project or group. */
  readonly id: number;
  readonly iid: number;
  /** Path parameters. */
  readonly at: Readonly<Record<string, number>>;
}

/** The place of an issue or epic by its project or group and its number there. */
export function placeAt(isEpic: boolean, id: number, iid: number): WorkItemPlace {
  const { parameter } = isEpic ? EPIC : ISSUE;
  const routes = isEpic ? epicRoutes : { ...issueRoutes, place: placeRoute };
  return { isEpic, routes, id, iid, at: { id, iid, [parameter]: iid } };
}

/** The place of a work item. @throws GraphError if there is none */
export async function placeOf(
  db: MutationContext["db"],
  workItemId: number,
): Promise<WorkItemPlace> {
  const { type, at } = await placeOfNoteable(db, { type: ISSUE.className, id: workItemId });
  return placeAt(type === EPIC, at.id, at.noteable_id);
}

/** The place of an issue, for what epics do not have. @throws GraphError for an epic */
export async function placeOfIssue(
  db: MutationContext["db"],
  workItemId: number,
): Promise<WorkItemPlace> {
  const place = await placeOf(db, workItemId);
  if (place.isEpic) throw notAvailable();
  return place;
}
