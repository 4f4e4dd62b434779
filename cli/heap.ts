import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** What V8 may use for new objects, in bytes: two halves of 8 MiB instead of 16. */
const MOST_NEW = 16 * 1024 * 1024;
/** By how many percent old objects may grow between two collections, if that is more than some megabytes. */
const GROWTH = 20;

/**
 * Once a busy server's space for new objects has grown to half of V8's limit, has V8 keep it there, and collect old objects
 * sooner (docs/decisions/0085). V8 reads both settings at each collection. They are not set sooner: V8 would compile Node's
 * own modules from then on instead of taking what is cached.
 */
export function limitHeap(): void {
  let wasGrown = false;
  new PerformanceObserver(() => {
    const isGrown = newSpace() >= MOST_NEW;
    if (isGrown === wasGrown) return;
    wasGrown = isGrown;
    // V8 also shrinks this space: it must be able to grow again then.
    setFlagsFromString(`--semi-space-growth-factor=${isGrown ? 1 : 2}`);
    setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
  }).observe({ entryTypes: ["gc"] });
}

/** The size of the space for new objects, in bytes. */
function newSpace(): number {
  const spaces = getHeapSpaceStatistics();
  return spaces.find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;
}
