import { type QuotaUsage, TooManyRequests } from "../core/rate-limits.ts";
import type { Database, Reader, Store } from "../store/port.ts";

/** A limit on attempts. */
export interface Allowance {
  /** The key attempts are counted under, such as `sign-in of ada`. */
  key: string;
  /** Its name for clients, in `RateLimit-Name`. Default `"attempts"`. */
  name?: string;
  /** Attempts per window. */
  max: number;
  /** The window's length in milliseconds; it begins with the first attempt. */
  window: number;
}

/** The maximum length of a key in characters; no user name or address is longer. */
const MAX_KEY_LENGTH = 300;

/**
 * Counts an attempt before it is made, so concurrent attempts cannot exceed the limit. Refused attempts are not counted,
 * so a flood writes nothing.
 *
 * @param allowances those of addresses first: an attempt that one refuses is not counted against the next
 * @param now epoch milliseconds
 * @throws ApiError 429 with `Retry-After` if one of the allowances is used up
 */
export async function attempt(
  store: Store,
  allowances: readonly Allowance[],
  now: number,
): Promise<void> {
  for (const allowance of allowances) await requireLeft(store, allowance, now);
  const exceeded = await store.transaction(
    async (db) => {
      for (const allowance of allowances) {
        const usage = await count(db, allowance, 1, now);
        if (usage.observed > usage.limit) return usage;
      }
      return undefined;
    },
    { shared: true },
  );
  if (exceeded) throw new TooManyRequests(exceeded, now);
}

/**
 * Counts what a transaction does: if it fails, nothing is counted.
 *
 * @param now epoch milliseconds
 * @throws TooManyRequests if the allowance is used up
 */
export async function spend(db: Database, allowance: Allowance, now: number): Promise<void> {
  const usage = await count(db, allowance, 1, now);
  if (usage.observed > usage.limit) throw new TooManyRequests(usage, now);
}

interface Row {
  count: number;
  ends_at: number;
}

const keyOf = ({ key }: Allowance) => key.slice(0, MAX_KEY_LENGTH);

function usageOf({ name = "attempts", max }: Allowance, { count, ends_at }: Row): QuotaUsage {
  return { name, limit: max, observed: count, resetsAt: ends_at };
}

/**
 * Checks that an allowance is not used up, for attempts that are counted only after they fail.
 *
 * @param now epoch milliseconds
 * @throws TooManyRequests if it is
 */
export async function requireLeft(db: Reader, allowance: Allowance, now: number): Promise<void> {
  const row = await db.one<Row>("select count, ends_at from attempts where key = ?", [
    keyOf(allowance),
  ]);
  if (row && row.ends_at > now && row.count >= allowance.max) {
    throw new TooManyRequests(usageOf(allowance, { ...row, count: allowance.max + 1 }), now);
  }
}

/**
 * Adds to an allowance's count in its current window, or starts a new one. Past windows are deleted.
 * Concurrent calls count correctly.
 *
 * @param by how many attempts
 */
export async function count(
  db: Database,
  allowance: Allowance,
  by: number,
  now: number,
): Promise<QuotaUsage> {
  const row = await db.one<Row>(
    `insert into attempts (key, count, ends_at) values (?, ?, ?)
     on conflict (key) do update set
       count = excluded.count + case when attempts.ends_at <= ? then 0 else attempts.count end,
       ends_at = case when attempts.ends_at <= ? then excluded.ends_at else attempts.ends_at end
     returning count, ends_at`,
    [keyOf(allowance), by, now + allowance.window, now, now],
  );
  // Last in the transaction, so that concurrent counts don't wait for each other.
  db.last("delete from attempts where ends_at <= ?", [now]);
  return usageOf(allowance, row as Row);
}

/** Resets a key's attempts after one succeeded. */
export async function reset(db: Database, key: string): Promise<void> {
  await db.run("delete from attempts where key = ?", [key.slice(0, MAX_KEY_LENGTH)]);
}

/** Refunds one attempt of a key that should not count. */
export async function refund(db: Database, key: string): Promise<void> {
  await db.run("update attempts set count = count - 1 where key = ? and count > 0", [
    key.slice(0, MAX_KEY_LENGTH),
  ]);
}
