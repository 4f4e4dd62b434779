import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { plan, read, type Situation } from "./read.ts";

/** The jobs of a pipeline by stage, as `build: a, b | test: c`. */
async function stagesOf(text: string, situation: Situation = {}) {
  const { stages, jobs, errors } = await plan(text, situation);
  if (errors.length > 0) return errors.join("\n");
  return stages
    .map((stage) => {
      const names = jobs.filter((job) => job.stage === stage).map(({ name }) => name);
      return `${stage}: ${names.join(", ")}`;
    })
    .join(" | ");
}

async function jobOf(text: string, name: string, situation: Situation = {}) {
  const { jobs } = await plan(text, situation);
  return jobs.find((job) => job.name === name);
}

const TAG: Situation = { ref: "v1.0.0", tag: true };
const FEATURE: Situation = { ref: "feature/login" };
const REQUEST: Situation = { ref: "feature/login", source: "merge_request_event" };
const SCHEDULE: Situation = { source: "schedule" };

const NODE = `
image: node:22
cache:
  key: { files: [package-lock.json] }
  paths: [.npm/]
before_script:
  - npm ci --cache .npm --prefer-offline
lint: { stage: test, script: npm run lint }
unit:
  stage: test
  script: [npm test -- --coverage]
  coverage: '/All files\\s*\\|\\s*([\\d.]+)/'
  artifacts:
    when: always
    expire_in: 1 week
    reports:
      junit: junit.xml
      coverage_report: { coverage_format: cobertura, path: coverage/cobertura.xml }
publish:
  stage: deploy
  script: npm publish
  rules: [{ if: $CI_COMMIT_TAG =~ /^v\\d+/ }]
`;

const GO = `
default: { image: "golang:1.25", interruptible: true, retry: { max: 2, when: [runner_system_failure] } }
stages: [check, build]
vet: { stage: check, script: [go vet ./...] }
test: { stage: check, script: [go test -race ./...], timeout: 20 minutes }
build:
  stage: build
  script: go build -o "bin/app-$GOOS-$GOARCH" .
  parallel:
    matrix:
      - GOOS: [linux, darwin]
        GOARCH: [amd64, arm64]
      - GOOS: windows
        GOARCH: amd64
  artifacts: { paths: [bin/] }
  needs: [vet, test]
`;

const DOCKER = `
build-image:
  image: { name: docker:28, entrypoint: [""] }
  services:
    - name: docker:28-dind
      alias: docker
      command: [--tls=false]
      variables: { DOCKER_TLS_CERTDIR: "" }
  variables: { IMAGE: $CI_REGISTRY_IMAGE:$CI_COMMIT_REF_SLUG }
  script:
    - docker build -t "$IMAGE" .
    - docker push "$IMAGE"
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      variables: { IMAGE: "$CI_REGISTRY_IMAGE:latest" }
    - if: $CI_COMMIT_BRANCH
      exists: [Dockerfile]
`;

const MONOREPO = `
.changes: &changes { compare_to: main }
.service:
  stage: test
  script: [make -C $SERVICE test]
api:
  extends: .service
  variables: { SERVICE: api }
  rules: [{ changes: [api/**/*, shared/**/*] }]
web:
  extends: .service
  variables: { SERVICE: web }
  rules: [{ changes: { <<: *changes, paths: [web/**/*] } }]
`;

const REVIEW = `
stages: [build, review, deploy]
build: { stage: build, script: make }
review:
  stage: review
  script: deploy review
  environment:
    name: review/$CI_COMMIT_REF_SLUG
    url: https://$CI_COMMIT_REF_SLUG.example.com
    on_stop: stop_review
    auto_stop_in: 2 days
  rules: [{ if: $CI_MERGE_REQUEST_IID }]
stop_review:
  stage: review
  variables: { GIT_STRATEGY: none }
  script: destroy review
  environment: { name: review/$CI_COMMIT_REF_SLUG, action: stop }
  rules: [{ if: $CI_MERGE_REQUEST_IID, when: manual, allow_failure: true }]
production:
  stage: deploy
  script: deploy
  environment: { name: production, url: "https://example.com", deployment_tier: production }
  resource_group: production
  rules: [{ if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH, when: manual }]
build-for-requests: { stage: build, script: make, rules: [{ if: $CI_MERGE_REQUEST_IID }] }
`;

const DAG = `
stages: [build, test, deploy]
build-a: { stage: build, script: x }
build-b: { stage: build, script: x }
test-a: { stage: test, script: x, needs: [build-a] }
test-b: { stage: test, script: x, needs: [{ job: build-b, artifacts: false }] }
deploy: { stage: deploy, script: x, needs: [test-a, test-b], dependencies: [test-a] }
lint: { stage: test, script: x, needs: [] }
`;

const NIGHTLY = `
workflow: { rules: [{ if: $CI_PIPELINE_SOURCE == "schedule" }, { if: $CI_COMMIT_BRANCH }] }
nightly: { script: make nightly, rules: [{ if: $CI_PIPELINE_SOURCE == "schedule" }] }
quick: { script: make quick, rules: [{ if: $CI_PIPELINE_SOURCE == "schedule", when: never }, { when: always }] }
`;

const OLD = `
types_of_tests: &definition
  script: [test project]
  tags: [ruby, postgres]
.job: &job { image: "ruby:2.7" }
test1: { <<: [*job, *definition], only: [branches] }
deploy: { <<: *definition, stage: deploy, script: [deploy], only: [master, main], except: [triggers], when: manual }
`;

const SPLIT = `
include:
  - ci/*.yml
  - local: /templates/deploy.yml
    rules: [{ if: $CI_COMMIT_BRANCH == "main" }]
variables: { WHO: root }
`;
const FILES = {
  "ci/lint.yml": "lint: { stage: test, script: lint }\nvariables: { WHO: lint, LINT: a }",
  "ci/test.yml": "include: [/templates/base.yml]\nunit: { extends: .base, script: test }",
  "templates/base.yml": ".base: { stage: test, tags: [linux] }",
  "templates/deploy.yml": "deploy: { stage: deploy, script: deploy }",
};

const REFERENCES = `
.setup:
  script: [apt-get update, apt-get install -y make]
  after_script: [make clean]
  rules: [{ if: $CI_COMMIT_BRANCH == "main" }]
.vars: { variables: { URL: "https://example.com", TOKEN: secret } }
build:
  script: [!reference [.setup, script], make]
  after_script: !reference [.setup, after_script]
  rules: [!reference [.setup, rules], { if: $FORCE }]
  variables: { URL: !reference [.vars, variables, URL] }
`;

const CHILD = `
stages: [triggers]
.child: { stage: triggers, trigger: { strategy: depend, forward: { pipeline_variables: true } } }
api: { extends: .child, trigger: { include: api/.gitlab-ci.yml }, rules: [{ changes: [api/*] }] }
web: { extends: .child, trigger: { include: [{ local: web/.gitlab-ci.yml }] } }
downstream: { stage: triggers, trigger: { project: acme/deploy, branch: $CI_COMMIT_REF_NAME }, when: manual }
short: { stage: triggers, trigger: acme/docs }
`;

const RELEASE = `
release:
  stage: deploy
  image: registry.gitlab.com/gitlab-org/release-cli:latest
  script: echo "Releasing $CI_COMMIT_TAG"
  release:
    tag_name: $CI_COMMIT_TAG
    description: Release $CI_COMMIT_TAG
    milestones: [m1]
    assets: { links: [{ name: app, url: "https://example.com/app", link_type: package }] }
  rules: [{ if: $CI_COMMIT_TAG }]
pages:
  stage: deploy
  script: mkdocs build
  artifacts: { paths: [public], expire_in: never }
  rules: [{ if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH }]
`;

const ROLLOUT = `
.rollout: { stage: deploy, script: deploy $PERCENT, environment: production }
10%: { extends: .rollout, variables: { PERCENT: 10 }, when: manual, allow_failure: false }
50%: { extends: .rollout, variables: { PERCENT: 50 }, when: delayed, start_in: 30 minutes, needs: [10%] }
100%: { extends: .rollout, variables: { PERCENT: 100 }, when: delayed, start_in: 1 day, needs: [50%] }
rollback: { extends: .rollout, variables: { PERCENT: 0 }, when: on_failure, needs: [10%] }
`;

const SHARDED = `
rspec: { image: "ruby:3.4", script: "bundle exec rspec --shard $CI_NODE_INDEX/$CI_NODE_TOTAL", parallel: 3 }
report: { stage: deploy, script: merge, needs: [rspec] }
one: { stage: deploy, script: x, needs: [{ job: matrix, parallel: { matrix: [{ OS: linux }] } }] }
matrix: { script: x, parallel: { matrix: [{ OS: [linux, mac], V: [1.0, 2] }] } }
`;

const INHERIT = `
default: { image: "alpine:3", before_script: [setup], tags: [shared], retry: 1 }
variables: { A: a, B: b }
all: { script: x }
none: { script: x, inherit: { default: false, variables: false } }
some: { script: x, inherit: { default: [image, retry], variables: [B] } }
own: { script: x, image: "debian:12", before_script: [] }
`;

describe("what teams write gives the pipelines that they expect", () => {
  it.each<[what: string, text: string, situation: Situation, stages: string]>([
    ["Node: a branch", NODE, {}, "test: lint, unit"],
    ["Node: a tag", NODE, TAG, "test: lint, unit | deploy: publish"],
    [
      "Go",
      GO,
      {},
      "check: vet, test | build: build: [linux, amd64], build: [linux, arm64], build: [darwin, amd64], build: [darwin, arm64], build: [windows, amd64]",
    ],
    ["Docker: the default branch", DOCKER, {}, "test: build-image"],
    [
      "Docker: another branch",
      DOCKER,
      { ...FEATURE, files: { Dockerfile: "" } },
      "test: build-image",
    ],
    [
      "Docker: without a Dockerfile",
      DOCKER,
      FEATURE,
      "Pipeline will not run for the selected trigger. The rules configuration prevented any jobs from being added to the pipeline.",
    ],
    [
      "a monorepo: one service",
      MONOREPO,
      { changed: ["api/src/a.ts"], compared: { main: ["api/src/a.ts"] } },
      "test: api",
    ],
    [
      "a monorepo: both",
      MONOREPO,
      { changed: ["shared/a"], compared: { main: ["shared/a", "web/a/b"] } },
      "test: api, web",
    ],
    [
      "review apps: a merge request",
      REVIEW,
      REQUEST,
      "build: build-for-requests | review: review, stop_review",
    ],
    ["review apps: the default branch", REVIEW, {}, "build: build | deploy: production"],
    ["needs", DAG, {}, "build: build-a, build-b | test: test-a, test-b, lint | deploy: deploy"],
    ["nightly: at night", NIGHTLY, SCHEDULE, "test: nightly"],
    ["nightly: by day", NIGHTLY, {}, "test: quick"],
    ["nightly: a merge request", NIGHTLY, REQUEST, "Pipeline filtered out by workflow rules."],
    ["an old one: a branch", OLD, FEATURE, "test: types_of_tests, test1"],
    ["an old one: the default branch", OLD, {}, "test: types_of_tests, test1 | deploy: deploy"],
    ["an old one: a trigger", OLD, { source: "trigger" }, "test: types_of_tests, test1"],
    ["an old one: a tag", OLD, TAG, "test: types_of_tests"],
    [
      "several files: the default branch",
      SPLIT,
      { files: FILES },
      "test: lint, unit | deploy: deploy",
    ],
    ["several files: another branch", SPLIT, { ...FEATURE, files: FILES }, "test: lint, unit"],
    ["references: the default branch", REFERENCES, {}, "test: build"],
    ["references: forced", REFERENCES, { ...FEATURE, values: { FORCE: "1" } }, "test: build"],
    ["child pipelines", CHILD, { changed: ["api/x"] }, "triggers: api, web, downstream, short"],
    [
      "child pipelines: nothing changed",
      CHILD,
      { changed: [] },
      "triggers: web, downstream, short",
    ],
    ["a release", RELEASE, TAG, "deploy: release"],
    ["pages", RELEASE, {}, "deploy: pages"],
    ["a rollout", ROLLOUT, {}, "deploy: 10%, 50%, 100%, rollback"],
    [
      "sharded tests",
      SHARDED,
      {},
      "test: rspec 1/3, rspec 2/3, rspec 3/3, matrix: [linux, 1.0], matrix: [linux, 2], matrix: [mac, 1.0], matrix: [mac, 2] | deploy: report, one",
    ],
    ["defaults", INHERIT, {}, "test: all, none, some, own"],
    [
      "stages at the edges",
      "a: { stage: .post, script: x }\nb: { stage: .pre, script: x }\nc: { script: x }",
      {},
      ".pre: b | test: c | .post: a",
    ],
    [
      "keys that YAML takes for booleans",
      "on: { script: x }\nyes: { script: x }\n12: { script: x }",
      {},
      "test: on, yes, 12",
    ],
    [
      "an optional need that is missing",
      "a: { script: x, rules: [{ if: $NEVER }] }\nb: { script: x, needs: [{ job: a, optional: true }] }",
      {},
      "test: b",
    ],
    [
      "a need that is missing",
      "a: { script: x, rules: [{ if: $NEVER }] }\nb: { script: x, needs: [a] }",
      {},
      "'b' job needs 'a' job, but 'a' does not exist in the pipeline. This might be because of the only, except, or rules keywords. To need a job that sometimes does not exist in the pipeline, use needs:optional.",
    ],
  ])("%s", async (_, text, situation, stages) => {
    expect(await stagesOf(text, situation)).toBe(stages);
  });
});

it("a job has what runners need", async () => {
  const files = { "package-lock.json": "{}" };
  const unit = await jobOf(NODE, "unit", { files });
  expect(unit).toEqual({
    name: "unit",
    stage: "test",
    stageIndex: 2,
    when: "on_success",
    allowFailure: false,
    tags: [],
    variables: [],
    coverage: "All files\\s*\\|\\s*([\\d.]+)",
    options: {
      before_script: ["npm ci --cache .npm --prefer-offline"],
      script: ["npm test -- --coverage"],
      image: { name: "node:22" },
      cache: [
        {
          key: expect.stringMatching(/^[0-9a-f]{40}$/),
          paths: [".npm/"],
          untracked: false,
          unprotect: false,
          policy: "pull-push",
          when: "on_success",
          fallback_keys: [],
        },
      ],
      artifacts: [
        {
          name: "junit.xml",
          paths: ["junit.xml"],
          when: "always",
          artifact_type: "junit",
          artifact_format: "gzip",
          expire_in: "1 week",
        },
        {
          name: "cobertura-coverage.xml",
          paths: ["coverage/cobertura.xml"],
          when: "always",
          artifact_type: "cobertura",
          artifact_format: "gzip",
          expire_in: "1 week",
        },
      ],
    },
  });
  const changed = await jobOf(NODE, "unit", { files: { "package-lock.json": "{ }" } });
  expect(changed?.options.cache?.[0]?.key).not.toBe(unit?.options.cache?.[0]?.key);
  expect((await jobOf(NODE, "unit"))?.options.cache?.[0]?.key).toBe("default");
});

it("a job has defaults, its matrix and needs", async () => {
  expect(await jobOf(GO, "build: [linux, arm64]")).toMatchObject({
    interruptible: true,
    retry: { max: 2, when: ["runner_system_failure"] },
    needs: [
      { job: "vet", artifacts: true },
      { job: "test", artifacts: true },
    ],
    variables: [
      { key: "GOOS", value: "linux" },
      { key: "GOARCH", value: "arm64" },
    ],
    options: {
      image: { name: "golang:1.25" },
      parallel: { number: 2, total: 5 },
      artifacts: [{ paths: ["bin/"], artifact_type: "archive", artifact_format: "zip" }],
    },
  });
  expect((await jobOf(GO, "test"))?.timeout).toBe(1200);
  for (const [text, seconds] of [
    ["two hours", 7200],
    ["forty-five minutes", 2700],
    ["a day", 86_400],
  ]) {
    const job = await jobOf(`a: { script: x, timeout: ${text} }`, "a");
    expect(job?.timeout, String(text)).toBe(seconds);
  }
  const needing = "b: { script: x }\n.none: &none [null]\na: { script: x, needs: [*none, b] }";
  expect((await jobOf(needing, "a"))?.needs).toMatchObject([{ job: "b" }]);
  const when = ["runner_interrupted", "runner_external_dependency_failure"];
  const retried = await jobOf(JSON.stringify({ a: { script: "x", retry: { max: 1, when } } }), "a");
  expect(retried?.retry).toMatchObject({ when });
});

it("a rule's variables override those of the job", async () => {
  const image = async (situation: Situation) =>
    (await jobOf(DOCKER, "build-image", situation))?.variables;
  expect(await image({})).toEqual([
    { key: "IMAGE", value: "$CI_REGISTRY_IMAGE:latest", expand: true },
  ]);
  expect(await image({ ...FEATURE, files: { Dockerfile: "" } })).toEqual([
    { key: "IMAGE", value: "$CI_REGISTRY_IMAGE:$CI_COMMIT_REF_SLUG", expand: true },
  ]);
  expect((await jobOf(DOCKER, "build-image"))?.options).toMatchObject({
    image: { name: "docker:28", entrypoint: [""] },
    services: [
      {
        name: "docker:28-dind",
        alias: "docker",
        command: ["--tls=false"],
        variables: [{ key: "DOCKER_TLS_CERTDIR", value: "", public: true, raw: false }],
      },
    ],
  });
});

it("a job has its environment", async () => {
  expect((await jobOf(REVIEW, "review", REQUEST))?.environment).toEqual({
    name: "review/feature-login",
    url: "https://feature-login.example.com",
    action: "start",
    onStop: "stop_review",
    autoStopIn: "2 days",
  });
  expect(await jobOf(REVIEW, "production")).toMatchObject({
    when: "manual",
    allowFailure: false,
    resourceGroup: "production",
    environment: { name: "production", deploymentTier: "production" },
  });
});

it("needs and dependencies are names of jobs", async () => {
  expect(await jobOf(DAG, "deploy")).toMatchObject({
    needs: [{ job: "test-a" }, { job: "test-b" }],
    options: { dependencies: ["test-a"] },
  });
  expect((await jobOf(DAG, "test-b"))?.needs).toEqual([{ job: "build-b", artifacts: false }]);
  expect((await jobOf(DAG, "lint"))?.needs).toEqual([]);
  expect((await jobOf(DAG, "build-a"))?.needs).toBeUndefined();
  expect((await jobOf(SHARDED, "report"))?.needs?.map(({ job }) => job)).toEqual([
    "rspec 1/3",
    "rspec 2/3",
    "rspec 3/3",
  ]);
  expect((await jobOf(SHARDED, "one"))?.needs?.map(({ job }) => job)).toEqual([
    "matrix: [linux, 1.0]",
    "matrix: [linux, 2]",
  ]);
});

it("files that are included are merged in order, and the file itself overrides them", async () => {
  const { includes, configuration } = await read(SPLIT, { files: FILES });
  expect(includes.map(({ type, location }) => [type, location])).toEqual([
    ["local", "ci/lint.yml"],
    ["local", "ci/test.yml"],
    ["local", "templates/base.yml"],
    ["local", "templates/deploy.yml"],
  ]);
  expect([...(configuration?.variables.values() ?? [])]).toMatchObject([
    { key: "WHO", value: "root" },
    { key: "LINT", value: "a" },
  ]);
});

describe("an include is refused", () => {
  it.each([
    ["a.yml", "Local file `a.yml` does not exist!"],
    ["empty.yml", "Local file `empty.yml` is empty!"],
    ["a.txt", "Included file `a.txt` does not have YAML extension!"],
    ["list.yml", "`list.yml`: Invalid configuration format"],
    ["[1]", "Each include must be a hash or a string"],
    ["loop.yml", "Maximum of 150 nested includes are allowed!"],
    [
      "{ local: a.yml, remote: b.yml }",
      "Each include must use only one of: `local`, `project`, `remote`, `template`, `artifact`, `component`",
    ],
    [
      "{ file: a.yml }",
      '`{"file":"a.yml"}` does not have a valid subkey for include. Valid subkeys are: `local`, `project`, `remote`, `template`, `artifact`, `component`',
    ],
    ["{ local: a.yml, ref: b }", "include config contains unknown keys: ref"],
    ["{ local: a.yml, rules: [{ if: '==' }] }", "include:rules:rule if invalid expression syntax"],
  ])("%s", async (include, error) => {
    const files = { "empty.yml": " ", "list.yml": "- a", "loop.yml": "include: loop.yml" };
    const { errors } = await read(`include: ${include}\na: { script: x }`, { files });
    expect(errors).toEqual([error]);
  });
});

it("references and extended jobs are put in place", async () => {
  expect(await jobOf(REFERENCES, "build")).toMatchObject({
    variables: [{ key: "URL", value: "https://example.com" }],
    options: {
      script: ["apt-get update", "apt-get install -y make", "make"],
      after_script: ["make clean"],
    },
  });
});

it("triggers name a pipeline", async () => {
  expect((await jobOf(CHILD, "web"))?.trigger).toEqual({
    include: [{ local: "web/.gitlab-ci.yml" }],
    depends: true,
    forward: { yamlVariables: true, pipelineVariables: true },
  });
  expect((await jobOf(CHILD, "downstream"))?.trigger).toEqual({
    project: "acme/deploy",
    branch: "$CI_COMMIT_REF_NAME",
    depends: false,
    forward: { yamlVariables: true, pipelineVariables: false },
  });
});

it("jobs inherit what they say", async () => {
  const { jobs } = await plan(INHERIT);
  const found = jobs.map(({ name, options, retry, tags, variables }) => ({
    name,
    image: options.image?.["name"],
    before: options.before_script,
    retry: retry?.max,
    tags,
    variables: variables.map(({ key }) => key).join(),
  }));
  expect(found).toEqual([
    {
      name: "all",
      image: "alpine:3",
      before: ["setup"],
      retry: 1,
      tags: ["shared"],
      variables: "A,B",
    },
    {
      name: "none",
      image: undefined,
      before: undefined,
      retry: undefined,
      tags: [],
      variables: "",
    },
    { name: "some", image: "alpine:3", before: undefined, retry: 1, tags: [], variables: "B" },
    { name: "own", image: "debian:12", before: [], retry: 1, tags: ["shared"], variables: "A,B" },
  ]);
});

it("delays are seconds, and an old way of writing a job is understood", async () => {
  expect(await jobOf(ROLLOUT, "50%")).toMatchObject({ when: "delayed", startIn: 1800 });
  expect(await jobOf(OLD, "deploy")).toMatchObject({ when: "manual", allowFailure: true });
  expect((await jobOf(OLD, "test1"))?.options.image).toEqual({ name: "ruby:2.7" });
});

it("reads Ruby's symbols as names", async () => {
  expect(await stagesOf("---\n:test_job:\n  :script: echo 1\n")).toBe("test: test_job");
  expect(await stagesOf("':test_job':\n  script: echo 1\n")).toBe("test: :test_job");
});

it("lists may end further to the left than they began", async () => {
  const text = `
test:
  parallel:
    matrix:
      - FLAG: [
          "a",
    "b"
      ]
        MODE: x
  script: [
  make
]
after: { script: make }
`;
  expect(await stagesOf(text)).toBe("test: test: [a, x], test: [b, x], after");
});

describe("the configuration of this project", () => {
  const text = readFileSync(new URL("../../.gitlab-ci.yml", import.meta.url), "utf8");

  it.each([
    ["a push to the main branch", { ref: "main" }, "test: test"],
    ["a merge request", REQUEST, "test: test"],
    ["a night", SCHEDULE, "test: test-all"],
    ["a release", TAG, "test: test-all"],
  ] as const)("tests %s", async (_, situation, expected) => {
    expect(await stagesOf(text, situation)).toBe(expected);
  });

  it("runs nothing for other branches", async () => {
    expect(await stagesOf(text, FEATURE)).not.toContain("test: test");
  });
});

describe("GitLab's order and its lists", () => {
  it("refers to what was inherited", async () => {
    const text = `
.lint-rules:
  rules:
    - if: $CI_COMMIT_BRANCH
.shared:
  extends: .lint-rules
check:
  rules:
    - !reference [.shared, rules]
  script: make check
`;
    expect(await stagesOf(text)).toBe("test: check");
    expect(await stagesOf(text, TAG)).toContain("The rules configuration prevented any jobs");
  });

  it("takes lists in lists of caches, services and needs", async () => {
    const text = `
.two: { cache: [{ key: one, paths: [one/] }, { key: two, paths: [two/] }], services: [redis, db] }
first: { script: make }
build:
  stage: deploy
  needs: [[first]]
  services: [!reference [.two, services], [[mail]]]
  cache:
    - !reference [.two, cache]
    - { key: three, paths: [three/] }
  script: make
`;
    const job = await jobOf(text, "build");
    expect(job?.options.cache?.map(({ key }) => key)).toEqual(["one", "two", "three"]);
    expect(job?.options.services?.map(({ name }) => name)).toEqual(["redis", "db", "mail"]);
  });

  it("makes no pipeline of jobs in .pre and .post alone", async () => {
    const edges = `
prepare: { stage: .pre, script: make prepare }
tidy: { stage: .post, script: make tidy }
`;
    const refused = "The rules configuration prevented any jobs from being added to the pipeline.";
    expect(await stagesOf(edges)).toContain(refused);
    const between = `${edges}build: { script: make, rules: [{ if: $CI_COMMIT_TAG }] }`;
    expect(await stagesOf(between)).toContain(refused);
    expect(await stagesOf(between, TAG)).toBe(".pre: prepare | test: build | .post: tidy");
  });
});
