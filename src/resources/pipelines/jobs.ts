import { mayReadCode } from "../../core/access/source.ts";
import type { Viewer } from "../../core/access/visibility.ts";
import type { View } from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { firstSelective, idsOf } from "../../core/lists/index-start.ts";
import { paginateFrom } from "../../core/lists/paginate.ts";
import type { Page, RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { commitNumber, readCommit } from "../../git/commits.ts";
import { among, type Condition } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { downstream, JOBS, job, listedPipeline } from "../ci/json.ts";
import { STATUS_NAMES } from "../ci/statuses.ts";
import { commit, commitRow, commitValues } from "../repositories/json.ts";
import type { OpenRepository } from "../repositories/open.ts";

/** The filter of lists of jobs by their statuses. */
export const scope = { scope: param.optional(param.arrayOf(param.choice(STATUS_NAMES))) };

/** What rows of jobs are read with, or rows that have a job among other things. */
export interface JobReading {
  readonly db: Reader;
  readonly presenter: Presenter;
  readonly view: View;
  readonly viewer: Viewer;
  /** The project's repository. */
  readonly prepared: OpenRepository;
}

/** Fills in what jobs in rows have besides their columns: commits and artifacts. */
export async function fillJobs(reading: JobReading, rows: readonly Value[][]): Promise<void> {
  await fillCommits(reading, rows);
  await fillArtifacts(reading, rows);
}

/** Fills in the commits of jobs, unless the caller may not read the code. */
async function fillCommits(
  { presenter, view, prepared: opened }: JobReading,
  rows: readonly Value[][],
): Promise<void> {
  const { project, repository } = opened;
  if (!mayReadCode(project)) return;
  const at = presenter.find(job.fields["commit"]);
  const sha = presenter.find(listedPipeline.fields["sha"]);
  if (at === undefined || sha === undefined) return;
  const written = new Map<Value, string>();
  for (const row of rows) {
    const id = row[sha] as string | null;
    if (id === null) continue;
    const number = written.has(id) ? undefined : commitNumber(repository, id);
    if (number !== undefined) {
      const values = commitValues(opened, await readCommit(repository, number));
      written.set(id, commit.write(commitRow(values), view));
    }
    row[at] = written.get(id) ?? "null";
  }
}

/** Fills in what jobs have uploaded. */
async function fillArtifacts({ db, presenter }: JobReading, rows: readonly Value[][]) {
  const [id, all, archive] = ["id", "artifacts", "artifacts_file"].map((name) =>
    presenter.find(job.fields[name]),
  );
  if (rows.length === 0 || id === undefined || all === undefined || archive === undefined) return;
  const these = among(
    "a.job_id",
    rows.map((row) => row[id] as Value),
  );
  const found = await db.all<Artifact>(
    `select a.job_id, a.file_type, a.file_format, a.file_name, f.size from job_artifacts a
     join stored_files f on f.id = a.file_id where ${these.sql} order by a.id`,
    these.values,
  );
  for (const row of rows) {
    const own = found.filter(({ job_id }) => job_id === row[id]);
    if (own.length === 0) continue;
    row[all] = JSON.stringify(
      own.map(({ file_type, size, file_name: filename, file_format }) => ({
        file_type,
        size,
        filename,
        file_format,
      })),
    );
    const file = own.find(({ file_type }) => file_type === "archive");
    if (file) row[archive] = JSON.stringify({ filename: file.file_name, size: file.size });
  }
}

interface Artifact {
  readonly job_id: number;
  readonly file_type: string;
  readonly file_format: string;
  readonly file_name: string;
  readonly size: number;
}

/**
 * One page of jobs, the newest first.
 *
 * @param options `starts`: filters from which the list may start, if the index of its only one hasn't the order;
 *   `stored`: a query for how many there are, if that is stored; `order`: by something else
 */
export async function listJobs(
  reading: JobReading,
  page: Page,
  where: Condition,
  {
    starts = [],
    stored,
    order = "cj.id desc",
  }: { starts?: readonly Condition[]; stored?: Condition | undefined; order?: string } = {},
): Promise<RowPage> {
  const { db, presenter, viewer } = reading;
  const start = await firstSelective(
    db,
    "cj",
    starts.map((start) => idsOf("ci_jobs cj", start)),
  );
  const more = "downstream_pipeline" in presenter.fields ? downstream(viewer) : NOTHING;
  const listed = await paginateFrom(db, presenter, page, start, {
    alias: "cj",
    tables: "ci_jobs cj",
    presented: { sql: `${JOBS} ${more.sql}`, values: more.values },
    where,
    order,
    stored,
  });
  await fillJobs(reading, listed.rows);
  return listed;
}

const NOTHING: Condition = { sql: "", values: [] };

/** A job as a row of its presenter. */
export async function jobRow(reading: JobReading, id: number): Promise<Value[] | undefined> {
  const rows = await reading.db.rows(
    `select ${reading.presenter.columns} from ${JOBS} where cj.id = ?`,
    [id],
  );
  await fillJobs(reading, rows);
  return rows[0];
}
