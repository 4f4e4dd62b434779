import { invalid, notFound, refused } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { listedLabelFields, scopeLabelFields } from "../labels/json.ts";
import * as labels from "../labels/queries.ts";
import { labelsNamed } from "../labels/rules.ts";
import { groupMilestoneFields } from "../milestones/json.ts";
import * as milestones from "../milestones/queries.ts";
import { userSummaryFields } from "../users/json.ts";
import * as users from "../users/queries.ts";
import * as boards from "./queries.ts";
import { migrations } from "./table.ts";

const groupReference = field.nested({
  id: field.integer("n.id"),
  name: field.text("n.name"),
  web_url: field.url("n.full_path", (path) => `/groups/${path}`),
});

const boardList = presenter({
  id: field.integer("bl.id"),
  label: field.nested(listedLabelFields),
  position: field.integer("bl.position"),
});

/** A board as listed, read or created: its milestone has only `id` and `title`. */
const board = presenter({
  id: field.integer("b.id"),
  name: field.text("b.name"),
  project: field.constant(null),
  group: groupReference,
  milestone: field.omittedIfNull(
    field.nested({ id: field.integer("m.id"), title: field.text("m.title") }),
  ),
  lists: field.embedded("lists", "array of Board list", "[]", { items: boardList.fields }),
});

/** The answer to changing a board: its whole scope, without lists. */
const changedBoard = presenter({
  id: field.integer("b.id"),
  name: field.text("b.name"),
  project: field.constant(null),
  group: groupReference,
  milestone: field.nested(groupMilestoneFields),
  assignee: field.nested(userSummaryFields),
  labels: field.embedded("labels", "array of Label", "[]", { items: scopeLabelFields }),
  weight: field.integer("b.weight"),
  lists: field.constant([]),
});

const scopeLabel = presenter(scopeLabelFields);

/** GitLab does not type `board_id` on some routes: there a value that is not a number finds no board. */
const untyped = { board_id: param.untypedId() };
const typed = { board_id: param.recordId() };

type In = Context<{ board_id: typeof typed.board_id }>;

async function findBoard({ db, source, input }: Pick<In, "db" | "source" | "input">) {
  const found = await boards.find(db, source.id, input.board_id);
  if (!found) throw notFound();
  return found;
}

async function findList(
  context: Pick<In, "db" | "source"> & { input: { board_id: number; list_id: number } },
) {
  const { id } = await findBoard(context);
  const found = await boards.findList(context.db, id, context.input.list_id);
  if (!found) throw notFound();
  return found;
}

/** A board with its lists as a row of {@link board}. */
async function rowWithLists(
  { db, presenter, view }: Pick<Context, "presenter" | "view"> & { db: Reader },
  boardId: number,
): Promise<Value[]> {
  const row = await boards.row(db, presenter, boardId);
  await boards.embedLists(db, [row], presenter, boardList, view);
  return row;
}

const { del, get, list, post, put } = routes({ source: "group", path: "/boards" });

/** Group issue boards and their lists. */
export const boardResource: Resource = {
  name: "Group issue boards",
  migrations,
  routes: [
    list("", {
      summary: "List the boards of a group",
      presenter: board,
      handle: async ({ db, source, page, presenter, view }) => {
        const listed = await boards.list(db, presenter, page, source.id);
        await boards.embedLists(db, listed.rows, presenter, boardList, view);
        return listed;
      },
    }),
    get("/:board_id", {
      summary: "Get a board",
      input: untyped,
      presenter: board,
      handle: async (context) => rowWithLists(context, (await findBoard(context)).id),
    }),
    post("", {
      summary: "Create a board",
      tier: "premium",
      role: "reporter",
      input: { name: param.text() },
      presenter: board,
      handle: async ({ db, source, input, presenter, now }) =>
        boards.row(db, presenter, await boards.insert(db, source.id, input.name, now)),
    }),
    put("/:board_id", {
      summary: "Change a board's name or scope",
      tier: "premium",
      role: "reporter",
      input: {
        ...untyped,
        name: param.optional(param.text()),
        assignee_id: param.clearable(param.integer()),
        milestone_id: param.clearable(param.integer()),
        labels: param.clearable(param.commaSeparated()),
        weight: param.clearable(param.integer({ min: 0, max: 9 })),
      },
      presenter: changedBoard,
      handle: async (context) => {
        const { db, source, input, presenter, view, now } = context;
        const { id } = await findBoard(context);
        await updateRow(
          db,
          "boards",
          id,
          {
            name: input.name,
            assignee_id: await assigneeOf(db, input.assignee_id),
            milestone_id: await milestoneOf(db, source.id, input.milestone_id),
            weight: input.weight,
          },
          now,
        );
        if (input.labels !== undefined) {
          const labelIds = await labelsNamed(db, source, input.labels ?? [], now);
          await boards.replaceLabels(db, id, labelIds);
        }
        const row = await boards.row(db, presenter, id);
        row[presenter.at("labels")] = await boards.scopeLabels(db, scopeLabel, id, view);
        return row;
      },
    }),
    del("/:board_id", {
      summary: "Delete a board",
      tier: "premium",
      role: "reporter",
      input: untyped,
      handle: async (context) => {
        const found = await findBoard(context);
        context.requireUnmodified(found.updated_at);
        await boards.remove(context.db, found.id);
        return undefined;
      },
    }),
    list("/:board_id/lists", {
      summary: "List the lists of a board",
      input: typed,
      presenter: boardList,
      handle: async (context) => {
        const { id } = await findBoard(context);
        return boards.listLists(context.db, context.presenter, context.page, id);
      },
    }),
    get("/:board_id/lists/:list_id", {
      summary: "Get a list",
      input: { ...typed, list_id: param.recordId() },
      presenter: boardList,
      handle: async ({ db, source, presenter, input }) => {
        const row = await boards.listRow(db, presenter, source.id, input.board_id, input.list_id);
        if (!row) throw notFound();
        return row;
      },
    }),
    post("/:board_id/lists", {
      summary: "Add a list for a label to a board",
      role: "reporter",
      input: { ...typed, label_id: param.integer() },
      presenter: boardList,
      before: async ({ db, source, input }) => {
        if (!(await labels.findInherited(db, source.id, { id: input.label_id }))) {
          throw refused("Label not found!");
        }
      },
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        const { id } = await findBoard(context);
        if (await boards.hasListOf(db, id, input.label_id)) {
          throw invalid({ label_id: ["has already been taken"] });
        }
        const listId = await boards.insertList(db, id, input.label_id, now);
        return boards.listRow(db, presenter, source.id, id, listId);
      },
    }),
    put("/:board_id/lists/:list_id", {
      summary: "Move a list to another position",
      role: "reporter",
      input: { ...typed, list_id: param.recordId(), position: param.integer() },
      presenter: boardList,
      before: async (context) => {
        await findList(context);
      },
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        const found = await findList(context);
        const last = await boards.lastPosition(db, input.board_id);
        if (input.position < 0 || input.position > last || input.position === found.position) {
          throw refused("List could not be moved!");
        }
        await boards.moveList(db, input.board_id, found, input.position, now);
        return boards.listRow(db, presenter, source.id, input.board_id, found.id);
      },
    }),
    del("/:board_id/lists/:list_id", {
      summary: "Remove a list from a board",
      role: "owner",
      input: { ...typed, list_id: param.recordId() },
      handle: async (context) => {
        const found = await findList(context);
        context.requireUnmodified(found.updated_at);
        await boards.removeList(context.db, context.input.board_id, found);
        return undefined;
      },
    }),
  ],
};

/** The new assignee: 0 and unknown users clear it. */
async function assigneeOf(db: Reader, id: number | null | undefined) {
  return id ? ((await users.find(db, id))?.id ?? null) : id === 0 ? null : id;
}

/** The new milestone, of the group or one above it: 0 clears it, unknown ones are ignored. */
async function milestoneOf(db: Reader, groupId: number, id: number | null | undefined) {
  if (id === undefined || id === null) return id;
  if (id === 0) return null;
  return (await milestones.findInherited(db, groupId, id))?.id;
}
