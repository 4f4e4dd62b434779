import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ciProject } from "./_pipelines.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

/** What a runner gets for the only job of a configuration. */
async function payloadOf(name: string, configuration: string) {
  const project = await ciProject(app, name, configuration);
  const { json: runner } = await app.call("POST /user/runners", {
    as: "owner",
    json: { runner_type: "project_type", project_id: project.id },
  });
  const lint = await project.call("GET /ci/lint", { as: "owner" });
  expect([lint.json.valid, lint.json.warnings]).toEqual([true, []]);
  const started = await project.call("POST /pipeline", { as: "owner", json: { ref: "main" } });
  expect(started.status).toBe(201);
  const { json } = await app.call("POST /jobs/request", { json: { token: runner.token } });
  return { project, job: json };
}

const RELEASE = `
publish:
  script: [make]
  after_script: [make clean]
  release:
    tag_name: v$MAJOR.0
    tag_message: Tagged
    name: Release $MAJOR
    description: "What's new\\n\\n- $MAJOR"
    ref: $CI_COMMIT_SHA
    released_at: "2026-11-21T08:00:00Z"
    milestones: [m1, "m 2"]
    assets:
      links:
        - { name: "The \\"file\\"", url: "https://files.example.com/v$MAJOR", link_type: package }
        - { name: Other, url: https://files.example.com/o, filepath: /o }
`;

it("a job with `release` gets the command that makes it, between its script and what comes after", async () => {
  const { project, job } = await payloadOf("releasing", RELEASE);
  const { timeout } = job.runner_info;
  expect(job.steps).toEqual([
    { name: "script", script: ["make"], timeout, when: "on_success", allow_failure: false },
    {
      name: "release",
      script: [
        `release-cli create --name "Release $MAJOR" --description "What's new\n\n- $MAJOR" --tag-name "v$MAJOR.0" --tag-message "Tagged" --ref "$CI_COMMIT_SHA" --released-at "2026-11-21T08:00:00Z" --milestone "m1" --milestone "m 2" --assets-link "{\\"name\\":\\"The \\\\\\"file\\\\\\"\\",\\"url\\":\\"https://files.example.com/v$MAJOR\\",\\"link_type\\":\\"package\\"}" --assets-link "{\\"name\\":\\"Other\\",\\"url\\":\\"https://files.example.com/o\\",\\"filepath\\":\\"/o\\"}"`,
      ],
      timeout,
      when: "on_success",
      allow_failure: false,
    },
    { name: "after_script", script: ["make clean"], timeout, when: "always", allow_failure: true },
  ]);

  // What a shell makes of it, and what release-cli then asks the API for.
  const print = `show() { for word in "$@"; do printf '%s\\0' "$word"; done; }`;
  const words = execFileSync(
    "sh",
    ["-c", `${print}\n${job.steps[1].script[0].replace(/^release-cli/, "show")}`],
    {
      env: { MAJOR: "3", CI_COMMIT_SHA: project.sha },
      encoding: "utf8",
    },
  );
  const [create, ...flags] = words.split("\0").slice(0, -1);
  expect(create).toBe("create");
  const given = new Map<string, string[]>();
  for (let at = 0; at < flags.length; at += 2) {
    const name = flags[at] as string;
    given.set(name, [...(given.get(name) ?? []), flags[at + 1] as string]);
  }
  const one = (name: string) => given.get(`--${name}`)?.[0];
  const links = given.get("--assets-link")?.map((link) => JSON.parse(link));
  const ask = () =>
    project.call("POST /releases", {
      headers: { "job-token": job.token },
      json: {
        name: one("name"),
        description: one("description"),
        tag_name: one("tag-name"),
        tag_message: one("tag-message"),
        ref: one("ref"),
        released_at: one("released-at"),
        assets: { links },
      },
    });
  const made = await ask();
  expect([made.status, made.text]).toEqual([201, made.text]);
  expect(made.json).toMatchObject({
    name: "Release 3",
    tag_name: "v3.0",
    description: "What's new\n\n- 3",
    commit: { id: project.sha },
    assets: { links: expect.arrayContaining([expect.objectContaining({ name: 'The "file"' })]) },
  });
  expect(given.get("--milestone")).toEqual(["m1", "m 2"]);
  expect((await ask()).status).toBe(409);
});

it("only flags that are set are given", async () => {
  const { job } = await payloadOf(
    "plain",
    "publish: { script: make, release: { tag_name: v1, description: d, milestones: m1 } }",
  );
  expect(job.steps[1].script).toEqual([
    'release-cli create --description "d" --tag-name "v1" --milestone "m1"',
  ]);
});

it("a job with `hooks` gets them", async () => {
  const { job } = await payloadOf(
    "hooked",
    `
default: { hooks: { pre_get_sources_script: [echo first, echo second] } }
build: { script: make }
`,
  );
  const script = ["echo first", "echo second"];
  expect(job.hooks).toEqual([{ name: "pre_get_sources_script", script }]);
  expect(job.steps.map(({ name }: { name: string }) => name)).toEqual(["script"]);
});
