import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
const ids = { first: "", second: "", mergeRequest: "" };
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
  const create = async (type: string, path: string, json: object) =>
    `gid://gitlab/${type}/${(await app.call(`POST ${SITE}/${path}`, { as: "owner", json })).json.id}`;
  ids.first = await create("Issue", "issues", { title: "First" });
  ids.second = await create("Issue", "issues", { title: "Second" });
  const branches = { source_branch: "a", target_branch: "b" };
  ids.mergeRequest = await create("MergeRequest", "merge_requests", {
    title: "Merge",
    ...branches,
  });
});
afterAll(() => app.dispose());

type As = "owner" | "developer" | "guest" | "stranger" | "anonymous";

const CREATE = `mutation ($id: TodoableID!) { todoCreate(input: {targetId: $id}) { errors todo {
  id state action targetType body targetUrl author { username } project { fullPath } group { id }
  note { id } target { name } targetEntity { __typename name webUrl ... on Issue { iid } } } } }`;

const create = async (id: string, as: As = "developer") =>
  (await ask(app, CREATE, { id }, as)).todoCreate.todo;

/** The bodies of the caller's todos that arguments select. */
async function bodies(args = "", as: As = "developer") {
  const { data, errors } = await send(
    app,
    as,
    `{ currentUser { todos${args} { nodes { body state } } } }`,
  );
  if (errors) return errors[0].message;
  return data.currentUser.todos.nodes.map(({ body }: { body: string }) => body);
}

/** Performs a mutation of todos, and gives its payload or its error. */
async function change(name: string, input: object, as: As = "developer") {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const thing = /Many|All/.test(name) ? "todos" : "todo";
  const { data, errors } = await send(
    app,
    as,
    `mutation ($input: ${type}!) { ${name}(input: $input) { errors ${thing} { id state } } }`,
    { input },
  );
  return errors?.[0].message ?? data[name];
}

describe("todos", () => {
  it("are created once, and shown as in REST", async () => {
    const todo = await create(ids.first);
    const { json } = await app.call("GET /todos", { as: "developer" });
    expect(todo).toEqual({
      id: `gid://gitlab/Todo/${json[0].id}`,
      state: "pending",
      action: "marked",
      targetType: "ISSUE",
      body: "First",
      targetUrl: json[0].target_url,
      author: { username: "developer" },
      project: { fullPath: "acme/site" },
      group: null,
      note: null,
      target: { name: "First" },
      targetEntity: {
        __typename: "Issue",
        name: "First",
        webUrl: json[0].target.web_url,
        iid: "1",
      },
    });
    expect(await create(ids.first)).toBeNull();
    const { todoCreate } = await ask(app, CREATE, { id: ids.mergeRequest }, "developer");
    expect(todoCreate.todo.targetEntity).toMatchObject({ __typename: "MergeRequest" });
    const { errors } = await send(app, "owner", CREATE, { id: "gid://gitlab/Issue/9999" });
    expect(errors?.[0].message).toBe(NOT_AVAILABLE);
  });

  it("are done and restored by their owner only", async () => {
    const { id } = await create(ids.second);
    expect(await change("todoMarkDone", { id }, "owner")).toBe(NOT_AVAILABLE);
    expect(await change("todoMarkDone", { id })).toEqual({
      errors: [],
      todo: { id, state: "done" },
    });
    expect(await change("todoRestore", { id }, "owner")).toBe(NOT_AVAILABLE);
    expect(await change("todoRestore", { id })).toEqual({
      errors: [],
      todo: { id, state: "pending" },
    });
    const query = "query ($id: TodoID!) { todo(id: $id) { id state } }";
    expect((await ask(app, query, { id }, "developer")).todo).toEqual({ id, state: "pending" });
    expect((await ask(app, query, { id }, "owner")).todo).toBeNull();
  });

  it("are filtered and sorted", async () => {
    expect(await bodies()).toEqual(["Second", "Merge", "First"]);
    expect(await bodies("(sort: CREATED_ASC, first: 2)")).toEqual(["First", "Merge"]);
    expect(await bodies("(type: [MERGEREQUEST])")).toEqual(["Merge"]);
    expect(await bodies("(type: [MERGEREQUEST, ISSUE], first: 1)")).toEqual(["Second"]);
    expect(await bodies("(type: [])")).toEqual([]);
    expect(await bodies("(state: [done])")).toEqual([]);
    expect(await bodies("(state: [done, pending], action: [marked], first: 1)")).toEqual([
      "Second",
    ]);
    expect(await bodies("(action: [assigned])")).toEqual([]);
    const { project, group, currentUser } = await ask(
      app,
      '{ project(fullPath: "acme/site") { id } group(fullPath: "acme") { id } currentUser { id } }',
      {},
      "developer",
    );
    const all = ["Second", "Merge", "First"];
    expect(await bodies(`(projectId: ["${project.id}", "0"])`)).toEqual(all);
    expect(await bodies(`(groupId: ["${group.id}"])`)).toEqual(all);
    expect(await bodies(`(authorId: ["${currentUser.id}"])`)).toEqual(all);
    expect(await bodies('(authorId: ["999"])')).toEqual([]);
    expect(await bodies(`(authorId: ["${project.id}"])`)).toContain(
      "does not represent an instance of User",
    );
  });

  it("are the caller's own, wherever they are asked", async () => {
    const query = `{ users(usernames: ["developer"]) { nodes { todos { count nodes { body } } } }
      project(fullPath: "acme/site") { issue(iid: "1") { currentUserTodos { nodes { body state } } } } }`;
    const asked = async (as: As) => {
      const { users, project } = await ask(app, query, {}, as);
      return [users.nodes[0].todos, project.issue.currentUserTodos.nodes];
    };
    expect(await asked("owner")).toEqual([{ count: 0, nodes: [] }, []]);
    const [todos, onIssue] = await asked("developer");
    expect(todos.count).toBe(3);
    expect(onIssue).toEqual([{ body: "First", state: "pending" }]);
  });

  it("are changed together, all or none", async () => {
    const { data } = await send(app, "developer", "{ currentUser { todos { nodes { id } } } }");
    const all: string[] = data.currentUser.todos.nodes.map(({ id }: { id: string }) => id);
    const [one] = all as [string];
    const other = (await create(ids.first, "owner")).id;
    expect(await change("todoResolveMany", { ids: [one, other] })).toBe(NOT_AVAILABLE);
    expect(await bodies("(state: [done])")).toEqual([]);
    const states = ({ todos }: { todos: { state: string }[] }) => todos.map(({ state }) => state);
    expect(states(await change("todoResolveMany", { ids: [...all, one] }))).toEqual([
      "done",
      "done",
      "done",
    ]);
    expect(await bodies()).toEqual([]);
    expect(states(await change("todoRestoreMany", { ids: [one] }))).toEqual(["pending"]);
    expect(await bodies()).toEqual(["Second"]);
    const many = Array.from({ length: 51 }, () => one);
    expect(await change("todoRestoreMany", { ids: many })).toEqual({
      todos: [],
      errors: [expect.stringContaining("too many")],
    });
    expect(await change("todoRestoreMany", { ids: all })).toMatchObject({ errors: [] });
  });

  it("are all done at once, if a filter selects them", async () => {
    expect((await change("todosMarkAllDone", { type: ["MERGEREQUEST"] })).todos).toHaveLength(1);
    expect(await bodies()).toEqual(["Second", "First"]);
    expect((await change("todosMarkAllDone", { groupId: ["0"] })).todos).toEqual([]);
    const done = await change("todosMarkAllDone", {});
    expect(done.todos.map(({ state }: { state: string }) => state)).toEqual(["done", "done"]);
    expect(await bodies()).toEqual([]);
    expect(await bodies("", "owner")).toEqual(["First"]);
  });

  it("end with what their owner may not read any more", async () => {
    const json = { title: "Secret", confidential: true };
    const { json: issue } = await app.call(`POST ${SITE}/issues`, { as: "owner", json });
    const { errors } = await send(app, "guest", CREATE, { id: `gid://gitlab/Issue/${issue.id}` });
    expect(errors?.[0].message).toBe(NOT_AVAILABLE);
    const { id } = await create(ids.second, "guest");
    const path = `PUT ${SITE}/issues/2`;
    await app.call(path, { as: "owner", json: { confidential: true } });
    expect(await bodies("", "guest")).toEqual([]);
    for (const name of ["todoMarkDone", "todoRestore"]) {
      expect(await change(name, { id }, "guest")).toBe(NOT_AVAILABLE);
    }
    await app.call(path, { as: "owner", json: { confidential: false } });
    expect(await bodies("", "guest")).toEqual(["Second"]);
  });
});
