// Jobs that get artifacts of other projects, and of pipelines above theirs.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, runnerOf, sendArtifacts, takeJob } from "./_pipelines.ts";
import { zipped } from "./_zip.ts";

let app: TestApp;
let tools: CiProject;
beforeAll(async () => {
  app = await testApp({ background: false });
  tools = await ciProject(
    app,
    "built-tools",
    "build: { script: [make], artifacts: { paths: [tool] } }\n",
  );
});
afterAll(() => app.dispose());

const run = async (project: CiProject): Promise<number> => {
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  expect(made.status, made.text).toBe(201);
  await app.admin.maintenance.runPipelines();
  return made.json.id;
};
/** Does the next job of a project, which leaves a file. */
async function build(project: CiProject, content: string) {
  const job = await takeJob(app, await runnerOf(app, project));
  await sendArtifacts(app, job, zipped({ tool: content }));
  await app.admin.jobs.finish(job.id, { status: "success" });
  return job;
}
async function download(job: { token: string }, id: number) {
  const response = await app.fetch(`http://pm.test/api/v4/jobs/${id}/artifacts`, {
    headers: { "job-token": job.token },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) return response.status;
  return ["one", "two", "made"].find((content) => bytes.equals(zipped({ tool: content })));
}
const failureOf = async (project: CiProject, pipeline: number) => {
  const { json } = await project.call(`GET /pipelines/${pipeline}/jobs`, { as: "developer" });
  return [json[0].status, json[0].failure_reason];
};
const MISSING = ["failed", "missing_dependency_failure"];
const allow = (project: CiProject) =>
  tools.call("POST /job_token_scope/allowlist", {
    as: "owner",
    json: { target_project_id: project.id },
  });

const needing = (more: object = {}) =>
  JSON.stringify({
    use: {
      script: ["./tool"],
      needs: [{ project: "secret/$TOOLS", job: "build", ref: "main", artifacts: true, ...more }],
      variables: { TOOLS: "built-tools" },
    },
  });

describe("a job of another project", () => {
  it("gives its artifacts, if it is there and the token is taken", async () => {
    const project = await ciProject(app, "uses-tools", needing());
    const early = await run(project);
    const runner = await runnerOf(app, project);
    const ask = () => app.call("POST /jobs/request", { json: { token: runner } });
    expect((await ask()).status).toBe(204);
    expect(await failureOf(project, early)).toEqual(MISSING);

    await run(tools);
    const one = await build(tools, "one");
    const refused = await run(project);
    expect((await ask()).status).toBe(204);
    expect(await failureOf(project, refused)).toEqual(MISSING);

    expect((await allow(project)).status).toBe(201);
    await run(project);
    const taken = await takeJob(app, runner);
    expect(taken.dependencies).toEqual([
      {
        ...{ id: one.id, name: "build", token: taken.token },
        artifacts_file: { filename: "artifacts.zip", size: expect.any(Number) },
      },
    ]);
    expect(await download(taken, one.id)).toBe("one");
    // A newer one is another one's.
    await run(tools);
    const two = await build(tools, "two");
    expect(await download(taken, two.id)).toBe("two");
    expect(await download(taken, one.id)).toBe(403);
  });

  it("gives nothing to whoever may not see it", async () => {
    const { json: mine } = await app.call("POST /projects", {
      as: "stranger",
      json: { name: "nosy", initialize_with_readme: true },
    });
    const own = `/projects/${mine.id}`;
    const file = {
      branch: mine.default_branch,
      content: needing(),
      commit_message: "CI [skip ci]",
    };
    await app.call(`POST ${own}/repository/files/.gitlab-ci.yml`, { as: "stranger", json: file });
    await tools.call("PATCH /job_token_scope", { as: "owner", json: { enabled: false } });
    try {
      const made = await app.call(`POST ${own}/pipeline`, {
        as: "stranger",
        json: { ref: mine.default_branch },
      });
      const { json: runner } = await app.call("POST /user/runners", {
        as: "stranger",
        json: { runner_type: "project_type", project_id: mine.id },
      });
      expect((await app.call("POST /jobs/request", { json: { token: runner.token } })).status).toBe(
        204,
      );
      const { json: jobs } = await app.call(`GET ${own}/pipelines/${made.json.id}/jobs`, {
        as: "stranger",
      });
      expect([jobs[0].status, jobs[0].failure_reason]).toEqual(MISSING);
    } finally {
      await tools.call("PATCH /job_token_scope", { as: "owner", json: { enabled: true } });
    }
  });
});

describe("a job of a pipeline above", () => {
  const CHILD = JSON.stringify({
    use: { script: ["./tool"], needs: [{ pipeline: "$ABOVE", job: "make" }] },
  });
  const above = (variable: string) =>
    JSON.stringify({
      stages: ["build", "test"],
      make: { stage: "build", script: ["make"], artifacts: { paths: ["tool"] } },
      start: { stage: "test", variables: { ABOVE: variable }, trigger: { include: "child.yml" } },
    });
  const childOf = async (project: CiProject, pipeline: number) => {
    const { json } = await project.call(`GET /pipelines/${pipeline}/bridges`, { as: "developer" });
    return json[0].downstream_pipeline.id as number;
  };

  it("gives its artifacts", async () => {
    const project = await ciProject(app, "parent-of-user", above("$CI_PIPELINE_ID"));
    await project.commit("child.yml", CHILD, "Child [skip ci]");
    const id = await run(project);
    const made = await build(project, "made");
    await app.admin.maintenance.runPipelines();
    const taken = await takeJob(app, await runnerOf(app, project));
    expect([taken.job_info.name, taken.dependencies.map(({ id }: { id: number }) => id)]).toEqual([
      ...["use", [made.id]],
    ]);
    expect(await download(taken, made.id)).toBe("made");
    expect(await childOf(project, id)).toBe(
      Number(taken.variables.find(({ key }: { key: string }) => key === "CI_PIPELINE_ID").value),
    );
  });

  it("gives nothing of a pipeline that is not above", async () => {
    const project = await ciProject(app, "stranger-pipelines", above("$OTHER"));
    await project.commit("child.yml", CHILD, "Child [skip ci]");
    const other = await run(project);
    await build(project, "other");
    await app.admin.maintenance.runPipelines();
    await project.call("POST /variables", {
      as: "owner",
      json: { key: "OTHER", value: String(other) },
    });
    const id = await run(project);
    await build(project, "own");
    await app.admin.maintenance.runPipelines();
    expect(
      (await app.call("POST /jobs/request", { json: { token: await runnerOf(app, project) } }))
        .status,
    ).toBe(204);
    expect(await failureOf(project, await childOf(project, id))).toEqual(MISSING);
  });
});
