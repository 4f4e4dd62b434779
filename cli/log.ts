import { describe } from "./errors.ts";

/** Bytes that are written to a pipe atomically (POSIX's PIPE_BUF), so that lines of several processes don't mix. */
const WHOLE = 4096;
/** The length texts are cut to if a line is longer than that. */
const CUT = 500;

/** Writes a line of the log to standard output, as JSON. */
export function log(entry: object): void {
  console.log(lineOf(entry));
}

/** Logs an event. */
export function say(message: string, more: object): void {
  log({ time: now(), message, ...more });
}

/** Writes a warning to standard error. */
export function warn(message: string): void {
  console.error(lineOf({ time: now(), message: `warning: ${message}` }));
}

/** Writes a failure to standard error. */
export function report(error: unknown): void {
  console.error(lineOf({ time: now(), ...describe(error) }));
}

const now = () => new Date().toISOString();

function lineOf(entry: object): string {
  const line = JSON.stringify(entry);
  if (line.length < WHOLE && Buffer.byteLength(line) < WHOLE) return line;
  return JSON.stringify(entry, (_, value: unknown) =>
    typeof value === "string" && value.length > CUT ? `${value.slice(0, CUT)}…` : value,
  );
}
