import { Failure, refusalOf, UsageError } from "./errors.ts";

/** The option `--json` of commands that print something. */
export interface JsonOptions {
  json?: boolean;
}

/** The option `--yes` of commands that delete something. */
export interface YesOptions {
  yes?: boolean;
}

/** The flag and description of `--yes`. */
export const YES_OPTION = ["--yes", "don't ask for confirmation"] as const;

/** The flag and description of `--json`. */
export const JSON_OPTION = ["--json", "print JSON, for scripts"] as const;

/** Prints a value, as one line of JSON or as text for people. */
export async function print<T>(
  value: T,
  { json = false }: JsonOptions,
  forPeople: (value: T) => string | Promise<string>,
): Promise<void> {
  await write(`${json ? JSON.stringify(value) : await forPeople(value)}\n`);
}

/** Unlike `console.log`, it reports errors such as a full disk, by which a token's secret would be lost. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      // The reader may stop early, as `head` does.
      if (!error || (error as NodeJS.ErrnoException).code === "EPIPE") resolve();
      else reject(new Failure(`it is done, but its result could not be written: ${error.message}`));
    });
  });
}

/** The columns of a table: headings, and functions that return an item's cell. */
export type Columns<T> = Record<string, (one: T) => string | number | null | undefined>;

/** Prints a list as JSON or as a table. @param nothing printed if the list is empty */
export function printList<T>(
  list: readonly T[],
  options: JsonOptions,
  columns: Columns<T>,
  nothing: string,
): Promise<void> {
  return print(list, options, () => table(list, columns, nothing));
}

/** A table, or a sentence if the list is empty. */
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

/** Replaces control characters, since names come from clients and could send commands to the terminal. */
function inert(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}

/** Whether the program runs on a terminal, so that it can ask questions. */
export const isAttended = () => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** Required options by name, each with its question. */
type Questions<K extends string> = Record<K, string>;

/** The values of required options, and whether any had to be asked for. */
export interface Completed<K extends string> {
  values: Record<K, string>;
  asked: boolean;
}

/**
 * Completes a command's required options: on a terminal it asks for missing ones, and checks each answer at once.
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

/** Checks an answer by the library's rules. @throws the library's error if it is invalid */
type Check = (answer: string) => unknown;

/** How answers are checked while the user types them: `open` provides the checks during the questions. */
export interface Checking<K extends string> {
  open(ask: (checks: Partial<Record<K, Check>>) => Promise<void>): Promise<void>;
}

/**
 * Asks for a password twice, without showing it. Returns `undefined` if none is entered.
 *
 * @param check the library's check, which throws if the password is invalid
 */
export async function askPassword(message: string, check: Check): Promise<string | undefined> {
  const { default: inquirer } = await import("inquirer");
  for (;;) {
    const { answer } = await inquirer.prompt([
      { type: "password", name: "answer", message, validate: validated(check, "") },
    ]);
    if (!answer) return undefined;
    const { again } = await inquirer.prompt([
      { type: "password", name: "again", message: "Repeat the password" },
    ]);
    if (answer === again) return answer;
    process.stdout.write("The passwords do not match.\n");
  }
}

/** Asks for a secret, without showing it; `undefined` if there is no terminal, or nothing is entered. */
export async function askSecret(message: string): Promise<string | undefined> {
  if (!isAttended()) return undefined;
  const { default: inquirer } = await import("inquirer");
  const { answer } = await inquirer.prompt([{ type: "password", name: "answer", message }]);
  return answer.trim() || undefined;
}

/**
 * Asks the user to confirm what can't be undone. `--yes` confirms beforehand.
 *
 * @throws UsageError if there is no terminal, Failure if the user does not confirm
 */
export async function agree(question: string, { yes = false }: YesOptions): Promise<void> {
  if (yes) return;
  if (!isAttended()) throw new UsageError(`${question} Give --yes to confirm`);
  const { default: inquirer } = await import("inquirer");
  const { answer } = await inquirer.prompt([
    { type: "confirm", name: "answer", message: question, default: false },
  ]);
  if (!answer) throw new Failure("nothing was done");
}

async function ask(message: string, check?: Check): Promise<string> {
  const { default: inquirer } = await import("inquirer");
  const { answer } = await inquirer.prompt([
    { type: "input", name: "answer", message, validate: validated(check, "Required") },
  ]);
  return answer.trim();
}

/** @param blank the error for an empty answer; `""` if an empty answer is accepted */
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

/** A progress bar, if standard error is a terminal. What there is in total may grow. */
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
    // Its own signal handler would keep Ctrl-C from ending the process.
    gracefulExit: false,
  });
  let drawn = -1;
  let known = 0;
  return {
    update: (done, total) => {
      if (drawn < 0) bar.start(total, 0);
      else if (total !== known) bar.setTotal(total);
      known = total;
      // Redraw for half a percent or more only.
      if (drawn >= 0 && done - drawn < total / 200) return;
      drawn = done;
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}

/** All of standard input, without the final line end. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
