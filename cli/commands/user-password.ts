import { type Command, InvalidArgumentError, Option } from "commander";
import type { Admin, PasswordLink } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin, withChecks } from "../database.ts";
import { UsageError } from "../errors.ts";
import {
  askPassword,
  isAttended,
  JSON_OPTION,
  type JsonOptions,
  print,
  readStandardInput,
} from "../ui.ts";

type Shared = DatabaseOptions & JsonOptions;

/** The options of links by which users set their password. */
export interface LinkOptions {
  /** In seconds. */
  expiresIn: number;
  url?: string;
}

const A_WEEK = 7 * 86_400;

/** The option `--expires-in`. */
export const lifetimeOption = () =>
  new Option("--expires-in <duration>", "how long the link works: a number and h or d")
    .argParser(readLifetime)
    .default(A_WEEK, "7d");

/** The option `--url`. */
export const urlOption = () =>
  new Option("--url <url>", "the server's public address, with which the link begins").env(
    "PM_URL",
  );

/** Adds `user password`. */
export function addPasswordCommand(user: Command): void {
  user
    .command("password")
    .alias("set-password")
    .description("set a user's password, which ends their sessions")
    .argument("<username>", "user name")
    .addOption(databaseOption())
    .option("--password-stdin", "read it from standard input")
    .option("--link", "print a link by which they set it themselves")
    .addOption(lifetimeOption())
    .addOption(urlOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
On a terminal, the password is asked for.

Examples:
  $ pm-cli user password ada
  $ pm-cli user password ada --password-stdin < password.txt
  $ pm-cli user password ada --link --url https://pm.example.com`,
    )
    .action(setPassword);
}

/** A link, with what to do with it. */
export function linkText({ username, url, path, expires_at }: PasswordLink): string {
  const where = url === null ? " Put the server's address (--url) before it." : "";
  return `${url ?? path}
With this link ${username} sets their password, once, until ${expires_at}.${where} It is not shown again.`;
}

async function setPassword(
  username: string,
  options: Shared & LinkOptions & { passwordStdin?: boolean; link?: boolean },
): Promise<void> {
  if (options.link) return createLink(username, options);
  const password = options.passwordStdin
    ? await passwordFromStandardInput()
    : isAttended()
      ? await askForPassword(options.db, "New password", (admin) => admin.users.get(username))
      : undefined;
  if (password === undefined) {
    throw new UsageError("give the new password: --password-stdin < password.txt");
  }
  const done = await withAdmin(options.db, (admin) => admin.users.setPassword(username, password));
  await print(done, options, (one) => `${one.username} has a new password, and is signed out.`);
}

async function createLink(username: string, options: Shared & LinkOptions): Promise<void> {
  const link = await withAdmin(
    options.db,
    (admin) => admin.users.createPasswordLink(username, { lifetime: options.expiresIn }),
    { url: options.url },
  );
  await print(link, options, linkText);
}

/**
 * Asks for a new password, and checks it by the rules of the library.
 *
 * @param before a check to run before the question
 */
export function askForPassword(
  database: string,
  question: string,
  before?: (admin: Admin) => Promise<unknown>,
): Promise<string | undefined> {
  return withChecks(database, async (admin) => {
    await before?.(admin);
    return askPassword(question, (password) => admin.users.check({ password }));
  });
}

/** The password on standard input. @throws UsageError if it is empty */
export async function passwordFromStandardInput(): Promise<string> {
  const password = await readStandardInput();
  if (password === "") throw new UsageError("--password-stdin: standard input is empty");
  return password;
}

const SECONDS = { h: 3600, d: 86_400 } as const;

function readLifetime(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,3})([hd])$/.exec(text) ?? [];
  const seconds = Number(number) * SECONDS[unit as keyof typeof SECONDS];
  if (seconds <= 365 * 86_400) return seconds;
  throw new InvalidArgumentError("It must be a number and h or d, such as 24h, at most a year.");
}
