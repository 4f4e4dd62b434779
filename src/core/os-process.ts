import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** A process of an operating system, as others recognize it. */
export interface OsProcess {
  /** The machine, or the container, that gave it its number; `""` if unknown. */
  readonly machine: string;
  readonly pid: number;
  /** When it was started, in the system's own unit, as numbers are used again; `""` if unknown. */
  readonly started: string;
}

/** This process. */
export function thisProcess(): OsProcess {
  return {
    machine: machine(),
    pid: process.pid,
    started: infoOf(process.pid)?.started ?? "",
  };
}

/** Whether a process of this machine has certainly ended; `false` if it can't be told, as of another machine's. */
export function hasEnded({ machine: of, pid, started }: OsProcess): boolean {
  if (of === "" || of !== machine()) return false;
  if (!isPidUsed(pid)) return true;
  const info = infoOf(pid);
  return info !== undefined && (info.isZombie || (started !== "" && info.started !== started));
}

/** Whether there is a process with a number. */
function isPidUsed(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One of another user may not be signalled, but is there.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** What Linux tells of a process (proc_pid_stat(5)); `undefined` elsewhere, or if it does not tell. */
function infoOf(pid: number): { started: string; isZombie: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // After the program's name, which may have anything in it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { started: fields[19] as string, isZombie: fields[0] === "Z" };
  } catch {
    return undefined;
  }
}

let known: string | undefined;

/** On Linux, containers number their processes themselves. Deno does not let programs look. */
function machine(): string {
  if (process.versions["deno"]) return "";
  known ??= linuxMachine() ?? hostname();
  return known;
}

function linuxMachine(): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}
