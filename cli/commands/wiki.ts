import { createWriteStream } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { Failure } from "../errors.ts";
import { complete, JSON_OPTION, type JsonOptions, print } from "../ui.ts";

interface ExportOptions extends DatabaseOptions, JsonOptions {
  project?: string;
  dir?: string;
}

/** Adds `wiki export`. */
export function addWikiCommands(program: Command): void {
  const wiki = program
    .command("wiki")
    .description("manage wikis")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli wiki export --project acme/site --dir site-wiki`,
    );

  wiki
    .command("export")
    .description(
      "export a wiki as a clone of its repository: pages, attachments, and every version",
    )
    .addOption(databaseOption())
    .option("--project <project>", "project: full path or id")
    .option("--dir <dir>", "an empty folder, made where there is none")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli wiki export --project acme/site --dir site-wiki
  $ pm-cli wiki export --project 12 --dir out --db pm.db --json`,
    )
    .action(exportWiki);
}

async function exportWiki(options: ExportOptions): Promise<void> {
  const { project, dir } = (
    await complete(
      { project: options.project, dir: options.dir },
      { project: "Project", dir: "Folder to write to" },
    )
  ).values;
  await mkdir(dir, { recursive: true });
  if ((await readdir(dir)).length > 0) {
    throw new Failure(`the folder ${dir} is not empty: choose another with --dir`);
  }
  const files = await withAdmin(options.db, async (admin) => {
    let written = 0;
    for await (const { path, bytes } of admin.projects.exportWiki(project)) {
      const file = join(dir, path);
      await mkdir(dirname(file), { recursive: true });
      await pipeline(Readable.from(bytes), createWriteStream(file, { flags: "wx" }));
      if (!path.startsWith(".git/")) written += 1;
    }
    return written;
  });
  await print({ dir, files }, options, () => `Wrote ${files} files to ${dir}.`);
}
