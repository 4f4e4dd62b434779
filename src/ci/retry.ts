import { Entry, given } from "./entry.ts";
import { RUNNER_FAILURES } from "./failures.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import type { Retry } from "./types.ts";
import { isMapping, type Value } from "./values.ts";

/** Maximum number of times that a job is run again. */
const MAX_RETRIES = 2;

/** Reasons of failure after which a job can be run again. */
const REASONS: ReadonlySet<string> = new Set([
  ...RUNNER_FAILURES,
  "always",
  "forward_deployment_failure",
  "user_blocked",
  "project_deleted",
  "ci_quota_exceeded",
  "pipeline_loop_detected",
  "no_matching_runner",
  "trace_size_exceeded",
  "builds_disabled",
  "environment_creation_failure",
  "deployment_rejected",
  "failed_outdated_deployment_job",
]);

/** Reads `retry`. */
export function readRetry(value: Value, at: string, findings: Findings): Retry | undefined {
  if (typeof value === "number") {
    const message = limitMessage(value);
    if (message) return findings.error(at, `config ${message}`);
    return { max: value as Retry["max"], when: ["always"] };
  }
  if (!isMapping(value)) return findings.error(at, "config has to be either an integer or a hash");
  const entry = new Entry(value, at, findings);
  entry.allow(KEYWORDS.retry);
  const max = entry.get("max") ?? 0;
  const message = typeof max === "number" ? limitMessage(max) : "is not a number";
  if (message) entry.errorOf("max", message);
  const when = entry.oneOrMore("when");
  const unknown = when?.filter((reason) => !REASONS.has(reason)) ?? [];
  if (unknown.length > 0) entry.errorOf("when", `contains unknown values: ${unknown.join(", ")}`);
  const exitCodes = entry.integers("exit_codes");
  return {
    max: max as Retry["max"],
    when: when ?? (exitCodes ? [] : ["always"]),
    ...given({ exitCodes }),
  };
}

function limitMessage(max: number): string | undefined {
  if (!Number.isInteger(max)) return "must be an integer";
  if (max < 0) return "must be greater than or equal to 0";
  return max > MAX_RETRIES ? `must be less than or equal to ${MAX_RETRIES}` : undefined;
}
