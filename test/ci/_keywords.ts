import type { KEYWORDS } from "../../src/ci/keywords.ts";

/** A configuration, and where in it the keywords of a place stand. */
export type Example = readonly [at: readonly (string | number)[], configuration: object];

/** A job with keywords, beside others. */
const job = (own: object, more: object = {}): object => ({
  ...more,
  j: { script: "x", ...own },
});
const bridge = (trigger: object, own: object = {}) => ({ j: { trigger, ...own } });
const PARTS = {
  ...{ before_script: ["b"], after_script: ["a"], hooks: { pre_get_sources_script: ["h"] } },
  ...{ image: "node", services: ["db"], cache: { paths: ["c"] }, artifacts: { paths: ["p"] } },
  ...{ id_tokens: { T: { aud: "x" } }, interruptible: true, retry: 1, tags: ["t"], timeout: "1h" },
};
const IMAGE = {
  ...{ name: "node", entrypoint: ["sh"], pull_policy: "always" },
  ...{ docker: { user: "me" }, kubernetes: { user: "1000" } },
};
const COMMON = {
  ...{ extends: ".base", stage: "deploy", variables: { A: "1" }, inherit: { variables: false } },
  ...{ allow_failure: true, when: "delayed", start_in: "1 day", needs: ["o"] },
  ...{ resource_group: "g", environment: "e", interruptible: true, parallel: 2 },
  ...{ manual_confirmation: "Sure?" },
};
const OTHERS = { ".base": { tags: ["base"] }, o: { script: "x" }, variables: { G: "1" } };
const BASE = { ".base": { when: "always" }, o: { script: "x" }, variables: { G: "1" } };
const header = (spec: object, text = "$[[ inputs.a ]]", given: object = {}) => ({
  ...{ spec, given, text: `j: { script: "${text}" }` },
});

/** Examples that have all keywords of each place: one without one of them comes to something else. */
export const EXAMPLES: Readonly<Record<keyof typeof KEYWORDS, readonly Example[]>> = {
  global: [
    [
      [],
      {
        ...{ before_script: ["b"], after_script: ["a"], image: "node", services: ["db"] },
        ...{ cache: { paths: ["c"] }, default: { tags: ["t"] }, include: "more.yml" },
        ...{ stages: ["one", "two", "test"], variables: { A: "1" }, workflow: { name: "n" } },
        j: { script: "x" },
      },
    ],
    [[], header({ inputs: { a: { default: "1" } } })],
  ],
  "global parts": [
    [
      [],
      job(
        {},
        {
          ...{ before_script: ["b"], after_script: ["a"], image: "node", services: ["db"] },
          cache: { paths: ["c"] },
        },
      ),
    ],
  ],
  default: [[["default"], job({}, { default: PARTS })]],
  job: [
    [
      ["j"],
      job({ ...PARTS, ...COMMON, dependencies: ["o"], coverage: "/x/", secrets: {} }, OTHERS),
    ],
    [["j"], job({ extends: ".base", release: { tag_name: "v", description: "d" } }, BASE)],
    [["j"], job({ secrets: { S: { vault: "a/b" } }, pages: true, publish: "out" })],
    [["j"], job({ only: ["tags"] }, OTHERS)],
    [["j"], job({ except: ["main"] }, OTHERS)],
    [["j"], job({ rules: [{ when: "never" }] }, OTHERS)],
  ],
  "job with trigger": [
    [["j"], { ...BASE, ...bridge({ include: "c.yml" }, { ...COMMON, parallel: undefined }) }],
    [["j"], bridge({ project: "a/b" }, { parallel: { matrix: [{ A: ["1", "2"] }] } })],
    [["j"], { ...BASE, ...bridge({ project: "a/b" }, { only: ["tags"] }) }],
    [["j"], { ...BASE, ...bridge({ project: "a/b" }, { except: ["main"] }) }],
    [["j"], { ...BASE, ...bridge({ project: "a/b" }, { rules: [{ when: "never" }] }) }],
    [["j"], { ...BASE, ...bridge({ project: "a/b" }, { extends: ".base" }) }],
  ],
  artifacts: [
    [
      ["j", "artifacts"],
      job({
        artifacts: {
          ...{ name: "n", untracked: true, paths: ["p"], reports: { junit: "j" }, when: "always" },
          ...{ expire_in: "1 day", exclude: ["e"], public: false },
        },
      }),
    ],
    [["j", "artifacts"], job({ artifacts: { paths: ["p"], access: "none" } })],
    [["j", "artifacts"], job({ artifacts: { expose_as: "x", paths: ["p"] } })],
  ],
  "artifacts:reports": [],
  "artifacts:reports:coverage_report": [
    [
      ["j", "artifacts", "reports", "coverage_report"],
      job({
        artifacts: { reports: { coverage_report: { coverage_format: "jacoco", path: "p" } } },
      }),
    ],
  ],
  allow_failure: [[["j", "allow_failure"], job({ allow_failure: { exit_codes: [3] } })]],
  cache: [
    [
      ["j", "cache"],
      job({
        cache: {
          ...{ key: "k", untracked: true, paths: ["p"], when: "always", policy: "pull" },
          ...{ unprotect: true, fallback_keys: ["f"] },
        },
      }),
    ],
  ],
  "cache:key": [
    [["j", "cache", "key"], job({ cache: { paths: ["p"], key: { files: ["f"], prefix: "x" } } })],
    [["j", "cache", "key"], job({ cache: { paths: ["p"], key: { files_commits: ["f"] } } })],
  ],
  environment: [
    [
      ["j", "environment"],
      job(
        {
          environment: {
            ...{ name: "e", url: "https://x.test", on_stop: "s", auto_stop_in: "1 day" },
            ...{ kubernetes: { agent: "a/b:c" }, deployment_tier: "other" },
          },
        },
        { s: { script: "x", when: "manual", environment: { name: "e", action: "stop" } } },
      ),
    ],
    [["j", "environment"], job({ environment: { name: "e", action: "verify" } })],
  ],
  hooks: [[["j", "hooks"], job({ hooks: { pre_get_sources_script: ["h"] } })]],
  id_tokens: [[["j", "id_tokens", "T"], job({ id_tokens: { T: { aud: "x" } } })]],
  image: [[["j", "image"], job({ image: IMAGE })]],
  inherit: [
    [
      ["j", "inherit"],
      job(
        { inherit: { default: false, variables: false } },
        { default: { tags: ["t"] }, variables: { A: "1" } },
      ),
    ],
  ],
  needs: [
    [
      ["j", "needs", 0],
      job(
        { needs: [{ job: "o", artifacts: false, parallel: { matrix: [{ A: "1" }] } }] },
        { o: { script: "x", parallel: { matrix: [{ A: ["1", "2"] }] } } },
      ),
    ],
    [["j", "needs", 0], job({ needs: [{ job: "o", optional: true }] })],
  ],
  "needs of another project": [
    [
      ["j", "needs", 0],
      job({ needs: [{ project: "a/b", job: "o", ref: "main", artifacts: false }] }),
    ],
  ],
  "needs of another pipeline": [
    [["j", "needs", 0], job({ needs: [{ pipeline: "1", job: "o", artifacts: false }] })],
  ],
  "only, except": [
    [["j", "only"], job({ only: { refs: ["tags"] } }, OTHERS)],
    [["j", "only"], job({ only: { kubernetes: "active" } }, OTHERS)],
    [["j", "only"], job({ only: { variables: ["$NONE"] } }, OTHERS)],
    [["j", "only"], job({ only: { changes: ["none"] } }, OTHERS)],
  ],
  pages: [[["j", "pages"], job({ pages: { publish: "p", path_prefix: "x", expire_in: "1 day" } })]],
  parallel: [[["j", "parallel"], job({ parallel: { matrix: [{ A: ["1", "2"] }] } })]],
  release: [
    [
      ["j", "release"],
      job({
        release: {
          ...{ tag_name: "v", tag_message: "m", name: "n", description: "d", ref: "r" },
          ...{ milestones: ["m"], released_at: "2026-01-01", assets: { links: [] } },
        },
      }),
    ],
  ],
  "release:assets:links": [
    [
      ["j", "release", "assets", "links", 0],
      job({
        release: {
          ...{ tag_name: "v", description: "d" },
          assets: {
            links: [{ name: "n", url: "https://x.test", filepath: "/f", link_type: "image" }],
          },
        },
      }),
    ],
  ],
  retry: [[["j", "retry"], job({ retry: { max: 1, when: ["api_failure"], exit_codes: [3] } })]],
  rules: [
    [
      ["j", "rules", 0],
      job(
        {
          rules: [
            {
              ...{ when: "delayed", start_in: "1 day", allow_failure: true, variables: { A: "1" } },
              ...{ needs: ["o"], interruptible: true },
            },
          ],
        },
        OTHERS,
      ),
    ],
    [["j", "rules", 0], job({ rules: [{ if: "$NONE" }] }, OTHERS)],
    [["j", "rules", 0], job({ rules: [{ changes: ["none"] }] }, OTHERS)],
    [["j", "rules", 0], job({ rules: [{ exists: ["none"] }] }, OTHERS)],
  ],
  "rules:changes": [
    [
      ["j", "rules", 0, "changes"],
      job({ rules: [{ changes: { paths: ["elsewhere"], compare_to: "old" } }] }, OTHERS),
    ],
  ],
  "rules:exists": [
    [
      ["j", "rules", 0, "exists"],
      job({ rules: [{ exists: { paths: ["none"], project: "a/b", ref: "r" } }] }, OTHERS),
    ],
  ],
  secrets: [
    ...["vault", "azure_key_vault", "gcp_secret_manager", "aws_secrets_manager", "akeyless"].map(
      (provider): Example => [
        ["j", "secrets", "S"],
        job({
          secrets: {
            S: {
              [provider]: ["vault", "aws_secrets_manager"].includes(provider)
                ? "a/b"
                : { name: "n" },
              ...{ file: false, token: "$T" },
            },
          },
        }),
      ],
    ),
  ],
  services: [
    [
      ["j", "services", 0],
      job({ services: [{ ...IMAGE, command: ["c"], alias: "a", variables: { A: "1" } }] }),
    ],
  ],
  spec: [
    [["spec"], header({ inputs: { a: { default: "1" } } })],
    [["spec"], header({ include: "inputs.yml" })],
    [["spec"], header({ component: ["nope"] }, "x")],
  ],
  "spec:inputs": [
    [["spec", "inputs", "a"], header({ inputs: { a: { default: "1", description: "d" } } })],
    [["spec", "inputs", "a"], header({ inputs: { a: { type: "number" } } }, undefined, { a: "x" })],
    [["spec", "inputs", "a"], header({ inputs: { a: { options: ["b"] } } }, undefined, { a: "x" })],
    [["spec", "inputs", "a"], header({ inputs: { a: { regex: "^b" } } }, undefined, { a: "x" })],
    [["spec", "inputs", "a"], header({ inputs: { a: { rules: [{ default: "b" }] } } })],
  ],
  "spec:inputs:rules": [
    [
      ["spec", "inputs", "a", "rules", 0],
      header({
        inputs: { a: { rules: [{ if: "false", default: "b", options: ["b"] }, { default: "c" }] } },
      }),
    ],
    [
      ["spec", "inputs", "a", "rules", 0],
      header({ inputs: { a: { rules: [{ default: "b", options: ["c"] }] } } }),
    ],
  ],
  "trigger of a project": [
    [
      ["j", "trigger"],
      bridge({
        ...{ project: "a/b", branch: "b", strategy: "depend", inputs: { a: "1" } },
        forward: { pipeline_variables: true },
      }),
    ],
  ],
  "trigger of a child": [
    [
      ["j", "trigger"],
      bridge({
        ...{ include: "c.yml", strategy: "depend", inputs: { a: "1" } },
        forward: { pipeline_variables: true },
      }),
    ],
  ],
  "trigger:forward": [
    [
      ["j", "trigger", "forward"],
      bridge({ project: "a/b", forward: { yaml_variables: false, pipeline_variables: true } }),
    ],
  ],
  variables: [[["j", "variables", "A"], job({ variables: { A: { value: "1", expand: false } } })]],
  "variables of all jobs": [
    [["variables", "A"], job({}, { variables: { A: { value: "1", expand: false } } })],
    [["variables", "A"], job({}, { variables: { A: { value: "1", options: ["2"] } } })],
  ],
  workflow: [
    [["workflow"], job({}, { workflow: { rules: [{ when: "never" }] } })],
    [["workflow"], job({}, { workflow: { name: "n", auto_cancel: { on_new_commit: "none" } } })],
  ],
  "workflow:auto_cancel": [
    [
      ["workflow", "auto_cancel"],
      job({}, { workflow: { auto_cancel: { on_new_commit: "none", on_job_failure: "all" } } }),
    ],
  ],
  "workflow:rules": [
    [["workflow", "rules", 0], job({}, { workflow: { rules: [{ if: "$NONE" }] } })],
    [["workflow", "rules", 0], job({}, { workflow: { rules: [{ changes: ["none"] }] } })],
    [["workflow", "rules", 0], job({}, { workflow: { rules: [{ exists: ["none"] }] } })],
    [
      ["workflow", "rules", 0],
      job(
        {},
        {
          workflow: {
            rules: [{ variables: { A: "1" }, auto_cancel: { on_new_commit: "none" } }],
          },
        },
      ),
    ],
    [["workflow", "rules", 0], job({}, { workflow: { rules: [{ when: "never" }] } })],
  ],
  include: [
    ...[
      { local: "more.yml" },
      { project: "a/b", file: "more.yml" },
      { remote: "https://x.test/a.yml" },
    ].map((include): Example => [["include", 0], job({}, { include: [include] })]),
    ...[
      { template: "A.gitlab-ci.yml" },
      { component: "x/y/z@1" },
      { artifact: "a.yml", job: "j" },
    ].map((include): Example => [["include", 0], job({}, { include: [include] })]),
    [["include", 0], job({}, { include: [{ local: "more.yml", rules: [{ when: "never" }] }] })],
    [["include", 0], job({}, { include: [{ local: "more.yml", inputs: { a: "1" } }] })],
  ],
  "include:project": [
    [["include", 0], job({}, { include: [{ project: "c/d", file: "more.yml", ref: "r" }] })],
  ],
  "include:remote": [
    [["include", 0], job({}, { include: [{ remote: "https://y.test/a.yml", integrity: "x" }] })],
    [["include", 0], job({}, { include: [{ remote: "https://y.test/a.yml", cache: "1 second" }] })],
  ],
  "include:artifact": [[["include", 0], job({}, { include: [{ artifact: "a.yml", job: "j" }] })]],
  "include:rules": [
    [
      ["include", 0, "rules", 0],
      job({}, { include: [{ local: "more.yml", rules: [{ if: "$NONE" }] }] }),
    ],
    [
      ["include", 0, "rules", 0],
      job({}, { include: [{ local: "more.yml", rules: [{ changes: ["none"] }] }] }),
    ],
    [
      ["include", 0, "rules", 0],
      job({}, { include: [{ local: "more.yml", rules: [{ exists: ["none"] }] }] }),
    ],
    [
      ["include", 0, "rules", 0],
      job({}, { include: [{ local: "more.yml", rules: [{ when: "never" }] }] }),
    ],
  ],
};

/** Keywords that only forms show, which ask for values: pipelines are the same without. */
export const SHOWN_ONLY: readonly string[] = [
  "spec:inputs description",
  "variables of all jobs description",
];
