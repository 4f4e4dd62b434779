/** How often memory is looked at on Bun, in milliseconds. */
const PERIOD = 500;
/** Below this, in bytes, Bun is left alone: a server at rest takes 90 MiB. */
const ENOUGH = 192 * 1024 * 1024;
/** How much the process may grow between two collections. */
const GROWTH = 1.2;
/** When V8's heap is limited, in milliseconds: after the start, which would take longer. */
const STARTED = 500;

interface Bun {
  gc(isSynchronous: boolean): void;
}

/**
 * Has a server collect its garbage before it has grown by much, on Bun and on Node. Deno is left alone: nobody has measured
 * it.
 */
export function collectEarlier(): void {
  const { Bun } = globalThis as unknown as { Bun?: Bun };
  if (Bun) collectOnGrowth(Bun);
  else if (!process.versions["deno"]) {
    setTimeout(async () => (await import("./heap.ts")).limitHeap(), STARTED).unref();
  }
}

/**
 * Collects all garbage whenever the process has grown by a fifth since the last time, above 192 MiB. Left alone, Bun
 * collects large strings late: under attack the process took 410 to 480 MiB instead of 300 (docs/decisions/0013).
 */
function collectOnGrowth(Bun: Bun): void {
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
