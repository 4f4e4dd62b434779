import { ApiError } from "./errors.ts";

/** How often passwords may be tried within ten minutes; `false` for as often as anybody likes. */
export interface SignInLimits {
  /** Wrong passwords for one account. Default 10. */
  signInsPerAccount: number | false;
  /** Wrong passwords from one address. Default 100. */
  signInsPerAddress: number | false;
}

/** How much of an allowance is used. */
export interface Usage {
  /** What is counted, for `RateLimit-Name`. */
  name: string;
  /** How often in one window. */
  limit: number;
  /** How often in the running one; above the limit once it is exceeded. */
  observed: number;
  /** When the next window begins, in epoch milliseconds. */
  resetsAt: number;
}

/** The headers that tell a client what is left, as GitLab names them; the reset is in Unix time. */
export function usageHeaders({ name, limit, observed, resetsAt }: Usage): Record<string, string> {
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-name": name,
    "ratelimit-observed": String(observed),
    "ratelimit-remaining": String(Math.max(0, limit - observed)),
    "ratelimit-reset": String(Math.ceil(resetsAt / 1000)),
  };
}

/** 429 of who tries too often. */
export class TooManyRequests extends ApiError {
  /**
   * @param usage what is used up
   * @param now epoch milliseconds
   */
  constructor(
    readonly usage: Usage,
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
