// A project from a push to its release: components, a matrix, environments and a release, pushed by Git and done by
// `pm-cli runner`, which speaks to the server as GitLab Runner does.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { runJobs } from "../../cli/runner/run.ts";
import type { App } from "../../src/index.ts";
import { isRepeated } from "../forms.ts";
import { type Answer, type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { openWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
/** The server's address, and what makes pipelines of pushes. */
let origin: string;
let worker: Pick<App, "close">;
beforeAll(async () => {
  app = await testApp({ now: Date.now });
  workshop = await openWorkshop(app);
  origin = new URL(workshop.url("")).origin;
  worker = await app.another({ url: origin, background: true });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await worker.close();
  await workshop.close();
  await app.dispose();
});

/** A component that makes something for each target. */
const COMPONENT = `
spec:
  component: [name, version]
  inputs:
    stage: { default: build }
    targets: { type: array }
---
make:
  stage: $[[ inputs.stage ]]
  parallel: { matrix: [{ TARGET: $[[ inputs.targets ]] }] }
  script:
    - mkdir -p out
    - echo "$TARGET by $[[ component.name ]] $[[ component.version ]]" > out/$TARGET.txt
  artifacts: { paths: [out] }
`;

const CONFIGURATION = `
include:
  - component: $CI_SERVER_FQDN/acme/parts/maker@~latest
    inputs: { stage: assemble, targets: [linux, mac] }
stages: [assemble, test, deploy, publish]
check:
  stage: test
  needs: [{ job: make, parallel: { matrix: [{ TARGET: mac }] } }]
  script:
    - test -e out/mac.txt && ! test -e out/linux.txt
    - echo '<testsuite name="all"><testcase name="one"/><testcase name="two"/></testsuite>' > junit.xml
    - echo "ADDRESS=$CI_COMMIT_REF_SLUG.example.com" > deploy.env
  artifacts: { reports: { junit: junit.xml, dotenv: deploy.env } }
review:
  stage: deploy
  rules: [{ if: $CI_COMMIT_BRANCH }]
  script: [cat out/linux.txt out/mac.txt]
  environment: { name: review/$CI_COMMIT_REF_NAME, url: "https://$ADDRESS", on_stop: close }
close:
  stage: deploy
  rules: [{ if: $CI_COMMIT_BRANCH, when: manual, allow_failure: true }]
  variables: { GIT_STRATEGY: none }
  script: [echo closed $CI_ENVIRONMENT_NAME]
  environment: { name: review/$CI_COMMIT_REF_NAME, action: stop }
production:
  stage: deploy
  rules: [{ if: $CI_COMMIT_TAG }]
  resource_group: production
  script: [cat out/linux.txt]
  environment: { name: production, url: https://shop.example.com }
publish:
  stage: publish
  rules: [{ if: $CI_COMMIT_TAG }]
  script: [cat out/mac.txt]
  release:
    tag_name: $CI_COMMIT_TAG
    name: "Shop $CI_COMMIT_TAG"
    description: "By $CI_PIPELINE_SOURCE"
    assets:
      links: [{ name: linux, url: "$CI_PROJECT_URL/-/jobs/artifacts/$CI_COMMIT_TAG/raw/out/linux.txt?job=make" }]
`;

/** What a job's image must have: `release-cli create` makes a release with the job's token. */
const RELEASE_CLI = `#!${process.execPath}
const given = {};
const links = [];
const words = process.argv.slice(3);
for (let at = 0; at < words.length; at += 2) {
  if (words[at] === "--assets-link") links.push(JSON.parse(words[at + 1]));
  else given[words[at].slice(2).replaceAll("-", "_")] = words[at + 1];
}
const { CI_API_V4_URL, CI_PROJECT_ID, CI_JOB_TOKEN } = process.env;
fetch(CI_API_V4_URL + "/projects/" + CI_PROJECT_ID + "/releases", {
  method: "POST",
  headers: { "job-token": CI_JOB_TOKEN, "content-type": "application/json" },
  body: JSON.stringify({ ...given, assets: { links } }),
}).then(async (answer) => {
  console.log(answer.status, await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
});
`;

it.skipIf(isRepeated)("a push becomes a deployed release", async () => {
  const { folder, git, url } = workshop;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "release-cli"), RELEASE_CLI, { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);

  const call = async (as: Person, request: string, json?: object): Promise<Answer["json"]> => {
    const answer = await app.call(request, { as, ...(json && { json }) });
    expect([request, answer.status, answer.text]).toEqual([
      request,
      expect.toBeOneOf([200, 201]),
      answer.text,
    ]);
    return answer.json;
  };
  const { id: namespace_id } = await call("owner", "GET /groups/acme");
  const project = async (name: string, files: Record<string, string>) => {
    const options = { name, path: name, namespace_id, visibility: "public" };
    const { id } = await call("owner", "POST /projects", options);
    await git("", "init", "--quiet", "--initial-branch=main", name);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, name, path, ".."), { recursive: true });
      writeFileSync(join(folder, name, path), content);
    }
    await git(name, "add", ".");
    await git(name, "commit", "--quiet", "-m", "Begin");
    await git(name, "remote", "add", "origin", url(`acme/${name}`, "owner"));
    await git(name, "push", "--quiet", "origin", "main");
    return `/projects/${id}`;
  };
  const { token } = await call("admin", "POST /user/runners", { runner_type: "instance_type" });
  const never = new AbortController().signal;
  const run = () =>
    runJobs({
      ...{ url: origin, token, name: "test", concurrent: 2, untilIdle: true },
      ...{ builds: join(folder, "builds"), containers: undefined, taking: never, running: never },
      tell: () => undefined,
    });
  /** Runs the pipeline of a branch or tag, and says how it and its jobs ended. */
  const runAll = async (own: string, ref: string) => {
    const list = () => call("owner", `GET ${own}/pipelines?ref=${ref}`);
    await waitFor(async () => (await list()).length > 0);
    await run();
    const [{ id, status }] = await list();
    const jobs: { id: number; name: string; status: string }[] = await call(
      "owner",
      `GET ${own}/pipelines/${id}/jobs`,
    );
    const failed = jobs.find((job) => job.status === "failed");
    if (failed) expect.fail(await logOf(own, failed.id));
    return { id, status, jobs, seen: jobs.map((job) => `${job.name} ${job.status}`).sort() };
  };
  const logOf = async (own: string, id: number | undefined) =>
    (await app.call(`GET ${own}/jobs/${id}/trace`, { as: "owner" })).text;

  const parts = await project("parts", { "templates/maker.yml": COMPONENT });
  const newest = { tag_name: "1.2.0", ref: "main", description: "The first" };
  await call("owner", `POST ${parts}/releases`, newest);
  const shop = await project("shop", { ".gitlab-ci.yml": CONFIGURATION });

  // What is pushed to a branch can be looked at, until somebody closes it.
  const branch = await runAll(shop, "main");
  expect([branch.status, branch.seen]).toEqual([
    "success",
    [
      "check success",
      "close manual",
      "make: [linux] success",
      "make: [mac] success",
      "review success",
    ],
  ]);
  const review = { name: "review/main", external_url: "https://main.example.com" };
  const [{ id: environment }] = await call("owner", `GET ${shop}/environments`);
  expect(await call("owner", `GET ${shop}/environments/${environment}`)).toMatchObject({
    ...review,
    state: "available",
    last_deployment: { status: "success", deployable: { name: "review" } },
  });
  expect(
    await call("owner", `GET ${shop}/pipelines/${branch.id}/test_report_summary`),
  ).toMatchObject({
    total: { count: 2, success: 2 },
  });
  await call("owner", `POST ${shop}/environments/${environment}/stop`);
  await run();
  const closing = branch.jobs.find(({ name }) => name === "close");
  expect(await logOf(shop, closing?.id)).toContain("closed review/main");
  expect((await call("owner", `GET ${shop}/environments/${environment}`)).state).toBe("stopped");

  // A tag is deployed to production, and released.
  await git("shop", "tag", "-m", "The first one", "v1.0");
  await git("shop", "push", "--quiet", "origin", "v1.0");
  const tag = await runAll(shop, "v1.0");
  expect([tag.status, tag.seen]).toEqual([
    "success",
    [
      "check success",
      "make: [linux] success",
      "make: [mac] success",
      "production success",
      "publish success",
    ],
  ]);
  const sha = await git("shop", "rev-parse", "HEAD");
  expect(await call("anonymous", `GET ${shop}/releases/v1.0`)).toMatchObject({
    name: "Shop v1.0",
    description: "By push",
    commit: { id: sha },
    assets: { links: [{ name: "linux" }] },
  });
  expect(
    await call("owner", `GET ${shop}/deployments?environment=production&status=success`),
  ).toMatchObject([{ ref: "v1.0", sha, deployable: { name: "production" } }]);
  const file = await app.call(
    `GET ${shop}/jobs/artifacts/v1.0/raw/out/linux.txt?job=make:%20[linux]`,
    {
      as: "owner",
    },
  );
  expect(file.text).toBe("linux by maker 1.2.0\n");
});
