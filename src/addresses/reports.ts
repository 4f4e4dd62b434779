import { badRequest } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { Json, type Route, routes } from "../core/resource.ts";
import { dayOf } from "../core/time.ts";
import { openCode } from "../resources/merge-requests/code.ts";
import {
  coverageOf,
  exposedOf,
  qualityOf,
  type ShownProblem,
} from "../resources/pipelines/request-reports.ts";

const requests = routes({
  source: "project",
  isAddress: true,
  path: "/-/merge_requests",
  features: ["merge_requests"],
});

const number = { merge_request_iid: param.recordId() };

const shown = (problem: ShownProblem, base: string) => ({
  description: problem.description,
  fingerprint: problem.fingerprint,
  severity: problem.severity,
  file_path: problem.path,
  line: problem.line,
  web_url: base + problem.address,
  engine_name: problem.engine,
  check_name: problem.check,
});

/** What GitLab's merge requests show of the reports of their pipelines, as JSON (decision 123). */
export const reportAddresses: readonly Route[] = [
  requests.get("/:merge_request_iid/codequality_reports.json", {
    summary: "Get what a merge request changes of the quality of code, by its pipeline's reports",
    access: "anyone",
    answersWith: "application/json",
    input: number,
    prepare: ({ merge_request_iid: iid }, preparing) => openCode(preparing, iid),
    handle: async ({ db, caller, now, budget, view, prepared }) => {
      const viewer = { caller, today: dayOf(now) };
      const found = await qualityOf({ db, viewer, budget }, prepared);
      if (!found) throw badRequest("This merge request does not have codequality reports");
      const { added, resolved, existing, error } = found;
      const list = (problems: readonly ShownProblem[]) =>
        problems.map((one) => shown(one, view.base));
      const total = added.length + existing.length;
      return new Json({
        status: error !== undefined || total > 0 ? "failed" : "success",
        ...(error !== undefined && { status_reason: error }),
        new_errors: list(added),
        resolved_errors: list(resolved),
        existing_errors: list(existing),
        summary: { total, resolved: resolved.length, errored: total },
      });
    },
  }),
  requests.get("/:merge_request_iid/coverage_reports.json", {
    summary:
      "Get how often the lines that a merge request changes were run, by its pipeline's reports",
    access: "anyone",
    answersWith: "application/json",
    input: number,
    prepare: ({ merge_request_iid: iid }, preparing) => openCode(preparing, iid),
    handle: async ({ db, caller, now, budget, prepared }) => {
      const viewer = { caller, today: dayOf(now) };
      const found = await coverageOf({ db, viewer, budget }, prepared);
      if (!found) throw badRequest("This merge request does not have coverage reports");
      const files = [...found.files].map(
        ([path, lines]) => [path, Object.fromEntries(lines)] as const,
      );
      return new Json({ files: Object.fromEntries(files) });
    },
  }),
  requests.get("/:merge_request_iid/exposed_artifacts.json", {
    summary: "List the artifacts that jobs of a merge request's pipeline show there",
    access: "anyone",
    answersWith: "application/json",
    input: number,
    prepare: ({ merge_request_iid: iid }, preparing) => openCode(preparing, iid),
    handle: async ({ db, caller, now, view, prepared }) => {
      const found = await exposedOf({ db, viewer: { caller, today: dayOf(now) } }, prepared);
      if (found.length === 0)
        throw badRequest("This merge request does not have exposed artifacts");
      return new Json(
        found.map(({ name, job, jobAddress, address }) => ({
          text: name,
          url: view.base + address,
          job_path: jobAddress,
          job_name: job,
        })),
      );
    },
  }),
];
