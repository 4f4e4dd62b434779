import type { Awaitable } from "../store/port.ts";

/** What runs in the background until it is stopped. */
export interface Service {
  stop(): Awaitable<void>;
}

/** Starts a service; `false` if it is not wanted. */
export type Start = (() => Awaitable<Service>) | false;

/**
 * Starts services, one after another. If one fails, those before it are stopped.
 *
 * @param onError gets what can't be stopped
 * @returns all of them as one, which stops them together: their times of grace don't add up
 * @throws what the one that fails throws
 */
export async function startAll(
  starts: readonly Start[],
  onError: (error: unknown) => void,
): Promise<Service> {
  const running: Service[] = [];
  const stop = async () => {
    for (const ended of await Promise.allSettled(running.map(async (one) => one.stop()))) {
      if (ended.status === "rejected") onError(ended.reason);
    }
  };
  try {
    for (const start of starts) if (start) running.push(await start());
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

/**
 * Does work again and again, with a pause before each time. Its timer does not keep the process alive.
 *
 * @param every the pause, in milliseconds
 * @param onError gets what the work throws
 * @returns what stops it, after the work that runs
 */
export function repeat(
  work: () => Promise<unknown>,
  every: number,
  onError: (error: unknown) => void,
): Service {
  let ended = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const wait = () => {
    timer = setTimeout(() => {
      running = turn();
    }, every);
    timer.unref();
  };
  const turn = async () => {
    try {
      await work();
    } catch (error) {
      // Not an error while closing: whoever is next does what was left.
      if (!ended) onError(error);
    }
    if (!ended) wait();
  };
  wait();
  return {
    stop: () => {
      ended = true;
      clearTimeout(timer);
      return running;
    },
  };
}
