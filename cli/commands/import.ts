import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { Admin, GitlabImport, ImportReport } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, nameOf, withAdmin } from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import { askSecret, JSON_OPTION, type JsonOptions, print, progressBar } from "../ui.ts";

interface ImportOptions extends DatabaseOptions, JsonOptions {
  url?: string;
  token?: string;
  tokenFile?: string;
  group?: string;
  project?: string;
  repo?: string;
  into?: string;
  path?: string;
  as?: string;
}

/** Failures that are printed one by one. */
const SHOWN = 20;

/** Adds `import` with a command for each kind of server. */
export function addImportCommands(program: Command): void {
  const importing = program
    .command("import")
    .description("import groups and projects from other servers")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli import gitlab --url https://gitlab.example.com --group acme`,
    );

  importing
    .command("gitlab")
    .description("import a group with all below it, or a project, from a GitLab or another pm-api")
    .addOption(databaseOption())
    .option("--url <url>", "address of the other server")
    .addOption(tokenOption("access token of the other server, an owner's with the scope api"))
    .addOption(tokenFileOption())
    .option("--group <group>", "group to import: its full path there")
    .addOption(
      new Option("--project <project>", "project to import: its full path there").conflicts(
        "group",
      ),
    )
    .option("--into <group>", "group to put it into: its full path here")
    .option("--path <path>", "its path here, if it is to be another one")
    .option("--as <username>", "administrator who imports; default: the oldest one")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
People are the users of the same name or confirmed address; what others have done becomes the importer's. An import
that was interrupted goes on when the command is run again, and a later one takes what is new. What could not be taken is
in the report. On a terminal, the token is asked for.

Examples:
  $ PM_IMPORT_TOKEN=glpat-… pm-cli import gitlab --url https://gitlab.example.com --group acme
  $ pm-cli import gitlab --url https://gitlab.example.com --token-file token --project acme/site --into acme --json`,
    )
    .action(importFromGitlab);

  for (const [name, title] of [
    ["github", "GitHub"],
    ["gitea", "Gitea or Forgejo"],
  ] as const) {
    const isGithub = name === "github";
    importing
      .command(name)
      .description(`import a repository with issues, pull requests and releases from ${title}`)
      .addOption(databaseOption())
      .option("--url <url>", `address of the server${isGithub ? "; default: github.com" : ""}`)
      .addOption(tokenOption("access token that may read the repository"))
      .addOption(tokenFileOption())
      .option("--repo <repo>", "repository to import: its owner and name there")
      .option("--into <group>", "group to put it into: its full path here")
      .option("--path <path>", "its path here, if it is to be another one")
      .option("--as <username>", "administrator who imports; default: the oldest one")
      .option(...JSON_OPTION)
      .addHelpText(
        "after",
        `
People are the users of the address that they show there; above what others have written stands who it was. An import
that was interrupted goes on when the command is run again, and a later one takes what is new. On a terminal, the token is
asked for.

Examples:
  $ PM_IMPORT_TOKEN=… pm-cli import ${name}${isGithub ? "" : " --url https://gitea.example.com"} --repo octo/site --into acme`,
      )
      .action((options: ImportOptions) => importRepository(name, options));
  }
}

const tokenOption = (about: string) => new Option("--token <token>", about).env("PM_IMPORT_TOKEN");
const tokenFileOption = () =>
  new Option("--token-file <file>", "file with that token").conflicts("token");

async function tokenOf({ token, tokenFile }: ImportOptions): Promise<string> {
  if (token !== undefined) return token;
  if (tokenFile === undefined) {
    const answer = await askSecret("Access token of the other server");
    if (answer === undefined) {
      throw new UsageError("--token, --token-file or PM_IMPORT_TOKEN is required");
    }
    return answer;
  }
  try {
    return (await readFile(tokenFile, "utf8")).trim();
  } catch (error) {
    throw new Failure(
      `cannot read the token in ${tokenFile} (${(error as Error).message}): check --token-file`,
    );
  }
}

async function importFromGitlab(options: ImportOptions): Promise<void> {
  const { url, group, project } = options;
  if (url === undefined) throw new UsageError("--url is required");
  if (group === undefined && project === undefined) {
    throw new UsageError("--group or --project is required");
  }
  const what = { ...(group !== undefined && { group }), ...(project !== undefined && { project }) };
  const token = await tokenOf(options);
  await runImport(options, (admin, more) =>
    admin.imports.fromGitlab({ url, token, ...what, ...more }),
  );
}

async function importRepository(name: "github" | "gitea", options: ImportOptions): Promise<void> {
  const { url, repo } = options;
  if (repo === undefined) throw new UsageError("--repo is required");
  if (name === "gitea" && url === undefined) throw new UsageError("--url is required");
  const token = await tokenOf(options);
  await runImport(options, (admin, more) => {
    if (name === "gitea") {
      return admin.imports.fromGitea({ url: url as string, token, repo, ...more });
    }
    return admin.imports.fromGithub({ ...(url !== undefined && { url }), token, repo, ...more });
  });
}

/** What the commands of all kinds of servers say of where it goes, and who is told. */
type Common = Pick<GitlabImport, "into" | "path" | "as" | "onProgress">;

async function runImport(
  options: ImportOptions,
  run: (admin: Admin, more: Common) => Promise<ImportReport>,
): Promise<void> {
  const { db, into, path, as } = options;
  const given = {
    ...(into !== undefined && { into }),
    ...(path !== undefined && { path }),
    ...(as !== undefined && { as }),
  };
  const report = await withAdmin(db, async (admin) => {
    const bar = await progressBar("Importing");
    try {
      return await run(admin, {
        ...given,
        onProgress: ({ done, total }) => bar.update(done, total),
      });
    } finally {
      bar.stop();
    }
  });
  await print(report, options, (one) => textOf(one, nameOf(db)));
  if (report.status !== "finished") throw new Failure("nothing was imported: see the report");
}

function textOf({ places, failures }: ImportReport, database: string): string {
  const lines = places.map(({ kind, source, path, status, stats }) => {
    const counts = Object.entries(stats)
      .filter(([, { imported }]) => imported > 0)
      .map(
        ([relation, { imported }]) =>
          `${imported.toLocaleString("en")} ${relation.replaceAll("_", " ")}`,
      );
    const said = counts.length === 0 ? "" : `: ${counts.join(", ")}`;
    return `- ${kind} ${source} as ${path}, ${status}${said}`;
  });
  const left = failures
    .slice(0, SHOWN)
    .map(
      ({ source, relation, title, reason }) =>
        `- ${source}, ${relation}${title === null ? "" : ` “${title}”`}: ${reason}`,
    );
  const more = failures.length > SHOWN ? [`- and ${failures.length - SHOWN} more: see --json`] : [];
  return [
    `Imported into ${database}:`,
    ...lines,
    ...(left.length > 0 ? ["Not taken:", ...left, ...more] : []),
  ].join("\n");
}
