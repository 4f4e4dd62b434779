import * as v from "valibot";
import { type SeededSource, seedList } from "../../core/seeding.ts";
import * as badges from "./queries.ts";

/** A badge of a seed. */
export interface BadgeSeed {
  name?: string | undefined;
  link_url: string;
  image_url: string;
}

/** The badges of a group or project. */
export const badgesPart = seedList({
  entries: { name: v.optional(v.string()), link_url: v.string(), image_url: v.string() },
  counted: "badges",
  async insert({ db }, badge, source: SeededSource) {
    await badges.insert(db, source, badge, source.createdAt);
  },
});
