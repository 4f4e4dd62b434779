import * as v from "valibot";
import { VISIBILITIES, type Visibility } from "../../core/access/visibility.ts";
import {
  type InsertNested,
  type InstantSeed,
  instant,
  keyOf,
  type SeededSource,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import * as snippets from "./queries.ts";
import { SNIPPET } from "./type.ts";

/** A snippet of a project in a seed. */
export interface SnippetSeed {
  title: string;
  file_name: string;
  content: string;
  /** A user name. */
  author: string;
  description?: string | undefined;
  /** Default `"internal"`. */
  visibility?: Word<Visibility> | undefined;
  created_at?: InstantSeed;
}

/** A seeded snippet, as its notes and awards need it. */
interface SeededSnippet {
  readonly kind: typeof SNIPPET;
  readonly column: "snippet_id";
  readonly id: number;
  readonly project: SeededSource;
  readonly createdAt: number;
}

/** A project's snippets. @param nested what each of them has */
export const snippetsPart = <Nested extends SeedParts<SeededSnippet>>(nested: Nested) =>
  seedList({
    entries: {
      title: v.string(),
      file_name: v.string(),
      content: v.string(),
      author: v.string(),
      description: v.optional(v.string()),
      visibility: v.optional(keyOf(VISIBILITIES), "internal"),
      created_at: instant,
    },
    nested,
    counted: "snippets",
    async insert(
      seeding,
      snippet,
      project: SeededSource,
      insertNested: InsertNested<SeededSnippet>,
    ) {
      const { author, visibility, created_at: createdAt = seeding.now, ...given } = snippet;
      const id = await snippets.insert(
        seeding.db,
        {
          ...given,
          project_id: project.id,
          author_id: seeding.userId(author),
          visibility: VISIBILITIES[visibility],
        },
        createdAt,
      );
      await insertNested({ kind: SNIPPET, column: "snippet_id", id, project, createdAt });
    },
  });
