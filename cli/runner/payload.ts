// What a server tells a runner about a job, as far as this runner reads it: GitLab Runner's protocol.

/** A variable of a job. */
export interface JobVariable {
  readonly key: string;
  readonly value: string;
  readonly masked: boolean;
  /** Whether the job gets a file with the value, and its path as the variable. */
  readonly file: boolean;
  /** Whether `$` in the value stands for itself. */
  readonly raw: boolean;
}

/** Commands of a job. */
export interface Step {
  readonly name: string;
  readonly script: readonly string[];
  readonly when: "on_success" | "on_failure" | "always";
  readonly allow_failure: boolean;
}

/** Files that a job leaves. */
export interface Artifact {
  readonly name?: string;
  readonly paths?: readonly string[];
  readonly exclude?: readonly string[];
  readonly untracked?: boolean;
  readonly when?: "on_success" | "on_failure" | "always";
  readonly expire_in?: string;
  readonly artifact_type?: string;
  readonly artifact_format?: "zip" | "gzip" | "raw";
}

/** Files that jobs keep for others. */
export interface Cache {
  readonly key: string;
  readonly paths?: readonly string[];
  readonly untracked?: boolean;
  readonly policy?: string;
  readonly when?: "on_success" | "on_failure" | "always";
  readonly fallback_keys?: readonly string[];
}

/** A job whose artifacts another one gets. */
export interface Dependency {
  readonly id: number;
  readonly name: string;
  readonly token: string;
  readonly artifacts_file?: { readonly filename: string };
}

/** What a container is made of. */
export interface ContainerImage {
  readonly name?: string;
  readonly entrypoint?: readonly string[] | null;
  readonly pull_policy?: readonly string[] | null;
  /** What Docker is told besides. */
  readonly docker?: { readonly user?: string | number; readonly platform?: string } | null;
}

/** A container beside that of a job. */
interface ServiceImage extends ContainerImage {
  readonly alias?: string;
  readonly command?: readonly string[] | null;
  readonly variables?: readonly Pick<JobVariable, "key" | "value">[] | null;
}

/** A job. */
export interface Job {
  readonly id: number;
  readonly token: string;
  readonly job_info: {
    readonly name: string;
    readonly project_id: number;
    readonly project_full_path?: string;
  };
  readonly git_info: {
    readonly repo_url: string;
    readonly sha: string;
    readonly refspecs: readonly string[];
    readonly depth: number;
  };
  /** Seconds. */
  readonly runner_info: { readonly timeout: number };
  readonly variables: readonly JobVariable[];
  readonly steps: readonly Step[];
  readonly hooks?: readonly { readonly name: string; readonly script: readonly string[] }[] | null;
  readonly image?: ContainerImage | null;
  readonly services?: readonly ServiceImage[] | null;
  readonly artifacts?: readonly Artifact[] | null;
  readonly cache?: readonly Cache[] | null;
  readonly dependencies?: readonly Dependency[] | null;
}

/** How a job ended. */
export interface Outcome {
  readonly state: "success" | "failed";
  /** In the words of `failure_reason`. */
  readonly reason?: string;
  readonly exitCode?: number;
}
