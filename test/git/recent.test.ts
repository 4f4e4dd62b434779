import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { RecentContents } from "../../src/git/recent.ts";

const MEBIBYTE = 1024 * 1024;

describe("contents in memory", () => {
  /** Small ones, some that fill a block exactly, and some that have one of their own. */
  const SIZES = [0, 20, 700, 60_000, 262_144, 262_145, 900_000, MEBIBYTE, 5 * MEBIBYTE];

  test("are what was added, while blocks are used again", () => {
    const recent = new RecentContents();
    const added: Buffer[] = [];
    let found = 0;
    let total = 0;
    for (let entry = 0; total < 150 * MEBIBYTE; entry += 1) {
      const size = SIZES[(entry * 7) % (entry % 5 === 0 ? SIZES.length : 4)] as number;
      const content = randomBytes(size);
      added.push(content);
      total += size;
      // The first one is used again and again, so it stays.
      expect(recent.get(0)?.equals(added[0] as Buffer)).toBe(entry === 0 ? undefined : true);
      if (entry % 2 === 0) recent.add(entry, content);
      else recent.reserve(entry, size).set(content);
      const asked = Math.max(0, entry - ((entry * 31) % 400));
      const known = recent.get(asked);
      if (known === undefined) continue;
      found += 1;
      expect(known.equals(added[asked] as Buffer)).toBe(true);
    }
    expect(found).toBeGreaterThan(100);
  });

  test("that were not used for long, and those that would displace too many others, are dropped", () => {
    const recent = new RecentContents();
    recent.add(0, Buffer.from("first"));
    recent.add(1, Buffer.alloc(9 * MEBIBYTE));
    expect(recent.get(1)).toBeUndefined();
    for (let entry = 2; entry < 50; entry += 1) recent.add(entry, Buffer.alloc(MEBIBYTE));
    expect(recent.get(0)).toBeUndefined();
    expect(recent.get(49)?.length).toBe(MEBIBYTE);
    expect(recent.get(50)).toBeUndefined();
  });
});
