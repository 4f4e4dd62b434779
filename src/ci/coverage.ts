import { readPattern } from "./patterns.ts";

/** A number in what a regular expression has found. */
const NUMBER = /\d+(?:\.\d+)?/;

/** @see coverageOf */
export function find(log: string, pattern: string): number | undefined {
  const compiled = readPattern(`/${pattern}/`);
  if (!compiled) return undefined;
  for (const line of log.split("\n").reverse()) {
    const number = NUMBER.exec(compiled.last(line) ?? "")?.[0];
    if (number !== undefined) return Number(number);
  }
  return undefined;
}
