import * as v from "valibot";
import { SeedError, type SeededSource, type Seeding, seedList } from "../../core/seeding.ts";
import * as iterations from "../iterations/queries.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";
import { seededHome } from "../namespaces/home.ts";
import * as boards from "./queries.ts";
import type { Listed } from "./subjects.ts";

/** A board of a seed. */
export interface BoardSeed {
  name: string;
  /**
   * What its lists are of, in this order: names of labels, titles of milestones and iterations of the group or project or of
   * a group above it, and users.
   */
  lists?:
    | (string | { milestone: string } | { assignee: string } | { iteration: string })[]
    | undefined;
}

const entries = {
  name: v.string(),
  lists: v.optional(
    v.array(
      v.union(
        [
          v.string(),
          v.strictObject({ milestone: v.string() }),
          v.strictObject({ assignee: v.string() }),
          v.strictObject({ iteration: v.string() }),
        ],
        "must be the name of a label, a milestone, an assignee or an iteration",
      ),
    ),
    [],
  ),
};

type List = v.InferOutput<(typeof entries)["lists"]>[number];

/** What a list is of. @throws SeedError if there is no such record */
async function listedIn(seeding: Lists, source: SeededSource, list: List): Promise<Listed> {
  const { db } = seeding;
  if (typeof list === "object" && "assignee" in list) {
    return { type: "assignee", id: seeding.userId(list.assignee) };
  }
  const [type, name, found] =
    typeof list === "string"
      ? (["label", list, await labels.findInherited(db, source, { name: list })] as const)
      : "milestone" in list
        ? ([
            "milestone",
            list.milestone,
            await milestones.findFor(db, source, { title: list.milestone }),
          ] as const)
        : ([
            "iteration",
            list.iteration,
            await iterations.findFor(db, source, { title: list.iteration }),
          ] as const);
  if (!found) throw new SeedError(`${source.fullPath} has no ${type} ${name}`);
  return { type, id: found.id };
}

type Lists = Pick<Seeding, "db" | "now" | "userId">;

/** @param source that has the labels @param owner that has the board: the hidden project of a group's epics, or the same */
async function insert(
  seeding: Lists,
  board: { readonly name: string; readonly lists: readonly List[] },
  source: SeededSource,
  owner: Pick<SeededSource, "column" | "id">,
): Promise<void> {
  const { db, now } = seeding;
  const boardId = await boards.insert(db, owner, { name: board.name }, now);
  for (const list of board.lists) {
    await boards.insertList(db, boardId, await listedIn(seeding, source, list), now);
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
