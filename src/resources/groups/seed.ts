import * as v from "valibot";
import { VISIBILITIES, VISIBILITY_WORDS, type Visibility } from "../../core/access/visibility.ts";
import {
  type GivenList,
  type InsertNested,
  type InstantSeed,
  instant,
  keyOf,
  SeedError,
  type SeededSource,
  type SeedPart,
  type SeedParts,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import * as namespaces from "../namespaces/queries.ts";
import * as groups from "./queries.ts";

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
  readonly namespace: namespaces.Namespace;
}

type GivenGroups<Nested> = GivenList<
  typeof sourceEntries,
  Nested & { subgroups: SeedPart<never, GivenGroups<Nested>> }
>;

/** A seed's groups. @param nested what each of them has; its subgroups are inserted after that */
export function groupsPart<Nested extends SeedParts<SeededGroup>>(nested: Nested) {
  const subgroups: SeedPart<SeededGroup> = {
    schema: v.optional(
      v.lazy(() => part.schema),
      [],
    ),
    sizeOf: (value) => part.sizeOf(value),
    insert: (seeding, value, group) => part.insert(seeding, value, group),
  };
  const part: SeedPart<SeededGroup | undefined> = seedList({
    entries: sourceEntries,
    nested: { ...nested, subgroups },
    counted: "groups",
    async insert(
      { db, now },
      group,
      parent: SeededGroup | undefined,
      insertNested: InsertNested<SeededGroup>,
    ) {
      const { path, name = path, description, created_at: createdAt = now } = group;
      const fullPath = parent ? `${parent.fullPath}/${path}` : path;
      if (await namespaces.isTaken(db, fullPath)) throw new SeedError(`${fullPath} is taken`);
      requireVisibility(fullPath, group.visibility, parent?.namespace);
      if (parent && (await groups.isNameTaken(db, parent.id, name))) {
        throw new SeedError(`the name ${name} of ${fullPath} is taken`);
      }
      const id = await namespaces.insert(
        db,
        {
          kind: "group",
          name,
          path,
          parent: parent?.namespace,
          description,
          visibility: VISIBILITIES[group.visibility],
        },
        createdAt,
      );
      await insertNested({
        column: "namespace_id",
        id,
        namespaceId: id,
        fullPath,
        createdAt,
        lastEventAt: 0,
        namespace: (await namespaces.find(db, id)) as namespaces.Namespace,
      });
    },
  });
  return part as SeedPart<SeededGroup | undefined, GivenGroups<Nested>>;
}

/**
 * Checks that a group or project is not more visible than the group it is in.
 *
 * @throws SeedError
 */
export function requireVisibility(
  fullPath: string,
  visibility: Visibility,
  parent: namespaces.Namespace | undefined,
): void {
  if (parent?.kind !== "group" || VISIBILITIES[visibility] <= parent.visibility) return;
  const allowed = VISIBILITY_WORDS[parent.visibility];
  throw new SeedError(`${fullPath} can't be ${visibility}: its group is ${allowed}`);
}
