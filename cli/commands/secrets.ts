import type { Command } from "commander";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { Failure } from "../errors.ts";
import { JSON_OPTION, type JsonOptions, print } from "../ui.ts";

type Options = DatabaseOptions & JsonOptions;

/** Adds `secrets check|rotate|rotate-signing-key|ssh-host-keys|remove-lost`. */
export function addSecretCommands(program: Command): void {
  const secrets = program
    .command("secrets")
    .description("manage the key that encrypts the secrets of two-factor sign-in and CI variables")
    .addHelpText(
      "after",
      `
The key is in PM_SECRET_KEY, in the file that PM_SECRET_KEY_FILE names, or in a file beside a SQLite database,
such as pm.db.key, which is created with the first secret. PM_SECRET_KEY holds 32 bytes, as \`openssl rand -base64 32\`
prints them; older keys can follow, separated by commas.

Examples:
  $ pm-cli secrets check
  $ pm-cli secrets rotate
  $ PM_SECRET_KEY=new-key,old-key pm-cli secrets rotate`,
    );

  secrets
    .command("check")
    .description(
      "show the current key and whose secrets can't be read; exit code 1 if there are any",
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
    .description("encrypt all secrets with a new key; can be interrupted and run again")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
If the key is in a file, a new one is added; the old one stays in the file until the next rotation, since running
servers may have read it. With PM_SECRET_KEY, put the new key before the old one, restart the servers, then rotate;
remove the old key when that is done.

Examples:
  $ pm-cli secrets rotate
  $ PM_SECRET_KEY=new-key,old-key pm-cli secrets rotate --db postgres://pm:secret@db.internal/pm --json`,
    )
    .action(rotate);

  secrets
    .command("rotate-signing-key")
    .description("make the next key that signs tokens of OpenID Connect and of CI jobs")
    .option("--at-once", "sign with it at once, and publish no other: the present key was stolen")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
The new key is published now and signs a day later, when everybody who keeps the list of keys has it. The present one
stays published for a month, as long as its tokens may live. With --at-once, tokens that it has signed are worthless.

Examples:
  $ pm-cli secrets rotate-signing-key
  $ pm-cli secrets rotate-signing-key --at-once --json`,
    )
    .action(rotateSigningKey);

  secrets
    .command("ssh-host-keys")
    .description("show the keys by which clients of SSH know the server, and their fingerprints")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
They are made when \`pm-cli serve --ssh-port\` first runs. What is printed can follow the server's name in a file of known
hosts (~/.ssh/known_hosts).

Examples:
  $ pm-cli secrets ssh-host-keys
  $ pm-cli secrets ssh-host-keys --db pm.db --json`,
    )
    .action(sshHostKeys);

  secrets
    .command("remove-lost")
    .description("remove secrets whose key is lost")
    .addOption(databaseOption())
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Two-factor sign-in is switched off for users whose secret can't be read: they sign in with their password alone until
they set it up again. CI variables that can't be read are deleted.

Examples:
  $ pm-cli secrets remove-lost
  $ pm-cli secrets remove-lost --db pm.db --json`,
    )
    .action(removeLost);
}

async function check({ db, ...output }: Options): Promise<void> {
  const state = await withAdmin(db, (admin) => admin.secrets.check());
  const { lostOthers: lost_others, ...others } = state;
  await print({ ...others, lost_others }, output, ({ key, secrets, outdated, lost }) => {
    const missing = lost.length + lost_others;
    return [
      key === null ? "There is no key yet." : `The key ${key} encrypts.`,
      `There are ${secrets} secrets in all. ${secrets - outdated} are encrypted with this key, ${outdated} are not.`,
      ...(missing === 0
        ? []
        : [`Of these ${outdated}, ${missing} can't be read, as their key is missing:`]),
      ...lost.map((username) => `- the second factor of ${username}`),
      ...(lost_others === 0 ? [] : [`- ${lost_others} others, such as CI variables`]),
    ].join("\n");
  });
  if (state.lost.length + state.lostOthers > 0) {
    throw new Failure(
      "the key of some secrets is missing: restore it, or remove these secrets with `pm-cli secrets remove-lost`",
    );
  }
}

async function rotate({ db, ...output }: Options): Promise<void> {
  const rotated = await withAdmin(db, (admin) => admin.secrets.rotate());
  await print(rotated, output, ({ key, secrets }) =>
    key === null
      ? "There is no key: set PM_SECRET_KEY, or PM_SECRET_KEY_FILE."
      : `${secrets} secrets were re-encrypted. The key ${key} encrypts.`,
  );
}

async function rotateSigningKey({
  db,
  atOnce = false,
  ...output
}: Options & { atOnce?: boolean }): Promise<void> {
  const next = await withAdmin(db, (admin) => admin.secrets.rotateSigningKey({ atOnce }));
  const shown = { kid: next.kid, signs_from: new Date(next.signsFrom).toISOString() };
  await print(
    shown,
    output,
    ({ kid, signs_from }) => `The key ${kid} signs from ${signs_from} on.`,
  );
}

async function sshHostKeys({ db, ...output }: Options): Promise<void> {
  const keys = await withAdmin(db, (admin) => admin.secrets.sshHostKeys());
  const shown = keys.map(({ publicKey, fingerprint }) => ({ key: publicKey, fingerprint }));
  await print(shown, output, (all) =>
    all.length === 0
      ? "There are none yet: start `pm-cli serve --ssh-port 2222`."
      : all.map(({ key, fingerprint }) => `${key} ${fingerprint}`).join("\n"),
  );
}

async function removeLost({ db, ...output }: Options): Promise<void> {
  const removed = await withAdmin(db, (admin) => admin.secrets.removeLost());
  await print(removed, output, ({ users, others }) =>
    users.length + others === 0
      ? "No secret's key is missing."
      : [
          ...(users.length === 0 ? [] : [`Two-factor sign-in is off for ${users.join(", ")}.`]),
          ...(others === 0 ? [] : [`${others} other secrets were removed.`]),
        ].join("\n"),
  );
}
