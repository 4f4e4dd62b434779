import { expect } from "vitest";

/** Something to do, whose CPU time is compared with that of other work in the same process. */
type Work = () => unknown;

/** So often is a pair measured before a comparison fails: something else may have used the time. */
const ROUNDS = 10;
/** The small ones that make up a large one. */
const PARTS = 8;
/** Linear work takes about as long at once as in parts, and quadratic work eight times as long. */
const MOST_OF_LINEAR = 3;
const MEBIBYTE = `[${"0,".repeat(512 * 1024 - 1)}0]`;

/** Milliseconds of CPU time that reading a mebibyte of JSON took when it was last measured. */
let plainTime: number | undefined;

/**
 * Requires that work takes at most `most` times the CPU time of reading a mebibyte of JSON, so that neither a slow
 * machine nor a busy one makes it fail. It is done again if it took longer.
 *
 * @param what is named if it fails
 */
export async function expectQuick(work: Work, most: number, what = ""): Promise<void> {
  const took = await cpuTimeOf(work);
  if (took < most * (await timeOfPlain())) return;
  const compared = await compare(work, took, readPlainly, most);
  plainTime = compared.plain;
  expect(compared.times, `${what}: so often the time of a mebibyte of JSON`).toBeLessThan(most);
}

/**
 * Requires that the CPU time of work grows with its size only: work of the size is compared with eight times work of an
 * eighth of the size.
 *
 * @param what is named if it fails
 */
export async function expectLinear(
  work: (size: number) => unknown,
  size: number,
  what = "",
): Promise<void> {
  const atOnce = () => work(size);
  const inParts = async () => {
    for (let part = 0; part < PARTS; part += 1) await work(Math.round(size / PARTS));
  };
  const took = await cpuTimeOf(atOnce);
  // So little can't be measured, and does no harm.
  if (took < (await timeOfPlain()) / 4) return;
  const { times } = await compare(atOnce, took, inParts, MOST_OF_LINEAR);
  expect(times, `${what}: so often the time of ${PARTS} parts`).toBeLessThan(MOST_OF_LINEAR);
}

/**
 * Compares the least CPU times of alternated rounds, until the result is below a limit.
 *
 * @param took of the first round's work
 */
async function compare(work: Work, took: number, plain: Work, most: number) {
  let least = took;
  let leastPlain = await cpuTimeOf(plain);
  for (let round = 1; round < ROUNDS && least / leastPlain >= most; round += 1) {
    least = Math.min(least, await cpuTimeOf(work));
    leastPlain = Math.min(leastPlain, await cpuTimeOf(plain));
  }
  return { times: least / leastPlain, plain: leastPlain };
}

async function timeOfPlain(): Promise<number> {
  plainTime ??= (await compare(readPlainly, await cpuTimeOf(readPlainly), readPlainly, 0)).plain;
  return plainTime;
}

/** Milliseconds of CPU time, of all threads of the process. */
async function cpuTimeOf(work: Work): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function readPlainly(): void {
  JSON.parse(MEBIBYTE);
}
