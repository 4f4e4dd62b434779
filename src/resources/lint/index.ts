import {
  type Circumstances,
  type IncludedFile,
  type JobConfiguration,
  type PlannedJob,
  type Policy,
  type Reading,
  readConfiguration,
} from "../../ci/index.ts";
import type { Caller } from "../../core/access/caller.ts";
import { ApiError, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import {
  type CodeSource,
  Json,
  type PrepareContext,
  type Resource,
  routes,
} from "../../core/resource.ts";
import { commitId } from "../../git/commits.ts";
import { findCommit } from "../../git/revisions.ts";
import { mayCreatePipeline } from "../ci/abilities.ts";
import { NO_SHA } from "../ci/records.ts";
import { ciSettingsOf } from "../ci/settings.ts";
import {
  circumstancesOf,
  type Makers,
  predefinedVariables,
  serverVariables,
} from "../pipelines/circumstances.ts";
import {
  configurationAt,
  configurationLimits,
  PipelineRefusal,
  type Place,
  placeIn,
  planCreation,
  variablesGiven,
} from "../pipelines/create.ts";
import { type Reading as Elsewhere, elsewhereOf } from "../pipelines/elsewhere.ts";
import { MAIN, type OpenRepository, openRepository, requireCommit } from "../repositories/open.ts";
import { variablesFor } from "../variables/effective.ts";

const { get, query } = routes({ source: "project", path: "/ci/lint", repository: true });
const { query: ofInstance } = routes({ path: "/ci/lint" });

/** Maximum length of a configuration that is sent, in characters. */
const MAX_CONTENT = 1024 * 1024;

const NOT_ALLOWED = "Insufficient permissions to create a new pipeline";

/** How a configuration is checked. */
interface Check {
  /** Whether a pipeline is planned, instead of all jobs being read. */
  readonly dry_run?: boolean | undefined;
  readonly include_jobs?: boolean | undefined;
  /** The branch or tag of the planned pipeline. */
  readonly ref: string;
}

const example = {
  valid: true,
  errors: [],
  warnings: [],
  merged_yaml: "---\ntest:\n  script: make test\n",
  includes: [
    {
      type: "local",
      location: "ci/test.yml",
      blob: "https://pm.example/acme/shop/-/blob/6104942438c14ec7bd21c6cd5bd995272b3faff6/ci/test.yml",
      raw: "https://pm.example/acme/shop/-/raw/6104942438c14ec7bd21c6cd5bd995272b3faff6/ci/test.yml",
      extra: {},
      context_project: "acme/shop",
      context_sha: "6104942438c14ec7bd21c6cd5bd995272b3faff6",
    },
  ],
};
const refusedExample = {
  valid: false,
  errors: ["jobs config should contain at least one visible job"],
  warnings: [],
  merged_yaml: null,
  includes: null,
  jobs: [],
};

/** What is found in a configuration. */
interface Result {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly reading: Reading | undefined;
  readonly jobs: readonly object[];
}

const checkInput = {
  dry_run: param.optional(param.boolean()),
  include_jobs: param.optional(param.boolean()),
};
const name = param.optional(param.anyText({ max: 1024 }));

const sentInput = { ...checkInput, content: param.anyText({ max: MAX_CONTENT }), ref: name };

/** Checks a configuration that is sent as REST does, beside the files of a commit, which only GraphQL's callers can name. */
export const lintAtCommit = query("", {
  summary: "Check a CI/CD configuration that is sent, as one of a commit",
  role: "developer",
  input: { ...sentInput, sha: name },
  prepare: (input, preparing) => checkSent({ ...input, commit: input.sha || "HEAD" }, preparing),
  handle: ({ prepared }) => new Json(prepared),
});

/** Checks of CI/CD configurations. */
export const lintResource: Resource = {
  name: "CI lint",
  migrations: [],
  routes: [
    get("", {
      summary: "Check the CI/CD configuration of a commit",
      access: "anyone",
      input: { ...checkInput, content_ref: name, sha: name, dry_run_ref: name, ref: name },
      examples: [example, refusedExample],
      prepare: async (input, preparing) => {
        const content = oneOf(input, "content_ref", "sha") || "HEAD";
        const opened = await openRepository(preparing, [content]);
        if (opened.row === undefined) throw notFound("Repository");
        const commit = await requireCommit(opened, content);
        const ref = oneOf(input, "dry_run_ref", "ref") || opened.defaultBranch;
        const place = placeIn(preparing, preparing.source, preparing.caller?.id ?? null);
        const surroundings = await circumstancesAt(place, opened, commit);
        const { configurationPath } = await ciSettingsOf(place.db, preparing.source.id);
        const text = (await configurationAt(surroundings, configurationPath)) ?? "";
        return show(place, await check(place, surroundings, text, { ...input, ref }), input);
      },
      handle: ({ prepared }) => new Json(prepared),
    }),
    query("", {
      summary: "Check a CI/CD configuration that is sent, as one of a project",
      role: "developer",
      input: sentInput,
      examples: [example, refusedExample],
      prepare: (input, preparing) => checkSent({ ...input, commit: "HEAD" }, preparing),
      handle: ({ prepared }) => new Json(prepared),
    }),
    ofInstance("", {
      summary: "Check a CI/CD configuration that is sent, without a project",
      input: {
        content: param.anyText({ max: MAX_CONTENT }),
        include_merged_yaml: param.optional(param.boolean()),
        include_jobs: param.optional(param.boolean()),
      },
      examples: [
        { status: "valid", errors: [], warnings: [], merged_yaml: example.merged_yaml, jobs: [] },
        { status: "invalid", errors: ["no jobs"], warnings: [], merged_yaml: null, jobs: [] },
        { status: "invalid", errors: refusedExample.errors, warnings: [] },
      ],
      prepare: async (input, preparing) => {
        const reading = await readConfiguration(input.content, await nowhere(preparing, "", MAIN));
        return {
          status: reading.errors.length === 0 ? "valid" : "invalid",
          errors: reading.errors,
          warnings: reading.warnings,
          ...(input.include_merged_yaml && { merged_yaml: reading.mergedYaml?.() ?? null }),
          ...(input.include_jobs && { jobs: readJobs(reading) }),
        };
      },
      handle: ({ prepared }) => new Json(prepared),
    }),
  ],
};

/** Checks a configuration that is sent as if it were in a project, at a commit if there is one. */
async function checkSent(
  input: Omit<Check, "ref"> & {
    readonly content: string;
    readonly commit: string;
    readonly ref?: string | undefined;
  },
  preparing: PrepareContext<Caller> & { source: CodeSource },
): Promise<object> {
  const opened = await openRepository(preparing, [input.commit]);
  const commit = await findCommit(opened, input.commit);
  const place = placeIn(preparing, preparing.source, preparing.caller.id);
  const surroundings =
    commit === undefined
      ? await nowhere(preparing, preparing.source.fullPath, opened.defaultBranch)
      : await circumstancesAt(place, opened, commit);
  const ref = input.ref || opened.defaultBranch;
  return show(place, await check(place, surroundings, input.content, { ...input, ref }), input);
}

/** The value of one of two parameters that mean the same. @throws ApiError 400 if both are sent */
function oneOf<K extends string>(
  input: { readonly [key in K]?: string | undefined },
  newer: K,
  older: K,
) {
  if (input[newer] !== undefined && input[older] !== undefined) {
    throw new ApiError(400, { error: `${older}, ${newer} are mutually exclusive` });
  }
  return input[newer] ?? input[older];
}

/** What a configuration of a commit is read for, without a pipeline. */
async function circumstancesAt(
  { db, secrets, project, userId, base, edition, includes, at }: Place,
  opened: OpenRepository,
  commit: number,
): Promise<Circumstances> {
  const makers: Makers = { db, opened, base, edition, includes, userId, at };
  const target = {
    ref: opened.defaultBranch,
    tag: false,
    isProtected: false,
    sha: commitId(opened.repository, commit),
    before: NO_SHA,
    source: "push",
  } as const;
  const predefined = await predefinedVariables(makers, target);
  const use = { isProtected: target.isProtected, environment: undefined };
  const own = await variablesFor(db, secrets, project, use);
  const limits = await configurationLimits(db);
  return circumstancesOf(makers, target, { predefined, limits, ...variablesGiven(own) });
}

/** What reads a configuration without a commit. */
type Unplaced = Elsewhere & Pick<PrepareContext, "view" | "edition">;

/** What a configuration is read for without a commit. */
async function nowhere(reading: Unplaced, project: string, ref: string): Promise<Circumstances> {
  const { view, edition } = reading;
  const predefined = Object.entries(serverVariables(view.base, edition));
  return {
    pace: reading.budget,
    ref,
    tag: false,
    source: "push",
    project,
    sha: "",
    predefined: predefined.map(([key, value = ""]) => ({ key, value })),
    variables: [],
    limits: await configurationLimits(reading.db),
    elsewhere: elsewhereOf(reading),
    file: async () => undefined,
    paths: async () => [],
    changes: async () => undefined,
  };
}

async function check(
  place: Place,
  surroundings: Circumstances,
  text: string,
  { dry_run, ref }: Check,
): Promise<Result> {
  if (dry_run && !mayCreatePipeline(place.project)) {
    return { errors: [NOT_ALLOWED], warnings: [], reading: undefined, jobs: [] };
  }
  const reading = await readConfiguration(text, surroundings);
  const { errors, warnings } = reading;
  if (!dry_run || errors.length > 0) return { errors, warnings, reading, jobs: readJobs(reading) };
  try {
    const { plan } = await planCreation(place, { ref, source: "push", content: text });
    const jobs = plan?.jobs.toSorted((a, b) => a.stageIndex - b.stageIndex) ?? [];
    return { errors, warnings, reading, jobs: jobs.map(plannedJob) };
  } catch (error) {
    if (!(error instanceof PipelineRefusal)) throw error;
    return { errors: error.reasons, warnings, reading, jobs: [] };
  }
}

function show(
  { base }: Place,
  { errors, warnings, reading, jobs }: Result,
  { include_jobs }: Pick<Check, "include_jobs">,
): object {
  return {
    valid: errors.length === 0,
    errors,
    warnings,
    merged_yaml: reading?.mergedYaml?.() ?? null,
    includes: reading?.mergedYaml ? reading.includes.map((one) => included(base, one)) : null,
    ...(include_jobs && { jobs }),
  };
}

function included(base: string, { type, location, file, extra, context }: IncludedFile) {
  const addressOf = (page: string) =>
    file ? `${base}/${file.project}/-/${page}/${file.sha}/${file.path}` : null;
  return {
    type,
    location,
    blob: addressOf("blob"),
    raw: type === "remote" ? location : addressOf("raw"),
    extra,
    context_project: context?.project ?? null,
    context_sha: context?.sha || null,
  };
}

/** The jobs of a configuration, by stage. */
function readJobs({ configuration }: Reading): readonly object[] {
  if (!configuration) return [];
  const { stages, jobs } = configuration;
  const places = new Map(stages.map((stage, index) => [stage, index]));
  return jobs
    .toSorted((a, b) => (places.get(a.stage) as number) - (places.get(b.stage) as number))
    .map((job) => ({
      ...plannedJob(job),
      only: policyOf(job.only),
      except: policyOf(job.except),
      needs:
        job.needs?.map((need) => ({
          name: need.job,
          artifacts: need.artifacts,
          optional: need.optional,
        })) ?? null,
    }));
}

function plannedJob({
  name,
  stage,
  options,
  tags,
  environment,
  when,
  allowFailure,
}: JobConfiguration | PlannedJob) {
  return {
    name,
    stage,
    before_script: options.before_script ?? [],
    script: options.script ?? [],
    after_script: options.after_script ?? [],
    tag_list: tags,
    environment: environment?.name ?? null,
    when,
    allow_failure: allowFailure,
  };
}

function policyOf(policy: Policy | undefined) {
  if (!policy) return null;
  const { refs, variables, changes, kubernetes } = policy;
  return {
    ...(refs && { refs }),
    ...(variables && { variables: variables.map(({ text }) => text) }),
    ...(changes && { changes }),
    ...(kubernetes && { kubernetes: "active" }),
  };
}
