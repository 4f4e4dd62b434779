import * as v from "valibot";
import { SeedError, type SeededSource, seedList } from "../../core/seeding.ts";
import * as labels from "../labels/queries.ts";
import * as boards from "./queries.ts";

/** A board of a seed. */
export interface BoardSeed {
  name: string;
  /** Names of the group's labels, one per list, in this order. */
  lists?: string[] | undefined;
}

/** The boards of a group, after its labels. */
export const boardsPart = seedList({
  entries: { name: v.string(), lists: v.optional(v.array(v.string()), []) },
  counted: "boards",
  async insert({ db, now }, board, group: SeededSource) {
    const boardId = await boards.insert(db, group.id, board.name, now);
    for (const name of board.lists) {
      const label = await labels.findInherited(db, group.id, { name });
      if (!label) throw new SeedError(`the group ${group.fullPath} has no label ${name}`);
      await boards.insertList(db, boardId, label.id, now);
    }
  },
});
