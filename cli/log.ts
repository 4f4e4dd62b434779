import { writeSync } from "node:fs";
import { describe } from "./errors.ts";

const STDOUT = 1;
/** Bytes that are written to a pipe atomically (POSIX's PIPE_BUF), so that lines of several processes don't mix. */
const WHOLE = 4096;
/** How long, in milliseconds, a line waits for others. */
const WAIT = 5;
/** The length texts are cut to if a line is longer than that. */
const CUT = 500;

/** Lines that are not written yet: one write for several takes a fraction of their time. */
let waiting = "";
let waitingBytes = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * Logs a request to standard output, as JSON: at once with those of the same few milliseconds, and at the latest when the
 * process ends.
 */
export function log(entry: object): void {
  const line = `${lineOf(entry)}\n`;
  const bytes = Buffer.byteLength(line);
  if (waitingBytes + bytes > WHOLE) flush();
  waiting += line;
  waitingBytes += bytes;
  if (timer !== undefined) return;
  timer = setTimeout(flush, WAIT);
  timer.unref();
}

/** Writes what waits. */
function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  const text = waiting;
  waiting = "";
  waitingBytes = 0;
  if (text !== "") write(text);
}

/** Writes to standard output, and ends when that is done. Nobody can be told if it fails, as when a pipe is closed. */
function write(text: string): void {
  let left: Uint8Array = Buffer.from(text);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(STDOUT, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      // A pipe that is full: its reader needs a moment.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT);
    }
  }
}

// Deno has no `exit` event after an exception that nobody caught.
for (const event of ["exit", "uncaughtExceptionMonitor"] as const) process.on(event, flush);

/** Logs an event. */
export function say(message: string, more: object): void {
  log({ time: now(), message, ...more });
  flush();
}

/** Writes a warning to standard error. */
export function warn(message: string): void {
  flush();
  console.error(lineOf({ time: now(), message: `warning: ${message}` }));
}

/** Writes a failure to standard error. */
export function report(error: unknown): void {
  flush();
  console.error(lineOf({ time: now(), ...describe(error) }));
}

const now = () => new Date().toISOString();

function lineOf(entry: object): string {
  const line = JSON.stringify(entry);
  // A character takes three bytes at most.
  if (3 * line.length < WHOLE || Buffer.byteLength(line) < WHOLE) return line;
  return JSON.stringify(entry, (_, value: unknown) =>
    typeof value === "string" && value.length > CUT ? `${value.slice(0, CUT)}…` : value,
  );
}
