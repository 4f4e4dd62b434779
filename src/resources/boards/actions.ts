import { findSource } from "../../core/access/source.ts";
import { invalid, notFound, refused } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, routes, type SourceKind } from "../../core/resource.ts";
import * as changes from "./changes.ts";
import { boardInput, boardRoutes } from "./index.ts";
import { moveIssueOnBoard } from "./moves.ts";
import * as boards from "./queries.ts";
import { findBoard } from "./rules.ts";
import { requireSubject, SUBJECTS } from "./subjects.ts";

// Changes that GitLab has in GraphQL and not in REST: mutations perform these routes, which have no address.

const board = { board_id: param.recordId() };

/** The actions on boards of a group or project. Each answers the id of what it changed. */
function actionsOf(kind: SourceKind) {
  const { post, put } = boardRoutes(kind);
  return {
    create: post("", {
      summary: "Create a board with its scope",
      tier: changes.BOARD_TIERS[kind],
      role: "reporter",
      input: { name: param.text(), ...boardInput },
      handle: async (context) => {
        const { db, input, now } = context;
        return new Json({ id: await changes.createBoard(db, context, input, now) });
      },
    }),
    addList: post("/:board_id/lists", {
      summary: "Add a list at a position; the open list is always there",
      role: "reporter",
      input: {
        ...board,
        list_type: param.choice(["backlog", ...SUBJECTS, "status"]),
        subject_id: param.optional(param.integer()),
        position: param.optional(param.integer()),
      },
      handle: async (context) => {
        const { db, input, now } = context;
        const { id: boardId } = await findBoard(context);
        const { list_type: type, subject_id: id = 0, position } = input;
        if (type === "backlog") return new Json({ id: await boards.fixedListOf(db, boardId) });
        // Work items have no statuses here.
        if (type === "status") throw refused("Status feature not available");
        await requireSubject(db, context, { type, id });
        return new Json({ id: await changes.createList(db, boardId, { type, id, position }, now) });
      },
    }),
    collapse: put("/:board_id/lists/:list_id/collapsed", {
      summary: "Collapse a list for the caller, or expand it",
      whenArchived: "allow",
      input: { ...board, list_id: param.recordId(), collapsed: param.boolean() },
      handle: async (context) => {
        const { db, caller, input } = context;
        const { id: boardId } = await findBoard(context);
        const list = await boards.findList(db, boardId, input.list_id);
        if (!list) throw notFound("List");
        await changes.collapseList(db, list.id, caller.id, input.collapsed);
        return new Json({ id: list.id });
      },
    }),
    limit: put("/:board_id/lists/:list_id/limit", {
      summary: "Take the limit of a list away; none can be set",
      role: "reporter",
      input: { ...board, list_id: param.recordId(), limit: param.integer() },
      handle: async (context) => {
        const { db, input } = context;
        const { id: boardId } = await findBoard(context);
        const list = await boards.findList(db, boardId, input.list_id);
        if (!list) throw notFound("List");
        if (input.limit > 0) throw invalid({ base: ["Limits of lists are not supported"] });
        return new Json({ id: list.id });
      },
    }),
  };
}

/** What mutations about boards perform. */
export const ACTIONS = { group: actionsOf("group"), project: actionsOf("project") };

const optionalId = param.optional(param.integer());
const fixedList = param.optional(param.choice(["backlog", "closed"]));

/** Moves an issue of the project on a board of the project or of a group above it. */
export const MOVE_ISSUE = routes({ source: "project", path: "/issues", features: ["issues"] }).put(
  "/:issue_iid/place",
  {
    summary: "Move an issue on a board",
    concurrency: "alone",
    input: {
      issue_iid: param.recordId(),
      ...board,
      board_kind: param.choice(["group", "project"]),
      board_owner_id: param.integer(),
      from_list_id: optionalId,
      to_list_id: optionalId,
      // Instead of the ids of these lists, which only GraphQL tells.
      from_list: fixedList,
      to_list: fixedList,
      move_before_id: optionalId,
      move_after_id: optionalId,
      position: optionalId,
    },
    handle: async (context) => {
      const { db, caller, viewer, input, now } = context;
      const { move_before_id: before, move_after_id: after } = input;
      const source = await findSource(db, input.board_kind, String(input.board_owner_id), viewer);
      const listOf = async (type: "backlog" | "closed" | undefined, listId: number | undefined) =>
        type === undefined ? listId : boards.fixedListOf(db, input.board_id, type);
      const id = await moveIssueOnBoard(
        db,
        { source, caller, viewer, request: context.request },
        {
          boardId: input.board_id,
          project: context.source,
          iid: input.issue_iid,
          fromListId: await listOf(input.from_list, input.from_list_id),
          toListId: await listOf(input.to_list, input.to_list_id),
          neighbours: before === undefined && after === undefined ? undefined : { before, after },
          position: input.position,
        },
        now,
      );
      return new Json({ id });
    },
  },
);
