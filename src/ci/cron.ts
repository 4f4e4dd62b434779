import { Cron } from "croner";
import { NAMED_ZONES } from "./time-zones.ts";

/** Maximum length of an expression in characters. */
const MAX_LENGTH = 255;
/** Five fields: minute, hour, day of the month, month and day of the week. */
const FIELDS =
  /^\s*(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+(?:\s+\S+){4})\s*$/;

/**
 * Whether an expression of cron is valid: five fields, or a nickname such as `@daily`.
 */
export function isCron(expression: string): boolean {
  return read(expression, "UTC") !== undefined;
}

/**
 * Whether a time zone is known: an identifier of the IANA, such as `Europe/Berlin`, or a name that GitLab has, such as
 * `Pacific Time (US & Canada)`.
 */
export function isTimeZone(name: string): boolean {
  if (NAMED_ZONES.has(name)) return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return !/^[+-]/.test(name);
  } catch {
    return false;
  }
}

/**
 * The first moment after another one that an expression of cron fits. A moment that a time zone skips when clocks go
 * forward is replaced by the first one after the gap; of one that comes twice, the first counts.
 *
 * @param expression five fields, or a nickname such as `@daily`
 * @param timeZone as {@link isTimeZone} knows it
 * @returns `undefined` if there is none, or if the expression or time zone is invalid
 */
export function nextRun(expression: string, timeZone: string, after: Date): Date | undefined {
  if (!isTimeZone(timeZone)) return undefined;
  return read(expression, NAMED_ZONES.get(timeZone) ?? timeZone)?.nextRun(after) ?? undefined;
}

/**
 * The last moment, at another one or before it, that an expression of cron fits; else as {@link nextRun}.
 *
 * @param at to the second
 */
export function lastRun(expression: string, timeZone: string, at: Date): Date | undefined {
  if (!isTimeZone(timeZone)) return undefined;
  const cron = read(expression, NAMED_ZONES.get(timeZone) ?? timeZone);
  return cron?.previousRuns(1, new Date(at.getTime() + 1))[0];
}

function read(expression: string, timezone: string): Cron | undefined {
  if (expression.length > MAX_LENGTH || !FIELDS.test(expression)) return undefined;
  try {
    return new Cron(expression.trim().replace("@midnight", "@daily"), { timezone, paused: true });
  } catch {
    return undefined;
  }
}
