import * as v from "valibot";
import {
  type InsertNested,
  type InstantSeed,
  instant,
  type SeedParts,
  seedList,
} from "../../core/seeding.ts";
import { recordEvent } from "../events/seed.ts";
import type { SeededIssuable } from "../issues/seed.ts";
import * as notes from "./queries.ts";

/** A note of a seed. */
export interface NoteSeed {
  author: string;
  body: string;
  created_at?: InstantSeed;
}

/** A seeded note, as its awards need it. */
export interface SeededNote {
  readonly column: "note_id";
  readonly id: number;
  readonly createdAt: number;
}

/** The notes of an issue or merge request. @param nested what each of them has */
export const notesPart = <Nested extends SeedParts<SeededNote>>(nested: Nested) =>
  seedList({
    entries: { author: v.string(), body: v.string(), created_at: instant },
    nested,
    counted: "notes",
    async insert(seeding, note, issuable: SeededIssuable, insertNested: InsertNested<SeededNote>) {
      const { kind, project } = issuable;
      const { author, body, created_at: createdAt = issuable.createdAt } = note;
      const id = await notes.insert(
        seeding.db,
        kind,
        { project_id: project.id, id: issuable.id, author_id: seeding.userId(author), body },
        createdAt,
      );
      const target = { type: "note", id } as const;
      await recordEvent(seeding, project, author, { action: "commented", target }, createdAt);
      await insertNested({ column: "note_id", id, createdAt });
    },
  });
