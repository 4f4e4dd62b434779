import { type Command, InvalidArgumentError, Option } from "commander";
import type { QueuedMail } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { Failure } from "../errors.ts";
import { type Columns, complete, JSON_OPTION, type JsonOptions, print, table } from "../ui.ts";

/** The option `--smtp` of commands that send mail. */
export const smtpOption = () =>
  new Option("--smtp <url>", "SMTP server, such as smtp://user:password@mail.example.com:587")
    .env("PM_SMTP")
    .argParser(readSmtp);

/** The option `--mail-from` of commands that send mail. */
export const mailFromOption = () =>
  new Option("--mail-from <address>", "the sender of notifications").env("PM_MAIL_FROM");

/** Adds `mail test` and `mail queue`. */
export function addMailCommands(program: Command): void {
  const mail = program
    .command("mail")
    .description("test mail, and manage mails that could not be sent")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli mail test --smtp smtp://mail:25 --mail-from pm@example.com --to ada@example.com
  $ pm-cli mail queue --retry`,
    );

  mail
    .command("test")
    .description("send a test mail; needs no database")
    .option("--to <address>", "recipient")
    .addOption(smtpOption())
    .addOption(mailFromOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli mail test --smtp smtp://mail:25 --mail-from pm@example.com --to ada@example.com
  $ PM_SMTP=smtps://pm:secret@mail.example.com PM_MAIL_FROM=pm@example.com pm-cli mail test --to ada@example.com`,
    )
    .action(test);

  mail
    .command("queue")
    .description("list mails that are waiting to be sent, and those that were given up")
    .addOption(databaseOption())
    .addOption(
      new Option("--retry [id]", "retry this mail, or all of them, at once").argParser(readId),
    )
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Mails are retried for two days. Mails that a server refuses permanently are given up.

Examples:
  $ pm-cli mail queue
  $ pm-cli mail queue --retry 12
  $ pm-cli mail queue --retry --json`,
    )
    .action(queue);
}

interface TestOptions extends JsonOptions {
  to?: string;
  smtp?: string;
  mailFrom?: string;
}

async function test({ to, smtp, mailFrom, ...output }: TestOptions): Promise<void> {
  const questions = { to: "Recipient", smtp: "SMTP server", mailFrom: "Sender" };
  const { values } = await complete({ to, smtp, mailFrom }, questions);
  const { sendTestMail } = await import("../../src/index.ts");
  const settings = { smtp: values.smtp, from: values.mailFrom };
  await sendTestMail(settings, values.to).catch((error: Error) => {
    throw new Failure(`the mail was not sent: ${error.message}`);
  });
  await print({ sent: true, to: values.to }, output, () => `Sent a mail to ${values.to}.`);
}

interface QueueOptions extends DatabaseOptions, JsonOptions {
  retry?: number | true;
}

const COLUMNS: Columns<QueuedMail> = {
  id: ({ id }) => id,
  state: ({ state }) => state,
  user: ({ user }) => user,
  event: ({ event_id }) => event_id,
  attempts: ({ attempts }) => attempts,
  "next attempt": ({ next_attempt_at }) => next_attempt_at,
  error: ({ error }) => error,
};

async function queue({ db, retry, ...output }: QueueOptions): Promise<void> {
  if (retry !== undefined) {
    const id = retry === true ? undefined : retry;
    const retried = await withAdmin(db, (admin) => admin.mails.retry(id));
    const { mails } = retried;
    return print(retried, output, () => `${mails} ${mails === 1 ? "is" : "are"} retried at once.`);
  }
  const mails = await withAdmin(db, (admin) => admin.mails.list());
  await print(mails, output, () => table(mails, COLUMNS, "There are no mails to send."));
}

function readId(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("It must be the id of a mail.");
  return Number(text);
}

/** The address of an SMTP server. @throws InvalidArgumentError */
function readSmtp(text: string): string {
  if (!URL.canParse(text) || !/^smtps?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError("It must be like smtp://user:password@mail.example.com:587.");
  }
  return text;
}
