import { type Follower, follow } from "../../core/followers.ts";
import { recordHookEvent } from "../../hooks/events.ts";
import { queueReady } from "../ci/progress.ts";
import * as events from "../events/record.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { type Acting, recordAction } from "../issuables/notes.ts";
import * as todos from "../issuables/todos.ts";
import type { Writing } from "../issuables/type.ts";
import { isIssuable } from "../issuables/types.ts";
import { recordSuggestions } from "../suggested-lines/record.ts";
import type { Noteable } from "./rules.ts";

/** A note that was written or edited, as followers see it. */
interface Change {
  readonly writing: Writing;
  readonly noteable: Noteable;
  readonly note: { readonly id: number; readonly body: string };
  /** Its text before, if it was edited. */
  readonly before?: string | undefined;
}

/** What follows from notes that are written or edited, in this order. Feeds and webhooks are told nothing of epics. */
export const FOLLOWERS: readonly Follower<Change, "written" | "edited">[] = [
  {
    does: "Suggestions in its text, if it is on a line of a merge request, are recorded",
    after: ["written", "edited"],
    run: async ({ writing: { db }, noteable: { type }, note, before }) => {
      if (type === MERGE_REQUEST) await recordSuggestions(db, note, before);
    },
  },
  {
    does: "The feed has an event, of which mails tell",
    after: ["written"],
    run: ({ writing: { db, source, caller, now }, note: { id } }) => {
      if (source.isHome) return;
      const event = { project_id: source.id, author_id: caller.id, action: "commented" } as const;
      events.record(db, { ...event, target: { type: "note", id } }, now);
    },
  },
  {
    does: "Webhooks and listeners are told",
    after: ["written", "edited"],
    run: ({ writing, note: { id }, before }) => {
      if (writing.source.isHome) return;
      recordHookEvent(writing, {
        kind: "note",
        of: { project: writing.source.id },
        userId: writing.caller.id,
        id,
        action: before === undefined ? "create" : "update",
      });
    },
  },
  {
    does: "Its author's to-do items about the issue or merge request are done",
    after: ["written"],
    run: ({ writing: { db, caller, now }, noteable: { type, id } }) => {
      if (isIssuable(type)) todos.resolve(db, type, id, caller.id, now);
    },
  },
  {
    // Snippets have no to-do items in GitLab, nor have commits.
    does: "Those who are newly mentioned on an issue or merge request get a to-do item",
    after: ["written", "edited"],
    run: async ({ writing, noteable: { type, id }, note, before }) => {
      if (!isIssuable(type)) return;
      const texts = { after: [note.body], before: [before] };
      await todos.mention(writing, type, { id, noteId: note.id }, texts);
    },
  },
];

/** Does what follows from a note that was written or, if there is a text before, edited. */
export function changed(change: Change): Promise<void> {
  const how = change.before === undefined ? "written" : "edited";
  return follow(FOLLOWERS, change, (cause) => cause === how);
}

/** Does what follows once the last thread of a merge request is resolved: a note says so, and it is merged if it waits for it. */
export async function threadsResolved(acting: Acting, requestId: number): Promise<void> {
  await recordAction(acting, MERGE_REQUEST, requestId, "resolved all threads");
  await queueReady(acting.db, requestId, acting.now);
}
