import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import * as changes from "../boards/changes.ts";
import { groupReference } from "../boards/json.ts";
import * as boards from "../boards/queries.ts";
import { findBoard } from "../boards/rules.ts";
import { requireSubject } from "../boards/subjects.ts";
import { listedLabelFields, scopeLabelFields, textColor } from "../labels/json.ts";
import { ensureHome } from "../namespaces/home.ts";

// The epic boards of a group are the boards of the hidden project that has its epics (docs/decisions/0104).

const list = presenter({
  id: field.integer("bl.id"),
  label: field.nested({ id: field.integer("l.id"), ...listedLabelFields }),
  position: field.integer("bl.position"),
  list_type: field.text("bl.list_type"),
});

const scopeLabel = presenter({
  id: field.integer("l.id"),
  title: field.text("l.name"),
  color: scopeLabelFields.color,
  description: scopeLabelFields.description,
  group_id: field.integer("l.namespace_id"),
  project_id: field.integer("l.project_id"),
  template: field.constant(false),
  text_color: textColor,
});

const board = presenter({
  id: field.integer("b.id"),
  name: field.text("b.name"),
  hide_backlog_list: field.flag("b.hide_backlog_list"),
  hide_closed_list: field.flag("b.hide_closed_list"),
  group: groupReference,
  labels: field.embedded("labels", "array of Label", "[]", { items: scopeLabel.fields }),
  lists: field.embedded("lists", "array of Epic board list", "[]", { items: list.fields }),
});

async function embed(
  { db, presenter, view }: Pick<Context, "presenter" | "view"> & { db: Reader },
  rows: Value[][],
): Promise<void> {
  await boards.embed(db, "lists", rows, presenter, list, view);
  await boards.embed(db, "labels", rows, presenter, scopeLabel, view);
}

const group = routes({ source: "group", isHome: true, path: "/epic_boards" });
const tier = changes.BOARD_TIERS.group;
const ofBoard = { board_id: param.recordId() };
const ofList = { ...ofBoard, list_id: param.recordId() };

/** Boards of groups' epics, and their lists. */
export const epicBoardResource: Resource = {
  name: "Epic boards",
  migrations: [],
  routes: [
    group.list("", {
      summary: "List the epic boards of a group",
      tier,
      presenter: board,
      handle: async (context) => {
        const { db, source, page, presenter } = context;
        const listed = await boards.list(db, presenter, page, source);
        await embed(context, listed.rows);
        return listed;
      },
    }),
    group.get("/:board_id", {
      summary: "Get an epic board",
      tier,
      input: ofBoard,
      presenter: board,
      handle: async (context) => {
        const { db, source, presenter } = context;
        const { id } = await findBoard(context);
        const row = await boards.row(db, presenter, source.kind, id);
        await embed(context, [row]);
        return row;
      },
    }),
    group.list("/:board_id/lists", {
      summary: "List the lists of an epic board, without the open and closed ones",
      tier,
      input: ofBoard,
      presenter: list,
      handle: async (context) => {
        const { id } = await findBoard(context);
        return boards.listLists(context.db, context.presenter, context.page, id);
      },
    }),
    group.get("/:board_id/lists/:list_id", {
      summary: "Get a list of an epic board",
      tier,
      input: ofList,
      presenter: list,
      handle: async ({ db, source, presenter, input }) => {
        const row = await boards.listRow(db, presenter, source, input.board_id, input.list_id);
        if (!row) throw notFound();
        return row;
      },
    }),
  ],
};

const name = param.optional(param.text());
const attributes = {
  hide_backlog_list: param.optional(param.boolean()),
  hide_closed_list: param.optional(param.boolean()),
  labels: param.clearable(param.commaSeparated()),
};

/** @throws ApiError 404 */
async function findList(
  context: Parameters<typeof findBoard>[0] & { readonly input: { readonly list_id: number } },
) {
  const { id } = await findBoard(context);
  const found = await boards.findList(context.db, id, context.input.list_id);
  if (!found) throw notFound("List");
  return found;
}

/** Changes that GitLab has in GraphQL only: mutations perform these routes, which have no address. Each answers an id. */
export const EPIC_ACTIONS = {
  create: group.post("", {
    summary: "Create an epic board",
    tier,
    role: "reporter",
    input: { ...attributes, name: param.text() },
    handle: async ({ db, source, tier, input, now }) => {
      const home = { ...source, id: await ensureHome(db, source, now) };
      return new Json({ id: await changes.createBoard(db, { source: home, tier }, input, now) });
    },
  }),
  change: group.put("/:board_id", {
    summary: "Change an epic board",
    tier,
    role: "reporter",
    input: { ...ofBoard, ...attributes, name },
    handle: async (context) => {
      const { db, input, now } = context;
      const { id } = await findBoard(context);
      await changes.updateBoard(db, context, id, input, now);
      return new Json({ id });
    },
  }),
  destroy: group.del("/:board_id", {
    summary: "Delete an epic board",
    tier,
    role: "reporter",
    input: ofBoard,
    handle: async (context) => {
      await changes.destroyBoard(context.db, (await findBoard(context)).id);
      return undefined;
    },
  }),
  addList: group.post("/:board_id/lists", {
    summary: "Add a list for a label to an epic board; the open list is always there",
    tier,
    role: "reporter",
    input: { ...ofBoard, label_id: param.optional(param.integer()) },
    handle: async (context) => {
      const { db, input, now } = context;
      const { id } = await findBoard(context);
      if (input.label_id === undefined) return new Json({ id: await boards.fixedListOf(db, id) });
      const listed = { type: "label", id: input.label_id } as const;
      await requireSubject(db, context, listed);
      return new Json({ id: await changes.createList(db, id, listed, now) });
    },
  }),
  moveList: group.put("/:board_id/lists/:list_id", {
    summary: "Move a list of an epic board",
    tier,
    role: "reporter",
    input: { ...ofList, position: param.integer() },
    handle: async (context) => {
      const found = await findList(context);
      await changes.moveList(context.db, found, context.input.position, context.now);
      return new Json({ id: found.id });
    },
  }),
  collapseList: group.put("/:board_id/lists/:list_id/collapsed", {
    summary: "Collapse a list of an epic board for the caller, or expand it",
    tier,
    whenArchived: "allow",
    input: { ...ofList, collapsed: param.boolean() },
    handle: async (context) => {
      const { db, caller, input } = context;
      const { id } = await findList(context);
      await changes.collapseList(db, id, caller.id, input.collapsed);
      return new Json({ id });
    },
  }),
  destroyList: group.del("/:board_id/lists/:list_id", {
    summary: "Remove a list from an epic board",
    tier,
    role: "reporter",
    input: ofList,
    handle: async (context) => {
      await changes.destroyList(context.db, await findList(context));
      return undefined;
    },
  }),
};
