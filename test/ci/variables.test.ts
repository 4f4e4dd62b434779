import { describe, expect, it } from "vitest";
import { expandVariables } from "../../src/ci/index.ts";
import { plan } from "./read.ts";

const VALUES = new Map([
  ["A", "one"],
  ["B_2", "two"],
  ["NESTED", "$A"],
  ["LONG", "x".repeat(1000)],
]);

describe("names of variables in a text stand for their values", () => {
  it.each([
    ["$A", "one"],
    ["$A-$B_2", "one-two"],
    ["\u0024{A}b", "oneb"],
    ["$Ab", ""],
    ["$NONE.", "."],
    ["$$A", "$A"],
    ["$$$A", "$one"],
    ["$", "$"],
    ["$1", "$1"],
    ["\u0024{A", "\u0024{A"],
    ["$NESTED", "$A"],
    ["no names", "no names"],
  ])("%s: %s", (text, expanded) => {
    expect(expandVariables(text, VALUES)).toBe(expanded);
  });

  it("unless they are unknown, if these are to stay", () => {
    expect(expandVariables("$A $NONE $$", VALUES, { keepUnknown: true })).toBe("one $NONE $$");
  });

  it("but not without an end", () => {
    const expanded = expandVariables("$LONG".repeat(10_000), VALUES);
    expect(expanded).toHaveLength(65_000);
  });
});

it("tags of jobs have variables", async () => {
  const { jobs } = await plan("variables: {OS: linux}\na: {script: x, tags: [$OS, $NONE]}");
  expect(jobs).toMatchObject([{ tags: ["linux", "$NONE"] }]);
});

it("values are texts, as Ruby writes them", async () => {
  const { jobs } = await plan(`
variables:
  INTEGER: 12
  FLOAT: 3.10
  ROUND: 1.0
  BOOLEAN: yes
  OCTAL: 0777
  HASH: 1e3
  LONG: 12345678901234567890
  DATE: 2026-01-01
  EMPTY:
  FIXED: { value: $A, expand: false, description: What it is }
a: { script: x }
`);
  const found = jobs[0]?.variables.map(({ key, value, expand }) => [key, value, expand]);
  expect(found).toEqual([
    ["INTEGER", "12", true],
    ["FLOAT", "3.1", true],
    ["ROUND", "1.0", true],
    ["BOOLEAN", "true", true],
    ["OCTAL", "511", true],
    ["HASH", "1e3", true],
    ["LONG", "12345678901234567890", true],
    ["DATE", "2026-01-01", true],
    ["EMPTY", "", true],
    ["FIXED", "$A", false],
  ]);
});
