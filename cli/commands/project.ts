import { type Command, Option } from "commander";
import { VISIBILITY_NAMES } from "../../src/core/access/visibility.ts";
import type { ProjectRecord, Visibility } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { command } from "../hints.ts";
import {
  agree,
  type Columns,
  complete,
  JSON_OPTION,
  type JsonOptions,
  print,
  printList,
  table,
  YES_OPTION,
  type YesOptions,
} from "../ui.ts";

type Shared = DatabaseOptions & JsonOptions;

interface CreateOptions extends Shared {
  namespace?: string;
  path?: string;
  name?: string;
  visibility: Visibility;
}

/** Adds `project list|show|create|delete`. */
export function addProjectCommands(program: Command): void {
  const project = program
    .command("project")
    .description("manage projects")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli project create --namespace acme --path site --name Site
  $ pm-cli project list
  $ pm-cli member add --project acme/site --user bob --role developer`,
    );

  project
    .command("list")
    .description("list all projects")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli project list
  $ pm-cli project list --db pm.db --json`,
    )
    .action(list);

  project
    .command("show")
    .description("show a project")
    .argument("<project>", "full path or id")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli project show acme/site
  $ pm-cli project show 7 --json`,
    )
    .action(async (name: string, options: Shared) => {
      const found = await withAdmin(options.db, (admin) => admin.projects.get(name));
      await print(found, options, (one) => table([one], COLUMNS, ""));
    });

  project
    .command("create")
    .description("create a project")
    .addOption(databaseOption())
    .option("--namespace <path>", "full path of its group, or the user it belongs to")
    .option("--path <path>", "last part of its full path")
    .option("--name <name>", "its name")
    .addOption(
      new Option("--visibility <level>", "who may read it without being a member")
        .choices(VISIBILITY_NAMES)
        .default("private"),
    )
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
On a terminal, a missing namespace, path or name is asked for.

Examples:
  $ pm-cli project create --namespace acme --path site --name Site
  $ pm-cli project create --namespace ada --path notes --name Notes --visibility public`,
    )
    .action(create);

  project
    .command("delete")
    .description("delete a project with everything in it: issues, merge requests, wiki")
    .argument("<project>", "full path or id")
    .addOption(databaseOption())
    .option(...YES_OPTION)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
This can't be undone.

Examples:
  $ pm-cli project delete acme/site
  $ pm-cli project delete acme/site --yes --json`,
    )
    .action(remove);
}

async function create(options: CreateOptions): Promise<void> {
  const { values } = await complete(
    { namespace: options.namespace, path: options.path, name: options.name },
    { namespace: "Group (its full path) or user name", path: "Path", name: "Name" },
  );
  const { namespace, path, name } = values;
  const { visibility } = options;
  const created = await withAdmin(options.db, (admin) =>
    admin.projects.create({ namespace, path, name, visibility }),
  );
  await print(
    created,
    options,
    (one) => `Created the ${one.visibility} project ${one.full_path} (id ${one.id}).
To add a member: ${command(`member add --project ${one.full_path} --user ada --role developer`)}`,
  );
}

async function remove(name: string, options: Shared & YesOptions): Promise<void> {
  const found = await withAdmin(options.db, (admin) => admin.projects.get(name));
  await agree(
    `This deletes ${found.full_path} (${found.name}) with everything in it, for good.`,
    options,
  );
  const deleted = await withAdmin(options.db, (admin) => admin.projects.delete(name));
  await print(deleted, options, (one) => `${one.full_path} is deleted.`);
}

const COLUMNS: Columns<ProjectRecord> = {
  id: ({ id }) => id,
  path: ({ full_path }) => full_path,
  name: ({ name }) => name,
  visibility: ({ visibility }) => visibility,
  size: ({ storage_size }) => sizeOf(storage_size),
  archived: ({ archived }) => (archived ? "yes" : ""),
};

/** A number of bytes as people read it, such as `1.2 MB`. */
function sizeOf(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${Number((bytes / 1000 ** power).toPrecision(2))} ${units[power]}`;
}

async function list(options: Shared): Promise<void> {
  const projects = await withAdmin(options.db, (admin) => admin.projects.list());
  const nothing = `There are no projects: \`${command("project create")}\` creates one.`;
  await printList(projects, options, COLUMNS, nothing);
}
