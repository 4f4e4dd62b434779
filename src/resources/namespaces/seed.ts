import * as v from "valibot";
import { VISIBILITIES, VISIBILITY_WORDS, type Visibility } from "../../core/access/visibility.ts";
import {
  type InstantSeed,
  instant,
  keyOf,
  SeedError,
  type SeededSource,
  type Word,
} from "../../core/seeding.ts";
import type { Namespace } from "./queries.ts";

/** What groups and projects of a seed have in common. */
export interface SourceSeed {
  path: string;
  /** Default: the path. */
  name?: string | undefined;
  description?: string | undefined;
  /** Default `"private"`. */
  visibility?: Word<Visibility> | undefined;
  created_at?: InstantSeed;
}

/** The schemas of {@link SourceSeed}. */
export const sourceEntries = {
  path: v.string(),
  name: v.optional(v.string()),
  description: v.optional(v.string()),
  visibility: v.optional(keyOf(VISIBILITIES), "private"),
  created_at: instant,
};

/** A seeded group. */
export interface SeededGroup extends SeededSource {
  readonly namespace: Namespace;
}

/**
 * Checks that a group or project is not more visible than the group it is in.
 *
 * @throws SeedError
 */
export function requireVisibility(
  fullPath: string,
  visibility: Visibility,
  parent: Namespace | undefined,
): void {
  if (parent?.kind !== "group" || VISIBILITIES[visibility] <= parent.visibility) return;
  const allowed = VISIBILITY_WORDS[parent.visibility];
  throw new SeedError(`${fullPath} can't be ${visibility}: its group is ${allowed}`);
}
