import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clock, type Person, type TestApp, testApp } from "../helpers.ts";
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
  expect(await brought(latest, `?author_username=nobody`)).toEqual([]);
  expect(await brought(latest, `?iids[]=${third}&state=merged`)).toEqual([third]);
  expect(await brought(latest, "?state=opened")).toEqual([]);
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

describe("lists of merge requests", () => {
  /** The numbers of those that a list has, of the ones among some. */
  const listed = async (query: string, as: Person = "reporter", place = project.path) => {
    await app.admin.maintenance.runPipelines();
    const { status, json, text } = await app.call(
      `GET ${place}/merge_requests?scope=all&per_page=100&sort=asc&${query}`,
      { as },
    );
    expect([status, text]).toEqual([200, text]);
    return json
      .filter((one: { project_id: number }) => one.project_id === project.id)
      .map(({ iid }: { iid: number }) => iid);
  };
  const later = () => new Date(clock()).toISOString();

  it("are narrowed to an environment, and to when they came to it", async () => {
    const start = later();
    const one = await merge();
    await deploy("beta");
    const between = later();
    const other = await merge();
    await deploy("beta");
    for (const place of ["", "/groups/secret", project.path]) {
      expect(await listed(`environment=beta&deployed_after=${start}`, "reporter", place)).toEqual(
        await listed("environment=beta", "reporter", place),
      );
      expect(await listed(`environment=beta&deployed_after=${between}`, "admin", place)).toEqual([
        other,
      ]);
      expect(await listed("environment=Beta", "reporter", place)).toEqual([]);
    }
    const before = await listed(`environment=beta&deployed_before=${between}`);
    expect([before.includes(one), before.includes(other)]).toEqual([true, false]);
    expect(await listed(`deployed_after=${between}`)).toEqual([other]);
    expect(await listed(`deployed_after=${later()}`)).toEqual([]);
    expect(await listed("environment=nosuch")).toEqual([]);
  });

  it("know of deployments that succeed later, and forget those that failed after all", async () => {
    const one = await merge();
    const id = await deploy("gamma", "running");
    expect(await listed("environment=gamma")).toEqual([]);
    await project.send("PUT", `/deployments/${id}`, { status: "success" });
    expect(await listed("environment=gamma")).toContain(one);
    await project.send("PUT", `/deployments/${id}`, { status: "failed" });
    expect(await listed("environment=gamma")).toEqual([]);
  });

  it("know of deployments by jobs", async () => {
    const one = await merge();
    const job = "ship:\n  script: [ship]\n  environment: { name: delta }\n";
    const sha = await project.commit("main", { ".gitlab-ci.yml": job });
    await app.admin.maintenance.runPipelines();
    const { json: pipelines } = await project.get(`/pipelines?sha=${sha}`);
    const { json: jobs } = await project.get(`/pipelines/${pipelines[0].id}/jobs`);
    expect(await listed("environment=delta")).toEqual([]);
    await app.admin.jobs.finish(jobs[0].id, { status: "success" });
    expect(await listed("environment=delta")).toContain(one);
  });

  it("show them only to those who may read deployments", async () => {
    await app.call(`PUT ${project.path}`, { as: "owner", json: { visibility: "public" } });
    await app.call("PUT /groups/secret", { as: "owner", json: { visibility: "public" } });
    await app.call(`PUT ${project.path}`, { as: "owner", json: { visibility: "public" } });
    expect((await listed("")).length).toBeGreaterThan(0);
    expect((await listed("", "stranger")).length).toBeGreaterThan(0);
    for (const as of ["stranger", "guest", "anonymous"] as const) {
      expect([as, await listed("environment=production", as)]).toEqual([as, []]);
    }
    expect((await listed("environment=production")).length).toBeGreaterThan(0);
  });

  it("are narrowed by GraphQL, too", async () => {
    const found = async (args: string, as: Person) => {
      const query = `{ project(fullPath: "${project.fullPath}") {
        mergeRequests(sort: CREATED_ASC, ${args}) { nodes { iid } } } }`;
      const { json } = await app.call("POST /api/graphql", { as, json: { query } });
      expect(json.errors).toBeUndefined();
      return json.data.project.mergeRequests.nodes.map(({ iid }: { iid: string }) => Number(iid));
    };
    const narrow = 'environmentName: "beta", deployedAfter: "2000-01-01T00:00:00Z"';
    const inBeta = await listed("environment=beta");
    expect(inBeta.length).toBeGreaterThan(0);
    expect(await found(narrow, "reporter")).toEqual(inBeta);
    expect(await found(narrow, "guest")).toEqual([]);
    const never = 'environmentName: "beta", deployedBefore: "2000-01-01T00:00:00Z"';
    expect(await found(never, "reporter")).toEqual([]);
  });

  it("refuse what is no time", async () => {
    const { status } = await project.get("/merge_requests?deployed_after=yesterday");
    expect(status).toBe(400);
  });
});
