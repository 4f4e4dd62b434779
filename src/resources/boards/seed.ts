import * as v from "valibot";
import { SeedError, type SeededSource, seedList } from "../../core/seeding.ts";
import * as labels from "../labels/queries.ts";
import * as boards from "./queries.ts";

/** A board of a seed. */
export interface BoardSeed {
  name: string;
  /** Names of labels of the group or project or of a group above it, one per list, in this order. */
  lists?: string[] | undefined;
}

/** The boards of a group or project, after its labels. */
export const boardsPart = seedList({
  entries: { name: v.string(), lists: v.optional(v.array(v.string()), []) },
  counted: "boards",
  async insert({ db, now }, board, source: SeededSource) {
    const boardId = await boards.insert(db, source, { name: board.name }, now);
    for (const name of board.lists) {
      const label = await labels.findInherited(db, source, { name });
      if (!label) throw new SeedError(`${source.fullPath} has no label ${name}`);
      await boards.insertList(db, boardId, label.id, now);
    }
  },
});
