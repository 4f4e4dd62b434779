// Durations as GitLab writes them: a week has five days, a day eight hours.
const HOUR = 3600;
const DAY = 8 * HOUR;
const WEEK = 5 * DAY;

/** Seconds of each unit, from the largest. */
const UNITS = { mo: 4 * WEEK, w: WEEK, d: DAY, h: HOUR, m: 60, s: 1 } as const;

const NUMBER = String.raw`\d{1,10}(?:\.\d{1,10})?`;
const HOURS = new RegExp(`^${NUMBER}$`);
const PART = new RegExp(`(${NUMBER}) ?(mo|w|d|h|m|s) ?`, "y");

/**
 * Reads a duration such as `1w 2d 3h30m`: numbers with the units `mo`, `w`, `d`, `h`, `m` and `s`, or a number of hours.
 * A leading `-` makes it negative.
 *
 * @returns whole seconds, or `undefined` if it is none
 */
export function parseDuration(text: string): number | undefined {
  const words = text.trim().toLowerCase().split(/\s+/).join(" ");
  const isNegative = words.startsWith("-");
  const amount = isNegative ? words.slice(1).trimStart() : words;
  const seconds = HOURS.test(amount) ? Number(amount) * HOUR : sumOf(amount);
  // `0 -` avoids -0.
  return seconds && Math.round(isNegative ? 0 - seconds : seconds);
}

function sumOf(amount: string): number | undefined {
  let seconds = 0;
  let end = 0;
  while (end < amount.length || end === 0) {
    PART.lastIndex = end;
    const [, number, unit] = PART.exec(amount) ?? [];
    if (number === undefined) return undefined;
    seconds += Number(number) * UNITS[unit as keyof typeof UNITS];
    end = PART.lastIndex;
  }
  return seconds;
}

/** A duration in words, such as `1w 2d 3h 30m`; `null` for none. */
export function humanDuration(seconds: number): string | null {
  if (seconds === 0) return null;
  const parts: string[] = [];
  let left = Math.abs(seconds);
  for (const [unit, size] of Object.entries(UNITS)) {
    if (left >= size) parts.push(`${Math.floor(left / size)}${unit}`);
    left %= size;
  }
  return parts.length === 0 ? null : `${seconds < 0 ? "-" : ""}${parts.join(" ")}`;
}
