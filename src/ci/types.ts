import type { IncludeSources } from "../outgoing/includes.ts";
import type { Pace } from "../turns/pace.ts";

/** What can make a pipeline. */
export const PIPELINE_SOURCES = [
  "unknown",
  "push",
  "web",
  "trigger",
  "schedule",
  "api",
  "external",
  "pipeline",
  "chat",
  "webide",
  "merge_request_event",
  "external_pull_request_event",
  "parent_pipeline",
] as const;
/** What made a pipeline. */
export type PipelineSource = (typeof PIPELINE_SOURCES)[number];

/** Values of variables by name. */
export interface Lookup {
  get(name: string): string | undefined;
}

/** A regular expression. */
export interface Pattern {
  /** Whether a part of a text fits. */
  fits(text: string): boolean;
  /** What the groups of the last part that fits have found, or that part if there are no groups. */
  last(text: string): string | undefined;
}

/** An expression of `if`, as `$CI_COMMIT_BRANCH == "main" && $DEPLOY`. */
export type Expression =
  | { readonly kind: "text"; readonly value: string | boolean | null }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "not"; readonly operand: Expression }
  | { readonly kind: "pattern"; readonly pattern: Pattern }
  | {
      readonly kind: "operation";
      readonly operator: Operator;
      readonly left: Expression;
      readonly right: Expression;
    };

/** The operators of expressions. */
export type Operator = "==" | "!=" | "=~" | "!~" | "&&" | "||";

/** A variable by its key and value, as rules read it. */
export interface Variable {
  readonly key: string;
  readonly value: string;
}

/** A variable that a configuration gives to a job. */
export interface JobVariable extends Variable {
  /** Whether names of other variables in its value stand for their values. */
  readonly expand: boolean;
}

/** A commit of a project, whose files are part of configurations. */
export interface Commit {
  /** Full path of the project. */
  readonly project: string;
  /** Its id; empty where there is none. */
  readonly sha: string;
  /** The text of a file; `undefined` if there is none. */
  file(path: string): Promise<string | undefined>;
  /** Paths of all files. */
  paths(): Promise<readonly string[]>;
}

/** The commit of a component. */
interface ComponentCommit extends Commit {
  /** The version that it is of: a tag of a release, or what was asked for. */
  readonly version: string;
}

/**
 * What configurations include besides the files of their commit. `isPublic` says that a file is included by one of nobody,
 * which everybody must be able to read.
 */
export interface Elsewhere extends IncludeSources {
  /**
   * A commit of another project.
   *
   * @param ref a branch, tag or commit; otherwise the default branch
   * @returns what there is not, or is not shown: the project, or the commit
   */
  project(
    path: string,
    ref: string | undefined,
    isPublic: boolean,
  ): Promise<Commit | "project" | "reference">;
  /**
   * The commit of a version of a project's components.
   *
   * @returns what there is not: the project, the version, or any version that `~latest` could be
   */
  component(
    path: string,
    version: string,
    isPublic: boolean,
  ): Promise<ComponentCommit | "project" | "version" | "latest">;
  /** A file in the artifacts of a job of the pipeline that starts this one; `undefined` if no pipeline does. */
  readonly artifact?:
    | ((job: string, path: string) => Promise<{ readonly text: string } | "job" | "file">)
    | undefined;
}

/** What the server's administrator allows configurations. */
export interface ConfigurationLimits {
  /** Files that are included; one that is included twice counts twice. */
  readonly includes: number;
  /** Other jobs of the pipeline that one job needs. */
  readonly needs: number;
}

/** GitLab's own limits. */
export const DEFAULT_LIMITS: ConfigurationLimits = { includes: 150, needs: 50 };

/**
 * What a configuration is read for: a commit, a branch or tag, and what makes the pipeline. The functions are called only
 * if the configuration needs what they answer.
 */
export interface Circumstances extends Commit {
  /** Reading and deciding pause with it. */
  readonly pace: Pace;
  /** The name of the branch or tag, without `refs/heads/` or `refs/tags/`. */
  readonly ref: string;
  readonly tag: boolean;
  readonly source: PipelineSource;
  /** Variables which those of the configuration override, as `CI_COMMIT_BRANCH`. Among equal keys, the last one counts. */
  readonly predefined: readonly Variable[];
  /** Variables of the instance, groups, project and pipeline; they override those of the configuration, and the last one counts. */
  readonly variables: readonly Variable[];
  /** The keys of {@link variables} whose values must not be shown. Default: none. */
  readonly masked?: ReadonlySet<string>;
  /** Values of the configuration's inputs by name. Default: none. */
  readonly inputs?: { readonly [name: string]: Json } | undefined;
  /** Whether all of them are texts, as an option of a push is, which stand for what the inputs are. */
  readonly areTexts?: boolean | undefined;
  /** Default: GitLab's own. */
  readonly limits?: ConfigurationLimits;
  readonly elsewhere: Elsewhere;
  /**
   * Paths of files that were changed; `undefined` if there is nothing to compare with, as in pipelines of tags; `null` if
   * `compareTo` names no commit.
   *
   * @param compareTo the branch, tag or commit to compare with, otherwise the commit before the push or the merge request's target
   */
  changes(compareTo?: string): Promise<readonly string[] | undefined | null>;
}

/** What `include` can name files by. */
export const INCLUDE_KINDS = [
  "local",
  "project",
  "remote",
  "template",
  "artifact",
  "component",
] as const;

/** A file of a commit. */
interface FileOfCommit {
  /** Full path of the project. */
  readonly project: string;
  readonly sha: string;
  readonly path: string;
}

/** A file that a configuration includes. */
export interface IncludedFile {
  readonly type: "local" | "file" | "remote" | "template" | "component" | "artifact";
  /** Its path, address or name. */
  readonly location: string;
  /** Where it is, if it is a file of a commit. */
  readonly file?: FileOfCommit;
  /** What else names it. */
  readonly extra: { readonly [key: string]: string };
  /** The commit whose file includes it; `undefined` if that is none of a commit. */
  readonly context: Omit<FileOfCommit, "path"> | undefined;
}

/** What {@link readConfiguration} found. */
export interface Reading {
  /** Mistakes, which prevent pipelines. Without any, there is a {@link configuration}. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** Writes the configuration with includes, `extends` and references resolved as YAML; `undefined` if these failed. */
  readonly mergedYaml: (() => string) | undefined;
  readonly includes: readonly IncludedFile[];
  readonly configuration: Configuration | undefined;
}

/** When a job starts. */
export type When = "on_success" | "on_failure" | "always" | "manual" | "delayed";

/** Files of which one must be there. */
export interface Existing {
  readonly paths: readonly string[];
  /** Another project that has them, and its branch, tag or commit; these may contain variables. */
  readonly project?: string;
  readonly ref?: string;
}

/** One of a list of conditions: the first that fits decides. */
export interface Rule {
  readonly if?: Expression;
  readonly changes?: { readonly paths: readonly string[]; readonly compareTo?: string };
  readonly exists?: Existing;
  readonly when?: When | "never";
  /** Seconds. */
  readonly startIn?: number;
  readonly allowFailure?: boolean;
  readonly variables?: ReadonlyMap<string, JobVariable>;
  readonly needs?: readonly Need[];
  readonly interruptible?: boolean;
  readonly autoCancel?: AutoCancel;
}

/** What `only` or `except` lists. */
export interface Policy {
  readonly refs?: readonly string[];
  readonly variables?: readonly { readonly text: string; readonly expression: Expression }[];
  readonly changes?: readonly string[];
  readonly kubernetes?: true;
}

/** A job that another one waits for. */
export interface Need {
  readonly job: string;
  /** Whether the job's artifacts are downloaded. */
  readonly artifacts: boolean;
  /** Whether the job may be missing in the pipeline. */
  readonly optional: boolean;
  /** Variables of those that are needed of the jobs which `parallel:matrix` makes; all of them if left out. */
  readonly matrix?: readonly ReadonlyMap<string, readonly string[]>[];
}

/** A job of another project, or of a pipeline above this one, whose artifacts are downloaded. Texts may contain variables. */
export type NeedElsewhere =
  | { readonly project: string; readonly job: string; readonly ref: string }
  | { readonly pipeline: string; readonly job: string };

/** When newer pipelines cancel older ones. */
export interface AutoCancel {
  readonly onNewCommit?: "conservative" | "interruptible" | "none";
  readonly onJobFailure?: "all" | "none";
}

/** A job's environment; names and addresses may contain variables. */
export interface JobEnvironment {
  readonly name: string;
  readonly url?: string;
  readonly action: "start" | "prepare" | "stop" | "verify" | "access";
  readonly onStop?: string;
  readonly deploymentTier?: "production" | "staging" | "testing" | "development" | "other";
  readonly autoStopIn?: string;
  readonly kubernetes?: Json;
}

/** How often a job that failed is run again by itself. */
export interface Retry {
  readonly max: 0 | 1 | 2;
  /** Reasons of failure, as `runner_system_failure`, or `always`. */
  readonly when: readonly string[];
  readonly exitCodes?: readonly number[];
}

/** What a job starts instead of a script: a pipeline of a file of this commit, or of another project. */
export interface Trigger {
  /** Full path of another project, which may contain variables; `undefined` for a child pipeline. */
  readonly project?: string;
  readonly branch?: string;
  /** Files which together are the child pipeline's configuration: paths of this commit, or what `include` names them by. */
  readonly include?: readonly Json[];
  /** Values of inputs of another project's configuration by name. */
  readonly inputs?: { readonly [name: string]: Json };
  /** Whether the job has the status of the pipeline that it started. */
  readonly depends: boolean;
  readonly forward: { readonly yamlVariables: boolean; readonly pipelineVariables: boolean };
}

/** A value of JSON, in the form in which runners get it. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A cache in the runners' form. */
export interface CacheConfiguration {
  /** What the cache is found by; with {@link files}, the beginning of that. */
  readonly key: string;
  /** Files whose contents are part of the key. */
  readonly files?: readonly string[];
  readonly paths: readonly string[];
  readonly untracked: boolean;
  readonly unprotect: boolean;
  /** `pull-push`, `pull`, `push` or a variable. */
  readonly policy: string;
  readonly when: "on_success" | "on_failure" | "always";
  readonly fallback_keys: readonly string[];
}

/** Who may download the archive of a job's artifacts: nobody but later jobs, those with a role, or whoever sees the job. */
export type ArtifactAccess = "none" | "developer" | "maintainer" | "all";

/** What a runner gets about a job besides its variables, in the runners' form. It may be stored as JSON. */
export interface JobOptions {
  readonly before_script?: readonly string[];
  readonly script?: readonly string[];
  readonly after_script?: readonly string[];
  readonly image?: { readonly [key: string]: Json };
  readonly services?: readonly { readonly [key: string]: Json }[];
  readonly artifacts?: readonly { readonly [key: string]: Json }[];
  readonly cache?: readonly CacheConfiguration[];
  /** Names of jobs whose artifacts are downloaded; all of earlier stages if left out. */
  readonly dependencies?: readonly string[];
  readonly hooks?: { readonly pre_get_sources_script: readonly string[] };
  /** The audiences of the tokens of OpenID Connect that it gets, by the names of their variables. */
  readonly id_tokens?: { readonly [key: string]: { readonly aud: string | readonly string[] } };
  readonly release?: { readonly [key: string]: Json };
  /** What the runner fetches from elsewhere, by the names of their variables. */
  readonly secrets?: { readonly [key: string]: JobSecret };
  readonly pages?: SiteOptions;
  /** A job's place among those that `parallel` made of one. */
  readonly parallel?: { readonly number: number; readonly total: number };
}

/** Where secrets are that runners fetch. */
export type SecretProvider =
  | "vault"
  | "azure_key_vault"
  | "gcp_secret_manager"
  | "aws_secrets_manager"
  | "akeyless";

/** A secret that a runner fetches. */
export interface JobSecret {
  readonly provider: SecretProvider;
  /** What names it there, in the runners' form. */
  readonly named: { readonly [key: string]: Json };
  /** Whether its variable is the path of a file that has it. Default: `true`. */
  readonly file?: boolean;
  /** The variable with the token by which the job proves itself, as `$TOKEN`. Default: the first of its `id_tokens`. */
  readonly token?: string;
}

/** How a job publishes a site: `pages`. Texts may contain variables. */
export interface SiteOptions {
  /** The folder of its artifacts that is published. */
  readonly publish: string;
  /** What the paths of a site begin with that is beside the main one; empty for that. */
  readonly path_prefix?: string;
  /** A duration after which it is taken away, or `never`. Default: `never`, and a day with a prefix. */
  readonly expire_in?: string;
}

/** A job of a configuration, before it is known whether a pipeline has it. */
export interface JobConfiguration {
  readonly name: string;
  readonly stage: string;
  readonly when: When;
  /** Seconds after which a job with `when: delayed` starts. */
  readonly startIn?: number;
  readonly allowFailure: boolean;
  /** With these exit codes a job may fail. */
  readonly allowFailureExitCodes?: readonly number[];
  readonly rules?: readonly Rule[];
  readonly only?: Policy;
  readonly except?: Policy;
  /** What the job waits for instead of earlier stages. */
  readonly needs?: readonly Need[];
  readonly needsElsewhere?: readonly NeedElsewhere[];
  readonly variables: ReadonlyMap<string, JobVariable>;
  /** Names of global variables which the job has; all or none if a boolean. */
  readonly inheritVariables: boolean | readonly string[];
  readonly tags: readonly string[];
  readonly environment?: JobEnvironment;
  /** A regular expression without slashes. */
  readonly coverage?: string;
  readonly interruptible?: boolean;
  readonly resourceGroup?: string;
  readonly retry?: Retry;
  /** Seconds. */
  readonly timeout?: number;
  readonly trigger?: Trigger;
  /** Full path of a project, which may contain variables: the job has the status of its newest pipeline. */
  readonly mirrors?: string;
  /** What is asked before a manual job is started. */
  readonly manualConfirmation?: string;
  readonly options: JobOptions;
}

/** A configuration without mistakes. */
export interface Configuration {
  /** In order, with `.pre` and `.post`. */
  readonly stages: readonly string[];
  readonly jobs: readonly JobConfiguration[];
  /** Global variables. */
  readonly variables: ReadonlyMap<string, JobVariable>;
  readonly workflow: {
    readonly name?: string;
    readonly rules?: readonly Rule[];
    readonly autoCancel: AutoCancel;
  };
}

/** A job that a pipeline has. */
export interface PlannedJob
  extends Omit<
    JobConfiguration,
    "rules" | "only" | "except" | "inheritVariables" | "variables" | "needs"
  > {
  /** The stage's place in the pipeline's list. */
  readonly stageIndex: number;
  /** The jobs of the pipeline that this one waits for; `undefined` if it waits for all of the stages before. */
  readonly needs?: readonly Omit<Need, "optional">[];
  /** Variables of the configuration in order of precedence: global ones, of the job and of its rule. */
  readonly variables: readonly JobVariable[];
}

/** What a pipeline would be. */
export interface Plan {
  /** Why there is no pipeline. */
  readonly errors: readonly string[];
  /** What {@link errors} come from; `undefined` without errors. */
  readonly failure?: "config_error" | "filtered_by_workflow_rules" | "filtered_by_rules";
  /** The pipeline's name, with variables replaced. */
  readonly name: string | undefined;
  /** Stages that have jobs, in order. */
  readonly stages: readonly string[];
  readonly jobs: readonly PlannedJob[];
  readonly autoCancel: AutoCancel;
}
