import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { unavailable } from "../core/errors.ts";

/** A task for a thread: hash a password at a cost, or compare it with a hash. */
export type PasswordTask = { password: string; cost: number } | { password: string; hash: string };

interface Job {
  task: PasswordTask;
  resolve: (answer: string | boolean) => void;
  reject: (error: unknown) => void;
}

interface Thread {
  worker: Worker;
  job: Job | undefined;
}

/** Maximum jobs waiting for a thread: some seconds of work. */
const MAX_WAITING = 100;
/** Leaves one core for everything else. */
const MAX_THREADS = Math.max(1, Math.min(4, availableParallelism() - 1));

/** The threads' script, beside this file, in the source or in the build. */
function script(): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? "./passwords-worker.mjs" : "./passwords-worker.js", import.meta.url);
}

let threads: Thread[] = [];
const waiting: Job[] = [];
/** For each owner, the cost of the hashes it lets be made. */
const owners: number[] = [];
/** Set if threads can't be started, as in a bundle without the worker's file: then bcrypt runs on this thread. */
let isAlone = false;

/** bcrypt's logarithmic cost. */
const COST = 10;

/** bcrypt's logarithmic cost of passwords hashed now. */
export function passwordCost(): number {
  return Math.min(COST, ...owners);
}

/**
 * Keeps the password threads alive once they are started. All applications of a process share them.
 *
 * @param cost tests lower bcrypt's cost with it, until they release the threads
 * @returns a function that releases them; after the last release they end as soon as their work is done
 */
export function keepPasswordThreads(cost = COST): () => void {
  owners.push(cost);
  let isHeld = true;
  return () => {
    if (isHeld) owners.splice(owners.indexOf(cost), 1);
    isHeld = false;
    endIdle();
  };
}

/**
 * Runs bcrypt on another thread, started with the first task.
 *
 * @throws ApiError 503 if too many tasks are already waiting
 */
export async function runOnThread(task: PasswordTask): Promise<string | boolean> {
  if (isAlone) return runHere(task);
  if (waiting.length >= MAX_WAITING) throw unavailable();
  const answer = new Promise<string | boolean>((resolve, reject) => {
    waiting.push({ task, resolve, reject });
  });
  void start();
  return answer;
}

let starting: Promise<void> | undefined;

/** Assigns waiting jobs to free threads, and starts more threads while all are busy. */
async function start(): Promise<void> {
  assign();
  while (waiting.length > 0 && threads.length < MAX_THREADS && !isAlone) {
    starting ??= startThread().finally(() => {
      starting = undefined;
    });
    await starting;
    assign();
  }
}

async function startThread(): Promise<void> {
  try {
    const { Worker: Thread } = await import("node:worker_threads");
    const thread: Thread = {
      worker: new Thread(script()),
      job: undefined,
    };
    thread.worker.on("message", (answer: string | boolean) => {
      const { job } = thread;
      free(thread);
      job?.resolve(answer);
    });
    thread.worker.on("error", () => lose(thread));
    thread.worker.unref();
    threads.push(thread);
  } catch {
    runAllHere();
  }
}

function assign(): void {
  for (const thread of threads) {
    if (thread.job) continue;
    const job = waiting.shift();
    if (!job) return;
    thread.job = job;
    // Keeps the process alive until its passwords are hashed; an idle thread does not.
    thread.worker.ref();
    thread.worker.postMessage(job.task);
  }
}

function free(thread: Thread): void {
  thread.job = undefined;
  thread.worker.unref();
  assign();
  endIdle();
}

/** A thread that fails has no script, or no memory: its job and all later ones run on this thread. */
function lose(thread: Thread): void {
  threads = threads.filter((one) => one !== thread);
  if (thread.job) waiting.unshift(thread.job);
  runAllHere();
}

function runAllHere(): void {
  isAlone = true;
  for (const { task, resolve, reject } of waiting.splice(0)) runHere(task).then(resolve, reject);
}

async function runHere(task: PasswordTask): Promise<string | boolean> {
  const { compare, hash } = await import("bcryptjs");
  return "hash" in task ? compare(task.password, task.hash) : hash(task.password, task.cost);
}

function endIdle(): void {
  if (owners.length > 0 || waiting.length > 0) return;
  for (const thread of threads.filter(({ job }) => !job)) void thread.worker.terminate();
  threads = threads.filter(({ job }) => job);
}
