/** How often memory is looked at, in milliseconds. */
const PERIOD = 500;
/** Below this, in bytes, Bun is left alone: a server at rest takes 90 MiB. */
const ENOUGH = 192 * 1024 * 1024;
/** How much the process may grow between two collections. */
const GROWTH = 1.2;

/**
 * Has Bun collect all garbage whenever the process has grown by a fifth since the last time, above 192 MiB. Left alone, Bun
 * collects large strings late: under attack the process took 410 to 480 MiB instead of 300 (decision 13). Other runtimes
 * are left alone.
 */
export function collectEarlier(): void {
  const { Bun } = globalThis as unknown as { Bun?: { gc(isSynchronous: boolean): void } };
  if (!Bun) return;
  let least = ENOUGH;
  const timer = setInterval(() => {
    const now = process.memoryUsage.rss();
    if (now > GROWTH * least) {
      Bun.gc(true);
      least = Math.max(ENOUGH, process.memoryUsage.rss());
    } else {
      least = Math.max(ENOUGH, Math.min(least, now));
    }
  }, PERIOD);
  timer.unref();
}
