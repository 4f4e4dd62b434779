import { TooManyRequests, type Usage } from "../core/limits.ts";
import type { Database, Reader, Store } from "../store/port.ts";

/** How often something may be tried. */
export interface Allowance {
  /** What is counted together, such as `sign-in of ada`. */
  key: string;
  /** What clients are told it is, in `RateLimit-Name`. Default `"attempts"`. */
  name?: string;
  /** How often in one window. */
  most: number;
  /** The window's length in milliseconds; it begins with the first try. */
  window: number;
}

/** In characters: nobody's user name or address is longer. */
const LONGEST_KEY = 300;

/**
 * Counts a try, before it is made: of many at once no more get through than may. Who is refused is counted no further,
 * so that a flood writes nothing.
 *
 * @param allowances those of addresses first: a try that one of them refuses is not counted by those after it
 * @param now epoch milliseconds
 * @throws ApiError 429 with `Retry-After` where one of the allowances is used up
 */
export async function attempt(
  store: Store,
  allowances: readonly Allowance[],
  now: number,
): Promise<void> {
  for (const allowance of allowances) await requireLeft(store, allowance, now);
  const exceeded = await store.transaction(async (db) => {
    for (const allowance of allowances) {
      const usage = await count(db, allowance, 1, now);
      if (usage.observed > usage.limit) return usage;
    }
    return undefined;
  });
  if (exceeded) throw new TooManyRequests(exceeded, now);
}

interface Row {
  count: number;
  ends_at: number;
}

const keyOf = ({ key }: Allowance) => key.slice(0, LONGEST_KEY);

function usageOf({ name = "attempts", most }: Allowance, { count, ends_at }: Row): Usage {
  return { name, limit: most, observed: count, resetsAt: ends_at };
}

/**
 * Checks that an allowance is not used up, for what is counted only once it has failed.
 *
 * @param now epoch milliseconds
 * @throws TooManyRequests where it is
 */
export async function requireLeft(db: Reader, allowance: Allowance, now: number): Promise<void> {
  const row = await db.one<Row>("select count, ends_at from attempts where key = ?", [
    keyOf(allowance),
  ]);
  if (row && row.ends_at > now && row.count >= allowance.most) {
    throw new TooManyRequests(usageOf(allowance, { ...row, count: allowance.most + 1 }), now);
  }
}

/**
 * Adds to what is counted of an allowance in its running window, or in a new one. Windows that are over are forgotten.
 *
 * @param by how many tries
 */
export async function count(
  db: Database,
  allowance: Allowance,
  by: number,
  now: number,
): Promise<Usage> {
  await db.run("delete from attempts where ends_at <= ?", [now]);
  const row = await db.one<Row>(
    `insert into attempts (key, count, ends_at) values (?, ?, ?)
     on conflict (key) do update set count = attempts.count + excluded.count returning count, ends_at`,
    [keyOf(allowance), by, now + allowance.window],
  );
  return usageOf(allowance, row as Row);
}

/** Forgets the tries of a key: the last one succeeded. */
export async function forgive(db: Database, key: string): Promise<void> {
  await db.run("delete from attempts where key = ?", [key.slice(0, LONGEST_KEY)]);
}

/** Takes back one try of a key: it was none of those that are counted. */
export async function takeBack(db: Database, key: string): Promise<void> {
  await db.run("update attempts set count = count - 1 where key = ? and count > 0", [
    key.slice(0, LONGEST_KEY),
  ]);
}
