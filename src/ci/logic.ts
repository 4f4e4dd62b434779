import type { ReadJob } from "./jobs.ts";
import type { Instance } from "./parallel.ts";
import type { JobConfiguration, Need } from "./types.ts";
import { ConfigurationError } from "./values.ts";

/** Maximum number of jobs whose artifacts one job gets. */
const MAX_DEPENDENCIES = 400;
const MAX_NAME = 255;
/** How many jobs of a circle are named. */
const MAX_SHOWN = 100;

/**
 * Makes jobs of what `parallel` says, and replaces the names of such jobs in `needs` and `dependencies` by theirs.
 *
 * @param mostNeeds jobs that one job may need
 * @throws ConfigurationError if a job gets too many of these
 */
export function expandJobs(
  read: readonly ReadJob[],
  mostNeeds: number,
): readonly JobConfiguration[] {
  const instances = new Map(
    read.flatMap(({ job, instances }) => (instances ? [[job.name, instances] as const] : [])),
  );
  return read.flatMap(({ job, instances: own }) => {
    const expanded = withNames(job, instances, mostNeeds);
    return own ? own.map((one, index) => instanceOf(expanded, one, index, own.length)) : [expanded];
  });
}

function instanceOf(
  job: JobConfiguration,
  { suffix, variables }: Instance,
  index: number,
  total: number,
): JobConfiguration {
  const name = `${job.name}${suffix}`;
  if (name.length > MAX_NAME) {
    throw new ConfigurationError(
      `jobs:${job.name}:parallel config makes names that are too long (maximum is ${MAX_NAME} characters)`,
    );
  }
  const own = [...variables].map(([key, value]) => [key, { key, value, expand: true }] as const);
  return {
    ...job,
    name,
    variables: own.length > 0 ? new Map([...job.variables, ...own]) : job.variables,
    options: { ...job.options, parallel: { number: index + 1, total } },
  };
}

type Instances = ReadonlyMap<string, readonly Instance[]>;

function withNames(
  job: JobConfiguration,
  instances: Instances,
  mostNeeds: number,
): JobConfiguration {
  const expanded = (needs: readonly Need[]) => expandNeeds(job.name, needs, instances, mostNeeds);
  const { needs, rules, options } = job;
  const dependencies = options.dependencies?.flatMap((name) => namesOf(name, instances));
  if (dependencies && dependencies.length > MAX_DEPENDENCIES) {
    throw new ConfigurationError(
      `jobs:${job.name} dependencies are too many (maximum is ${MAX_DEPENDENCIES})`,
    );
  }
  return {
    ...job,
    options: dependencies ? { ...options, dependencies } : options,
    ...(needs && { needs: expanded(needs) }),
    ...(rules && {
      rules: rules.map((rule) => (rule.needs ? { ...rule, needs: expanded(rule.needs) } : rule)),
    }),
  };
}

function expandNeeds(
  name: string,
  needs: readonly Need[],
  instances: Instances,
  most: number,
): readonly Need[] {
  const expanded: Need[] = [];
  for (const { matrix, ...need } of needs) {
    for (const job of namesOf(need.job, instances, matrix)) expanded.push({ ...need, job });
  }
  if (expanded.length <= most) return expanded;
  throw new ConfigurationError(
    `${name}: one job can only need ${most} others, but you have listed ${expanded.length}. See needs keyword documentation for more details`,
  );
}

/** The names of the jobs that a name stands for. */
function namesOf(name: string, instances: Instances, matrix?: Need["matrix"]): readonly string[] {
  const own = instances.get(name);
  if (!own) return [name];
  const chosen = matrix
    ? own.filter(({ variables }) => matrix.some((row) => isIn(row, variables)))
    : own;
  return chosen.map(({ suffix }) => `${name}${suffix}`);
}

function isIn(
  row: ReadonlyMap<string, readonly string[]>,
  variables: ReadonlyMap<string, string>,
): boolean {
  return [...row].every(([key, values]) => values.includes(variables.get(key) as string));
}

/**
 * Checks what jobs say of stages and of each other.
 *
 * @throws ConfigurationError with the first mistake
 */
export function checkLogic(jobs: readonly JobConfiguration[], stages: readonly string[]): void {
  const check = new Check(jobs, stages);
  for (const job of jobs) check.job(job);
  checkCircles(jobs);
}

class Check {
  readonly #jobs: ReadonlyMap<string, JobConfiguration>;
  readonly #stages: ReadonlyMap<string, number>;

  constructor(jobs: readonly JobConfiguration[], stages: readonly string[]) {
    this.#jobs = new Map(jobs.map((job) => [job.name, job]));
    this.#stages = new Map(stages.map((stage, index) => [stage, index]));
  }

  job(job: JobConfiguration) {
    if (!this.#stages.has(job.stage)) {
      const available = [...this.#stages.keys()].join(", ");
      fail(job, `chosen stage ${job.stage} does not exist; available stages are ${available}`);
    }
    for (const name of job.options.dependencies ?? []) this.#other(job, name, "dependency");
    this.#needs(job, job.needs ?? []);
    for (const { needs } of job.rules ?? []) this.#needs(job, needs ?? []);
    this.#environment(job);
  }

  #needs(job: JobConfiguration, needs: readonly Need[]) {
    const seen = new Set<string>();
    for (const { job: name, optional } of needs) {
      if (seen.has(name)) {
        throw new ConfigurationError(`${job.name} has the following needs duplicated: ${name}.`);
      }
      seen.add(name);
      if (!optional || this.#jobs.has(name)) this.#other(job, name, "need");
    }
  }

  #other(job: JobConfiguration, name: string, kind: "dependency" | "need") {
    const other = this.#jobs.get(name);
    if (!other) fail(job, `undefined ${kind}: ${name}`);
    const stage = this.#stages.get(other.stage);
    if (stage === undefined || stage > (this.#stages.get(job.stage) as number)) {
      fail(job, `${kind} ${name} is not defined in current or prior stages`);
    }
  }

  #environment(job: JobConfiguration) {
    const onStop = job.environment?.onStop;
    if (onStop === undefined) return;
    const other = this.#jobs.get(onStop);
    if (!other) fail(job, `on_stop job ${onStop} is not defined`);
    if (!other.environment) fail(job, `on_stop job ${onStop} does not have environment defined`);
    if (other.environment.name !== job.environment?.name) {
      fail(job, `on_stop job ${onStop} have different environment name`);
    }
    if (other.environment.action !== "stop") {
      fail(job, `on_stop job ${onStop} needs to have action stop defined`);
    }
  }
}

function fail({ name }: JobConfiguration, message: string): never {
  throw new ConfigurationError(`${name} job: ${message}`);
}

/**
 * Checks that no job waits for itself.
 *
 * @throws ConfigurationError if one does
 */
export function checkCircles(
  jobs: readonly { readonly name: string; readonly needs?: readonly { readonly job: string }[] }[],
): void {
  const needs = new Map(jobs.map((job) => [job.name, job.needs ?? []]));
  const done = new Set<string>();
  for (const { name } of jobs) {
    // What is looked at, from the first job to the last one, and how many of each one's needs were.
    const path: { name: string; next: number }[] = [{ name, next: 0 }];
    const open = new Set([name]);
    while (path.length > 0) {
      const last = path[path.length - 1] as { name: string; next: number };
      const next = done.has(last.name) ? undefined : needs.get(last.name)?.[last.next]?.job;
      last.next += 1;
      if (next === undefined) {
        path.pop();
        open.delete(last.name);
        done.add(last.name);
      } else if (open.has(next)) {
        const start = path.findIndex((one) => one.name === next);
        throw circle(path.slice(start, start + MAX_SHOWN).map((one) => one.name));
      } else if (!done.has(next)) {
        path.push({ name: next, next: 0 });
        open.add(next);
      }
    }
  }
}

function circle(names: readonly string[]): ConfigurationError {
  const what =
    names.length === 1
      ? `self-dependency: ${names[0]}`
      : `topological sort failed: ${JSON.stringify(names).replaceAll('","', '", "')}`;
  return new ConfigurationError(`The pipeline has circular dependencies: ${what}`);
}
