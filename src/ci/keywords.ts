import { REPORTS } from "./report-kinds.ts";

/** Parts that may be written outside `default`, as in old configurations. */
const GLOBAL_PARTS = ["before_script", "after_script", "image", "services", "cache"] as const;

/** What jobs have from `default` unless they have their own. */
const PARTS = [
  ...["before_script", "after_script", "hooks", "image", "services", "cache", "artifacts"],
  ...["id_tokens", "interruptible", "retry", "tags", "timeout"],
] as const;

/** What jobs with a script and those with a trigger have. */
const COMMON = [
  ...[
    "extends",
    "stage",
    "only",
    "except",
    "rules",
    "variables",
    "inherit",
    "allow_failure",
    "when",
  ],
  ...["needs", "resource_group", "environment", "interruptible", "parallel", "manual_confirmation"],
  "start_in",
] as const;

const IMAGE = ["name", "entrypoint", "pull_policy", "docker", "kubernetes"] as const;
const FORWARDED = ["strategy", "forward", "inputs"] as const;
const CONDITIONS = ["if", "changes", "exists", "when"] as const;

/**
 * The keywords of configurations, by where they stand: what is read there, and nothing else. The table in docs/ci.md is made of
 * it, and test/ci/keywords.test.ts looks for what each of them does.
 */
export const KEYWORDS = {
  global: [...GLOBAL_PARTS, "default", "include", "stages", "variables", "workflow", "spec"],
  "global parts": GLOBAL_PARTS,
  default: PARTS,
  job: [
    ...[...COMMON, ...PARTS, "script", "dependencies", "coverage", "release", "secrets"],
    ...["publish", "pages"],
  ],
  "job with trigger": [...COMMON, "trigger"],
  artifacts: [
    ...["name", "untracked", "paths", "reports", "when", "expire_in", "expose_as", "exclude"],
    ...["public", "access"],
  ],
  "artifacts:reports": [...Object.keys(REPORTS), "coverage_report"],
  "artifacts:reports:coverage_report": ["coverage_format", "path"],
  allow_failure: ["exit_codes"],
  cache: ["key", "untracked", "paths", "when", "policy", "unprotect", "fallback_keys"],
  "cache:key": ["files", "prefix", "files_commits"],
  environment: [
    ...["name", "url", "action", "on_stop", "auto_stop_in", "kubernetes", "deployment_tier"],
  ],
  hooks: ["pre_get_sources_script"],
  id_tokens: ["aud"],
  image: IMAGE,
  inherit: ["default", "variables"],
  needs: ["job", "artifacts", "optional", "parallel"],
  "needs of another project": ["project", "job", "ref", "artifacts"],
  "needs of another pipeline": ["pipeline", "job", "artifacts"],
  "only, except": ["refs", "kubernetes", "variables", "changes"],
  pages: ["publish", "path_prefix", "expire_in"],
  parallel: ["matrix"],
  release: [
    ...["tag_name", "tag_message", "name", "description", "ref", "released_at", "milestones"],
    "assets",
  ],
  "release:assets:links": ["name", "url", "filepath", "link_type"],
  retry: ["max", "when", "exit_codes"],
  rules: [...[...CONDITIONS, "start_in", "allow_failure", "variables", "needs", "interruptible"]],
  "rules:changes": ["paths", "compare_to"],
  "rules:exists": ["paths", "project", "ref"],
  secrets: [
    ...["vault", "azure_key_vault", "gcp_secret_manager", "aws_secrets_manager", "akeyless"],
    ...["file", "token"],
  ],
  services: [...IMAGE, "command", "alias", "variables"],
  spec: ["inputs", "include", "component"],
  "spec:inputs": ["default", "description", "options", "regex", "rules", "type"],
  "spec:inputs:rules": ["if", "options", "default"],
  "trigger of a project": ["project", "branch", ...FORWARDED],
  "trigger of a child": ["include", ...FORWARDED],
  "trigger:forward": ["yaml_variables", "pipeline_variables"],
  variables: ["value", "expand"],
  "variables of all jobs": ["value", "description", "expand", "options"],
  workflow: ["rules", "name", "auto_cancel"],
  "workflow:auto_cancel": ["on_new_commit", "on_job_failure"],
  "workflow:rules": [...CONDITIONS, "variables", "auto_cancel"],
  include: ["local", "project", "remote", "template", "artifact", "component", "rules", "inputs"],
  "include:project": ["file", "ref"],
  "include:remote": ["integrity", "cache"],
  "include:artifact": ["job"],
  "include:rules": CONDITIONS,
} as const;

/** Keywords that GitLab knows, and that are refused by name: without them, a pipeline would do something else. */
export const REFUSED = {
  default: ["identity"],
  image: ["ports"],
  services: ["ports"],
  job: ["dast_configuration", "identity", "run", "inputs"],
} as const;
