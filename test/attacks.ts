import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";
import { Pace } from "../src/turns/pace.ts";

const text = `[${"0,".repeat(512 * 1024 - 1)}0]`;

/** How long it takes at the moment to parse 1 MiB of JSON, in milliseconds: what turns are measured by. */
function usual(): number {
  let least = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 5; times += 1) {
    const before = performance.now();
    JSON.parse(text);
    least = Math.min(least, performance.now() - before);
  }
  return least;
}

/** The longest turn of the event loop in a time, of those that this process did not spend waiting for a processor. */
async function longestTurnOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let [since, used] = [performance.now(), process.cpuUsage()];
  const turn = () => {
    const { user, system } = process.cpuUsage(used);
    longest = Math.max(longest, Math.min(performance.now() - since, (user + system) / 1000));
    [since, used] = [performance.now(), process.cpuUsage()];
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  // It may have taken no more than one turn.
  await nextTurn();
  isOver = true;
  return longest;
}

/**
 * The longest turn of the event loop while something is done, in times of parsing 1 MiB of JSON: the least of several tries,
 * as others use the machine, too.
 *
 * @param enough no more tries are made once it is less
 */
export async function longestTurn(work: () => Promise<unknown>, enough = 4): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 8 && least > enough; tries += 1) {
    const unit = usual();
    least = Math.min(least, (await longestTurnOf(work)) / Math.min(unit, usual()));
  }
  return least;
}

const isNode = !process.versions["bun"] && !process.versions["deno"];
/** What a request may take besides what was used before, in MiB: on other runtimes memory is collected later. */
export const MEMORY = isNode ? 64 : 192;
/** How long a turn may take at most, in times of parsing 1 MiB of JSON: Bun took 8.6 beside other work. */
export const TURN = isNode ? 8 : 12;

/** The most memory that is used while something is done, besides what was used before, in MiB. */
export async function memoryOf(work: () => Promise<unknown>): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  await work();
  clearInterval(timer);
  return (Math.max(most, process.memoryUsage().rss) - before) / 1024 / 1024;
}

/**
 * How many pauses work takes from 100 ms after its client has left.
 *
 * @param start begins it; returns once it has ended, if the signal is aborted
 */
export async function pausesAfterLeaving(
  start: (signal: AbortSignal) => Promise<unknown>,
): Promise<{ before: number; after: number }> {
  const pauses = vi.spyOn(Pace.prototype, "pause");
  try {
    const client = new AbortController();
    let isOver = false;
    const work = start(client.signal)
      .catch(() => undefined)
      .finally(() => {
        isOver = true;
      });
    while (pauses.mock.calls.length < 5 && !isOver) await sleep(1);
    if (isOver) throw new Error("it was over before the client could leave");
    client.abort();
    await sleep(100);
    const before = pauses.mock.calls.length;
    await sleep(200);
    await work;
    return { before, after: pauses.mock.calls.length - before };
  } finally {
    pauses.mockRestore();
  }
}
