import type { NoteableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES } from "../issuables/types.ts";
import { SNIPPET } from "../snippets/type.ts";

/** All types of records that notes are written on. */
export const NOTEABLE_TYPES: readonly NoteableType[] = [...ISSUABLE_TYPES, SNIPPET];
