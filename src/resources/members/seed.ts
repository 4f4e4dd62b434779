import * as v from "valibot";
import { ROLES, type Role } from "../../core/access/roles.ts";
import { optionsOf } from "../../core/options.ts";
import {
  type InstantSeed,
  instant,
  keyOf,
  type SeededSource,
  seedPart,
  type Word,
} from "../../core/seeding.ts";
import { recordEvent } from "../events/seed.ts";
import * as members from "./queries.ts";

/** Roles by user name, optionally with a joining time, for which a project records a `joined` event. */
export type MembersSeed = Record<
  string,
  Word<Role> | { role: Word<Role>; joined_at?: InstantSeed }
>;

const role = keyOf(ROLES);

/** The members of a group or project. */
export const membersPart = seedPart({
  schema: v.optional(
    v.record(
      v.string(),
      v.union([
        v.pipe(
          role,
          v.transform((given) => ({ role: given, joined_at: undefined })),
        ),
        optionsOf({ role, joined_at: instant }),
      ]),
    ),
    {},
  ),
  async insert(seeding, given, source: SeededSource) {
    const all = Object.entries(given);
    for (const [username, { role, joined_at }] of all) {
      const member = { user_id: seeding.userId(username), access_level: ROLES[role] };
      await members.insert(seeding.db, source, member, joined_at ?? source.createdAt);
      if (joined_at !== undefined && source.column === "project_id") {
        await recordEvent(seeding, source, username, { action: "joined" }, joined_at);
      }
    }
    return all.length;
  },
});
