import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import {
  type CheckedRecord,
  type InsertNested,
  type InstantSeed,
  instant,
  type SeededSource,
  type Seeding,
  type SeedParts,
  seedList,
} from "../../core/seeding.ts";
import { recordEvent } from "../events/seed.ts";
import { addNote, type NewNote } from "../issuables/notes.ts";
import type { NoteableType } from "../issuables/type.ts";
import { recordSuggestions } from "../suggested-lines/record.ts";
import * as notes from "./queries.ts";

/** A note of a seed, with what is written in its thread. */
export interface ThreadSeed {
  author: string;
  body: string;
  created_at?: InstantSeed;
  /** The replies to it; with an empty list it begins a thread. Default: it stands alone. */
  replies?: { author: string; body: string; created_at?: InstantSeed }[] | undefined;
  /** Who resolved the thread; only on issues and merge requests. */
  resolved_by?: string | undefined;
}

/** A note of a seed. */
export interface NoteSeed extends ThreadSeed {
  /** Whether only reporters and above may read it and its replies. Default: no. */
  internal?: boolean | undefined;
  /** Whether it records an action, such as a change of the milestone. Default: no. */
  system?: boolean | undefined;
}

/** A seeded issue, merge request or snippet, as its notes need it. */
export interface SeededNoteable {
  readonly kind: NoteableType;
  readonly id: number;
  readonly project: SeededSource;
  readonly createdAt: number;
}

/** A seeded note, as its awards need it. */
export interface SeededNote {
  readonly column: "note_id";
  readonly id: number;
  readonly createdAt: number;
}

const entries = { author: v.string(), body: v.string(), created_at: instant };

/** The schemas of {@link ThreadSeed}. */
export const threadEntries = {
  ...entries,
  replies: v.optional(v.array(optionsOf(entries))),
  resolved_by: v.optional(v.string()),
};

/** Adds a note with its replies, and returns its id. @param place where it is: then it begins a thread */
export async function insertNote(
  seeding: Seeding,
  noteable: SeededNoteable,
  note: CheckedRecord<typeof threadEntries>,
  { place, ...more }: Pick<NewNote, "internal" | "system"> & { place?: notes.Place },
): Promise<number> {
  const { db } = seeding;
  const { created_at: at = noteable.createdAt, replies, resolved_by } = note;
  const id = await insert(seeding, noteable, note, more, at);
  if (replies || place) await notes.startThread(db, id);
  if (place) await notes.place(db, id, place);
  if (place) await recordSuggestions(db, { id, body: note.body });
  for (const reply of replies ?? []) {
    const thread = { internal: more.internal, thread_id: id };
    const replyId = await insert(seeding, noteable, reply, thread, reply.created_at ?? at);
    if (place) await notes.placeReply(db, replyId, id);
    if (place) await recordSuggestions(db, { id: replyId, body: reply.body });
    seeding.count("notes", 1);
  }
  if (resolved_by !== undefined) {
    const by = { userId: seeding.userId(resolved_by), now: at };
    await notes.setResolved(db, { thread_id: id }, by);
  }
  return id;
}

/** The notes of an issue, merge request or snippet. @param nested what each of them has */
export const notesPart = <Nested extends SeedParts<SeededNote>>(nested: Nested) =>
  seedList({
    entries: {
      ...threadEntries,
      internal: v.optional(v.boolean()),
      system: v.optional(v.boolean()),
    },
    nested,
    counted: "notes",
    async insert(seeding, note, noteable: SeededNoteable, insertNested: InsertNested<SeededNote>) {
      const { internal, system, created_at: createdAt = noteable.createdAt } = note;
      const id = await insertNote(seeding, noteable, note, { internal, system });
      await insertNested({ column: "note_id", id, createdAt });
    },
  });

async function insert(
  seeding: Seeding,
  { kind, id, project }: SeededNoteable,
  { author, body }: { author: string; body: string },
  more: Pick<NewNote, "internal" | "system" | "thread_id">,
  at: number,
): Promise<number> {
  const written = { project_id: project.id, id, author_id: seeding.userId(author), body, ...more };
  const noteId = await addNote(seeding.db, kind, written, at);
  if (more.system) return noteId;
  const target = { type: "note", id: noteId } as const;
  await recordEvent(seeding, project, author, { action: "commented", target }, at);
  return noteId;
}
