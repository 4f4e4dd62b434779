const DAY = 86_400_000;
const MINUTE = 60_000;
/** From half past eight to half past five, UTC. */
const OPENS = 8.5 * 60 * MINUTE;
const MONTHS = 30;

/** The minutes of a working day. */
export const WORKDAY = 9 * 60;

/**
 * The working time of two and a half years: minutes of office hours, counted from the first one. Weekends and the time
 * from 24 December to 1 January are free.
 */
export class Calendar {
  /** The number of working minutes until now. */
  readonly total: number;
  readonly #days: number[];

  /** @param now epoch milliseconds */
  constructor(now: number) {
    const first = new Date(now);
    first.setUTCMonth(first.getUTCMonth() - MONTHS);
    this.#days = [];
    for (let day = first.setUTCHours(0, 0, 0, 0); day + OPENS < now; day += DAY) {
      if (isWorkday(new Date(day))) this.#days.push(day);
    }
    const today = this.#days.at(-1) as number;
    const passed = Math.floor((now - today - OPENS) / MINUTE);
    this.total = (this.#days.length - 1) * WORKDAY + Math.min(passed, WORKDAY);
  }

  /** The last working day: `YYYY-MM-DD`. */
  get today(): string {
    return dayOf(this.#days.at(-1) as number);
  }

  /** The time of a working minute: an ISO 8601 instant, precise to a second. */
  at(minute: number): string {
    const whole = Math.min(Math.floor(minute / WORKDAY), this.#days.length - 1);
    const at = (this.#days[whole] as number) + OPENS + (minute - whole * WORKDAY) * MINUTE;
    return `${new Date(at).toISOString().slice(0, 19)}Z`;
  }

  /** The day of a working minute, also a future one: `YYYY-MM-DD`. */
  dayOf(minute: number): string {
    const beyond = Math.ceil(Math.max(0, minute - this.total) / WORKDAY);
    const at = Date.parse(this.at(Math.min(minute, this.total)));
    return dayOf(at + Math.ceil((beyond * 7) / 5) * DAY);
  }
}

function isWorkday(date: Date): boolean {
  const [weekday, month, day] = [date.getUTCDay(), date.getUTCMonth(), date.getUTCDate()];
  const betweenYears = (month === 11 && day >= 24) || (month === 0 && day === 1);
  return weekday !== 0 && weekday !== 6 && !betweenYears;
}

/** `YYYY-MM-DD` of epoch milliseconds. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The title and days of a milestone. */
export interface Span {
  title: string;
  /** `YYYY-MM-DD`; both days are included. */
  start: string;
  end: string;
}

/** The quarter of an ISO 8601 instant or day, or the one `later` quarters after it. */
export function quarterOf(instant: string, later = 0): Span {
  const at = new Date(instant);
  const first = Math.floor(at.getUTCMonth() / 3) * 3 + later * 3;
  const start = Date.UTC(at.getUTCFullYear(), first, 1);
  const end = Date.UTC(at.getUTCFullYear(), first + 3, 0);
  const date = new Date(start);
  const title = `${date.getUTCFullYear()} Q${date.getUTCMonth() / 3 + 1}`;
  return { title, start: dayOf(start), end: dayOf(end) };
}
