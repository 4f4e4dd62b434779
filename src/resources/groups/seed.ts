import * as v from "valibot";
import { VISIBILITIES } from "../../core/access/visibility.ts";
import { requirePath } from "../../core/paths.ts";
import {
  type GivenList,
  type InsertNested,
  SeedError,
  type SeedPart,
  type SeedParts,
  seedList,
} from "../../core/seeding.ts";
import * as namespaces from "../namespaces/queries.ts";
import { requireVisibility, type SeededGroup, sourceEntries } from "../namespaces/seed.ts";
import * as groups from "./queries.ts";

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
      requirePath(path, { top: !parent });
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
