import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { ContainerOptions } from "./containers.ts";
import { runJob } from "./job.ts";
import type { Job } from "./payload.ts";
import { Server } from "./server.ts";

/** Something that the runner tells of. */
interface Told {
  readonly message: string;
  readonly [key: string]: string | number;
}

/** What a runner does, and where. */
export interface Running {
  readonly url: string;
  readonly token: string;
  /** The folder of files and caches. */
  readonly builds: string;
  /** What this machine is called. */
  readonly name: string;
  /** How steps run in containers; `undefined` for a shell of this machine. */
  readonly containers: ContainerOptions | undefined;
  readonly concurrent: number;
  /** Whether it ends when there is no job. */
  readonly untilIdle: boolean;
  /** Ends the taking of jobs. */
  readonly taking: AbortSignal;
  /** Ends the jobs that run. */
  readonly running: AbortSignal;
  readonly tell: (event: Told) => void;
}

/** Milliseconds between two questions to a server that does not wait, and that fails. */
const PAUSE = 3000;

/**
 * Takes jobs and runs them until it is stopped.
 *
 * @throws Failure if the server can't be reached, or does not know the token
 */
export async function runJobs(running: Running): Promise<void> {
  const { url, token, builds, name, concurrent, taking, tell } = running;
  const system = `s_${createHash("sha256").update(`${name} ${builds}`).digest("hex").slice(0, 12)}`;
  const server = new Server(url, token, system, running.containers ? "docker" : "shell");
  await server.verify();
  await mkdir(builds, { recursive: true });
  tell({ message: `waiting for jobs of ${url}` });
  await Promise.all(
    Array.from({ length: concurrent }, (_, slot) => runSlot({ ...running, tell }, server, slot)),
  );
  tell({ message: taking.aborted ? "stopped" : "there are no more jobs" });
}

/** Runs one job after another. */
async function runSlot(running: Running, server: Server, slot: number): Promise<void> {
  const { builds, containers, untilIdle, taking, tell } = running;
  while (!taking.aborted) {
    const asked = performance.now();
    let job: Job | undefined;
    try {
      job = await server.take(taking, !untilIdle);
    } catch (error) {
      if (taking.aborted) return;
      tell({ message: `the server does not answer: ${(error as Error).message}` });
    }
    if (!job) {
      if (untilIdle) return;
      await pause(PAUSE - (performance.now() - asked), taking);
      continue;
    }
    const started = performance.now();
    const about = { job: job.id, name: job.job_info.name };
    tell({ message: "started", ...about });
    const { state, isCanceled } = await runJob(
      server,
      job,
      { builds, containers, slot },
      running.running,
    );
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    tell({ message: isCanceled ? "canceled" : state, ...about, seconds });
  }
}

/** Waits, unless the signal comes first. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, Math.max(0, milliseconds));
    signal.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
