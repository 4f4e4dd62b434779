import { ON_EPIC } from "../../core/access/visibility.ts";
import { notFound, notModified } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { rowsOf } from "../issuables/embed.ts";
import { EPIC } from "../issuables/epic.ts";
import { routesBelow } from "../issuables/places.ts";
import { findIssuable } from "../issuables/rules.ts";
import { add } from "../issuables/todos.ts";
import type { IssuableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES } from "../issuables/types.ts";
import { userFields } from "../users/json.ts";
import * as todos from "./queries.ts";
import { migrations } from "./table.ts";

/** The types of what todos are about. */
const TYPES: readonly IssuableType[] = [...ISSUABLE_TYPES, EPIC];

/** A column that is null where a todo is about an epic, or where it is not. */
const ifOnEpic = (column: string) => `case when ${ON_EPIC} then ${column} end`;
const unlessOnEpic = (column: string) => `case when not ${ON_EPIC} then ${column} end`;

const todo = presenter({
  id: field.integer("td.id"),
  project: field.nested({
    id: field.integer(unlessOnEpic("p.id")),
    description: field.text("p.description"),
    name: field.text("p.name"),
    name_with_namespace: field.text("n.full_name || ' / ' || p.name"),
    path: field.text("p.path"),
    path_with_namespace: field.text("p.full_path"),
    created_at: field.instant("p.created_at"),
  }),
  group: field.omittedIfNull(
    field.nested({
      id: field.integer(ifOnEpic("n.id")),
      name: field.text("n.name"),
      path: field.text("n.path"),
      kind: field.text("n.kind"),
      full_path: field.text("n.full_path"),
    }),
  ),
  author: field.nested(userFields("u")),
  action_name: field.text("td.action"),
  target_type: field.text(todos.target.shownName),
  // Type and id, which `embedTargets` replaces with the issue or merge request.
  target: field.json(
    `${todos.target.shownName} || ' ' || ${todos.target.id} as target`,
    "Issue, Merge request or Epic",
    { either: TYPES.map(({ listed }) => listed.fields) },
  ),
  target_url: todos.targetUrl,
  body: field.text(todos.BODY),
  state: field.text("td.state"),
  created_at: field.instant("td.created_at"),
});

type Presented = Pick<Context, "presenter" | "view" | "viewer" | "tier"> & { db: Reader };

/** Fills in the issuables, with four queries for each type. */
async function embedTargets(context: Presented, rows: Value[][]): Promise<void> {
  const at = context.presenter.at("target");
  const written = new Map<Value, string>();
  for (const type of TYPES) {
    const { listed, className } = type;
    const targets = rows.map((row) => String(row[at]).split(" "));
    const ids = targets.filter(([name]) => name === className).map(([, id]) => Number(id));
    const found = await rowsOf({ ...context, presenter: listed }, type, [...new Set(ids)]);
    for (const row of found) {
      written.set(`${className} ${row[listed.at("id")]}`, listed.write(row, context.view));
    }
  }
  for (const row of rows) row[at] = written.get(row[at] as Value) ?? "null";
}

/** The row of one of the caller's todos; 404 if they can no longer read its target, which lists leave out too. */
async function rowOf(context: Presented, id: number) {
  const row = await todos.row(context.db, context.presenter, id, context.viewer);
  if (!row) throw notFound();
  await embedTargets(context, [row]);
  return row;
}

const markRoute = (type: IssuableType) =>
  routesBelow({ ...type, whenDisabled: "refuse" }, "").post(`/${type.path}/:target_iid/todo`, {
    whenArchived: "allow",
    alsoAnswers: { 304: [] },
    summary: `Create a todo for ${type.one}; 304 if a pending one exists`,
    input: { target_iid: param.recordId() },
    presenter: todo,
    handle: async (context) => {
      const { db, source, caller, input, now } = context;
      const { id } = await findIssuable(context, type, input.target_iid);
      const about = { projectId: source.id, id };
      const [added] = await add(db, type, about, [caller.id], "marked", caller.id, now);
      if (added === undefined) throw notModified();
      return rowOf(context, added);
    },
  });

const { list, post } = routes();

const oneOrNone = <T>(value: T | undefined) => (value === undefined ? undefined : [value]);

const ids = param.arrayOf(param.recordId(), { max: 500 });

/** Marks those of the caller's todos as done that a filter selects, and tells the newest ones: for GraphQL. */
export const finishAll = post("/todos/finish", {
  summary: "Mark some of the caller's todos as done",
  input: {
    actions: param.optional(param.arrayOf(param.choice(todos.ACTIONS))),
    author_ids: param.optional(ids),
    group_ids: param.optional(ids),
    project_ids: param.optional(ids),
    types: param.optional(param.arrayOf(param.choice(TYPES.map(({ className }) => className)))),
  },
  prepare: (input, { store, caller, now }) => {
    const filter = {
      actions: input.actions,
      authorIds: input.author_ids,
      groupIds: input.group_ids,
      projectIds: input.project_ids,
      types: input.types && TYPES.filter((type) => input.types?.includes(type.className)),
    };
    return todos.finishAll(store, caller.id, filter, now);
  },
  handle: ({ prepared }) => new Json({ ids: prepared }),
});

/** Changes the state of some of the caller's todos, all or none: for GraphQL. */
export const setStates = post("/todos/states", {
  summary: "Mark some of the caller's todos as done, or as pending",
  input: {
    ids: param.arrayOf(param.recordId(), { max: 50 }),
    state: param.choice(todos.STATES),
  },
  handle: async ({ db, viewer, input, now }) => {
    const ids = [...new Set(input.ids)];
    if (ids.length === 0) return new Json({ ids });
    if ((await todos.countReadable(db, ids, viewer)) < ids.length) throw notFound();
    await todos.setState(db, ids, input.state, now);
    return new Json({ ids });
  },
});

/** The caller's to-do list. */
export const todoResource: Resource = {
  name: "Todos",
  migrations,
  routes: [
    list("/todos", {
      summary: "List the caller's todos, newest first; by default only pending ones",
      input: {
        action: param.optional(param.choice(todos.ACTIONS)),
        author_id: param.optional(param.integer()),
        project_id: param.optional(param.integer()),
        group_id: param.optional(param.integer()),
        state: param.optional(param.choice(todos.STATES)),
        type: param.optional(param.choice(TYPES.map(({ className }) => className))),
      },
      presenter: todo,
      handle: async (context) => {
        const { db, presenter, page, viewer, input } = context;
        const listed = await todos.list(db, presenter, page, viewer, {
          actions: oneOrNone(input.action),
          authorIds: oneOrNone(input.author_id),
          projectIds: oneOrNone(input.project_id),
          groupIds: oneOrNone(input.group_id),
          states: [input.state ?? "pending"],
          types: oneOrNone(TYPES.find(({ className }) => className === input.type)),
        });
        await embedTargets(context, listed.rows);
        return listed;
      },
    }),
    post("/todos/mark_as_done", {
      summary: "Mark all of the caller's todos as done",
      status: 204,
      prepare: (_, { store, caller, now }) => todos.finishAll(store, caller.id, {}, now),
      handle: () => undefined,
    }),
    post("/todos/:todo_id/mark_as_done", {
      summary: "Mark a todo as done",
      input: { todo_id: param.recordId() },
      presenter: todo,
      handle: async (context) => {
        const { db, caller, input, now } = context;
        await todos.finish(db, input.todo_id, caller.id, now);
        return rowOf(context, input.todo_id);
      },
    }),
    ...TYPES.map(markRoute),
  ],
};
