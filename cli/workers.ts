import cluster, { type Worker } from "node:cluster";
import { Failure, WorkerFailure } from "./errors.ts";
import { say } from "./log.ts";
import { nextSignal, signal } from "./signals.ts";

/** A worker that lives this long, in milliseconds, has started well. */
const WELL = 10_000;
const LONGEST_PAUSE = 30_000;
const STOP = "stop";

// Workers accept by themselves. Where this process hands connections out, those on their way to a worker that dies are
// never answered and never closed: their clients hang.
cluster.schedulingPolicy = cluster.SCHED_NONE;

/** Whether this process is one of several that {@link superviseWorkers} started. */
export const isWorker = cluster.isWorker;

/** A worker: tells its supervisor where it listens. */
export function announce(url: string): void {
  process.send?.({ url });
}

/**
 * A worker: waits until it is to end. A Ctrl-C at the terminal reaches every process, and is for the supervisor; a
 * SIGTERM may come from it and from who stops the whole service.
 */
export function stopped(): Promise<void> {
  process.on("SIGINT", () => undefined);
  return new Promise((resolve) => {
    process.on("SIGTERM", () => resolve());
    process.on("message", (message) => {
      if (message === STOP) resolve();
    });
  });
}

/**
 * Runs this program `count` times on one address, starts anew what ends, and ends all when it gets a signal.
 *
 * @throws WorkerFailure where the first one can't start
 * @throws Failure on a second signal
 */
export async function superviseWorkers(count: number): Promise<void> {
  const ended = signal();
  const first = cluster.fork();
  // The others would say the same of what keeps it from starting.
  const url = await started(first);
  const others = Array.from({ length: count - 1 }, () => cluster.fork());
  const stopping = new AbortController();
  const running = [first, ...others].map((worker) => keepAlive(worker, stopping.signal));
  // Where one of them fails, another is started.
  await Promise.race([Promise.allSettled(others.map(started)), ended]);
  say("listening", { url, workers: count });
  say("stopping", { signal: await ended });
  stopping.abort();
  for (const worker of Object.values(cluster.workers ?? {})) end(worker as Worker);
  await Promise.race([Promise.all(running), killAtNextSignal()]);
}

/** Where a worker listens. @throws WorkerFailure where it ends before that */
function started(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.once("message", ({ url }: { url: string }) => resolve(url));
    worker.once("exit", (code: number | null, name: string | null) => {
      const told = new WorkerFailure(code === 2 ? 2 : 1);
      reject(name ? new Failure(`the first worker was ended by ${name}`) : told);
    });
  });
}

/** Starts a worker in place of one that ended, later each time where they end soon. */
async function keepAlive(first: Worker, stopping: AbortSignal): Promise<void> {
  let failures = 0;
  for (let worker = first; ; worker = cluster.fork()) {
    const begun = performance.now();
    // One that was still starting when the others were told to end hears it now.
    worker.on("message", () => stopping.aborted && end(worker));
    const [code, signalled] = await new Promise<[number | null, string | null]>((resolve) => {
      worker.once("exit", (...how) => resolve(how));
    });
    if (stopping.aborted) return;
    say("worker ended", {
      pid: worker.process.pid,
      ...(signalled ? { signal: signalled } : { code }),
    });
    failures = performance.now() - begun < WELL ? failures + 1 : 0;
    if (failures > 1) await pause(Math.min(2 ** failures * 100, LONGEST_PAUSE), stopping);
    if (stopping.aborted) return;
  }
}

/** Tells a worker to end; one that is gone has nothing to hear. */
function end(worker: Worker): void {
  if (worker.isConnected()) worker.send(STOP, () => undefined);
}

function pause(milliseconds: number, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    stopping.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function killAtNextSignal(): Promise<never> {
  const name = await nextSignal();
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL");
  throw new Failure(`${name} again: ended before everything was answered`);
}
