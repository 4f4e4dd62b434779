import { hostname } from "node:os";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { UsageError } from "../errors.ts";
import { readNumber } from "../readers.ts";
import { nextSignal, signal } from "../signals.ts";
import { JSON_OPTION, type JsonOptions } from "../ui.ts";

interface RunnerOptions extends JsonOptions {
  url?: string;
  token?: string;
  builds: string;
  concurrent: number;
  untilIdle?: true;
  executor: "shell" | "docker";
  docker: string;
  image?: string;
}

/** Adds `runner`. */
export function addRunnerCommand(program: Command): void {
  program
    .command("runner")
    .description("run the jobs of pipelines on this machine, as GitLab Runner does")
    .addOption(new Option("--url <url>", "address of the server").env("PM_RUNNER_URL"))
    .addOption(new Option("--token <token>", "token of the runner").env("PM_RUNNER_TOKEN"))
    .option("--builds <folder>", "folder for the projects' files and caches", "pm-runner")
    .addOption(
      new Option("--concurrent <number>", "jobs that run at a time")
        .argParser(readNumber(1, 1000))
        .default(1),
    )
    .addOption(
      new Option(
        "--executor <kind>",
        "where steps run: in a shell of this machine, or in containers",
      )
        .choices(["shell", "docker"])
        .default("shell"),
    )
    .option("--docker <program>", "what runs containers: docker, or podman", "docker")
    .option("--image <name>", "image of jobs that name none, with --executor docker")
    .option("--until-idle", "end when there is no job")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
In a shell, jobs run as the user who starts the runner, and may do all that this user may: give it a user or a machine of
its own, and projects that you trust. It needs bash and git. With --executor docker, each step runs in a container of the
job's \`image\`, beside its \`services\`; commits, caches and artifacts are still handled outside. What it has not: Windows.

The first SIGTERM or SIGINT waits for the jobs that run, a second one ends them.

Examples:
  $ pm-cli runner --url http://localhost:3000 --token glrt-…
  $ pm-cli runner --url https://pm.example.com --token glrt-… --executor docker --image debian:12
  $ PM_RUNNER_TOKEN=glrt-… pm-cli runner --url https://pm.example.com --concurrent 4 --builds /var/lib/pm-runner`,
    )
    .action(runUntilSignal);
}

async function runUntilSignal(options: RunnerOptions): Promise<void> {
  const { url, token, builds, concurrent, untilIdle = false, json = false } = options;
  const { executor, docker: program, image } = options;
  if (!url || !URL.canParse(url)) {
    throw new UsageError(
      "--url (or PM_RUNNER_URL) must be the server's address, such as http://localhost:3000",
    );
  }
  if (!token) {
    throw new UsageError(
      "--token (or PM_RUNNER_TOKEN) is missing: a runner is made on a project's or group's page of runners, or with POST /user/runners",
    );
  }
  const { runJobs } = await import("../runner/run.ts");
  const taking = new AbortController();
  const running = new AbortController();
  void signal().then(async () => {
    taking.abort();
    await nextSignal();
    running.abort();
  });
  await runJobs({
    ...{ url, token, concurrent, untilIdle },
    builds: resolve(builds),
    containers: executor === "docker" ? { program, image } : undefined,
    name: hostname(),
    taking: taking.signal,
    running: running.signal,
    tell: (event) => {
      const { message, ...about } = event;
      const more = Object.entries(about).map(([key, value]) => `${key} ${value}`);
      console.log(
        json
          ? JSON.stringify({ time: new Date().toISOString(), ...event })
          : [message, ...more].join(", "),
      );
    },
  });
}
