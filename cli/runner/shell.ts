import { type ChildProcess, spawn } from "node:child_process";

/** How a program ended. */
export interface Ended {
  /** `undefined` if it was killed. */
  readonly code: number | undefined;
}

/** Milliseconds that a program has to end by itself. */
const GRACE = 5000;

/**
 * Runs a program and all that it starts, until a signal ends them.
 *
 * @param input what it reads
 * @param write gets what it writes
 * @throws Error if it can't be started
 */
export function run(
  [program = "", ...args]: readonly string[],
  {
    cwd,
    env,
    input = "",
    write,
    signal,
  }: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly input?: string;
    readonly write: (text: string) => void;
    readonly signal: AbortSignal;
  },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve({ code: undefined });
    // A group of its own, so that its children end with it.
    const child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const stop = () => void end(child);
    signal.addEventListener("abort", stop, { once: true });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", write);
    // A program may end without reading.
    child.stdin.on("error", () => undefined).end(input);
    child.on("error", reject);
    child.on("exit", () => {
      // What it has left in the background must not hold its output open.
      setTimeout(() => {
        for (const stream of [child.stdout, child.stderr]) stream.destroy();
      }, GRACE).unref();
    });
    child.on("close", (code) => {
      signal.removeEventListener("abort", stop);
      resolve({ code: signal.aborted ? undefined : (code ?? 1) });
    });
  });
}

/** Ends a program with its children: by itself, if it does so soon. */
async function end(child: ChildProcess): Promise<void> {
  const kill = (name: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid as number), name);
    } catch {
      // They have ended.
    }
  };
  kill("SIGTERM");
  const left = setTimeout(() => kill("SIGKILL"), GRACE);
  child.on("close", () => clearTimeout(left));
}

/** A text as one word of a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Commands as a script for bash, or another shell of POSIX, which shows each before it runs, and ends with the first that fails.
 *
 * @param exported variables that are set before
 */
export const scriptOf = (
  commands: readonly string[],
  exported: Readonly<Record<string, string>> = {},
) =>
  [
    ...Object.entries(exported).map(([key, value]) => `export ${key}=${quoted(value)}`),
    "if (set -o pipefail) 2>/dev/null; then set -o pipefail; fi",
    "set -e",
    "set +o noclobber",
    ...commands.flatMap((command) => [
      `printf '%s\\n' ${quoted(`\u001b[32;1m$ ${shown(command)}\u001b[0m`)}`,
      command,
    ]),
    "",
  ].join("\n");

/** The first line of a command. */
function shown(command: string): string {
  const [first = "", ...rest] = command.trimEnd().split("\n");
  return rest.length > 0 ? `${first} # collapsed multi-line command` : first;
}
