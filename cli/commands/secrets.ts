import type { Command } from "commander";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { Failure } from "../errors.ts";
import { JSON_OPTION, type JsonOptions, print } from "../ui.ts";

type Options = DatabaseOptions & JsonOptions;

/** Adds `secrets check|rotate|remove-lost`. */
export function addSecretCommands(program: Command): void {
  const secrets = program
    .command("secrets")
    .description("look after the key that secrets of two-factor sign-in are encrypted with")
    .addHelpText(
      "after",
      `
The key is in PM_SECRET_KEY, in the file that PM_SECRET_KEY_FILE names, or in a file beside a SQLite database,
such as pm.db.key, which is made with the first secret. PM_SECRET_KEY holds 32 bytes, as \`openssl rand -base64 32\`
prints them; older keys can follow, separated by commas.

Examples:
  $ pm-cli secrets check
  $ pm-cli secrets rotate
  $ PM_SECRET_KEY=new-key,old-key pm-cli secrets rotate`,
    );

  secrets
    .command("check")
    .description(
      "say which key encrypts, and whose secrets can't be read; exit code 1 where there are any",
    )
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli secrets check
  $ pm-cli secrets check --db pm.db --json`,
    )
    .action(check);

  secrets
    .command("rotate")
    .description("encrypt all secrets with a new key; may be ended at any time and called again")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
A key in a file is made anew; the one before stays in the file until the next rotation, since servers that run may
have read it. With PM_SECRET_KEY, put the new key before the old one, restart the servers, then rotate; the old
key can go when that is done.

Examples:
  $ pm-cli secrets rotate
  $ PM_SECRET_KEY=new-key,old-key pm-cli secrets rotate --db postgres://pm:secret@db.internal/pm --json`,
    )
    .action(rotate);

  secrets
    .command("remove-lost")
    .description("switch two-factor sign-in off for those whose secret has lost its key")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
They can sign in with their password alone then, and set it up again.

Examples:
  $ pm-cli secrets remove-lost
  $ pm-cli secrets remove-lost --db pm.db --json`,
    )
    .action(removeLost);
}

async function check({ db, ...output }: Options): Promise<void> {
  const state = await withAdmin(db, (admin) => admin.checkSecrets());
  await print(state, output, ({ key, secrets, outdated, lost }) =>
    [
      key === null ? "There is no key yet." : `The key ${key} encrypts.`,
      `${secrets} secrets, ${outdated} of them not encrypted with it.`,
      ...lost.map((username) => `The key of ${username}'s secret is not there.`),
    ].join("\n"),
  );
  if (state.lost.length > 0) {
    throw new Failure(
      "some secrets have lost their key: restore it, or give their owners up with `pm-cli secrets remove-lost`",
    );
  }
}

async function rotate({ db, ...output }: Options): Promise<void> {
  const rotated = await withAdmin(db, (admin) => admin.rotateSecrets());
  await print(rotated, output, ({ key, secrets }) =>
    key === null
      ? "There is no key: set PM_SECRET_KEY, or PM_SECRET_KEY_FILE."
      : `${secrets} secrets were encrypted anew. The key ${key} encrypts.`,
  );
}

async function removeLost({ db, ...output }: Options): Promise<void> {
  const removed = await withAdmin(db, (admin) => admin.removeLostSecrets());
  await print(removed, output, ({ users }) =>
    users.length === 0
      ? "No secret has lost its key."
      : `Two-factor sign-in is off for ${users.join(", ")}.`,
  );
}
