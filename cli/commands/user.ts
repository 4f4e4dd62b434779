import type { Command } from "commander";
import type { UserRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { UsageError } from "../errors.ts";
import {
  askPassword,
  type Columns,
  complete,
  JSON_OPTION,
  type JsonOptions,
  print,
  printList,
  readStandardInput,
} from "../ui.ts";

interface CreateOptions extends DatabaseOptions, JsonOptions {
  username?: string;
  name?: string;
  email?: string;
  admin?: boolean;
  passwordStdin?: boolean;
}

/** Adds `user create|list|block|unblock`. */
export function addUserCommands(program: Command): void {
  const user = program
    .command("user")
    .description("manage users")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli user create --username ada --name "Ada Lovelace" --email ada@example.com
  $ pm-cli user list
  $ pm-cli user set-password ada
  $ pm-cli user block ada`,
    );

  user
    .command("create")
    .description("create a user; the database is made where there is none")
    .addOption(databaseOption())
    .option("--username <username>", "what they are called in paths and mentions")
    .option("--name <name>", "their full name")
    .option("--email <email>", "their e-mail address")
    .option("--admin", "make them an administrator")
    .option("--password-stdin", "read their password from standard input")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
On a terminal, what is left out is asked for. A user without a password has tokens only.

Examples:
  $ pm-cli user create --username root --name "Root" --email root@example.com --admin
  $ pm-cli user create --username ada --name "Ada Lovelace" --email ada@example.com --password-stdin < password.txt`,
    )
    .action(create);

  user
    .command("list")
    .description("list all users")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli user list
  $ pm-cli user list --db pm.db --json`,
    )
    .action(list);

  user
    .command("set-password")
    .description("give a user another password, which ends their sessions")
    .argument("<username>", "whose")
    .addOption(databaseOption())
    .option("--password-stdin", "read it from standard input")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
On a terminal it is asked for.

Examples:
  $ pm-cli user set-password ada
  $ pm-cli user set-password ada --password-stdin < password.txt`,
    )
    .action(setPassword);

  user
    .command("disable-two-factor")
    .description(
      "let a user sign in with their password alone: they have lost their app and their codes",
    )
    .argument("<username>", "whom")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Make sure that it is them who ask.

Examples:
  $ pm-cli user disable-two-factor ada
  $ pm-cli user disable-two-factor ada --db pm.db --json`,
    )
    .action(async (username: string, options: DatabaseOptions & JsonOptions) => {
      const done = await withAdmin(options.db, (admin) => admin.disableTwoFactor(username));
      await print(
        done,
        options,
        (one) => `${one.username} signs in with their password alone now.`,
      );
    });

  addStateCommand(user, "block", "refuse a user's tokens from now on");
  addStateCommand(user, "unblock", "accept a blocked user's tokens again");
}

function addStateCommand(user: Command, verb: "block" | "unblock", description: string): void {
  user
    .command(verb)
    .description(description)
    .argument("<username>", "whom")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli user ${verb} ada
  $ pm-cli user ${verb} ada --db pm.db --json`,
    )
    .action(async (username: string, options: DatabaseOptions & JsonOptions) => {
      const done = await withAdmin(options.db, (admin) => admin[`${verb}User`](username));
      await print(done, options, (one) => `${one.username} is ${one.state} now.`);
    });
}

async function create(options: CreateOptions): Promise<void> {
  const { values, asked } = await complete(options, {
    username: "User name",
    name: "Full name",
    email: "E-mail address",
  });
  const password = options.passwordStdin
    ? await passwordFromStandardInput()
    : asked
      ? await askPassword("Password (empty for none)")
      : undefined;
  const { username, name, email } = values;
  const created = await withAdmin(
    options.db,
    (admin) =>
      admin.createUser({
        username,
        name,
        email,
        admin: options.admin ?? false,
        ...(password === undefined ? {} : { password }),
      }),
    { create: true },
  );
  await print(
    created,
    options,
    (
      one,
    ) => `Created ${one.admin ? "the administrator" : "the user"} ${one.username} (id ${one.id}).
A token for them: pm-cli token create --user ${one.username} --name cli --scopes api`,
  );
}

async function setPassword(
  username: string,
  options: DatabaseOptions & JsonOptions & { passwordStdin?: boolean },
): Promise<void> {
  const password = options.passwordStdin
    ? await passwordFromStandardInput()
    : process.stdin.isTTY
      ? await askPassword("New password")
      : undefined;
  if (password === undefined) {
    throw new UsageError("give the new password: --password-stdin < password.txt");
  }
  const done = await withAdmin(options.db, (admin) => admin.setPassword(username, password));
  await print(done, options, (one) => `${one.username} has a new password, and is signed out.`);
}

async function passwordFromStandardInput(): Promise<string> {
  const password = await readStandardInput();
  if (password === "") throw new UsageError("--password-stdin: there is nothing on standard input");
  return password;
}

const COLUMNS: Columns<UserRecord> = {
  id: ({ id }) => id,
  username: ({ username }) => username,
  name: ({ name }) => name,
  email: ({ email }) => email,
  state: ({ state }) => state,
  admin: ({ admin }) => (admin ? "yes" : ""),
};

async function list(options: DatabaseOptions & JsonOptions): Promise<void> {
  const users = await withAdmin(options.db, (admin) => admin.listUsers());
  await printList(users, options, COLUMNS, "There are no users: `pm-cli user create` makes one.");
}
