import { nextRun } from "../../ci/index.ts";
import { type Page, pageReader, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { all, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import type { PipelineInputs } from "../ci/inputs.ts";
import type { GivenVariable } from "../ci/records.ts";
import { purposeOf } from "./table.ts";

/** A schedule, as handlers need it. */
export interface Schedule {
  id: number;
  project_id: number;
  owner_id: number | null;
  /** A branch or tag in full. */
  ref: string;
  cron: string;
  cron_timezone: string;
  next_run_at: number | null;
  /** Values of the configuration's inputs by name, as JSON. */
  inputs: string | null;
  updated_at: number;
}

/** The columns of {@link Schedule}. */
export const COLUMNS =
  "id, project_id, owner_id, ref, cron, cron_timezone, next_run_at, inputs, updated_at";

const SCHEDULES = "pipeline_schedules sc left join users u on u.id = sc.owner_id";

/** The schedules of a project, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  isActive: boolean | undefined,
): Promise<RowPage> {
  const where = all([
    { sql: "sc.project_id = ?", values: [projectId] },
    when("sc.active = ?", isActive === undefined ? undefined : Number(isActive)),
  ]);
  return paginate(db, presenter, page, {
    from: `${SCHEDULES} where ${where.sql}`,
    values: where.values,
    countFrom: `pipeline_schedules sc where ${where.sql}`,
    order: "sc.id",
  });
}

/** How many schedules a project has. */
export async function count(db: Reader, projectId: number): Promise<number> {
  const sql = "select count(*) from pipeline_schedules where project_id = ?";
  const [counted] = await db.rows(sql, [projectId]);
  return (counted as [number])[0];
}

/** One schedule as a row for its presenter, with its newest pipeline. */
export const row = rowReader(`${SCHEDULES} join projects p on p.id = sc.project_id
     left join pipelines pl on pl.id =
       (select max(pipeline_id) from pipeline_schedule_runs where schedule_id = sc.id)
     where sc.id = ?`);

/** A schedule of a project, or `undefined`. */
export function find(db: Reader, projectId: number, id: number): Awaitable<Schedule | undefined> {
  return db.one<Schedule>(
    `select ${COLUMNS} from pipeline_schedules where project_id = ? and id = ?`,
    [projectId, id],
  );
}

/** When a schedule runs next, in epoch milliseconds; `null` if never. */
export function nextOf(
  { cron, cron_timezone }: Pick<Schedule, "cron" | "cron_timezone">,
  now: number,
): number | null {
  return nextRun(cron, cron_timezone, new Date(now))?.getTime() ?? null;
}

/** A new schedule. */
export interface NewSchedule {
  project_id: number;
  owner_id: number;
  description: string;
  ref: string;
  cron: string;
  cron_timezone: string;
  active: boolean;
  inputs?: string | null;
}

/** Adds a schedule and returns its id. @param createdAt if it is older than it is here */
export function insert(
  db: Database,
  schedule: NewSchedule,
  now: number,
  createdAt = now,
): Promise<number> {
  return insertRow(db, "pipeline_schedules", {
    ...schedule,
    active: Number(schedule.active),
    next_run_at: nextOf(schedule, now),
    created_at: createdAt,
    updated_at: createdAt,
  });
}

/** Removes a schedule. Its pipelines stay. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from pipeline_schedules where id = ?", [id]);
}

/** The variables of a schedule by key, decrypted. */
export async function variablesOf(
  db: Reader,
  secrets: Pick<Secrets, "open">,
  scheduleId: number,
): Promise<GivenVariable[]> {
  const rows = await db.rows(
    "select key, value, variable_type from pipeline_schedule_variables where schedule_id = ? order by key",
    [scheduleId],
  );
  return rows.map(([key, value, type]) => ({
    key: key as string,
    value: secrets.open(value as string, purposeOf(scheduleId, key as string)),
    variable_type: type as GivenVariable["variable_type"],
  }));
}

/** The values of inputs that a schedule gives to its pipelines, by name. */
export const inputsOf = ({ inputs }: Pick<Schedule, "inputs">): PipelineInputs =>
  inputs === null ? {} : (JSON.parse(inputs) as PipelineInputs);

/** Adds a variable to a schedule, or replaces the one with its key. */
export async function setVariable(
  db: Database,
  secrets: Secrets,
  scheduleId: number,
  { key, value, variable_type }: GivenVariable,
): Promise<void> {
  const seal = await sealerFor(db, secrets);
  await db.run(
    `insert into pipeline_schedule_variables (schedule_id, key, value, variable_type) values (?, ?, ?, ?)
     on conflict (schedule_id, key) do update set value = excluded.value, variable_type = excluded.variable_type`,
    [scheduleId, key, seal(value, purposeOf(scheduleId, key)), variable_type],
  );
}

/** Removes a variable of a schedule. */
export async function removeVariable(db: Database, scheduleId: number, key: string): Promise<void> {
  await db.run("delete from pipeline_schedule_variables where schedule_id = ? and key = ?", [
    scheduleId,
    key,
  ]);
}

/** Notes that a schedule has started a pipeline. */
export async function noteRun(db: Database, scheduleId: number, pipelineId: number): Promise<void> {
  await db.run("insert into pipeline_schedule_runs (pipeline_id, schedule_id) values (?, ?)", [
    pipelineId,
    scheduleId,
  ]);
}

/** The pipelines that a schedule has started, oldest first. */
export const listPipelines = pageReader({
  from: `pipeline_schedule_runs ru join pipelines pl on pl.id = ru.pipeline_id
      join projects p on p.id = pl.project_id where ru.schedule_id = ?`,
  countFrom: "pipeline_schedule_runs ru where ru.schedule_id = ?",
  order: "ru.pipeline_id",
});
