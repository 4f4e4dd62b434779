import { readFileSync } from "node:fs";

/** Ticks in a second, on every Linux. */
const TICKS = 100;

/**
 * CPU seconds that this process has used so far, and all processes that it started and that have ended. Unlike time by
 * the clock, they hardly depend on what else the machine does. On systems other than Linux: those of this process alone.
 */
export function cpuSeconds(): number {
  if (process.platform !== "linux") {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }
  // What precedes is the process's name, which may contain anything: see proc_pid_stat(5).
  const text = readFileSync("/proc/self/stat", "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user, system, userOfChildren, systemOfChildren] = fields.slice(11, 15).map(Number);
  return sum(user, system, userOfChildren, systemOfChildren) / TICKS;
}

const sum = (...values: (number | undefined)[]) => values.reduce<number>((a, b = 0) => a + b, 0);
