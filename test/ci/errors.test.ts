import { describe, expect, it } from "vitest";
import { read } from "./read.ts";

/** A job named `rspec` with some keys, each on lines of its own. */
function job(...lines: string[]) {
  return ["rspec:", "  script: test", ...lines.map((line) => `  ${line}`)].join("\n");
}

const SCRIPT = "should be a string or a nested array of strings up to 10 levels deep";
const NAME =
  "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'";
const REFS = "should be an array of strings or regular expressions using re2 syntax";
const OTHERS = "b: {script: x}\nc: {script: x, stage: deploy}";

/** Configurations with one mistake, and what is said of it. */
const MISTAKES: [mistake: string, text: string, error: string][] = [
  ["nothing", "", "Please provide content of .gitlab-ci.yml"],
  ["a text", "invalid_yaml", "Invalid configuration format"],
  ["a list", "- a", "Invalid configuration format"],
  ["only a comment", "# nothing", "Invalid configuration format"],
  ["an unknown alias", "steps: *bad_alias", "Unknown alias: bad_alias"],
  ["a mapping as a key", "{a: b}: c", "Invalid configuration format"],
  [
    "several documents",
    "a: {script: x}\n---\nb: {script: x}",
    "several YAML documents are not supported, unless the first one has only `spec`",
  ],

  [
    "a job that is a text",
    "extra: bundle",
    "jobs extra config should implement the script:, run:, or trigger: keyword",
  ],
  [
    "a job without a script",
    "rspec: {before_script: x}",
    "jobs rspec config should implement the script:, run:, or trigger: keyword",
  ],
  ["no job", "image: ruby", "jobs config should contain at least one visible job"],
  [
    "hidden jobs only",
    ".hidden: {script: ls}",
    "jobs config should contain at least one visible job",
  ],
  ["a job without a name", "'': {script: x}", "jobs:job name can't be blank"],
  ["an empty script", "rspec: {script: ''}", "jobs:rspec script can't be blank"],
  [
    "a long name",
    `${"n".repeat(256)}: {script: x}`,
    `jobs:${"n".repeat(256)} name is too long (maximum is 255 characters)`,
  ],
  ["an unknown key", job("scrpt: x"), "jobs:rspec config contains unknown keys: scrpt"],
  ["two unknown keys", job("b: 1", "c: 1"), "jobs:rspec config contains unknown keys: b, c"],

  ["a script that is a number", "rspec: {script: 1}", `jobs:rspec:script config ${SCRIPT}`],
  [
    "commands that are mappings",
    "rspec:\n  script:\n    - echo a: b",
    `jobs:rspec:script config ${SCRIPT}`,
  ],
  [
    "commands that are too deep",
    `rspec: {script: ${"[".repeat(11)}a${"]".repeat(11)}}`,
    `jobs:rspec:script config ${SCRIPT}`,
  ],
  [
    "a number before the script",
    job("before_script: [10, test]"),
    `jobs:rspec:before_script config ${SCRIPT}`,
  ],
  ["a global number before", `before_script: 1\n${job()}`, `before_script config ${SCRIPT}`],
  [
    "a number after the script",
    job("after_script: [10]"),
    `jobs:rspec:after_script config ${SCRIPT}`,
  ],
  [
    "a hook that is unknown",
    job("hooks: {post: x}"),
    "jobs:rspec:hooks config contains unknown keys: post",
  ],

  [
    "stages that are a text",
    `stages: test\n${job()}`,
    "stages config should be an array of strings or a nested array of strings up to 10 levels deep",
  ],
  ["a stage that is a number", job("stage: 1"), "jobs:rspec:stage config should be a string"],
  [
    "an unknown stage",
    job("stage: acceptance"),
    "rspec job: chosen stage acceptance does not exist; available stages are .pre, build, test, deploy, .post",
  ],
  [
    "a stage that is not listed",
    `stages: [build, test]\n${job("stage: deploy")}`,
    "rspec job: chosen stage deploy does not exist; available stages are .pre, build, test, .post",
  ],

  [
    "a tag that is a text",
    job("tags: mysql"),
    "jobs:rspec:tags config should be an array of strings",
  ],
  [
    "many tags",
    job(`tags: [${Array.from({ length: 50 }, (_, n) => `t${n}`)}]`),
    "jobs:rspec:tags config must be less than the limit of 50 tags",
  ],
  [
    "an image that is a list",
    job("image: [test]"),
    "jobs:rspec:image config should be a hash or a string",
  ],
  [
    "a global image that is a list",
    `image: [test]\n${job()}`,
    "image config should be a hash or a string",
  ],
  [
    "a default image that is a list",
    `default: {image: [test]}\n${job()}`,
    "default:image config should be a hash or a string",
  ],
  [
    "an image without a name",
    job("image: {entrypoint: [a]}"),
    "jobs:rspec:image name can't be blank",
  ],
  [
    "an image with ports",
    job("image: {name: a, ports: [80]}"),
    "jobs:rspec:image config contains disallowed keys: ports",
  ],
  [
    "an unknown key of an image",
    job("image: {name: a, b: c}"),
    "jobs:rspec:image config contains unknown keys: b",
  ],
  [
    "an unknown pull policy",
    job("image: {name: a, pull_policy: x}"),
    "jobs:rspec:image:pull_policy config should be one of: always, never, if-not-present",
  ],
  [
    "services that are a text",
    job("services: test"),
    "jobs:rspec:services config should be a array",
  ],
  [
    "a service that is a number",
    job("services: [10, test]"),
    "jobs:rspec:services:service config should be a hash or a string",
  ],

  [
    "a failure that is a text",
    job("allow_failure: x"),
    "jobs:rspec allow failure should be a hash or a boolean value",
  ],
  [
    "exit codes that are a text",
    job("allow_failure: {exit_codes: x}"),
    "jobs:rspec:allow_failure exit codes should be an array of integers or an integer",
  ],
  [
    "an unknown when",
    job("when: 1"),
    "jobs:rspec when should be one of: on_success, on_failure, always, manual, delayed",
  ],
  ["a delay without when", job("start_in: 1 day"), "jobs:rspec start in must be blank"],
  [
    "a delayed job without a delay",
    job("when: delayed"),
    "jobs:rspec start in should be a duration",
  ],
  [
    "a delay that is none",
    job("when: delayed", "start_in: soon"),
    "jobs:rspec start in should be a duration",
  ],
  [
    "a long delay",
    job("when: delayed", "start_in: 8 days"),
    "jobs:rspec start in should not exceed the limit",
  ],
  [
    "a timeout that is none",
    job("timeout: soon"),
    "jobs:rspec:timeout config should be a duration",
  ],
  [
    "a long timeout",
    job("timeout: 2 months"),
    "jobs:rspec:timeout config should not exceed the limit",
  ],
  [
    "a retry that is a text",
    job("retry: x"),
    "jobs:rspec:retry config has to be either an integer or a hash",
  ],
  ["many retries", job("retry: 3"), "jobs:rspec:retry config must be less than or equal to 2"],
  [
    "a negative retry",
    job("retry: {max: -1}"),
    "jobs:rspec:retry max must be greater than or equal to 0",
  ],
  [
    "an unknown reason of a retry",
    job("retry: {max: 1, when: [x]}"),
    "jobs:rspec:retry when contains unknown values: x",
  ],
  [
    "an interruptible text",
    job("interruptible: x"),
    "jobs:rspec:interruptible config should be a boolean value",
  ],
  [
    "a resource group that is a number",
    job("resource_group: 1"),
    "jobs:rspec resource group should be a string",
  ],
  [
    "coverage that is no pattern",
    job("coverage: 90%"),
    "jobs:rspec:coverage config must be a regular expression with re2 syntax",
  ],
  [
    "coverage with a backreference",
    job("coverage: '/(a)\\1/'"),
    "jobs:rspec:coverage config must be a regular expression with re2 syntax",
  ],
  [
    "coverage with a look-ahead",
    job("coverage: '/a(?=b)/'"),
    "jobs:rspec:coverage config must be a regular expression with re2 syntax",
  ],

  ["variables that are a text", `variables: test\n${job()}`, "variables config should be a hash"],
  [
    "a variable that is a list",
    job("variables: {A: []}"),
    "jobs:rspec:variables:A variable definition must be either a string or a hash",
  ],
  [
    "an unknown key of a variable",
    `variables: {VAR1: {invalid: hello}}\n${job()}`,
    "variables:VAR1 config uses invalid data keys: invalid",
  ],
  [
    "a job's variable with a description",
    job("variables: {A: {value: b, description: c}}"),
    "jobs:rspec:variables:A config uses invalid data keys: description",
  ],
  [
    "a value that is no option",
    `variables: {A: {value: a, options: [b]}}\n${job()}`,
    "variables:A config value must be present in options",
  ],

  [
    "artifacts that are a list",
    job("artifacts: [a]"),
    "jobs:rspec:artifacts config should be a hash",
  ],
  [
    "an artifact's name that is a number",
    job("artifacts: {name: 1}"),
    "jobs:rspec:artifacts name should be a string",
  ],
  [
    "an artifact's unknown when",
    job("artifacts: {when: 1}"),
    "jobs:rspec:artifacts when should be one of: on_success, on_failure, always",
  ],
  [
    "an expiry that is a number",
    job("artifacts: {expire_in: 1}"),
    "jobs:rspec:artifacts expire in should be a duration",
  ],
  [
    "an expiry that is none",
    job("artifacts: {expire_in: 7 elephants}"),
    "jobs:rspec:artifacts expire in should be a duration",
  ],
  [
    "untracked that is a text",
    job("artifacts: {untracked: x}"),
    "jobs:rspec:artifacts untracked should be a boolean value",
  ],
  [
    "paths that are a text",
    job("artifacts: {paths: x}"),
    "jobs:rspec:artifacts paths should be an array of strings",
  ],
  [
    "an exposed artifact without paths",
    job("artifacts: {expose_as: x}"),
    "jobs:rspec:artifacts paths can't be blank",
  ],
  [
    "an exposed artifact with a wildcard",
    job("artifacts: {expose_as: x, paths: ['*']}"),
    "jobs:rspec:artifacts paths can't contain '*' when used with 'expose_as'",
  ],
  [
    "an exposed artifact's name",
    job("artifacts: {expose_as: 'a/b', paths: [x]}"),
    "jobs:rspec:artifacts expose as can contain only letters, digits, '-', '_' and spaces",
  ],
  [
    "public and access",
    job("artifacts: {paths: [x], public: true, access: all}"),
    "jobs:rspec:artifacts config these keys cannot be used together: public, access",
  ],
  [
    "an unknown report",
    job("artifacts: {reports: {x: y}}"),
    "jobs:rspec:artifacts:reports config contains unknown keys: x",
  ],
  [
    "a report that is a number",
    job("artifacts: {reports: {junit: 1}}"),
    "jobs:rspec:artifacts:reports junit should be an array of strings or a string",
  ],
  [
    "coverage of an unknown format",
    job("artifacts: {reports: {coverage_report: {coverage_format: x, path: y}}}"),
    "jobs:rspec:artifacts:reports:coverage_report coverage format should be one of: cobertura, jacoco",
  ],

  [
    "a cache's untracked",
    job("cache: {untracked: x}"),
    "jobs:rspec:cache:untracked config should be a boolean value",
  ],
  [
    "a global cache's untracked",
    `cache: {untracked: x}\n${job()}`,
    "cache:untracked config should be a boolean value",
  ],
  [
    "a cache's paths",
    job("cache: {paths: x}"),
    "jobs:rspec:cache:paths config should be an array of strings",
  ],
  [
    "a cache's key",
    job("cache: {key: 1}"),
    "jobs:rspec:cache:key should be a hash, a string or a symbol",
  ],
  [
    "a cache's key with a slash",
    job("cache: {key: a/b}"),
    'jobs:rspec:cache:key config cannot contain the "/" character',
  ],
  [
    "a cache's key that is a dot",
    job("cache: {key: '..'}"),
    'jobs:rspec:cache:key config cannot be "." or ".."',
  ],
  [
    "a cache's files",
    job("cache: {key: {files: [1]}}"),
    "jobs:rspec:cache:key:files config should be an array of strings",
  ],
  [
    "a cache without files",
    job("cache: {key: {files: []}}"),
    "jobs:rspec:cache:key:files config requires at least 1 item",
  ],
  [
    "a cache with three files",
    job("cache: {key: {files: [a, b, c]}}"),
    "jobs:rspec:cache:key:files config has too many items (maximum is 2)",
  ],
  [
    "a cache with a prefix only",
    job("cache: {key: {prefix: a}}"),
    "jobs:rspec:cache:key config missing required keys: files",
  ],
  [
    "a cache's prefix",
    job("cache: {key: {prefix: 1, files: [a]}}"),
    "jobs:rspec:cache:key:prefix config should be a string or symbol",
  ],
  [
    "a cache's policy",
    job("cache: {policy: x}"),
    "jobs:rspec:cache policy should be a variable or one of: pull-push, push, pull",
  ],
  [
    "a cache's further keys",
    job("cache: {fallback_keys: [a, b, c, d, e, f]}"),
    "jobs:rspec:cache fallback keys has to many entries (maximum 5)",
  ],
  [
    "five caches",
    job("cache: [{}, {}, {}, {}, {}]"),
    "jobs:rspec:cache config no more than 4 caches can be created",
  ],

  [
    "an environment that is a list",
    job("environment: [a]"),
    "jobs:rspec:environment config should be a hash or a string",
  ],
  [
    "an environment without a name",
    job("environment: {url: x}"),
    "jobs:rspec:environment name can't be blank",
  ],
  ["an environment's name", job("environment: /a"), `jobs:rspec:environment name ${NAME}`],
  [
    "an environment's long address",
    job(`environment: {name: a, url: ${"x".repeat(256)}}`),
    "jobs:rspec:environment url is too long (maximum is 255 characters)",
  ],
  [
    "an environment's unknown action",
    job("environment: {name: a, action: rollback}"),
    "jobs:rspec:environment action should be start, stop, prepare, verify, or access",
  ],
  [
    "an environment's action that is a list",
    job("environment: {name: a, action: [stop]}"),
    "jobs:rspec:environment action should be a string",
  ],
  [
    "an environment's on_stop",
    job("environment: {name: a, on_stop: false}"),
    "jobs:rspec:environment on stop should be a string",
  ],
  [
    "an environment's tier",
    job("environment: {name: a, deployment_tier: x}"),
    "jobs:rspec:environment deployment tier must be one of production, staging, testing, development, other",
  ],
  [
    "an environment's end",
    job("environment: {name: a, auto_stop_in: x}"),
    "jobs:rspec:environment auto stop in should be a duration",
  ],
  [
    "an unknown job to stop with",
    job("environment: {name: a, on_stop: x}"),
    "rspec job: on_stop job x is not defined",
  ],
  [
    "a job to stop with that has no environment",
    `${job("environment: {name: a, on_stop: b}")}\n${OTHERS}`,
    "rspec job: on_stop job b does not have environment defined",
  ],
  [
    "a job to stop another environment",
    `${job("environment: {name: a, on_stop: d}")}\nd: {script: x, environment: b}`,
    "rspec job: on_stop job d have different environment name",
  ],
  [
    "a job to stop with that starts",
    `${job("environment: {name: a, on_stop: d}")}\nd: {script: x, environment: a}`,
    "rspec job: on_stop job d needs to have action stop defined",
  ],

  [
    "rules that are a mapping",
    job("rules: {if: $A}"),
    "jobs:rspec rules should be an array containing hashes and arrays of hashes",
  ],
  [
    "rules and only",
    job("rules: [{if: $A}]", "only: [main]"),
    "jobs:rspec config key may not be used with `rules`: only",
  ],
  [
    "rules, except and a delay",
    job("rules: [{if: $A}]", "except: [main]", "start_in: 1 day"),
    "jobs:rspec config key may not be used with `rules`: except, start_in",
  ],
  [
    "a rule's expression",
    job("rules: [{if: '$A =='}]"),
    "jobs:rspec:rules:rule if invalid expression syntax",
  ],
  ["a rule's when", job("rules: [{when: x}]"), "jobs:rspec:rules:rule when unknown value: x"],
  [
    "a rule's unknown key",
    job("rules: [{unless: $A}]"),
    "jobs:rspec:rules:rule config contains unknown keys: unless",
  ],
  [
    "a rule's delay",
    job("rules: [{when: delayed}]"),
    "jobs:rspec:rules:rule start in can't be blank",
  ],
  [
    "a rule with a delay and no when",
    job("rules: [{start_in: 1 day}]"),
    "jobs:rspec:rules:rule config contains disallowed keys: start_in",
  ],
  [
    "a rule's changes",
    job("rules: [{changes: 1}]"),
    "jobs:rspec:rules:rule changes should be an array of strings",
  ],
  [
    "a rule's changes without paths",
    job("rules: [{changes: {compare_to: a}}]"),
    "jobs:rspec:rules:rule:changes config missing required keys: paths",
  ],
  [
    "a rule's many globs",
    job(`rules: [{exists: [${Array.from({ length: 51 }, (_, n) => `f${n}`)}]}]`),
    "jobs:rspec:rules:rule exists is too long (maximum is 50 entries)",
  ],
  [
    "another project's files",
    job("rules: [{exists: {paths: [a], ref: b}}]"),
    "jobs:rspec:rules:rule:exists config ref requires project",
  ],
  [
    "a rule's failure",
    job("rules: [{allow_failure: x}]"),
    "jobs:rspec:rules:rule allow failure should be a boolean value",
  ],
  [
    "an unknown key of workflow",
    `workflow: {rulez: []}\n${job()}`,
    "workflow config contains unknown keys: rulez",
  ],
  [
    "a workflow that runs by hand",
    `workflow: {rules: [{when: manual}]}\n${job()}`,
    "workflow:rules:rule when unknown value: manual",
  ],
  [
    "a workflow's cancelling",
    `workflow: {auto_cancel: {on_new_commit: x}}\n${job()}`,
    "workflow:auto_cancel on new commit must be one of: conservative, interruptible, none",
  ],

  [
    "only that is a number",
    job("only: 1"),
    "jobs:rspec:only has to be either an array of conditions or a hash",
  ],
  ["only with numbers", job("only: [1, 1]"), `jobs:rspec:only config ${REFS}`],
  ["only with an invalid pattern", job("only: ['/*invalid/']"), `jobs:rspec:only config ${REFS}`],
  [
    "except with an invalid pattern",
    job("except: {refs: ['/*invalid/']}"),
    `jobs:rspec:except refs ${REFS}`,
  ],
  [
    "only with an invalid expression",
    job("only: {variables: ['== null']}"),
    "jobs:rspec:only variables invalid expression syntax",
  ],
  [
    "only with changes that are numbers",
    job("only: {changes: [1]}"),
    "jobs:rspec:only changes should be an array of strings",
  ],
  [
    "only with an unknown key",
    job("only: {x: [a]}"),
    "jobs:rspec:only config contains unknown keys: x",
  ],
  [
    "only with another Kubernetes",
    job("only: {kubernetes: x}"),
    "jobs:rspec:only kubernetes unknown value: x",
  ],

  ["a need that is a number", job("needs: [1]"), "jobs:rspec:needs:need has an unsupported type"],
  [
    "needs that are a text",
    job("needs: b"),
    "jobs:rspec:needs config can only be a hash or an array",
  ],
  [
    "a need's unknown key",
    `${job("needs: [{job: b, x: y}]")}\n${OTHERS}`,
    "jobs:rspec:needs:need config contains unknown keys: x",
  ],
  [
    "a need of another project without a branch",
    job("needs: [{project: a/b, job: c}]"),
    "jobs:rspec:needs:need ref can't be blank",
  ],
  [
    "a need of a whole pipeline",
    job("needs: [{pipeline: a/b}]"),
    "jobs:rspec:needs:need job can't be blank",
  ],
  [
    "too many needs of other projects",
    job(`needs: [${"{project: a/b, job: c, ref: main}, ".repeat(6)}]`),
    "jobs:rspec:needs config must be less than or equal to 5",
  ],
  [
    "a need of another project in a rule",
    job("rules: [{needs: [{project: a/b, job: c, ref: main}]}]"),
    "jobs:rspec:rules:rule:needs config of other projects and pipelines can't be used in rules",
  ],
  [
    "a need of another project of a trigger",
    "a: {trigger: b, needs: [{project: a/b, job: c, ref: main}]}",
    "jobs:a:needs config of other projects and pipelines can't be used with trigger",
  ],
  ["an undefined need", job("needs: [x]"), "rspec job: undefined need: x"],
  [
    "a need of a later stage",
    `${job("needs: [c]")}\n${OTHERS}`,
    "rspec job: need c is not defined in current or prior stages",
  ],
  [
    "a need that comes twice",
    `${job("needs: [b, b]")}\n${OTHERS}`,
    "rspec has the following needs duplicated: b.",
  ],
  [
    "a job that needs itself",
    job("needs: [rspec]"),
    "The pipeline has circular dependencies: self-dependency: rspec",
  ],
  [
    "jobs that need each other",
    "job_a: {script: x, needs: [job_c]}\njob_b: {script: x, needs: [job_a]}\njob_c: {script: x, needs: [job_b]}",
    'The pipeline has circular dependencies: topological sort failed: ["job_a", "job_c", "job_b"]',
  ],
  [
    "many needs",
    `${job(`needs: [${Array.from({ length: 51 }, (_, n) => `n${n}`)}]`)}\n${Array.from({ length: 51 }, (_, n) => `n${n}: {script: x}`).join("\n")}`,
    "rspec: one job can only need 50 others, but you have listed 51. See needs keyword documentation for more details",
  ],
  ["a rule's undefined need", job("rules: [{if: $A, needs: [x]}]"), "rspec job: undefined need: x"],
  [
    "dependencies that are a text",
    job("dependencies: x"),
    "jobs:rspec dependencies should be an array of strings",
  ],
  ["an undefined dependency", job("dependencies: [x]"), "rspec job: undefined dependency: x"],
  [
    "a dependency of a later stage",
    `${job("dependencies: [c]")}\n${OTHERS}`,
    "rspec job: dependency c is not defined in current or prior stages",
  ],
  [
    "a dependency that is not needed",
    `${job("needs: [b]", "dependencies: [d]")}\n${OTHERS}`,
    "jobs:rspec dependencies the d should be part of needs",
  ],

  [
    "parallel that is a text",
    job("parallel: test"),
    "jobs:rspec:parallel should be an integer or a hash",
  ],
  [
    "no parallel job",
    job("parallel: 0"),
    "jobs:rspec:parallel config must be greater than or equal to 1",
  ],
  [
    "many parallel jobs",
    job("parallel: 201"),
    "jobs:rspec:parallel config must be less than or equal to 200",
  ],
  ["a part of a job", job("parallel: 1.5"), "jobs:rspec:parallel config must be an integer"],
  [
    "a matrix without rows",
    job("parallel: {}"),
    "jobs:rspec:parallel config missing required keys: matrix",
  ],
  [
    "a matrix that is a mapping",
    job("parallel: {matrix: {A: b}}"),
    "jobs:rspec:parallel:matrix config should be an array of hashes",
  ],
  [
    "an empty variable of a matrix",
    job("parallel: {matrix: [{A: []}]}"),
    "jobs:rspec:parallel:matrix:variables config should be a hash of key value pairs, value can be an array",
  ],
  [
    "a big matrix",
    job(
      `parallel: {matrix: [{A: [${Array.from({ length: 15 }, (_, n) => n)}], B: [${Array.from({ length: 15 }, (_, n) => n)}]}]}`,
    ),
    "jobs:rspec:parallel:matrix config generates too many jobs (maximum is 200)",
  ],

  [
    "extending what is not there",
    job("extends: something"),
    "rspec: unknown keys in `extends` (something)",
  ],
  [
    "extending a text",
    `.a: text\n${job("extends: .a")}`,
    "rspec: invalid base hashes in `extends` (.a)",
  ],
  [
    "extending oneself",
    "a: {script: x, extends: b}\nb: {script: x, extends: a}",
    "a: circular dependency detected in `extends`",
  ],
  [
    "a reference to nothing",
    job("tags: !reference [.a, tags]"),
    '!reference [".a", "tags"] could not be found',
  ],
  ["an empty reference", job("tags: !reference []"), "!reference [] is not valid"],
  [
    "references in a circle",
    "a:\n  script: [!reference [b, script]]\nb:\n  script: [!reference [a, script]]",
    '!reference ["a", "script"] is part of a circular chain',
  ],
  [
    "inheriting a text",
    job("inherit: {default: x}"),
    "jobs:rspec:inherit:default config should be a bool or array of strings",
  ],
  [
    "an unknown default",
    `default: {script2: x}\n${job()}`,
    "default config contains unknown keys: script2",
  ],
  [
    "a default in two places",
    `image: a\ndefault: {image: b}\n${job()}`,
    "image is defined in top-level and `default:` entry",
  ],

  [
    "a trigger that is a list",
    "a: {trigger: [b]}",
    "jobs:a:trigger has to be either a string or a hash",
  ],
  ["a trigger of nothing", "a: {trigger: {branch: b}}", "jobs:a:trigger project can't be blank"],
  [
    "a trigger's unknown strategy",
    "a: {trigger: {project: b, strategy: x}}",
    "jobs:a:trigger strategy should be one of: depend, mirror",
  ],
  [
    "a trigger's unknown key",
    "a: {trigger: {include: b.yml, project: c}}",
    "jobs:a:trigger config contains unknown keys: project",
  ],
  [
    "a trigger of many files",
    "a: {trigger: {include: [a.yml, b.yml, c.yml, d.yml]}}",
    "jobs:a:trigger:include config is too long (maximum is 3)",
  ],
  [
    "a trigger of nothing that can be included",
    "a: {trigger: {include: [{file: a.yml, job: b}]}}",
    "jobs:a:trigger:include config should be a string or a hash with one of: local, project, remote, template, artifact, component",
  ],
  [
    "a trigger with a script",
    "a: {trigger: b, script: c}",
    "jobs:a config contains unknown keys: script",
  ],
  [
    "a trigger that runs twice",
    "a: {trigger: b, parallel: 2}",
    'jobs:a:parallel config cannot use "parallel: <number>".',
  ],

  [
    "a release without a tag",
    job("release: {description: x}"),
    "jobs:rspec:release tag name can't be blank",
  ],
  [
    "a release without a description",
    job("release: {tag_name: x}"),
    "jobs:rspec:release description can't be blank",
  ],
  [
    "a release's unknown key",
    job("release: {tag_name: x, description: y, z: 1}"),
    "jobs:rspec:release config contains unknown keys: z",
  ],
  [
    "a release's date",
    job("release: {tag_name: x, description: y, released_at: soon}"),
    "jobs:rspec:release released at must be a valid datetime",
  ],
  [
    "a release's link",
    job("release: {tag_name: x, description: y, assets: {links: [{name: z}]}}"),
    "jobs:rspec:release:assets:links:link url can't be blank",
  ],

  [
    "a secret",
    job("secrets: {A: {gitlab_secrets_manager: {name: x}}}"),
    "jobs:rspec:secrets:A:gitlab_secrets_manager config is not supported on this server",
  ],
  [
    "a short secret",
    job("secrets: {A: {vault: x}}"),
    "jobs:rspec:secrets:A:vault config should be a hash",
  ],
  [
    "a secret without an engine",
    job("secrets: {A: {vault: {path: x, field: y}}}"),
    "jobs:rspec:secrets:A:vault engine can't be blank",
  ],
  [
    "an engine without a path",
    job("secrets: {A: {vault: {engine: {name: x}, path: x, field: y}}}"),
    "jobs:rspec:secrets:A:vault:engine path can't be blank",
  ],
  [
    "a secret of two providers",
    job("secrets: {A: {vault: a/b, akeyless: {name: c}}}"),
    "jobs:rspec:secrets:A config must use exactly one of these keys: vault, azure_key_vault, gcp_secret_manager, aws_secrets_manager, akeyless",
  ],
  [
    "a secret without a token",
    job("secrets: {A: {gcp_secret_manager: {name: c}}}"),
    "jobs:rspec:secrets:A token can't be blank",
  ],
  [
    "a secret with another key",
    job("secrets: {A: {azure_key_vault: {name: c, key: d}}}"),
    "jobs:rspec:secrets:A:azure_key_vault config contains unknown keys: key",
  ],
  [
    "a version that is no text",
    job("secrets: {A: {azure_key_vault: {name: c, version: [1]}}}"),
    "jobs:rspec:secrets:A:azure_key_vault version should be a string",
  ],
  [
    "a secret without an id",
    job("secrets: {A: {aws_secrets_manager: {region: c}}}"),
    "jobs:rspec:secrets:A:aws_secrets_manager secret id can't be blank",
  ],
  ["steps", "rspec: {run: []}", "jobs:rspec:run config is not supported on this server"],
  [
    "a token without an audience",
    job("id_tokens: {A: {}}"),
    "jobs:rspec:id_tokens:A config missing required keys: aud",
  ],
  [
    "a token with another key",
    job("id_tokens: {A: {aud: x, sub: y}}"),
    "jobs:rspec:id_tokens:A config contains unknown keys: sub",
  ],
  [
    "a token whose audience is no text",
    job("id_tokens: {A: {aud: 1}}"),
    "jobs:rspec:id_tokens:A aud should be an array of strings or a string",
  ],
  [
    "too many tokens",
    job(`id_tokens: {${Array.from({ length: 21 }, (_, at) => `T${at}: {aud: x}`).join(", ")}}`),
    "jobs:rspec:id_tokens config must be less than the limit of 20 tokens",
  ],
  [
    "a long audience",
    job(`id_tokens: {A: {aud: ${"x".repeat(1025)}}}`),
    "jobs:rspec:id_tokens:A:aud config must have no more than 1024 characters",
  ],
  [
    "too many audiences",
    job(`id_tokens: {A: {aud: [${"x, ".repeat(21)}]}}`),
    "jobs:rspec:id_tokens:A:aud config must be less than the limit of 20 audiences",
  ],
  [
    "publishing outside pages",
    job("publish: x"),
    "jobs:rspec publish can only be used within a `pages` job",
  ],
  [
    "a key of sites that there is not",
    job("pages: {folder: x}"),
    "jobs:rspec:pages config contains unknown keys: folder",
  ],
  [
    "a site that ends at no time",
    job("pages: {expire_in: soon}"),
    "jobs:rspec:pages expire in should be a duration",
  ],
];

describe("a mistake is named with the job and key", () => {
  it.each(MISTAKES)("%s", async (_, text, error) => {
    const { errors, configuration } = await read(text);
    expect(errors).toContain(error);
    expect(configuration).toBeUndefined();
  });
});

it("broken YAML is named with its place", async () => {
  const { errors, mergedYaml } = await read("a: [b]\nc:\n  script: 'x\n");
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(/^\(<unknown>\): .+ at line \d+ column \d+$/);
  expect(mergedYaml).toBeUndefined();
});

it("several mistakes are all named", async () => {
  const { errors } = await read(job("bad_tags: mysql", "rules: {wrong: format}"));
  expect(errors).toEqual([
    "jobs:rspec config contains unknown keys: bad_tags",
    "jobs:rspec rules should be an array containing hashes and arrays of hashes",
  ]);
});

it("a configuration with mistakes is still merged", async () => {
  const { mergedYaml } = await read(".a: {tags: x}\nrspec: {extends: .a, script: y}");
  expect(mergedYaml?.()).toBe(
    '---\n.a:\n  tags: x\nrspec:\n  tags: x\n  extends: .a\n  script: "y"\n',
  );
});

describe("what may make two pipelines for one push is warned of", () => {
  const warning =
    "jobs:rspec may allow multiple pipelines to run for a single action due to `rules:when` clause with no `workflow:rules` - read more: https://docs.gitlab.com/ci/debugging/#pipeline-warnings";

  it("if the last rule has only when", async () => {
    const { warnings, errors } = await read(job("rules: [{if: $A}, {when: always}]"));
    expect({ warnings, errors }).toEqual({ warnings: [warning], errors: [] });
  });

  it.each([
    ["it is never", job("rules: [{when: never}]")],
    ["it has a condition", job("rules: [{if: $A, when: always}]")],
    [
      "workflow has rules",
      `workflow: {rules: [{when: always}]}\n${job("rules: [{when: always}]")}`,
    ],
  ])("not if %s", async (_, text) => {
    expect((await read(text)).warnings).toEqual([]);
  });
});
