import { type Follower, follow } from "../../core/followers.ts";
import type { Recording } from "../../hooks/moments.ts";
import { recordProject } from "../../hooks/records.ts";
import * as events from "../events/record.ts";

type How = Parameters<typeof recordProject>[1];

/** A change of a project, as its followers see it. */
interface Change {
  readonly recording: Recording;
  readonly how: How;
  readonly project: {
    readonly id: number;
    /** Of a new one. */
    readonly name?: string;
    /** Who does it; null for nobody. */
    readonly userId: number | null;
  };
  /** What else is told, such as its old path. */
  readonly more?: object | undefined;
}

/** What follows from changes of projects, in this order. */
export const FOLLOWERS: readonly Follower<Change, How>[] = [
  {
    does: "Its feed has an event",
    after: ["create"],
    run: ({ recording: { db, now }, project: { id, name = "", userId } }) => {
      if (userId === null) return;
      const target = { type: "project", id, title: name } as const;
      events.record(db, { project_id: id, author_id: userId, action: "created", target }, now);
    },
  },
  {
    does: "Webhooks are told",
    after: ["create", "update", "rename", "transfer", "destroy"],
    run: ({ recording, how, project, more }) => recordProject(recording, how, project, more),
  },
];

/** Does what follows from a change of a project, which was made or, if it is deleted, is about to be made. */
export function changed(
  recording: Recording,
  how: How,
  project: Change["project"],
  more?: Change["more"],
): Promise<void> {
  return follow(FOLLOWERS, { recording, how, project, more }, (cause) => cause === how);
}
