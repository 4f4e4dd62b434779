import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Command, Option } from "commander";
import type { Admin } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, withAdmin } from "../database.ts";
import { UsageError } from "../errors.ts";
import { complete, JSON_OPTION, type JsonOptions, print, readStandardInput } from "../ui.ts";

const git = promisify(execFile);

interface HookOptions extends DatabaseOptions, JsonOptions {
  project?: string;
  user?: string;
}

/** Adds `hook post-receive`. */
export function addHookCommands(program: Command): void {
  const hook = program
    .command("hook")
    .description("Git hooks")
    .addHelpText(
      "after",
      `
Examples:
  $ cat > site.git/hooks/post-receive <<'END'
  #!/bin/sh
  exec pm-cli hook post-receive --db /srv/pm.db --project acme/site
  END
  $ chmod +x site.git/hooks/post-receive`,
    );

  hook
    .command("post-receive")
    .description("record a push in a project's activity; called by a repository's hook")
    .addOption(databaseOption())
    .option("--project <path>", "project: full path or id")
    .addOption(
      new Option(
        "--user <name>",
        "user who pushes (default: the user with the last commit's e-mail address)",
      ).env("PM_PUSH_USER"),
    )
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
It reads "old new ref" lines from Git on standard input, and must run in the repository.

Without --json it prints nothing, since Git shows the output to the user who pushes.

Examples:
  $ cat site.git/hooks/post-receive
  #!/bin/sh
  exec pm-cli hook post-receive --db /srv/pm.db --project acme/site
  $ echo "$old $new refs/heads/main" | pm-cli hook post-receive --project acme/site --user ada --json`,
    )
    .action(postReceive);
}

async function postReceive(options: HookOptions): Promise<void> {
  const { values } = await complete(options, { project: "Project" });
  const pushes = (await readStandardInput()).split("\n").filter((line) => line !== "");
  const updates = pushes.map((line) => {
    const parts = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (refs\/\S+)$/.exec(line);
    if (!parts) throw new UsageError(`standard input has no "old new ref": ${line}`);
    return { from: commit(parts[1]), to: commit(parts[2]), ref: parts[3] as string };
  });
  const events = await withAdmin(options.db, async (admin) => {
    const recorded: number[] = [];
    for (const update of updates) {
      recorded.push(...(await record(admin, values.project, options.user, update)));
    }
    return recorded;
  });
  if (options.json) await print({ events }, options, () => "");
}

/** Git writes zeros if there is no commit. */
const commit = (hash: string | undefined) => (!hash || /^0+$/.test(hash) ? null : hash);

interface RefUpdate {
  from: string | null;
  to: string | null;
  ref: string;
}

async function record(
  admin: Admin,
  project: string,
  user: string | undefined,
  { from, to, ref }: RefUpdate,
): Promise<number[]> {
  // Only branches and tags are activity, not notes, replaced objects and the like.
  if (!/^refs\/(heads|tags)\//.test(ref)) return [];
  const last = (to ?? from) as string;
  const { id } = await admin.activity.recordPush({
    project,
    user: user ?? (await ask(["log", "-1", "--format=%ae", last])),
    ref,
    from,
    to,
    commitCount: to === null ? 0 : Number(await ask(countOf(from, to, ref))),
    commitTitle: to === null ? null : await ask(["log", "-1", "--format=%s", to]),
  });
  return [id];
}

/** For a new ref, counts the commits that no other ref has; `--all` would include HEAD. */
function countOf(from: string | null, to: string, ref: string): string[] {
  return from === null
    ? ["rev-list", "--count", to, "--not", `--exclude=${ref}`, "--glob=refs/*"]
    : ["rev-list", "--count", `${from}..${to}`];
}

async function ask(args: string[]): Promise<string> {
  const { stdout } = await git("git", args);
  return stdout.trim();
}
