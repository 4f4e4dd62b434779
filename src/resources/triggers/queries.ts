import { digestOf } from "../../auth/token-secrets.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";

/** The beginning of tokens of triggers. */
export const PREFIX = "glptt";

/** Characters of a token that jobs are told, as in GitLab. */
const SHORT = 4;

/** What jobs are told of the token of a trigger: its first characters, after the prefix that all have. */
export function shortTokenOf(token: string): string {
  const start = token.startsWith(`${PREFIX}-`) ? PREFIX.length + 1 : 0;
  return token.slice(start, start + SHORT);
}

/** A trigger, as handlers need it. */
export interface Trigger {
  id: number;
  owner_id: number;
  updated_at: number;
}

/** The tables of a trigger's row. The `?` is the id of the caller, who sees their own tokens. */
const TRIGGERS = `pipeline_triggers tr join users u on u.id = tr.owner_id
  left join users own on own.id = tr.owner_id and own.id = ?`;

/** The triggers of a project, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  projectId: number,
  callerId: number,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `${TRIGGERS} where tr.project_id = ?`,
    values: [callerId, projectId],
    countFrom: "pipeline_triggers tr where tr.project_id = ?",
    countValues: [projectId],
    order: "tr.id",
  });
}

/** One trigger as a row for its presenter. */
export async function row(
  db: Reader,
  presenter: Presenter,
  id: number,
  callerId: number,
): Promise<Value[]> {
  const rows = await db.rows(`select ${presenter.columns} from ${TRIGGERS} where tr.id = ?`, [
    callerId,
    id,
  ]);
  return rows[0] as Value[];
}

/** A trigger of a project, or `undefined`. */
export function find(db: Reader, projectId: number, id: number): Awaitable<Trigger | undefined> {
  return db.one<Trigger>(
    "select id, owner_id, updated_at from pipeline_triggers where project_id = ? and id = ?",
    [projectId, id],
  );
}

/** Adds a trigger and returns its id. @throws SecretKeyError if the token can't be encrypted */
export async function insert(
  db: Database,
  secrets: Secrets,
  {
    secret,
    ...trigger
  }: {
    project_id: number;
    owner_id: number;
    description: string;
    expires_at: number | null;
    /** Its token. */
    secret: string;
  },
  now: number,
): Promise<number> {
  const seal = await sealerFor(db, secrets);
  const digest = digestOf(secret);
  return insertRow(db, "pipeline_triggers", {
    ...trigger,
    token: seal(secret, `trigger ${digest}`),
    digest,
    created_at: now,
    updated_at: now,
  });
}

/** Removes a trigger. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from pipeline_triggers where id = ?", [id]);
}

/** What a token starts pipelines as: a trigger, or a job that runs. */
export interface UsableTrigger {
  /** The trigger. */
  id: number | null;
  /** The job, and its pipeline. */
  job_id: number | null;
  pipeline_id: number | null;
  project_id: number;
  full_path: string;
  owner_id: number;
}

/** What a token starts pipelines as, unless it has expired. */
export function findByToken(
  db: Reader,
  token: string,
  now: number,
): Awaitable<UsableTrigger | undefined> {
  const digest = digestOf(token);
  return db.one<UsableTrigger>(
    `select tr.id, null as job_id, null as pipeline_id, tr.project_id, p.full_path, tr.owner_id
     from pipeline_triggers tr join projects p on p.id = tr.project_id
     where tr.digest = ? and (tr.expires_at is null or tr.expires_at > ?)
     union all
     select null, cj.id, cj.pipeline_id, cj.project_id, p.full_path, jt.user_id
     from job_tokens jt join ci_jobs cj on cj.id = jt.job_id join projects p on p.id = cj.project_id
     where jt.digest = ? and jt.expires_at > ?`,
    [digest, now, digest, now],
  );
}

/** Notes that a trigger was used. */
export async function noteUse(db: Database, id: number, now: number): Promise<void> {
  await db.run("update pipeline_triggers set last_used_at = ? where id = ?", [now, id]);
}
