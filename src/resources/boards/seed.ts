import * as v from "valibot";
import { SeedError, type SeededSource, type Seeding, seedList } from "../../core/seeding.ts";
import * as labels from "../labels/queries.ts";
import { seededHome } from "../namespaces/home.ts";
import * as boards from "./queries.ts";

/** A board of a seed. */
export interface BoardSeed {
  name: string;
  /** Names of labels of the group or project or of a group above it, one per list, in this order. */
  lists?: string[] | undefined;
}

const entries = { name: v.string(), lists: v.optional(v.array(v.string()), []) };

/** @param source that has the labels @param owner that has the board: the hidden project of a group's epics, or the same */
async function insert(
  { db, now }: Pick<Seeding, "db" | "now">,
  board: { readonly name: string; readonly lists: readonly string[] },
  source: SeededSource,
  owner: Pick<SeededSource, "column" | "id">,
): Promise<void> {
  const boardId = await boards.insert(db, owner, { name: board.name }, now);
  for (const name of board.lists) {
    const label = await labels.findInherited(db, source, { name });
    if (!label) throw new SeedError(`${source.fullPath} has no label ${name}`);
    await boards.insertList(db, boardId, label.id, now);
  }
}

/** The boards of a group or project, after its labels. */
export const boardsPart = seedList({
  entries,
  counted: "boards",
  insert: (seeding, board, source: SeededSource) => insert(seeding, board, source, source),
});

/** The epic boards of a group, after its labels. */
export const epicBoardsPart = seedList({
  entries,
  counted: "boards",
  async insert(seeding, board, group: SeededSource) {
    // As epics: no other project gets an id after their hidden ones.
    seeding.atEnd(async () => {
      const id = await seededHome(seeding.db, group);
      await insert(seeding, board, group, { column: "project_id", id });
    });
  },
});
