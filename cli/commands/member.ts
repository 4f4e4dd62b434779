import { type Command, InvalidArgumentError, Option } from "commander";
import { ROLE_NAMES } from "../../src/core/access/roles.ts";
import type { MemberRecord, MemberSource, Role } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { UsageError } from "../errors.ts";
import { command } from "../hints.ts";
import {
  agree,
  type Columns,
  JSON_OPTION,
  type JsonOptions,
  print,
  printList,
  YES_OPTION,
  type YesOptions,
} from "../ui.ts";

interface SourceOptions extends DatabaseOptions, JsonOptions {
  group?: string;
  project?: string;
}

interface MemberOptions extends SourceOptions {
  user: string;
  role?: Role;
  expiresAt?: string;
}

/** Adds `member list|add|update|remove`. */
export function addMemberCommands(program: Command): void {
  const member = program
    .command("member")
    .description("manage members of groups and projects")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli member add --group acme --user bob --role developer
  $ pm-cli member list --group acme
  $ pm-cli member update --group acme --user bob --role maintainer
  $ pm-cli member remove --project acme/site --user bob --yes`,
    );

  memberCommand(member, "list", "list the direct members of a group or project")
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli member list --group acme
  $ pm-cli member list --project acme/site --json`,
    )
    .action(list);

  roleOptions(memberCommand(member, "add", "add a member"), true)
    .addHelpText(
      "after",
      `
Members of a group belong to all groups and projects below it. Projects have no owners of their own.

Examples:
  $ pm-cli member add --group acme --user bob --role developer
  $ pm-cli member add --project acme/site --user eve --role guest --expires-at 2027-01-31`,
    )
    .action(add);

  roleOptions(memberCommand(member, "update", "change a member's role or expiry date"), false)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli member update --group acme --user bob --role maintainer
  $ pm-cli member update --group acme --user bob --expires-at never`,
    )
    .action(update);

  memberCommand(member, "remove", "remove a member")
    .requiredOption("--user <username>", "user name")
    .option(...YES_OPTION)
    .addHelpText(
      "after",
      `
Examples:
  $ pm-cli member remove --group acme --user bob
  $ pm-cli member remove --project acme/site --user bob --yes --json`,
    )
    .action(remove);
}

function memberCommand(member: Command, verb: string, description: string): Command {
  return member
    .command(verb)
    .description(description)
    .addOption(databaseOption())
    .option("--group <group>", "group: full path or id")
    .option("--project <project>", "project: full path or id")
    .option(...JSON_OPTION);
}

function roleOptions(added: Command, mandatory: boolean): Command {
  const role = new Option("--role <role>", "their role").choices(ROLE_NAMES);
  return added
    .requiredOption("--user <username>", "user name")
    .addOption(mandatory ? role.makeOptionMandatory() : role)
    .option(
      "--expires-at <YYYY-MM-DD>",
      `day (UTC) from which on it has expired${mandatory ? "" : ", or never"}`,
      mandatory ? readDay : (text: string) => (text === "never" ? text : readDay(text)),
    );
}

function readDay(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a day as YYYY-MM-DD.");
}

function sourceOf({ group, project }: SourceOptions): MemberSource {
  if (group !== undefined && project === undefined) return { group };
  if (project !== undefined && group === undefined) return { project };
  throw new UsageError("give either --group or --project");
}

async function list(options: SourceOptions): Promise<void> {
  const of = sourceOf(options);
  const members = await withAdmin(options.db, (admin) => admin.members.list(of));
  const flags = of.group === undefined ? `--project ${of.project}` : `--group ${of.group}`;
  const adding = command(`member add ${flags} --user ada --role developer`);
  await printList(
    members,
    options,
    COLUMNS,
    `There are no direct members: \`${adding}\` adds one.`,
  );
}

async function add(options: MemberOptions): Promise<void> {
  const { user, expiresAt } = options;
  const of = sourceOf(options);
  const role = options.role as Role;
  const end = expiresAt === undefined ? {} : { expires_at: expiresAt };
  const added = await withAdmin(options.db, (admin) =>
    admin.members.add({ ...of, user, role, ...end }),
  );
  await print(added, options, sentenceOf);
}

async function update(options: MemberOptions): Promise<void> {
  const { user, role, expiresAt } = options;
  const of = sourceOf(options);
  if (role === undefined && expiresAt === undefined) {
    throw new UsageError("give --role or --expires-at");
  }
  const end =
    expiresAt === undefined ? {} : { expires_at: expiresAt === "never" ? null : expiresAt };
  const changed = await withAdmin(options.db, (admin) =>
    admin.members.update({ ...of, user, ...(role === undefined ? {} : { role }), ...end }),
  );
  await print(changed, options, sentenceOf);
}

async function remove(options: MemberOptions & YesOptions): Promise<void> {
  const { user } = options;
  const of = sourceOf(options);
  await agree(`This removes ${user} from ${of.group ?? of.project}.`, options);
  const removed = await withAdmin(options.db, (admin) => admin.members.remove({ ...of, user }));
  await print(removed, options, (one) => `${one.username} is no longer a member.`);
}

function sentenceOf({ username, role, expires_at }: MemberRecord): string {
  return `${username} is ${role}${expires_at === null ? "" : ` until ${expires_at}`}.`;
}

const COLUMNS: Columns<MemberRecord> = {
  username: ({ username }) => username,
  name: ({ name }) => name,
  role: ({ role }) => role,
  "expires at": ({ expires_at }) => expires_at,
};
