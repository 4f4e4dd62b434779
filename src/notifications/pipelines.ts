import { visibleJobs } from "../core/access/visibility.ts";
import type { PipelineNotification } from "../jobs/notifications.ts";
import { sendsMails } from "../resources/namespaces/mails.ts";
import type { Flags, Level } from "../resources/notification-settings/queries.ts";
import type { Reader } from "../store/port.ts";
import { type Outcome, PIPELINES } from "./mail-reasons.ts";
import { type Reason, type Recipient, settingsOf } from "./recipients.ts";

/** The content of a mail about the end of a pipeline. */
export interface PipelineMail {
  /** What it is about, the same in every attempt to send it. */
  key: string;
  user_id: number;
  email: string;
  reason: Reason;
  outcome: Outcome;
  id: number;
  project: string;
  ref: string;
  sha: string;
  /** The first ones. */
  failed_jobs: string[];
}

/** Jobs that a mail names at most. */
const MOST_JOBS = 10;
/** Earlier pipelines of a branch that are looked at for the last one that ended. */
const MOST_EARLIER = 100;

interface Row {
  user_id: number | null;
  project_id: number;
  project: string;
  ref: string;
  sha: string;
  source: string;
}

async function find(db: Reader, id: number): Promise<Row | undefined> {
  return db.one<Row>(
    `select pl.user_id, pl.project_id, p.full_path as project, pl.ref, pl.sha, pl.source
     from pipelines pl join projects p on p.id = pl.project_id where pl.id = ?`,
    [id],
  );
}

/**
 * Whether a pipeline's user is told of its end, and how it has ended. As in GitLab, nobody else is told; of one that has
 * succeeded they are told only if they chose that at the level `custom`.
 *
 * @param today `YYYY-MM-DD`: memberships that expire on or before it do not count
 */
export async function pipelineRecipient(
  db: Reader,
  { pipeline, status }: PipelineNotification,
  today: string,
): Promise<(Recipient & { outcome: Outcome }) | undefined> {
  const found = await find(db, pipeline);
  if (!found || found.user_id === null) return undefined;
  const outcome = status === "success" && (await hadFailed(db, pipeline, found)) ? "fixed" : status;
  const [person] = await settingsOf(db, found.project_id, [found.user_id]);
  if (!person || !(await maySee(db, person.id, found.project_id, today))) return undefined;
  const { flags, ...told } = person;
  const reason = reasonFor(person.level, flags, outcome);
  if (!reason || !(await sendsMails(db, found.project_id))) return undefined;
  return { ...told, reason, outcome };
}

function reasonFor(level: Level, flags: Flags, outcome: Outcome): Reason | undefined {
  if (level === "custom") {
    return PIPELINES[outcome].flags.some((flag) => flags[flag]) ? "custom" : undefined;
  }
  const isTold = outcome !== "success" && (level === "participating" || level === "watch");
  return isTold ? "own pipeline" : undefined;
}

/** Whether the last pipeline of the same branch or tag that ended before this one has failed. */
async function hadFailed(
  db: Reader,
  id: number,
  { project_id, ref, source }: Row,
): Promise<boolean> {
  // Several child pipelines have one branch, and differ.
  if (source === "parent_pipeline") return false;
  const [last] = await db.rows(
    `select o.status from (select id, status, source from pipelines
       where project_id = ? and ref = ? and id < ? order by id desc limit ${MOST_EARLIER}) o
     where o.status in ('success', 'failed') and o.source <> 'parent_pipeline' order by o.id desc limit 1`,
    [project_id, ref, id],
  );
  return last?.[0] === "failed";
}

/** Whether a user may see the pipelines of a project. */
async function maySee(
  db: Reader,
  userId: number,
  projectId: number,
  today: string,
): Promise<boolean> {
  const user = await db.one<{ id: number; username: string; admin: number; external: number }>(
    "select id, username, admin, external from users where id = ?",
    [userId],
  );
  if (!user) return false;
  const caller = { ...user, admin: user.admin === 1, external: user.external === 1 };
  const { sql, values } = visibleJobs({ caller, today });
  const found = await db.rows(`select 1 from projects p where p.id = ? and ${sql}`, [
    projectId,
    ...values,
  ]);
  return found.length > 0;
}

/**
 * The current content of a mail about the end of a pipeline, or `undefined` if it should not be sent any more: the
 * pipeline was deleted, or its user was blocked or may no longer see it.
 */
export async function findPipelineMail(
  db: Reader,
  { pipeline }: Pick<PipelineNotification, "pipeline">,
  { key, user, reason, outcome }: { key: string; user: number; reason: Reason; outcome: Outcome },
  today: string,
): Promise<PipelineMail | undefined> {
  const found = await find(db, pipeline);
  const [person] = found ? await settingsOf(db, found.project_id, [user]) : [];
  if (!found || !person || !(await maySee(db, user, found.project_id, today))) return undefined;
  const jobs =
    outcome === "failed"
      ? await db.rows(
          `select name from ci_jobs where pipeline_id = ? and retried = 0 and status = 'failed' and allow_failure = 0
           order by id limit ${MOST_JOBS}`,
          [pipeline],
        )
      : [];
  const { project, ref, sha } = found;
  return {
    ...{ key, user_id: user, email: person.email, reason, outcome, id: pipeline },
    ...{ project, ref, sha, failed_jobs: jobs.map(([name]) => name as string) },
  };
}
