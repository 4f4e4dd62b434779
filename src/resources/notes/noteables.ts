import { EPIC } from "../issuables/epic.ts";
import type { DiscussedType, NoteableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES } from "../issuables/types.ts";
import { SNIPPET } from "../snippets/type.ts";

/** All types of records with plain notes. */
export const NOTEABLE_TYPES: readonly NoteableType[] = [...ISSUABLE_TYPES, SNIPPET];

/** These, and epics: all whose notes, discussions and emoji have addresses of the same form. */
export const NOTED_TYPES: readonly NoteableType[] = [...NOTEABLE_TYPES, EPIC];

/** Commits of repositories: their comments are discussions, too. */
export const COMMIT: DiscussedType = {
  table: "noted_commits",
  column: "noted_commit_id",
  className: "Commit",
  one: "a commit",
};
