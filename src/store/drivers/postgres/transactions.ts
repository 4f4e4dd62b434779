import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { type Awaitable, type Database, UnavailableError } from "../../port.ts";
import { BEHIND_FAILED, codeOf, RETRYABLE, sent, unavailable } from "./errors.ts";
import { reading, type Send } from "./reading.ts";
import { isFull, prepared } from "./statements.ts";
import { numbered } from "./translated.ts";

const MAX_ATTEMPTS = 12;
const MAX_PAUSE_MS = 200;
/** Arbitrary constant: the advisory lock of transactions and, with a second number, the locks within them. */
const LOCK = 7_061_126;
/** An advisory lock of two numbers has 32 bits for each. */
const LOCK_KEYS = 2 ** 31;
/** No limit: the maximum of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Runs work again while it conflicts with other transactions, after growing random pauses. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await work();
    } catch (error) {
      if (!RETRYABLE.has(codeOf(error))) throw error;
      if (count === MAX_ATTEMPTS) {
        const reason = "too many transactions changed the same rows";
        throw new UnavailableError(`the database is busy: ${reason}`, { cause: error });
      }
      await sleep(Math.random() * Math.min(2 ** count, MAX_PAUSE_MS));
    }
  }
}

/** A kind of transaction. */
interface Kind {
  /** The statements that begin it, sent together. */
  begin: string;
  /** Whether it has no time limit. */
  unlimited: boolean;
}

const WITHOUT_LIMIT =
  "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0";
/** Reads what is there at its begin, for as long as it takes. */
export const SNAPSHOT: Kind = {
  begin: `begin isolation level repeatable read read only; ${WITHOUT_LIMIT}`,
  unlimited: true,
};
/** Statements then see everything committed before they got the lock; a snapshot could be older than that. */
const BEGIN = "begin isolation level read committed";
const TAKE_LOCK = `select pg_advisory_xact_lock(${LOCK})`;
/** Runs when no other transaction does. */
export const ALONE: Kind = { begin: `${BEGIN}; ${TAKE_LOCK}`, unlimited: false };
/** Runs beside others of this kind. */
export const SHARED: Kind = {
  begin: `${BEGIN}; select pg_advisory_xact_lock_shared(${LOCK})`,
  unlimited: false,
};
/** {@link ALONE}, for as long as it takes. */
export const UNLIMITED: Kind = {
  begin: `${BEGIN}; ${WITHOUT_LIMIT}; ${TAKE_LOCK}`,
  unlimited: true,
};

/**
 * Runs work in a transaction, which is rolled back if the work or anything that it has sent fails.
 *
 * @throws what the work throws, or the errors of `port.ts`
 */
export async function attempt<T>(
  pool: pg.Pool,
  kind: Kind,
  work: (db: Database) => Awaitable<T>,
): Promise<T> {
  const { begin, unlimited } = kind;
  const client = await connect(pool);
  const limit = unlimited ? { query_timeout: MAX_TIMER_MS } : {};
  const send: Send = (query) =>
    sent(() => client.query<object>({ ...prepared(client, query), ...limit }));
  // Without those that have succeeded: a long transaction sends many.
  const ahead = new Set<Promise<unknown>>();
  const aheadOf = (result: Promise<unknown>) => {
    ahead.add(result);
    result.then(
      () => ahead.delete(result),
      () => undefined,
    );
  };
  let lost = false;
  try {
    const begun = send({ text: begin });
    aheadOf(begun);
    if (kind !== SHARED) await begun;
    const next = behind(begun, send);
    const last: pg.QueryConfig[] = [];
    const result = await work(writing(next, (query) => aheadOf(next(query)), last));
    await begun;
    // Sent together, so that their rows are locked only while the server works. If one fails, the server rolls the
    // transaction back, even though a commit follows.
    await inOrder([...ahead, ...[...last, { text: "commit" }].map((query) => send(query))]);
    return result;
  } catch (error) {
    // What was sent behind a statement that failed has failed for that reason.
    const cause = await inOrder(ahead).then(
      () => error,
      (reason: unknown) => (codeOf(reason) === BEHIND_FAILED ? error : reason),
    );
    lost = cause instanceof UnavailableError;
    if (!lost) {
      await send({ text: "rollback" }).catch(() => {
        lost = true;
      });
    }
    throw cause;
  } finally {
    client.release(lost || isFull(client));
  }
}

const READING = /^\s*select\b/i;

/**
 * Sends queries to a transaction whose `begin` the server may not have answered yet. The first ones don't wait for that
 * if they only read; others would be kept if it failed.
 */
function behind(begun: Promise<unknown>, send: Send): Send {
  let isBegun = false;
  let areWaiting = false;
  begun.then(
    () => {
      isBegun = true;
    },
    () => undefined,
  );
  return async (query) => {
    if (!isBegun && (areWaiting || !READING.test(query.text))) {
      areWaiting = true;
      await begun;
    }
    return send(query);
  };
}

/** Waits for all results and throws the first error: the later ones are its consequences. */
async function inOrder(results: Iterable<Promise<unknown>>): Promise<void> {
  for (const result of await Promise.allSettled(results)) {
    if (result.status === "rejected") throw result.reason;
  }
}

/** Takes a connection from the pool. @throws UnavailableError whatever the reason why there is none */
export async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw unavailable(error);
  }
}

/** @param ahead sends a query whose answer nobody waits for before the commit */
function writing(
  send: Send,
  ahead: (query: pg.QueryConfig) => void,
  last: pg.QueryConfig[],
): Database {
  return {
    ...reading(send),
    async run(sql, values = []) {
      const { rowCount } = await send(numbered(sql, values));
      return rowCount ?? 0;
    },
    send(sql, values = []) {
      ahead(numbered(sql, values));
    },
    last(sql, values = []) {
      last.push(numbered(sql, values));
    },
    lock(key, { shared = false } = {}) {
      const sql = `select pg_advisory_xact_lock${shared ? "_shared" : ""}(?, ?)`;
      ahead(numbered(sql, [LOCK, key % LOCK_KEYS]));
    },
  };
}
