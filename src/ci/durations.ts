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

/** Numbers as words: `one hour`, `a day`, `forty five minutes`. */
const WORDS = new Map([
  ..."zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
    .split(" ")
    .map((word, number) => [word, number] as const),
  ..."twenty thirty forty fifty sixty seventy eighty ninety"
    .split(" ")
    .map((word, index) => [word, (index + 2) * 10] as const),
  ["a", 1] as const,
]);

/** The number that a word comes to after another one: `forty five`. */
function numberOf(part: string, before: number | undefined): number | undefined {
  const number = /^\d/.test(part) ? Number(part) : WORDS.get(part);
  if (number === undefined || before === undefined) return number;
  const isOneOfTens = before >= 20 && before % 10 === 0 && before < 100;
  return isOneOfTens && number > 0 && number < 10 && WORDS.has(part) ? before + number : Number.NaN;
}

/** Maximum length of a text that states a time. */
const MAX_LENGTH = 100;

/**
 * Seconds that a text states, as `1 hour 30 minutes`, `two hours`, `3h 30m` or `90` (seconds).
 *
 * @returns `undefined` if it states no time
 */
export function durationOf(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const words = text.toLowerCase().replace(/([a-z])-(?=[a-z])/g, "$1 ");
  const parts = words.match(/\d+(?:\.\d+)?|[a-z]+|[^\s\w,.]/g) ?? [];
  let seconds = 0;
  let number: number | undefined;
  let isUnitMissing = true;
  for (const part of parts) {
    const stated = numberOf(part, number);
    if (stated !== undefined) {
      if (Number.isNaN(stated)) return undefined;
      number = stated;
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
