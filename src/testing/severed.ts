import { ApiError } from "../core/errors.ts";
import type { Database, Store } from "../store/port.ts";

/** Thrown to whoever still uses a state that the world has left: requests are answered with 503. */
export class Severed extends ApiError {
  constructor() {
    super(503, { message: "503 Service Unavailable: the test server was reset meanwhile" });
  }
}

/**
 * A store for one application, until it is severed: then nothing that the application still does reaches the store, which
 * others go on using.
 */
export function severable(store: Store): { store: Store; sever: () => void } {
  let isSevered = false;
  const check = () => {
    if (isSevered) throw new Severed();
  };
  const checked =
    <Values extends unknown[], Result>(read: (...values: Values) => Result) =>
    (...values: Values): Result => {
      check();
      return read(...values);
    };
  /** Looks again when its turn has come. */
  const inTurn =
    <Db, Result>(work: (db: Db) => Result) =>
    (db: Db): Result => {
      check();
      return work(db);
    };
  const own: Store = {
    ...store,
    all: checked(store.all) as Store["all"],
    rows: checked(store.rows),
    slice: checked(store.slice),
    each: checked(store.each),
    one: checked(store.one) as Store["one"],
    reader: () => own,
    transaction: async (work, options) => {
      check();
      return store.transaction(inTurn<Database, ReturnType<typeof work>>(work), options);
    },
    snapshot: async (work) => {
      check();
      return store.snapshot(inTurn(work));
    },
    backup: async (file) => {
      check();
      return store.backup(file);
    },
    close: async () => undefined,
  };
  return {
    store: own,
    sever: () => {
      isSevered = true;
    },
  };
}
