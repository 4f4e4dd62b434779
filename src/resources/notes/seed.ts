import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import {
  type InsertNested,
  type InstantSeed,
  instant,
  type SeededSource,
  type Seeding,
  type SeedParts,
  seedList,
} from "../../core/seeding.ts";
import { recordEvent } from "../events/seed.ts";
import type { NoteableType } from "../issuables/type.ts";
import * as notes from "./queries.ts";

/** A note of a seed. */
export interface NoteSeed {
  author: string;
  body: string;
  created_at?: InstantSeed;
  /** Whether only reporters and above may read it and its replies. Default: no. */
  internal?: boolean | undefined;
  /** Whether it records an action, such as a change of the milestone. Default: no. */
  system?: boolean | undefined;
  /** The replies to it; with an empty list it begins a thread. Default: it stands alone. */
  replies?: { author: string; body: string; created_at?: InstantSeed }[] | undefined;
  /** Who resolved the thread; only on merge requests. */
  resolved_by?: string | undefined;
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

/** The notes of an issue, merge request or snippet. @param nested what each of them has */
export const notesPart = <Nested extends SeedParts<SeededNote>>(nested: Nested) =>
  seedList({
    entries: {
      ...entries,
      internal: v.optional(v.boolean()),
      system: v.optional(v.boolean()),
      replies: v.optional(v.array(optionsOf(entries))),
      resolved_by: v.optional(v.string()),
    },
    nested,
    counted: "notes",
    async insert(seeding, note, noteable: SeededNoteable, insertNested: InsertNested<SeededNote>) {
      const { created_at: at = noteable.createdAt, internal, system, replies, resolved_by } = note;
      const id = await insert(seeding, noteable, note, { internal, system }, at);
      if (replies) await notes.startThread(seeding.db, id);
      for (const reply of replies ?? []) {
        const thread = { internal, thread_id: id };
        await insert(seeding, noteable, reply, thread, reply.created_at ?? at);
        seeding.count("notes", 1);
      }
      if (resolved_by !== undefined) {
        const by = { userId: seeding.userId(resolved_by), now: at };
        await notes.setResolved(seeding.db, { thread_id: id }, by);
      }
      await insertNested({ column: "note_id", id, createdAt: at });
    },
  });

async function insert(
  seeding: Seeding,
  { kind, id, project }: SeededNoteable,
  { author, body }: { author: string; body: string },
  more: Pick<notes.NewNote, "internal" | "system" | "thread_id">,
  at: number,
): Promise<number> {
  const written = { project_id: project.id, id, author_id: seeding.userId(author), body, ...more };
  const noteId = await notes.insert(seeding.db, kind, written, at);
  if (more.system) return noteId;
  const target = { type: "note", id: noteId } as const;
  await recordEvent(seeding, project, author, { action: "commented", target }, at);
  return noteId;
}
