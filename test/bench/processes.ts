import { type ChildProcess, type StdioOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";

const SERVER_CORE = 0;
const DRIVER_CORE = 1;

/** Whether servers and their driver can be pinned to a core each. */
export const pinned = availableParallelism() > 1 && spawnSync("taskset", ["-V"]).status === 0;

/** Pins this process to the driver's core. Its children would inherit that: see {@link start}. */
export function pinDriver(): void {
  if (pinned) spawnSync("taskset", ["-acp", String(DRIVER_CORE), String(process.pid)]);
}

/** The program that runs a script: a command with its first arguments, and additions to the environment. */
export interface Runtime {
  command: readonly string[];
  env?: Record<string, string>;
}

const NODE: Runtime = { command: [process.execPath] };

/** Starts a script on the servers' core. */
function start(
  args: readonly string[],
  stdio: "pipe" | "ignore" | number,
  runtime = NODE,
): ChildProcess {
  const onCore = pinned ? ["taskset", "-c", String(SERVER_CORE)] : [];
  const [command, ...before] = [...onCore, ...runtime.command] as [string, ...string[]];
  // The servers stop at the end of standard input, so it stays open.
  const io = stdio === "pipe" ? ["pipe", "inherit"] : [stdio, stdio];
  const child = spawn(command, [...before, ...args], {
    stdio: ["pipe", ...io] as StdioOptions,
    env: { ...process.env, ...runtime.env },
  });
  // A server that outlives the benchmark would keep stderr open, for which a shell waits.
  const end = () => child.kill();
  process.once("exit", end);
  child.once("exit", () => process.off("exit", end));
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, "exit");
}

/** A server of `servers/`, which reports its address and CPU time. */
export interface Server {
  url: string;
  /** CPU time used so far, in microseconds. */
  cpu(): Promise<number>;
  /** Purges old events, and returns how many. */
  purge(): Promise<number>;
  /** Current memory in bytes. */
  resident(): number;
  stop(): Promise<void>;
}

/** Starts a script of `servers/`, by default on this Node, and waits until it listens. */
export async function startServer(args: readonly string[], runtime?: Runtime): Promise<Server> {
  const child = start(args, "pipe", runtime);
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error("the server has no pipes");
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const hear = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${args.join(" ")} ended early`);
    return JSON.parse(value) as { url: string; cpu: number; purged: number };
  };
  const { url } = await hear();
  return {
    url,
    cpu: async () => {
      stdin.write("usage\n");
      return (await hear()).cpu;
    },
    purge: async () => {
      stdin.write("purge\n");
      return (await hear()).purged;
    },
    resident: () => residentOf(child.pid as number),
    stop: () => stop(child),
  };
}

/** Milliseconds `node -e 0` takes. */
export async function timeNode(): Promise<number> {
  const started = performance.now();
  await once(start(["-e", "0"], "ignore"), "exit");
  return performance.now() - started;
}

/** A server that was just started. */
export interface Started {
  /** Milliseconds from the start of the process to the first 200. */
  firstAnswer: number;
  /** Current memory in bytes. */
  resident(): number;
  stop(): Promise<void>;
}

/** Starts a server and polls it until it answers with 200. */
export async function timeStart(
  args: readonly string[],
  url: string,
  headers: Record<string, string>,
): Promise<Started> {
  const started = performance.now();
  const child = start(args, "ignore");
  while ((await statusOf(url, headers)) !== 200) {
    if (child.exitCode !== null) throw new Error(`node ${args.join(" ")} ended early`);
  }
  return {
    firstAnswer: performance.now() - started,
    resident: () => residentOf(child.pid as number),
    stop: () => stop(child),
  };
}

/** Ticks of the clock in a second, by which Linux counts CPU time. */
const TICKS = 100;

/**
 * Starts a server that is told nothing, such as `pm-cli serve`, and waits until it answers with 200. Only Linux tells its
 * CPU time.
 *
 * @param log the file that it writes to
 */
export async function startProgram(
  args: readonly string[],
  url: string,
  headers: Record<string, string>,
  log: string,
): Promise<Pick<Server, "url" | "cpu" | "stop">> {
  const child = start(args, openSync(log, "w"));
  while ((await statusOf(`${url}/api/v4/version`, headers)) !== 200) {
    if (child.exitCode !== null) throw new Error(`node ${args.join(" ")} ended early`);
  }
  return {
    url,
    cpu: async () => {
      const text = readFileSync(`/proc/${child.pid}/stat`, "latin1");
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS;
    },
    stop: () => stop(child),
  };
}

/** The status of an answer, or `undefined` if nobody listens yet. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { headers, agent: false }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    }).once("error", () => resolve(undefined));
  });
}

function residentOf(pid: number): number {
  if (process.platform === "linux") {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(line?.[1]) * 1024;
  }
  return Number(spawnSync("ps", ["-o", "rss=", "-p", String(pid)]).stdout) * 1024;
}

/** A free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
