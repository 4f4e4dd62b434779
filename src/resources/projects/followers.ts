import type { Recording } from "../../hooks/events.ts";
import { recordProject } from "../../hooks/records.ts";
import * as events from "../events/record.ts";

/**
 * Does what follows from a change of a project, which was made or, if it is deleted, is about to be made: a new one has an
 * event, and webhooks are told.
 *
 * @param project `userId`: who does it; null for nobody
 * @param more what else is told, such as its old path
 */
export async function changed(
  recording: Recording,
  how: Parameters<typeof recordProject>[1],
  project: { readonly id: number; readonly name?: string; readonly userId: number | null },
  more?: object,
): Promise<void> {
  const { db, now } = recording;
  const { id, name = "", userId } = project;
  if (how === "create" && userId !== null) {
    const target = { type: "project", id, title: name } as const;
    events.record(db, { project_id: id, author_id: userId, action: "created", target }, now);
  }
  await recordProject(recording, how, project, more);
}
