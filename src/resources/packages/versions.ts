/** A version as semver.org describes it: numbers, what comes before a release, and the build. */
const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** Characters of a version. */
const LONGEST = 128;

/** Whether a text is a version, such as `1.0.0-beta.1`. */
export const isVersion = (text: string): boolean => text.length <= LONGEST && VERSION.test(text);

/** Compares two versions, as for sorting: what comes before a release is less than it. */
export function compareVersions(one: string, other: string): number {
  const [, ...some] = VERSION.exec(one) ?? [];
  const [, ...others] = VERSION.exec(other) ?? [];
  for (const at of [0, 1, 2]) {
    const order = compareNumbers(some[at] ?? "0", others[at] ?? "0");
    if (order !== 0) return order;
  }
  const [before, otherBefore] = [some[3], others[3]];
  if (before === undefined || otherBefore === undefined) {
    return Number(before === undefined) - Number(otherBefore === undefined);
  }
  const [parts, otherParts] = [before.split("."), otherBefore.split(".")];
  for (let at = 0; at < Math.max(parts.length, otherParts.length); at += 1) {
    const order = compareParts(parts[at], otherParts[at]);
    if (order !== 0) return order;
  }
  return 0;
}

/** Compares what is behind a point. Fewer parts come first, and numbers before words. */
function compareParts(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) {
    return Number(one !== undefined) - Number(other !== undefined);
  }
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber) return compareNumbers(one, other);
  return one < other ? -1 : Number(one > other);
}

/** Compares numbers of any length. */
function compareNumbers(one: string, other: string): number {
  const [a, b] = [BigInt(one), BigInt(other)];
  return a < b ? -1 : Number(a > b);
}
