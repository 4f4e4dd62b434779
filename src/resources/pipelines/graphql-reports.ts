import { type Problem, REPORT_KINDS, ReportError, TEST_STATUSES } from "../../ci/index.ts";
import { findVisible, type Source } from "../../core/access/source.ts";
import { visibleJobs } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  arg,
  connection,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  id,
  leaf,
  list,
  loaded,
  property,
  required,
  rowType,
  string,
  time,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { listed, listOf, loadedConnection } from "../../graphql/loaded-pages.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { mayDownload, mayReadJobs } from "../ci/abilities.ts";
import { type Report, reportsOf } from "../ci/reports.ts";
import { addressOf, problemsOf, QUALITY } from "./request-reports.ts";
import { countsOf, type Suite, shownCase, suitesIn, sumsOf, TESTS } from "./test-reports.ts";

/** A pipeline, and those of its reports that the viewer may download. */
export interface Reported {
  readonly id: Value;
  readonly project_id: number;
  readonly full_path: string;
  readonly sha: string;
  /** The project; `undefined` if the viewer does not see it. */
  readonly project: Source | undefined;
  readonly reports: readonly Report[];
}

/** Pipelines with their reports of some types. */
export async function reported(
  ids: readonly Value[],
  types: readonly string[],
  { db, viewer }: GraphContext,
): Promise<Reported[]> {
  const all = await reportsOf(db, ids, types);
  const these = placeholders(ids);
  const pipelines = await db.all<Omit<Reported, "reports" | "project">>(
    `select pl.id, pl.project_id, p.full_path, pl.sha from pipelines pl join projects p on p.id = pl.project_id
     where pl.id in (${these.sql})`,
    these.values,
  );
  const projects = new Map<number, Source | undefined>();
  for (const { project_id: project } of pipelines) {
    if (projects.has(project)) continue;
    projects.set(project, await findVisible(db, "project", String(project), viewer));
  }
  return pipelines.map((pipeline) => {
    const project = projects.get(pipeline.project_id);
    const reports = all.filter(
      ({ pipeline_id, access }) =>
        pipeline_id === pipeline.id &&
        project !== undefined &&
        mayReadJobs(project) &&
        mayDownload(project, access),
    );
    return { ...pipeline, project, reports };
  });
}

/** The suites of pipelines, and the addresses of their projects' jobs. */
async function suitesOf(ids: readonly Value[], context: GraphContext) {
  const found = new Map<Value, { suites: readonly Suite[]; jobs: string }>();
  for (const { id, project_id, reports } of await reported(ids, TESTS, context)) {
    const suites = await suitesIn(context.db, reports, context.budget);
    found.set(id, { suites, jobs: `${context.view.base}/api/v4/projects/${project_id}/jobs` });
  }
  return found;
}

/** A suite with the address of its project's jobs. */
interface Shown extends Suite {
  readonly address: string;
}

const countOf = (name: keyof ReturnType<typeof countsOf>) => (one: Suite) =>
  countsOf([one.suite])[name];
const suiteFields = {
  name: property("String", ({ suite }: Suite) => suite.name),
  suiteError: property("String", ({ suite }: Suite) => suite.error),
  totalTime: property("Float", countOf("total_time")),
  totalCount: property("Int", countOf("total_count")),
  successCount: property("Int", countOf("success_count")),
  failedCount: property("Int", countOf("failed_count")),
  skippedCount: property("Int", countOf("skipped_count")),
  errorCount: property("Int", countOf("error_count")),
};

type Case = ReturnType<typeof shownCase>;
const STATUS = enumeration("TestCaseStatus", "How a test has ended.", TEST_STATUSES);
const testCase = valueType("TestCase", "A test of a report.", {
  status: { ...property("TestCaseStatus"), declares: STATUS },
  name: property("String"),
  classname: property("String"),
  file: property("String"),
  executionTime: property("Float", (one: Case) => one.execution_time),
  systemOutput: property("String", (one: Case) => one.system_output),
  stackTrace: property("String", (one: Case) => one.stack_trace),
  attachmentUrl: property("String", (one: Case) => one.attachment_url),
});
const testSuite = valueType("TestSuite", "Tests of jobs that share a name.", {
  ...suiteFields,
  testCases: listed(testCase, ({ suite, address }: Shown) =>
    listOf(suite.cases.map((one) => shownCase(one, address))),
  ),
});
const suiteSummary = valueType(
  "TestSuiteSummary",
  "How the tests of jobs that share a name ended.",
  {
    ...suiteFields,
    buildIds: property("[ID!]", ({ jobs }: Suite) => jobs.map(String)),
  },
);
const total = valueType("TestReportTotal", "How many tests of a pipeline have ended how.", {
  ...{ time: property("Float"), count: property("Int"), suiteError: property("String") },
  ...{ success: property("Int"), failed: property("Int") },
  ...{ skipped: property("Int"), error: property("Int") },
});
const summary = valueType("TestReportSummary", "How the tests of a pipeline have ended.", {
  total: required(
    property(total, (suites: readonly Suite[]) => {
      const { total: count, ...sums } = sumsOf(suites.map(({ suite }) => suite));
      return { ...sums, count, suiteError: suites.find(({ suite }) => suite.error)?.suite.error };
    }),
  ),
  testSuites: required(listed(suiteSummary, (suites: readonly Suite[]) => listOf(suites))),
});

const SEVERITY = enumeration("CodeQualityDegradationSeverity", "How bad a problem is.", {
  ...{ BLOCKER: "blocker", CRITICAL: "critical", MAJOR: "major", MINOR: "minor" },
  ...{ INFO: "info", UNKNOWN: "unknown" },
});
type ShownProblem = Problem & { readonly webUrl: string };
const degradation = valueType("CodeQualityDegradation", "A problem of the quality of code.", {
  description: required(property("String")),
  fingerprint: required(property("String")),
  severity: {
    ...required(
      property("CodeQualityDegradationSeverity", ({ severity }: Problem) => severity.toUpperCase()),
    ),
    declares: SEVERITY,
  },
  path: required(property("String")),
  line: required(property("Int", ({ line }: ShownProblem) => line ?? 0)),
  engineName: required(property("String", ({ engine }: ShownProblem) => engine ?? "")),
  webUrl: property("String"),
});
const SEVERITIES = ["blocker", "critical", "major", "minor", "info", "unknown"] as const;
const severities = valueType("CodeQualityReportSummary", "How many problems there are.", {
  count: property("Int"),
  ...Object.fromEntries(SEVERITIES.map((name) => [name, property("Int")])),
});

/** The problems of pipelines: those whose reports can't be read have none. */
async function qualityOf(ids: readonly Value[], context: GraphContext) {
  const found = new Map<Value, readonly ShownProblem[]>();
  for (const pipeline of await reported(ids, QUALITY, context)) {
    if (pipeline.reports.length === 0) continue;
    try {
      const problems = [...(await problemsOf(context, pipeline.reports)).values()];
      found.set(
        pipeline.id,
        problems
          .map((one) => ({ ...one, webUrl: context.view.base + addressOf(pipeline, one) }))
          .sort((a, b) => SEVERITIES.indexOf(rank(a)) - SEVERITIES.indexOf(rank(b))),
      );
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
    }
  }
  return found;
}

const rank = ({ severity }: Problem) => severity as (typeof SEVERITIES)[number];

const TYPE = enumeration(
  "JobArtifactFileType",
  "What a file of a job is.",
  Object.fromEntries(
    ["archive", "metadata", "trace", ...REPORT_KINDS].map((kind) => [kind.toUpperCase(), kind]),
  ),
);
const artifact = rowType("CiJobArtifact", {
  about: "A file that a job has left.",
  from: `job_artifacts a join ci_jobs cj on cj.id = a.job_id join projects p on p.id = cj.project_id
    left join stored_files f on f.id = a.file_id`,
  key: "a.id",
  visible: visibleJobs,
  fields: {
    id: required(
      id(field.derived(["a.id"], "string", ([key]) => `gid://gitlab/Ci::JobArtifact/${key}`)),
    ),
    name: string("a.file_name"),
    fileType: word(TYPE, "upper(a.file_type)"),
    size: required(
      leaf(
        "BigInt",
        field.derived(["f.size"], "string", ([size]) => String(size ?? 0)),
      ),
    ),
    downloadPath: string(
      field.derived(
        ["p.full_path", "cj.id", "a.file_type"],
        "string",
        ([path, job, type]) => `/${path}/-/jobs/${job}/artifacts/download?file_type=${type}`,
      ),
    ),
    expireAt: time("cj.artifacts_expire_at"),
  },
});

/** What pipelines' jobs have left, and what their reports say. */
export const graphqlModule: GraphqlModule = {
  types: [artifact],
  extend: {
    Pipeline: {
      jobArtifacts: list("CiJobArtifact", {
        query: () => ({
          parent: "cj.pipeline_id",
          where: { sql: "cj.retried = 0", values: [] },
          order: [{ sql: "cj.id" }, { sql: "a.id" }],
        }),
      }),
      testReportSummary: required(
        loaded(
          summary,
          async (ids, context) =>
            new Map([...(await suitesOf(ids, context))].map(([id, { suites }]) => [id, suites])),
          { empty: [] },
        ),
      ),
      testSuite: loaded(
        testSuite,
        async (ids, context, { buildIds }) => {
          const found = [...(await suitesOf(ids, context))].flatMap(([id, { suites, jobs }]) => {
            const suite = suites.find((one) =>
              one.jobs.some((job) => buildIds.includes(String(job))),
            );
            return suite ? [[id, { ...suite, address: jobs }] as const] : [];
          });
          return new Map(found);
        },
        { args: { buildIds: arg.required(arg.list(arg.id)) } },
      ),
      codeQualityReports: loadedConnection(degradation, async (ids, context) => {
        const found = await qualityOf(ids, context);
        return new Map([...found].map(([id, problems]) => [id, listOf(problems)]));
      }),
      codeQualityReportSummary: loaded(severities, async (ids, context) => {
        const found = await qualityOf(ids, context);
        return new Map(
          [...found].map(([id, problems]) => [
            id,
            {
              count: problems.length,
              ...Object.fromEntries(
                SEVERITIES.map((name) => [
                  name,
                  problems.filter(({ severity }) => severity === name).length,
                ]),
              ),
            },
          ]),
        );
      }),
    },
    CiJob: {
      artifacts: connection("CiJobArtifact", {
        isSmall: true,
        query: () => ({ parent: "a.job_id", order: [{ sql: "a.id" }] }),
      }),
    },
  },
};
