import { groupNameOf } from "../../ci/index.ts";
import {
  about,
  arg,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  property,
  type Values,
  valueType,
} from "../../graphql/declare.ts";
import { listed, listOf } from "../../graphql/loaded-pages.ts";
import { lintAtCommit } from "./index.ts";

/** A job as the check of a configuration tells it. */
interface LintedJob {
  readonly name: string;
  readonly stage: string;
  readonly needs?: readonly { readonly name: string }[] | null;
}

/** Jobs that have a stage or a group's name in common. */
interface NamedJobs {
  readonly name: string;
  readonly jobs: readonly LintedJob[];
}

/** Which part of a check's answer a field is. */
const from =
  <T = unknown>(key: string) =>
  (value: Readonly<Record<string, T>>) =>
    value[key];

const restriction = valueType("CiConfigJobRestriction", "What `only` or `except` says of a job.", {
  refs: property("[String!]"),
});
const need = valueType("CiConfigNeed", "A job that another one needs.", {
  name: property("String"),
});
const job = valueType("CiConfigJob", "A job that a configuration declares.", {
  name: property("String"),
  groupName: about(
    "What the jobs of one `parallel` have in common.",
    property("String", ({ name }: LintedJob) => groupNameOf(name)),
  ),
  stage: property("String"),
  script: property("[String!]"),
  beforeScript: property("[String!]", from("before_script")),
  afterScript: property("[String!]", from("after_script")),
  allowFailure: property("Boolean", from("allow_failure")),
  environment: property("String"),
  when: property("String"),
  tags: property("[String!]", from("tag_list")),
  only: property(restriction),
  except: property(restriction),
  needs: listed(need, ({ needs }: LintedJob) => listOf(needs ?? [])),
});
const group = valueType(
  "CiConfigGroup",
  "Jobs of a configuration that differ in their number only.",
  {
    name: property("String"),
    size: property("Int", ({ jobs }: NamedJobs) => jobs.length),
    jobs: listed(job, ({ jobs }: NamedJobs) => listOf(jobs)),
  },
);
const stage = valueType("CiConfigStage", "A stage that a configuration has jobs of.", {
  name: property("String"),
  groups: listed(group, ({ jobs }: NamedJobs) =>
    listOf(namedBy(jobs, ({ name }) => groupNameOf(name))),
  ),
});

const INCLUDE_TYPE = enumeration("CiConfigIncludeType", "Where a configuration includes from.", [
  "remote",
  "local",
  "file",
  "template",
  "component",
]);
const include = valueType("CiConfigInclude", "A file that a configuration includes.", {
  type: { ...property("CiConfigIncludeType"), declares: INCLUDE_TYPE },
  location: property("String"),
  blob: property("String"),
  raw: property("String"),
  extra: property("JSON"),
  contextProject: property("String", from("context_project")),
  contextSha: property("String", from("context_sha")),
});

const STATUS = enumeration("CiConfigStatus", "Whether a configuration can be used.", {
  VALID: "VALID",
  INVALID: "INVALID",
});
const config = valueType("CiConfig", "What is found in a CI/CD configuration.", {
  status: {
    ...property("CiConfigStatus", ({ valid }: { valid: boolean }) => (valid ? "VALID" : "INVALID")),
    declares: STATUS,
  },
  errors: property("[String!]"),
  warnings: property("[String!]"),
  mergedYaml: property("String", from("merged_yaml")),
  includes: { ...property("[CiConfigInclude!]"), declares: include },
  stages: listed(stage, ({ jobs }: { jobs: readonly LintedJob[] }) =>
    listOf(namedBy(jobs, ({ stage }) => stage)),
  ),
});

/** Jobs by a name that several of them have, in the order of each name's first job. */
function namedBy(
  jobs: readonly LintedJob[],
  nameOf: (job: LintedJob) => string,
): readonly NamedJobs[] {
  const named = new Map<string, LintedJob[]>();
  for (const job of jobs) {
    const own = named.get(nameOf(job));
    if (own) own.push(job);
    else named.set(nameOf(job), [job]);
  }
  return [...named].map(([name, own]) => ({ name, jobs: own }));
}

const args = {
  projectPath: arg.required(arg.id),
  content: arg.required(arg.string),
  sha: arg.about(
    "The commit whose files are included; by default the default branch's.",
    arg.string,
  ),
  dryRun: arg.about("Whether a pipeline is planned, instead of all jobs being read.", arg.boolean),
  skipVerifyProjectSha: arg.about(
    "Changes nothing: the commit may be one that no reference has.",
    arg.boolean,
  ),
};

/** Checks of CI/CD configurations. */
export const graphqlModule: GraphqlModule = {
  extend: {
    Query: {
      ciConfig: property(
        config,
        (_, { read }: GraphContext, { projectPath, content, sha, dryRun }: Values<typeof args>) =>
          read(lintAtCommit, {
            id: projectPath,
            content,
            include_jobs: true,
            ...(sha && { sha }),
            ...(dryRun !== undefined && { dry_run: dryRun }),
          }),
        args,
      ),
    },
  },
};
