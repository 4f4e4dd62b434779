import * as v from "valibot";
import { VISIBILITIES, type Visibility } from "../../core/access/visibility.ts";
import { ApiError, messagesOf } from "../../core/errors.ts";
import {
  type InsertNested,
  type InstantSeed,
  instant,
  keyOf,
  SeedError,
  type SeededSource,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { newFiles, type SnippetFiles } from "./files.ts";
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
  /** The contents of further files by path. */
  files?: Record<string, string> | undefined;
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

/** @throws SeedError if a snippet can't have these files */
function seededFiles({
  title,
  file_name,
  content,
  files,
}: Omit<SnippetSeed, "created_at">): SnippetFiles {
  if (!files) return [{ path: file_name, content }];
  const all = [[file_name, content], ...Object.entries(files)];
  try {
    return newFiles({
      files: all.map(([file_path = "", content = ""]) => ({ file_path, content })),
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new SeedError(`the snippet "${title}": ${messagesOf(error).join(", ")}`);
  }
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
      files: v.optional(v.record(v.string(), v.string())),
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
      const {
        title,
        description,
        author,
        visibility,
        created_at: createdAt = seeding.now,
      } = snippet;
      const id = await snippets.insert(
        seeding.db,
        {
          title,
          description,
          files: seededFiles(snippet),
          project_id: project.id,
          author_id: seeding.userId(author),
          visibility: VISIBILITIES[visibility],
        },
        createdAt,
      );
      await insertNested({ kind: SNIPPET, column: "snippet_id", id, project, createdAt });
    },
  });
