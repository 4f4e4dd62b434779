import type { Person } from "../core/access/caller.ts";
import { networkOf } from "../core/http/network.ts";
import { type QuotaUsage, TooManyRequests } from "../core/rate-limits.ts";
import type { Store } from "../store/port.ts";
import { type Allowance, count } from "./throttle.ts";

const MINUTE = 60_000;
/** The share of a limit that a process reserves at once. */
const PART = 10;
/** The maximum number of callers kept in memory. */
const MOST_KEPT = 10_000;

/** Request limits per minute. */
export interface RequestLimits {
  /** For one user, whatever the token. */
  user?: number | undefined;
  /** For one address, of anonymous requests. */
  address?: number | undefined;
}

/** What this process has reserved of a caller's limit. */
interface Taken {
  usage: QuotaUsage;
  /** Requests left before the database must be asked. */
  left: number;
}

/**
 * Creates the request counter. Processes share a limit through the database, from which each reserves a tenth at a time,
 * so few requests cause a write. Less than a tenth per process may stay unused.
 *
 * @returns a function that returns the usage, `undefined` if nothing is limited, and throws ApiError 429
 */
export function limitRequests(store: Store, limits: RequestLimits) {
  const taken = new Map<string, Promise<Taken>>();

  const take = async (allowance: Allowance, now: number): Promise<Taken> => {
    const part = Math.max(1, Math.floor(allowance.max / PART));
    const usage = await store.transaction((db) => count(db, allowance, part, now), {
      shared: true,
    });
    const over = Math.max(0, usage.observed - usage.limit);
    return { usage, left: Math.max(0, part - over) };
  };

  return async (
    caller: (Person & { sudoer?: Person }) | undefined,
    ip: string,
    now: number,
  ): Promise<QuotaUsage | undefined> => {
    const allowance = allowanceOf(limits, caller, ip);
    if (!allowance) return undefined;
    const { key } = allowance;
    for (;;) {
      const running = taken.get(key);
      const mine = await running;
      if (mine && mine.usage.resetsAt > now) {
        if (mine.left > 0) {
          mine.left -= 1;
          const { usage } = mine;
          return { ...usage, observed: Math.min(usage.observed, usage.limit) - mine.left };
        }
        if (mine.usage.observed >= mine.usage.limit) {
          throw new TooManyRequests({ ...mine.usage, observed: mine.usage.limit + 1 }, now);
        }
      }
      // Only the first waiter fetches the next batch.
      if (taken.get(key) !== running) continue;
      if (taken.size >= MOST_KEPT) taken.clear();
      const asked = take(allowance, now);
      taken.set(key, asked);
      asked.catch(() => taken.delete(key));
    }
  };
}

function allowanceOf(
  { user, address }: RequestLimits,
  caller: (Person & { sudoer?: Person }) | undefined,
  ip: string,
): Allowance | undefined {
  if (caller) {
    if (user === undefined) return undefined;
    const { id } = caller.sudoer ?? caller;
    return { key: `requests of ${id}`, name: "authenticated_api", max: user, window: MINUTE };
  }
  if (address === undefined || ip === "") return undefined;
  const key = `requests from ${networkOf(ip)}`;
  return { key, name: "unauthenticated_api", max: address, window: MINUTE };
}
