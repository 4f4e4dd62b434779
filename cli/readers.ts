import { InvalidArgumentError } from "commander";

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Reads a duration: a number and `s`, `m`, `h`, `d` or `w`. Returns seconds. */
export function readDuration(text: string): number {
  const parts = /^(\d{1,6})([smhdw])$/.exec(text);
  const seconds = parts ? Number(parts[1]) * (SECONDS[parts[2] as string] as number) : 0;
  if (seconds > 0) return seconds;
  throw new InvalidArgumentError("Give a number and s, m, h, d or w, such as 1d.");
}

/** Reads an age: a number and `d`, `w`, `m` or `y`. */
export function readAge(text: string): string {
  if (!/^\d{1,4}[dwmy]$/.test(text)) {
    throw new InvalidArgumentError("Give a number and d, w, m or y, such as 2y.");
  }
  return text;
}

/** Reads a day as `YYYY-MM-DD`. */
export function readDay(text: string): string {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  // 2026-02-30 would become a day in March.
  if (!day || Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text)) {
    throw new InvalidArgumentError("It must be a day as YYYY-MM-DD.");
  }
  return text;
}

/** Reads the id of a record. */
export function readId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("It must be a number.");
  return Number(text);
}

/** Creates a reader of numbers within bounds. */
export function readNumber(minimum: number, maximum: number) {
  return (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= minimum && number <= maximum) return number;
    throw new InvalidArgumentError(`It must be a number from ${minimum} to ${maximum}.`);
  };
}

/** Creates a reader that also accepts `off`, as `false`. */
export function orOff<T>(read: (text: string) => T) {
  return (text: string): T | false => (text === "off" ? false : read(text));
}
