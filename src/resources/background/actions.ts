import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, routes } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import { MAIL } from "../../jobs/mails.ts";
import { queued, queues, retry } from "../../jobs/outbox.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";

// What `pm-cli jobs` tells and does, for the pages of administrators: these routes have no address.

const { get, post } = routes();

/** So many tasks are shown: those that were given up first. */
const MOST = 100;
/** So much of what a worker knows about a task is shown. */
const MOST_CHARACTERS = 200;

const instant = (at: number | null) => (at === null ? null : isoInstant(at));

/** What letters are, as administrators are told. */
const LETTERS: Readonly<Record<string, string>> = {
  confirmation: "Confirmation of an address",
  invitation: "Invitation",
  delivery: "What an integration was told",
  password: "Link to set a password",
  signUp: "Confirmation of who signs up",
  signUpAgain: "Signing up with an address that has an account",
  signUpRequest: "Request of who has signed up",
  signUpApproved: "Approval of who has signed up",
  claim: "Question to a user whether a placeholder is theirs",
  claims: "Result of a file of reassignments",
};

/** What a mail is about, and whom it is to, as far as that is known before it is written. */
interface Mail {
  readonly subject: string;
  readonly to: string | null;
}

/** What waiting mails are about, by the ids of their tasks, in two statements for all of them. */
async function mailsOf(
  db: Reader,
  tasks: readonly { readonly id: number; readonly payload: string }[],
): Promise<ReadonlyMap<number, Mail>> {
  const read = tasks.map(({ id, payload }) => ({ id, about: JSON.parse(payload) as Payload }));
  const named = async (sql: string, name: "user" | "event") => {
    const ids = [...new Set(read.flatMap(({ about }) => about[name] ?? []))];
    if (ids.length === 0) return new Map<number, string>();
    const among = placeholders(ids);
    const rows = await db.rows(`${sql} (${among.sql})`, among.values);
    return new Map(rows.map(([id, text]) => [id as number, text as string]));
  };
  const people = await named("select id, username from users where id in", "user");
  const events = await named(
    "select id, action || ' ' || coalesce(target_title, ref, '') from events where id in",
    "event",
  );
  return new Map(
    read.map(({ id, about }) => {
      const [kind] = Object.entries(LETTERS).find(([name]) => name in about) ?? [];
      const { user, event, notice, to, password, signUpAgain } = about;
      const person = user === undefined ? undefined : people.get(user);
      const subject =
        (kind && LETTERS[kind]) ??
        (event === undefined ? undefined : events.get(event)) ??
        notice?.replaceAll("_", " ");
      const address = to ?? password ?? signUpAgain ?? (person && `@${person}`);
      return [id, { subject: subject?.trim() ?? "", to: address ?? null }];
    }),
  );
}

/** What a task of the worker that sends mail may say. */
interface Payload {
  readonly user?: number;
  readonly event?: number;
  readonly notice?: string;
  readonly to?: string;
  readonly password?: string;
  readonly signUpAgain?: string;
}

/** The queues of all workers, and the tasks in them. */
export const BACKGROUND = get("/background", {
  summary: "Tell of background work",
  access: "admin",
  input: {
    worker: param.unlessBlank(param.anyText()),
    state: param.optional(param.choice(["waiting", "running", "failed"])),
  },
  handle: async ({ db, input, now }) => {
    const [workers, tasks] = [await queues(db, now), await queued(db, input, MOST, now)];
    const mails = await mailsOf(
      db,
      tasks.filter(({ worker }) => worker === MAIL),
    );
    return new Json({
      workers: workers.map(({ oldestAt, seenAt, failingSince, ...one }) => ({
        ...one,
        oldest_at: instant(oldestAt),
        seen_at: instant(seenAt),
        failing_since: instant(failingSince),
      })),
      tasks: tasks.map(({ id, worker, state, attempts, dueAt, error, stuck, payload }) => ({
        ...{ id, worker, state, attempts, error: stuck ?? error, due_at: instant(dueAt) },
        about: payload.slice(0, MOST_CHARACTERS),
        mail: mails.get(id) ?? null,
      })),
    });
  },
});

/** Tries a task, or all of a worker, again at once. */
export const RETRY = post("/background/retry", {
  summary: "Retry waiting and given-up tasks at once",
  access: "admin",
  input: {
    worker: param.unlessBlank(param.anyText()),
    task_id: param.unlessBlank(param.recordId()),
  },
  handle: async ({ db, input: { worker, task_id: id } }) => {
    const tasks = await retry(db, { worker, id });
    if (id !== undefined && tasks === 0) throw notFound("Task");
    return new Json({ tasks });
  },
});
