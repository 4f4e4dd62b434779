import { tooManyRequests } from "../core/errors.ts";
import type { Database, Store } from "../store/port.ts";

/** How often something may be tried. */
export interface Allowance {
  /** What is counted together, such as `sign-in of ada`. */
  key: string;
  /** How often in one window. */
  most: number;
  /** The window's length in milliseconds; it begins with the first try. */
  window: number;
}

/**
 * Counts a try, before it is made: of many at once no more get through than may.
 *
 * @param now epoch milliseconds
 * @throws ApiError 429 with `Retry-After` where one of the allowances is used up
 */
export async function attempt(
  store: Store,
  allowances: readonly Allowance[],
  now: number,
): Promise<void> {
  const waits = await store.transaction(async (db) => {
    await db.run("delete from attempts where ends_at <= ?", [now]);
    const found: number[] = [];
    for (const allowance of allowances) found.push(await count(db, allowance, now));
    return found;
  });
  const wait = Math.max(0, ...waits);
  if (wait > 0) throw tooManyRequests(wait / 1000);
}

/** Milliseconds until the next try, 0 where this one may be made. */
async function count(db: Database, { key, most, window }: Allowance, now: number): Promise<number> {
  const [row] = await db.all<{ count: number; ends_at: number }>(
    `insert into attempts (key, count, ends_at) values (?, 1, ?)
     on conflict (key) do update set count = attempts.count + 1 returning count, ends_at`,
    [key, now + window],
  );
  return row && row.count > most ? row.ends_at - now : 0;
}

/** Forgets the tries of a key: the last one succeeded. */
export async function forgive(db: Database, key: string): Promise<void> {
  await db.run("delete from attempts where key = ?", [key]);
}
