import { afterAll, beforeAll, expect, it } from "vitest";
import { type CiProject, ciProject, THREE_STAGES } from "../api/_pipelines.ts";
import { everyone, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
let project: CiProject;
let first: string;
beforeAll(async () => {
  app = await testApp();
  project = await ciProject(app, "edited", THREE_STAGES);
  first = project.sha;
  await project.commit("ci/unit.yml", "unit:\n  script: [make unit]\n", "Add [skip ci]");
});
afterAll(() => app.dispose());

const CONTENT = `
include: /ci/unit.yml
stages: [build, test, deploy]
compile:
  stage: build
  script: [make]
  parallel: 2
check:
  before_script: [make]
  script: [make test]
  after_script: [make clean]
  tags: [linux]
  only: [tags]
  except: { variables: [$NEVER] }
  needs: [{ job: unit, optional: true }]
publish:
  stage: deploy
  when: manual
  environment: production
  script: [make publish]
`;
/** As the pipeline editor asks it. */
const QUERY = `
  query getCiConfigData($projectPath: ID!, $sha: String, $content: String!, $dryRun: Boolean) {
    ciConfig(projectPath: $projectPath, sha: $sha, content: $content, dryRun: $dryRun, skipVerifyProjectSha: false) {
      errors warnings mergedYaml status
      includes { location type blob raw extra contextProject contextSha }
      stages { nodes { name groups { nodes { name size jobs { nodes {
        name groupName stage script beforeScript afterScript allowFailure environment when tags
        only { refs } except { refs } needs { nodes { name } }
      } } } } } }
    }
  }`;
const variables = (more: object = {}) => ({
  projectPath: "secret/edited",
  content: CONTENT,
  ...more,
});

it("tells what is found in a configuration, by stages and groups of jobs", async () => {
  const { ciConfig } = await ask(app, QUERY, variables(), "developer");
  const { stages, mergedYaml, ...found } = ciConfig;
  expect(found).toMatchObject({ errors: [], warnings: [], status: "VALID" });
  expect(mergedYaml).toMatch(/^---\n/);
  expect(mergedYaml).toContain("make unit");
  expect(found.includes).toEqual([
    {
      location: "ci/unit.yml",
      type: "local",
      blob: expect.stringContaining("/secret/edited/-/blob/"),
      raw: expect.stringContaining("/secret/edited/-/raw/"),
      extra: {},
      contextProject: "secret/edited",
      contextSha: expect.stringMatching(/^[0-9a-f]{40}$/),
    },
  ]);
  const names = stages.nodes.map(({ name, groups }: { name: string; groups: { nodes: [] } }) => [
    name,
    groups.nodes.map((group: { name: string; size: number }) => [group.name, group.size]),
  ]);
  expect(names).toEqual([
    ["build", [["compile", 2]]],
    [
      "test",
      [
        ["unit", 1],
        ["check", 1],
      ],
    ],
    ["deploy", [["publish", 1]]],
  ]);
  const compiling = stages.nodes[0].groups.nodes[0].jobs.nodes;
  expect(compiling.map(({ name }: { name: string }) => name)).toEqual([
    "compile 1/2",
    "compile 2/2",
  ]);
  expect(stages.nodes[1].groups.nodes[1].jobs.nodes).toEqual([
    {
      name: "check",
      groupName: "check",
      stage: "test",
      script: ["make test"],
      beforeScript: ["make"],
      afterScript: ["make clean"],
      allowFailure: false,
      environment: null,
      when: "on_success",
      tags: ["linux"],
      only: { refs: ["tags"] },
      except: { refs: null },
      needs: { nodes: [{ name: "unit" }] },
    },
  ]);
  expect(stages.nodes[2].groups.nodes[0].jobs.nodes[0]).toMatchObject({
    environment: "production",
    when: "manual",
    needs: { nodes: [] },
  });
});

it("tells errors, includes files of the commit that is named, and plans a pipeline", async () => {
  const { ciConfig: wrong } = await ask(app, QUERY, variables({ content: "a: {}" }), "developer");
  expect(wrong).toMatchObject({ status: "INVALID", includes: [], stages: { nodes: [] } });
  expect(wrong.errors).not.toEqual([]);
  const { ciConfig: before } = await ask(app, QUERY, variables({ sha: first }), "developer");
  expect(before.errors).toEqual(["Local file `ci/unit.yml` does not exist!"]);
  const { ciConfig: planned } = await ask(app, QUERY, variables({ dryRun: true }), "developer");
  const groups = planned.stages.nodes.flatMap(
    (stage: { groups: { nodes: [] } }) => stage.groups.nodes,
  );
  // "check" is for tags only.
  expect(groups.map(({ name }: { name: string }) => name)).toEqual(["compile", "unit", "publish"]);
});

it("is told to whom REST tells it", async () => {
  const told: Record<string, string> = {};
  for (const person of everyone) {
    const { data, errors } = await send(app, person, QUERY, variables());
    told[person] = data.ciConfig?.status ?? errors?.[0].message;
    const rest = await project.call("POST /ci/lint", { as: person, json: { content: CONTENT } });
    expect([person, rest.status === 200]).toEqual([person, told[person] === "VALID"]);
  }
  expect(told).toMatchObject({
    anonymous: NOT_AVAILABLE,
    stranger: NOT_AVAILABLE,
    guest: NOT_AVAILABLE,
    reporter: NOT_AVAILABLE,
    developer: "VALID",
  });
});
