import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";

const SERVER_CORE = 0;
const DRIVER_CORE = 1;

/** Whether servers and their driver can each be given a core of their own. */
export const pinned = availableParallelism() > 1 && spawnSync("taskset", ["-V"]).status === 0;

/** Moves this process to the driver's core. Its children would inherit that: see {@link start}. */
export function pinDriver(): void {
  if (pinned) spawnSync("taskset", ["-acp", String(DRIVER_CORE), String(process.pid)]);
}

/** What runs a script: a command with its first arguments, and what its environment has beside ours. */
export interface Runtime {
  command: readonly string[];
  env?: Record<string, string>;
}

const NODE: Runtime = { command: [process.execPath] };

/** Starts a script on the servers' core. */
function start(args: readonly string[], stdio: "pipe" | "ignore", runtime = NODE): ChildProcess {
  const onCore = pinned ? ["taskset", "-c", String(SERVER_CORE)] : [];
  const [command, ...before] = [...onCore, ...runtime.command] as [string, ...string[]];
  // The servers end with their standard input, so it is open in any case.
  const io = stdio === "pipe" ? ["pipe", "inherit"] : ["ignore", "ignore"];
  const child = spawn(command, [...before, ...args], {
    stdio: ["pipe", ...io] as ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...runtime.env },
  });
  // A server that outlives the bench keeps what it writes errors to open, for which a shell waits.
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

/** A server of `servers/`, which says where it listens and what it has used. */
export interface Server {
  url: string;
  /** CPU time used until now, in microseconds. */
  cpu(): Promise<number>;
  /** Removes the events that are too old, and gives how many. */
  purge(): Promise<number>;
  /** Bytes in memory now. */
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

/** Milliseconds that `node -e 0` takes. */
export async function timeNode(): Promise<number> {
  const started = performance.now();
  await once(start(["-e", "0"], "ignore"), "exit");
  return performance.now() - started;
}

/** A server that was just started. */
export interface Started {
  /** Milliseconds from the start of the process to the first 200. */
  firstAnswer: number;
  /** Bytes in memory now. */
  resident(): number;
  stop(): Promise<void>;
}

/** Starts a server and asks it until it answers with 200. */
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

/** The status of an answer, or `undefined` while nobody listens. */
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

/** A port nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
