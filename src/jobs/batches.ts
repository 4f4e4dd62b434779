import type { Awaitable, Database, Store } from "../store/port.ts";

/** How long one batch should hold the write lock, in milliseconds; batch sizes adapt to it. */
const TARGET_MS = 15;
const MAX_BATCH = 2000;

/**
 * Calls `remove`, each time in its own transaction, until it has removed fewer rows than it was allowed to. Others can
 * write in between, and a later call continues where this one stopped.
 *
 * @param remove removes at most `batch` rows, and returns how many
 * @param options `onRemoved`: called with their sum so far; `signal`: stops between two batches
 * @returns how many rows were removed
 * @throws what the signal was aborted with
 */
export async function inBatches(
  store: Store,
  remove: (db: Database, batch: number) => Awaitable<number>,
  options: { onRemoved?: (sum: number) => void; signal?: AbortSignal | undefined } = {},
): Promise<number> {
  let removed = 0;
  let batch = 100;
  for (;;) {
    options.signal?.throwIfAborted();
    const started = performance.now();
    const count = await store.transaction((db) => remove(db, batch));
    removed += count;
    options.onRemoved?.(removed);
    if (count < batch) return removed;
    const took = performance.now() - started;
    batch = Math.max(10, Math.min(MAX_BATCH, Math.round((batch * TARGET_MS) / Math.max(took, 1))));
    // Lets the process read requests that arrived meanwhile, not only serve those already waiting.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
