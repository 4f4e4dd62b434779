import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { baseSeed, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const PROJECT = "/projects/acme%2Fsite";
/** Ids of labels and milestones by name. */
const ids: Record<string, number> = {};

beforeAll(async () => {
  const [acme, ...others] = baseSeed.groups ?? [];
  const [site] = acme?.projects ?? [];
  app = await testApp({
    seed: {
      ...baseSeed,
      groups: [
        {
          ...acme,
          path: "acme",
          projects: [
            {
              ...site,
              path: "site",
              labels: [{ name: "Own" }],
              milestones: [{ title: "own" }],
              boards: [{ name: "Sprint", lists: ["Own", "UX"] }],
            },
          ],
        },
        ...others,
      ],
    },
  });
  for (const path of [`${PROJECT}/labels`, "/groups/secret/labels"]) {
    const { json } = await app.call(`GET ${path}`, { as: "admin" });
    for (const { id, name } of json) ids[name] = id;
  }
  for (const path of [`${PROJECT}/milestones`, "/groups/acme/milestones"]) {
    const { json } = await app.call(`GET ${path}`, { as: "admin" });
    for (const { id, title } of json) ids[title] = id;
  }
});
afterAll(() => app.dispose());

const call: TestApp["call"] = (request, options) => app.call(request, { as: "owner", ...options });

describe("boards of a project", () => {
  it("are listed and read with the project, its lists, and which lists they hide", async () => {
    const { status, json } = await call(`GET ${PROJECT}/boards`);
    expect([status, json]).toEqual([
      200,
      [
        {
          id: expect.any(Number),
          name: "Sprint",
          hide_backlog_list: false,
          hide_closed_list: false,
          project: {
            id: expect.any(Number),
            name: "Site",
            name_with_namespace: "Acme / Site",
            path: "site",
            path_with_namespace: "acme/site",
            http_url_to_repo: expect.stringMatching(/\/acme\/site\.git$/),
            web_url: expect.stringMatching(/\/acme\/site$/),
          },
          group: null,
          milestone: null,
          assignee: null,
          labels: [],
          weight: null,
          lists: [
            {
              id: expect.any(Number),
              label: {
                id: ids["Own"],
                name: "Own",
                color: "#428BCA",
                description: null,
                text_color: "#FFFFFF",
              },
              position: 0,
            },
            {
              id: expect.any(Number),
              label: {
                id: ids["UX"],
                name: "UX",
                color: "#ff0000",
                description: null,
                text_color: "#FFFFFF",
              },
              position: 1,
            },
          ],
        },
      ],
    ]);
    expect((await call(`GET ${PROJECT}/boards/${json[0].id}`)).json).toEqual(json[0]);
  });

  it("do not exist until somebody creates them", async () => {
    const { status, json } = await call("GET /projects/acme%2Fsite/boards/99999");
    expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    const other = await app.call("GET /projects/secret%2Fvault/boards", { as: "admin" });
    expect([other.status, other.json]).toEqual([200, []]);
  });

  it("are not those of its group, nor the other way round", async () => {
    const [own] = (await call(`GET ${PROJECT}/boards`)).json;
    const [ofGroup] = (await call("GET /groups/acme/boards")).json;
    expect(ofGroup.name).toBe("Board");
    expect((await call(`GET /groups/acme/boards/${own.id}`)).status).toBe(404);
    for (const path of [`${ofGroup.id}`, `${ofGroup.id}/lists`, `${ofGroup.id}/lists/1`]) {
      expect((await call(`GET ${PROJECT}/boards/${path}`)).status).toBe(404);
    }
  });

  it("get names, hidden lists and a scope, also of the group", async () => {
    const created = await call(`POST ${PROJECT}/boards`, { json: { name: "New" } });
    expect([created.status, created.json.name, created.json.lists]).toEqual([201, "New", []]);
    const at = `${PROJECT}/boards/${created.json.id}`;
    for (const [title, owner] of [
      ["own", "project_id"],
      ["v1", "group_id"],
    ] as const) {
      const { status, json } = await call(`PUT ${at}`, {
        json: {
          name: "Changed",
          hide_backlog_list: true,
          hide_closed_list: "yes",
          milestone_id: ids[title],
          labels: "Own, UX, Later",
          weight: 3,
        },
      });
      expect([status, json]).toMatchObject([
        200,
        {
          name: "Changed",
          hide_backlog_list: true,
          hide_closed_list: true,
          milestone: { title, [owner]: expect.any(Number) },
          assignee: null,
          labels: [{ name: "Later" }, { name: "Own" }, { name: "UX" }],
          weight: 3,
          lists: [],
        },
      ]);
    }
    expect((await call(`GET ${at}`)).json).toMatchObject({
      name: "Changed",
      hide_backlog_list: true,
      milestone: { id: ids["v1"], title: "v1" },
    });
    expect((await call(`PUT ${at}`, { json: { hide_closed_list: false } })).json).toMatchObject({
      hide_backlog_list: true,
      hide_closed_list: false,
      weight: 3,
    });
    expect((await call(`DELETE ${at}`)).status).toBe(204);
    expect((await call(`GET ${at}`)).status).toBe(404);
  });

  it("have lists of the project's labels and those above", async () => {
    const board = await call(`POST ${PROJECT}/boards`, { json: { name: "Lists" } });
    const at = `${PROJECT}/boards/${board.json.id}/lists`;
    const lists: number[] = [];
    for (const [position, name] of ["Own", "Testing", "UX"].entries()) {
      const { status, json } = await call(`POST ${at}`, { json: { label_id: ids[name] } });
      expect([status, json]).toMatchObject([201, { label: { name }, position }]);
      lists.push(json.id);
    }
    const changed = await call(`PUT ${PROJECT}/boards/${board.json.id}`, { json: {} });
    expect(changed.json.lists).toEqual((await call(`GET ${at}`)).json);
    const refused = await call(`POST ${at}`, { json: { label_id: ids["Hidden"] } });
    expect([refused.status, refused.json]).toEqual([
      400,
      { message: { error: "Label not found!" } },
    ]);
    const moved = await call(`PUT ${at}/${lists[2]}`, { json: { position: 0 } });
    expect([moved.status, moved.json.position]).toEqual([200, 0]);
    expect((await call(`DELETE ${at}/${lists[0]}`)).status).toBe(204);
    const { json } = await call(`GET ${at}`);
    expect(
      json.map((one: { label: { name: string }; position: number }) => [
        one.label.name,
        one.position,
      ]),
    ).toEqual([
      ["UX", 0],
      ["Testing", 1],
    ]);
  });

  it("have lists of milestones, people and iterations", async () => {
    const board = await call(`POST ${PROJECT}/boards`, { json: { name: "Plans" } });
    const at = `${PROJECT}/boards/${board.json.id}/lists`;
    const [milestone] = (await call("GET /groups/acme/milestones?title=v1")).json;
    const [{ id: userId }] = (await call("GET /users?username=developer")).json;
    const { data } = (
      await app.call("POST /api/graphql", {
        as: "owner",
        json: {
          query: `mutation { iterationCreate(input: {groupPath: "acme", title: "first",
            startDate: "2031-01-01", dueDate: "2031-01-07"}) { errors iteration { id } } }`,
        },
      })
    ).json;
    const iterationId = Number(data.iterationCreate.iteration.id.split("/").at(-1));
    const made: object[] = [];
    for (const [sent, shown] of [
      [{ milestone_id: milestone.id }, { milestone: { title: "v1", iid: milestone.iid } }],
      [{ assignee_id: userId }, { assignee: { username: "developer" } }],
      [{ iteration_id: iterationId }, { iteration: { title: "first", state: 1 } }],
    ] as const) {
      const { status, json } = await call(`POST ${at}`, { json: sent });
      expect([status, json]).toMatchObject([201, { label: null, ...shown }]);
      expect(Object.keys(json)).toEqual(["id", "label", "position", ...Object.keys(shown)]);
      made.push(json);
      const again = await call(`POST ${at}`, { json: sent });
      const [name] = Object.keys(sent);
      expect([again.status, again.json]).toEqual([
        400,
        { message: { [String(name)]: ["has already been taken"] } },
      ]);
    }
    expect((await call(`GET ${at}`)).json).toEqual(made);
    for (const [json, message] of [
      [{ milestone_id: 987_654 }, { error: "Milestone not found!" }],
      [{ assignee_id: 987_654 }, { error: "User not found!" }],
      [{ iteration_id: 987_654 }, { error: "Iteration not found!" }],
      [{ iteration_id: "" }, { iteration_id: ["is invalid"] }],
    ] as const) {
      const { status, json: told } = await call(`POST ${at}`, { json });
      expect([status, told]).toEqual([400, { message }]);
    }
    const both = await call(`POST ${at}`, { json: { milestone_id: 1, assignee_id: 1 } });
    expect([both.status, both.json]).toEqual([
      400,
      { error: "label_id, assignee_id, milestone_id, iteration_id are mutually exclusive" },
    ]);
    const of = (index: number) => (made[index] as { id: number }).id;
    expect((await call(`PUT ${at}/${of(2)}`, { json: { position: 0 } })).json.position).toBe(0);
    expect((await call(`DELETE ${at}/${of(0)}`)).status).toBe(204);
    // Lists go with what they are of.
    await call(`DELETE /users/${userId}`, { as: "admin" });
    await app.call("POST /api/graphql", {
      as: "owner",
      json: {
        query: `mutation { iterationDelete(input: {id: "${data.iterationCreate.iteration.id}"}) { errors } }`,
      },
    });
    expect((await call(`GET ${at}`)).json).toEqual([]);
  });

  it("need their roles, and enabled issues", async () => {
    const [{ id, lists }] = (await call(`GET ${PROJECT}/boards`)).json;
    const at = `${PROJECT}/boards/${id}`;
    expect((await call(`GET ${at}`, { as: "anonymous" })).status).toBe(401);
    expect((await call(`GET ${at}`, { as: "stranger" })).status).toBe(200);
    expect((await call(`PUT ${at}`, { as: "guest", json: { name: "x" } })).status).toBe(403);
    expect((await call(`PUT ${at}`, { as: "reporter", json: { name: "Sprint" } })).status).toBe(
      200,
    );
    const list = `${at}/lists/${lists[0].id}`;
    expect((await call(`DELETE ${list}`, { as: "maintainer" })).status).toBe(403);
    await call(`PUT ${PROJECT}`, { json: { issues_enabled: false } });
    try {
      expect((await call(`GET ${at}`)).status).toBe(403);
    } finally {
      await call(`PUT ${PROJECT}`, { json: { issues_enabled: true } });
    }
  });

  it("are free, and without a scope in the free tier", async () => {
    const free = await testApp({ tier: "free" });
    try {
      const options = { as: "owner" } as const;
      const made = await free.call(`POST ${PROJECT}/boards`, { ...options, json: { name: "x" } });
      const at = `${PROJECT}/boards/${made.json.id}`;
      const { status, json } = await free.call(`PUT ${at}`, {
        ...options,
        json: { name: "y", weight: 3, labels: "New", hide_backlog_list: true },
      });
      expect([status, json]).toMatchObject([
        200,
        { name: "y", weight: null, labels: [], hide_backlog_list: true },
      ]);
      const list = await free.call(`POST ${at}/lists`, { ...options, json: { assignee_id: 1 } });
      expect([list.status, list.json]).toEqual([
        400,
        { message: { error: "Assignee lists not available with your current license" } },
      ]);
      const named = await free.call(`GET ${PROJECT}/labels?search=New`, options);
      expect(named.json).toEqual([]);
      expect((await free.call(`DELETE ${at}`, options)).status).toBe(204);
    } finally {
      await free.dispose();
    }
  });

  it("go with their project", async () => {
    const made = await call("POST /projects?name=short", {});
    const at = `/projects/${made.json.id}`;
    const { json } = await call(`POST ${at}/boards?name=x`);
    expect((await call(`DELETE ${at}`)).status).toBeLessThan(300);
    const left = await app.store.rows("select id from boards where id = ?", [json.id]);
    expect(left).toEqual([]);
  });
});

describe("the open and the closed list", () => {
  it("belong to every board, and are hidden from lists", async () => {
    for (const source of [PROJECT, "/groups/acme"]) {
      const { json } = await call(`POST ${source}/boards?name=x`);
      const stored = await app.store.rows(
        "select id, list_type, position from board_lists where board_id = ? order by id",
        [json.id],
      );
      expect(stored.map(([, type, position]) => [type, position])).toEqual([
        ["backlog", null],
        ["closed", null],
      ]);
      const at = `${source}/boards/${json.id}`;
      expect((await call(`GET ${at}`)).json.lists).toEqual([]);
      expect((await call(`GET ${at}/lists`)).json).toEqual([]);
      for (const [id] of stored) {
        expect((await call(`GET ${at}/lists/${id}`)).status).toBe(404);
        expect((await call(`PUT ${at}/lists/${id}?position=0`)).status).toBe(404);
        expect((await call(`DELETE ${at}/lists/${id}`)).status).toBe(404);
      }
    }
  });
});
