import * as v from "valibot";
import type { ChangeableLimits } from "../app.ts";
import { optionsOf, readOptions } from "../core/options.ts";
import { PAGE_LIMITS } from "../core/pagination.ts";
import { limitOptions } from "../options.ts";
import { createLimiter, type RateLimit, rateLimitOption } from "./rate-limit.ts";

/** The limits of a test server that can be changed while it runs. */
export interface LimitChanges extends ChangeableLimits {
  /** A request limit. */
  rateLimit?: RateLimit;
}

/** The limits of a test server. */
export interface Limits {
  /** All of them, with the defaults of those that nobody has set; `null` for no limit. */
  get(): Record<string, unknown>;
  /**
   * Sets some of them; the others stay. `null` returns one to what it was at the start.
   *
   * @throws OptionError if one is wrong or misspelt
   */
  set(changes: Changes): void;
}

type Changes = { [Name in keyof LimitChanges]?: LimitChanges[Name] | null | undefined };

const { unknownTokens: _, waitingRequests: __, ...changeable } = limitOptions;
const schemas = { ...changeable, rateLimit: rateLimitOption };

/** The schema of changes of limits. */
export const limitsInput = optionsOf(
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, v.nullish(schema as v.GenericSchema)]),
  ),
) as unknown as v.GenericSchema<unknown, Changes>;

const MEBIBYTE = 1024 * 1024;
const DEFAULTS: Record<string, unknown> = {
  rateLimit: null,
  ...PAGE_LIMITS,
  bodyBytes: MEBIBYTE,
  attachmentBytes: 10 * MEBIBYTE,
  signInsPerAccount: 10,
  signInsPerAddress: 100,
  requestsPerMinute: null,
};

/**
 * Creates the limits of a test server.
 *
 * @param start those of its options
 * @param apply makes the application keep to them
 */
export function createLimits(start: LimitChanges, apply: (limits: ChangeableLimits) => void) {
  let now: LimitChanges = start;
  let limiter = start.rateLimit && createLimiter(start.rateLimit);
  const use = (limits: LimitChanges) => {
    now = limits;
    limiter = limits.rateLimit && createLimiter(limits.rateLimit);
    applyNow();
  };
  const applyNow = () => {
    const { rateLimit: _, ...others } = now;
    apply(others);
  };
  const limits: Limits = {
    get: () => ({ ...DEFAULTS, ...now }),
    set: (changes) => {
      readOptions("limits.set", limitsInput, changes);
      const given = Object.entries(changes).filter(([, value]) => value !== undefined);
      const changed = given.map(([name, value]) => [
        name,
        value ?? start[name as keyof LimitChanges],
      ]);
      const all = Object.entries({ ...now, ...Object.fromEntries(changed) });
      use(Object.fromEntries(all.filter(([, value]) => value !== undefined)));
    },
  };
  return {
    limits,
    /** Counts a request, and returns its answer if it is refused. */
    refuse: () => limiter?.refuse(),
    /** Makes an application that has started keep to them. */
    apply: applyNow,
    reset: () => use(start),
  };
}
