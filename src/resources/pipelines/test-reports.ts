import {
  ReportError,
  readJunit,
  suiteNameOf,
  type TEST_STATUSES,
  TestSuite,
} from "../../ci/index.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, RawReply, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { mayDownload, readingRole } from "../ci/abilities.ts";
import { type Report, reportsOf, textOf } from "../ci/reports.ts";
import { findPipeline } from "./rules.ts";

const { get } = routes({ source: "project", path: "/pipelines", features: ["jobs"] });

/** The reports that have tests. */
export const TESTS = ["junit"] as const;

/** The tests of jobs that share a suite. */
export interface Suite {
  readonly suite: TestSuite;
  /** The ids of the jobs. */
  readonly jobs: readonly number[];
}

/** The suites of a pipeline's reports. */
export async function suitesIn(
  db: Reader,
  reports: readonly Report[],
  budget: Budget,
): Promise<Suite[]> {
  const suites = new Map<string, { suite: TestSuite; jobs: number[] }>();
  for (const report of reports) {
    const name = suiteNameOf(report.name);
    const { suite, jobs } = suites.get(name) ?? { suite: new TestSuite(name), jobs: [] };
    suites.set(name, { suite, jobs });
    jobs.push(report.job_id);
    try {
      await readJunit(textOf(db, report, budget, unreadable), {
        suite,
        job: report.job_id,
        budget,
      });
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      suite.error ??= error.message;
    }
  }
  return [...suites.values()];
}

const unreadable = (reason: string) => new ReportError(`JUnit data parsing failed: ${reason}`);

type Status = (typeof TEST_STATUSES)[number];

/** The sums of suites. */
export function sumsOf(suites: readonly TestSuite[]) {
  const sum = (of: (suite: TestSuite) => number) =>
    suites.reduce((total, suite) => total + of(suite), 0);
  const count = (status: Status) => sum((suite) => suite.count(status));
  const [success, failed, skipped, error] = [
    count("success"),
    count("failed"),
    count("skipped"),
    count("error"),
  ];
  const total = success + failed + skipped + error;
  return { time: sum(({ time }) => time), total, success, failed, skipped, error };
}

/** The sums of suites, as reports and suites have them. */
export function countsOf(suites: readonly TestSuite[]) {
  const { time, total, success, failed, skipped, error } = sumsOf(suites);
  return {
    total_time: time,
    total_count: total,
    success_count: success,
    failed_count: failed,
    skipped_count: skipped,
    error_count: error,
  };
}

/**
 * A test as reports show it.
 *
 * @param jobs the address of the project's jobs, in whose archives files about tests are
 */
export function shownCase(one: TestSuite["cases"][number], jobs: string) {
  const { status, name, classname, file, time, output, attachment, job } = one;
  const path = attachment?.split("/").map(encodeURIComponent).join("/");
  return {
    status,
    name: name ?? "(No name)",
    classname,
    file,
    execution_time: time,
    system_output: output,
    stack_trace: null,
    recent_failures: null,
    ...(path !== undefined && { attachment_url: `${jobs}/${job}/artifacts/${path}` }),
  };
}

/** The JSON of a report, in parts: it may be long. */
function* written(suites: readonly Suite[], jobs: string): Generator<string> {
  yield `${JSON.stringify(countsOf(suites.map(({ suite }) => suite))).slice(0, -1)},"test_suites":[`;
  for (const [at, { suite }] of suites.entries()) {
    const { name, error = null } = suite;
    const head = JSON.stringify({ name, ...countsOf([suite]), suite_error: error });
    yield `${at > 0 ? "," : ""}${head.slice(0, -1)},"test_cases":[`;
    for (const [number, one] of suite.cases.entries()) {
      yield `${number > 0 ? "," : ""}${JSON.stringify(shownCase(one, jobs))}`;
    }
    yield "]}";
  }
  yield "]}";
}

/** Characters that are sent at once. */
const PART = 16 * 1024;

async function* sent(parts: Iterable<string>): AsyncGenerator<Uint8Array> {
  let text = "";
  for (const part of parts) {
    text += part;
    if (text.length < PART) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}

const counts = {
  total_time: 1.5,
  total_count: 2,
  success_count: 1,
  failed_count: 1,
  skipped_count: 0,
  error_count: 0,
};
const succeeded = {
  status: "success",
  name: "adds numbers",
  classname: "calculator",
  file: null,
  execution_time: 0.5,
  system_output: null,
  stack_trace: null,
  recent_failures: null,
};
const failed = {
  ...succeeded,
  status: "failed",
  name: "divides numbers",
  classname: null,
  file: "test/calculator.test.ts",
  system_output: "expected 4, but got 5",
  attachment_url: "https://pm.example.com/api/v4/projects/1/jobs/8/artifacts/screen.png",
};
const suite = { name: "test", ...counts, suite_error: null };
const total = { time: 1.5, count: 2, success: 1, failed: 1, skipped: 0, error: 0 };

const reading = {
  access: "anyone",
  role: readingRole,
  input: { pipeline_id: param.recordId() },
} as const;

type Reading = Pick<Context, "source" | "budget"> & {
  readonly db: Reader;
  readonly input: { readonly pipeline_id: number };
};

async function read({ db, source, input, budget }: Reading): Promise<Suite[]> {
  const { id } = await findPipeline(db, source, input.pipeline_id);
  const reports = await reportsOf(db, [id], TESTS);
  return suitesIn(
    db,
    reports.filter(({ access }) => mayDownload(source, access)),
    budget,
  );
}

/** What pipelines' jobs report of their tests. */
export const testReportRoutes = [
  get("/:pipeline_id/test_report", {
    summary: "Get the tests of a pipeline, as its jobs' JUnit reports have them",
    ...reading,
    examples: [{ ...counts, test_suites: [{ ...suite, test_cases: [failed, succeeded] }] }],
    handle: async (context) => {
      const { source, view } = context;
      const suites = await read(context);
      const jobs = `${view.base}/api/v4/projects/${source.id}/jobs`;
      const headers = { "content-type": "application/json" };
      return new RawReply(200, headers, { chunks: () => sent(written(suites, jobs)) });
    },
  }),
  get("/:pipeline_id/test_report_summary", {
    summary: "Get how many tests of a pipeline have succeeded and failed",
    ...reading,
    examples: [
      { total: { ...total, suite_error: null }, test_suites: [{ ...suite, build_ids: [8] }] },
    ],
    handle: async (context) => {
      const suites = await read(context);
      const { time, total: count, ...sums } = sumsOf(suites.map(({ suite }) => suite));
      const errors = suites.flatMap(({ suite }) => suite.error ?? []);
      return new Json({
        total: { time, count, ...sums, suite_error: errors[0] ?? null },
        test_suites: suites.map(({ suite, jobs }) => {
          const { name, error = null } = suite;
          return { name, ...countsOf([suite]), build_ids: jobs, suite_error: error };
        }),
      });
    },
  }),
];
