const HOUR = 3600;
const DAY = 24 * HOUR;

/** Seconds of each unit, by the beginnings of its names. */
const UNITS: readonly (readonly [names: RegExp, seconds: number])[] = [
  [/^(s|secs?|seconds?)$/, 1],
  [/^(m|mins?|minutes?)$/, 60],
  [/^(h|hrs?|hours?)$/, HOUR],
  [/^(d|days?)$/, DAY],
  [/^(w|wks?|weeks?)$/, 7 * DAY],
  [/^(mo|mos|mons?|months?)$/, 30 * DAY],
  [/^(y|yrs?|years?)$/, 365.25 * DAY],
];

/** Maximum length of a text that states a time. */
const MAX_LENGTH = 100;

/**
 * Seconds that a text states, as `1 hour 30 minutes`, `3h 30m` or `90` (seconds).
 *
 * @returns `undefined` if it states no time
 */
export function durationOf(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const parts = text.toLowerCase().match(/\d+(?:\.\d+)?|[a-z]+|[^\s\w,.]/g) ?? [];
  let seconds = 0;
  let number: number | undefined;
  let isUnitMissing = true;
  for (const part of parts) {
    if (/^\d/.test(part)) {
      if (number !== undefined) return undefined;
      number = Number(part);
    } else if (part !== "and") {
      const unit = UNITS.find(([names]) => names.test(part))?.[1];
      if (number === undefined || unit === undefined) return undefined;
      seconds += number * unit;
      number = undefined;
      isUnitMissing = false;
    }
  }
  if (number !== undefined) return isUnitMissing ? Math.round(number) : undefined;
  return isUnitMissing ? undefined : Math.round(seconds);
}
