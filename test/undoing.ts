import { Committed } from "../src/core/resource.ts";
import type { Database, Store } from "../src/store/port.ts";

/** A store that can be told to keep nothing, so that every request meets the same database. */
export interface UndoingStore extends Store {
  /** Whether every transaction is undone, also those that succeed. Default false. */
  undoes: boolean;
  /** How many transactions would have been kept since this was last asked. */
  accepted(): number;
}

class Undone extends Error {}

/** Wraps a store that does what the other does, until it is told to undo. */
export function undoing(store: Store): UndoingStore {
  let accepted = 0;
  const undone = async <T>(work: (db: Database) => T | Promise<T>): Promise<T> => {
    let result: T | Committed | undefined;
    try {
      await store.transaction(async (db) => {
        result = await work(db);
        if (result instanceof Committed) {
          // Afterwards there would be nothing to read.
          const read = await result.read(db);
          result = new Committed(() => read);
        }
        throw new Undone();
      });
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
    }
    accepted += 1;
    return result as T;
  };
  const undoingStore: UndoingStore = {
    ...store,
    undoes: false,
    transaction: (work, options) =>
      undoingStore.undoes ? undone(work) : store.transaction(work, options),
    accepted: () => {
      const since = accepted;
      accepted = 0;
      return since;
    },
  };
  return undoingStore;
}
