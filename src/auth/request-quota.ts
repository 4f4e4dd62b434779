import type { Caller } from "../core/access/caller.ts";
import { networkOf } from "../core/http/network.ts";
import { type QuotaUsage, TooManyRequests } from "../core/rate-limits.ts";
import type { Store } from "../store/port.ts";
import { type Allowance, count } from "./throttle.ts";

const MINUTE = 60_000;
/** A process reserves this fraction of a limit at once: a tenth. */
const BATCHES = 10;
/** The maximum number of callers kept in memory. */
const MAX_REMEMBERED = 10_000;

/** Request limits per minute. */
export interface RequestLimits {
  /** For one user, whatever the token. */
  user?: number | undefined;
  /** For one address, of anonymous requests. */
  address?: number | undefined;
}

/** The parts of a caller that say whose requests are counted. */
type QuotaCaller = Pick<Caller, "id" | "sudoer" | "by">;

/** What this process has reserved of a caller's limit. */
interface Reservation {
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
  const reservations = new Map<string, Promise<Reservation>>();

  const reserve = async (allowance: Allowance, now: number): Promise<Reservation> => {
    const batch = Math.max(1, Math.floor(allowance.max / BATCHES));
    const usage = await store.transaction((db) => count(db, allowance, batch, now), {
      shared: true,
    });
    const over = Math.max(0, usage.observed - usage.limit);
    return { usage, left: Math.max(0, batch - over) };
  };

  return async (
    caller: QuotaCaller | undefined,
    ip: string,
    now: number,
  ): Promise<QuotaUsage | undefined> => {
    const allowance = allowanceOf(limits, caller, ip);
    if (!allowance) return undefined;
    const { key } = allowance;
    for (;;) {
      const running = reservations.get(key);
      const own = await running;
      if (own && own.usage.resetsAt > now) {
        if (own.left > 0) {
          own.left -= 1;
          const { usage } = own;
          return { ...usage, observed: Math.min(usage.observed, usage.limit) - own.left };
        }
        if (own.usage.observed >= own.usage.limit) {
          throw new TooManyRequests({ ...own.usage, observed: own.usage.limit + 1 }, now);
        }
      }
      // Only the first waiter fetches the next batch.
      if (reservations.get(key) !== running) continue;
      if (reservations.size >= MAX_REMEMBERED) reservations.clear();
      const next = reserve(allowance, now);
      reservations.set(key, next);
      next.catch(() => reservations.delete(key));
    }
  };
}

function allowanceOf(
  { user, address }: RequestLimits,
  caller: QuotaCaller | undefined,
  ip: string,
): Allowance | undefined {
  if (caller) {
    if (user === undefined) return undefined;
    const { id } = caller.sudoer ?? caller;
    // Some tokens have no user. Those of a group for SCIM have a limit together.
    const { by } = caller;
    const whose =
      by.kind === "scim"
        ? `group ${by.groupId}`
        : by.kind === "deploy"
          ? `deploy token ${by.id}`
          : by.kind === "key" && id === 0
            ? `deploy key ${by.id}`
            : id;
    return { key: `requests of ${whose}`, name: "authenticated_api", max: user, window: MINUTE };
  }
  if (address === undefined || ip === "") return undefined;
  const key = `requests from ${networkOf(ip)}`;
  return { key, name: "unauthenticated_api", max: address, window: MINUTE };
}
