import {
  type Args,
  arg,
  connection,
  deprecated,
  enumeration,
  first,
  type GraphqlModule,
  gid,
  interfaceType,
  type MutationContext,
  mutation,
  type OutputFields,
  one,
  oneOf,
  property,
  recordId,
  required,
  routeOf,
  rowType,
  sortEnum,
  string,
  time,
  type Values,
  word,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import { EPIC } from "../issuables/epic.ts";
import { placeRouteOf } from "../issuables/places.ts";
import type { IssuableType, NoteableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES } from "../issuables/types.ts";
import { placeOfNoteable } from "../notes/places.ts";
import { finishAll, setStates, todoResource } from "./index.ts";
import {
  ACTIONS,
  BODY,
  filtered,
  readable,
  STATES,
  TODOS,
  type TodoFilter,
  target,
  targetUrl,
} from "./queries.ts";

const ACTION = enumeration("TodoActionEnum", "Why a todo was created.", ACTIONS);
const STATE = enumeration("TodoStateEnum", "Whether a todo is done.", STATES);
const TARGET = enumeration<IssuableType>(
  "TodoTargetEnum",
  "What a todo is about.",
  Object.fromEntries([...ISSUABLE_TYPES, EPIC].map((type) => [type.className.toUpperCase(), type])),
);
const SORT = sortEnum("TodoSort", "The order of a list of todos.", "td.id", {
  CREATED: { sql: "td.id" },
  UPDATED: { sql: "td.updated_at" },
});

/** The column of a todo with the issue or merge request that it is about, by its class. */
const OF_ISSUABLES = Object.fromEntries(
  ISSUABLE_TYPES.map(({ className, column }) => [className, `td.${column}`]),
);
/** The same for all that todos are about: epics are issues. */
const TARGETS = { WorkItem: "case when i.issue_type = 'epic' then i.id end", ...OF_ISSUABLES };

const todo = rowType("Todo", {
  about: "Something to do for the caller.",
  from: TODOS,
  key: "td.id",
  visible: readable,
  fields: {
    id: gid("Todo", "td.id"),
    action: required(word(ACTION, "td.action")),
    state: required(word(STATE, "td.state")),
    author: required(one("UserCore", "td.author_id")),
    body: required(string(BODY)),
    targetType: required(word(TARGET, `upper(${target.shownName})`)),
    targetEntity: oneOf("Todoable", TARGETS),
    target: deprecated("Use `targetEntity`.", required(oneOf("Todoable", TARGETS))),
    targetUrl: string(targetUrl),
    project: one("Project", "td.project_id"),
    group: one("Group", "case when i.issue_type = 'epic' then p.namespace_id end"),
    note: one("Note", "td.note_id"),
    createdAt: required(time("td.created_at")),
  },
});

const filters = {
  action: arg.list(arg.choice(ACTION)),
  authorId: arg.list(arg.id),
  groupId: arg.list(arg.id),
  projectId: arg.list(arg.id),
  type: arg.list(arg.choice(TARGET)),
} satisfies Args;

const filterOf = (args: Partial<Values<typeof filters>>): TodoFilter => ({
  actions: args.action,
  authorIds: args.authorId?.map((id) => recordId(id, "User")),
  groupIds: args.groupId?.map((id) => recordId(id, "Group")),
  projectIds: args.projectId?.map((id) => recordId(id, "Project")),
  types: args.type,
});

/** The caller's todos on an issue or merge request. */
export const onTarget = ({ column }: IssuableType): OutputFields => ({
  currentUserTodos: required(
    connection("Todo", {
      args: { state: arg.choice(STATE) },
      query: ({ state }) => ({ parent: `td.${column}`, where: when("td.state = ?", state) }),
    }),
  ),
});

const FINISH = routeOf(todoResource, "POST /todos/:todo_id/mark_as_done");
/** The route that creates a todo on an issuable of a type. */
export const markOn = (type: Pick<NoteableType, "path">) =>
  routeOf(todoResource, `POST ${placeRouteOf(type)}/:target_iid/todo`);

/** Marks some of the caller's todos as done, all or none. */
export const finishTodos = (ids: readonly number[], { call }: MutationContext) =>
  call(setStates, { ids, state: "done" });

const todoId = arg.gid("Todo");
const oneTodo = { id: arg.required(todoId) } satisfies Args;
const many = { ids: arg.required(arg.list(todoId)) } satisfies Args;
const payload = { todo: property("Todo") };
const payloadOfMany = {
  todos: required(property("[Todo!]", ({ todos = [] }: { todos?: readonly number[] }) => todos)),
};

/** Todos. */
export const graphqlModule: GraphqlModule = {
  types: [
    todo,
    interfaceType("Todoable", "What a todo can be about.", {
      name: property("String"),
      webUrl: property("String"),
    }),
  ],
  extend: {
    ...Object.fromEntries(ISSUABLE_TYPES.map((type) => [type.className, onTarget(type)])),
    User: {
      todos: required(
        connection("Todo", {
          args: {
            ...filters,
            state: arg.list(arg.choice(STATE)),
            sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
          },
          query: ({ state = ["pending"], sort, ...args }) => ({
            parent: "td.user_id",
            where: all([filtered({ ...filterOf(args), states: state })]),
            order: sort,
          }),
        }),
      ),
    },
    Query: {
      todo: first("Todo", {
        args: oneTodo,
        query: ({ id }) => ({ where: when("td.id = ?", id) }),
      }),
    },
  },
  mutations: {
    todoCreate: mutation({
      about: "Create a todo for the caller; null if a pending one exists.",
      input: { targetId: arg.required(arg.gidOf("TodoableID", Object.keys(OF_ISSUABLES))) },
      payload,
      run: async ({ targetId }, { call, db }) => {
        const { type, at } = await placeOfNoteable(db, targetId);
        const marked = await call(markOn(type), { id: at.id, target_iid: at.noteable_id });
        return { todo: marked["id"] };
      },
    }),
    todoMarkDone: mutation({
      about: "Mark one of the caller's todos as done.",
      input: oneTodo,
      payload,
      run: async ({ id }, { call }) => ({ todo: (await call(FINISH, { todo_id: id }))["id"] }),
    }),
    todoRestore: mutation({
      about: "Mark one of the caller's todos as pending.",
      input: oneTodo,
      payload,
      run: async ({ id }, { call }) => {
        await call(setStates, { ids: [id], state: "pending" });
        return { todo: id };
      },
    }),
    todoRestoreMany: mutation({
      about: "Mark at most 50 of the caller's todos as pending.",
      input: many,
      payload: payloadOfMany,
      run: async ({ ids }, { call }) => ({
        todos: (await call(setStates, { ids, state: "pending" }))["ids"],
      }),
    }),
    todoResolveMany: mutation({
      about: "Mark at most 50 of the caller's todos as done.",
      input: many,
      payload: payloadOfMany,
      run: async ({ ids }, context) => ({
        todos: (await finishTodos(ids, context))["ids"],
      }),
    }),
    todosMarkAllDone: mutation({
      about: "Mark the caller's pending todos as done; gives the newest hundred of them.",
      input: filters,
      payload: payloadOfMany,
      run: async (input, { call }) => {
        const { actions, authorIds, groupIds, projectIds, types } = filterOf(input);
        const done = await call(finishAll, {
          actions,
          author_ids: authorIds,
          group_ids: groupIds,
          project_ids: projectIds,
          types: types?.map(({ className }) => className),
        });
        return { todos: done["ids"] };
      },
    }),
  },
};
