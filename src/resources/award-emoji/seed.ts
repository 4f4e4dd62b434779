import * as v from "valibot";
import { SeedError, seedPart } from "../../core/seeding.ts";
import { knownNames } from "./known.ts";
import * as awards from "./queries.ts";

/** For each emoji's name, the user names of those who gave it. */
export type AwardEmojiSeed = Record<string, string[]>;

/** The award emoji of an issue, merge request or note. */
export const awardEmojiPart = seedPart({
  schema: v.optional(v.record(v.string(), v.array(v.string())), {}),
  counted: "award_emoji",
  async insert(seeding, given, to: awards.Awardable & { readonly createdAt: number }) {
    let count = 0;
    for (const [name, usernames] of Object.entries(given)) {
      if (!(await knownNames()).has(name)) throw new SeedError(`there is no emoji ${name}`);
      for (const username of usernames) {
        const award = { name, user_id: seeding.userId(username) };
        await awards.insert(seeding.db, to, award, to.createdAt);
        count += 1;
      }
    }
    return count;
  },
});
