// DORA metrics: what is counted from deployments, merge requests and incidents, and on which day.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
let time = Date.parse("2026-10-30T12:00:00Z");

beforeAll(async () => {
  app = await testApp({ background: false, now: () => time });
  project = await newCodeProject(app);
  // Two deployments and two merges before the first one, in October.
  await mergeNow();
  time += 60_000;
  await mergeNow();
  time += 60_000;
  await deploy("production");
  await deploy("staging");
  await deploy("production", "failed");
  time = Date.parse("2026-11-02T08:00:00Z");
  await deploy("production");
  const first = await incident();
  await incident();
  time += 3_600_000;
  await project.send("PUT", `/issues/${first}`, { state_event: "close" });
  time = Date.parse("2026-11-05T08:00:00Z");
  const alone = await incident();
  time += 7_200_000;
  await project.send("PUT", `/issues/${alone}`, { state_event: "close" });
  await project.send("POST", "/issues", { title: "No incident" });
});
afterAll(() => app.dispose());

let branches = 0;
async function mergeNow() {
  branches += 1;
  const source = `dora-${branches}`;
  await project.commit(source, { [`${source}.txt`]: "text\n" }, { from: "main" });
  const { iid } = await project.open(source);
  const merged = await project.send("PUT", `/merge_requests/${iid}/merge`, {}, "maintainer");
  expect(merged.status, merged.text).toBe(200);
}

async function deploy(environment: string, status = "success") {
  const { json: branch } = await project.get("/repository/branches/main");
  const json = { environment, sha: branch.commit.id, ref: "main", tag: false, status: "running" };
  const made = await project.send("POST", "/deployments", json, "maintainer");
  expect(made.status, made.text).toBe(201);
  await project.send("PUT", `/deployments/${made.json.id}`, { status }, "maintainer");
  await app.admin.maintenance.runPipelines();
}

async function incident(): Promise<number> {
  const made = await project.send("POST", "/issues", { title: "Down", issue_type: "incident" });
  expect(made.status, made.text).toBe(201);
  return made.json.iid;
}

const metrics = (query: string, as: Person = "reporter") =>
  project.get(`/dora/metrics?${query}`, as);
const values = async (query: string) => (await metrics(query)).json;

it("deployments that succeeded are counted by the day on which they ended", async () => {
  const days = [
    { date: "2026-10-30", value: 1 },
    { date: "2026-11-02", value: 1 },
  ];
  expect(await values("metric=deployment_frequency")).toEqual(days);
  expect(await values("metric=deployment_frequency&interval=monthly")).toEqual([
    { date: "2026-10-01", value: 1 },
    { date: "2026-11-01", value: 1 },
  ]);
  expect(await values("metric=deployment_frequency&interval=all")).toEqual([
    { date: null, value: 2 },
  ]);
  const both = "environment_tiers[]=production&environment_tiers[]=staging";
  expect(await values(`metric=deployment_frequency&interval=all&${both}`)).toEqual([
    { date: null, value: 3 },
  ]);
  const until = "start_date=2026-10-29&end_date=2026-10-30";
  expect(await values(`metric=deployment_frequency&${until}`)).toEqual(days.slice(0, 1));
});

it("the lead time is the median from merges to the deployment that brought them", async () => {
  expect(await values("metric=lead_time_for_changes")).toEqual([
    { date: "2026-10-30", value: expect.closeTo(90, 0) },
  ]);
  const none = "environment_tiers[]=testing&interval=all";
  expect(await values(`metric=lead_time_for_changes&${none}`)).toEqual([
    { date: null, value: null },
  ]);
});

it("incidents are measured when they end, and compared with deployments when they begin", async () => {
  const restored = await values("metric=time_to_restore_service");
  expect(restored).toEqual([
    { date: "2026-11-02", value: expect.closeTo(3600, 0) },
    { date: "2026-11-05", value: expect.closeTo(7200, 0) },
  ]);
  const [whole] = await values("metric=time_to_restore_service&interval=all");
  expect(whole.value).toBeCloseTo(5400, 0);
  expect(await values("metric=change_failure_rate")).toEqual([
    { date: "2026-10-30", value: 0 },
    { date: "2026-11-02", value: 2 },
    { date: "2026-11-05", value: null },
  ]);
});

it("groups have those of all their projects", async () => {
  const path = "/groups/secret/dora/metrics?metric=deployment_frequency&interval=all";
  const { status, json } = await app.call(`GET ${path}`, { as: "owner" });
  expect([status, json]).toEqual([200, [{ date: null, value: 2 }]]);
});

it("takes the same statements whatever it counts", async () => {
  const count = async (query: string) => {
    app.statements.length = 0;
    await metrics(query);
    return app.statements.length;
  };
  const one = await count("metric=change_failure_rate&start_date=2026-11-02&end_date=2026-11-02");
  expect(await count("metric=change_failure_rate")).toBe(one);
});

it("is for reporters, of one of four metrics, and of 180 days at most", async () => {
  expect((await metrics("metric=deployment_frequency", "guest")).status).toBe(403);
  expect((await metrics("metric=deployment_frequency", "stranger")).status).toBe(404);
  expect((await metrics("metric=speed")).json.message).toEqual({
    metric: ["does not have a valid value"],
  });
  expect((await metrics("")).json.message).toBe('400 (Bad request) "metric" not given');
  for (const query of ["interval=weekly", "environment_tiers[]=moon", "start_date=x"]) {
    expect((await metrics(`metric=deployment_frequency&${query}`)).status, query).toBe(400);
  }
  const long = await metrics("metric=deployment_frequency&start_date=2026-01-01");
  expect(long.json.message).toBe("400 Bad request - Date range must be shorter than 180 days.");
  const back = "start_date=2026-11-02&end_date=2026-11-01";
  const wrong = await metrics(`metric=deployment_frequency&${back}`);
  expect(wrong.json.message).toBe(
    "400 Bad request - The start date must be earlier than the end date.",
  );
});
