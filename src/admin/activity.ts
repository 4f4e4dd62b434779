import * as v from "valibot";
import { invalid, notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { optionsOf, readArgument, readOptions } from "../core/options.ts";
import { dayOf } from "../core/time.ts";
import { findEvent, type Recipient, recipients } from "../notifications/recipients.ts";
import * as events from "../resources/events/record.ts";
import * as users from "../resources/users/queries.ts";
import { type AdminContext, findAny } from "./context.ts";

/** A push as Git's post-receive hook knows it. */
export interface PushRecord {
  /** The project's full path or id. */
  project: string;
  /** The user name or e-mail address of the user who pushed. */
  user: string;
  /** The full ref, with `refs/heads/` or `refs/tags/`. */
  ref: string;
  /** The commit before; `null` for a new ref. */
  from: string | null;
  /** The commit after; `null` for a deleted ref. */
  to: string | null;
  commitCount: number;
  /** The first line of the last commit's message. */
  commitTitle: string | null;
}

/** The activity of projects. */
export interface ActivityAdmin {
  /**
   * Returns whom an event is notified to by their notification settings, and why.
   *
   * @throws ApiError 404 for an unknown event
   */
  recipients(eventId: number): Promise<Recipient[]>;
  /**
   * Records a push in a project's activity.
   *
   * @throws OptionError if something is missing or of the wrong type
   * @throws ApiError 404 for an unknown project or user, 400 for a ref that is neither a branch nor a tag
   */
  recordPush(push: PushRecord): Promise<{ id: number }>;
}

const textOrNull = v.nullable(v.string("give a text or null"));
const PUSH = optionsOf({
  project: v.string("give a text"),
  user: v.string("give a text"),
  ref: v.string("give a text"),
  from: textOrNull,
  to: textOrNull,
  commitCount: v.pipe(v.number("give a whole number"), v.integer("give a whole number")),
  commitTitle: textOrNull,
});

/** Creates {@link ActivityAdmin}. */
export function activityAdmin({ store, now }: AdminContext): ActivityAdmin {
  return {
    async recipients(given) {
      const eventId = readArgument("activity.recipients", "eventId", param.integer(), given);
      const event = await findEvent(store, eventId);
      if (!event) throw notFound("Event");
      return recipients(store, event, dayOf(now()));
    },
    async recordPush(given) {
      const push = readOptions("activity.recordPush", PUSH, given);
      const { project: name, user: username, ref, from, to, commitCount, commitTitle } = push;
      return store.transaction(async (db) => {
        const user = username.includes("@")
          ? await users.findByEmail(db, username)
          : await users.findByUsername(db, username);
        if (!user) throw notFound("User");
        const project = await findAny(db, "project", name, now());
        const parts = /^refs\/(heads|tags)\/(.+)$/.exec(ref);
        if (!parts) throw invalid({ ref: ["must begin with refs/heads/ or refs/tags/"] });
        const id = await events.recordPush(
          db,
          {
            project_id: project.id,
            author_id: user.id,
            ref: parts[2] as string,
            ref_type: parts[1] === "tags" ? "tag" : "branch",
            push_action: from === null ? "created" : to === null ? "removed" : "pushed",
            commit_count: commitCount,
            commit_from: from,
            commit_to: to,
            commit_title: commitTitle,
          },
          now(),
        );
        return { id };
      });
    },
  };
}
