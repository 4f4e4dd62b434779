import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, clock, everyone, type Person, type TestApp, testApp } from "../helpers.ts";

// Numbers in test names are case ids.

let app: TestApp;
/** Ids of seeded records: labels, milestones, users, groups and projects by name. */
let ids: Record<string, number>;

beforeAll(async () => {
  app = await testApp({
    seed: {
      ...baseSeed,
      groups: [
        ...(baseSeed.groups ?? []),
        {
          path: "elsewhere",
          visibility: "public",
          members: { owner: "owner" },
          labels: [{ name: "Foreign" }],
          milestones: [{ title: "foreign" }],
          boards: [{ name: "Foreign board", lists: ["Foreign"] }],
        },
        { path: "inside", visibility: "internal", boards: [{ name: "Internal" }] },
      ],
    },
  });
  ids = {};
  const named = async (path: string, key: "name" | "title" | "username" | "full_path") => {
    const { json } = await app.call(`GET ${path}`, { as: "admin" });
    for (const one of json) ids[one[key]] = one.id;
  };
  await named("/groups?per_page=100", "full_path");
  await named("/users?per_page=100", "username");
  await app.call("POST /projects/acme%2Fsite/labels", {
    as: "admin",
    json: { name: "Of the project", color: "#123456" },
  });
  await app.call("POST /groups/acme%2Fteam/labels", {
    as: "admin",
    json: { name: "Of the subgroup", color: "#123456" },
  });
  for (const group of ["acme", "elsewhere", "secret", "acme%2Fteam"]) {
    await named(`/groups/${group}/labels`, "name");
    await named(`/groups/${group}/milestones`, "title");
  }
  await named("/projects/acme%2Fsite/labels", "name");
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "owner", ...options });

/** Creates a board in a group, with a list for each label; returns the board's path and the ids. */
async function newBoard(group = "acme", labels = ["Development", "Testing"]) {
  const board = await app.call(`POST /groups/${group}/boards`, {
    as: "admin",
    json: { name: "A board" },
  });
  expect(board.status).toBe(201);
  const lists: number[] = [];
  for (const label of labels) {
    const list = await app.call(`POST /groups/${group}/boards/${board.json.id}/lists`, {
      as: "admin",
      json: { label_id: ids[label] },
    });
    expect(list.status).toBe(201);
    lists.push(list.json.id);
  }
  const at = `/groups/${group}/boards/${board.json.id}`;
  return { id: board.json.id as number, lists, at };
}

const namesOf = (lists: { label: { name: string } }[]) => lists.map(({ label }) => label.name);
const listNames = async (at: string) => namesOf((await call(`GET ${at}/lists`)).json);

const PAGE_HEADERS = [
  "x-total",
  "x-total-pages",
  "x-per-page",
  "x-page",
  "x-next-page",
  "x-prev-page",
  "link",
];

const UNMODIFIED_1990 = { "if-unmodified-since": "Fri, 12 Jan 1990 06:00:48 GMT" };

describe("who may do what", () => {
  // In a public group                            anonymous stranger guest reporter developer maintainer owner admin
  const routes: [string, Record<string, unknown> | undefined, number[]][] = [
    ["GET /boards", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /boards/:board", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["POST /boards", { name: "x" }, [401, 403, 403, 201, 201, 201, 201, 201]],
    ["PUT /boards/:board", { name: "x" }, [401, 403, 403, 200, 200, 200, 200, 200]],
    ["DELETE /boards/:board", undefined, [401, 403, 403, 204, 204, 204, 204, 204]],
    ["GET /boards/:board/lists", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["GET /boards/:board/lists/:list", undefined, [401, 200, 200, 200, 200, 200, 200, 200]],
    ["POST /boards/:board/lists", { label_id: 0 }, [401, 403, 403, 201, 201, 201, 201, 201]],
    ["PUT /boards/:board/lists/:list", { position: 1 }, [401, 403, 403, 200, 200, 200, 200, 200]],
    ["DELETE /boards/:board/lists/:list", undefined, [401, 403, 403, 403, 403, 403, 204, 204]],
  ];
  const private_ = (statuses: number[]) => statuses.with(1, 404);

  const ask = async (group: string, route: string, json: object | undefined, as: Person) => {
    const labels = group === "acme" ? ["Development", "Testing"] : ["Hidden"];
    const board = await newBoard(group, route.startsWith("POST /boards/:board") ? [] : labels);
    const request = route
      .replace(" ", ` /groups/${group}`)
      .replace(":board", String(board.id))
      .replace(":list", String(board.lists[0]));
    const sent =
      json && "label_id" in json ? { label_id: ids[group === "acme" ? "UX" : "Hidden"] } : json;
    const position = group === "secret" && json && "position" in json;
    if (position) {
      const label = await app.call("POST /groups/secret/labels", {
        as: "admin",
        json: { name: `Label ${board.id}`, color: "#000000" },
      });
      await app.call(`POST ${board.at}/lists`, { as: "admin", json: { label_id: label.json.id } });
    }
    return app.call(request, { as, ...(sent && { json: sent }) });
  };

  it.each(routes)("%s %j in a public group", async (route, json, expected) => {
    const answers: [Person, number][] = [];
    for (const as of everyone) answers.push([as, (await ask("acme", route, json, as)).status]);
    expect(answers).toEqual(everyone.map((as, index) => [as, expected[index]]));
  });

  it.each(routes)("%s %j in a private group", async (route, json, expected) => {
    const answers: [Person, number][] = [];
    for (const as of everyone) answers.push([as, (await ask("secret", route, json, as)).status]);
    expect(answers).toEqual(everyone.map((as, index) => [as, private_(expected)[index]]));
  });

  it("001: 401 says so, even on a public group", async () => {
    const { status, json, headers } = await app.call("GET /groups/acme/boards");
    expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
    expect(headers.get("www-authenticate")).toBe("Bearer");
  });

  it.each([
    ["PUT /groups/acme/boards/:board", { name: "x" }, "guest"], // 020
    ["POST /groups/acme/boards/:board/lists", { label_id: "UX" }, "guest"], // 037
    ["PUT /groups/acme/boards/:board/lists/:list", { position: 1 }, "guest"], // 044
    ["DELETE /groups/acme/boards/:board/lists/:list", undefined, "stranger"], // 046
    ["DELETE /groups/acme/boards/:board/lists/:list", undefined, "guest"], // 047
    ["DELETE /groups/acme/boards/:board/lists/:list", undefined, "maintainer"], // 052
  ] as const)("%s by a %s is 403 Forbidden", async (route, json, as) => {
    const board = await newBoard();
    const sent = json && "label_id" in json ? { label_id: ids[json.label_id] } : json;
    const answer = await app.call(
      route.replace(":board", String(board.id)).replace(":list", String(board.lists[0])),
      { as, ...(sent && { json: sent }) },
    );
    expect([answer.status, answer.json]).toEqual([403, { message: "403 Forbidden" }]);
    expect(await listNames(board.at)).toEqual(["Development", "Testing"]);
  });

  it("004: a private group is 404 for a stranger", async () => {
    const { status, json } = await call("GET /groups/secret/boards", { as: "stranger" });
    expect([status, json]).toEqual([404, { message: "404 Group Not Found" }]);
  });

  it("an internal group can be read by every user, and changed by its members only", async () => {
    const { json } = await call("GET /groups/inside/boards", { as: "stranger" });
    expect(json.map(({ name }: { name: string }) => name)).toEqual(["Internal"]);
    const changed = await call("POST /groups/inside/boards", {
      as: "stranger",
      json: { name: "x" },
    });
    expect(changed.status).toBe(403);
  });

  it("a role in a group reaches into its subgroups, not into those above", async () => {
    const board = await newBoard("acme%2Fteam");
    const ownerDeletes = await call(`DELETE ${board.at}/lists/${board.lists[0]}`);
    expect(ownerDeletes.status).toBe(204);

    const added = await call("POST /groups/acme%2Fteam/members", {
      json: { user_id: ids["stranger"], access_level: 50 },
    });
    expect(added.status).toBe(201);
    const inTeam = await call(`POST ${board.at}/lists`, {
      as: "stranger",
      json: { label_id: ids["UX"] },
    });
    expect(inTeam.status).toBe(201);
    const above = await call("POST /groups/acme/boards", { as: "stranger", json: { name: "x" } });
    expect(above.status).toBe(403);
    await call(`DELETE /groups/acme%2Fteam/members/${ids["stranger"]}`);
  });
});

describe("the group in a path", () => {
  it("an id, a path in any case, a subgroup's path with an encoded slash", async () => {
    const byPath = await call("GET /groups/acme/boards");
    for (const id of [ids["acme"], "ACME"]) {
      const answer = await call(`GET /groups/${id}/boards`);
      expect([answer.status, answer.text]).toEqual([200, byPath.text]);
    }
    expect((await call("GET /groups/acme%2Fteam/boards")).status).toBe(200);
  });

  it.each(["nothing", "4711", "99999999999999999999", "acme%2Fsite", "owner", "acme%2F", "%20"])(
    "is 404 where there is no group %j",
    async (id) => {
      const { status, json } = await call(`GET /groups/${id}/boards`);
      expect([status, json]).toEqual([404, { message: "404 Group Not Found" }]);
    },
  );

  it("400 comes before 404: parameters are validated first", async () => {
    const { status, json } = await call("POST /groups/nothing/boards", { json: {} });
    expect([status, json]).toEqual([400, { message: '400 (Bad request) "name" not given' }]);
  });
});

describe("GET /groups/:id/boards", () => {
  it("002: lists only the boards with their lists", async () => {
    const { status, json, headers } = await call("GET /groups/elsewhere/boards");
    expect(status).toBe(200);
    expect(json).toEqual([
      {
        id: expect.any(Number),
        name: "Foreign board",
        project: null,
        group: {
          id: ids["elsewhere"],
          name: "elsewhere",
          web_url: "http://pm.test/groups/elsewhere",
        },
        lists: [
          {
            id: expect.any(Number),
            label: { name: "Foreign", color: "#428BCA", description: null },
            position: 0,
          },
        ],
      },
    ]);
    for (const name of PAGE_HEADERS) expect(headers.get(name), name).not.toBeNull();
  });

  it("005: is empty in a new group", async () => {
    const made = await call("POST /groups", { json: { name: "New", path: "new" } });
    const { status, json, headers } = await call(`GET /groups/${made.json.id}/boards`);
    expect([status, json]).toEqual([200, []]);
    expect([headers.get("x-total"), headers.get("x-total-pages")]).toEqual(["0", "1"]);
  });

  it("has its boards by id, each with its own lists by position, in pages", async () => {
    const made = await call("POST /groups", { json: { name: "Many", path: "many" } });
    const group = made.json.id;
    const labels: number[] = [];
    for (const name of ["one", "two", "three"]) {
      const label = await call(`POST /groups/${group}/labels`, { json: { name, color: "#000" } });
      labels.push(label.json.id);
    }
    const boards: number[] = [];
    for (const [index, name] of ["c", "a", "b"].entries()) {
      const { json } = await call(`POST /groups/${group}/boards`, { json: { name } });
      boards.push(json.id);
      for (const label_id of labels.slice(index)) {
        await call(`POST /groups/${group}/boards/${json.id}/lists`, { json: { label_id } });
      }
    }
    type Board = { id: number; lists: { label: { name: string } }[] };
    const view = (found: Board[]) => found.map(({ id, lists }) => [id, namesOf(lists)]);
    const all = await call(`GET /groups/${group}/boards`);
    expect(view(all.json)).toEqual([
      [boards[0], ["one", "two", "three"]],
      [boards[1], ["two", "three"]],
      [boards[2], ["three"]],
    ]);
    const page = await call(`GET /groups/${group}/boards?per_page=1&page=2`);
    expect(view(page.json)).toEqual([[boards[1], ["two", "three"]]]);
    expect([page.headers.get("x-total"), page.headers.get("x-next-page")]).toEqual(["3", "3"]);
  });

  it("shows only id and title of a milestone, and no other part of the scope", async () => {
    const board = await newBoard("acme", []);
    await call(`PUT ${board.at}`, {
      json: { milestone_id: ids["v1"], assignee_id: ids["guest"], labels: "UX", weight: 3 },
    });
    const { json } = await call("GET /groups/acme/boards?per_page=100");
    const expected = {
      id: board.id,
      name: "A board",
      project: null,
      group: { id: ids["acme"], name: "Acme", web_url: "http://pm.test/groups/acme" },
      milestone: { id: ids["v1"], title: "v1" },
      lists: [],
    };
    expect(json.find(({ id }: { id: number }) => id === board.id)).toEqual(expected);
    expect((await call(`GET ${board.at}`)).json).toEqual(expected);
  });
});

describe("GET /groups/:id/boards/:board_id", () => {
  it("returns one board with its lists", async () => {
    const board = await newBoard();
    const { status, json } = await call(`GET ${board.at}`);
    expect(status).toBe(200);
    expect(json).toEqual({
      id: board.id,
      name: "A board",
      project: null,
      group: { id: ids["acme"], name: "Acme", web_url: "http://pm.test/groups/acme" },
      lists: [
        {
          id: board.lists[0],
          label: { name: "Development", color: "#0000ff", description: "Being built" },
          position: 0,
        },
        {
          id: board.lists[1],
          label: { name: "Testing", color: "#00ff00", description: null },
          position: 1,
        },
      ],
    });
  });

  it.each(["22343", "abc", "0", "-1", "1.5", "99999999999999999999", "1e3", "%201"])(
    "007: is 404 for the board %s",
    async (id) => {
      const { status, json } = await call(`GET /groups/acme/boards/${id}`);
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    },
  );

  it("008: is 404 for a board of another group", async () => {
    const other = await newBoard("elsewhere", []);
    const inTeam = await newBoard("acme%2Fteam", []);
    for (const { id } of [other, inTeam]) {
      const { status, json } = await call(`GET /groups/acme/boards/${id}`);
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
  });
});

describe("POST /groups/:id/boards", () => {
  it("creates an empty board", async () => {
    const { status, json } = await call("POST /groups/acme/boards", { form: { name: "Neu & 新" } });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.any(Number),
      name: "Neu & 新",
      project: null,
      group: { id: ids["acme"], name: "Acme", web_url: "http://pm.test/groups/acme" },
      lists: [],
    });
    expect((await call(`GET /groups/acme/boards/${json.id}`)).json).toEqual(json);
  });

  it.each([
    [{}, '400 (Bad request) "name" not given'], // 010
    [{ name: "" }, { name: ["can't be blank"] }],
    [{ name: "  " }, { name: ["can't be blank"] }],
    [{ name: null }, { name: ["is invalid"] }],
    [{ name: ["a"] }, { name: ["is invalid"] }],
    [{ name: { a: "b" } }, { name: ["is invalid"] }],
    [{ name: "\0" }, { name: ["is invalid"] }],
    [{ name: "x".repeat(256) }, { name: ["is too long (maximum is 255 characters)"] }],
  ])("refuses %j", async (json, message) => {
    const before = (await call("GET /groups/acme/boards")).headers.get("x-total");
    const answer = await call("POST /groups/acme/boards", { json });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ message });
    expect((await call("GET /groups/acme/boards")).headers.get("x-total")).toBe(before);
  });

  it("allows 255 characters, whatever their length in bytes, and digits as a name", async () => {
    for (const name of ["x".repeat(255), "😀".repeat(255)]) {
      const { status, json } = await call("POST /groups/acme/boards", { json: { name } });
      expect([status, json.name]).toEqual([201, name]);
    }
    const { json } = await call("POST /groups/acme/boards", { json: { name: 42 } });
    expect(json.name).toBe("42");
  });
});

describe("PUT /groups/:id/boards/:board_id", () => {
  const unscoped = { milestone: null, assignee: null, labels: [], weight: null, lists: [] };

  it("changes the name alone, and shows an empty scope", async () => {
    const board = await newBoard();
    const { status, json } = await call(`PUT ${board.at}`, { form: { name: "new name" } });
    expect(status).toBe(200);
    expect(json).toEqual({
      id: board.id,
      name: "new name",
      project: null,
      group: { id: ids["acme"], name: "Acme", web_url: "http://pm.test/groups/acme" },
      ...unscoped,
    });
    expect((await call(`GET ${board.at}`)).json.name).toBe("new name");
    expect(await listNames(board.at)).toEqual(["Development", "Testing"]);
  });

  it("013: changes name, weight and labels, creating missing labels", async () => {
    const board = await newBoard();
    const { status, json } = await call(`PUT ${board.at}`, {
      form: "name=new+name&weight=4&labels=foo,+bar, UX ,,foo",
    });
    expect(status).toBe(200);
    expect([json.name, json.weight]).toEqual(["new name", 4]);
    expect(json.labels).toEqual([
      { id: ids["UX"], name: "UX", color: "#ff0000", description: null },
      { id: expect.any(Number), name: "bar", color: "#428BCA", description: null },
      { id: expect.any(Number), name: "foo", color: "#428BCA", description: null },
    ]);
    const labels = await call("GET /groups/acme/labels?per_page=100");
    for (const name of ["foo", "bar"]) {
      expect(labels.json.map((label: { name: string }) => label.name)).toContain(name);
    }
  });

  it("accepts labels as a JSON array, and replaces previous ones", async () => {
    const board = await newBoard();
    await call(`PUT ${board.at}`, { json: { labels: ["UX", "Testing"] } });
    const { json } = await call(`PUT ${board.at}`, { json: { labels: ["Development"] } });
    expect(json.labels.map(({ name }: { name: string }) => name)).toEqual(["Development"]);
  });

  it("finds labels of the groups above instead of creating them again", async () => {
    const board = await newBoard("acme%2Fteam", []);
    const { json } = await call(`PUT ${board.at}`, { form: { labels: "Of the subgroup,UX" } });
    expect(json.labels.map(({ id }: { id: number }) => id)).toEqual([
      ids["Of the subgroup"],
      ids["UX"],
    ]);
  });

  const full = () => ({
    milestone_id: ids["v1"] as number,
    assignee_id: ids["guest"] as number,
    labels: "UX",
    weight: 3,
  });

  it("014: leaves unsent attributes alone", async () => {
    const board = await newBoard();
    const before = (await call(`PUT ${board.at}`, { json: full() })).json;
    for (const sent of [{ name: "new name" }, {}]) {
      const { status, json } = await call(`PUT ${board.at}`, { json: sent });
      expect([status, json]).toEqual([200, { ...before, name: "new name" }]);
    }
  });

  it("016: shows the whole milestone, and the assignee", async () => {
    const board = await newBoard();
    const { json } = await call(`PUT ${board.at}`, { json: full() });
    expect(json.milestone).toEqual({
      id: ids["v1"],
      iid: 1,
      group_id: ids["acme"],
      title: "v1",
      description: null,
      state: "active",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      due_date: "2026-12-24",
      start_date: null,
      web_url: "http://pm.test/groups/acme/-/milestones/1",
    });
    expect(json.assignee).toEqual({
      id: ids["guest"],
      name: "The guest",
      username: "guest",
      state: "active",
      avatar_url: expect.stringMatching(/^http:\/\/pm\.test\/-\/avatars\/g-\d+\.svg$/),
      web_url: "http://pm.test/guest",
    });
    expect([json.weight, json.lists]).toEqual([3, []]);
  });

  it.each([
    [{ milestone_id: null }, { milestone: null }],
    [{ milestone_id: "" }, { milestone: null }],
    [{ milestone_id: 0 }, { milestone: null }],
    [{ assignee_id: null }, { assignee: null }],
    [{ assignee_id: "" }, { assignee: null }],
    [{ assignee_id: 0 }, { assignee: null }],
    [{ assignee_id: 4711 }, { assignee: null }],
    [{ weight: null }, { weight: null }],
    [{ weight: "" }, { weight: null }],
    [{ labels: null }, { labels: [] }],
    [{ labels: "" }, { labels: [] }],
    [{ labels: [] }, { labels: [] }],
    [{ labels: " , " }, { labels: [] }],
  ])("%j clears", async (sent, cleared) => {
    const board = await newBoard();
    const before = (await call(`PUT ${board.at}`, { json: full() })).json;
    const { status, json } = await call(`PUT ${board.at}`, { json: sent });
    expect([status, json]).toEqual([200, { ...before, ...cleared }]);
  });

  it("017: keeps the milestone if the new one belongs to neither the group nor its ancestors", async () => {
    const board = await newBoard();
    await call(`PUT ${board.at}`, { json: { milestone_id: ids["v1"] } });
    const ofSubgroup = await call("POST /groups/acme%2Fteam/milestones", { json: { title: "t1" } });
    for (const milestone_id of [ids["foreign"], ofSubgroup.json.id, 4711]) {
      const { status, json } = await call(`PUT ${board.at}`, { json: { milestone_id } });
      expect([status, json.milestone.id]).toEqual([200, ids["v1"]]);
    }
    const below = await newBoard("acme%2Fteam", []);
    const { json } = await call(`PUT ${below.at}`, { json: { milestone_id: ids["v1"] } });
    expect(json.milestone.id).toBe(ids["v1"]);
  });

  it.each([0, 9, "5"])("accepts the weight %s", async (weight) => {
    const board = await newBoard();
    const { status, json } = await call(`PUT ${board.at}`, { json: { weight } });
    expect([status, json.weight]).toEqual([200, Number(weight)]);
  });

  it.each([
    [{ weight: "abc" }, { weight: ["is invalid"] }], // 019
    [{ weight: 1.5 }, { weight: ["is invalid"] }],
    [{ weight: true }, { weight: ["is invalid"] }],
    [{ weight: 10 }, { weight: ["must be between 0 and 9"] }],
    [{ weight: -1 }, { weight: ["must be between 0 and 9"] }],
    [{ assignee_id: "me" }, { assignee_id: ["is invalid"] }],
    [{ assignee_id: "9".repeat(20) }, { assignee_id: ["is invalid"] }],
    [{ milestone_id: [1] }, { milestone_id: ["is invalid"] }],
    [{ labels: { a: "b" } }, { labels: ["is invalid"] }],
    [{ labels: "x".repeat(256) }, { labels: ["is too long (maximum is 255 characters)"] }],
    [{ name: "" }, { name: ["can't be blank"] }],
    [
      { weight: 10, assignee_id: "x" },
      { assignee_id: ["is invalid"], weight: ["must be between 0 and 9"] },
    ],
  ])("refuses %j and changes nothing", async (sent, message) => {
    const board = await newBoard();
    const before = await call(`PUT ${board.at}`, { json: full() });
    const answer = await call(`PUT ${board.at}`, { json: { name: "changed", ...sent } });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
    expect((await call(`PUT ${board.at}`, { json: {} })).json).toEqual(before.json);
  });

  it("creates no labels if the change is refused", async () => {
    const board = await newBoard();
    const labels = `first ${board.id},${"x".repeat(256)}`;
    expect((await call(`PUT ${board.at}`, { form: { labels } })).status).toBe(400);
    const found = await call(`GET /groups/acme/labels?search=first+${board.id}`);
    expect(found.json).toEqual([]);
  });

  it("is 404 for an unknown board or one of another group", async () => {
    const other = await newBoard("elsewhere", []);
    for (const id of [22343, "abc", other.id]) {
      const { status, json } = await call(`PUT /groups/acme/boards/${id}`, { form: { name: "x" } });
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
    expect((await call(`GET ${other.at}`)).json.name).toBe("A board");
  });

  it("is unscoped when its milestone, assignee and labels are deleted", async () => {
    const group = (await call("POST /groups", { json: { name: "Scope", path: "scope" } })).json.id;
    const milestone = await call(`POST /groups/${group}/milestones`, { json: { title: "m" } });
    const user = await call("POST /users", {
      as: "admin",
      json: { name: "X", username: "gone", email: "gone@example.com", password: "long enough" },
    });
    const board = await newBoard(String(group), []);
    await call(`PUT ${board.at}`, {
      json: {
        milestone_id: milestone.json.id,
        assignee_id: user.json.id,
        labels: "gone",
        weight: 1,
      },
    });
    await call(`DELETE /groups/${group}/milestones/${milestone.json.id}`);
    await call(`DELETE /users/${user.json.id}`, { as: "admin" });
    await call(`DELETE /groups/${group}/labels/gone`);
    const { json } = await call(`PUT ${board.at}`, { json: {} });
    expect(json).toMatchObject({ ...unscoped, weight: 1 });
  });
});

describe("DELETE /groups/:id/boards/:board_id", () => {
  it("deletes the board with its lists, and no other", async () => {
    const [board, other] = [await newBoard(), await newBoard()];
    const answer = await call(`DELETE ${board.at}`);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    for (const path of [board.at, `${board.at}/lists`, `${board.at}/lists/${board.lists[0]}`]) {
      expect((await call(`GET ${path}`)).status).toBe(404);
    }
    expect(await listNames(other.at)).toEqual(["Development", "Testing"]);
    expect((await call(`DELETE ${board.at}`)).status).toBe(404);
  });

  it("may delete the last one", async () => {
    const group = (await call("POST /groups", { json: { name: "Last", path: "last" } })).json.id;
    const board = await newBoard(String(group), []);
    expect((await call(`DELETE ${board.at}`)).status).toBe(204);
    expect((await call(`GET /groups/${group}/boards`)).json).toEqual([]);
  });

  it("022: is 412 if the board was changed since", async () => {
    const board = await newBoard();
    const { status, json } = await call(`DELETE ${board.at}`, { headers: UNMODIFIED_1990 });
    expect([status, json]).toEqual([412, { message: "412 Precondition Failed" }]);
    expect((await call(`GET ${board.at}`)).status).toBe(200);
  });

  it("goes on if If-Unmodified-Since is now, or not a date", async () => {
    for (const since of [() => new Date(clock()).toUTCString(), () => "yesterday or so"]) {
      const board = await newBoard();
      const headers = { "if-unmodified-since": since() };
      expect((await call(`DELETE ${board.at}`, { headers })).status).toBe(204);
    }
  });

  it("is 404 for an unknown board or one of another group", async () => {
    const other = await newBoard("elsewhere", []);
    for (const id of [22343, "abc", other.id]) {
      const { status, json } = await call(`DELETE /groups/acme/boards/${id}`);
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
    expect((await call(`GET ${other.at}`)).status).toBe(200);
  });
});

describe("GET /groups/:id/boards/:board_id/lists", () => {
  it("025: returns the lists by position, paginated, without the open and closed ones", async () => {
    const board = await newBoard();
    const { status, json, headers } = await call(`GET ${board.at}/lists`);
    expect(status).toBe(200);
    expect(json).toEqual([
      {
        id: board.lists[0],
        label: { name: "Development", color: "#0000ff", description: "Being built" },
        position: 0,
      },
      {
        id: board.lists[1],
        label: { name: "Testing", color: "#00ff00", description: null },
        position: 1,
      },
    ]);
    for (const name of PAGE_HEADERS) expect(headers.get(name), name).not.toBeNull();
    const second = await call(`GET ${board.at}/lists?per_page=1&page=2`);
    expect(namesOf(second.json)).toEqual(["Testing"]);
  });

  it("is empty on an empty board", async () => {
    const board = await newBoard("acme", []);
    const { status, json, headers } = await call(`GET ${board.at}/lists`);
    expect([status, json, headers.get("x-total")]).toEqual([200, [], "0"]);
  });

  it("026: is 404 for an unknown board or one of another group", async () => {
    const other = await newBoard("elsewhere", []);
    for (const id of [22343, other.id]) {
      const { status, json } = await call(`GET /groups/acme/boards/${id}/lists`);
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
  });
});

describe("GET /groups/:id/boards/:board_id/lists/:list_id", () => {
  it("028: returns one list", async () => {
    const board = await newBoard();
    const { status, json } = await call(`GET ${board.at}/lists/${board.lists[1]}`);
    expect(status).toBe(200);
    expect(json).toEqual({
      id: board.lists[1],
      label: { name: "Testing", color: "#00ff00", description: null },
      position: 1,
    });
  });

  it("029: is 404 for an unknown list or one of another board or group", async () => {
    const [board, other] = [await newBoard(), await newBoard()];
    const foreign = await newBoard("elsewhere", ["Foreign"]);
    for (const path of [
      `${board.at}/lists/5324`,
      `${board.at}/lists/${other.lists[0]}`,
      `/groups/acme/boards/${foreign.id}/lists/${foreign.lists[0]}`,
      `/groups/acme/boards/22343/lists/${board.lists[0]}`,
    ]) {
      const { status, json } = await call(`GET ${path}`);
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
  });
});

describe("invalid ids", () => {
  it.each([
    ["GET /groups/acme/boards/abc/lists", { board_id: ["is invalid"] }],
    ["GET /groups/acme/boards/abc/lists/1", { board_id: ["is invalid"] }],
    ["GET /groups/acme/boards/1/lists/abc", { list_id: ["is invalid"] }],
    ["POST /groups/acme/boards/abc/lists?label_id=1", { board_id: ["is invalid"] }],
    ["PUT /groups/acme/boards/1/lists/abc?position=1", { list_id: ["is invalid"] }],
    ["DELETE /groups/acme/boards/1/lists/1.5", { list_id: ["is invalid"] }],
    [
      "DELETE /groups/acme/boards/abc/lists/def",
      { board_id: ["is invalid"], list_id: ["is invalid"] },
    ],
  ])("%s is 400", async (request, message) => {
    const { status, json } = await call(request);
    expect([status, json]).toEqual([400, { message }]);
  });
});

describe("POST /groups/:id/boards/:board_id/lists", () => {
  it("031: adds the first list at 0, the next after it", async () => {
    const board = await newBoard("acme", []);
    const first = await call(`POST ${board.at}/lists`, { form: { label_id: String(ids["UX"]) } });
    expect(first.status).toBe(201);
    expect(first.json).toEqual({
      id: expect.any(Number),
      label: { name: "UX", color: "#ff0000", description: null },
      position: 0,
    });
    const next = await call(`POST ${board.at}/lists`, { json: { label_id: ids["Testing"] } });
    expect(next.json.position).toBe(1);
    expect((await call(`GET ${board.at}/lists/${next.json.id}`)).json).toEqual(next.json);
  });

  it("034: accepts a label of a group above", async () => {
    const board = await newBoard("acme%2Fteam", []);
    for (const name of ["UX", "Of the subgroup"]) {
      const { status, json } = await call(`POST ${board.at}/lists`, {
        json: { label_id: ids[name] },
      });
      expect([status, json.label.name]).toEqual([201, name]);
    }
  });

  it.each(["nothing", "Of the project", "Of the subgroup", "Foreign"])(
    "032: refuses the label %s, which belongs to neither the group nor its ancestors",
    async (name) => {
      const board = await newBoard("acme", []);
      const label_id = ids[name] ?? 23423;
      for (const as of ["owner", "guest"] as const) {
        // 038: the label is looked up before the role is checked
        const { status, json } = await call(`POST ${board.at}/lists`, { as, json: { label_id } });
        expect([status, json]).toEqual([400, { message: { error: "Label not found!" } }]);
      }
      expect(await listNames(board.at)).toEqual([]);
    },
  );

  it("035: refuses a label that already has a list on the board", async () => {
    const board = await newBoard();
    const again = { json: { label_id: ids["Testing"] } };
    const { status, json } = await call(`POST ${board.at}/lists`, again);
    expect([status, json]).toEqual([400, { message: { label_id: ["has already been taken"] } }]);
    expect(await listNames(board.at)).toEqual(["Development", "Testing"]);
    const other = await newBoard("acme", []);
    expect((await call(`POST ${other.at}/lists`, again)).status).toBe(201);
  });

  it("adds a label once if asked several times concurrently", async () => {
    const board = await newBoard("acme", []);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        call(`POST ${board.at}/lists`, { json: { label_id: ids["UX"] } }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses[0]).toBe(201);
    for (const status of statuses.slice(1)) expect([400, 409]).toContain(status);
    expect(await listNames(board.at)).toEqual(["UX"]);
  });

  it.each([
    [{}, '400 (Bad request) "label_id" not given'],
    [{ label_id: "abc" }, { label_id: ["is invalid"] }],
    [{ label_id: "" }, { label_id: ["is invalid"] }],
    [{ label_id: null }, { label_id: ["is invalid"] }],
  ])("refuses %j", async (json, message) => {
    const board = await newBoard();
    const answer = await call(`POST ${board.at}/lists`, { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("is 404 for an unknown board or one of another group", async () => {
    const other = await newBoard("elsewhere", []);
    for (const id of [22343, other.id]) {
      const { status, json } = await call(`POST /groups/acme/boards/${id}/lists`, {
        json: { label_id: ids["UX"] },
      });
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
  });
});

describe("PUT /groups/:id/boards/:board_id/lists/:list_id", () => {
  let labels: string[];
  beforeAll(async () => {
    labels = ["A", "B", "C", "D"];
    for (const name of labels) {
      const { json } = await call("POST /groups/elsewhere/labels", {
        json: { name, color: "#000000" },
      });
      ids[name] = json.id;
    }
  });

  it.each([
    [0, 2, ["B", "C", "A", "D"]],
    [0, 3, ["B", "C", "D", "A"]],
    [3, 0, ["D", "A", "B", "C"]],
    [2, 1, ["A", "C", "B", "D"]],
    [1, 2, ["A", "C", "B", "D"]],
  ])("moves the list at %s to %s, and those between by one", async (from, to, order) => {
    const board = await newBoard("elsewhere", labels);
    const moved = await call(`PUT ${board.at}/lists/${board.lists[from]}`, {
      json: { position: to },
    });
    expect(moved.status).toBe(200);
    expect(moved.json).toEqual({
      id: board.lists[from],
      label: { name: labels[from], color: "#000000", description: null },
      position: to,
    });
    const { json } = await call(`GET ${board.at}/lists`);
    expect(namesOf(json)).toEqual(order);
    expect(json.map(({ position }: { position: number }) => position)).toEqual([0, 1, 2, 3]);
    const alone = await call(`GET ${board.at}`);
    expect(namesOf(alone.json.lists)).toEqual(order);
  });

  it("leaves other boards alone", async () => {
    const [board, other] = [
      await newBoard("elsewhere", labels),
      await newBoard("elsewhere", labels),
    ];
    await call(`PUT ${board.at}/lists/${board.lists[0]}`, { json: { position: 3 } });
    expect(await listNames(other.at)).toEqual(labels);
  });

  it.each([0, -1, 99, 4])(
    "040, 041: can't move the first of four lists to %s",
    async (position) => {
      const board = await newBoard("elsewhere", labels);
      const { status, json } = await call(`PUT ${board.at}/lists/${board.lists[0]}`, {
        json: { position },
      });
      expect([status, json]).toEqual([400, { message: { error: "List could not be moved!" } }]);
      expect(await listNames(board.at)).toEqual(labels);
    },
  );

  it.each([
    [{}, '400 (Bad request) "position" not given'],
    [{ position: "first" }, { position: ["is invalid"] }],
    [{ position: 1.5 }, { position: ["is invalid"] }],
    [{ position: "" }, { position: ["is invalid"] }],
    [{ position: null }, { position: ["is invalid"] }],
  ])("refuses %j", async (json, message) => {
    const board = await newBoard();
    const answer = await call(`PUT ${board.at}/lists/${board.lists[0]}`, { json });
    expect([answer.status, answer.json]).toEqual([400, { message }]);
  });

  it("043: is 404 for an unknown list, for a guest too, and for one of another board or group", async () => {
    const [board, other] = [await newBoard(), await newBoard()];
    const foreign = await newBoard("elsewhere", ["A", "B"]);
    for (const path of [
      `${board.at}/lists/44444`,
      `${board.at}/lists/${other.lists[0]}`,
      `/groups/acme/boards/${foreign.id}/lists/${foreign.lists[0]}`,
    ]) {
      for (const as of ["owner", "guest"] as const) {
        const { status, json } = await call(`PUT ${path}`, { as, json: { position: 1 } });
        expect([status, json]).toEqual([404, { message: "404 Not found" }]);
      }
    }
    expect(await listNames(other.at)).toEqual(["Development", "Testing"]);
    expect(await listNames(foreign.at)).toEqual(["A", "B"]);
  });

  it("keeps the positions contiguous when lists are moved concurrently", async () => {
    const board = await newBoard("elsewhere", labels);
    await Promise.all(
      board.lists.map((list, index) =>
        call(`PUT ${board.at}/lists/${list}`, { json: { position: (index + 1) % 4 } }),
      ),
    );
    const { json } = await call(`GET ${board.at}/lists`);
    expect(namesOf(json).sort()).toEqual(labels);
    expect(json.map(({ position }: { position: number }) => position)).toEqual([0, 1, 2, 3]);
  });
});

describe("DELETE /groups/:id/boards/:board_id/lists/:list_id", () => {
  it("050: removes the list, and closes the gap in positions", async () => {
    const board = await newBoard("acme", ["Development", "Testing", "UX"]);
    const answer = await call(`DELETE ${board.at}/lists/${board.lists[0]}`);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    const { json } = await call(`GET ${board.at}/lists`);
    expect(
      json.map(({ position, label }: { position: number; label: { name: string } }) => [
        position,
        label.name,
      ]),
    ).toEqual([
      [0, "Testing"],
      [1, "UX"],
    ]);
    expect((await call(`DELETE ${board.at}/lists/${board.lists[0]}`)).status).toBe(404);
    const again = await call(`POST ${board.at}/lists`, { json: { label_id: ids["Development"] } });
    expect([again.status, again.json.position]).toEqual([201, 2]);
  });

  it("049: is 403 for a guest before the list is looked up, and 404 for an owner", async () => {
    const board = await newBoard();
    const guest = await call(`DELETE ${board.at}/lists/44444`, { as: "guest" });
    expect([guest.status, guest.json]).toEqual([403, { message: "403 Forbidden" }]);
    const other = await newBoard();
    for (const list of [44444, other.lists[0]]) {
      const { status, json } = await call(`DELETE ${board.at}/lists/${list}`);
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
    expect(await listNames(other.at)).toEqual(["Development", "Testing"]);
  });

  it("053: is 412 if the list was changed since", async () => {
    const board = await newBoard();
    const { status, json } = await call(`DELETE ${board.at}/lists/${board.lists[0]}`, {
      headers: UNMODIFIED_1990,
    });
    expect([status, json]).toEqual([412, { message: "412 Precondition Failed" }]);
    expect(await listNames(board.at)).toEqual(["Development", "Testing"]);
  });

  it("also removes the lists of a deleted label", async () => {
    const board = await newBoard("acme", ["Development"]);
    const label = await call("POST /groups/acme/labels", {
      json: { name: "Short-lived", color: "#000000" },
    });
    await call(`POST ${board.at}/lists`, { json: { label_id: label.json.id } });
    await call("DELETE /groups/acme/labels/Short-lived");
    expect(await listNames(board.at)).toEqual(["Development"]);
  });
});

describe("tiers", () => {
  const requests = (
    at: string,
    list: number,
  ): [string, Record<string, unknown> | undefined, number, number][] => [
    ["GET /groups/acme/boards", undefined, 200, 200],
    [`GET ${at}`, undefined, 200, 200],
    ["POST /groups/acme/boards", { name: "x" }, 403, 201], // 011
    [`PUT ${at}`, { name: "x" }, 403, 200],
    [`GET ${at}/lists`, undefined, 200, 200],
    [`POST ${at}/lists`, { label_id: ids["UX"] }, 201, 201],
    [`PUT ${at}/lists/${list}`, { position: 0 }, 200, 200],
    [`DELETE ${at}/lists/${list}`, undefined, 204, 204],
    [`DELETE ${at}`, undefined, 403, 204], // 023
  ];

  it.each(["free", "premium", "ultimate"] as const)("%s", async (tier) => {
    const tiered = await testApp({ tier });
    try {
      const boards = await tiered.call("GET /groups/acme/boards", { as: "owner" });
      const board = boards.json[0];
      const at = `/groups/acme/boards/${board.id}`;
      const labels = await tiered.call("GET /groups/acme/labels?search=UX", { as: "owner" });
      for (const [request, sent, free, paid] of requests(at, board.lists[1].id)) {
        const body = sent && "label_id" in sent ? { label_id: labels.json[0].id } : sent;
        const answer = await tiered.call(request, { as: "owner", ...(body && { json: body }) });
        const expected = tier === "free" ? free : paid;
        expect([request, answer.status]).toEqual([request, expected]);
        if (expected === 403) expect(answer.json).toEqual({ message: "403 Forbidden" });
      }
    } finally {
      await tiered.dispose();
    }
  });
});
