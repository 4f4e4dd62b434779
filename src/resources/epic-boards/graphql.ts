import { visibleHomes } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  arg,
  boolean,
  connection,
  first,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  gid,
  mutation,
  notAvailable,
  property,
  required,
  rowType,
  string,
  type Values,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import {
  BOARD_ORDER,
  boardLabels,
  LIST_ORDER,
  listFields,
  SHOWN_LISTS,
} from "../boards/graphql.ts";
import { GROUP_PATH } from "../issuables/epic.ts";
import { labelNames, requireOnlyOne } from "../issuables/graphql.ts";
import { LABEL_ID } from "../labels/graphql.ts";
import { EPIC_ACTIONS } from "./index.ts";

const BOARDS = "boards b join projects p on p.id = b.project_id";
const PATH = `'/groups/' || ${GROUP_PATH} || '/-/epic_boards/' || b.id`;

const BOARD_ID = arg.gid("BoardsEpicBoard", ["Boards::EpicBoard"]);
const LIST_ID = arg.gid("BoardsEpicList", ["Boards::EpicList"]);

const list = rowType("EpicList", {
  about: "A list of an epic board.",
  from: `${BOARDS} join board_lists bl on bl.board_id = b.id left join labels l on l.id = bl.label_id`,
  key: "bl.id",
  visible: visibleHomes,
  fields: { id: gid("BoardsEpicList", "bl.id", "Boards::EpicList"), ...listFields },
});

const board = rowType("EpicBoard", {
  about: "A board of a group's epics.",
  from: BOARDS,
  key: "b.id",
  visible: visibleHomes,
  fields: {
    id: gid("BoardsEpicBoard", "b.id", "Boards::EpicBoard"),
    name: string("b.name"),
    hideBacklogList: boolean("b.hide_backlog_list"),
    hideClosedList: boolean("b.hide_closed_list"),
    webPath: required(string(PATH)),
    webUrl: required(string(field.url(PATH, (path) => path))),
    labels: boardLabels,
    lists: connection("EpicList", {
      isSmall: true,
      args: { id: LIST_ID },
      query: ({ id }) => ({
        parent: "bl.board_id",
        where: all([when("bl.id = ?", id), SHOWN_LISTS]),
        order: LIST_ORDER,
      }),
    }),
  },
});

const attributes = {
  name: arg.string,
  hideBacklogList: arg.boolean,
  hideClosedList: arg.boolean,
  labels: arg.list(arg.string),
  labelIds: arg.list(LABEL_ID),
} satisfies Args;

async function parametersOf(
  context: Pick<GraphContext, "db" | "viewer">,
  input: Values<typeof attributes>,
) {
  requireOnlyOne(input, "labels", "labelIds");
  const { labels, labelIds } = input;
  return {
    name: input.name ?? undefined,
    hide_backlog_list: input.hideBacklogList ?? undefined,
    hide_closed_list: input.hideClosedList ?? undefined,
    labels: labels ?? (labelIds && (await labelNames(context, labelIds))) ?? undefined,
  };
}

/**
 * The parameters that say which board of which group it is. Whether the caller may read it is checked by the routes.
 *
 * @throws GraphError if there is none
 */
async function placeOf(db: Reader, column: "b.id" | "bl.id", id: number) {
  const [found] = await db.rows(
    `select p.namespace_id, b.id from ${BOARDS} join board_lists bl on bl.board_id = b.id
     where ${column} = ? limit 1`,
    [id],
  );
  if (!found) throw notAvailable();
  return { id: found[0] as number, board_id: found[1] as number };
}

const boardPayload = { epicBoard: property("EpicBoard") };
const listPayload = { list: property("EpicList") };

/** Boards of groups' epics, and their lists. */
export const graphqlModule: GraphqlModule = {
  types: [board, list],
  extend: {
    Group: {
      epicBoard: first("EpicBoard", {
        args: { id: arg.required(BOARD_ID) },
        query: ({ id }) => ({ parent: "p.namespace_id", where: when("b.id = ?", id) }),
      }),
      epicBoards: connection("EpicBoard", {
        query: () => ({ parent: "p.namespace_id", order: BOARD_ORDER }),
      }),
    },
    Query: {
      epicBoardList: first("EpicList", {
        args: { id: arg.required(LIST_ID) },
        query: ({ id }) => ({ where: when("bl.id = ?", id) }),
      }),
    },
  },
  mutations: {
    epicBoardCreate: mutation({
      about: "Create an epic board.",
      input: { groupPath: arg.required(arg.id), ...attributes },
      payload: boardPayload,
      run: async ({ groupPath, ...input }, context) => {
        const { name = "Development", ...others } = await parametersOf(context, input);
        const created = await context.call(EPIC_ACTIONS.create, { id: groupPath, name, ...others });
        return { epicBoard: created["id"] };
      },
    }),
    epicBoardUpdate: mutation({
      about: "Change an epic board.",
      input: { id: arg.required(BOARD_ID), ...attributes },
      payload: boardPayload,
      run: async ({ id, ...input }, context) => {
        const place = await placeOf(context.db, "b.id", id);
        const changed = await parametersOf(context, input);
        await context.call(EPIC_ACTIONS.change, { ...place, ...changed });
        return { epicBoard: id };
      },
    }),
    destroyEpicBoard: mutation({
      about: "Delete an epic board.",
      input: { id: arg.required(BOARD_ID) },
      payload: boardPayload,
      run: async ({ id }, { call, db }) => {
        await call(EPIC_ACTIONS.destroy, await placeOf(db, "b.id", id));
        return {};
      },
    }),
    epicBoardListCreate: mutation({
      about: "Add a list for a label to an epic board. The open list is always there.",
      input: { boardId: arg.required(BOARD_ID), backlog: arg.boolean, labelId: LABEL_ID },
      payload: listPayload,
      run: async ({ boardId, backlog, labelId }, { call, db }) => {
        const isOfLabel = labelId !== undefined && labelId !== null;
        if (isOfLabel === (backlog ?? false)) {
          throw new GraphError("one and only one of backlog or labelId is required");
        }
        const place = await placeOf(db, "b.id", boardId);
        const made = await call(EPIC_ACTIONS.addList, { ...place, label_id: labelId ?? undefined });
        return { list: made["id"] };
      },
    }),
    updateEpicBoardList: mutation({
      about: "Move a list of an epic board, or collapse or expand it for the caller.",
      input: {
        listId: arg.required(LIST_ID),
        position: arg.int,
        collapsed: arg.boolean,
      },
      payload: listPayload,
      run: async ({ listId, ...input }, { call, db }) => {
        const at = { ...(await placeOf(db, "bl.id", listId)), list_id: listId };
        const collapsed = input.collapsed ?? undefined;
        const position = input.position ?? undefined;
        if (collapsed !== undefined) await call(EPIC_ACTIONS.collapseList, { ...at, collapsed });
        if (position !== undefined) await call(EPIC_ACTIONS.moveList, { ...at, position });
        return { list: listId };
      },
    }),
    epicBoardListDestroy: mutation({
      about: "Remove a list from its epic board.",
      input: { listId: arg.required(LIST_ID) },
      payload: listPayload,
      run: async ({ listId }, { call, db }) => {
        const place = await placeOf(db, "bl.id", listId);
        await call(EPIC_ACTIONS.destroyList, { ...place, list_id: listId });
        return {};
      },
    }),
  },
};
