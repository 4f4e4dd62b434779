import { ApiError } from "./errors.ts";

/** How many wrong passwords are allowed within ten minutes; `false` for no limit. */
export interface SignInLimits {
  /** Wrong passwords for one account. Default 10. */
  signInsPerAccount: number | false;
  /** Wrong passwords from one address. Default 100. */
  signInsPerAddress: number | false;
}

/** How much of a rate limit is used up. */
export interface QuotaUsage {
  /** The limit's name, for `RateLimit-Name`. */
  name: string;
  /** Maximum count per window. */
  limit: number;
  /** Count in the current window; above `limit` once it is exceeded. */
  observed: number;
  /** When the next window begins, in epoch milliseconds. */
  resetsAt: number;
}

/** GitLab's rate limit headers; the reset is in Unix time. */
export function usageHeaders({
  name,
  limit,
  observed,
  resetsAt,
}: QuotaUsage): Record<string, string> {
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-name": name,
    "ratelimit-observed": String(observed),
    "ratelimit-remaining": String(Math.max(0, limit - observed)),
    "ratelimit-reset": String(Math.ceil(resetsAt / 1000)),
  };
}

/** 429 for callers that try too often. */
export class TooManyRequests extends ApiError {
  /**
   * @param usage the limit that is used up
   * @param now epoch milliseconds
   */
  constructor(
    readonly usage: QuotaUsage,
    now: number,
  ) {
    const seconds = Math.max(1, Math.ceil((usage.resetsAt - now) / 1000));
    super(
      429,
      { message: "429 Too Many Requests" },
      { "retry-after": String(seconds), ...usageHeaders(usage) },
    );
  }
}
