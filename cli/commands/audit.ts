import { type Command, InvalidArgumentError } from "commander";
import type { AuditRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { type Columns, JSON_OPTION, type JsonOptions, printList } from "../ui.ts";

interface ListOptions extends DatabaseOptions, JsonOptions {
  user?: string;
  action?: string;
  since?: string;
  limit?: number;
}

/** Adds `audit list`. */
export function addAuditCommands(program: Command): void {
  const audit = program
    .command("audit")
    .description("read the audit log")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli audit list --since 2026-11-01`,
    );

  audit
    .command("list")
    .description("list security events, newest first")
    .addOption(databaseOption())
    .option("--user <username>", "only events by this user or about their account")
    .option("--action <action>", "only this action, such as 'sign-in failed'")
    .option("--since <instant>", "only since then: a day or an ISO 8601 instant", readInstant)
    .option("--limit <number>", "how many at most", readCount, 1000)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli audit list --user ada
  $ pm-cli audit list --action "acted by sudo" --since 2026-11-01
  $ pm-cli audit list --action "sign-in failed" --json | jq -r '.[].ip' | sort | uniq -c`,
    )
    .action(list);
}

const COLUMNS: Columns<AuditRecord> = {
  when: ({ created_at }) => created_at,
  author: ({ author }) => author,
  action: ({ action }) => action,
  account: ({ user }) => user,
  target: ({ target }) => target,
  address: ({ ip }) => ip,
};

async function list(options: ListOptions): Promise<void> {
  const { db, user, action, since, limit } = options;
  const events = await withAdmin(db, (admin) =>
    admin.auditEvents.list({
      ...(user === undefined ? {} : { user }),
      ...(action === undefined ? {} : { action }),
      ...(since === undefined ? {} : { since }),
      ...(limit === undefined ? {} : { limit }),
    }),
  );
  await printList(events, options, COLUMNS, "There are no such events.");
}

function readInstant(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(Date.parse(text))) {
    throw new InvalidArgumentError("It must be a day as YYYY-MM-DD, or an instant.");
  }
  return text;
}

function readCount(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError("It must be a number above 0.");
  return Number(text);
}
