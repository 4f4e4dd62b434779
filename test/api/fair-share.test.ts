// Whose job a runner of all projects gets next.
import { afterAll, beforeAll, expect, it } from "vitest";
import { engine, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, runnerOf, takeJob } from "./_pipelines.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await testApp();
  const json = { runner_type: "instance_type" };
  token = (await app.call("POST /user/runners", { as: "admin", json })).json.token;
});
afterAll(() => app.dispose());

/** A project of which a pipeline has so many jobs. */
async function withJobs(name: string, count: number, tags = ""): Promise<CiProject> {
  const project = await ciProject(
    app,
    name,
    `work:\n  script: [make]\n  parallel: ${count}\n${tags}`,
  );
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  expect(made.status, made.text).toBe(201);
  return project;
}

/** Takes jobs of all projects, and tells whose they were. */
async function take(count: number, by = token) {
  const taken = [];
  for (let at = 0; at < count; at += 1) {
    const job = await takeJob(app, by);
    taken.push({ ...job, name: job.job_info.project_name });
  }
  return taken;
}
const namesOf = (jobs: readonly { name: string }[]) => jobs.map(({ name }) => name);

it("is one of the project of which the fewest run, and then the oldest; other runners take the oldest", async () => {
  const many = await withJobs("many", 8);
  await withJobs("special", 2, "  tags: [gpu]\n");
  await withJobs("some", 3);
  await withJobs("few", 2);
  const taken = await take(7);
  expect(namesOf(taken)).toEqual(["many", "some", "few", "many", "some", "few", "many"]);
  // Those of "some" have ended, so that it has none that runs.
  for (const { id, name, token: own } of taken.filter(({ name }) => name === "some")) {
    const ended = await app.call(`PUT /jobs/${id}`, { json: { token: own, state: "success" } });
    expect([name, ended.status]).toEqual(["some", 200]);
  }
  // What a project's own runner does takes nothing of its share.
  const own = await runnerOf(app, many);
  expect(namesOf(await take(2, own))).toEqual(["many", "many"]);
  expect(namesOf(await take(2))).toEqual(["some", "many"]);
  const { json: group } = await app.call("GET /groups/secret", { as: "owner" });
  const ofGroup = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "group_type", group_id: group.id },
  });
  await withJobs("late", 1);
  expect(namesOf(await take(3, ofGroup.json.token))).toEqual(["many", "many", "late"]);
  expect((await app.call("POST /jobs/request", { json: { token } })).status).toBe(204);
});

it("is found by as many statements however many wait, by going from project to project", async () => {
  await withJobs("small", 3);
  await withJobs("large", 100);
  /** What the second jobs of both projects cost: the first also begin their pipelines. */
  const claims = [];
  for (const at of [0, 1, 2, 3]) {
    app.statements.length = 0;
    const [job] = await take(1);
    claims[at] = { name: job?.name, count: app.statements.length };
  }
  const count = claims[2]?.count;
  expect(claims.map(({ name }) => name)).toEqual(["small", "large", "small", "large"]);
  expect(claims.slice(2).map((claim) => claim.count)).toEqual([count, count]);
  if (engine !== "sqlite") return;
  const choice = app.statements.find((sql) => sql.startsWith("with recursive waiting")) as string;
  const rows = await app.store.rows(
    `explain query plan ${choice}`,
    Array.from(choice.matchAll(/\?/g), () => null),
  );
  const scans = rows.map((row) => String(row.at(-1))).filter((step) => step.startsWith("SCAN"));
  expect(scans).toEqual(["SCAN CONSTANT ROW", "SCAN w", "SCAN w"]);
});
