const DAY = 86_400_000;

/** Names after `~`, `%` or `@`, with quotes if there are spaces in them; also without that character. */
const NAME = /[~%@]?(?:"([^"]*)"|([^\s,]+))/g;

/** The most names of one command. */
const MAX_NAMES = 100;

/** The names in an argument such as `~bug ~"in review"` or `@ada, @bob`. */
export function namesIn(argument: string): string[] {
  const names: string[] = [];
  for (const [, quoted, plain] of argument.matchAll(NAME)) {
    const name = (quoted ?? plain ?? "").trim();
    if (name !== "" && names.length < MAX_NAMES) names.push(name);
  }
  return names;
}

/** A title such as `%v1`, `%"Version 1"` or `Version 1`. */
export function titleIn(argument: string): string {
  return /^%?"([^"]*)"$/.exec(argument)?.[1] ?? argument.replace(/^%/, "");
}

/** An iteration by its id or title, or the current or next one of a cadence, which may be named likewise. */
type NamedIteration =
  | { readonly of: Named }
  | { readonly which: "current" | "next"; readonly cadence: Named | undefined };
type Named = { readonly id: number } | { readonly title: string };

/** An id, or a title that may be in quotes. */
const namedAs = (text: string): Named =>
  /^\d{1,15}$/.test(text) ? { id: Number(text) } : { title: titleIn(text) };

/** What `*iteration:"Sprint 1"`, `*iteration:7`, `[cadence:"Team"] --next` or `--current` name. */
export function iterationIn(argument: string): NamedIteration | undefined {
  const [, direct] = /^\*iteration:(.+)$/s.exec(argument) ?? [];
  if (direct !== undefined) return { of: namedAs(direct) };
  const [, option = ""] = /\s?(--current|--next)$/.exec(argument) ?? [];
  if (option === "") return undefined;
  const before = argument.slice(0, -option.length).trim();
  const [, cadence] = /^\[cadence:(.+)\]$/s.exec(before) ?? [];
  if (before !== "" && cadence === undefined) return undefined;
  return {
    which: option === "--next" ? "next" : "current",
    cadence: cadence === undefined ? undefined : namedAs(cadence),
  };
}

/** Time spent and, behind it, the day: `1h 30m 2026-01-02`. */
const SPENT = /^(.*\S)\s+(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/;

/** The duration of an argument such as `1h 30m 2026-01-02`, and the day as `YYYY-MM-DD` if there is one. */
export function spentIn(argument: string): { duration: string; day?: string } {
  const [, duration, year, month = "", day = ""] = SPENT.exec(argument) ?? [];
  return duration === undefined
    ? { duration: argument }
    : { duration, day: `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}` };
}

const SPAN = /^in (\d{1,4}) (day|week|month|year)s?$/;
const NAMED: Readonly<Record<string, string>> = {
  today: "in 0 days",
  tomorrow: "in 1 day",
  "next week": "in 1 week",
  "next month": "in 1 month",
  "next year": "in 1 year",
};
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const MONTHS = [
  ...["january", "february", "march", "april", "may", "june"],
  ...["july", "august", "september", "october", "november", "december"],
];

/** The place of a name in a list, also by its first three letters; -1 if it is not there. */
const placeIn = (names: readonly string[], name: string) =>
  names.findIndex((known) => known === name || (name.length === 3 && known.startsWith(name)));

/** The next day with this name, which is not today: `friday`, `this fri`, `next friday`. */
function weekdayIn(words: string, start: number): number | undefined {
  const weekday = placeIn(WEEKDAYS, words.replace(/^(this|next) /, ""));
  if (weekday < 0) return undefined;
  const ahead = (weekday - new Date(start).getUTCDay() + 7) % 7;
  return start + (ahead || 7) * DAY;
}

/** The day of `december 31st`, `31 dec` or `dec 31 2027`; without a year the next one, or today. */
function dateIn(words: string, start: number): number | undefined {
  const parts = words.replace(",", "").split(" ");
  if (parts.length < 2 || parts.length > 3) return undefined;
  const isFirst = placeIn(MONTHS, parts[0] as string) >= 0;
  const month = placeIn(MONTHS, parts[isFirst ? 0 : 1] as string);
  const [, digits] = /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(parts[isFirst ? 1 : 0] as string) ?? [];
  const year = parts[2] ?? String(new Date(start).getUTCFullYear());
  if (month < 0 || digits === undefined || !/^\d{4}$/.test(year)) return undefined;
  const day = Number(digits);
  const at = (wanted: number) => {
    const instant = Date.UTC(wanted, month, day);
    return new Date(instant).getUTCDate() === day ? instant : undefined;
  };
  const found = at(Number(year));
  return parts[2] === undefined && found !== undefined && found < start
    ? at(Number(year) + 1)
    : found;
}

/**
 * The day of an argument: `2026-12-24`, `today`, `tomorrow`, `friday`, `next friday`, `next week` (month, year),
 * `in 3 days` (weeks, months, years), `december 31st` or `31 dec 2027`.
 *
 * @param today `YYYY-MM-DD`
 * @returns `YYYY-MM-DD`, or `undefined` if it is none
 */
export function dayIn(argument: string, today: string): string | undefined {
  const words = argument.toLowerCase().split(/\s+/).join(" ");
  if (/^\d{4}-\d{2}-\d{2}$/.test(words)) {
    const at = Date.parse(words);
    return dayAt(at) === words ? words : undefined;
  }
  const start = Date.parse(today);
  const [, count, unit] = SPAN.exec(NAMED[words] ?? words) ?? [];
  if (count === undefined) {
    const found = weekdayIn(words, start) ?? dateIn(words, start);
    return found === undefined ? undefined : dayAt(found);
  }
  if (unit === "day" || unit === "week") {
    return dayAt(start + Number(count) * (unit === "week" ? 7 : 1) * DAY);
  }
  const date = new Date(start);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + Number(count) * (unit === "year" ? 12 : 1));
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, last));
  return dayAt(date.getTime());
}

function dayAt(instant: number): string | undefined {
  const day = Number.isNaN(instant) ? "" : new Date(instant).toISOString().slice(0, 10);
  return day.length === 10 ? day : undefined;
}
