import { describe, expect, it } from "vitest";
import { planPipeline } from "../../src/ci/index.ts";
import { expectLinear, expectQuick } from "../relative-time.ts";
import { circumstances, read } from "./read.ts";

/** A text made of many lines. */
function lines(count: number, line: (n: number) => string) {
  return Array.from({ length: count }, (_, n) => line(n)).join("\n");
}

/** Configurations by their size that are read and planned. */
const LINEAR: [what: string, text: (size: number) => string][] = [
  [
    "inputs",
    (size) =>
      `spec:\n  inputs:\n${lines(size, (n) => `    i${n}: {default: a, regex: "^a.*$"}`)}\n---\na: {script: x}`,
  ],
  [
    "blocks of inputs",
    (size) =>
      `spec: {inputs: {s: {default: abc}}}\n---\n${lines(size, (n) => `j${n}: {script: "$[[ inputs.s | truncate(0,1) ]]"}`)}`,
  ],
  [
    "blocks that are open",
    (size) => `spec: {inputs: {}}\n---\na: {script: "${"$[[ ".repeat(40 * size)}"}`,
  ],
  ["jobs", (size) => lines(size, (n) => `j${n}: {script: x}`)],
  [
    "jobs that need others",
    (size) => lines(size, (n) => `j${n}: {script: x, needs: [${n ? `j${n - 1}` : ""}]}`),
  ],
  [
    "jobs with rules",
    (size) =>
      lines(
        size,
        (n) =>
          `j${n}: {script: x, rules: [{if: $A == "${n}"}, {if: $B =~ /^b${n % 10}/}, {when: always}]}`,
      ),
  ],
  [
    "jobs with globs",
    (size) =>
      lines(
        size,
        (n) => `j${n}: {script: x, rules: [{exists: ["**/*.e${n % 7}"]}, {when: always}]}`,
      ),
  ],
  [
    "jobs with a base",
    (size) =>
      `.base: {script: x, image: a, tags: [b]}\n${lines(size, (n) => `j${n}: {extends: .base}`)}`,
  ],
  [
    "jobs with an anchor",
    (size) =>
      `.base: &base {script: x, image: a, tags: [b]}\n${lines(size, (n) => `j${n}: {<<: *base}`)}`,
  ],
  [
    "jobs with references",
    (size) =>
      `.base: {script: [a, b]}\n${lines(size, (n) => `j${n}: {script: [c, !reference [.base, script]]}`)}`,
  ],
  [
    "variables",
    (size) => `variables:\n${lines(size, (n) => `  V${n}: "$V${n + 1}"`)}\na: {script: x}`,
  ],
  [
    "stages",
    (size) =>
      `stages: [${Array.from({ length: size }, (_, n) => `s${n}`)}]\n${lines(size, (n) => `j${n}: {script: x, stage: s${n}}`)}`,
  ],
  ["commands", (size) => `a:\n  script:\n${lines(size, (n) => `    - echo ${n}`)}`],
  [
    "operators",
    (size) =>
      `a: {script: x, rules: [{if: '${Array(Math.ceil(size / 10))
        .fill("$A")
        .join(" || ")}'}, {when: always}]}`,
  ],
  ["broken anchors", (size) => `a: {script: x}\nb: ${"&x ".repeat(size)}`],
  ["quotes", (size) => `a: {script: "${"x\\n".repeat(size)}"}`],
];

describe("the time grows with the length of a configuration only", () => {
  const surroundings = circumstances({
    files: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`d${n}/f${n}.e`, ""])),
  });

  it.each(LINEAR)("%s", async (_, text) => {
    await expectLinear(async (size) => {
      const { configuration } = await read(text(size));
      if (configuration) await planPipeline(configuration, surroundings);
    }, 4000);
  });
});

it("expressions that would take an ordinary matcher forever take no time", async () => {
  const { configuration, errors } = await read(
    "a: {script: x, rules: [{if: '$A =~ /^(a+)+$/'}, {if: '$A =~ $P'}, {when: always}]}",
  );
  expect(errors).toEqual([]);
  const plan = async (length: number) => {
    const { jobs } = await planPipeline(
      configuration as NonNullable<typeof configuration>,
      circumstances({ values: { A: `${"a".repeat(length)}b`, P: "/^(a|aa)*$/" } }),
    );
    expect(jobs.map(({ name }) => name)).toEqual(["a"]);
  };
  // So short that it ends with an ordinary matcher, too: after seconds.
  await expectQuick(() => plan(28), 5);
  await expectLinear(plan, 50_000);
});
