import { AfterCommit } from "../src/core/resource.ts";
import type { Database, Store } from "../src/store/port.ts";

/** A store that can roll everything back, so that every request finds the same database. */
export interface UndoingStore extends Store {
  /** Whether every transaction is rolled back, even successful ones. Default false. */
  undoes: boolean;
  /** How many transactions would have been committed since the last call. */
  accepted(): number;
}

class Undone extends Error {}

/** Wraps a store; it behaves the same until told to undo. */
export function undoing(store: Store): UndoingStore {
  let accepted = 0;
  const undone = async <T>(work: (db: Database) => T | Promise<T>): Promise<T> => {
    let result: T | AfterCommit | undefined;
    try {
      await store.transaction(async (db) => {
        result = await work(db);
        if (result instanceof AfterCommit) {
          // Read now, since the rows are gone after the rollback.
          const read = await result.read(db);
          result = new AfterCommit(() => read);
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
