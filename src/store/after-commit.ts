import type { Store } from "./port.ts";

/**
 * A store, and a way to be told of what this process commits in it.
 *
 * @returns `onCommit` adds what is called after each commit, at once and without being waited for
 */
export function withCommits(store: Store): {
  store: Store;
  onCommit: (listener: () => void) => void;
} {
  const listeners: (() => void)[] = [];
  const transaction: Store["transaction"] = async (work, options) => {
    const result = await store.transaction(work, options);
    for (const listener of listeners) listener();
    return result;
  };
  return {
    store: { ...store, transaction },
    onCommit: (listener) => listeners.push(listener),
  };
}
