// Archived groups: what is in them is read-only, as in archived projects.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ciProject } from "./_pipelines.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const post = (path: string, json: object = {}, as: Person = "owner") =>
  app.call(`POST ${path}`, { as, json });
const SUBGROUP = "/groups/acme%2Fteam";
const PROJECT = "/projects/acme%2Fteam%2Fcore";

it("owners archive and unarchive them", async () => {
  for (const [as, status] of [
    ["anonymous", 401],
    ["stranger", 403],
    ["maintainer", 403],
  ] as const) {
    expect((await post("/groups/acme/archive", {}, as)).status).toBe(status);
    expect((await post("/groups/acme/unarchive", {}, as)).status).toBe(status);
  }
  const done = await post("/groups/acme/archive");
  expect([done.status, done.json.path, done.json.archived]).toEqual([201, "acme", true]);
  expect((await app.call("GET /groups/acme")).json.archived).toBe(true);
  const again = await post("/groups/acme/archive");
  expect([again.status, again.json]).toEqual([422, { message: "Group is already archived!" }]);
  expect((await post(`${SUBGROUP}/archive`)).json.message).toBe(
    "Cannot archive group since one of the ancestor groups is already archived!",
  );
  expect((await post(`${SUBGROUP}/unarchive`)).json).toEqual({
    message: "Group is already unarchived!",
  });

  const named = async (query: string) =>
    (await app.call(`GET /groups?per_page=100&${query}`, { as: "owner" })).json.map(
      ({ full_path }: { full_path: string }) => full_path,
    );
  expect(await named("archived=true")).toEqual(["acme"]);
  expect(await named("archived=false")).not.toContain("acme");
  expect(await named("archived=false")).toContain("acme/team");

  const undone = await post("/groups/acme/unarchive");
  expect([undone.status, undone.json.archived]).toEqual([201, false]);
  expect((await post("/groups/acme/unarchive")).status).toBe(422);
  const { json } = await app.call("GET /groups/acme/audit_events", { as: "owner" });
  const said = json.map((one: { details: object }) => JSON.stringify(one.details)).join();
  expect(said).toContain("group archived");
  expect(said).toContain("group unarchived");
});

it("what is in them, at whatever depth, can be read but not changed", async () => {
  const issue = async () => (await post(`${PROJECT}/issues`, { title: "Text" })).status;
  const labels = async () =>
    (await post("/groups/acme/labels", { name: `l${Math.random()}`, color: "#ffffff" })).status;
  const parent = (await app.call("GET /groups/acme", { as: "owner" })).json.id;
  const wiki = async () => (await post("/groups/acme/wikis", { title: "a", content: "b" })).status;
  const project = async (name: string) =>
    (await post("/projects", { name, namespace_id: parent })).status;
  const active = async () =>
    (await app.call("GET /groups/acme/projects?active=true", { as: "owner" })).json.length;
  expect([await issue(), await labels()]).toEqual([201, 201]);
  expect(await active()).toBe(1);
  await post("/groups/acme/archive");
  expect([await issue(), await wiki(), await project("fresh")]).toEqual([403, 403, 400]);
  expect((await app.call(`GET ${PROJECT}/issues`, { as: "guest" })).json).toHaveLength(1);
  const subgroup = { name: "fresh", path: "fresh", parent_id: parent };
  expect((await post("/groups", subgroup)).status).toBe(403);
  expect(await active()).toBe(0);
  const groups = async (query: string) =>
    (await app.call(`GET /groups?${query}`, { as: "owner" })).json.map(
      ({ path }: { path: string }) => path,
    );
  expect(await groups("active=true")).toEqual(["secret"]);
  expect(await groups("active=false")).toEqual(["acme", "team"]);
  await post("/groups/acme/unarchive");
  expect([await issue(), await wiki(), await project("fresh")]).toEqual([201, 201, 201]);
});

it("runners get no jobs of their projects", async () => {
  const project = await ciProject(app, "idle", "build: {script: [make]}\n");
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  expect(made.status).toBe(201);
  const runner = { runner_type: "project_type", project_id: project.id };
  const { token } = (await post("/user/runners", runner)).json;
  const request = async () => (await app.call("POST /jobs/request", { json: { token } })).status;
  await post("/groups/secret/archive");
  expect(await request()).toBe(204);
  await post("/groups/secret/unarchive");
  expect(await request()).toBe(201);
});
