import { dayOf } from "../../core/time.ts";

const DAY = 86_400_000;
const numberOf = (day: string) => Date.parse(day) / DAY;
const dayNumbered = (number: number) => dayOf(number * DAY);

/** From the first day to the last, `YYYY-MM-DD`. */
export interface Span {
  readonly start_date: string;
  readonly due_date: string;
}

/** How a cadence makes its iterations. */
export interface Automation {
  readonly start_date: string;
  readonly duration_in_weeks: number;
  readonly iterations_in_advance: number;
}

/** Iterations that are made at once at most, if nothing was made for years. */
const MOST_AT_ONCE = 200;

/** The day of a number that is not before another one, and a whole number of weeks away from a third one. */
const onWeekday = (from: number, of: number) => from + ((((of - from) % 7) + 7) % 7);

/** Spans that follow each other without a gap. */
export function spansFrom(first: string, weeks: number, count: number): Span[] {
  const start = numberOf(first);
  return Array.from({ length: count }, (_, place) => ({
    start_date: dayNumbered(start + place * weeks * 7),
    due_date: dayNumbered(start + (place + 1) * weeks * 7 - 1),
  }));
}

/**
 * The iterations that a cadence lacks today, as GitLab counts them: the current one, those that were missed since the last
 * one, and as many as it wants ahead.
 *
 * @param present those that it has, by their days
 */
export function lacking(
  { start_date, duration_in_weeks: weeks, iterations_in_advance: ahead }: Automation,
  present: readonly Span[],
  today: string,
): Span[] {
  const [days, now, start] = [weeks * 7, numberOf(today), numberOf(start_date)];
  const last = present.at(-1);
  const next = last ? Math.max(start, onWeekday(numberOf(last.due_date) + 1, start)) : start;
  const coming = present.filter((span) => span.start_date > today).length;
  const missed = next <= now ? Math.floor((now - next) / days) + 1 : 0;
  const count = Math.max(0, missed + ahead - coming);
  return spansFrom(dayNumbered(next), weeks, Math.min(count, MOST_AT_ONCE));
}

/** The iteration of some that today is in. */
export const currentOf = <S extends Span>(present: readonly S[], today: string): S | undefined =>
  present.find((span) => span.start_date <= today && span.due_date >= today);

/**
 * On which day the first iteration begins that is still to come, once a cadence has another duration or start.
 *
 * @param present those that it has, by their days
 */
export function nextStart(
  { start_date, duration_in_weeks: weeks }: Automation,
  present: readonly Span[],
  today: string,
): string {
  if (start_date > today) return start_date;
  const current = currentOf(present, today);
  const last = current ?? present.filter(({ due_date }) => due_date < today).at(-1);
  if (!last) return start_date;
  const [days, now] = [weeks * 7, numberOf(today)];
  const next = onWeekday(numberOf(last.due_date) + 1, numberOf(start_date));
  const missed = current || next + days > now ? 0 : Math.floor((now - next) / days);
  return dayNumbered(next + missed * days);
}

/** The earliest day on which automation may start: a first iteration that begins then is not over. */
export const earliestStart = (weeks: number, today: string): string =>
  dayNumbered(numberOf(today) - weeks * 7 + 1);
