import { describe, expect, it } from "vitest";
import { jobNames, plan, read, type Situation } from "./read.ts";

/** Whether a job with one rule is in the pipeline. */
async function fits(rule: string, situation: Situation = {}) {
  const names = await jobNames(`other: {script: x}\na: {script: x, rules: [${rule}]}`, situation);
  return names.includes("a");
}

/** Whether a job is in the pipeline, by a key such as `only`. */
async function isIn(key: string, situation: Situation = {}) {
  const other = "other: {script: x, rules: [{when: always}]}";
  return (await jobNames(`${other}\na: {script: x, ${key}}`, situation)).includes("a");
}

const VALUES = { A: "a", B: "b", EMPTY: "", BLANK: " ", ZERO: "0", PATTERN: "/^a$/", UPPER: "ABC" };

describe("an expression is", () => {
  it.each([
    ['$A == "a"', true],
    ["$A == 'a'", true],
    ['"a" == $A', true],
    ['$A == "b"', false],
    ['$A != "b"', true],
    ["$A == $B", false],
    ["null == $NONE", true],
    ["$A == null", false],
    ["$A != null", true],
    ["$EMPTY == null", false],
    ['$EMPTY == ""', true],
    ["$A", true],
    ["$NONE", false],
    ["$EMPTY", false],
    ["$BLANK", false],
    ["$ZERO", true],
    ["null", false],
    ["$A =~ /a$/", true],
    ["$A =~ /^b/", false],
    ["$A !~ /^b/", true],
    ["$A !~ /a$/", false],
    ["$NONE =~ /a$/", false],
    ["$NONE !~ /a$/", true],
    ["$UPPER =~ /^abc$/", false],
    ["$UPPER =~ /^abc$/i", true],
    ["$CI_PROJECT_PATH =~ /^acme\\/shop$/", false],
    ["'acme/shop' =~ /^acme\\/shop$/", true],
    ["$A =~ $PATTERN", true],
    ["$B =~ $PATTERN", false],
    ["$A =~ $B", false],
    // A right side that is no regular expression: GitLab asks whether the left one is a part of it.
    ["$A =~ 'cat'", true],
    ["$A =~ 'bcd'", false],
    ["$A !~ 'cat'", false],
    ["$A =~ $A", true],
    ["$NONE =~ 'cat'", true],
    ["$A =~ $NONE", false],
    ["$A !~ $NONE", true],
    ["$A =~ '/[/'", false],
    ["$A =~ /^a/ && $B =~ /b$/", true],
    [Array(50).fill("$A").join("&&"), true],
    ["$A && $B", true],
    ["$A && $NONE", false],
    ["$NONE || $B", true],
    ["$NONE || $NOTHING", false],
    ["$A == 'a' && $B == 'b'", true],
    ["$A == 'b' && $NONE || $B", true],
    ["$A == 'b' && ($NONE || $B)", false],
    ["($A == 'a' || $NONE) && $B == 'b'", true],
    ["(($A))", true],
    ["$A=='a'&&$B=='b'", true],
    ["  $A  ==\n 'a' ", true],
  ])("%s: %s", async (expression, isTrue) => {
    const rule = `{if: ${JSON.stringify(expression)}}`;
    expect(await fits(rule, { values: VALUES })).toBe(isTrue);
  });

  it.each([
    "",
    "==",
    "$A ==",
    "== $A",
    "$A $B",
    "$A = 'a'",
    "$A & $B",
    "($A",
    "$A)",
    "()",
    "'a",
    '"a',
    "$A =~ /a",
    "$A =~ /[/",
    "$A =~ /a/x",
    "A",
    "$",
    "$A == nullable",
    "!$A",
    "$\u007bA} == 'a'",
    "$A =~ /m/",
    Array(51).fill("$A").join("&&"),
  ])("no expression: %s", async (expression) => {
    const { errors } = await read(`a: {script: x, rules: [{if: ${JSON.stringify(expression)}}]}`);
    expect(errors).toEqual(["jobs:a:rules:rule if invalid expression syntax"]);
  });
});

describe("variables in rules", () => {
  const text = `
variables: {WHO: global, GLOBAL: yes}
a:
  variables: {WHO: job}
  script: x
  rules: [{if: '$WHO == "job" && $GLOBAL == "true"'}]
b:
  script: x
  rules: [{if: '$WHO == "global"'}]
c:
  inherit: {variables: false}
  script: x
  rules: [{if: '$WHO == null'}]
d:
  inherit: {variables: [GLOBAL]}
  script: x
  rules: [{if: '$WHO == null && $GLOBAL'}]
e:
  script: x
  rules: [{if: '$WHO == "project"'}]
`;

  it("are those of the job, then global ones", async () => {
    expect(await jobNames(text)).toEqual(["a", "b", "c", "d"]);
  });

  it("are overridden by those of the project and pipeline", async () => {
    expect(await jobNames(text, { values: { WHO: "project" } })).toEqual(["e"]);
  });

  it("override predefined ones", async () => {
    const own =
      "variables: {CI_COMMIT_BRANCH: mine}\na: {script: x, rules: [{if: $CI_COMMIT_BRANCH == 'mine'}]}";
    expect(await jobNames(own)).toEqual(["a"]);
  });
});

describe("the first rule that fits", () => {
  const text = `
a:
  script: x
  variables: {A: job, B: job}
  rules:
    - if: $CI_COMMIT_TAG
      when: never
    - if: $CI_COMMIT_BRANCH == "main"
      when: manual
      allow_failure: true
      variables: {A: rule, C: rule}
      needs: [b]
      interruptible: true
    - if: $CI_COMMIT_BRANCH =~ /^slow/
      when: delayed
      start_in: 1 hour 30 minutes
    - when: on_failure
b: {script: x}
`;
  const first = async (situation: Situation) =>
    (await plan(text, situation)).jobs.find(({ name }) => name === "a");

  it("leaves a job out", async () => {
    expect(await first({ ref: "v1", tag: true })).toBeUndefined();
  });

  it("says how the job starts", async () => {
    expect(await first({})).toMatchObject({
      when: "manual",
      allowFailure: true,
      interruptible: true,
      needs: [{ job: "b", artifacts: true }],
      variables: [
        { key: "A", value: "rule" },
        { key: "B", value: "job" },
        { key: "C", value: "rule" },
      ],
    });
    expect(await first({ ref: "slow-1" })).toMatchObject({ when: "delayed", startIn: 5400 });
    expect(await first({ ref: "other" })).toMatchObject({
      when: "on_failure",
      allowFailure: false,
    });
  });

  it("may keep the job's own when and exit codes", async () => {
    const own = `
a: {script: x, when: always, allow_failure: {exit_codes: [3, 4]}, rules: [{if: $A}, {if: '1', allow_failure: true}]}`;
    const { jobs } = await plan(own.replace("'1'", "\"'1'\""));
    expect(jobs).toMatchObject([{ when: "always", allowFailure: true }]);
    expect(jobs[0]).not.toHaveProperty("allowFailureExitCodes");
    const { jobs: kept } = await plan(own.replace("'1'", "\"'1'\""), { values: { A: "a" } });
    expect(kept).toMatchObject([{ allowFailure: false, allowFailureExitCodes: [3, 4] }]);
  });

  it("of a manual job holds the pipeline unless the job itself is manual", async () => {
    const { jobs } = await plan(
      "a: {script: x, when: manual}\nb: {script: x, rules: [{when: manual}]}\nc: {script: x, when: manual, allow_failure: false}",
    );
    expect(jobs.map(({ name, allowFailure }) => [name, allowFailure])).toEqual([
      ["a", true],
      ["b", false],
      ["c", false],
    ]);
  });

  it("may be in a list in a list", async () => {
    expect(await fits("[{if: $NONE}], [[{when: always}]]")).toBe(true);
  });
});

describe("changed files", () => {
  const changed = ["src/app/main.ts", "docs/index.md", ".env"];

  it.each([
    ["docs/index.md", true],
    ["docs/*.md", true],
    ["docs/*", true],
    ["docs/**/*", true],
    ["**/*.ts", true],
    ["*.ts", false],
    ["src/**/*.ts", true],
    ["src/*.ts", false],
    ["src/*/main.ts", true],
    ["**/main.{js,ts}", true],
    ["{docs,test}/*", true],
    ["docs/index.m?", true],
    ["docs/index.[a-m]d", true],
    ["*", true],
    ["DOCS/index.md", false],
    ["$FOLDER/*.md", true],
    ["$NONE/*.md", false],
  ])("%s: %s", async (glob, isFound) => {
    const situation = { changed, values: { FOLDER: "docs" } };
    expect(await fits(`{changes: [${JSON.stringify(glob)}]}`, situation)).toBe(isFound);
    expect(await fits(`{changes: {paths: [${JSON.stringify(glob)}]}}`, situation)).toBe(isFound);
  });

  it("count as changed if there is nothing to compare with", async () => {
    expect(await fits("{changes: [nothing]}", { changed: undefined })).toBe(true);
    expect(await fits("{changes: [nothing]}", { changed: [] })).toBe(false);
  });

  it("may be compared with a branch", async () => {
    const compared = { main: ["a.txt"], "release-1": ["b.txt"] };
    const rule = (name: string) => `{changes: {paths: [b.txt], compare_to: ${name}}}`;
    expect(await fits(rule("main"), { changed, compared })).toBe(false);
    expect(await fits(rule("release-1"), { changed, compared })).toBe(true);
    const values = { BASE: "release-1" };
    expect(await fits(rule("$BASE"), { changed, compared, values })).toBe(true);
    expect(await jobNames(`a: {script: x, rules: [${rule("nowhere")}]}`, { compared })).toEqual([
      "Failed to parse rule for a: rules:changes:compare_to is not a valid ref",
    ]);
  });

  it("are compared with few revisions", async () => {
    const names = Array.from({ length: 21 }, (_, at) => `r${at}`);
    const compared = Object.fromEntries(names.map((name) => [name, ["a.txt"]]));
    const rules = names.map((name) => `{changes: {paths: [b.txt], compare_to: ${name}}}`);
    const job = (count: number) => `a: {script: x, rules: [${rules.slice(0, count).join(", ")}]}`;
    expect(await jobNames(job(20), { compared })).not.toContainEqual(
      expect.stringContaining("at most"),
    );
    expect(await jobNames(job(21), { compared })).toEqual([
      "Failed to parse rule for a: rules:changes:compare_to can name 20 revisions at most",
    ]);
  });

  it("and an expression must both fit", async () => {
    const rule = "{if: $A, changes: [docs/*]}";
    expect(await fits(rule, { changed })).toBe(false);
    expect(await fits(rule, { changed, values: { A: "a" } })).toBe(true);
  });
});

it.each([
  ["Dockerfile", true],
  ["docker/*", true],
  ["**/*.yml", true],
  ["Makefile", false],
  ["docker", false],
])("files that exist: %s: %s", async (glob, isFound) => {
  const files = { Dockerfile: "", "docker/compose.yml": "" };
  expect(await fits(`{exists: [${JSON.stringify(glob)}]}`, { files })).toBe(isFound);
  expect(await fits(`{exists: {paths: [${JSON.stringify(glob)}]}}`, { files })).toBe(isFound);
});

describe("workflow", () => {
  const text = `
workflow:
  name: "$KIND of $CI_COMMIT_REF_NAME"
  auto_cancel: {on_new_commit: interruptible}
  rules:
    - if: $CI_COMMIT_TAG
      variables: {KIND: Release}
      auto_cancel: {on_new_commit: none, on_job_failure: all}
    - if: $CI_COMMIT_BRANCH == "main"
    - if: $CI_COMMIT_BRANCH
      when: never
variables: {KIND: Build}
a: {script: x}
b: {script: x, rules: [{if: $KIND == "Release"}]}
`;

  it("names a pipeline, and gives it variables", async () => {
    const released = await plan(text, { ref: "v1", tag: true });
    expect(released).toMatchObject({
      name: "Release of v1",
      autoCancel: { onNewCommit: "none", onJobFailure: "all" },
      jobs: [{ name: "a", variables: [{ key: "KIND", value: "Release" }] }, { name: "b" }],
    });
    expect(await plan(text)).toMatchObject({
      name: "Build of main",
      autoCancel: { onNewCommit: "interruptible" },
      jobs: [{ name: "a" }],
    });
  });

  it("prevents pipelines", async () => {
    for (const situation of [
      { ref: "feature" },
      { ref: "main", source: "merge_request_event" } as const,
    ]) {
      expect(await plan(text, situation)).toMatchObject({
        errors: ["Pipeline filtered out by workflow rules."],
        failure: "filtered_by_workflow_rules",
        jobs: [],
      });
    }
  });

  it("with rules runs jobs without any for merge requests, too", async () => {
    const any = "workflow: {rules: [{when: always}]}\na: {script: x}";
    const request = { source: "merge_request_event" } as const;
    expect(await jobNames(any, request)).toEqual(["a"]);
    expect(await plan("a: {script: x}", request)).toMatchObject({ failure: "filtered_by_rules" });
  });
});

describe("only and except", () => {
  const TAG = { ref: "v1.2", tag: true };
  const REQUEST = { source: "merge_request_event", ref: "feature" } as const;
  const SCHEDULE = { source: "schedule" } as const;

  it.each([
    ["only: [main]", {}, true],
    ["only: [develop]", {}, false],
    ["only: [branches]", {}, true],
    ["only: [branches]", TAG, false],
    ["only: [tags]", TAG, true],
    ["only: [/^v\\d/]", TAG, true],
    ["only: [/^V\\d/i]", TAG, true],
    ["only: [/^x/]", TAG, false],
    ["only: [merge_requests]", REQUEST, true],
    ["only: [merge_requests]", {}, false],
    ["only: [branches]", REQUEST, false],
    ["only: [schedules]", SCHEDULE, true],
    ["only: [pushes]", {}, true],
    ["only: [pushes]", SCHEDULE, false],
    ["only: [web]", { source: "web" }, true],
    ["only: [api]", { source: "api" }, true],
    ["only: [triggers]", { source: "trigger" }, true],
    ["only: [pipelines]", { source: "pipeline" }, true],
    ["only: [main@acme/shop]", {}, true],
    ["only: [main@acme/other]", {}, false],
    ["only: [/^ma/@acme/shop]", {}, true],
    ["except: [main]", {}, false],
    ["except: [develop]", {}, true],
    ["except: [tags]", TAG, false],
    ["except: [schedules]", SCHEDULE, false],
    ["only: [branches], except: [/^ma/]", {}, false],
    ["only: {refs: [main]}", {}, true],
    ["only: {variables: [$A]}", {}, false],
    ["only: {variables: [$A == 'a', $B]}", { values: { A: "a" } }, true],
    ["only: {refs: [develop], variables: [$A]}", { values: { A: "a" } }, false],
    ["except: {variables: [$A]}", { values: { A: "a" } }, false],
    ["except: {refs: [develop], variables: [$A]}", { values: { A: "a" } }, false],
    ["only: {changes: [docs/*]}", { changed: ["docs/a"] }, true],
    ["only: {changes: [docs/*]}", { changed: ["src/a"] }, false],
    ["only: {changes: [docs/*]}", REQUEST, false],
    ["except: {changes: [docs/*]}", { changed: ["docs/a"] }, false],
    ["only: {kubernetes: active}", {}, false],
    ["except: {kubernetes: active}", {}, true],
  ] as [string, Situation, boolean][])("%s: %o: %s", async (key, situation, expected) => {
    expect(await isIn(key, situation)).toBe(expected);
  });
});
