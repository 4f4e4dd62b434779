import cluster, { type Worker } from "node:cluster";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "../src/index.ts";
import { type RequestOptions, serveConnections } from "../src/node.ts";
import { Failure, WorkerFailure } from "./errors.ts";
import { report, say } from "./log.ts";
import { merged } from "./metrics.ts";
import { type Answered, type Offered, Reception } from "./reception.ts";
import { isOneFile } from "./self.ts";
import { nextSignal, signal } from "./signals.ts";

/** A worker that lives this long, in milliseconds, counts as healthy. */
const WELL = 10_000;
const LONGEST_PAUSE = 30_000;
/** Asks a worker for its metrics. */
const MEASURE = "measure";
/** How long a worker may take to answer that, in milliseconds. */
const MEASURING = 2000;
const STOP = "stop";
const READY = "ready";

// The single-file binary has no script to name, so the command takes the place of the script.
if (cluster.isPrimary && isOneFile) {
  const [exec, ...args] = process.argv.slice(2);
  cluster.setupPrimary({ exec: exec as string, args });
}

/** Whether this process is one of several that {@link superviseWorkers} started. */
export const isWorker = cluster.isWorker;

/**
 * Runs a worker: serves the connections its supervisor passes to it until it is told to stop, then finishes running
 * requests. It ignores SIGINT, since Ctrl-C at a terminal reaches every process and is handled by the supervisor; a
 * SIGTERM stops it, as service managers send one to every process.
 */
export async function serveSupervised(
  app: Pick<App, "respond" | "admin">,
  options: RequestOptions,
): Promise<void> {
  const server = serveConnections(app, options);
  const send = (message: Answered | Measured | typeof READY) => process.send?.(message);
  let ending = false;
  process.on("SIGINT", () => undefined);
  await new Promise<void>((resolve) => {
    process.on("SIGTERM", () => resolve());
    type Received = Offered | typeof STOP | typeof MEASURE;
    process.on("message", (message: Received, connection: Socket | undefined) => {
      if (message === STOP) return resolve();
      if (message === MEASURE) {
        app.admin.metrics().then((metrics) => send({ metrics }), report);
        return;
      }
      // Reply before reading: otherwise another worker could get the connection with part of the request already read.
      send({ connection: message.connection, taken: !ending });
      if (ending) connection?.destroy();
      else if (connection) server.take(connection);
    });
    send(READY);
  });
  ending = true;
  await server.close();
}

/**
 * Runs `count` workers, passes them the connections to one address, restarts workers that exit, and stops all of them
 * on a signal.
 *
 * @param onListening called with the address and the number of workers
 * @throws WorkerFailure if the first worker can't start
 * @throws Failure on a second signal
 * @throws the system's error if the address can't be listened on
 */
export async function superviseWorkers(
  count: number,
  host: string,
  port: number,
  onListening: (where: object) => void,
): Promise<void> {
  const ended = signal();
  const reception = new Reception();
  const first = cluster.fork();
  // Start the first worker alone: if it can't start, the others would only repeat its error.
  await started(first);
  reception.add(first);
  const url = await reception.listen(host, port);
  const stopping = new AbortController();
  const fork = () => {
    const worker = cluster.fork();
    const ready = started(worker);
    ready.then(
      () => (stopping.signal.aborted ? end(worker) : reception.add(worker)),
      () => undefined,
    );
    return { worker, ready };
  };
  const others = Array.from({ length: count - 1 }, fork);
  const running = [first, ...others.map(({ worker }) => worker)].map((worker) =>
    keepAlive(worker, () => fork().worker, stopping.signal),
  );
  // If one of them fails, it is restarted.
  await Promise.race([Promise.allSettled(others.map(({ ready }) => ready)), ended]);
  onListening({ url, workers: count });
  say("stopping", { signal: await ended });
  stopping.abort();
  reception.close();
  for (const worker of Object.values(cluster.workers ?? {})) end(worker as Worker);
  await Promise.race([Promise.all(running), killAtNextSignal()]);
}

/** A worker's answer to {@link MEASURE}. */
interface Measured {
  metrics: string;
}

/** The metrics of all workers that answer, each with its number as the label `process`. */
export async function metricsOfWorkers(): Promise<string> {
  const texts = new Map<string, string>();
  const ask = async (worker: Worker) => {
    const text = await metricsOf(worker);
    if (text !== undefined) texts.set(String(worker.id), text);
  };
  await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => ask(worker as Worker)));
  return merged(texts);
}

/** The metrics of a worker; `undefined` if it is busy, has just begun or is about to end. */
function metricsOf(worker: Worker): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (metrics?: string) => {
      clearTimeout(timer);
      worker.off("message", receive);
      resolve(metrics);
    };
    const receive = (message: Measured | object) => {
      if ("metrics" in message) end(message.metrics);
    };
    const timer = setTimeout(end, MEASURING);
    worker.on("message", receive);
    worker.send(MEASURE, (error) => error && end());
  });
}

/** Waits until a worker is ready for connections. @throws WorkerFailure if it exits before that */
function started(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once("message", () => resolve());
    worker.once("exit", (code: number | null, name: string | null) => {
      const failure = new WorkerFailure(code === 2 ? 2 : 1);
      reject(name ? new Failure(`the first worker was killed by ${name}`) : failure);
    });
  });
}

/** Restarts a worker whenever it exits, after growing pauses if it keeps exiting soon. */
async function keepAlive(first: Worker, next: () => Worker, stopping: AbortSignal): Promise<void> {
  let failures = 0;
  for (let worker = first; ; worker = next()) {
    const begun = performance.now();
    const [code, signalled] = await new Promise<[number | null, string | null]>((resolve) => {
      worker.once("exit", (...how) => resolve(how));
    });
    if (stopping.aborted) return;
    say("worker ended", {
      pid: worker.process.pid,
      ...(signalled ? { signal: signalled } : { code }),
    });
    failures = performance.now() - begun < WELL ? failures + 1 : 0;
    if (failures > 1) {
      const pause = Math.min(2 ** failures * 100, LONGEST_PAUSE);
      await sleep(pause, undefined, { signal: stopping }).catch(() => undefined);
    }
    if (stopping.aborted) return;
  }
}

/** Tells a worker to stop, if it is still running. */
function end(worker: Worker): void {
  if (worker.isConnected()) worker.send(STOP, () => undefined);
}

async function killAtNextSignal(): Promise<never> {
  const name = await nextSignal();
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL");
  throw new Failure(`${name} again: ended before everything was answered`);
}
