import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ciProject, THREE_STAGES } from "./_pipelines.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

it("ends jobs as their runners would", async () => {
  const project = await ciProject(app, "finish", THREE_STAGES);
  const { json: pipeline } = await project.call("POST /pipeline", {
    as: "developer",
    json: { ref: "main" },
  });
  const { json } = await project.call(`GET /pipelines/${pipeline.id}/jobs`, { as: "developer" });
  const ids = Object.fromEntries(
    json.map(({ name, id }: { name: string; id: number }) => [name, id]),
  ) as Record<string, number>;
  const [compile, check] = [ids["compile"], ids["check"]] as [number, number];
  await expect(app.admin.jobs.finish(check)).rejects.toThrow("The job is created");
  await expect(app.admin.jobs.finish(4711)).rejects.toThrow("404 Job Not Found");
  expect(await app.admin.jobs.finish(compile, { log: "made\n" })).toEqual({
    id: compile,
    pipeline_id: pipeline.id,
    pipeline_status: "running",
  });
  const trace = await project.call(`GET /jobs/${compile}/trace`, { as: "developer" });
  expect(trace.text).toBe("made\n");
  const end = { status: "failed", failure_reason: "script_failure", exit_code: 2 } as const;
  expect((await app.admin.jobs.finish(check, end)).pipeline_status).toBe("failed");
  const { json: job } = await project.call(`GET /jobs/${check}`, { as: "developer" });
  expect(job).toMatchObject({
    status: "failed",
    failure_reason: "script_failure",
    started_at: expect.any(String),
    finished_at: expect.any(String),
  });
  await expect(app.admin.jobs.finish(check)).rejects.toThrow("The job is failed");
});
