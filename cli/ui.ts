import { Failure, refusalOf, UsageError } from "./errors.ts";

/** `--json`, as commands that print something have it. */
export interface JsonOptions {
  json?: boolean;
}

/** `--yes`, as commands have it that delete. */
export interface YesOptions {
  yes?: boolean;
}

/** How `--yes` is described. */
export const YES_OPTION = ["--yes", "do it without being asked"] as const;

/** How `--json` is described. */
export const JSON_OPTION = ["--json", "print JSON, for scripts"] as const;

/** Prints a value: as one line of JSON, or as people read it. */
export async function print<T>(
  value: T,
  { json = false }: JsonOptions,
  forPeople: (value: T) => string | Promise<string>,
): Promise<void> {
  await write(`${json ? JSON.stringify(value) : await forPeople(value)}\n`);
}

/** Unlike `console.log` it tells of a full disk, on which a token's secret would be lost. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      // Who reads may stop reading, as `head` does.
      if (!error || (error as NodeJS.ErrnoException).code === "EPIPE") resolve();
      else reject(new Failure(`it is done, but its result could not be written: ${error.message}`));
    });
  });
}

/** The columns of a table by their headings, with what stands there for one of a list, if anything. */
export type Columns<T> = Record<string, (one: T) => string | number | null | undefined>;

/** Prints a list: as JSON, or as a table. @param nothing the sentence where it is empty */
export function printList<T>(
  list: readonly T[],
  options: JsonOptions,
  columns: Columns<T>,
  nothing: string,
): Promise<void> {
  return print(list, options, () => table(list, columns, nothing));
}

/** A table, or a sentence where there is nothing to show. */
export async function table<T>(
  list: readonly T[],
  columns: Columns<T>,
  nothing: string,
): Promise<string> {
  if (list.length === 0) return nothing;
  const { default: Table } = await import("cli-table3");
  const drawn = new Table({ head: Object.keys(columns), style: { head: [], border: [] } });
  const cells = Object.values(columns);
  drawn.push(...list.map((one) => cells.map((cell) => inert(String(cell(one) ?? "")))));
  return drawn.toString();
}

/** Names come from clients: what would steer a terminal is shown as a question mark. */
function inert(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}

/** Whether somebody is there to be asked. */
export const isAttended = () => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** What was left out, by option name, and what it is called when it is asked for. */
type Questions<K extends string> = Record<K, string>;

/** The values of options that a command needs, and whether any had to be asked for. */
export interface Completed<K extends string> {
  values: Record<K, string>;
  asked: boolean;
}

/**
 * Completes the options a command can't do without: on a terminal those left out are asked for, and each answer is
 * checked at once.
 *
 * @throws UsageError naming what is missing or blank
 */
export async function complete<K extends string>(
  given: Partial<Record<NoInfer<K>, string | undefined>>,
  questions: Questions<K>,
  checking: Checking<NoInfer<K>> = { open: (ask) => ask({}) },
): Promise<Completed<K>> {
  const names = Object.keys(questions) as K[];
  const blank = names.filter((name) => given[name]?.trim() === "");
  if (blank.length > 0) throw new UsageError(`${flags(blank)} can't be blank`);
  const missing = names.filter((name) => given[name] === undefined);
  if (missing.length > 0 && !isAttended()) {
    throw new UsageError(`${flags(missing)} ${missing.length === 1 ? "is" : "are"} required`);
  }
  const values = { ...given } as Record<K, string>;
  if (missing.length > 0) {
    await checking.open(async (checks) => {
      for (const name of missing) values[name] = await ask(questions[name], checks[name]);
    });
  }
  return { values, asked: missing.length > 0 };
}

/** Checks an answer by the library's own rules. @throws the library's error where it can't be used */
type Check = (answer: string) => unknown;

/** How answers are checked as they are given: `open` has the checks while the questions are asked. */
export interface Checking<K extends string> {
  open(ask: (checks: Partial<Record<K, Check>>) => Promise<void>): Promise<void>;
}

/**
 * Asks for a password without showing it, twice; none is `undefined`.
 *
 * @param check of the library, which throws where it can't be one
 */
export async function askPassword(message: string, check: Check): Promise<string | undefined> {
  const { default: inquirer } = await import("inquirer");
  for (;;) {
    const { answer } = await inquirer.prompt([
      { type: "password", name: "answer", message, validate: validated(check, "") },
    ]);
    if (!answer) return undefined;
    const { again } = await inquirer.prompt([
      { type: "password", name: "again", message: "The same again" },
    ]);
    if (answer === again) return answer;
    process.stdout.write("The two are not the same.\n");
  }
}

/**
 * Has the user agree to what can't be undone. `--yes` agrees beforehand.
 *
 * @throws UsageError where nobody can be asked, Failure where they do not agree
 */
export async function agree(question: string, { yes = false }: YesOptions): Promise<void> {
  if (yes) return;
  if (!isAttended()) throw new UsageError(`${question} Give --yes to do it without being asked`);
  const { default: inquirer } = await import("inquirer");
  const { answer } = await inquirer.prompt([
    { type: "confirm", name: "answer", message: question, default: false },
  ]);
  if (!answer) throw new Failure("nothing was done");
}

async function ask(message: string, check?: Check): Promise<string> {
  const { default: inquirer } = await import("inquirer");
  const { answer } = await inquirer.prompt([
    { type: "input", name: "answer", message, validate: validated(check, "Needed") },
  ]);
  return answer.trim();
}

/** @param blank what is said of no answer; `""` where none will do */
const validated = (check: Check | undefined, blank: string) => async (answer: string) => {
  if (answer.trim() === "") return blank === "" || blank;
  try {
    await check?.(blank === "" ? answer : answer.trim());
    return true;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return refusal;
  }
};

function flags(names: readonly string[]): string {
  const all = names.map((name) => `--${name.replace(/[A-Z]/g, (big) => `-${big.toLowerCase()}`)}`);
  const last = all.pop() as string;
  return all.length === 0 ? last : `${all.join(", ")} and ${last}`;
}

/** A progress bar on a terminal, elsewhere nothing. `total` is known with the first step. */
export async function progressBar(label: string): Promise<{
  update: (done: number, total: number) => void;
  stop: () => void;
}> {
  if (!process.stderr.isTTY) return { update: () => undefined, stop: () => undefined };
  const { SingleBar } = await import("cli-progress");
  const bar = new SingleBar({
    format: `${label} {bar} {percentage}%`,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    clearOnComplete: true,
    // Its own handler would keep Ctrl-C from ending the process.
    gracefulExit: false,
  });
  let shown = -1;
  return {
    update: (done, total) => {
      if (shown < 0) bar.start(total, 0);
      // Half a percent is the least that can be seen.
      if (shown >= 0 && done - shown < total / 200) return;
      shown = done;
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}

/** All of standard input, without the line end behind it. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
