import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "../src/index.ts";
import { report, say } from "./log.ts";
import { type Child, runSelf } from "./self.ts";

/** The longest pause between two checks whether a backup is due, in milliseconds. */
const LONGEST_INTERVAL = 60_000;
/** How long a closing server waits for a running backup, in milliseconds. */
const GRACE = 10_000;

/** The settings of regular backups. */
export interface BackupPlan {
  db: string;
  /** The folder they are written to. */
  backupDir: string;
  /** Seconds between two backups. */
  backupEvery: number;
  /** How many backups to keep. */
  backupKeep: number;
}

/**
 * Writes regular backups, in one of the processes that share the database. A child process does the copying, which
 * would block this one.
 *
 * @returns a function that stops the backups, after a running one has finished
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
  const tryTo = () => admin.maintenance.runJob({ name: "backup", every }, write);
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
