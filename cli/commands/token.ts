import type { Command } from "commander";
import { meaningOf, SCOPES } from "../../src/core/scopes.ts";
import type { Scope, TokenRecord } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin, withChecks } from "../database.ts";
import { UsageError } from "../errors.ts";
import { command } from "../hints.ts";
import { readDay, readDuration, readId } from "../readers.ts";
import { type Columns, complete, JSON_OPTION, type JsonOptions, print, printList } from "../ui.ts";

const SCOPE_NAMES = SCOPES.join(", ");

interface CreateOptions extends DatabaseOptions, JsonOptions {
  user?: string;
  name?: string;
  scopes?: string;
  expiresAt?: string;
  impersonate?: boolean;
}

/** Adds `token create|create-job|list|revoke`. */
export function addTokenCommands(program: Command): void {
  const token = program
    .command("token")
    .description("manage access tokens")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli token create --user ada --name laptop --scopes api
  $ pm-cli token list --user ada
  $ pm-cli token revoke 7`,
    );

  token
    .command("create")
    .description("issue a token; its secret is shown once")
    .addOption(databaseOption())
    .option("--user <username>", "owner of the token")
    .option("--name <name>", "name that says what it is for")
    .option("--scopes <list>", `what it allows, comma-separated: ${SCOPE_NAMES}`)
    .option("--expires-at <YYYY-MM-DD>", "day (UTC) from which it is refused", readDay)
    .option("--impersonate", "issue an impersonation token, which the user doesn't see")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Scopes:
${SCOPES.map((name) => `  ${name.padEnd(18)}${meaningOf(name)}`).join("\n")}

On a terminal, missing values are asked for.

Examples:
  $ pm-cli token create --user ada --name laptop --scopes api
  $ pm-cli token create --user root --name ops --scopes api,sudo --expires-at 2027-01-31
  $ TOKEN=$(pm-cli token create --user ada --name ci --scopes read_api --json | jq -r .token)`,
    )
    .action(create);

  token
    .command("create-job")
    .description("issue the token of a CI job, for one project; its secret is shown once")
    .addOption(databaseOption())
    .option("--project <path>", "project it gives access to: full path or id")
    .option("--user <username>", "user whose rights it has there")
    .option(
      "--lifetime <duration>",
      "how long it works: a number and s, m, h or d",
      readDuration,
      3600,
    )
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Send it in the header JOB-TOKEN or the parameter job_token. It can read what a job needs: the project, its
dependencies and its merge requests.

Examples:
  $ pm-cli token create-job --project acme/site --user ada --lifetime 30m
  $ CI_JOB_TOKEN=$(pm-cli token create-job --project acme/site --user ada --json | jq -r .token)`,
    )
    .action(createJob);

  token
    .command("list")
    .description("list tokens, without their secrets")
    .addOption(databaseOption())
    .option("--user <username>", "only tokens of this user")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli token list
  $ pm-cli token list --user ada --json`,
    )
    .action(list);

  token
    .command("revoke")
    .description("revoke a token for good")
    .argument("<id>", "id, see `pm-cli token list`", readId)
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli token revoke 7
  $ pm-cli token revoke 7 --db pm.db --json`,
    )
    .action(revoke);
}

async function create(options: CreateOptions): Promise<void> {
  const { values } = await complete(
    options,
    {
      user: "User name",
      name: "Name of the token",
      scopes: `Scopes, comma-separated (${SCOPE_NAMES})`,
    },
    {
      open: (ask) =>
        withChecks(options.db, (admin) => ask({ user: admin.users.get, scopes: readScopes })),
    },
  );
  const scopes = readScopes(values.scopes);
  const created = await withAdmin(options.db, (admin) =>
    admin.tokens.create({
      user: values.user,
      name: values.name,
      scopes,
      impersonation: options.impersonate ?? false,
      ...(options.expiresAt === undefined ? {} : { expires_at: options.expiresAt }),
    }),
  );
  await print(
    created,
    options,
    (one) => `${one.token}
This is the secret of token ${one.id} (${one.name}) of ${one.username}. Keep it: it is not shown again.${
      one.active ? "" : `\nIt has already expired, on ${one.expires_at}.`
    }`,
  );
}

async function createJob(
  options: DatabaseOptions & JsonOptions & { project?: string; user?: string; lifetime: number },
): Promise<void> {
  const { values } = await complete(
    { project: options.project, user: options.user },
    { project: "Project (its full path)", user: "User name" },
    {
      open: (ask) =>
        withChecks(options.db, (admin) =>
          ask({ project: (path) => admin.members.list({ project: path }), user: admin.users.get }),
        ),
    },
  );
  const { project, user } = values;
  const created = await withAdmin(options.db, (admin) =>
    admin.tokens.createForJob({ project, user, lifetime: options.lifetime }),
  );
  await print(
    created,
    options,
    (one) => `${one.token}
This is the secret of a job token for ${one.project} as ${one.username}, valid until ${one.expires_at}. It is not shown again.`,
  );
}

const COLUMNS: Columns<TokenRecord> = {
  id: ({ id }) => id,
  user: ({ username }) => username,
  name: ({ name }) => name,
  scopes: ({ scopes }) => scopes.join(", "),
  "last used": ({ last_used_at }) => last_used_at?.slice(0, 16),
  "expires at": ({ expires_at }) => expires_at,
  state: stateOf,
};

async function list(options: DatabaseOptions & JsonOptions & { user?: string }): Promise<void> {
  const { user } = options;
  const tokens = await withAdmin(options.db, (admin) =>
    admin.tokens.list(user === undefined ? {} : { user }),
  );
  await printList(
    tokens,
    options,
    COLUMNS,
    `There are no tokens: \`${command("token create")}\` issues one.`,
  );
}

async function revoke(id: number, options: DatabaseOptions & JsonOptions): Promise<void> {
  const revoked = await withAdmin(options.db, (admin) => admin.tokens.revoke(id));
  await print(
    revoked,
    options,
    (one) => `Token ${one.id} (${one.name}) of ${one.username} is revoked.`,
  );
}

function stateOf({ active, revoked, impersonation }: TokenRecord): string {
  const state = active ? "active" : revoked ? "revoked" : "expired";
  return impersonation ? `${state}, impersonation` : state;
}

function readScopes(list: string): Scope[] {
  const scopes = [...new Set(list.split(/[\s,]+/).filter((scope) => scope !== ""))];
  const unknown = scopes.filter((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown.length > 0 || scopes.length === 0) {
    throw new UsageError(
      `--scopes: '${unknown[0] ?? list}' is not a scope, choose from ${SCOPE_NAMES}`,
    );
  }
  return scopes as Scope[];
}
