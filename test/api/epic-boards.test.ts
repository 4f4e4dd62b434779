// Boards of groups' epics: clients make them over GraphQL, and read them over REST, too.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, NOT_AVAILABLE, send } from "../graphql/ask.ts";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";

const BOARDS = "/groups/acme/epic_boards";
let app: TestApp;
let group: { id: number };
const labels: Record<string, number> = {};

beforeAll(async () => {
  app = await testApp();
  group = (await app.call("GET /groups/acme", { as: "owner" })).json;
  for (const { name, id } of (await app.call("GET /groups/acme/labels", { as: "owner" })).json) {
    labels[name] = id;
  }
});
afterAll(() => app.dispose());

const get = async (path: string, as: Person = "guest") => {
  const { status, json } = await app.call(`GET ${path}`, { as });
  return status === 200 ? json : status;
};
/** Performs a mutation, and returns its payload. */
const mutate = async (name: string, input: string, fields: string, as: Person = "reporter") => {
  const { data, errors } = await send(
    app,
    as,
    `mutation { ${name}(input: { ${input} }) { ${fields} errors } }`,
  );
  return errors?.[0].message ?? data[name];
};
const boardGid = (id: number) => `gid://gitlab/Boards::EpicBoard/${id}`;
const listGid = (id: number) => `gid://gitlab/Boards::EpicList/${id}`;
const idIn = (gid: string) => Number(gid.split("/").at(-1));
const create = async (name: string, more = "") => {
  const input = `groupPath: "acme", name: "${name}"${more}`;
  const made = await mutate("epicBoardCreate", input, "epicBoard { id }");
  return idIn(made.epicBoard.id);
};
const addList = async (board: number, label: string) => {
  const input = `boardId: "${boardGid(board)}", labelId: "gid://gitlab/GroupLabel/${labels[label]}"`;
  const made = await mutate("epicBoardListCreate", input, "list { id }");
  return idIn(made.list.id);
};

describe("epic boards", () => {
  it("are none at first", async () => {
    expect(await get(BOARDS)).toEqual([]);
    expect(await get(`${BOARDS}/1`)).toBe(404);
  });

  it("are shown with their labels and the lists of labels", async () => {
    const id = await create("Road map", `, hideBacklogList: true, labels: ["UX"]`);
    const first = await addList(id, "Development");
    const second = await addList(id, "Testing");
    const lists = [
      {
        id: first,
        label: {
          ...{ id: labels["Development"], name: "Development" },
          ...{ color: "#0000ff", description: "Being built" },
        },
        position: 0,
        list_type: "label",
      },
      {
        id: second,
        label: { id: labels["Testing"], name: "Testing", color: "#00ff00", description: null },
        position: 1,
        list_type: "label",
      },
    ];
    const board = {
      id,
      name: "Road map",
      hide_backlog_list: true,
      hide_closed_list: false,
      group: { id: group.id, name: "Acme", web_url: "http://pm.test/groups/acme" },
      labels: [
        {
          ...{ id: labels["UX"], title: "UX", color: "#ff0000", description: null },
          ...{ group_id: group.id, project_id: null, template: false, text_color: "#FFFFFF" },
        },
      ],
      lists,
    };
    expect(await get(BOARDS)).toEqual([board]);
    expect(await get(`${BOARDS}/${id}`)).toEqual(board);
    expect(await get(`${BOARDS}/${id}/lists`)).toEqual(lists);
    expect(await get(`${BOARDS}/${id}/lists/${second}`)).toEqual(lists[1]);
    expect(await get(`${BOARDS}/${id}/lists/${second + 100}`)).toBe(404);
    expect(await get(`${BOARDS}/x`)).toBe(400);
  });

  it("are no boards of issues, nor of other groups", async () => {
    const [{ id }] = await get(BOARDS);
    expect((await get("/groups/acme/boards")).map(({ name }: { name: string }) => name)).toEqual([
      "Board",
    ]);
    expect(await get(`/groups/acme/boards/${id}`)).toBe(404);
    expect(await get("/groups/acme%2Fteam/epic_boards")).toEqual([]);
    expect(await get(`/groups/secret/epic_boards/${id}`)).toBe(404);
    const [issues] = await get("/groups/acme/boards");
    expect(await get(`${BOARDS}/${issues.id}`)).toBe(404);
    const query = `{ group(fullPath: "acme") { boards { nodes { name } } board(id: "gid://gitlab/Board/${id}") { name } } }`;
    const data = await ask(app, query);
    expect(data.group).toEqual({ boards: { nodes: [{ name: "Board" }] }, board: null });
    const input = `id: "gid://gitlab/Board/${id}", name: "Taken"`;
    expect(await mutate("updateBoard", input, "board { id }", "owner")).toBe(NOT_AVAILABLE);
  });

  it("are changed, and their lists moved, collapsed and removed", async () => {
    const id = await create("Changing");
    const lists = [await addList(id, "Development"), await addList(id, "Testing")];
    const changed = await mutate(
      "epicBoardUpdate",
      `id: "${boardGid(id)}", name: "Changed", hideClosedList: true, labelIds: ["gid://gitlab/GroupLabel/${labels["Testing"]}"]`,
      "epicBoard { name hideBacklogList hideClosedList webPath labels { nodes { title } } lists { nodes { title listType } } }",
    );
    expect(changed).toEqual({
      epicBoard: {
        ...{ name: "Changed", hideBacklogList: false, hideClosedList: true },
        webPath: `/groups/acme/-/epic_boards/${id}`,
        labels: { nodes: [{ title: "Testing" }] },
        lists: {
          nodes: [
            { title: "Open", listType: "backlog" },
            { title: "Development", listType: "label" },
            { title: "Testing", listType: "label" },
          ],
        },
      },
      errors: [],
    });
    const shown = await get(`${BOARDS}/${id}`);
    expect([shown.name, shown.hide_closed_list]).toEqual(["Changed", true]);
    const list = listGid(lists[0] as number);
    const input = `listId: "${list}", position: 1, collapsed: true`;
    expect(await mutate("updateEpicBoardList", input, "list { position collapsed }")).toEqual({
      list: { position: 1, collapsed: true },
      errors: [],
    });
    const ids = async () =>
      (await get(`${BOARDS}/${id}/lists`)).map((one: { id: number }) => one.id);
    expect(await ids()).toEqual([lists[1], lists[0]]);
    const found = await ask(app, `{ epicBoardList(id: "${list}") { title collapsed } }`);
    expect(found.epicBoardList).toEqual({ title: "Development", collapsed: false });
    await mutate("epicBoardListDestroy", `listId: "${list}"`, "list { id }");
    expect(await ids()).toEqual([lists[1]]);
    expect(
      (await mutate("destroyEpicBoard", `id: "${boardGid(id)}"`, "epicBoard { id }")).errors,
    ).toEqual([]);
    expect(await get(`${BOARDS}/${id}`)).toBe(404);
  });

  it("refuse what does not fit", async () => {
    const id = await create("Refusing");
    await addList(id, "Testing");
    const at = `boardId: "${boardGid(id)}"`;
    const label = `labelId: "gid://gitlab/GroupLabel/${labels["Testing"]}"`;
    const add = (input: string) => mutate("epicBoardListCreate", `${at}${input}`, "list { id }");
    const one = "one and only one of backlog or labelId is required";
    expect(await add("")).toBe(one);
    expect(await add(`, backlog: true, ${label}`)).toBe(one);
    expect((await add(`, ${label}`)).errors).toEqual(["Label has already been taken"]);
    expect((await add(`, labelId: "gid://gitlab/GroupLabel/99999"`)).errors).toEqual([
      "Label not found!",
    ]);
    const backlog = (await add(", backlog: true")).list.id;
    const remove = await mutate("epicBoardListDestroy", `listId: "${backlog}"`, "list { id }");
    expect(remove.errors).toEqual(["List could not be deleted!"]);
    const wrong = `id: "gid://gitlab/Board/${id}"`;
    expect(await mutate("destroyEpicBoard", wrong, "epicBoard { id }")).toContain(
      "does not represent an instance of BoardsEpicBoard",
    );
  });

  it("are changed by reporters, and read by whoever sees the group", async () => {
    const id = await create("Of reporters");
    const input = `id: "${boardGid(id)}", name: "No"`;
    for (const as of ["guest", "stranger"] as const) {
      expect(await mutate("epicBoardUpdate", input, "epicBoard { id }", as)).toBe(NOT_AVAILABLE);
      expect((await get(`${BOARDS}/${id}`, as)).name).toBe("Of reporters");
    }
    expect(await get(BOARDS, "anonymous")).toBe(401);
    expect(await get("/groups/secret/epic_boards", "stranger")).toBe(404);
    const secret = `{ group(fullPath: "secret") { epicBoards { nodes { name } } } }`;
    const made = `groupPath: "secret", name: "Hidden"`;
    const { epicBoard } = await mutate("epicBoardCreate", made, "epicBoard { id }");
    expect((await ask(app, secret)).group.epicBoards.nodes).toEqual([{ name: "Hidden" }]);
    const list = await get("/groups/secret/epic_boards", "owner");
    expect(list.map(({ id: one }: { id: number }) => boardGid(one))).toEqual([epicBoard.id]);
    const hidden = `id: "${epicBoard.id}", name: "No"`;
    expect(await mutate("epicBoardUpdate", hidden, "epicBoard { id }", "stranger")).toBe(
      NOT_AVAILABLE,
    );
  });
});

it("are named Development by default, and can be seeded", async () => {
  const made = await mutate("epicBoardCreate", `groupPath: "acme/team"`, "epicBoard { name }");
  expect(made.epicBoard.name).toBe("Development");
  const groups = baseSeed.groups?.map((one) => ({
    ...one,
    ...(one.path === "acme" && { epic_boards: [{ name: "Seeded", lists: ["UX"] }] }),
  }));
  const seeded = await testApp({ seed: { ...baseSeed, groups } });
  const { json } = await seeded.call(`GET ${BOARDS}`, { as: "guest" });
  const [{ name, lists }] = json;
  expect([name, lists.map((one: { label: { name: string } }) => one.label.name)]).toEqual([
    "Seeded",
    ["UX"],
  ]);
  await seeded.dispose();
});

it("need the tier premium", async () => {
  const free = await testApp({ tier: "free" });
  expect((await free.call(`GET ${BOARDS}`, { as: "owner" })).status).toBe(403);
  await free.dispose();
});
