import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { doDue } from "../../src/resources/ci/timed.ts";
import { type Answer, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ background: false });
});
afterAll(() => app.dispose());

const CHILD = `
work:
  script: [make $TARGET]
`;

/** Starts a pipeline, and does what follows. */
async function start(project: CiProject, json: object = {}): Promise<number> {
  const made = await project.call("POST /pipeline", {
    as: "developer",
    json: { ref: "main", ...json },
  });
  expect(made.status).toBe(201);
  await app.admin.maintenance.runPipelines();
  return made.json.id;
}

const get = async (project: CiProject, path: string): Promise<Answer["json"]> =>
  (await project.call(`GET ${path}`, { as: "developer" })).json;

async function bridgeOf(project: CiProject, pipeline: number) {
  const [bridge, ...more] = await get(project, `/pipelines/${pipeline}/bridges`);
  expect(more).toEqual([]);
  return bridge;
}

/** Ends the only job of a pipeline, and does what follows. */
async function finish(project: CiProject, pipeline: number, status: "success" | "failed") {
  const [job] = await get(project, `/pipelines/${pipeline}/jobs`);
  await app.admin.jobs.finish(job.id, { status });
  await app.admin.maintenance.runPipelines();
}

const statusOf = async (project: CiProject, id: number) =>
  (await get(project, `/pipelines/${id}`)).status;

describe("a child pipeline", () => {
  it("is made of files of the commit, with the job's variables", async () => {
    const project = await ciProject(
      app,
      "parent",
      `start:\n  variables: { TARGET: all-$CI_COMMIT_BRANCH }\n  trigger: { include: child.yml }\n`,
    );
    const sha = await project.commit("child.yml", CHILD, "Add a child [skip ci]");
    const id = await start(project);
    const bridge = await bridgeOf(project, id);
    expect(bridge).toMatchObject({
      name: "start",
      status: "success",
      downstream_pipeline: {
        project_id: project.id,
        sha,
        ref: "main",
        source: "parent_pipeline",
        status: "pending",
        web_url: expect.stringContaining("/-/pipelines/"),
      },
    });
    const child = bridge.downstream_pipeline.id;
    expect(await get(project, `/pipelines/${child}/variables`)).toMatchObject([
      { key: "TARGET", value: "all-main" },
    ]);
    expect(await statusOf(project, id)).toBe("success");
    expect(await get(project, "/pipelines?status=success")).toMatchObject([{ id }]);
    expect(await get(project, "/pipelines?source=parent_pipeline")).toMatchObject([{ id: child }]);
    const removed = await project.call(`DELETE /pipelines/${id}`, { as: "owner" });
    expect(removed.status).toBe(204);
    expect((await project.call(`GET /pipelines/${child}`, { as: "developer" })).status).toBe(404);
  });

  it("decides how its job ends if that depends on it, also when it is tried again", async () => {
    const project = await ciProject(
      app,
      "depending",
      `stages: [one, two]
start:
  stage: one
  trigger: { include: [{ local: child.yml }], strategy: depend, forward: { pipeline_variables: true } }
after:
  stage: two
  script: [make]
`,
    );
    await project.commit("child.yml", CHILD, "Add a child [skip ci]");
    const id = await start(project, { variables: [{ key: "GIVEN", value: "1" }] });
    const { status, downstream_pipeline } = await bridgeOf(project, id);
    const child = downstream_pipeline.id;
    expect(status).toBe("running");
    expect(await get(project, `/pipelines/${child}/variables`)).toMatchObject([{ key: "GIVEN" }]);
    await finish(project, child, "failed");
    expect((await bridgeOf(project, id)).status).toBe("failed");
    expect(await statusOf(project, id)).toBe("failed");
    await project.call(`POST /pipelines/${child}/retry`, { as: "developer" });
    await finish(project, child, "success");
    expect((await bridgeOf(project, id)).status).toBe("success");
    expect(await get(project, `/pipelines/${id}/jobs`)).toMatchObject([{ status: "pending" }]);
  });

  it("is canceled with its parent", async () => {
    const project = await ciProject(
      app,
      "canceling",
      "start:\n  trigger: { include: child.yml, strategy: depend }\n",
    );
    await project.commit("child.yml", CHILD, "Add a child [skip ci]");
    const id = await start(project);
    const child = (await bridgeOf(project, id)).downstream_pipeline.id;
    await project.call(`POST /pipelines/${id}/cancel`, { as: "developer" });
    expect([await statusOf(project, id), await statusOf(project, child)]).toEqual([
      "canceled",
      "canceled",
    ]);
  });

  it("that can't be made fails its job, which says why", async () => {
    const project = await ciProject(
      app,
      "childless",
      "start:\n  trigger: { include: missing.yml }\n",
    );
    const id = await start(project);
    expect(await bridgeOf(project, id)).toMatchObject({
      status: "failed",
      failure_reason: "downstream_pipeline_creation_failed",
      downstream_pipeline: null,
    });
    expect(await statusOf(project, id)).toBe("failed");
  });

  it("has children, but no grandchildren", async () => {
    const again = "start:\n  trigger: { include: .gitlab-ci.yml }\n";
    const project = await ciProject(app, "generations", again);
    await start(project);
    const children = await get(project, "/pipelines?source=parent_pipeline&sort=asc");
    expect(children).toHaveLength(2);
    expect((await bridgeOf(project, children[1].id)).failure_reason).toBe(
      "reached_max_descendant_pipelines_depth",
    );
  });
});

describe("a pipeline of another project", () => {
  it("is started there as the job's user, once", async () => {
    const below = await ciProject(
      app,
      "below",
      "back:\n  trigger: { project: secret/above, branch: main }\n",
    );
    const above = await ciProject(app, "above", "start:\n  trigger: secret/$BELOW\n");
    const id = await start(above, { variables: [{ key: "BELOW", value: "below" }] });
    const bridge = await bridgeOf(above, id);
    expect(bridge).toMatchObject({
      status: "success",
      downstream_pipeline: { project_id: below.id, source: "pipeline", ref: "main" },
    });
    const back = await bridgeOf(below, bridge.downstream_pipeline.id);
    expect([back.status, back.failure_reason]).toEqual(["failed", "pipeline_loop_detected"]);
  });

  it("is neither started nor shown where the user sees nothing", async () => {
    const { json: hidden } = await app.call("POST /projects", {
      as: "owner",
      json: { name: "hidden", path: "hidden", initialize_with_readme: true },
    });
    const project = await ciProject(
      app,
      "curious",
      `start:\n  trigger: ${hidden.path_with_namespace}\n`,
    );
    const id = await start(project);
    expect(await bridgeOf(project, id)).toMatchObject({
      status: "failed",
      failure_reason: "downstream_bridge_project_not_found",
    });
    const commit = { branch: "main", commit_message: "Configure [skip ci]" };
    await app.call(`POST /projects/${hidden.id}/repository/commits`, {
      as: "owner",
      json: {
        ...commit,
        actions: [{ action: "create", file_path: ".gitlab-ci.yml", content: CHILD }],
      },
    });
    const made = await project.call("POST /pipeline", { as: "owner", json: { ref: "main" } });
    await app.admin.maintenance.runPipelines();
    const path = `/pipelines/${made.json.id}/bridges`;
    const owner = await project.call(`GET ${path}`, { as: "owner" });
    expect(owner.json[0].downstream_pipeline).toMatchObject({ project_id: hidden.id });
    const [shown] = await get(project, path);
    expect([shown.status, shown.downstream_pipeline]).toEqual(["success", null]);
  });
});

describe("a job that stands for another project's pipeline", () => {
  const mirrorOf = async (name: string, path: string) => {
    const needs = { pipeline: path };
    return ciProject(
      app,
      name,
      JSON.stringify({
        stages: ["one", "two"],
        up: { stage: "one", needs },
        after: { stage: "two", script: "x" },
      }),
    );
  };

  it("has the status of the newest one of its default branch, also once that ends", async () => {
    const upstream = await ciProject(app, "mirrored", CHILD);
    const project = await mirrorOf("mirrors", "secret/$NAME");
    const variables = [{ key: "NAME", value: "mirrored" }];
    // The newest one is of a commit with [skip ci].
    const skipped = await start(project, { variables });
    expect(await bridgeOf(project, skipped)).toMatchObject({
      ...{ status: "failed", downstream_pipeline: null },
    });
    const above = await start(upstream);
    const ids = [await start(project, { variables }), await start(project, { variables })];
    for (const id of ids) expect((await bridgeOf(project, id)).status).toBe("running");
    await finish(upstream, above, "success");
    for (const id of ids) {
      expect((await bridgeOf(project, id)).status).toBe("success");
      expect(await get(project, `/pipelines/${id}/jobs`)).toMatchObject([{ status: "pending" }]);
    }
    const ended = await start(project, { variables });
    expect((await bridgeOf(project, ended)).status).toBe("success");
    await finish(upstream, await start(upstream), "failed");
    const failed = await start(project, { variables });
    expect((await bridgeOf(project, failed)).status).toBe("failed");
    expect(await statusOf(project, failed)).toBe("failed");
  });

  it("is canceled once that, or a pipeline that a job has started and waits for, is deleted", async () => {
    const upstream = await ciProject(app, "short-lived", CHILD);
    const mirrors = await mirrorOf("outliving", "secret/short-lived");
    const trigger = { project: "secret/short-lived", strategy: "depend" };
    const starting = await ciProject(
      app,
      "starting",
      JSON.stringify({ up: { trigger, allow_failure: true } }),
    );
    // Those of the commits above, which are skipped.
    await app.admin.maintenance.runPipelines();
    const above = await start(upstream);
    const waiting = await start(mirrors);
    const started = await start(starting);
    const below = (await bridgeOf(starting, started)).downstream_pipeline.id;
    const ends = async () => {
      await doDue(app.store, Date.now());
      const bridges = [await bridgeOf(mirrors, waiting), await bridgeOf(starting, started)];
      return bridges.map(({ status }) => status);
    };
    expect(await ends()).toEqual(["running", "running"]);
    await upstream.call(`DELETE /pipelines/${above}`, { as: "owner" });
    expect(await ends()).toEqual(["canceled", "running"]);
    expect(await statusOf(mirrors, waiting)).toBe("canceled");
    await upstream.call(`DELETE /pipelines/${below}`, { as: "owner" });
    expect(await ends()).toEqual(["canceled", "canceled"]);
    expect(await statusOf(starting, started)).toBe("success");
  });

  it("fails if its user may not see that", async () => {
    const { json: hidden } = await app.call("POST /projects", {
      ...{ as: "stranger", json: { name: "hidden-upstream" } },
    });
    const project = await mirrorOf("peeking", hidden.path_with_namespace);
    expect(await bridgeOf(project, await start(project))).toMatchObject({
      ...{ status: "failed", failure_reason: "upstream_bridge_project_not_found" },
    });
  });
});
