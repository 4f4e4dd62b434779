import * as v from "valibot";
import { ROLES, type Role } from "../../core/access/roles.ts";
import { optionsOf } from "../../core/options.ts";
import {
  day,
  keyOf,
  SeedError,
  type SeededSource,
  seedPart,
  type Word,
} from "../../core/seeding.ts";
import * as namespaces from "../namespaces/queries.ts";
import * as links from "./queries.ts";

/** Roles by full path of an invited group, optionally with the day on which the invitation ends. */
export type SharedWithGroupsSeed = Record<
  string,
  Word<Role> | { role: Word<Role>; expires_at?: string | undefined }
>;

const role = keyOf(ROLES);

/** The groups that are invited to a group or project. They may come later in the seed. */
export const sharedWithGroupsPart = seedPart({
  schema: v.optional(
    v.record(
      v.string(),
      v.union([
        v.pipe(
          role,
          v.transform((given) => ({ role: given, expires_at: undefined })),
        ),
        optionsOf({ role, expires_at: v.optional(day) }),
      ]),
    ),
    {},
  ),
  async insert(seeding, given, source: SeededSource) {
    const all = Object.entries(given);
    for (const [path, { role, expires_at = null }] of all) {
      seeding.atEnd(async () => {
        const { db } = seeding;
        const group = await namespaces.findByPath(db, path);
        if (group?.kind !== "group") throw new SeedError(`the seed has no group ${path}`);
        if (await namespaces.isBelow(db, source.namespaceId, group.id)) {
          throw new SeedError(`${source.fullPath} can't be shared with ${path}, which it is in`);
        }
        const link = { group_id: group.id, access_level: ROLES[role], expires_at };
        await links.insert(db, source, link, source.createdAt);
      });
    }
    return all.length;
  },
});
