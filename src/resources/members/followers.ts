import * as audit from "../../audit/log.ts";
import { roleOf } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { type Follower, follow } from "../../core/followers.ts";
import type { Recording } from "../../hooks/events.ts";
import { recordMember } from "../../hooks/records.ts";
import * as events from "../events/record.ts";

/** A group or project that has members. */
export type Place = Pick<Source, "kind" | "id" | "column" | "fullPath">;

/** A change to the members of a place, whoever may make it. */
export interface PlaceChange extends Recording {
  readonly source: Place;
  readonly by: audit.Actor;
}

/** A membership as it is now or, if it has ended, as it was. */
interface Membership {
  readonly user_id: number;
  readonly access_level: number;
  readonly expires_at?: string | null | undefined;
}

/** What becomes of a membership: how hooks and the audit log call it. */
const TOLD = {
  joined: { action: "add", logged: "member added" },
  changed: { action: "update", logged: "member changed" },
  left: { action: "remove", logged: "member removed" },
  expired: { action: "remove", logged: "member expired" },
} as const;

type How = keyof typeof TOLD;

/** A change of a membership that was made, as its followers see it. */
interface Change {
  readonly change: PlaceChange;
  readonly how: How;
  readonly membership: Membership;
}

/** What follows from changes of memberships, in this order. */
export const FOLLOWERS: readonly Follower<Change, How>[] = [
  {
    does: "The feed of a project has an event, by the member",
    after: ["joined", "left", "expired"],
    run: ({ change: { db, source, now }, how, membership }) => {
      if (source.kind !== "project") return;
      const event = { project_id: source.id, author_id: membership.user_id };
      events.record(db, { ...event, action: how as Exclude<How, "changed"> }, now);
    },
  },
  {
    does: "Webhooks and listeners are told",
    after: ["joined", "changed", "left", "expired"],
    run: ({ change, how, membership }) =>
      tell(change, change.source, TOLD[how].action, membership, change.by.id),
  },
  {
    does: "The audit log has an entry",
    after: ["joined", "changed", "left", "expired"],
    run: ({ change, how, membership: { user_id: userId, access_level: level } }) =>
      audit.log(change, TOLD[how].logged, {
        userId,
        target: `${change.source.fullPath} (${roleOf(level) ?? level})`,
      }),
  },
];

/** Does what follows from a change of a membership, which was made. */
export function changed(change: PlaceChange, how: How, membership: Membership): Promise<void> {
  return follow(FOLLOWERS, { change, how, membership }, (cause) => cause === how);
}

/** Tells webhooks of a membership, from which nothing else follows: one that comes with a project, or a wish for one. */
export async function tell(
  recording: Recording,
  { column, id }: Pick<Place, "column" | "id">,
  action: "add" | "update" | "remove" | "request" | "deny",
  { user_id, access_level, expires_at = null }: Membership,
  userId: number | null,
): Promise<void> {
  const member = { column, id, memberId: user_id, userId, access_level, expires_at };
  await recordMember(recording, action, member);
}
