import type { Circumstances, Configuration, Plan, Reading } from "./types.ts";

export { type Problem, readQuality } from "./code-quality.ts";
export { isCron, isTimeZone, lastRun, nextRun } from "./cron.ts";
export { DotenvError, readDotenv } from "./dotenv.ts";
export { durationOf } from "./durations.ts";
export { RUNNER_FAILURES } from "./failures.ts";
export { objectsIn } from "./json-objects.ts";
export { readJunit, TEST_STATUSES, TestSuite } from "./junit.ts";
export { LineCoverage, readCoverage } from "./line-coverage.ts";
export { groupNameOf, suiteNameOf } from "./names.ts";
export { COVERAGE_FORMATS, type CoverageFormat, REPORT_KINDS } from "./report-kinds.ts";
export {
  FINDING_SEVERITIES,
  readFindings,
  SECURITY_REPORTS,
  type SecurityFinding,
  type SecurityReport,
} from "./security-reports.ts";
export { compositeStatus, type JobState, type JobStatus, startable } from "./status.ts";
export type * from "./types.ts";
export { DEFAULT_LIMITS, PIPELINE_SOURCES } from "./types.ts";
export { byKey, expandVariables, Values } from "./variables.ts";
export { ReportError } from "./xml.ts";

/**
 * Reads a project's CI/CD configuration, as `.gitlab-ci.yml` has it, with the files that it includes.
 *
 * @param text YAML
 */
export async function readConfiguration(
  text: string,
  circumstances: Circumstances,
): Promise<Reading> {
  // YAML and regular expressions are loaded when the first configuration is read.
  const { read } = await import("./read.ts");
  return read(text, circumstances);
}

/**
 * The coverage that a job has written into its log: the first number in what its regular expression finds last.
 *
 * @param log the end of the log
 * @param pattern a regular expression of RE2, without slashes
 */
export async function coverageOf(log: string, pattern: string): Promise<number | undefined> {
  const { find } = await import("./coverage.ts");
  return find(log, pattern);
}

/**
 * Decides which jobs a pipeline has, by the rules of a configuration.
 */
export async function planPipeline(
  configuration: Configuration,
  circumstances: Circumstances,
): Promise<Plan> {
  const { plan } = await import("./plan.ts");
  return plan(configuration, circumstances);
}
