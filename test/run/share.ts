import { spawnSync } from "node:child_process";
import { ROOT } from "./kinds.ts";

/**
 * The number of shares that `npm test` rotates through: what it leaves out of one commit, it runs on another. Passes that
 * run a third, a quarter, an eighth or a sixteenth at a time divide it.
 */
export const SHARES = 48;

/** What git prints, or `undefined` if there is no git or it fails. */
export function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  return status === 0 ? stdout.trimEnd() : undefined;
}

let ofCommit: number | undefined;

/** A number that is as good as random, and the same whenever a commit is tested again. */
export function numberOfCommit(): number {
  ofCommit ??= Number.parseInt((git("rev-parse", "HEAD") ?? "").slice(0, 7) || "0", 16);
  return ofCommit;
}

/**
 * Which share of all tests is run: `TEST_SHARD`, such as `3/4` for the third of four, or else one that follows from the
 * commit.
 *
 * @returns from 0 to {@link SHARES} - 1
 * @throws Error if `TEST_SHARD` names no share
 */
export function shareOf(wanted = process.env["TEST_SHARD"]): number {
  if (!wanted) return numberOfCommit() % SHARES;
  const [, number, of] = (/^(\d+)\/(\d+)$/.exec(wanted) ?? []).map(Number);
  if (!number || !of || number > of || SHARES % of !== 0) {
    throw new Error(
      `TEST_SHARD=${wanted} names no share: give K/N, where N divides ${SHARES} and K is 1 to N`,
    );
  }
  return ((number - 1) * SHARES) / of;
}

/** Whether something named is in the share, when one of `parts` is run at a time. */
export function isInShare(name: string, parts: number, share = shareOf()): boolean {
  return hash(name) % parts === share % parts;
}

/** FNV-1a: spreads similar names. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}
