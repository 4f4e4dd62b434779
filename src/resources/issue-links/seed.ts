import * as v from "valibot";
import { oneOf, SeedError, type SeededSource, seedList, type Word } from "../../core/seeding.ts";
import * as links from "./queries.ts";

/** A link between two issues of a project of a seed. */
export interface IssueLinkSeed {
  /** The number of an issue. */
  source: number;
  /** The number of another one. */
  target: number;
  /** Default `"relates_to"`. */
  link_type?: Word<links.LinkType> | undefined;
}

/** The links between a project's issues. */
export const issueLinksPart = seedList({
  entries: {
    source: v.number(),
    target: v.number(),
    link_type: v.optional(oneOf(links.LINK_TYPES), "relates_to"),
  },
  async insert({ db, now }, { source, target, link_type }, project: SeededSource) {
    const ids: number[] = [];
    for (const iid of [source, target]) {
      const [found] = await db.rows("select id from issues where project_id = ? and iid = ?", [
        project.id,
        iid,
      ]);
      if (!found) throw new SeedError(`the project ${project.fullPath} has no issue ${iid}`);
      ids.push(found[0] as number);
    }
    const [issueId, otherId] = ids as [number, number];
    if (issueId === otherId || (await links.areLinked(db, issueId, otherId))) {
      throw new SeedError(`issues ${source} and ${target} of ${project.fullPath} can't be linked`);
    }
    await links.insert(db, issueId, otherId, link_type, now);
  },
});
