import { STEPS, type Steps } from "../turns/pace.ts";
import { Entry, flatten, given } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { type Parts, type ReadJob, readJob, readParts } from "./jobs.ts";
import { KEYWORDS, REFUSED } from "./keywords.ts";
import { checkLogic, expandJobs } from "./logic.ts";
import { mirroredBy } from "./needs.ts";
import { readAutoCancel, readRules, WORKFLOW_RULES } from "./rules.ts";
import { type Configuration, type ConfigurationLimits, DEFAULT_LIMITS } from "./types.ts";
import { ConfigurationError, isMapping, type Mapping, type Value } from "./values.ts";
import { readVariables } from "./variables.ts";

/** Keys that are no jobs. */
const GLOBAL_KEYS: ReadonlySet<string> = new Set(
  KEYWORDS.global.filter((key) => key !== "default"),
);

/** Maximum number of jobs. */
const MAX_JOBS = 10_000;
const TOO_MANY_JOBS = `jobs config generates too many jobs (maximum is ${MAX_JOBS})`;

const DEFAULT_STAGES = ["build", "test", "deploy"];

/** Of these, a job needs one, unless it stands for another pipeline. */
const STARTERS = ["script", "run", "trigger"];

/** Reads a configuration in which includes, references and `extends` are resolved. */
export function* readRoot(
  root: Mapping,
  findings: Findings,
  limits: ConfigurationLimits = DEFAULT_LIMITS,
): Steps<Configuration | undefined> {
  const stages = readStages(root.get("stages"), findings);
  const workflow = yield* readWorkflow(root, findings);
  const variables = readVariables(root.get("variables"), "variables", findings, {
    areGlobal: true,
  });
  const defaults = {
    parts: readDefaults(root, findings),
    hasWorkflowRules: workflow.rules !== undefined,
  };
  const read: ReadJob[] = [];
  let count = 0;
  for (const [name, job] of root) {
    if (!isJobName(name, job)) continue;
    if (isMapping(job) && (STARTERS.some((key) => job.has(key)) || mirroredBy(job) !== undefined)) {
      const one = yield* readJob(name, job, defaults, findings);
      yield STEPS;
      count += one.instances?.length ?? 1;
      if (count > MAX_JOBS) throw new ConfigurationError(TOO_MANY_JOBS);
      read.push(one);
    } else {
      findings.error(
        `jobs ${name}`,
        "config should implement the script:, run:, or trigger: keyword",
      );
    }
  }
  if (read.length === 0) findings.error("jobs", "config should contain at least one visible job");
  if (findings.errors.length > 0) return undefined;
  const jobs = expandJobs(read, limits.needs);
  checkLogic(jobs, stages);
  return { stages, jobs, variables, workflow };
}

function isJobName(name: string, job: Value) {
  if (name.startsWith(".") || GLOBAL_KEYS.has(name)) return false;
  return name !== "default" || (isMapping(job) && job.has("script"));
}

/** Reads `stages`; `.pre` and `.post` are around them. */
function readStages(value: Value | undefined, findings: Findings): readonly string[] {
  const isText = (one: Value): one is string => typeof one === "string";
  const stages = flatten(value ?? DEFAULT_STAGES, isText);
  if (!stages) {
    findings.error(
      "stages",
      "config should be an array of strings or a nested array of strings up to 10 levels deep",
    );
    return [];
  }
  const between = stages.filter((stage) => stage !== ".pre" && stage !== ".post");
  return [...new Set([".pre", ...between, ".post"])];
}

/** Puts `.pre` and `.post` around the stages that a configuration names. */
export function withEdgeStages(root: Mapping): Mapping {
  const stages = root.get("stages");
  if (!Array.isArray(stages)) return root;
  const between = stages.filter((stage) => stage !== ".pre" && stage !== ".post");
  return new Map(root).set("stages", [".pre", ...between, ".post"]);
}

function readDefaults(root: Mapping, findings: Findings): Parts {
  const global = readParts(
    new Entry(
      new Map(
        [...root].filter(([key]) => (KEYWORDS["global parts"] as readonly string[]).includes(key)),
      ),
      "",
      findings,
    ),
  );
  const value = root.get("default");
  if (value === undefined || value === null || (isMapping(value) && value.has("script"))) {
    return global;
  }
  if (!isMapping(value)) {
    findings.error("default", "config should be a hash");
    return global;
  }
  const entry = new Entry(value, "default", findings);
  for (const key of REFUSED.default) {
    if (entry.mapping.has(key)) entry.errorIn(key, "is not supported on this server");
  }
  entry.allow([...KEYWORDS.default, ...REFUSED.default]);
  for (const key of KEYWORDS["global parts"]) {
    if (entry.get(key) !== undefined && (root.get(key) ?? undefined) !== undefined) {
      throw new ConfigurationError(`${key} is defined in top-level and \`default:\` entry`);
    }
  }
  return { ...global, ...readParts(entry) };
}

function* readWorkflow(root: Mapping, findings: Findings): Steps<Configuration["workflow"]> {
  const value = root.get("workflow");
  if (value === undefined || value === null) return { autoCancel: {} };
  if (!isMapping(value)) {
    findings.error("workflow", "config should be a hash");
    return { autoCancel: {} };
  }
  const entry = new Entry(value, "workflow", findings);
  entry.allow(KEYWORDS.workflow);
  const rules = entry.get("rules");
  const name = entry.text("name");
  if (name !== undefined && name.length > 255) {
    entry.errorOf("name", "is too long (maximum is 255 characters)");
  }
  const autoCancel = entry.child("auto_cancel");
  return {
    autoCancel: autoCancel ? readAutoCancel(autoCancel) : {},
    ...given({
      name,
      rules:
        rules === undefined
          ? undefined
          : yield* readRules(rules, "workflow:rules", findings, WORKFLOW_RULES),
    }),
  };
}
