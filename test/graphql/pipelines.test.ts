import { afterAll, beforeAll, expect, it } from "vitest";
import { type CiProject, ciProject } from "../api/_pipelines.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

let app: TestApp;
let project: CiProject;
let first: number;
beforeAll(async () => {
  app = await testApp();
  project = await ciProject(
    app,
    "shown",
    `
stages: [build, test, deploy]
compile: {stage: build, script: [x], tags: [linux]}
check: {stage: test, script: [x], coverage: '/(\\d+)%/'}
style: {stage: test, script: [x], allow_failure: true}
publish: {stage: deploy, script: [x], when: manual}
`,
  );
  const ids = async () => {
    const { json } = await project.call("POST /pipeline?ref=main", { as: "developer" });
    const jobs = await project.call(`GET /pipelines/${json.id}/jobs`, { as: "developer" });
    first ??= json.id;
    return Object.fromEntries(
      jobs.json.map(({ name, id }: { name: string; id: number }) => [name, id]),
    );
  };
  const done = await ids();
  await app.admin.jobs.finish(done["compile"], { status: "success" });
  await app.admin.jobs.finish(done["check"], { status: "success", log: "87%\n" });
  await app.admin.jobs.finish(done["style"], { status: "failed" });
  await ids();
});
afterAll(() => app.dispose());

const of = (fields: string) => `{ project(fullPath: "secret/shown") { ${fields} } }`;

it("pipelines are what REST shows, with their stages and jobs", async () => {
  const { json: rest } = await project.call(`GET /pipelines/${first}`, { as: "developer" });
  const { json: jobs } = await project.call(`GET /pipelines/${first}/jobs`, { as: "developer" });
  const shown = await ask(
    app,
    of(`pipeline(iid: "1") { id iid status active ref sha source path coverage warnings duration
      createdAt user { username } project { fullPath }
      detailedStatus { text label group icon tooltip favicon hasDetails detailsPath }
      stages { nodes { name status detailedStatus { group } } }
      jobs { count nodes { id name status allowFailure stage { name } tags webPath coverage manualJob
        detailedStatus { text label group detailsPath } pipeline { iid } } } }`),
  );
  const path = `/secret/shown/-/pipelines/${first}`;
  const { pipeline } = shown.project;
  expect(pipeline).toMatchObject({
    id: `gid://gitlab/Ci::Pipeline/${first}`,
    iid: "1",
    status: "SUCCESS",
    active: false,
    ref: "main",
    sha: project.sha,
    source: "api",
    path,
    coverage: 87,
    warnings: true,
    duration: rest.duration,
    user: { username: "developer" },
    project: { fullPath: "secret/shown" },
  });
  const {
    has_details: hasDetails,
    details_path: detailsPath,
    illustration: _,
    ...same
  } = rest.detailed_status;
  expect(pipeline.detailedStatus).toEqual({ ...same, hasDetails, detailsPath });
  expect(pipeline.stages.nodes).toEqual([
    { name: "build", status: "success", detailedStatus: { group: "success" } },
    { name: "test", status: "success", detailedStatus: { group: "success-with-warnings" } },
    { name: "deploy", status: "skipped", detailedStatus: { group: "skipped" } },
  ]);
  expect(pipeline.jobs.count).toBe(4);
  const [compile, check, style, publish] = pipeline.jobs.nodes;
  expect(compile).toMatchObject({
    id: `gid://gitlab/Ci::Build/${jobs.at(-1).id}`,
    name: "compile",
    status: "SUCCESS",
    allowFailure: false,
    stage: { name: "build" },
    tags: ["linux"],
    webPath: `/secret/shown/-/jobs/${jobs.at(-1).id}`,
    detailedStatus: { text: "Passed", label: "passed", group: "success" },
    pipeline: { iid: "1" },
  });
  expect(check.coverage).toBe(87);
  expect(style.detailedStatus).toMatchObject({
    text: "Failed",
    label: "failed (allowed to fail)",
    group: "failed-with-warnings",
  });
  expect(publish).toMatchObject({
    manualJob: true,
    detailedStatus: { text: "Manual", label: "manual play action", group: "manual" },
  });
});

it("pipelines are listed, the newest first, and filtered", async () => {
  const { project: shown } = await ask(
    app,
    of(`all: pipelines { count nodes { iid } } newest: pipelines(first: 1) { nodes { iid } }
      passed: pipelines(status: SUCCESS) { nodes { iid } }
      other: pipelines(ref: "other") { nodes { iid } }
      own: pipelines(ref: "main", source: "api", username: "Developer", sha: "${project.sha}") { count }
      bySha: pipeline(sha: "${project.sha}") { iid }
      none: pipeline(iid: "9") { iid }
      waiting: pipeline(iid: "2") { jobs(statuses: [PENDING], retried: false) { nodes { name } } }`),
  );
  expect(shown).toEqual({
    all: { count: 2, nodes: [{ iid: "2" }, { iid: "1" }] },
    newest: { nodes: [{ iid: "2" }] },
    passed: { nodes: [{ iid: "1" }] },
    other: { nodes: [] },
    own: { count: 2 },
    bySha: { iid: "2" },
    none: null,
    waiting: { jobs: { nodes: [{ name: "compile" }] } },
  });
});

it("pipelines are for those whom REST shows them to", async () => {
  await project.call("PUT ?public_jobs=false", { as: "owner" });
  const seen = async (as: "guest" | "reporter") =>
    (await ask(app, of("pipelines { count nodes { iid jobs { nodes { name } } } }"), {}, as))
      .project;
  expect((await seen("guest")).pipelines).toEqual({ count: 0, nodes: [] });
  expect((await seen("reporter")).pipelines.count).toBe(2);
});
