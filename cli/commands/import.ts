import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { Admin, GitlabImport, ImportReport, PlaceholderRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, nameOf, withAdmin } from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import {
  askSecret,
  type Columns,
  JSON_OPTION,
  type JsonOptions,
  print,
  printList,
  progressBar,
} from "../ui.ts";

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
  from?: string;
  to?: string;
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
People are the users of the same name or confirmed address. Others have placeholders in groups, which can become
somebody later (pm-cli import reassign); in a user's own namespace what they have done is the importer's. An import that was interrupted goes on when the command is run again, and a later one takes what is new. What could not be taken is
in the report. On a terminal, the token is asked for.

Examples:
  $ PM_IMPORT_TOKEN=glpat-… pm-cli import gitlab --url https://gitlab.example.com --group acme
  $ pm-cli import gitlab --url https://gitlab.example.com --token-file token --project acme/site --into acme --json`,
    )
    .action(importFromGitlab);

  importing
    .command("placeholders")
    .description(
      "list the placeholder users of a group: contributors to what was imported who have no account here",
    )
    .addOption(databaseOption())
    .option("--group <group>", "group at the top that they were imported into: its full path here")
    .option(...JSON_OPTION)
    .action(listPlaceholders);

  importing
    .command("reassign")
    .description("reassign what a placeholder user did to an account")
    .addOption(databaseOption())
    .option("--group <group>", "group at the top that they were imported into: its full path here")
    .option("--from <username>", "their user name there, or that of the placeholder")
    .option("--to <username>", "user name of who they are here")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
What they have written becomes that user's, who becomes a member wherever they were one. This can't be undone.

Examples:
  $ pm-cli import placeholders --group acme
  $ pm-cli import reassign --group acme --from ada --to ada.lovelace`,
    )
    .action(reassignPlaceholder);

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
People are the users of the address that they show there. Others have placeholders in groups, which can become somebody
later (pm-cli import reassign); in a user's own namespace, above what they have written stands who it was. An import that was interrupted goes on when the command is run again, and a later one takes what is new. On a terminal, the token is
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

async function listPlaceholders(options: ImportOptions): Promise<void> {
  const { db, group } = options;
  if (group === undefined) throw new UsageError("--group is required");
  const found = await withAdmin(db, (admin) => admin.imports.placeholders(group));
  await printList(found, options, PLACEHOLDERS, "Everybody is somebody here.");
}

const PLACEHOLDERS: Columns<PlaceholderRecord> = {
  source: ({ source }) => source,
  username: ({ username }) => username,
  name: ({ name }) => name,
  status: ({ status }) => status.replaceAll("_", " "),
  placeholder: ({ placeholder }) => placeholder,
  "reassigned to": ({ reassigned_to: to }) => to,
};

async function reassignPlaceholder(options: ImportOptions): Promise<void> {
  const { db, group, from, to } = options;
  if (group === undefined || from === undefined || to === undefined) {
    throw new UsageError("--group, --from and --to are required");
  }
  const told = await withAdmin(db, (admin) => admin.imports.reassign({ group, from, to }));
  await print(
    told,
    options,
    ({ username, source }) => `What ${username} of ${source} has done is @${to}'s now.`,
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
