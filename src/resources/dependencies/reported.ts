import { objectsIn, ReportError } from "../../ci/index.ts";
import { DependencyError, readDependencyReport } from "../../dependencies/index.ts";
import type { DependencyFile } from "../../dependencies/types.ts";
import type { Database, Reader } from "../../store/port.ts";
import { Budget } from "../../turns/budget.ts";
import { type Report, reportsOf, textOf } from "../ci/reports.ts";
import { MAIN } from "../repositories/open.ts";
import { replaceFile } from "./queries.ts";

/** Artifacts that say what a project depends on. */
const TYPES = ["cyclonedx", "dependency_scanning"];
/** Characters of one report: it is parsed in one go. */
const MOST_LENGTH = 4 * 1024 * 1024;

const unreadable = (reason: string) => new ReportError(reason);

/**
 * Reads what the jobs of a pipeline that has ended have reported about dependencies, if it is the newest of the default
 * branch, as in GitLab. Reports that can't be read, that are too large, or that not everybody may download, change nothing.
 *
 * @returns what stores it, in a transaction
 */
export async function reportedDependencies(
  db: Reader,
  pipelineId: number,
): Promise<((db: Database) => Promise<void>)[]> {
  const [found] = await db.rows(
    `select pl.project_id from pipelines pl join projects p on p.id = pl.project_id
     where pl.id = ? and pl.tag = 0 and pl.merge_request_id is null and pl.source <> 'parent_pipeline'
       and pl.ref = coalesce(p.default_branch, '${MAIN}') and not exists (
         select 1 from pipelines o where o.project_id = pl.project_id and o.ref = pl.ref and o.id > pl.id
           and o.tag = 0 and o.status in ('success', 'failed') and o.source <> 'parent_pipeline')`,
    [pipelineId],
  );
  if (!found) return [];
  const reports = await reportsOf(db, [pipelineId], TYPES);
  const budget = new Budget();
  const files: DependencyFile[] = [];
  for (const report of reports) {
    if (report.access === "all") files.push(...(await filesIn(db, report, budget)));
  }
  if (files.length === 0) return [];
  return [
    async (writing) => {
      for (const file of files) await replaceFile(writing, found[0] as number, file);
    },
  ];
}

async function filesIn(db: Reader, report: Report, budget: Budget): Promise<DependencyFile[]> {
  const path = report.file_name.replace(/\.gz$/, "");
  const how = { areListed: false, most: MOST_LENGTH, malformed: unreadable };
  const files: DependencyFile[] = [];
  try {
    // A runner puts several files together into one.
    for await (const content of objectsIn(textOf(db, report, budget, unreadable), how, budget)) {
      files.push(...(await readDependencyReport({ path, content })).files);
    }
    return files;
  } catch (error) {
    if (error instanceof ReportError || error instanceof DependencyError) return [];
    throw error;
  }
}
