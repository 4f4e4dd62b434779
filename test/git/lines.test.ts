import { describe, expect, it } from "vitest";
import { compareForMerge, compareLines, type LineChange, linesOf } from "../../src/git/lines.ts";
import { mergeLines } from "../../src/git/merge-lines.ts";
import { Budget } from "../../src/turns/budget.ts";
import { randomOf } from "../api/_git.ts";

const draw = randomOf(1);
const repeated = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at));

/** The second text, made from the first one and the changes. */
function applied(a: readonly string[], b: readonly string[], changes: readonly LineChange[]) {
  const parts: (readonly string[])[] = [];
  let at = 0;
  for (const { from, removed, to, added } of changes) {
    parts.push(a.slice(at, from), b.slice(to, to + added));
    at = from + removed;
  }
  return [...parts, a.slice(at)].flat();
}

const COUNT = 60_000;
const random = (different: number) => repeated(COUNT, () => `${draw(different)}\n`);

// Without bounds, some of these would take very long.
describe.each<[string, string[], string[]]>([
  ["few different lines", random(2), random(2)],
  ["many different lines", random(300), random(300)],
  ["the opposite order", repeated(COUNT, String), repeated(COUNT, (at) => String(COUNT - at))],
  ["equal lines", repeated(COUNT, () => "\n"), repeated(COUNT - 9, () => "\n")],
  [
    "a period",
    repeated(COUNT, (at) => `${at % 3}`),
    repeated(COUNT, (at) => `${(at + (at >> 9)) % 3}`),
  ],
])("texts with %s", (_, a, b) => {
  it.each([
    ["diff", compareLines],
    ["merge", compareForMerge],
  ])("are compared for git %s", async (_, compare) => {
    const changes = await new Budget().take(compare(a, b));
    expect(applied(a, b, changes).join("") === b.join("")).toBe(true);
  });
});

it("lines keep their ends", async () => {
  const text = "a\r\n\nb\n\u00ffc";
  const read = (bytes: Buffer) => new Budget().take(linesOf(bytes));
  expect(await read(Buffer.from(text, "latin1"))).toEqual(["a\r\n", "\n", "b\n", "\u00ffc"]);
  expect(await read(Buffer.alloc(0))).toEqual([]);
});

it("conflicts are marked, and near ones are one", async () => {
  const base = ["1\n", "2\n", "3\n", "4\n", "5\n"];
  const { lines, hasConflicts } = await new Budget().take(
    mergeLines(
      base,
      ["1\n", "ours\n", "3\n", "4\n", "5"],
      ["0\n", "1\n", "theirs\n", "3\n", "4\n", "6"],
      7,
      ["A", "B"],
    ),
  );
  const [ours, theirs] = [
    ["ours\n", "3\n", "4\n", "5\n"],
    ["theirs\n", "3\n", "4\n", "6\n"],
  ];
  expect(lines).toEqual([
    ...["0\n", "1\n", "<<<<<<< A\n", ...ours, "=======\n", ...theirs, ">>>>>>> B\n"],
  ]);
  expect(hasConflicts).toBe(true);
});
