import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "../src/index.ts";
import { report, say } from "./log.ts";
import { type Child, runSelf } from "./self.ts";

/** How often each process asks whether a backup is due, in milliseconds, at most. */
const LONGEST_INTERVAL = 60_000;
/** How long a server that ends waits for a backup that is being written. */
const GRACE = 10_000;

/** Which backups are written. */
export interface BackupPlan {
  db: string;
  /** The folder they are written to. */
  backupDir: string;
  /** Seconds between two. */
  backupEvery: number;
  /** How many are kept. */
  backupKeep: number;
}

/**
 * Writes backups now and then, of all processes on a database one, in a process of their own: copying a database holds
 * up whoever does it.
 *
 * @returns what ends that, after the backup that is being written
 */
export function backUpRegularly({ admin }: App, plan: BackupPlan): () => Promise<void> {
  const every = plan.backupEvery * 1000;
  let child: Child | undefined;
  let ended = false;
  const write = async () => {
    const { db, backupDir, backupKeep } = plan;
    const to = ["--dir", backupDir, "--keep", String(backupKeep)];
    child = runSelf(["db", "backup", ...to, "--db", db, "--json"]);
    const { file, bytes, removed } = JSON.parse(await child.output);
    say("backed up", { file, bytes, removed });
  };
  const tryTo = () => admin.runJob({ name: "backup", every }, write);
  let running = Promise.resolve();
  const writeIfDue = () => {
    running = tryTo().then(
      () => undefined,
      (error: Error) => {
        if (!ended) report(new Error(`no backup was written: ${error.message}`, { cause: error }));
      },
    );
    void running.then(() => {
      if (!ended) timer = setTimeout(writeIfDue, Math.min(every / 4, LONGEST_INTERVAL));
    });
  };
  let timer = setTimeout(writeIfDue, 0);
  return async () => {
    ended = true;
    clearTimeout(timer);
    const late = new AbortController();
    const giveUp = sleep(GRACE, undefined, { signal: late.signal }).then(
      () => child?.kill(),
      () => undefined,
    );
    await Promise.race([running, giveUp]);
    late.abort();
    await running;
  };
}
