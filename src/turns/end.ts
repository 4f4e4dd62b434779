// Tests of hosts may have replaced the global one.
import { setImmediate } from "node:timers";

/** What sends answers at the end of this turn. */
const senders: (() => void)[] = [];
/** Long work that waits to go on. */
const slices: (() => void)[] = [];
let isPlanned = false;

/**
 * Sends answers at the end of this turn of the event loop (decision 84), before long work goes on.
 *
 * @param send must not throw
 */
export function atTurnsEnd(send: () => void): void {
  senders.push(send);
  plan();
}

/** Waits for a turn of the event loop. One slice of long work goes on in each, however much of it there is (decision 84). */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    slices.push(resolve);
    plan();
  });
}

function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  setImmediate(endTurn);
}

function endTurn(): void {
  isPlanned = false;
  for (const send of senders.splice(0)) send();
  slices.shift()?.();
  if (slices.length > 0) plan();
}
