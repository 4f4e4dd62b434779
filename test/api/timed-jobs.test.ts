import { afterAll, beforeAll, expect, it } from "vitest";
import { doDue } from "../../src/resources/ci/timed.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { ciProject } from "./_pipelines.ts";

const START = Date.parse("2026-06-15T12:00:00.000Z");
let clock = START;
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

it("starts delayed jobs at their time, and ends those that take too long", async () => {
  const project = await ciProject(
    app,
    "timed",
    `
later: { script: [make], when: delayed, start_in: 10 minutes }
check: { script: [make], timeout: 20 minutes }
`,
  );
  await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  const statuses = async () => {
    const { json } = await project.call("GET /jobs", { as: "developer" });
    return Object.fromEntries(
      json.map(({ name, status }: { name: string; status: string }) => [name, status]),
    );
  };
  expect(await statuses()).toEqual({ later: "scheduled", check: "pending" });
  const { json: runner } = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: project.id },
  });
  const ask = () => app.call("POST /jobs/request", { json: { token: runner.token } });
  const { json: check } = await ask();
  expect(check.runner_info.timeout).toBe(1200);
  clock += 599_999;
  await doDue(app.store, clock);
  expect(await statuses()).toEqual({ later: "scheduled", check: "running" });
  clock += 1;
  await doDue(app.store, clock);
  expect(await statuses()).toEqual({ later: "pending", check: "running" });
  clock += 599_999;
  await doDue(app.store, clock);
  expect((await statuses())["check"]).toBe("running");
  clock += 1;
  await doDue(app.store, clock);
  expect((await statuses())["check"]).toBe("failed");
  const { json } = await project.call(`GET /jobs/${check.id}`, { as: "developer" });
  expect(json.failure_reason).toBe("job_execution_timeout");
  // One that nothing is heard of ends, too, even if it may take longer.
  const { json: later } = await ask();
  expect(later.job_info.name).toBe("later");
  clock += 3_600_000;
  await doDue(app.store, clock);
  expect((await statuses())["later"]).toBe("failed");
});

it("deletes artifacts that have expired", async () => {
  const project = await ciProject(app, "expiring", "check: { script: [make] }");
  await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  const { json: runner } = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: project.id },
  });
  const { json } = await app.call("POST /jobs/request", { json: { token: runner.token } });
  const form = new FormData();
  form.append("file", new Blob(["PK"]), "artifacts.zip");
  await app.call(`POST /jobs/${json.id}/artifacts?expire_in=1+hour`, {
    headers: { "job-token": json.token },
    body: form,
  });
  const status = async () =>
    (await project.call(`GET /jobs/${json.id}/artifacts`, { as: "developer" })).status;
  clock += 3_599_999;
  await doDue(app.store, clock);
  expect(await status()).toBe(200);
  clock += 1;
  await doDue(app.store, clock);
  expect(await status()).toBe(404);
});
