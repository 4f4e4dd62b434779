// What merge requests show of the reports of their pipelines.
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject, runnerOf, sendArtifacts, takeJob } from "./_pipelines.ts";
import { zipped } from "./_zip.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ background: false });
});
afterAll(() => app.dispose());

const CONFIGURATION = JSON.stringify({
  check: {
    script: "make",
    artifacts: {
      ...{ expose_as: "The page", paths: ["out/a b.html"] },
      reports: {
        codequality: "quality.json",
        coverage_report: { coverage_format: "cobertura", path: "coverage.xml" },
      },
    },
  },
});

async function upload(job: { id: number; token: string }, type: string, content: string) {
  const form = new FormData();
  const isQuality = type === "codequality";
  form.append("file", new Blob([isQuality ? content : (gzipSync(content) as BlobPart)]), "report");
  const query = `artifact_type=${type}&artifact_format=${isQuality ? "raw" : "gzip"}`;
  const answer = await app.call(`POST /jobs/${job.id}/artifacts?${query}`, {
    headers: { "job-token": job.token },
    body: form,
  });
  expect(answer.status, answer.text).toBe(201);
}

/** Runs a pipeline of a branch, whose job uploads reports. */
async function run(project: CiProject, ref: string, reports: Readonly<Record<string, string>>) {
  const made = await project.call("POST /pipeline", { as: "developer", json: { ref } });
  expect(made.status, made.text).toBe(201);
  const job = await takeJob(app, await runnerOf(app, project));
  for (const [type, content] of Object.entries(reports)) await upload(job, type, content);
  await app.admin.jobs.finish(job.id, { status: "success" });
}

/** A merge request that changes a file below `src`. */
async function requestIn(project: CiProject): Promise<number> {
  const { status, text } = await project.call("POST /repository/commits", {
    as: "owner",
    json: {
      ...{ branch: "feature", start_branch: "main", commit_message: "Change [skip ci]" },
      actions: [{ action: "create", file_path: "src/a.rb", content: "one\ntwo\nthree\n" }],
    },
  });
  expect(status, text).toBe(201);
  const made = await project.call("POST /merge_requests", {
    as: "owner",
    json: { source_branch: "feature", target_branch: "main", title: "Feature" },
  });
  expect(made.status, made.text).toBe(201);
  return made.json.iid;
}

/** Reads what files have. */
const FILES = /from stored_file_pieces/;

const problem = (fingerprint: string, line: number, more: object = {}) => ({
  ...{ description: `Problem ${fingerprint}`, check_name: "style", fingerprint, severity: "Major" },
  location: { path: "./src/a.rb", lines: { begin: line } },
  ...more,
});

const read = (name: string, iid: number, what: string, as: Person | undefined = "developer") =>
  app.call(`GET http://pm.test/secret/${name}/-/merge_requests/${iid}/${what}.json`, { as });

describe("reports of a merge request's pipeline", () => {
  it("compare the quality of code with that of what it starts from", async () => {
    const project = await ciProject(app, "judged", CONFIGURATION);
    const iid = await requestIn(project);
    const none = await read("judged", iid, "codequality_reports");
    expect([none.status, none.text]).toEqual([
      ...[400, "400 Bad request - This merge request does not have codequality reports\n"],
    ]);
    const list = (...all: object[]) => JSON.stringify(all, null, 2);
    await run(project, "main", { codequality: list(problem("a", 1), problem("b", 2)) });
    const other = problem("c", 3, {
      ...{ severity: "odd", engine_name: "rubocop", location: { path: "x", positions: {} } },
      content: { body: 'a "{[\\" text' },
    });
    await run(project, "feature", { codequality: list(problem("b", 4), other) });
    const { status, json } = await read("judged", iid, "codequality_reports");
    expect(status).toBe(200);
    expect(json).toMatchObject({
      status: "failed",
      new_errors: [
        {
          ...{ description: "Problem c", fingerprint: "c", severity: "unknown", line: null },
          ...{ file_path: "x", engine_name: "rubocop", check_name: "style" },
        },
      ],
      resolved_errors: [{ fingerprint: "a", severity: "major", file_path: "src/a.rb", line: 1 }],
      existing_errors: [
        { web_url: expect.stringMatching(/secret\/judged\/-\/blob\/\w{40}\/src\/a\.rb#L4$/) },
      ],
      summary: { total: 2, resolved: 1, errored: 2 },
    });
    // Whoever looks again has nothing read again.
    expect(app.statements.some((sql) => FILES.test(sql))).toBe(true);
    app.statements.length = 0;
    expect((await read("judged", iid, "codequality_reports")).json).toEqual(json);
    expect(app.statements.filter((sql) => FILES.test(sql))).toEqual([]);
    for (const [text, reason] of [
      ["{}", 'JSON parsing failed: unexpected "{"'],
      ["[", "JSON parsing failed: unexpected end"],
      ["[{a}]", "JSON parsing failed: a problem is no object"],
      ["[{}]", /^Invalid degradation format/],
    ] as const) {
      await run(project, "feature", { codequality: text });
      const broken = await read("judged", iid, "codequality_reports");
      expect(broken.json).toMatchObject({
        ...{ status: "failed", new_errors: [], summary: { total: 0 } },
        status_reason: typeof reason === "string" ? reason : expect.stringMatching(reason),
      });
    }
    await run(project, "feature", { codequality: "[]" });
    expect((await read("judged", iid, "codequality_reports")).json).toMatchObject({
      ...{ status: "success", new_errors: [], resolved_errors: [{}, {}] },
    });
    expect((await read("judged", iid, "codequality_reports", "stranger")).status).toBe(404);
  });

  it("show artifacts that jobs expose", async () => {
    const project = await ciProject(app, "exposing", CONFIGURATION);
    const iid = await requestIn(project);
    expect((await read("exposing", iid, "exposed_artifacts")).status).toBe(400);
    const { json: made } = await project.call("POST /pipeline", {
      ...{ as: "developer", json: { ref: "feature" } },
    });
    const job = await takeJob(app, await runnerOf(app, project));
    expect(job.artifacts[0]).not.toHaveProperty("expose_as");
    await sendArtifacts(app, job, zipped({ "out/a b.html": "text" }));
    expect(made.status).toBe("pending");
    const path = `/secret/exposing/-/jobs/${job.id}`;
    expect((await read("exposing", iid, "exposed_artifacts")).json).toEqual([
      {
        ...{ text: "The page", url: `http://pm.test${path}/artifacts/raw/out/a%20b.html` },
        ...{ job_path: path, job_name: "check" },
      },
    ]);
    expect((await read("exposing", iid, "exposed_artifacts", "stranger")).status).toBe(404);
  });

  it("say how often lines that it changes were run", async () => {
    const project = await ciProject(app, "covered", CONFIGURATION);
    const iid = await requestIn(project);
    const line = (number: number, hits: number) => `<line number="${number}" hits="${hits}"/>`;
    const cobertura = `<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "http://cobertura.test/x.dtd">
<coverage><sources><source>/builds/secret/covered/src</source></sources><packages><package name="p"><classes>
<class filename="a.rb"><methods><method><lines>${line(1, 9)}</lines></method></methods>
<lines>${line(1, 2)}${line(2, 0)}</lines></class>
<class filename="other.rb"><lines>${line(1, 1)}</lines></class>
</classes></package></packages></coverage>`;
    await run(project, "feature", { cobertura });
    const covered = await read("covered", iid, "coverage_reports");
    expect([covered.status, covered.json]).toEqual([
      200,
      { files: { "src/a.rb": { "1": 2, "2": 0 } } },
    ]);
    app.statements.length = 0;
    expect((await read("covered", iid, "coverage_reports")).json).toEqual(covered.json);
    expect(app.statements.filter((sql) => FILES.test(sql))).toEqual([]);
    const jacoco =
      '<report name="x"><package name="src"><sourcefile name="a.rb"><line nr="3" mi="0" ci="4"/></sourcefile></package></report>';
    await run(project, "feature", { cobertura, jacoco });
    expect((await read("covered", iid, "coverage_reports")).json.files).toEqual({
      "src/a.rb": { "1": 2, "2": 0, "3": 4 },
    });
    await run(project, "feature", { cobertura: "<coverage" });
    expect((await read("covered", iid, "coverage_reports")).json).toEqual({ files: {} });
  });
});
