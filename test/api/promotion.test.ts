import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

/** More than are merged within a request. */
const PROJECTS = 22;
let app: TestApp;
let now = Date.parse("2026-06-15T12:00:00Z");

/** Does what is left to do, as once a day. */
async function sweep() {
  now += 25 * 3_600_000;
  await app.admin.maintenance.sweepDaily();
}

const project = (path: string) => ({
  path,
  labels: [{ name: "bug" }, { name: "own" }],
  milestones: [{ title: "v1" }],
  boards: [{ name: "b", lists: ["bug"] }],
  issues: [
    { title: "One", author: "owner", labels: ["bug"], milestone: "v1" },
    { title: "Two", author: "owner", labels: ["own"] },
  ],
});

beforeAll(async () => {
  const seed = {
    users: (["owner", "maintainer", "reporter", "stranger", "admin"] as const).map((username) => ({
      username,
      admin: username === "admin",
      tokens: [{ token: `token-of-${username}` }],
    })),
    groups: [
      {
        path: "few",
        members: { owner: "owner" as const },
        projects: [project("a"), { ...project("b"), members: { reporter: "reporter" as const } }],
        subgroups: [{ path: "sub", projects: [project("c")] }],
      },
      {
        path: "many",
        members: { owner: "owner" as const },
        projects: Array.from({ length: PROJECTS }, (_, at) => project(`p${at}`)),
      },
      { path: "other", members: { owner: "owner" as const }, projects: [project("d")] },
    ],
  };
  app = await testApp({ seed, now: () => now });
});
afterAll(() => app.dispose());

const send = (request: string, as: Person = "owner") => app.call(request, { as });
const get = async (path: string) => (await send(`GET ${path}`)).json;
const issueIn = async (path: string) =>
  (await get(`/projects/${encodeURIComponent(path)}/issues?labels=bug&milestone=v1`))[0];
const ids = (records: { id: number }[]) => records.map(({ id }) => id);

describe("PUT /projects/:id/labels/:label_id/promote", () => {
  it("makes a label of the group take the place of those of its projects", async () => {
    const board = (await get("/projects/few%2Fb/boards"))[0];
    await send("POST /projects/few%2Fsub%2Fc/labels/bug/subscribe");
    const { status, json } = await send("PUT /projects/few%2Fa/labels/bug/promote");
    expect(status).toBe(200);
    expect(json).toMatchObject({ name: "bug", open_issues_count: 3, subscribed: true });
    expect(json).not.toHaveProperty("is_project_label");
    for (const path of ["few%2Fa", "few%2Fb", "few%2Fsub%2Fc"]) {
      const labels = await get(`/projects/${path}/labels?search=bug`);
      expect(labels).toMatchObject([
        { id: json.id, is_project_label: false, open_issues_count: 1 },
      ]);
      const [issue] = await get(`/projects/${path}/issues?labels=bug`);
      expect([issue.title, issue.labels]).toEqual(["One", ["bug"]]);
    }
    const list = (await get(`/projects/few%2Fb/boards/${board.id}`)).lists.at(-1);
    expect(list.label.id).toBe(json.id);
    // What is elsewhere, or called otherwise, stays.
    expect((await get("/projects/other%2Fd/labels?search=bug"))[0].is_project_label).toBe(true);
    expect((await get("/projects/few%2Fb/labels?search=own"))[0].is_project_label).toBe(true);
  });

  it("refuses what is no label of the project, or in no group", async () => {
    const again = await send("PUT /projects/few%2Fa/labels/bug/promote");
    expect([again.status, again.json.message]).toEqual([
      400,
      "400 Bad request - Failed to promote project label to group label",
    ]);
    const none = await send("PUT /projects/few%2Fa/labels/nosuch/promote");
    expect([none.status, none.json]).toEqual([404, { message: "404 Label Not Found" }]);
    await app.call("POST /projects", { as: "owner", json: { name: "personal" } });
    const json = { name: "bug", color: "#ff0000" };
    await app.call("POST /projects/owner%2Fpersonal/labels", { as: "owner", json });
    const personal = await send("PUT /projects/owner%2Fpersonal/labels/bug/promote");
    expect([personal.status, personal.json]).toEqual([404, { message: "404 Group Not Found" }]);
  });

  it("needs the right to create labels in the group", async () => {
    const path = "PUT /projects/few%2Fb/labels/own/promote";
    expect((await send(path, "reporter")).status).toBe(403);
    expect((await send(path, "stranger")).status).toBe(404);
    expect((await send(path, "owner")).status).toBe(200);
  });

  it("takes many places after the answer", async () => {
    const { json } = await send("PUT /projects/many%2Fp0/labels/bug/promote");
    await sweep();
    const listed = await get("/groups/many/issues?labels=bug&per_page=100");
    expect(listed).toHaveLength(PROJECTS);
    for (const path of ["many%2Fp0", "many%2Fp21"]) {
      expect(ids(await get(`/projects/${path}/labels?search=bug`))).toEqual([json.id]);
    }
    expect((await get("/groups/many/labels"))[0].open_issues_count).toBe(PROJECTS);
  });
});

describe("POST /projects/:id/milestones/:milestone_id/promote", () => {
  const milestoneOf = async (path: string) =>
    (await get(`/projects/${encodeURIComponent(path)}/milestones`))[0];

  it("makes a milestone of the group take the place of those of its projects", async () => {
    const { id } = await milestoneOf("few/a");
    await app.call(`PUT /projects/few%2Fa/milestones/${id}`, {
      ...{
        as: "owner",
        json: { description: "First", due_date: "2026-07-01", state_event: "close" },
      },
    });
    const { status, json } = await send(`POST /projects/few%2Fa/milestones/${id}/promote`);
    expect(status).toBe(200);
    const [{ id: group_id }] = await get("/groups?search=few");
    expect(json).toMatchObject({
      ...{ title: "v1", description: "First", due_date: "2026-07-01", state: "closed", group_id },
    });
    for (const path of ["few/a", "few/b", "few/sub/c"]) {
      expect((await issueIn(path)).milestone.id).toBe(json.id);
      expect(await milestoneOf(path)).toBeUndefined();
    }
    expect((await issueIn("other/d")).milestone.project_id).toEqual(expect.any(Number));
    const again = await send(`POST /projects/few%2Fa/milestones/${json.id}/promote`);
    expect(again.status).toBe(404);
  });

  it("takes many places after the answer", async () => {
    const { id } = await milestoneOf("many/p3");
    const { json } = await send(`POST /projects/many%2Fp3/milestones/${id}/promote`);
    await sweep();
    const listed = await get("/groups/many/issues?milestone=v1&per_page=100");
    expect(listed).toHaveLength(PROJECTS);
    expect(
      new Set(listed.map((issue: { milestone: { id: number } }) => issue.milestone.id)),
    ).toEqual(new Set([json.id]));
    expect(await milestoneOf("many/p7")).toBeUndefined();
  });
});
