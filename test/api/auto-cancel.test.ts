// Which older pipelines a newer one of the same branch or merge request cancels, and what the failure of a job does.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
let time = Date.parse("2026-11-25T10:00:00Z");
beforeAll(async () => {
  app = await testApp({ background: false, now: () => time });
});
afterAll(() => app.dispose());

const as = "developer" as const;

/** Makes a commit, and a pipeline of it. @returns the pipeline's id */
async function start(project: CiProject, ref = "main"): Promise<number> {
  if (ref === "main") await project.commit("a", String(time), "Change [skip ci]");
  time += 1000;
  const made = await project.call("POST /pipeline", { as, json: { ref } });
  expect(made.status, made.text).toBe(201);
  return made.json.id;
}

const statusOf = async (project: CiProject, id: number) =>
  (await project.call(`GET /pipelines/${id}`, { as })).json.status;
const jobsOf = async (project: CiProject, id: number): Promise<Record<string, string>> => {
  const { json } = await project.call(`GET /pipelines/${id}/jobs`, { as });
  return Object.fromEntries(
    json.map(({ name, status }: { name: string; status: string }) => [name, status]),
  );
};
async function idOf(project: CiProject, pipeline: number, wanted: string): Promise<number> {
  const { json } = await project.call(`GET /pipelines/${pipeline}/jobs`, { as });
  return json.find(({ name }: { name: string }) => name === wanted).id;
}

/** Lets a runner take all jobs that are pending. */
async function run(project: CiProject): Promise<void> {
  const json = { runner_type: "project_type", project_id: project.id };
  const { token } = (await app.call("POST /user/runners", { as: "owner", json })).json;
  for (;;) {
    const { status } = await app.call("POST /jobs/request", { json: { token } });
    if (status === 204) return;
    expect(status).toBe(201);
  }
}

const INTERRUPTIBLE = "a: {script: [make], interruptible: true}\n";
const PLAIN = "a: {script: [make]}\n";
const BOTH = `${INTERRUPTIBLE}b: {script: [make]}\n`;
const onNewCommit = (how: string) => `workflow: {auto_cancel: {on_new_commit: ${how}}}\n`;

describe("a newer pipeline", () => {
  it("cancels older ones whose jobs may be interrupted, or have not begun", async () => {
    for (const [name, configuration, expected] of [
      ["interruptible", INTERRUPTIBLE, "canceled"],
      ["plain", PLAIN, "running"],
      ["both", BOTH, "running"],
    ] as const) {
      const project = await ciProject(app, name, configuration);
      const waiting = await start(project);
      const running = await start(project);
      expect([name, await statusOf(project, waiting)]).toEqual([name, "canceled"]);
      await run(project);
      const newest = await start(project);
      expect([name, await statusOf(project, running)]).toEqual([name, expected]);
      expect(await statusOf(project, newest)).toBe("pending");
    }
  });

  it("cancels what the older one's configuration says", async () => {
    const some = await ciProject(app, "some", onNewCommit("interruptible") + BOTH);
    const first = await start(some);
    await run(some);
    await start(some);
    expect(await jobsOf(some, first)).toEqual({ a: "canceled", b: "running" });
    const none = await ciProject(app, "none", onNewCommit("none") + INTERRUPTIBLE);
    const stays = await start(none);
    await none.commit(".gitlab-ci.yml", INTERRUPTIBLE, "Configure [skip ci]");
    const canceled = await start(none);
    await start(none);
    expect(await statusOf(none, stays)).toBe("pending");
    expect(await statusOf(none, canceled)).toBe("canceled");
    const rules = await ciProject(
      app,
      "rules",
      `workflow: {auto_cancel: {on_new_commit: none}, rules: [{when: always, auto_cancel: {on_new_commit: conservative}}]}\n${PLAIN}`,
    );
    const ruled = await start(rules);
    await start(rules);
    expect(await statusOf(rules, ruled)).toBe("canceled");
  });

  it("cancels none of the same commit, of other branches, of what waits for somebody, or of more than a week ago", async () => {
    const project = await ciProject(app, "others", PLAIN);
    const same = await start(project);
    await project.call("POST /repository/branches", {
      as: "owner",
      json: { branch: "other", ref: "main" },
    });
    const other = await start(project, "other");
    const again = (await project.call("POST /pipeline", { as, json: { ref: "main" } })).json.id;
    expect(await statusOf(project, same)).toBe("pending");
    time += 8 * 24 * 60 * 60 * 1000;
    await start(project);
    expect([await statusOf(project, same), await statusOf(project, again)]).toEqual([
      ...["pending", "pending"],
    ]);
    expect(await statusOf(project, other)).toBe("pending");
    const manual = await ciProject(
      app,
      "manual",
      "a: {script: [x], when: manual, allow_failure: false}\n",
    );
    const waits = await start(manual);
    await start(manual);
    expect(await statusOf(manual, waits)).toBe("manual");
  });

  it("cancels older ones of its merge request", async () => {
    const project = await ciProject(
      app,
      "request",
      "a: {script: [make], rules: [{if: $CI_MERGE_REQUEST_IID}]}\n",
    );
    const change = (branch: string, more: object) =>
      project.call("POST /repository/commits", {
        as,
        json: {
          ...{ branch, commit_message: "Change [skip ci]", ...more },
          actions: [{ action: "create", file_path: `f${time}`, content: "a" }],
        },
      });
    await change("change", { start_branch: "main" });
    const json = { title: "Change", source_branch: "change", target_branch: "main" };
    const { iid } = (await project.call("POST /merge_requests", { as, json })).json;
    const begin = async () => {
      time += 1000;
      return (await project.call(`POST /merge_requests/${iid}/pipelines`, { as })).json.id;
    };
    const first = await begin();
    await change("change", {});
    const second = await begin();
    expect(await statusOf(project, first)).toBe("canceled");
    expect(await statusOf(project, second)).toBe("pending");
  });

  it("cancels nothing in projects that do not want it", async () => {
    const project = await ciProject(app, "disabled", INTERRUPTIBLE);
    const set = (auto_cancel_pending_pipelines: string) =>
      project.call("PUT ", { as: "owner", json: { auto_cancel_pending_pipelines } });
    expect((await set("disabled")).json.auto_cancel_pending_pipelines).toBe("disabled");
    const first = await start(project);
    await start(project);
    expect(await statusOf(project, first)).toBe("pending");
    await set("enabled");
    await start(project);
    expect(await statusOf(project, first)).toBe("canceled");
  });
});

it("a failed job cancels the others where the configuration says so", async () => {
  for (const [how, more, expected] of [
    ["all", "", "canceled"],
    ["none", "", "running"],
    ["all", ", allow_failure: true", "running"],
    ["all", ", retry: 1", "running"],
  ] as const) {
    const project = await ciProject(
      app,
      `fails-${time}`,
      `workflow: {auto_cancel: {on_job_failure: ${how}}}\na: {script: [make]${more}}\nb: {script: [make]}\n`,
    );
    const pipeline = await start(project);
    await run(project);
    await app.admin.jobs.finish(await idOf(project, pipeline, "a"), { status: "failed" });
    expect([how, more, (await jobsOf(project, pipeline))["b"]]).toEqual([how, more, expected]);
  }
});
