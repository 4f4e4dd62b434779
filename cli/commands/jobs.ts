import { type Command, InvalidArgumentError, Option } from "commander";
import type { TaskRecord, WorkerRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { type Columns, JSON_OPTION, type JsonOptions, print, printList } from "../ui.ts";

type State = TaskRecord["state"];
const STATES = Object.keys({
  waiting: true,
  running: true,
  failed: true,
} satisfies Record<State, true>);

const workerOption = () => new Option("--worker <name>", "only tasks of this worker, such as mail");

/** Adds `jobs workers`, `jobs list` and `jobs retry`. */
export function addJobCommands(program: Command): void {
  const jobs = program
    .command("jobs")
    .description("see queued background work, and retry what failed")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli jobs workers
  $ pm-cli jobs list --state failed
  $ pm-cli jobs retry --worker mail`,
    );

  jobs
    .command("workers")
    .description("list the workers, with the lengths of their queues")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText("after", "\nExample:\n  $ pm-cli jobs workers")
    .action(workers);

  jobs
    .command("list")
    .description("list queued tasks, those that were given up first")
    .addOption(databaseOption())
    .addOption(workerOption())
    .addOption(new Option("--state <state>", "only tasks in this state").choices(STATES))
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
A task is tried for two days, with growing delays, and then given up until somebody retries it.

Examples:
  $ pm-cli jobs list --worker mail
  $ pm-cli jobs list --state failed --json`,
    )
    .action(list);

  jobs
    .command("retry")
    .description("retry waiting and given-up tasks at once")
    .addOption(databaseOption())
    .addOption(workerOption())
    .addOption(new Option("--id <id>", "only this task").argParser(readId))
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli jobs retry
  $ pm-cli jobs retry --worker mail
  $ pm-cli jobs retry --id 12`,
    )
    .action(retry);
}

const QUEUES: Columns<WorkerRecord> = {
  worker: ({ worker }) => worker,
  waiting: ({ waiting }) => waiting,
  running: ({ running }) => running,
  failed: ({ failed }) => failed,
  stuck: ({ stuck }) => stuck,
  "oldest from": ({ oldest_at }) => oldest_at,
  "last seen": ({ seen_at }) => seen_at,
  "failing since": ({ failing_since }) => failing_since,
};

async function workers({ db, ...output }: DatabaseOptions & JsonOptions): Promise<void> {
  const found = await withAdmin(db, (admin) => admin.tasks.listWorkers());
  await printList(found, output, QUEUES, "There are no workers.");
}

interface ListOptions extends DatabaseOptions, JsonOptions {
  worker?: string;
  state?: State;
}

const TASKS: Columns<TaskRecord> = {
  id: ({ id }) => id,
  worker: ({ worker }) => worker,
  state: ({ state }) => state,
  payload: ({ payload }) => JSON.stringify(payload),
  attempts: ({ attempts }) => attempts,
  "next attempt": ({ next_attempt_at }) => next_attempt_at,
  started: ({ started_at }) => started_at,
  error: ({ stuck, error }) => stuck ?? error,
};

async function list({ db, json, ...only }: ListOptions): Promise<void> {
  const { worker, state } = only;
  const tasks = await withAdmin(db, (admin) =>
    admin.tasks.list({ ...(worker && { worker }), ...(state && { state }) }),
  );
  await printList(tasks, { ...(json && { json }) }, TASKS, "There are no such tasks.");
}

interface RetryOptions extends DatabaseOptions, JsonOptions {
  worker?: string;
  id?: number;
}

async function retry({ db, worker, id, ...output }: RetryOptions): Promise<void> {
  const retried = await withAdmin(db, (admin) =>
    admin.tasks.retry({ ...(worker && { worker }), ...(id && { id }) }),
  );
  const { tasks } = retried;
  await print(retried, output, () => `${tasks} ${tasks === 1 ? "is" : "are"} retried at once.`);
}

function readId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("It must be the id of a task.");
  return Number(text);
}
