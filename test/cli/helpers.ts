import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { newFolder as newDatabaseFolder } from "../folder.ts";

/** The built program, run by this Node or another. */
export const script = fileURLToPath(new URL("../../dist/pm-cli.js", import.meta.url));

/** The command before the arguments: the built program on this Node, or the binary that TEST_PM_CLI names. */
export const program: readonly string[] = process.env["TEST_PM_CLI"]
  ? [process.env["TEST_PM_CLI"]]
  : [process.execPath, script];

/** {@link program}, quoted for a shell. */
export const shellCommand = program.map((part) => `'${part}'`).join(" ");

/** The repository's root. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The result of a run. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** How a program is started, beside its arguments. */
export interface Surroundings {
  cwd?: string;
  /** Added to the tests' environment, without that one's pm-api settings. */
  env?: Record<string, string>;
  /** Standard input, which is not a terminal. */
  input?: string;
  /** A command with flags that runs the program. */
  through?: string[];
}

/** Creates an empty folder; `remove` deletes it. */
export function newFolder(): { path: string; remove: () => void } {
  const path = newDatabaseFolder();
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** The environment without settings of database and port, and without colours. */
export function environment(more: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^(PM_|npm_)/.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), NO_COLOR: "1", ...more };
}

/** Runs `pm-cli` to completion. */
export async function run(args: string[], surroundings: Surroundings = {}): Promise<Ran> {
  const { cwd = tmpdir(), env, input = "", through = [] } = surroundings;
  const [command, ...rest] = [...through, ...program, ...args];
  const child = spawn(command as string, rest, { cwd, env: environment(env) });
  child.stdin.on("error", () => undefined).end(input);
  const output = collect(child);
  await once(child, "close");
  return { code: child.exitCode, ...output };
}

/** Runs `pm-cli` with `--json` and returns the parsed output; it must not fail. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
export async function runJson(args: string[], surroundings: Surroundings = {}): Promise<any> {
  const { code, stdout, stderr } = await run([...args, "--json"], surroundings);
  if (code !== 0) throw new Error(`pm-cli ${args.join(" ")} failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** A line of the log. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
type LogLine = any;

/** A listening `pm-cli serve`. */
export interface Serving extends Ran {
  url: string;
  child: ChildProcess;
  /** Standard output, parsed. */
  log: () => LogLine[];
  /** Requests `/api/v4` + path. */
  get: (path: string, token?: string) => Promise<Response>;
  /** Waits for a line of the log. */
  logged: (isIt: (line: LogLine) => boolean) => Promise<LogLine>;
  /** Sends a signal and waits for the exit. */
  stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Starts `pm-cli serve` on a free port and waits until it listens. */
export async function startServing(
  args: string[],
  { cwd = tmpdir(), env, through = [] }: Surroundings = {},
): Promise<Serving> {
  const [command, ...rest] = [...through, ...program, "serve", ...args];
  const child = spawn(command as string, rest, {
    cwd,
    env: environment({ PM_PORT: "0", ...env }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  const serving: Serving = Object.assign(collect(child), {
    url: "",
    code: null,
    child,
    log: () =>
      serving.stdout
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)),
    get: (path: string, token?: string) =>
      fetch(`${serving.url}/api/v4${path}`, {
        headers: { connection: "close", ...(token ? { "private-token": token } : {}) },
      }),
    logged: (isIt: (line: LogLine) => boolean) =>
      until(child, () => completeLines(serving.stdout).find(isIt)),
    stop: async (signal: NodeJS.Signals = "SIGTERM") => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
      return child.exitCode;
    },
  });
  serving.url = (await serving.logged(({ message }) => message === "listening")).url;
  return serving;
}

/** Collects a child's output into an object that fills while it runs. */
export function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  return output;
}

/** Waits until `find` returns something for a child's output. */
export async function until<T>(child: ChildProcess, find: () => T | undefined): Promise<T> {
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`ended with ${child.exitCode ?? child.signalCode} before that`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function completeLines(text: string): LogLine[] {
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
