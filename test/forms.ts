import fc from "fast-check";
import { expect } from "vitest";

import { isInShare, numberOfCommit } from "./run/share.ts";

/** Whether tests take their long forms, as for `npm run test:all`. */
export const isLong = process.env["TEST_LONG"] === "1";

/** The folders of resources that the tested change touches: their routes take the long form. */
const touched = new Set((process.env["TEST_TOUCHED"] ?? "").split(" "));

/** Whether another runtime than Node repeats here what Node has run: slow tests do a part of it. */
export const isRepeated = process.env["TEST_REPEATED"] === "1";

/** One in how many routes has its turn: a divisor of the number of shares. */
const PARTS = isRepeated ? 24 : 6;

/** How often something is repeated: the first number, or the second in the long form. */
export function repeats(short: number, long: number): number {
  return isLong ? long : short;
}

/** A route, or what is walked through as routes are. */
interface Walked {
  readonly method: string;
  readonly path: string;
}

/**
 * Whether a route is among those that slow tests walk through for this commit: one in six, on other runtimes one in 24. In
 * the long form, every route is; and those of resources that changed always are, where they are not repeated.
 *
 * @param way one of several in which it is walked through, each with turns of its own
 */
export function hasTurn({ method, path }: Walked, way = ""): boolean {
  const words = path.split("/").filter((word) => word && !word.startsWith(":"));
  const ofResource = words.length > 1 ? words.slice(1) : words;
  return (
    isLong ||
    (!isRepeated && ofResource.some((word) => touched.has(word.replaceAll("_", "-")))) ||
    isInShare(`${way}${method} ${path}`, PARTS)
  );
}

/**
 * What random tests start from: `RANDOM_SEED`, or a number that follows from the commit, so that each commit tries
 * something new, and the same again whenever it is repeated.
 */
export const SEED = Number(process.env["RANDOM_SEED"] || numberOfCommit());

/** How many random examples are tried: `RANDOM_RUNS`, or else as {@link repeats} says. */
export function runs(short: number, long: number): number {
  const own = isRepeated ? Math.ceil(short / 4) : short;
  return Number(process.env["RANDOM_RUNS"] || repeats(own, long));
}

/**
 * The seeds of as many random histories, for `describe.each`.
 *
 * @returns one title and seed for each; the title says how it is repeated
 */
export function histories(short: number, long: number): [title: string, seed: number][] {
  return Array.from({ length: runs(short, long) }, (_, at) => {
    const seed = SEED + at;
    return [`history ${seed} (again: RANDOM_RUNS=1 RANDOM_SEED=${seed})`, seed];
  });
}

/**
 * Tries a property with random examples from {@link SEED}.
 *
 * @param options how many, and other parameters of fast-check
 * @throws what fast-check throws for a counterexample, with the line that repeats it
 */
export async function tryRandomly<T>(
  property: fc.IAsyncProperty<T> | fc.IProperty<T>,
  options: fc.Parameters<T> & { numRuns: number },
): Promise<void> {
  try {
    await fc.assert(property as fc.IAsyncProperty<T>, { seed: SEED, ...options });
  } catch (error) {
    const { testPath, currentTestName } = expect.getState();
    const again = `RANDOM_SEED=${SEED} RANDOM_RUNS=${options.numRuns} npx vitest run ${testPath}`;
    if (error instanceof Error)
      error.message += `\n\nAgain: ${again} -t ${JSON.stringify(currentTestName)}`;
    throw error;
  }
}
