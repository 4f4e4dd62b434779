import { type Command, Option } from "commander";
import { ROLE_NAMES } from "../../src/core/access/roles.ts";
import type { Role, ScimTokenRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin, withChecks } from "../database.ts";
import { command } from "../hints.ts";
import { readDay, readId } from "../readers.ts";
import { type Columns, complete, JSON_OPTION, type JsonOptions, print, printList } from "../ui.ts";

interface GroupOptions extends DatabaseOptions, JsonOptions {
  group: string;
}

interface CreateOptions extends DatabaseOptions, JsonOptions {
  group?: string;
  name?: string;
  role: Role;
  expiresAt?: string;
}

const GROUP = ["--group <group>", "the group: full path or id"] as const;

/** Adds `scim create|list|revoke`. */
export function addScimCommands(program: Command): void {
  const scim = program
    .command("scim")
    .description("manage the tokens of groups' identity providers")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli scim create --group acme --name Okta
  $ pm-cli scim list --group acme
  $ pm-cli scim revoke 7 --group acme`,
    );

  scim
    .command("create")
    .description("issue a SCIM token; its secret is shown once")
    .addOption(databaseOption())
    .option(...GROUP)
    .option("--name <name>", "name that says what it is for")
    .addOption(
      new Option("--role <role>", "role of the people it adds")
        .choices(ROLE_NAMES)
        .default("guest"),
    )
    .option("--expires-at <YYYY-MM-DD>", "day (UTC) from which it is refused", readDay)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
On a terminal, a missing group or name is asked for.

Examples:
  $ pm-cli scim create --group acme --name Okta --role developer
  $ pm-cli scim create --group acme/team --name Entra --expires-at 2027-01-31 --json`,
    )
    .action(create);

  scim
    .command("list")
    .description("list the SCIM tokens of a group, without their secrets")
    .addOption(databaseOption())
    .requiredOption(...GROUP)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli scim list --group acme
  $ pm-cli scim list --group acme/team --json`,
    )
    .action(list);

  scim
    .command("revoke")
    .description("revoke a SCIM token for good")
    .argument("<id>", "id, see `pm-cli scim list`", readId)
    .addOption(databaseOption())
    .requiredOption(...GROUP)
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli scim revoke 7 --group acme
  $ pm-cli scim revoke 7 --group acme --db pm.db --json`,
    )
    .action(revoke);
}

async function create(options: CreateOptions): Promise<void> {
  const { values } = await complete(
    { group: options.group, name: options.name },
    { group: "Group (its full path)", name: "Name of the token" },
    { open: (ask) => withChecks(options.db, (admin) => ask({ group: admin.groups.get })) },
  );
  const { role, expiresAt } = options;
  const created = await withAdmin(options.db, (admin) =>
    admin.scimTokens.create({
      ...values,
      role,
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    }),
  );
  await print(
    created,
    options,
    (one) => `${one.token}
This is the secret of SCIM token ${one.id} (${one.name}) of ${one.group}. Keep it: it is not shown again.
The identity provider's base URL is the address of the server and ${one.path}${
      one.active ? "" : `\nIt has already expired, on ${one.expires_at}.`
    }`,
  );
}

const COLUMNS: Columns<ScimTokenRecord> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  role: ({ role }) => role,
  "last used": ({ last_used_at }) => last_used_at?.slice(0, 16),
  "expires at": ({ expires_at }) => expires_at,
  state: ({ active, revoked }) => (active ? "active" : revoked ? "revoked" : "expired"),
};

async function list(options: GroupOptions): Promise<void> {
  const { group } = options;
  const tokens = await withAdmin(options.db, (admin) => admin.scimTokens.list({ group }));
  const nothing = `There are no SCIM tokens: \`${command("scim create")}\` issues one.`;
  await printList(tokens, options, COLUMNS, nothing);
}

async function revoke(id: number, options: GroupOptions): Promise<void> {
  const { group } = options;
  const revoked = await withAdmin(options.db, (admin) => admin.scimTokens.revoke({ group, id }));
  await print(
    revoked,
    options,
    (one) => `SCIM token ${one.id} (${one.name}) of ${one.group} is revoked.`,
  );
}
