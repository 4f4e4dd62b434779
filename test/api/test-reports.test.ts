import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../graphql/ask.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { expectLinear } from "../relative-time.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ background: false });
});
afterAll(() => app.dispose());

const TESTS = `
test: { script: [make], parallel: 2, artifacts: { reports: { junit: junit.xml } } }
lint: { script: [make], parallel: { matrix: [{ RUBY: ["3.4"] }] }, artifacts: { reports: { junit: junit.xml } } }
`;

const FIRST = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="all" tests="5">
  <testsuite name="Calculator" time="9">
    <testcase name="adds" classname="calc.Add" file="add.rb" time="0.25"/>
    <testcase name="adds &quot;more&quot;" classname="calc.Add" time="0.5"><system-out>ignored</system-out></testcase>
    <testcase name="divides" classname="calc.Divide" time="1.25">
      <failure message="boom" type="ZeroDivisionError">expected 1 &lt; 2
<![CDATA[at <main>]]></failure>
      <system-out>log [[ATTACHMENT|shots/a b.png]]</system-out>
      <system-err>oops</system-err>
    </testcase>
    <testsuite name="Nested">
      <testcase name="adds" classname="calc.Add" time="x"><skipped message="later"/></testcase>
      <testcase classname="calc.Add"><error message="it broke"/></testcase>
    </testsuite>
  </testsuite>
  <testcase name="direct" time="1e1"/>
</testsuites>`;
/** Counts again what the first report has in the same suite, and knows one more. */
const SECOND = `<testsuite name="Calculator">
  <testcase name="adds" classname="calc.Add" file="again.rb" time="2"/>
  <testcase name="rounds" classname="calc.Round" time="0"/>
</testsuite>`;

interface Run {
  readonly pipeline: number;
  /** The ids and tokens of the jobs, by their names. */
  readonly jobs: Readonly<Record<string, { id: number; token: string }>>;
}

/** Starts a pipeline, and all of its jobs. */
async function start(project: CiProject): Promise<Run> {
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  expect(made.status, made.text).toBe(201);
  const json = { runner_type: "project_type", project_id: project.id };
  const { token } = (await app.call("POST /user/runners", { as: "owner", json })).json;
  const jobs: Record<string, { id: number; token: string }> = {};
  for (;;) {
    const got = await app.call("POST /jobs/request", { json: { token } });
    if (got.status === 204) return { pipeline: made.json.id, jobs };
    jobs[got.json.job_info.name] = got.json;
  }
}

async function upload(
  job: { id: number; token: string } | undefined,
  content: string | Uint8Array,
  query = "artifact_format=gzip&artifact_type=junit",
) {
  const form = new FormData();
  form.append("file", new Blob([content as BlobPart]), "junit.xml.gz");
  const answer = await app.call(`POST /jobs/${job?.id}/artifacts?${query}`, {
    headers: { "job-token": job?.token ?? "" },
    body: form,
  });
  expect(answer.status, answer.text).toBe(201);
}

const read = (project: CiProject, { pipeline }: Run, as: Person = "developer", what = "") =>
  project.call(`GET /pipelines/${pipeline}/test_report${what}`, { as });

/** What a pipeline's only report comes to. */
async function suiteOf(content: string | Uint8Array, name: string) {
  const project = await ciProject(app, name, TESTS);
  const run = await start(project);
  await upload(run.jobs["test 1/2"], content);
  const { status, json } = await read(project, run);
  expect(status).toBe(200);
  return json.test_suites[0];
}

const BLANK = { stack_trace: null, recent_failures: null };

const CONTAINERS = "artifact_format=gzip&artifact_type=container_scanning";

describe("a pipeline's test report", () => {
  it("has the tests of all of its jobs, by suite", async () => {
    const project = await ciProject(app, "reported", TESTS);
    const run = await start(project);
    const [one, two, lint] = ["test 1/2", "test 2/2", "lint: [3.4]"].map((name) => run.jobs[name]);
    await upload(one, gzipSync(FIRST));
    await upload(two, gzipSync(SECOND));
    await upload(lint, gzipSync(`${FIRST.slice(0, 200)}`));
    const { status, headers, json } = await read(project, run);
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    const counts = {
      total_time: 14,
      total_count: 7,
      success_count: 4,
      failed_count: 1,
      skipped_count: 1,
      error_count: 1,
    };
    const shown = (status: string, name: string, more: object) => ({
      status,
      name,
      classname: "calc.Add",
      file: null,
      execution_time: 0,
      system_output: null,
      ...BLANK,
      ...more,
    });
    const failed = `expected 1 < 2\nat <main>\n\nSystem Out:\n\nlog [[ATTACHMENT|shots/a b.png]]\n\nSystem Err:\n\noops`;
    const address = `http://pm.test/api/v4/projects/${project.id}/jobs/${one?.id}/artifacts/shots/a%20b.png`;
    expect(json).toEqual({
      ...counts,
      total_time: 14.25,
      test_suites: [
        {
          name: "test",
          ...counts,
          suite_error: null,
          test_cases: [
            shown("error", "(No name)", { system_output: "it broke" }),
            shown("failed", "divides", {
              classname: "calc.Divide",
              execution_time: 1.25,
              system_output: failed,
              attachment_url: address,
            }),
            shown("success", "direct", { classname: null, execution_time: 10 }),
            shown("success", "adds", { file: "again.rb", execution_time: 2 }),
            shown("success", 'adds "more"', { execution_time: 0.5 }),
            shown("success", "rounds", { classname: "calc.Round" }),
            shown("skipped", "adds", { system_output: "later" }),
          ],
        },
        {
          name: "lint: [3.4]",
          total_time: 0.25,
          total_count: 0,
          success_count: 0,
          failed_count: 0,
          skipped_count: 0,
          error_count: 0,
          suite_error: "JUnit XML parsing failed: 5:11: FATAL: Unclosed root tag",
          test_cases: [],
        },
      ],
    });
    const { json: summary } = await read(project, run, "developer", "_summary");
    const error = json.test_suites[1].suite_error;
    expect(summary).toEqual({
      total: {
        time: 14.25,
        count: 7,
        success: 4,
        failed: 1,
        skipped: 1,
        error: 1,
        suite_error: error,
      },
      test_suites: [
        { name: "test", ...counts, build_ids: [one?.id, two?.id].sort(), suite_error: null },
        expect.objectContaining({ name: "lint: [3.4]", build_ids: [lint?.id], suite_error: error }),
      ],
    });
  });

  it("is told by GraphQL, as is the quality of code, to those who may download the reports", async () => {
    const project = await ciProject(app, "reported-graphs", TESTS);
    const run = await start(project);
    const job = run.jobs["test 1/2"];
    await upload(job, gzipSync(SECOND));
    const problem = (fingerprint: string, severity: string) => ({
      ...{ description: "Too long", fingerprint, severity },
      location: { path: "./lib/a b.rb", lines: { begin: 3 } },
    });
    const problems = [problem("a", "info"), problem("b", "major")];
    const raw = "artifact_format=raw&artifact_type=codequality";
    await upload(job, JSON.stringify(problems), raw);
    const query = `{ project(fullPath: "secret/reported-graphs") { pipelines { nodes {
      testReportSummary { total { time count success suiteError }
        testSuites { count nodes { name totalCount buildIds } } }
      testSuite(buildIds: ["${job?.id}"]) { name totalTime testCases(first: 1) { count nodes {
        name status classname executionTime file } } }
      codeQualityReports { nodes { severity fingerprint path line webUrl engineName } }
      codeQualityReportSummary { count major info blocker }
      jobArtifacts { name fileType size downloadPath } } } } }`;
    const { pipelines } = (await ask(app, query)).project;
    const address = `http://pm.test/secret/reported-graphs/-/blob/${project.sha}/lib/a%20b.rb#L3`;
    const shown = { path: "lib/a b.rb", line: 3, webUrl: address, engineName: "" };
    expect(pipelines.nodes).toEqual([
      {
        testReportSummary: {
          total: { time: 2, count: 2, success: 2, suiteError: null },
          testSuites: {
            count: 1,
            nodes: [{ name: "test", totalCount: 2, buildIds: [String(job?.id)] }],
          },
        },
        testSuite: {
          name: "test",
          totalTime: 2,
          testCases: {
            count: 2,
            nodes: [{ name: "adds", status: "success", classname: "calc.Add" }].map((one) => ({
              ...one,
              executionTime: 2,
              file: "again.rb",
            })),
          },
        },
        codeQualityReports: {
          nodes: [
            { severity: "MAJOR", fingerprint: "b", ...shown },
            { severity: "INFO", fingerprint: "a", ...shown },
          ],
        },
        codeQualityReportSummary: { count: 2, major: 1, info: 1, blocker: 0 },
        jobArtifacts: ["JUNIT", "CODEQUALITY"].map((fileType) => ({
          ...{ name: "junit.xml.gz", fileType, size: expect.stringMatching(/^\d+$/) },
          downloadPath: `/secret/reported-graphs/-/jobs/${job?.id}/artifacts/download?file_type=${fileType.toLowerCase()}`,
        })),
      },
    ]);
    const unseen = await ask(app, query, {}, "stranger");
    expect(unseen.project).toBeNull();
  });

  it("is told by GraphQL of what scanners of security have found, to those who see vulnerabilities", async () => {
    const project = await ciProject(app, "scanned", TESTS);
    const run = await start(project);
    const job = run.jobs["test 1/2"];
    const identifiers = [{ type: "cwe", name: "CWE-89", value: "89", url: "https://cwe.test/89" }];
    const found = (name: string, severity: string, location: object, more: object = {}) => ({
      ...{ id: "x", name, severity, location, identifiers, description: `${name}!` },
      ...more,
    });
    const injection = found(
      "Injection",
      "Critical",
      { file: "lib/a b.rb", start_line: 3, end_line: 4, class: "A" },
      { flags: [{ type: "flagged-as-likely-false-positive" }], solution: "Quote it" },
    );
    const sast = {
      version: "15.0.0",
      vulnerabilities: [found("Odd", "Whatever", { file: "b" }), injection, injection, 1],
      scan: { type: "sast", scanner: { id: "semgrep", name: "Semgrep", vendor: { name: "V" } } },
    };
    const raw = "artifact_format=raw&artifact_type=";
    await upload(job, JSON.stringify(sast), `${raw}sast`);
    const image = { image: "alpine:3", operating_system: "alpine" };
    const dependency = { package: { name: "musl" }, version: "1.2" };
    const scanned = [found("Overflow", "high", { ...image, dependency }), 2];
    await upload(job, gzipSync(JSON.stringify({ vulnerabilities: scanned })), CONTAINERS);
    await upload(run.jobs["test 2/2"], "[]", `${raw}sast`);
    const query = `{ project(fullPath: "secret/scanned") { pipelines { nodes {
      securityReportSummary { sast { vulnerabilitiesCount } containerScanning { vulnerabilitiesCount } dast { vulnerabilitiesCount } }
      worst: securityReportFindings(first: 1) { count pageInfo { hasNextPage } nodes { uuid title name description solution severity state reportType
        falsePositive scanner { externalId name vendor } identifiers { externalType externalId name url } vulnerability { id }
        location { __typename ... on VulnerabilityLocationSast { file startLine endLine vulnerableClass blobPath } } } }
      images: securityReportFindings(severity: ["HIGH"], reportType: ["CONTAINER_SCANNING"], state: [DETECTED]) { nodes { title
        location { ... on VulnerabilityLocationContainerScanning { image operatingSystem dependency { package { name } version } } } } }
      dismissed: securityReportFindings(state: [DISMISSED], scanner: ["semgrep"], confidence: ["unknown"]) { nodes { title } } } } } }`;
    const { nodes } = (await ask(app, query)).project.pipelines;
    expect(nodes).toEqual([
      {
        securityReportSummary: {
          sast: { vulnerabilitiesCount: 2 },
          containerScanning: { vulnerabilitiesCount: 1 },
          dast: null,
        },
        worst: {
          count: 3,
          pageInfo: { hasNextPage: true },
          nodes: [
            {
              uuid: expect.stringMatching(
                /^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
              ),
              ...{ title: "Injection", name: "Injection", description: "Injection!" },
              ...{ solution: "Quote it", severity: "CRITICAL", state: "DETECTED" },
              ...{ reportType: "SAST", falsePositive: true, vulnerability: null },
              scanner: { externalId: "semgrep", name: "Semgrep", vendor: "V" },
              identifiers: [
                {
                  ...{ externalType: "cwe", externalId: "89", name: "CWE-89" },
                  url: "https://cwe.test/89",
                },
              ],
              location: {
                __typename: "VulnerabilityLocationSast",
                ...{ file: "lib/a b.rb", startLine: "3", endLine: "4", vulnerableClass: "A" },
                blobPath: `/secret/scanned/-/blob/${project.sha}/lib/a%20b.rb#L3`,
              },
            },
          ],
        },
        images: {
          nodes: [
            {
              title: "Overflow",
              location: { image: "alpine:3", operatingSystem: "alpine", dependency },
            },
          ],
        },
        dismissed: { nodes: [] },
      },
    ]);
    for (const [person, sees] of [
      ["reporter", 0],
      ["maintainer", 3],
      ["admin", 3],
    ] as const) {
      const seen = (await ask(app, query, {}, person)).project.pipelines.nodes[0];
      expect([person, seen.worst.count]).toEqual([person, sees]);
    }
  });

  it("has what child pipelines report, and not what was retried", async () => {
    const project = await ciProject(app, "reported-below", TESTS);
    await project.commit(
      ".gitlab-ci.yml",
      "start: {trigger: {include: child.yml}}\n",
      "Start [skip ci]",
    );
    await project.commit("child.yml", TESTS, "Child [skip ci]");
    const made = await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
    await app.admin.maintenance.runPipelines();
    const json = { runner_type: "project_type", project_id: project.id };
    const { token } = (await app.call("POST /user/runners", { as: "owner", json })).json;
    const { json: job } = await app.call("POST /jobs/request", { json: { token } });
    await upload(job, gzipSync(SECOND));
    const count = async () =>
      (await read(project, { pipeline: made.json.id, jobs: {} })).json.total_count;
    expect(await count()).toBe(2);
    await app.call(`PUT /jobs/${job.id}`, { json: { token: job.token, state: "failed" } });
    await project.call(`POST /jobs/${job.id}/retry`, { as: "developer" });
    expect(await count()).toBe(0);
  });

  it("is read by those who see the jobs and may download the reports", async () => {
    const project = await ciProject(
      app,
      "reported-to",
      "test: {script: [make], artifacts: {access: developer, reports: {junit: a.xml}}}\n",
    );
    const run = await start(project);
    await upload(run.jobs["test"], gzipSync(SECOND));
    const seen = async (as: Person) => {
      const { status, json } = await read(project, run, as);
      const summary = await read(project, run, as, "_summary");
      expect(summary.status).toBe(status);
      return [status, json.total_count, summary.json.total?.count];
    };
    expect(await seen("developer")).toEqual([200, 2, 2]);
    expect(await seen("reporter")).toEqual([200, 0, 0]);
    await project.call("PUT ?public_jobs=false", { as: "owner" });
    expect((await seen("guest"))[0]).toBe(403);
    expect((await seen("stranger"))[0]).toBe(404);
  });
});

describe("a JUnit report", () => {
  it("may be several documents, with or without compression", async () => {
    const two = `\uFEFF${SECOND}\n`;
    const document = '<?xml version="1.0"?><testsuite><testcase name="more"/></testsuite>';
    const joined = Buffer.concat([gzipSync(two), gzipSync(`\uFEFF${document}`)]);
    expect((await suiteOf(joined, "members")).total_count).toBe(3);
    expect((await suiteOf(`${two}${document}`, "plain")).total_count).toBe(3);
  });

  it.each([
    ["nothing", "", "XML parsing failed: 1:1: FATAL: Document is empty"],
    [
      "no XML",
      "PK\u0003\u0004",
      "XML parsing failed: 1:1: FATAL: Non-whitespace before first tag.",
    ],
    [
      "an open element",
      "<testsuite>\n<testcase>",
      "XML parsing failed: 2:10: FATAL: Unclosed root tag",
    ],
    [
      "entities of its own",
      '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><testsuite name="&d;"/>',
      "XML parsing failed: 1:70: FATAL: Invalid character entity",
    ],
    ["broken gzip", "\u001f\u008b\u0008broken", "data parsing failed: invalid gzip file"],
    [
      "elements in each other",
      "<testsuite>".repeat(300),
      "XML parsing failed: too many elements in each other",
    ],
    [
      "a name that no object has",
      '<testsuite hasOwnProperty="1" a="2"/>',
      "XML parsing failed: an attribute has a name that can't be read",
    ],
    [
      "attributes",
      `<testsuite ${Array.from({ length: 1001 }, (_, at) => `a${at}="1"`).join(" ")}/>`,
      "XML parsing failed: too many attributes",
    ],
    [
      "much when it is unpacked",
      gzipSync(`<testsuite>${" ".repeat(17 * 1024 * 1024)}</testsuite>`),
      "data parsing failed: the reports of the pipeline are too large",
    ],
    [
      "many cases",
      gzipSync(`<testsuite>${'<testcase name="a"/>'.repeat(100_001)}</testsuite>`),
      "data parsing failed: a pipeline has too many test cases",
    ],
  ])("with %s has an error", async (what, content, error) => {
    const bytes = typeof content === "string" ? Buffer.from(content, "latin1") : content;
    expect(await suiteOf(bytes, what.replaceAll(" ", "-"))).toMatchObject({
      suite_error: `JUnit ${error}`,
      total_count: 0,
      test_cases: [],
    });
  });

  it("may have anything as names and texts", async () => {
    const suite = await suiteOf(
      `<testsuite name="__proto__"><testcase name="constructor" classname="&#x1F600; \u00e9" time="-">
        <failure/><failure>two</failure><failure message="three"> </failure></testcase>
        <testcase __proto__="a" name="toString" time="Infinity"><skipped/></testcase><other><testcase/></other>
      </testsuite>`,
      "names",
    );
    expect(suite.test_cases).toMatchObject([
      { name: "constructor", classname: "\u{1F600} \u00e9", system_output: "\n\ntwo\n\nthree" },
      { name: "toString", status: "skipped", execution_time: 0, system_output: null },
    ]);
  });

  it("has the beginning of long outputs, in whole characters", async () => {
    const long = `<![CDATA[${"\u00e9".repeat(600_000)}]]>`;
    const suite = await suiteOf(
      `<testsuite><testcase><failure>x${long}${"&lt;".repeat(1000)}</failure></testcase></testsuite>`,
      "long-outputs",
    );
    const [{ system_output: output }] = suite.test_cases;
    expect([output.length, output.at(-1)]).toEqual([1 + 524_287, "\u00e9"]);
  });

  it.each([
    ["failures of one test", (n: number) => `<testcase>${"<failure/>".repeat(n * 8)}</testcase>`],
    ["entities", (n: number) => `<testcase><failure>${"&lt;".repeat(n * 8)}</failure></testcase>`],
    [
      "sections",
      (n: number) => `<testcase><error>${"<![CDATA[]]]]>".repeat(n * 4)}</error></testcase>`,
    ],
    [
      "attachments",
      (n: number) =>
        `<testcase><failure/><system-out>${"[[ATTACHMENT|".repeat(n * 4)}</system-out></testcase>`,
    ],
  ])("with %s takes time in proportion to its length", async (what, content) => {
    const project = await ciProject(app, `linear-${what.replaceAll(" ", "-")}`, TESTS);
    const runs = new Map<number, Run>();
    for (const size of [16_000, 2000]) {
      const run = await start(project);
      await upload(run.jobs["test 1/2"], gzipSync(`<testsuite>${content(size)}</testsuite>`));
      runs.set(size, run);
    }
    await expectLinear((size) => read(project, runs.get(size) as Run), 16_000);
  });
});
