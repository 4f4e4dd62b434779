import type { Log } from "./log.ts";

/** How long something is waited for. */
export interface WaitOptions {
  /** In milliseconds. Default 5000. */
  timeout?: number | undefined;
}

/** What was waited for has not arrived in time. */
export class NothingArrived extends Error {
  override get name() {
    return "NothingArrived" as const;
  }
}

const TIMEOUT = 5000;
/** The last entries that are told to who has waited in vain. */
const TOLD = 10;

/**
 * Waits for an entry of a log.
 *
 * @param what its entries are, such as `request`
 * @throws NothingArrived
 */
export async function waitIn<Entry extends object>(
  log: Log<Entry>,
  fits: (entry: Entry) => boolean,
  { timeout = TIMEOUT }: WaitOptions,
  what: string,
  textOf: (entry: Entry) => string,
): Promise<Entry> {
  const found = await log.wait(fits, timeout);
  if (found) return found;
  const others = log.entries.slice(-TOLD).map(textOf);
  const instead =
    others.length === 0 ? `no other ${what} either` : `instead of it: ${others.join("; ")}`;
  throw new NothingArrived(`No such ${what} within ${timeout} ms, ${instead}`);
}
