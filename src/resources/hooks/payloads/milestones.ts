import { toldMilestone } from "../../milestones/json.ts";
import { blockOf, fromRow, projectOf } from "./blocks.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

/** The payload about a milestone of a project. As in GitLab, nothing is told of those of groups. */
export async function milestoneEvent(
  making: Making,
  { data }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found =
    fromRow(making, toldMilestone, data) ??
    (await blockOf(making, toldMilestone, "milestones m where m.id = ?", [data.id]));
  const project = found && (await projectOf(making, found["project_id"] as number));
  if (!project) return undefined;
  return {
    event: "milestone",
    title: "Milestone Hook",
    body: {
      object_kind: "milestone",
      event_type: "milestone",
      project,
      object_attributes: found,
      action: data.action,
    },
  };
}
