/** Milliseconds of a day. */
export const DAY = 86_400_000;
let lastDay = Number.NaN;
let lastDayText = "";

/** The UTC day of an instant in epoch milliseconds, as `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  const day = Math.floor(at / DAY);
  // Consecutive rows and requests mostly share a day.
  if (day !== lastDay) {
    lastDay = day;
    lastDayText = new Date(at).toISOString().slice(0, 10);
  }
  return lastDayText;
}

/** Same as `Date.prototype.toISOString` for an instant in epoch milliseconds, in a third of the time. */
export function isoInstant(at: number): string {
  const day = dayOf(at);
  const time = at - lastDay * DAY;
  const hours = Math.floor(time / 3_600_000);
  const minutes = Math.floor(time / 60_000) % 60;
  const seconds = Math.floor(time / 1000) % 60;
  const milliseconds = Math.floor(time) % 1000;
  return `${day}T${two(hours)}:${two(minutes)}:${two(seconds)}.${milliseconds < 100 ? "0" : ""}${two(milliseconds)}Z`;
}

function two(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}
