import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { type Recording, recordHookEvent } from "../../hooks/events.ts";
import { recordRemoval } from "../../hooks/records.ts";
import * as events from "../events/record.ts";
import { toldMilestone } from "./json.ts";
import * as milestones from "./queries.ts";

/** What happens to milestones, and how webhooks call it. */
const TOLD = {
  created: "create",
  closed: "close",
  reopened: "reopen",
  destroyed: "delete",
} as const;

/**
 * Does what follows from a change of a project's milestone, which was made or, if it is deleted, is about to be made:
 * webhooks are told, and the feed has an event. Groups have no events, and nothing is told of their milestones.
 */
export async function changed(
  acting: Recording & { readonly source: Source; readonly caller: Caller },
  action: keyof typeof TOLD,
  id: number,
): Promise<void> {
  const { db, source, caller, now } = acting;
  if (source.kind !== "project") return;
  const of = { project: source.id };
  const moment = { kind: "milestone", of, userId: caller.id, id, action: TOLD[action] } as const;
  if (action === "destroyed") {
    const from = "milestones m where m.id = ?";
    await recordRemoval(acting, moment, { columns: toldMilestone.columns, from });
  } else recordHookEvent(acting, moment);
  const { iid, title } = (await milestones.find(db, source, id)) as milestones.Milestone;
  const event = { project_id: source.id, author_id: caller.id, action };
  events.record(db, { ...event, target: { type: "milestone", id, iid, title } }, now);
}
