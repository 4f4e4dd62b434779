import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { Check, CopiedTable } from "../../src/index.ts";
import {
  type DatabaseOptions,
  databaseOption,
  defaultKeyFile,
  keyFileOf,
  nameOf,
  requireThere,
} from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import { readNumber } from "../readers.ts";
import { type Columns, JSON_OPTION, type JsonOptions, print, progressBar, table } from "../ui.ts";

/** How many characters of a checksum are shown. */
const SHOWN = 12;

/** Adds `db copy|check|backup|restore|migrate`. */
export function addDatabaseCommands(program: Command): void {
  const db = program
    .command("db")
    .description("move, check, back up and upgrade databases")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli db check
  $ pm-cli db backup /backup/pm.db
  $ pm-cli db restore /backup/pm.db
  $ pm-cli db copy --from pm.db --to postgres://pm:secret@db.internal/pm`,
    );

  db.command("copy")
    .description("copy everything to another database, of the same or the other engine")
    .requiredOption("--from <file>", "SQLite file, or a postgres:// URL")
    .requiredOption("--to <file>", "the same; it must be empty, a missing file is created")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
The copy is a snapshot of the start, written in one transaction and read back. Stop the
servers first, since later changes are not copied.

Examples:
  $ pm-cli db copy --from pm.db --to postgres://pm:secret@db.internal/pm
  $ pm-cli db copy --from postgres://pm:secret@db.internal/pm --to pm.db --json`,
    )
    .action(copy);

  db.command("check")
    .description("look for damage, without changing anything; exit code 1 if there is any")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli db check
  $ pm-cli db check --db backup.db --json`,
    )
    .action(check);

  db.command("backup")
    .description("write a copy of a SQLite database, even while it is being served")
    .argument("[file]", "the file to write; replaces an older backup once the new one is complete")
    .addOption(databaseOption())
    .option(
      "--dir <folder>",
      "write a file named after the time to this folder instead, and remove old ones",
    )
    .addOption(
      new Option(
        "--keep <number>",
        "with --dir, how many backups to keep (default: all)",
      ).argParser(readNumber(1, 100_000)),
    )
    .option("--force", "replace a file that is not a backup, or that was used as a database since")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
The backup is checked before it takes its place, and only you can read it. The key of the database's secrets
is not in it: keep a copy of that file, whose name is printed, elsewhere.
For PostgreSQL: pg_dump --format=custom --file=pm.dump "$PM_DB", and pg_restore.

Examples:
  $ pm-cli db backup /backup/pm.db
  $ pm-cli db backup --db /var/lib/pm.db /backup/pm-$(date +%F).db
  $ pm-cli db backup --db /var/lib/pm.db --dir /backup --keep 7`,
    )
    .action(backup);

  db.command("restore")
    .description("replace a SQLite database that is not being served with a backup")
    .argument("<from>", "the backup, which stays unchanged")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
The backup is checked first. The previous database is kept next to the new one, and its name is printed.
The key of its secrets is not in a backup: its file, such as pm.db.key, must come along, or be there already.
Nothing is done while a server, or any other process, has the database open.

Examples:
  $ pm-cli db restore /backup/pm.db
  $ pm-cli db restore /backup/pm-20261122T013105Z.db --db /var/lib/pm.db --json`,
    )
    .action(restore);

  db.command("migrate")
    .description("bring a database up to date, as serve does when it starts")
    .addOption(databaseOption())
    .option("--dry-run", "only print what would be done")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli db migrate --dry-run
  $ pm-cli db migrate --db postgres://pm:secret@db.internal/pm`,
    )
    .action(migrate);
}

/** Loaded when a command runs, so that parsing the command line is fast. */
const library = () => import("../../src/index.ts");

interface CopyOptions extends JsonOptions {
  from: string;
  to: string;
}

async function copy({ from, to, ...output }: CopyOptions): Promise<void> {
  requireThere(from);
  const { copyDatabase } = await library();
  const bar = await progressBar("Copying");
  const tables = await copyDatabase({ from, to, onProgress: bar.update }).finally(bar.stop);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  await print({ rows, tables }, output, async () => {
    const filled = tables.filter((table) => table.rows > 0);
    const list = await table(filled, COLUMNS, "It was empty.");
    const done = `Copied ${rows} rows of ${filled.length} tables to ${nameOf(to)} and read them back.`;
    const key = keyFileOf(from);
    const note = key ? [`Its secrets need the key in ${key} there too.`] : [];
    return [list, done, ...note].join("\n");
  });
}

const COLUMNS: Columns<CopiedTable> = {
  table: ({ table: name }) => name,
  rows: ({ rows }) => rows,
  sha256: ({ checksum }) => checksum.slice(0, SHOWN),
};

async function check({ db, ...output }: DatabaseOptions & JsonOptions): Promise<void> {
  requireThere(db);
  const { checkDatabase } = await library();
  const checks = await checkDatabase(db);
  const found = checks.flatMap(({ problems }) => problems);
  await print({ ok: found.length === 0, checks }, output, () => reportOf(checks));
  if (found.length > 0) {
    throw new Failure(`${nameOf(db)} is damaged: stop its servers, and restore a backup of it`);
  }
}

const reportOf = (checks: readonly Check[]) =>
  checks
    .flatMap(({ name, problems }) =>
      problems.length === 0 ? `${name}: ok` : problems.map((problem) => `${name}: ${problem}`),
    )
    .join("\n");

interface BackupOptions extends DatabaseOptions, JsonOptions {
  dir?: string;
  keep?: number;
  force?: boolean;
}

async function backup(file: string | undefined, options: BackupOptions): Promise<void> {
  const { db, dir, keep, force = false, ...output } = options;
  if ((file === undefined) === (dir === undefined)) {
    throw new UsageError("name either a file to write, or a folder with --dir");
  }
  if (dir === undefined && keep !== undefined) throw new UsageError("--keep needs --dir");
  requireThere(db);
  const keys = process.env["PM_SECRET_KEY_FILE"];
  if (keys && file !== undefined && resolve(file) === resolve(keys)) {
    throw new UsageError(`${file} is the file of the key of secrets (PM_SECRET_KEY_FILE)`);
  }
  const { backupDatabase, backupInto } = await library();
  const written =
    dir === undefined
      ? { file: file as string, ...(await backupDatabase(db, file as string, { force })) }
      : await backupInto(db, dir, keep === undefined ? {} : { keep });
  const key = keyFileOf(db);
  await print({ ...written, ...(key && { secret_key: key }) }, output, (backup) =>
    [
      `Wrote ${backup.bytes} bytes to ${backup.file}.`,
      ...(key
        ? [`The key of its secrets, ${key}, is not in it: keep a copy of it elsewhere.`]
        : []),
    ].join("\n"),
  );
}

async function restore(
  from: string,
  { db, ...output }: DatabaseOptions & JsonOptions,
): Promise<void> {
  if (!existsSync(from)) throw new Failure(`there is no backup ${from}`);
  const { restoreDatabase } = await library();
  const restored = await restoreDatabase(from, db);
  await print({ db, ...restored }, output, ({ bytes, kept }) => {
    const before = kept === null ? "" : ` The previous database is ${kept}.`;
    const key = keyFileOf(db);
    const needs = process.env["PM_SECRET_KEY"]
      ? ""
      : key
        ? ` Its secrets need the key that they were encrypted with: make sure that it is in ${key}.`
        : ` Its secrets need the file of their key, which is not in the backup: put it at ${process.env["PM_SECRET_KEY_FILE"] ?? defaultKeyFile(db)}.`;
    return `Restored ${db} from ${from}, ${bytes} bytes.${before}${needs}`;
  });
}

interface MigrateOptions extends DatabaseOptions, JsonOptions {
  dryRun?: boolean;
}

async function migrate({ db, dryRun = false, ...output }: MigrateOptions): Promise<void> {
  if (dryRun) requireThere(db);
  const { migrateDatabase } = await library();
  const migrations = await migrateDatabase(db, { dryRun });
  await print({ migrations, dry_run: dryRun }, output, () =>
    migrations.length === 0
      ? "The database is up to date."
      : [`${dryRun ? "Would run" : "Ran"}:`, ...migrations.map((id) => `  ${id}`)].join("\n"),
  );
}
