import type { Ability } from "../../core/access/abilities.ts";
import { hasRole } from "../../core/access/roles.ts";
import { mayCreateNote } from "../issuables/abilities.ts";
import type { Note } from "./queries.ts";
import type { Noteable } from "./rules.ts";

type Discussed = Pick<Noteable, "author_id" | "discussion_locked">;

/**
 * Whether the caller may change or delete a note: as its author or a maintainer, unless the discussion is locked for
 * them. Nobody changes notes that record actions.
 */
export const mayAdminNote: Ability<{
  readonly noteable: Discussed;
  readonly note: Pick<Note, "author_id" | "system">;
}> = ({ noteable, note }, asking) =>
  mayCreateNote(noteable, asking) &&
  note.system !== 1 &&
  (note.author_id === asking.caller?.id || hasRole(asking.source, "maintainer"));

/**
 * Whether the caller may resolve a discussion, or one note of it: as a developer, or as the author of what it is about
 * or of the note, unless the discussion is locked for them.
 */
export const mayResolveNote: Ability<{
  readonly noteable: Discussed;
  /** `undefined` for the discussion. */
  readonly resolved: Pick<Note, "author_id"> | undefined;
}> = ({ noteable, resolved }, asking) =>
  mayCreateNote(noteable, asking) &&
  ([noteable.author_id, resolved?.author_id].includes(asking.caller?.id) ||
    hasRole(asking.source, "developer"));
