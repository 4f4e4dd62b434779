const text = `[${"0,".repeat(512 * 1024 - 1)}0]`;
/** Milliseconds of CPU time that parsing this takes on the machines of `docs/performance.md`. */
const USUAL = 10;

/**
 * How much slower than usual this machine computes at the moment: limits of time are multiplied by it, since what they
 * watch for are patterns and loops that take many times as long, not machines that are slow or busy.
 *
 * @returns a factor of at least 1
 */
export function slowness(): number {
  const took = Array.from({ length: 7 }, () => {
    const before = process.cpuUsage();
    JSON.parse(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.max((took.toSorted((a, b) => a - b)[3] as number) / USUAL, 1);
}
