import * as v from "valibot";
import type { Reply } from "../core/http/incoming.ts";
import { durationOption, type OptionSchemas, optionsOf, wholeOption } from "../core/options.ts";

/**
 * A request limit like GitLab's: once it is used up, requests are answered with 429, `Retry-After` and the text
 * `Retry later` until that time has passed; then the count starts again.
 */
export interface RateLimit {
  /** How many requests are answered before one is refused. */
  requests: number;
  /**
   * For how many seconds of real time requests are refused. Default 1; with 0 only one request is refused, so that a
   * limit of `n` refuses one request after every `n` others.
   */
  retryAfter?: number;
}

/** The schema of {@link RateLimit}. */
export const rateLimitOption = optionsOf({
  requests: wholeOption(0),
  retryAfter: v.optional(durationOption),
} satisfies OptionSchemas<RateLimit>);

/** Creates a limit. `refuse` counts a request and returns its answer if it is refused. */
export function createLimiter({ requests, retryAfter = 1 }: RateLimit) {
  let left = requests;
  let until = 0;
  return {
    refuse: (): Reply | undefined => {
      const wait = (until - performance.now()) / 1000;
      if (wait > 0) return tooManyRequests(wait);
      if (left > 0) {
        left -= 1;
        return undefined;
      }
      left = requests;
      until = performance.now() + retryAfter * 1000;
      return tooManyRequests(retryAfter);
    },
  };
}

/** GitLab's answer, which is not JSON. */
export function tooManyRequests(seconds: number): Reply {
  const headers = { "content-type": "text/plain", "retry-after": String(Math.ceil(seconds)) };
  return { status: 429, headers, body: "Retry later\n" };
}
