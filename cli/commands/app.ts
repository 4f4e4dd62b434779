import type { Command } from "commander";
import { APPLICATION_SCOPES } from "../../src/core/scopes.ts";
import type { ApplicationRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin, withChecks } from "../database.ts";
import { command } from "../hints.ts";
import { type Columns, complete, JSON_OPTION, type JsonOptions, print, printList } from "../ui.ts";

const SCOPES = Object.keys(APPLICATION_SCOPES).join(", ");

interface CreateOptions extends DatabaseOptions, JsonOptions {
  user?: string;
  name?: string;
  redirectUri?: string[];
  scopes?: string;
  public?: boolean;
  trusted?: boolean;
}

/** Adds `app create|list|renew-secret|delete`. */
export function addAppCommands(program: Command): void {
  const app = program
    .command("app")
    .description("manage OAuth2 applications")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli app create --user ada --name Dash --redirect-uri https://dash.example.com/callback --scopes api,read_user
  $ pm-cli app list
  $ pm-cli app renew-secret 3`,
    );

  app
    .command("create")
    .description("register an application; its secret is shown once")
    .addOption(databaseOption())
    .option("--user <username>", "owner of the application")
    .option("--name <name>", "name that users see")
    .option(
      "--redirect-uri <uri>",
      "where users are sent back to; can be given several times",
      (uri: string, before: string[] = []) => [...before, uri],
    )
    .option("--scopes <list>", `scopes it may request, comma-separated: ${SCOPES}`)
    .option(
      "--public",
      "it has no secret since it can't keep one: apps on phones, desktops, in browsers",
    )
    .option("--trusted", "users are not asked for their consent, unless it is public")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
On a terminal, missing values are asked for.

Examples:
  $ pm-cli app create --user ada --name Dash --redirect-uri https://dash.example.com/callback --scopes api,read_user
  $ pm-cli app create --user ada --name Phone --redirect-uri com.example.phone:/callback --scopes api --public
  $ SECRET=$(pm-cli app create --user ada --name CI --redirect-uri http://127.0.0.1/ --scopes api --json | jq -r .client_secret)`,
    )
    .action(create);

  app
    .command("list")
    .description("list applications, without their secrets")
    .addOption(databaseOption())
    .option("--user <username>", "only applications of this user")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli app list
  $ pm-cli app list --user ada --json`,
    )
    .action(list);

  app
    .command("renew-secret")
    .description("replace an application's secret; the old one is refused at once")
    .argument("<id>", "id (see `pm-cli app list`) or client id")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli app renew-secret 3
  $ pm-cli app renew-secret 3 --db pm.db --json`,
    )
    .action(renewSecret);

  app
    .command("delete")
    .description("delete an application and every access it was given")
    .argument("<id>", "id (see `pm-cli app list`) or client id")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli app delete 3
  $ pm-cli app delete 3 --db pm.db --json`,
    )
    .action(remove);
}

async function create(options: CreateOptions): Promise<void> {
  const { values } = await complete(
    { ...options, redirectUri: options.redirectUri?.join(" ") },
    {
      user: "User name",
      name: "Name of the application",
      redirectUri: "Redirect URI",
      scopes: `Scopes, comma-separated (${SCOPES})`,
    },
    {
      open: (ask) =>
        withChecks(options.db, (admin) =>
          ask({
            user: admin.users.get,
            redirectUri: (uris) => words(uris, /\s+/).forEach(admin.applications.checkRedirectUri),
          }),
        ),
    },
  );
  const created = await withAdmin(options.db, (admin) =>
    admin.applications.create({
      user: values.user,
      name: values.name,
      redirect_uris: words(values.redirectUri, /\s+/),
      scopes: words(values.scopes, /[\s,]+/),
      confidential: !options.public,
      trusted: options.trusted ?? false,
    }),
  );
  await print(
    created,
    options,
    (one) => `Client id:     ${one.client_id}
${
  one.client_secret === null
    ? "It is public and has no secret: it proves itself with PKCE."
    : `Client secret: ${one.client_secret}
Keep the secret of application ${one.id} (${one.name}): it is not shown again.`
}`,
  );
}

function words(list: string, between: RegExp): string[] {
  return [...new Set(list.split(between).filter((word) => word !== ""))];
}

const COLUMNS: Columns<ApplicationRecord> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  user: ({ username }) => username,
  kind: kindOf,
  scopes: ({ scopes }) => scopes.join(", "),
  "redirect URIs": ({ redirect_uris }) => redirect_uris.join(" "),
};

async function list(options: DatabaseOptions & JsonOptions & { user?: string }): Promise<void> {
  const { user } = options;
  const applications = await withAdmin(options.db, (admin) =>
    admin.applications.list(user === undefined ? {} : { user }),
  );
  await printList(
    applications,
    options,
    COLUMNS,
    `There are no applications: \`${command("app create")}\` registers one.`,
  );
}

function kindOf({ confidential, trusted }: ApplicationRecord): string {
  return `${confidential ? "confidential" : "public"}${trusted ? ", trusted" : ""}`;
}

async function renewSecret(id: string, options: DatabaseOptions & JsonOptions): Promise<void> {
  const renewed = await withAdmin(options.db, (admin) => admin.applications.renewSecret(id));
  await print(
    renewed,
    options,
    (one) => `${one.client_secret}
This is the new secret of application ${one.id} (${one.name}). Keep it: it is not shown again.`,
  );
}

async function remove(id: string, options: DatabaseOptions & JsonOptions): Promise<void> {
  const deleted = await withAdmin(options.db, (admin) => admin.applications.delete(id));
  await print(deleted, options, (one) => `Application ${one.id} (${one.name}) is deleted.`);
}
