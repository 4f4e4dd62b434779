import { StringDecoder } from "node:string_decoder";
import { createGunzip } from "node:zlib";
import type { ArtifactAccess, ReportError } from "../../ci/index.ts";
import { readFile } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import { through } from "../../git/streams.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";

/** A report that a job has uploaded. */
export interface Report extends StoredFile {
  /** The pipeline that was asked for. */
  readonly pipeline_id: number;
  readonly job_id: number;
  readonly name: string;
  readonly file_type: string;
  readonly file_name: string;
  readonly access: ArtifactAccess;
}

/** The reports of pipelines' jobs, and of those of their child pipelines. */
export function reportsOf(
  db: Reader,
  pipelineIds: readonly Value[],
  types: readonly string[],
): Promise<Report[]> {
  const pipelines = placeholders(pipelineIds);
  const these = placeholders(types);
  return Promise.resolve(
    db.all<Report>(
      `with recursive tree (root, id) as (
         select id, id from pipelines where id in (${pipelines.sql}) union
         select t.root, d.pipeline_id from tree t join ci_jobs b on b.pipeline_id = t.id and b.kind = 'bridge'
         join downstream_pipelines d on d.job_id = b.id
         join pipelines c on c.id = d.pipeline_id and c.source = 'parent_pipeline')
       select t.root as pipeline_id, cj.id as job_id, cj.name, a.file_type, a.file_name, a.access, f.id, f.size, f.sha256 from tree t
       cross join ci_jobs cj
       join job_artifacts a on a.job_id = cj.id and a.file_type in (${these.sql})
       join stored_files f on f.id = a.file_id where cj.pipeline_id = t.id and cj.retried = 0 order by cj.id`,
      [...pipelines.values, ...these.values],
    ),
  );
}

/** The text of a report, which runners may compress. @param unreadable makes the error of one that can't be read */
export async function* textOf(
  db: Reader,
  report: Pick<Report, "id" | "size">,
  budget: Budget,
  unreadable: (reason: string) => ReportError,
): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  for await (const bytes of bytesOf(db, report, unreadable)) {
    if (!budget.spend("reports", bytes.length)) {
      throw unreadable("the reports of the pipeline are too large");
    }
    yield decoder.write(bytes);
  }
  yield decoder.end();
}

async function* bytesOf(
  db: Reader,
  report: Pick<Report, "id" | "size">,
  unreadable: (reason: string) => ReportError,
): AsyncGenerator<Buffer> {
  const pieces = async function* () {
    for await (const piece of readFile(db, report)) yield Buffer.from(piece);
  };
  if (!(await isCompressed(db, report))) return yield* pieces();
  try {
    yield* through(pieces(), createGunzip());
  } catch (error) {
    const isBroken = (error as { code?: string }).code?.startsWith("Z_") === true;
    throw isBroken ? unreadable("invalid gzip file") : error;
  }
}

async function isCompressed(db: Reader, report: Pick<Report, "id" | "size">): Promise<boolean> {
  if (report.size < 2) return false;
  const { value: start } = await readFile(db, report, 0, 2).next();
  return start?.[0] === 0x1f && start[1] === 0x8b;
}
