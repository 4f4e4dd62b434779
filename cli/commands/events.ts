import type { Command } from "commander";
import type { PurgeOptions } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { readAge } from "../readers.ts";
import { JSON_OPTION, type JsonOptions, print, progressBar } from "../ui.ts";

interface EventPurgeOptions extends DatabaseOptions, JsonOptions {
  olderThan?: string;
  dryRun?: boolean;
}

/** Adds `events purge`. */
export function addEventCommands(program: Command): void {
  const events = program
    .command("events")
    .description("manage the recorded activity")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli events purge --dry-run
  $ pm-cli events purge --older-than 6m`,
    );

  events
    .command("purge")
    .description("remove old events; can be interrupted and run again")
    .addOption(databaseOption())
    .option("--older-than <age>", "a number and d, w, m or y (default: 2y)", readAge)
    .option("--dry-run", "only print how many there are")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli events purge
  $ pm-cli events purge --older-than 18m --dry-run --json`,
    )
    .action(purge);
}

async function purge({ db, olderThan, dryRun = false, ...output }: EventPurgeOptions) {
  const bar = await progressBar("Purging");
  const options: PurgeOptions = {
    dryRun,
    onProgress: bar.update,
    ...(olderThan === undefined ? {} : { olderThan }),
  };
  const purged = await withAdmin(db, (admin) => admin.maintenance.purgeEvents(options)).finally(
    bar.stop,
  );
  await print(purged, output, ({ events, before }) =>
    dryRun
      ? `${events} events are from before ${before}.`
      : `Removed ${events} events from before ${before}.`,
  );
}
