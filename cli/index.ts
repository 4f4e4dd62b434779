#!/usr/bin/env node
import * as modules from "node:module";
import { Command, CommanderError, Option } from "commander";
import { version } from "../package.json";
import { addAppCommands } from "./commands/app.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addDatabaseCommands } from "./commands/db.ts";
import { addDependencyCommands } from "./commands/dependencies.ts";
import { addEventCommands } from "./commands/events.ts";
import { addExportCommands } from "./commands/export.ts";
import { addGroupCommands } from "./commands/group.ts";
import { addHookCommands } from "./commands/hook.ts";
import { addImportCommands } from "./commands/import.ts";
import { addJobCommands } from "./commands/jobs.ts";
import { addMailCommands } from "./commands/mail.ts";
import { addMemberCommands } from "./commands/member.ts";
import { addProjectCommands } from "./commands/project.ts";
import { addRunnerCommand } from "./commands/runner.ts";
import { addScimCommands } from "./commands/scim.ts";
import { addSecretCommands } from "./commands/secrets.ts";
import { addSeedCommand } from "./commands/seed.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addTestCommand } from "./commands/test.ts";
import { addTokenCommands } from "./commands/token.ts";
import { addUserCommands } from "./commands/user.ts";
import { addWikiCommands } from "./commands/wiki.ts";
import { applyConfig } from "./config.ts";
import { describe, endingOf } from "./errors.ts";
import { hintAtConfig } from "./hints.ts";

/** Runs a command line and returns its exit code: 0, 1 for a failure, 2 if the command line is wrong. */
async function run(argv: readonly string[]): Promise<number> {
  let config: ReturnType<typeof applyConfig>;
  const program = new Command("pm-cli")
    .configureOutput({
      // Commander sees settings from the file as variables; errors should name the file.
      outputError: (text, write) => {
        const name = /from env '(\w+)'/.exec(text)?.[1] ?? "";
        const setting = `from '${name.slice(3).toLowerCase()}' in ${config?.file}`;
        write(config?.variables.has(name) ? text.replace(`from env '${name}'`, setting) : text);
      },
    })
    .description("A project-management API that speaks GitLab's REST v4 dialect.")
    .version(version)
    .exitOverride()
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli seed --db pm.db
  $ pm-cli serve --db pm.db --port 3000
  $ pm-cli user create --username ada --name "Ada Lovelace" --email ada@example.com
  $ pm-cli token create --user ada --name laptop --scopes api

Exit codes: 0 done, 1 failed, 2 the command line is wrong.`,
    );
  addServeCommand(program);
  addTestCommand(program);
  addRunnerCommand(program);
  addUserCommands(program);
  addGroupCommands(program);
  addProjectCommands(program);
  addMemberCommands(program);
  addTokenCommands(program);
  addScimCommands(program);
  addAppCommands(program);
  addAuditCommands(program);
  addSeedCommand(program);
  addImportCommands(program);
  addExportCommands(program);
  addEventCommands(program);
  addHookCommands(program);
  addJobCommands(program);
  addMailCommands(program);
  addWikiCommands(program);
  addDependencyCommands(program);
  addDatabaseCommands(program);
  addSecretCommands(program);
  addCompletionCommand(program);
  addConfigOption(program);
  try {
    const isNamed = process.env["PM_CONFIG"] === undefined;
    config = applyConfig(program, argv);
    if (config && isNamed) hintAtConfig(config.file);
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    // Commander has printed what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const ending = endingOf(error);
    const line = ending ? ending.line?.replace(/\p{Cc}+/gu, " ") : stackOf(error);
    if (line !== undefined) console.error(`error: ${line}`);
    return ending?.code ?? 1;
  }
}

/** Adds `--config` to every command that has a database. */
function addConfigOption(command: Command): void {
  if (command.options.some(({ long }) => long === "--db")) {
    command.addOption(
      new Option("--config <file>", "JSON file of settings (docs/configuration.md)").env(
        "PM_CONFIG",
      ),
    );
  }
  for (const one of command.commands) addConfigOption(one);
}

/** The stack of an unexpected error, for a bug report. */
function stackOf(error: unknown): string {
  const { message, stack } = describe(error);
  return stack ?? message;
}

/** Node 22.1 and newer. */
const { enableCompileCache } = modules as { enableCompileCache?: () => unknown };
// The library is imported later: what is compiled of it is kept for the next command.
enableCompileCache?.();

// A closed pipe must not end a command or stop a server.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
// An empty variable counts as unset, since people write `PM_URL=` to disable one.
for (const [name, value] of Object.entries(process.env)) {
  if (name.startsWith("PM_") && value === "") delete process.env[name];
}

const code = await run(process.argv);
// Output may still be on its way to a pipe, so exit only after it was written.
process.stdout.write("", () => process.exit(code));
