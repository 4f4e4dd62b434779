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
