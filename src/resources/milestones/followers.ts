import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { type Follower, follow } from "../../core/followers.ts";
import { type Recording, recordMoment } from "../../hooks/moments.ts";
import { recordRemoval } from "../../hooks/records.ts";
import * as events from "../events/record.ts";
import { toldMilestone } from "./json.ts";
import * as milestones from "./queries.ts";

/** Who does something to a milestone of a project or group. */
interface Acting extends Recording {
  readonly source: Source;
  readonly caller: Caller;
}

/** What happens to milestones, and how webhooks call it. */
const TOLD = {
  created: "create",
  closed: "close",
  reopened: "reopen",
  destroyed: "delete",
} as const;
type How = keyof typeof TOLD;

interface Change {
  readonly acting: Acting;
  readonly how: How;
  readonly id: number;
}

const ALL = Object.keys(TOLD) as How[];

/** What follows from changes of the milestones of projects, in this order. */
export const FOLLOWERS: readonly Follower<Change, How>[] = [
  { does: "Webhooks are told", after: ALL, run: tellHooks },
  { does: "The feed has an event", after: ALL, run: recordEvent },
];

/** Does what follows from a change of a milestone, which was made or, if it is deleted, is about to be made. */
export async function changed(acting: Acting, how: How, id: number): Promise<void> {
  // Groups have no events, and their hooks are not told, as in GitLab.
  if (acting.source.kind !== "project") return;
  await follow(FOLLOWERS, { acting, how, id }, (cause) => cause === how);
}

async function tellHooks({ acting, how, id }: Change): Promise<void> {
  const { source, caller } = acting;
  const of = { project: source.id };
  const moment = { kind: "milestone", of, userId: caller.id, id, action: TOLD[how] } as const;
  if (how !== "destroyed") return recordMoment(acting, moment);
  const from = "milestones m where m.id = ?";
  await recordRemoval(acting, moment, { columns: toldMilestone.columns, from });
}

async function recordEvent({ acting, how, id }: Change): Promise<void> {
  const { db, source, caller, now } = acting;
  const { iid, title } = (await milestones.find(db, source, id)) as milestones.Milestone;
  const target = { type: "milestone", id, iid, title } as const;
  events.record(db, { project_id: source.id, author_id: caller.id, action: how, target }, now);
}
