import { ApiError, invalid, missing, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import type { Input } from "../../core/input.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { iterationFields } from "../iterations/json.ts";
import { listedLabelFields, scopeLabelFields, textColor } from "../labels/json.ts";
import { anyMilestoneFields, groupMilestoneFields } from "../milestones/json.ts";
import { userSummaryFields } from "../users/json.ts";
import * as changes from "./changes.ts";
import { groupReference } from "./json.ts";
import * as boards from "./queries.ts";
import { findBoard } from "./rules.ts";
import { type Listed, requireSubject, SUBJECTS } from "./subjects.ts";
import { migrations } from "./table.ts";

const projectReference = field.nested({
  id: field.integer("p.id"),
  name: field.text("p.name"),
  name_with_namespace: field.text("n.full_name || ' / ' || p.name"),
  path: field.text("p.path"),
  path_with_namespace: field.text("p.full_path"),
  http_url_to_repo: field.url("p.full_path", (path) => `/${path}.git`),
  web_url: field.url("p.full_path", (path) => `/${path}`),
});

/** What a board shows of its owner: the other kind is null. */
const owners = {
  group: { project: field.constant(null), group: groupReference },
  project: { project: projectReference, group: field.constant(null) },
};

const hiding = {
  hide_backlog_list: field.flag("b.hide_backlog_list"),
  hide_closed_list: field.flag("b.hide_closed_list"),
};

const listOf = (label: field.Fields) =>
  presenter({
    id: field.integer("bl.id"),
    label: field.nested(label),
    position: field.integer("bl.position"),
    assignee: field.omittedIfNull(field.nested(userSummaryFields)),
    milestone: field.omittedIfNull(field.nested(anyMilestoneFields)),
    iteration: field.omittedIfNull(field.nested(iterationFields)),
  });

const boardList = {
  group: listOf(listedLabelFields),
  project: listOf({ ...scopeLabelFields, text_color: textColor }),
};

const lists = (kind: SourceKind) =>
  field.embedded("lists", "array of Board list", "[]", { items: boardList[kind].fields });

const idAndName = { id: field.integer("b.id"), name: field.text("b.name") };

const scope = {
  assignee: field.nested(userSummaryFields),
  labels: field.embedded("labels", "array of Label", "[]", { items: scopeLabelFields }),
  weight: field.integer("b.weight"),
};

/** A board of a project, without its lists. */
const ofProject = {
  ...idAndName,
  ...hiding,
  ...owners.project,
  milestone: field.nested(anyMilestoneFields),
  ...scope,
};

/** A board as listed, read or created: of its scope, a group's has only the milestone's `id` and `title`. */
const board = {
  group: presenter({
    ...idAndName,
    ...owners.group,
    milestone: field.omittedIfNull(
      field.nested({ id: field.integer("m.id"), title: field.text("m.title") }),
    ),
    lists: lists("group"),
  }),
  project: presenter({ ...ofProject, lists: lists("project") }),
};

/** The answer to changing a board: its whole scope. That of a group is without lists. */
const changedBoard = {
  group: presenter({
    ...idAndName,
    ...owners.group,
    milestone: field.nested(groupMilestoneFields),
    ...scope,
    lists: field.constant([]),
  }),
  project: board.project,
};

const scopeLabel = presenter(scopeLabelFields);

/** GitLab does not type `board_id` on some routes: there a value that is not a number finds no board. */
const untyped = { board_id: param.untypedId() };
const typed = { board_id: param.recordId() };

type In = Context<{ board_id: typeof typed.board_id }>;

/** A list: the open and closed ones are hidden. */
async function findList(
  context: Pick<In, "db" | "source"> & { input: { board_id: number; list_id: number } },
) {
  const { id } = await findBoard(context);
  const found = await boards.findList(context.db, id, context.input.list_id);
  if (found?.position == null) throw notFound();
  return found;
}

const optionalId = param.clearable(param.integer());

/** What a new list is of. */
const subjects = {
  label_id: optionalId,
  assignee_id: optionalId,
  milestone_id: optionalId,
  iteration_id: optionalId,
};

/** What a request says that a new list is of. @throws ApiError 400 unless it is one thing */
function listedIn(input: Input<typeof subjects>): Listed {
  const [listed, ...more] = SUBJECTS.flatMap((type) => {
    const id = input[`${type}_id`];
    return id === undefined || id === null ? [] : [{ type, id }];
  });
  if (!listed) {
    const blank = SUBJECTS.find((type) => input[`${type}_id`] === null);
    throw blank ? invalid({ [`${blank}_id`]: ["is invalid"] }) : missing("label_id");
  }
  if (more.length > 0) {
    const error = `${Object.keys(subjects).join(", ")} are mutually exclusive`;
    throw new ApiError(400, { error });
  }
  return listed;
}

/** Fills in the lists and labels of boards, as rows of {@link board}. */
async function embed(
  { db, source, presenter, view }: Pick<In, "source" | "presenter" | "view"> & { db: Reader },
  rows: Value[][],
): Promise<void> {
  await Promise.all([
    boards.embed(db, "lists", rows, presenter, boardList[source.kind], view),
    boards.embed(db, "labels", rows, presenter, scopeLabel, view),
  ]);
}

/** Which lists a board hides, and its scope. */
export const boardInput = {
  hide_backlog_list: param.optional(param.boolean()),
  hide_closed_list: param.optional(param.boolean()),
  assignee_id: param.clearable(param.integer()),
  milestone_id: param.clearable(param.integer()),
  labels: param.clearable(param.commaSeparated()),
  weight: param.clearable(param.integer({ min: 0, max: 9 })),
};

/** Declares routes on the boards of groups or projects. */
export const boardRoutes = (kind: SourceKind) =>
  routes({
    source: kind,
    path: "/boards",
    ...(kind === "project" && { features: ["issues"] as const }),
  });

function routesOf(kind: SourceKind) {
  const { del, get, list, post, put } = boardRoutes(kind);
  const tier = changes.BOARD_TIERS[kind];
  return [
    list("", {
      summary: `List the boards of a ${kind}`,
      isShownToVisitors: true,
      presenter: board[kind],
      handle: async (context) => {
        const { db, source, page, presenter } = context;
        const listed = await boards.list(db, presenter, page, source);
        await embed(context, listed.rows);
        return listed;
      },
    }),
    get("/:board_id", {
      summary: "Get a board",
      isShownToVisitors: true,
      input: untyped,
      presenter: board[kind],
      handle: async (context) => {
        const { id } = await findBoard(context);
        const row = await boards.row(context.db, context.presenter, kind, id);
        await embed(context, [row]);
        return row;
      },
    }),
    post("", {
      summary: "Create a board",
      tier,
      role: "reporter",
      input: { name: param.text() },
      presenter: board[kind],
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        const id = await changes.createBoard(db, context, input, now);
        return boards.row(db, presenter, source.kind, id);
      },
    }),
    put("/:board_id", {
      summary: "Change a board's name or scope, or which lists it hides",
      tier,
      role: "reporter",
      input: {
        ...untyped,
        name: param.optional(param.text()),
        ...boardInput,
      },
      presenter: changedBoard[kind],
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        const { id } = await findBoard(context);
        await changes.updateBoard(db, context, id, input, now);
        const row = await boards.row(db, presenter, source.kind, id);
        await embed(context, [row]);
        return row;
      },
    }),
    del("/:board_id", {
      summary: "Delete a board",
      tier,
      role: "reporter",
      input: untyped,
      handle: async (context) => {
        const found = await findBoard(context);
        context.requireUnmodified(found.updated_at);
        await changes.destroyBoard(context.db, found.id);
        return undefined;
      },
    }),
    list("/:board_id/lists", {
      summary: "List the lists of a board, without the open and closed ones",
      input: typed,
      presenter: boardList[kind],
      handle: async (context) => {
        const { id } = await findBoard(context);
        return boards.listLists(context.db, context.presenter, context.page, id);
      },
    }),
    get("/:board_id/lists/:list_id", {
      summary: "Get a list",
      input: { ...typed, list_id: param.recordId() },
      presenter: boardList[kind],
      handle: async ({ db, source, presenter, input }) => {
        const row = await boards.listRow(db, presenter, source, input.board_id, input.list_id);
        if (!row) throw notFound();
        return row;
      },
    }),
    post("/:board_id/lists", {
      summary:
        "Add a list to a board: for a label or, in paid tiers, a user, a milestone or an iteration",
      role: "reporter",
      input: { ...typed, ...subjects },
      presenter: boardList[kind],
      before: async (context) => {
        await requireSubject(context.db, context, listedIn(context.input));
      },
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        const { id } = await findBoard(context);
        const listId = await changes.createList(db, id, listedIn(input), now);
        return boards.listRow(db, presenter, source, id, listId);
      },
    }),
    put("/:board_id/lists/:list_id", {
      summary: "Move a list to another position",
      role: "reporter",
      input: { ...typed, list_id: param.recordId(), position: param.integer() },
      presenter: boardList[kind],
      before: async (context) => {
        await findList(context);
      },
      handle: async (context) => {
        const { db, source, input, presenter, now } = context;
        const found = await findList(context);
        await changes.moveList(db, found, input.position, now);
        return boards.listRow(db, presenter, source, found.board_id, found.id);
      },
    }),
    del("/:board_id/lists/:list_id", {
      summary: "Remove a list from a board",
      role: "owner",
      input: { ...typed, list_id: param.recordId() },
      handle: async (context) => {
        const found = await findList(context);
        context.requireUnmodified(found.updated_at);
        await changes.destroyList(context.db, found);
        return undefined;
      },
    }),
  ];
}

/** Issue boards of groups and projects, and their lists. */
export const boardResource: Resource = {
  name: "Issue boards",
  migrations,
  routes: [...routesOf("group"), ...routesOf("project")],
};
