import { createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { Failure } from "../errors.ts";
import { complete, JSON_OPTION, type JsonOptions, print } from "../ui.ts";

interface ExportOptions extends DatabaseOptions, JsonOptions {
  project?: string;
  file?: string;
}

/** Adds `export gitlab`. */
export function addExportCommands(program: Command): void {
  const exporting = program
    .command("export")
    .description("export projects for other servers")
    .addHelpText(
      "after",
      `
A whole server is written into one file by pm-cli db copy.

Examples:
  $ pm-cli export gitlab --project acme/site --file site.tar.gz`,
    );

  exporting
    .command("gitlab")
    .description("export a project as an archive that a GitLab imports")
    .addOption(databaseOption())
    .option("--project <project>", "project: full path or id")
    .option("--file <file>", "file to write, which is not there yet")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli export gitlab --project acme/site --file site.tar.gz
  $ pm-cli export gitlab --project 12 --file site.tar.gz --db pm.db --json`,
    )
    .action(exportForGitlab);
}

async function exportForGitlab(options: ExportOptions): Promise<void> {
  const { project, file } = (
    await complete(
      { project: options.project, file: options.file },
      { project: "Project", file: "File to write" },
    )
  ).values;
  await withAdmin(options.db, async (admin) => {
    // What can't be exported leaves no file.
    await admin.projects.get(project);
    try {
      const bytes = Readable.from(admin.projects.exportGitlab(project), { objectMode: false });
      await pipeline(bytes, createWriteStream(file, { flags: "wx" }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new Failure(`the file ${file} is there already: choose another with --file`);
    }
  });
  const { size } = await stat(file);
  await print(
    { file, size },
    options,
    () => `Wrote ${size.toLocaleString("en")} bytes to ${file}.`,
  );
}
