import { type Command, Option } from "commander";
import { refusal } from "../listen.ts";
import { report } from "../log.ts";
import { readNumber } from "../readers.ts";
import { signal } from "../signals.ts";
import { readGitlabVersion, TIERS, type Tier } from "./serve-options.ts";

interface TestOptions {
  seed?: string[];
  host: string;
  port: number;
  tier: Tier;
  gitlabVersion?: string;
  exitWithParent?: true;
}

/** Adds `test`. */
export function addTestCommand(program: Command): void {
  program
    .command("test")
    .description("serve a GitLab in memory to test against, which takes orders over HTTP")
    .option("--seed <files...>", "JSON or YAML files with its data (default: a small group)")
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .addOption(
      new Option("--port <port>", "port to listen on, 0 for a free one")
        .argParser(readNumber(0, 65_535))
        .default(0),
    )
    .addOption(
      new Option("--tier <tier>", "GitLab tier whose features are enabled")
        .choices(TIERS)
        .default("ultimate"),
    )
    .addOption(
      new Option(
        "--gitlab-version <version>",
        "version of GitLab that clients are told (default: 18.5.0)",
      ).argParser((text) => readGitlabVersion(text.replace(/-[ce]e$/, ""))),
    )
    .option("--exit-with-parent", "end when standard input is closed")
    .addHelpText(
      "after",
      `
When it is ready it prints one line of JSON to standard output, with its address ("url", "api", "graphql"), where it takes
orders ("control"), its version, and the tokens of its users; everything else goes to standard error. It
ends on SIGTERM or SIGINT, and forgets everything.

Examples:
  $ pm-cli test
  $ pm-cli test --seed seed.yml --port 8080
  $ pm-cli test --exit-with-parent --gitlab-version 17.11.0-ee
  $ curl -X POST http://127.0.0.1:8080/-/test/reset`,
    )
    .action(serveUntilSignal);
}

async function serveUntilSignal(options: TestOptions): Promise<void> {
  const { seed, host, port, tier, gitlabVersion, exitWithParent } = options;
  const { startTestServer } = await import("../../src/testing.ts");
  const ended = Promise.race([signal(), ...(exitWithParent ? [inputEnds()] : [])]);
  const more = { ...(seed && { seed }), ...(gitlabVersion && { gitlabVersion }) };
  const server = await startTestServer({ host, port, tier, ...more }).catch((error) => {
    throw error.syscall === undefined ? error : refusal(error, host, port, null);
  });
  console.log(JSON.stringify(server.address));
  await ended;
  await server.close().catch(report);
}

/** Resolves when standard input is closed, as when the program at its other end has ended. */
function inputEnds(): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.resume();
    for (const event of ["end", "close", "error"]) process.stdin.once(event, () => resolve());
  });
}
