import type { Command } from "commander";
import type { UserChange, UserRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin, withChecks } from "../database.ts";
import { Failure, UsageError } from "../errors.ts";
import { command } from "../hints.ts";
import {
  agree,
  type Columns,
  complete,
  isAttended,
  JSON_OPTION,
  type JsonOptions,
  print,
  printList,
  table,
  YES_OPTION,
  type YesOptions,
} from "../ui.ts";
import { mailFromOption, smtpOption } from "./mail.ts";
import {
  addPasswordCommand,
  askForPassword,
  type LinkOptions,
  lifetimeOption,
  linkText,
  passwordFromStandardInput,
  urlOption,
} from "./user-password.ts";

type Shared = DatabaseOptions & JsonOptions;

interface NewOptions extends Shared {
  username?: string;
  name?: string;
  email?: string;
  admin?: boolean;
}

/** Adds `user create|invite|list|show|rename|promote|demote|block|unblock|password|disable-two-factor|delete`. */
export function addUserCommands(program: Command): void {
  const user = program
    .command("user")
    .description("manage users")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli user create --username ada --name "Ada Lovelace" --email ada@example.com
  $ pm-cli user invite --username bob --name "Bob" --email bob@example.com --url https://pm.example.com
  $ pm-cli user list
  $ pm-cli user promote ada
  $ pm-cli user password ada
  $ pm-cli user block bob`,
    );

  newUserCommand(user, "create", "create a user; creates the database if it is missing")
    .option("--password-stdin", "read their password from standard input")
    .addHelpText(
      "after",
      `
On a terminal, missing values are asked for. A user without a password can only use tokens.

Examples:
  $ pm-cli user create --username root --name "Root" --email root@example.com --admin
  $ pm-cli user create --username ada --name "Ada Lovelace" --email ada@example.com --password-stdin < password.txt`,
    )
    .action(create);

  newUserCommand(
    user,
    "invite",
    "create a user, and print or mail a link by which they set their password",
  )
    .addOption(lifetimeOption())
    .addOption(urlOption())
    .addOption(smtpOption())
    .addOption(mailFromOption())
    .addHelpText(
      "after",
      `
With --smtp (or PM_SMTP), --mail-from and --url, the link is mailed to them, too.
The link works once, and is not shown again: \`pm-cli user password <username> --link\` creates another.

Examples:
  $ pm-cli user invite --username ada --name "Ada Lovelace" --email ada@example.com --url https://pm.example.com
  $ pm-cli user invite --username ada --name "Ada Lovelace" --email ada@example.com --expires-in 24h --json`,
    )
    .action(invite);

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

  oneUserCommand(user, "show", "show a user").action(async (username: string, options: Shared) => {
    const found = await withAdmin(options.db, (admin) => admin.users.get(username));
    await print(found, options, (one) => table([one], COLUMNS, ""));
  });

  user
    .command("rename")
    .description("change a user's name in paths, their full name or their e-mail address")
    .argument("<username>", "user name")
    .argument("[new-username]", "new name in paths and mentions")
    .addOption(databaseOption())
    .option("--name <name>", "their full name")
    .option("--email <email>", "their e-mail address")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
The paths of their own projects change with the user name; the old paths stop working.

Examples:
  $ pm-cli user rename ada countess
  $ pm-cli user rename ada --name "Ada King" --email ada.king@example.com`,
    )
    .action(rename);

  changeCommand(
    user,
    "promote",
    "make a user an administrator",
    { admin: true },
    (one) => `${one.username} is an administrator now.`,
  );
  changeCommand(
    user,
    "demote",
    "make an administrator an ordinary user",
    { admin: false },
    (one) => `${one.username} is no longer an administrator.`,
  );
  const stateOf = (one: UserRecord) => `${one.username} is ${one.state} now.`;
  changeCommand(user, "block", "refuse a user's tokens from now on", { state: "blocked" }, stateOf);
  changeCommand(
    user,
    "unblock",
    "accept a blocked user's tokens again",
    { state: "active" },
    stateOf,
  );

  changeCommand(
    user,
    "deactivate",
    "refuse a user's tokens until they sign in",
    { state: "deactivated" },
    stateOf,
  );
  changeCommand(
    user,
    "ban",
    "block a user, and hide what they wrote from others; `unblock` undoes it",
    { state: "banned" },
    stateOf,
  );

  addPasswordCommand(user);

  oneUserCommand(
    user,
    "disable-two-factor",
    "let a user who lost their app and codes sign in with their password alone",
    "Make sure first that the request really comes from them.",
  ).action(async (username: string, options: Shared) => {
    const done = await withAdmin(options.db, (admin) => admin.users.disableTwoFactor(username));
    await print(done, options, (one) => `${one.username} signs in with their password alone now.`);
  });

  oneUserCommand(
    user,
    "delete",
    "delete a user with their own projects",
    "This can't be undone; `pm-cli user block` can.",
    " --yes",
  )
    .option(...YES_OPTION)
    .action(remove);
}

function newUserCommand(user: Command, verb: string, description: string): Command {
  return user
    .command(verb)
    .description(description)
    .addOption(databaseOption())
    .option("--username <username>", "name in paths and mentions")
    .option("--name <name>", "their full name")
    .option("--email <email>", "their e-mail address")
    .option("--admin", "make them an administrator")
    .option(...JSON_OPTION);
}

/** @param flags flags for the examples, after the name */
function oneUserCommand(
  user: Command,
  verb: string,
  description: string,
  note = "",
  flags = "",
): Command {
  return user
    .command(verb)
    .description(description)
    .argument("<username>", "user name")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
${note && `${note}\n\n`}Examples:
  $ pm-cli user ${verb} ada${flags}
  $ pm-cli user ${verb} ada${flags} --db pm.db --json`,
    );
}

function changeCommand(
  user: Command,
  verb: string,
  description: string,
  change: UserChange,
  sentenceOf: (one: UserRecord) => string,
): void {
  oneUserCommand(user, verb, description).action(async (username: string, options: Shared) => {
    const done = await withAdmin(options.db, (admin) => admin.users.update(username, change));
    await print(done, options, sentenceOf);
  });
}

/** A new user's data; asks for missing values, and checks each answer at once. */
async function completeNew(options: NewOptions) {
  const { values } = await complete(
    options,
    { username: "User name", name: "Full name", email: "E-mail address" },
    {
      open: (ask) =>
        withChecks(
          options.db,
          (admin) =>
            ask({
              username: (username) => admin.users.check({ username }),
              name: (name) => admin.users.check({ name }),
              email: (email) => admin.users.check({ email }),
            }),
          { create: true },
        ),
    },
  );
  const { username, name, email } = values;
  return { username, name, email, admin: options.admin ?? false };
}

async function create(options: NewOptions & { passwordStdin?: boolean }): Promise<void> {
  const user = await completeNew(options);
  const asks = isAttended() && !options.json;
  const password = options.passwordStdin
    ? await passwordFromStandardInput()
    : asks
      ? await askForPassword(":memory:", "Password (empty for none)")
      : undefined;
  const created = await withAdmin(
    options.db,
    (admin) => admin.users.create({ ...user, ...(password === undefined ? {} : { password }) }),
    { create: true },
  );
  await print(
    created,
    options,
    (one) => `Created ${kindOf(one)} ${one.username} (id ${one.id}).
A token for them: ${command(`token create --user ${one.username} --name cli --scopes api`)}`,
  );
}

interface InviteOptions extends NewOptions, LinkOptions {
  smtp?: string;
  mailFrom?: string;
}

async function invite(options: InviteOptions): Promise<void> {
  const { smtp, mailFrom } = options;
  const user = await completeNew(options);
  const created = await withAdmin(
    options.db,
    (admin) => admin.users.invite({ ...user, lifetime: options.expiresIn }),
    { create: true, url: options.url },
  );
  const { invitation } = created;
  const { url } = invitation;
  let isMailed = false;
  let problem: string | undefined;
  if (smtp !== undefined && mailFrom !== undefined && url !== null) {
    isMailed = true;
    const { sendPasswordLink } = await import("../../src/index.ts");
    await sendPasswordLink({ smtp, from: mailFrom }, created, { ...invitation, url }).catch(
      (error: Error) => {
        problem = error.message;
      },
    );
  }
  const mailed = isMailed && problem === undefined;
  const mail = mailed
    ? `The link was mailed to ${created.email}.\n`
    : smtp !== undefined && !isMailed
      ? "It is not mailed: that needs --mail-from (or PM_MAIL_FROM) and --url (or PM_URL).\n"
      : "";
  await print(
    { ...created, mailed },
    options,
    (one) => `Created ${kindOf(one)} ${one.username} (id ${one.id}).
${mail}${linkText(one.invitation)}`,
  );
  if (problem !== undefined) {
    throw new Failure(
      `the link was not mailed: ${problem}. Give it to ${created.username} yourself`,
    );
  }
}

const kindOf = ({ admin }: UserRecord) => (admin ? "the administrator" : "the user");

async function rename(
  username: string,
  newName: string | undefined,
  options: Shared & { name?: string; email?: string },
): Promise<void> {
  const { name, email } = options;
  const change = {
    ...(newName === undefined ? {} : { username: newName }),
    ...(name === undefined ? {} : { name }),
    ...(email === undefined ? {} : { email }),
  };
  if (Object.keys(change).length === 0) {
    throw new UsageError("give the new user name, --name or --email");
  }
  const done = await withAdmin(options.db, (admin) => admin.users.update(username, change));
  await print(done, options, (one) => `${one.username} is ${one.name} <${one.email}> now.`);
}

async function remove(username: string, options: Shared & YesOptions): Promise<void> {
  const found = await withAdmin(options.db, (admin) => admin.users.get(username));
  await agree(
    `This deletes ${found.username} (${found.name}) with their own projects, for good.`,
    options,
  );
  const deleted = await withAdmin(options.db, (admin) => admin.users.delete(username));
  await print(deleted, options, (one) => `${one.username} is deleted.`);
}

const COLUMNS: Columns<UserRecord> = {
  id: ({ id }) => id,
  username: ({ username }) => username,
  name: ({ name }) => name,
  email: ({ email }) => email,
  state: ({ state }) => state,
  admin: ({ admin }) => (admin ? "yes" : ""),
};

async function list(options: Shared): Promise<void> {
  const users = await withAdmin(options.db, (admin) => admin.users.list());
  const nothing = `There are no users: \`${command("user create")}\` creates one.`;
  await printList(users, options, COLUMNS, nothing);
}
