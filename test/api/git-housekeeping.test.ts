// Packing a project's repositories again on request.
import { afterAll, beforeAll, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { everyone, type TestApp, testApp } from "../helpers.ts";

const PROJECT = "/projects/secret%2Fvault";
let now = Date.parse("2026-11-24T12:00:00Z");
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => now });
  for (const name of ["a", "b", "c"]) {
    const json = { branch: "main", content: name, commit_message: `Add ${name}` };
    const { status } = await app.call(`POST ${PROJECT}/repository/files/${name}`, {
      as: "owner",
      json,
    });
    expect(status).toBe(201);
  }
});
afterAll(() => app.dispose());

const keepHouse = (json?: unknown) =>
  app.call(`POST ${PROJECT}/housekeeping`, { as: "maintainer", json });
const packs = async () => {
  const [row] = await app.store.rows("select count(*) from git_repository_packs");
  return row?.[0];
};

it("housekeeping packs a repository again, once an hour", async () => {
  expect(await packs()).toBe(3);
  expect((await keepHouse({ task: "all" })).status).toBe(400);
  const { status, json } = await keepHouse({ task: "prune" });
  expect([status, json]).toEqual([201, null]);
  expect(await packs()).toBe(1);
  const { json: commits } = await app.call(`GET ${PROJECT}/repository/commits`, {
    as: "developer",
  });
  expect(commits.map(({ title }: { title: string }) => title)).toEqual(["Add c", "Add b", "Add a"]);
  const again = await keepHouse();
  expect([again.status, again.json]).toEqual([
    409,
    {
      message: "Somebody already triggered housekeeping for this project in the past 60 minutes",
    },
  ]);
  now += 3_600_000;
  expect((await keepHouse()).status).toBe(201);
  const repositories = (await check(app.store)).find(({ name }) => name === "repositories");
  expect(repositories?.problems).toEqual([]);
});

it("housekeeping is for maintainers; a project without a repository needs none", async () => {
  const answers = [];
  for (const as of everyone) {
    const { status } = await app.call("POST /projects/acme%2Fsite/housekeeping", { as });
    answers.push([as, status]);
  }
  expect(answers).toEqual([
    ["anonymous", 401],
    ["stranger", 403],
    ["guest", 403],
    ["reporter", 403],
    ["developer", 403],
    ["maintainer", 201],
    ["owner", 201],
    ["admin", 201],
  ]);
});

it("administrators are shown a project's storage", async () => {
  const { json: project } = await app.call(`GET ${PROJECT}`, { as: "admin" });
  const { status, json } = await app.call(`GET ${PROJECT}/storage`, { as: "admin" });
  expect([status, json]).toEqual([
    200,
    {
      project_id: project.id,
      disk_path: expect.stringMatching(/^@hashed\/([0-9a-f]{2})\/([0-9a-f]{2})\/\1\2[0-9a-f]{60}$/),
      created_at: project.created_at,
      repository_storage: "default",
    },
  ]);
  expect((await app.call(`GET ${PROJECT}/storage`, { as: "owner" })).status).toBe(403);
});
