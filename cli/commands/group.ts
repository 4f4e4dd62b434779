import { type Command, Option } from "commander";
import { VISIBILITY_NAMES } from "../../src/core/access/visibility.ts";
import type { GroupRecord, Visibility } from "../../src/index.ts";
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
  path?: string;
  name?: string;
  parent?: string;
  owner?: string;
  visibility: Visibility;
}

/** Adds `group list|show|create|delete`. */
export function addGroupCommands(program: Command): void {
  const group = program
    .command("group")
    .description("manage groups")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli group create --path acme --name Acme --owner ada
  $ pm-cli group create --path team --name Team --parent acme
  $ pm-cli group list
  $ pm-cli member add --group acme --user bob --role developer`,
    );

  group
    .command("list")
    .description("list all groups")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli group list
  $ pm-cli group list --db pm.db --json`,
    )
    .action(list);

  group
    .command("show")
    .description("show a group")
    .argument("<group>", "full path or id")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli group show acme/team
  $ pm-cli group show 7 --json`,
    )
    .action(async (name: string, options: Shared) => {
      const found = await withAdmin(options.db, (admin) => admin.groups.get(name));
      await print(found, options, (one) => table([one], COLUMNS, ""));
    });

  group
    .command("create")
    .description("create a group")
    .addOption(databaseOption())
    .option("--path <path>", "last part of its full path")
    .option("--name <name>", "its name")
    .option("--owner <username>", "first owner (default: none, only administrators can manage it)")
    .option("--parent <group>", "the group it is in: a full path, or an id")
    .addOption(
      new Option("--visibility <level>", "who may read it without being a member")
        .choices(VISIBILITY_NAMES)
        .default("private"),
    )
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
On a terminal, a missing path or name is asked for.

Examples:
  $ pm-cli group create --path acme --name Acme --owner ada
  $ pm-cli group create --path team --name Team --owner ada --parent acme --visibility internal`,
    )
    .action(create);

  group
    .command("delete")
    .description("delete a group with everything in it: groups, projects, issues")
    .argument("<group>", "full path or id")
    .addOption(databaseOption())
    .option(...YES_OPTION)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
This can't be undone.

Examples:
  $ pm-cli group delete acme/team
  $ pm-cli group delete acme/team --yes --json`,
    )
    .action(remove);
}

async function create(options: CreateOptions): Promise<void> {
  const { values } = await complete(
    { path: options.path, name: options.name },
    { path: "Path", name: "Name" },
  );
  const { path, name } = values;
  const { parent, owner, visibility } = options;
  const created = await withAdmin(options.db, (admin) =>
    admin.groups.create({
      path,
      name,
      visibility,
      ...(parent === undefined ? {} : { parent }),
      ...(owner === undefined ? {} : { owner }),
    }),
  );
  await print(
    created,
    options,
    (one) => `Created the ${one.visibility} group ${one.full_path} (id ${one.id}).
To add a member: ${command(`member add --group ${one.full_path} --user ada --role developer`)}`,
  );
}

async function remove(name: string, options: Shared & YesOptions): Promise<void> {
  const found = await withAdmin(options.db, (admin) => admin.groups.get(name));
  await agree(
    `This deletes ${found.full_path} (${found.name}) with everything in it, for good.`,
    options,
  );
  const deleted = await withAdmin(options.db, (admin) => admin.groups.delete(name));
  await print(deleted, options, (one) => `${one.full_path} is deleted.`);
}

const COLUMNS: Columns<GroupRecord> = {
  id: ({ id }) => id,
  path: ({ full_path }) => full_path,
  name: ({ name }) => name,
  visibility: ({ visibility }) => visibility,
};

async function list(options: Shared): Promise<void> {
  const groups = await withAdmin(options.db, (admin) => admin.groups.list());
  const nothing = `There are no groups: \`${command("group create")}\` creates one.`;
  await printList(groups, options, COLUMNS, nothing);
}
