import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { overloaded } from "./errors.ts";

/** What a thread is asked: to hash a password at a cost, or to compare it with a hash. */
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

/** Jobs that wait for a thread: some seconds of work. */
const MOST_WAITING = 100;
/** One core stays for answering everything else. */
const MOST_THREADS = Math.max(1, Math.min(4, availableParallelism() - 1));

/** The threads' script, beside this file: as it is in the source, and as it is built. */
function script(): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? "./passwords-worker.mjs" : "./passwords-worker.js", import.meta.url);
}

let threads: Thread[] = [];
const waiting: Job[] = [];
let owners = 0;
/** Where threads can't be started, as in a bundle without the worker's file, bcrypt runs here. */
let isAlone = false;

/**
 * Keeps threads alive that are started for passwords. All applications of a process share them.
 *
 * @returns what gives them up; with the last owner they end, when they have answered
 */
export function keepPasswordThreads(): () => void {
  owners += 1;
  let isKept = true;
  return () => {
    if (isKept) owners -= 1;
    isKept = false;
    endIdle();
  };
}

/**
 * Runs bcrypt on another thread, which is started with the first task.
 *
 * @throws ApiError 503 where too many wait already
 */
export async function runOnThread(task: PasswordTask): Promise<string | boolean> {
  if (isAlone) return runHere(task);
  if (waiting.length >= MOST_WAITING) throw overloaded();
  const answer = new Promise<string | boolean>((resolve, reject) => {
    waiting.push({ task, resolve, reject });
  });
  void start();
  return answer;
}

let starting: Promise<void> | undefined;

/** Gives what waits to threads that are free, and starts one more where all are busy. */
async function start(): Promise<void> {
  assign();
  while (waiting.length > 0 && threads.length < MOST_THREADS && !isAlone) {
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
    // A process stays until its passwords are hashed, and not for a thread that waits.
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

/** A thread that fails has no script, or no memory: what it was asked is done here, and so is all from then on. */
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
  if (owners > 0 || waiting.length > 0) return;
  for (const thread of threads.filter(({ job }) => !job)) void thread.worker.terminate();
  threads = threads.filter(({ job }) => job);
}
