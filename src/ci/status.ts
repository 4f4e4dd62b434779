/** The states of a pipeline's jobs, and of pipelines. */
export type JobStatus =
  | "created"
  | "waiting_for_resource"
  | "preparing"
  | "waiting_for_callback"
  | "pending"
  | "running"
  | "success"
  | "failed"
  | "canceling"
  | "canceled"
  | "skipped"
  | "manual"
  | "scheduled";

/** A job's state, as far as others depend on it. */
export interface JobState {
  readonly name: string;
  readonly stageIndex: number;
  readonly status: JobStatus;
  readonly when: "on_success" | "on_failure" | "always" | "manual" | "delayed";
  readonly allowFailure: boolean;
  /** Names of jobs that this one waits for; `undefined` if it waits for the stages before. */
  readonly needs?: readonly string[] | undefined;
}

type Outcome = JobStatus | "success_with_warnings" | "ignored";

function outcomeOf({ status, allowFailure }: Pick<JobState, "status" | "allowFailure">): Outcome {
  if (!allowFailure) return status;
  if (status === "failed" || status === "canceled") return "success_with_warnings";
  return status === "manual" ? "ignored" : status;
}

/** In order, the status of jobs that all have one of these. */
const ALL_OF: readonly (readonly [status: JobStatus, outcomes: readonly Outcome[]])[] = [
  ["skipped", ["skipped", "ignored"]],
  ["success", ["success", "skipped", "success_with_warnings", "ignored"]],
  ["created", ["created", "success_with_warnings", "ignored"]],
  ["preparing", ["preparing", "success_with_warnings", "ignored"]],
  ["canceled", ["canceled", "success", "skipped", "success_with_warnings", "ignored"]],
  ["pending", ["pending", "created", "skipped", "success_with_warnings", "ignored"]],
];

/** In order, the status of jobs of which one has one of these. */
const ANY_OF: readonly (readonly [status: JobStatus, outcomes: readonly Outcome[]])[] = [
  ["running", ["running", "pending"]],
  ["waiting_for_resource", ["waiting_for_resource"]],
  ["waiting_for_callback", ["waiting_for_callback"]],
  ["manual", ["manual"]],
  ["scheduled", ["scheduled"]],
  ["preparing", ["preparing"]],
  ["running", ["created"]],
  ["canceling", ["canceling"]],
];

/**
 * The status of a pipeline or stage, from that of its jobs.
 *
 * @returns `undefined` if there are no jobs
 */
export function compositeStatus(
  jobs: Iterable<Pick<JobState, "status" | "allowFailure">>,
): JobStatus | undefined {
  const outcomes = new Set<Outcome>();
  for (const job of jobs) outcomes.add(outcomeOf(job));
  if (outcomes.size === 0) return undefined;
  const all = ALL_OF.find(([, allowed]) => [...outcomes].every((one) => allowed.includes(one)));
  const any = all ?? ANY_OF.find(([, wanted]) => wanted.some((one) => outcomes.has(one)));
  return any?.[0] ?? "failed";
}

/** What becomes of jobs that waited. */
export interface Startable<J extends JobState> {
  readonly job: J;
  readonly status: "pending" | "manual" | "scheduled" | "skipped";
}

/**
 * The jobs with status `created` for which everything that they wait for has ended, and what becomes of each. Jobs that
 * wait for these in turn are found by another call after these have changed.
 *
 * @param jobs all jobs of a pipeline, without those that were retried
 */
export function startable<J extends JobState>(jobs: readonly J[]): Startable<J>[] {
  const byName = new Map(jobs.map((job) => [job.name, job]));
  const stages = new Map<number, J[]>();
  for (const job of jobs) {
    const stage = stages.get(job.stageIndex);
    if (stage) stage.push(job);
    else stages.set(job.stageIndex, [job]);
  }
  const before = statusesBefore(stages);
  return jobs.flatMap((job) => {
    if (job.status !== "created") return [];
    const needed = job.needs?.flatMap((name) => byName.get(name) ?? []);
    const awaited = needed ? neededStatus(needed) : before.get(job.stageIndex);
    const status = nextStatus(job, awaited, needed !== undefined);
    return status ? [{ job, status }] : [];
  });
}

/** For each stage, the status of all jobs in stages before it. */
function statusesBefore<J extends JobState>(stages: ReadonlyMap<number, readonly J[]>) {
  const before = new Map<number, JobStatus | undefined>();
  const kinds = new Map<string, J>();
  for (const index of [...stages.keys()].sort((a, b) => a - b)) {
    before.set(index, compositeStatus(kinds.values()));
    for (const job of stages.get(index) ?? []) kinds.set(`${job.status} ${job.allowFailure}`, job);
  }
  return before;
}

/** What jobs that are needed come to. If one of them doesn't run, those that need it don't either. */
function neededStatus(needed: readonly JobState[]): JobStatus | undefined {
  const outcomes = needed.map(outcomeOf);
  if (outcomes.some((one) => one === "skipped" || one === "ignored")) return "skipped";
  return outcomes.every((one) => isEnd(one)) ? compositeStatus(needed) : "pending";
}

function isEnd(outcome: Outcome) {
  return ENDS.has(outcome) || outcome === "success_with_warnings";
}

const ENDS: ReadonlySet<Outcome> = new Set(["success", "failed", "canceled", "skipped"]);

/** After which statuses a job starts, by its `when`; after other ends it is skipped. */
const STARTS_AFTER: Record<JobState["when"], readonly JobStatus[]> = {
  always: ["success", "failed", "skipped"],
  delayed: ["success", "skipped"],
  manual: ["success", "skipped"],
  on_failure: ["failed"],
  on_success: ["success", "skipped"],
};

function nextStatus(
  { when }: JobState,
  awaited: JobStatus = "success",
  hasNeeds: boolean,
): Startable<JobState>["status"] | undefined {
  if (!ENDS.has(awaited)) return undefined;
  // Stages whose jobs were all skipped let later ones run; a needed job that was skipped doesn't.
  const isUnmet = hasNeeds && awaited === "skipped" && when !== "always";
  if (isUnmet || !STARTS_AFTER[when].includes(awaited)) return "skipped";
  if (when === "manual") return "manual";
  return when === "delayed" ? "scheduled" : "pending";
}
