import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
let branches = 0;

beforeAll(async () => {
  app = await testApp();
  project = await newCodeProject(app);
});
afterAll(() => app.dispose());

/** Merges a new branch, and returns the number of its merge request. */
async function merge(json: object = {}): Promise<number> {
  branches += 1;
  const source = `b${branches}`;
  await project.commit(source, { [`${source}.txt`]: "text\n" }, { from: "main" });
  const { iid } = await project.open(source);
  const done = await project.send("PUT", `/merge_requests/${iid}/merge`, json, "maintainer");
  expect(done.status, done.text).toBe(200);
  return iid;
}

async function deploy(environment: string, status = "success"): Promise<number> {
  const { json: main } = await project.get("/repository/branches/main");
  const json = { environment, sha: main.commit.id, ref: "main", tag: false, status };
  const made = await project.send("POST", "/deployments", json);
  expect(made.status, made.text).toBe(201);
  return made.json.id;
}

const brought = async (deployment: number, query = "") => {
  const { status, json } = await project.get(`/deployments/${deployment}/merge_requests${query}`);
  expect(status).toBe(200);
  return json.map(({ iid }: { iid: number }) => iid);
};

it("a deployment lists what was merged since the one before it in its environment", async () => {
  const first = await merge();
  const initial = await deploy("production");
  const second = await merge({ squash: true });
  const failed = await deploy("production", "failed");
  const staging = await deploy("staging");
  await app.call(`PUT ${project.path}`, { as: "owner", json: { merge_method: "ff" } });
  const third = await merge();
  const latest = await deploy("production");
  expect(await brought(initial)).toEqual([first]);
  expect(await brought(failed)).toEqual([]);
  expect(await brought(staging)).toEqual([second, first]);
  expect(await brought(latest)).toEqual([third, second]);
  expect(await brought(latest, "?sort=asc&per_page=1")).toEqual([second]);
  expect(await brought(await deploy("production"))).toEqual([]);
});

it("only reporters and above of the project see them", async () => {
  const deployment = await deploy("production");
  const path = `/deployments/${deployment}/merge_requests`;
  expect((await project.get(path, "reporter")).status).toBe(200);
  expect([403, 404]).toContain((await project.get(path, "guest")).status);
  expect((await project.get(path, "stranger")).status).toBe(404);
  expect((await project.get("/deployments/999999/merge_requests")).status).toBe(404);
});
