import {
  type ArtifactAccess,
  COVERAGE_FORMATS,
  type CoverageFormat,
  LineCoverage,
  type Problem,
  ReportError,
  readCoverage,
  readQuality,
} from "../../ci/index.ts";
import { findVisible } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import { digest } from "../../core/digest.ts";
import { textOf as textOfPath } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { changesBetween } from "../../git/compared.ts";
import { Lru } from "../../git/lru.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { mayDownload, mayReadJobs } from "../ci/abilities.ts";
import { HEAD } from "../ci/heads.ts";
import type { JobSpec } from "../ci/progress.ts";
import { type Report, reportsOf, textOf } from "../ci/reports.ts";
import type { RequestCode } from "../merge-requests/code.ts";

/** Where reports of a merge request are read. */
interface Reading {
  readonly db: Reader;
  readonly viewer: Viewer;
  readonly budget: Budget;
}

/** What reports say, by their content: pages of merge requests ask for it each time that somebody looks. Bytes, about. */
const CACHE = 8 * 1024 * 1024;
const ENTRY = 200;
const LINE = 40;
const qualities = new Lru<string, readonly Problem[]>(CACHE);
const coverages = new Lru<string, Covered>(CACHE);

/** How often the lines of files were run. */
type Covered = Pick<LineCoverage, "files">;

/** A pipeline whose reports are compared. */
interface Compared {
  readonly id: number;
  readonly project_id: number;
  readonly sha: string;
  readonly full_path: string;
}

const PIPELINE = `select pl.id, pl.project_id, pl.sha, p.full_path from pipelines pl
  join projects p on p.id = pl.project_id`;

/** The newest pipeline of what a merge request would merge. */
const headOf = (db: Reader, requestId: number) =>
  db.one<Compared>(
    `${PIPELINE} where pl.id = (select ${HEAD} from merge_requests mr where mr.id = ?)`,
    [requestId],
  );

/** The reports of some types of a pipeline, of those that the viewer may download. */
async function readable(
  { db, viewer }: Reading,
  pipeline: Compared | undefined,
  types: readonly string[],
): Promise<readonly Report[]> {
  const project =
    pipeline && (await findVisible(db, "project", String(pipeline.project_id), viewer));
  if (!pipeline || !project || !mayReadJobs(project)) return [];
  const reports = await reportsOf(db, [pipeline.id], types);
  return reports.filter(({ access }) => mayDownload(project, access));
}

/**
 * How often the lines of the files that a merge request changes were run, by the reports of its newest pipeline. One that
 * can't be read is left out.
 *
 * @returns `undefined` without reports
 */
export async function coverageOf(
  reading: Reading,
  { request, opened, version }: RequestCode,
): Promise<Covered | undefined> {
  const { db, budget } = reading;
  const reports = await readable(reading, await headOf(db, request.id), COVERAGE_FORMATS);
  if (reports.length === 0 || !version) return undefined;
  const { repository } = opened;
  const number = (sha: string | null) => (sha ? commitNumber(repository, sha) : undefined);
  const head = number(version.head_sha);
  if (head === undefined) return undefined;
  const changes = await changesBetween(repository, number(version.base_sha), head, budget);
  const paths = changes.flatMap(({ to }) => (to ? [textOfPath(to.path)] : []));
  const key = digest(
    "sha256",
    JSON.stringify([reports.map(({ sha256, file_type }) => [sha256, file_type]), paths]),
  );
  const kept = coverages.get(key);
  if (kept) return kept;
  const coverage = new LineCoverage(paths);
  let isWhole = true;
  for (const report of reports) {
    const text = textOf(db, report, budget, unreadable);
    const format = report.file_type as CoverageFormat;
    try {
      await readCoverage(format, text, coverage, budget);
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      isWhole = false;
    }
  }
  let size = 0;
  for (const [path, lines] of coverage.files) size += ENTRY + 2 * path.length + LINE * lines.size;
  // What it was looked for by is not needed any more.
  const found = { files: coverage.files };
  if (isWhole) coverages.set(key, found, size);
  return found;
}

const unreadable = (reason: string) => new ReportError(`report parsing failed: ${reason}`);

/** A problem, and the address of its line below the server's. */
export type ShownProblem = Problem & { readonly address: string };

/** What a merge request changes of the quality of code. */
export interface QualityChange {
  readonly added: readonly ShownProblem[];
  readonly resolved: readonly ShownProblem[];
  readonly existing: readonly ShownProblem[];
  /** Why it is not known. */
  readonly error: string | undefined;
}

/**
 * Compares what the newest pipeline of a merge request reports of the quality of code with the newest pipeline of the commit
 * that it starts from.
 *
 * @returns `undefined` without reports
 */
export async function qualityOf(
  reading: Reading,
  { request, version }: Pick<RequestCode, "request" | "version">,
): Promise<QualityChange | undefined> {
  const { db } = reading;
  const head = await headOf(db, request.id);
  const reports = await readable(reading, head, QUALITY);
  if (!head || reports.length === 0) return undefined;
  const base = await db.one<Compared>(
    `${PIPELINE} where pl.project_id = ? and pl.sha = ? and pl.source <> 'parent_pipeline' and pl.tag = 0
     order by pl.id desc limit 1`,
    [request.project_id, version?.base_sha ?? ""],
  );
  try {
    const now = await problemsOf(reading, reports);
    const before = await problemsOf(reading, await readable(reading, base, QUALITY));
    const at = (pipeline: Compared | undefined, problems: readonly Problem[]) =>
      problems.map((problem) => ({ ...problem, address: addressOf(pipeline, problem) }));
    const all = [...now.values()];
    return {
      added: at(
        head,
        all.filter(({ fingerprint }) => !before.has(fingerprint)),
      ),
      resolved: at(
        base,
        [...before.values()].filter(({ fingerprint }) => !now.has(fingerprint)),
      ),
      existing: at(
        head,
        all.filter(({ fingerprint }) => before.has(fingerprint)),
      ),
      error: undefined,
    };
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    return { added: [], resolved: [], existing: [], error: error.message };
  }
}

/** The reports about the quality of code. */
export const QUALITY = ["codequality"];

/** The problems that reports have, by their fingerprints. @throws ReportError */
export async function problemsOf(
  { db, budget }: Omit<Reading, "viewer">,
  reports: readonly Report[],
): Promise<Map<string, Problem>> {
  const problems = new Map<string, Problem>();
  for (const report of reports) {
    const kept = qualities.get(report.sha256);
    if (kept && budget.spend("problems", kept.length)) {
      for (const problem of kept) problems.set(problem.fingerprint, problem);
      continue;
    }
    const own = new Map<string, Problem>();
    await readQuality(textOf(db, report, budget, unreadable), own, budget);
    let size = 0;
    for (const [fingerprint, problem] of own) {
      problems.set(fingerprint, problem);
      const { path, description, check, engine } = problem;
      for (const text of [fingerprint, path, description, check, engine]) {
        size += 2 * (text?.length ?? 0);
      }
      size += ENTRY;
    }
    qualities.set(report.sha256, [...own.values()], size);
  }
  return problems;
}

/** The address of a problem's line below the server's. */
export function addressOf(
  pipeline: Pick<Compared, "full_path" | "sha"> | undefined,
  { path, line }: Pick<Problem, "path" | "line">,
): string {
  const file = path.split("/").map(encodeURIComponent).join("/");
  return `/${pipeline?.full_path}/-/blob/${pipeline?.sha}/${file}${line === null ? "" : `#L${line}`}`;
}

/** Artifacts that a job shows beside a merge request: `expose_as`. */
export interface Exposed {
  readonly name: string;
  readonly job: string;
  /** Addresses below the server's: of the job, and of the file or archive. */
  readonly jobAddress: string;
  readonly address: string;
}

/** Jobs of a merge request's pipeline whose artifacts are shown, at most. */
const MOST_EXPOSED = 100;

/** The artifacts that jobs of a merge request's newest pipeline show there, of those that the viewer may download. */
export async function exposedOf(
  { db, viewer }: Omit<Reading, "budget">,
  { request }: Pick<RequestCode, "request">,
): Promise<readonly Exposed[]> {
  const head = await headOf(db, request.id);
  const project = head && (await findVisible(db, "project", String(head.project_id), viewer));
  if (!head || !project || !mayReadJobs(project)) return [];
  const rows = await db.rows(
    `select cj.id, cj.name, a.access, s.spec from ci_jobs cj join ci_job_specs s on s.job_id = cj.id
     join job_artifacts a on a.job_id = cj.id and a.file_type = 'archive'
     where cj.pipeline_id = ? and cj.retried = 0 and instr(s.spec, '"expose_as":') > 0
     order by cj.id limit ${MOST_EXPOSED}`,
    [head.id],
  );
  return rows.flatMap(([id, job, access, spec]) => {
    const { options } = JSON.parse(String(spec)) as Pick<JobSpec, "options">;
    const archive = options.artifacts?.find((one) => one["expose_as"] !== undefined);
    if (!archive || !mayDownload(project, access as ArtifactAccess)) return [];
    const [path, ...others] = archive["paths"] as readonly string[];
    const jobAddress = `/${head.full_path}/-/jobs/${id}`;
    const isFile = path !== undefined && others.length === 0 && /\.\w+$/.test(path);
    const file = path?.split("/").map(encodeURIComponent).join("/");
    const name = String(archive["expose_as"]);
    const address = `${jobAddress}/artifacts/${isFile ? `raw/${file}` : "download"}`;
    return [{ name, job: String(job), jobAddress, address }];
  });
}
