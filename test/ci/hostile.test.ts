import { describe, expect, it } from "vitest";
import { read } from "./read.ts";

/** A text made of many lines. */
function lines(count: number, line: (n: number) => string) {
  return Array.from({ length: count }, (_, n) => line(n)).join("\n");
}

const LAUGHS = lines(9, (n) =>
  n === 0
    ? "l0: &l0 [lol]"
    : `l${n}: &l${n} [${Array(10)
        .fill(`*l${n - 1}`)
        .join(", ")}]`,
);

/** Configurations that would take very much time or memory if each of their parts was copied or tried. */
const REFUSED: [what: string, text: string, error: string | RegExp][] = [
  ["aliases in lists", `${LAUGHS}\na: {script: *l8}`, "The parsed YAML is too big"],
  [
    "aliases in mappings",
    `${lines(9, (n) => (n === 0 ? "m0: &m0 {a: b}" : `m${n}: &m${n} {${Array.from({ length: 9 }, (_, k) => `k${k}: *m${n - 1}`)}}`))}\na: {script: x}`,
    "The parsed YAML is too big",
  ],
  [
    "references",
    `${lines(9, (n) =>
      n === 0
        ? ".r0: [lol]"
        : `.r${n}: [${Array(10)
            .fill(`!reference [.r${n - 1}]`)
            .join(", ")}]`,
    )}\na: {script: !reference [.r8]}`,
    "The parsed YAML is too big",
  ],
  [
    "merges",
    `a: &a {${Array.from({ length: 2000 }, (_, n) => `k${n}: v`)}}\nb:\n${lines(500, () => "  <<: *a")}`,
    "The parsed YAML is too big",
  ],
  [
    "bases",
    `.a: {${Array.from({ length: 2000 }, (_, n) => `k${n}: v`)}}\nb: {script: x, extends: [${Array(500).fill(".a")}]}`,
    "The merged YAML is too big",
  ],
  [
    "jobs with the same big base",
    `.a: {variables: {${Array.from({ length: 2000 }, (_, n) => `K${n}: v`)}}}\n${lines(500, (n) => `j${n}: {script: x, extends: .a}`)}`,
    "The parsed YAML is too big",
  ],
  [
    "parallel jobs",
    lines(4000, (n) => `j${n}: {script: x, parallel: 200}`),
    "jobs config generates too many jobs (maximum is 10000)",
  ],
  [
    "a matrix",
    `a: {script: x, parallel: {matrix: [{${Array.from({ length: 100 }, (_, n) => `V${n}: [1, 2, 3]`)}}]}}`,
    "jobs:a:parallel:matrix config generates too many jobs (maximum is 200)",
  ],
  [
    "dependencies on parallel jobs",
    `${lines(5, (n) => `p${n}: {script: x, parallel: 200}`)}\na: {script: x, dependencies: [p0, p1, p2, p3, p4]}`,
    "jobs:a dependencies are too many (maximum is 400)",
  ],
  ["depth of lists", `a: ${"[".repeat(100_000)}`, "The parsed YAML is too big"],
  ["depth on one line", `a:\n  ${"- ".repeat(100_000)}x`, "The parsed YAML is too big"],
  ["depth of mappings", "{a: ".repeat(100_000), "The parsed YAML is too big"],
  ["length", `a: {script: ${"x".repeat(600_000)}}`, "The parsed YAML is too big"],
  [
    "extending in a long row",
    `${lines(1000, (n) => `.e${n}: {extends: .e${n + 1}}`)}\n.e1000: {}\na: {script: x, extends: .e0}`,
    /: nesting too deep in `extends`$/,
  ],
  [
    "references in a long row",
    `${lines(1000, (n) => `.r${n}: [!reference [.r${n + 1}]]`)}\n.r1000: [x]\na: {script: !reference [.r0]}`,
    /is nested too deep$/,
  ],
  [
    "needs in a long circle",
    lines(4000, (n) => `j${n}: {script: x, needs: [j${(n + 1) % 4000}]}`),
    /^The pipeline has circular dependencies/,
  ],
  [
    "parentheses",
    `a: {script: x, rules: [{if: "${"(".repeat(4000)}$A${")".repeat(4000)}"}]}`,
    "jobs:a:rules:rule if invalid expression syntax",
  ],
  [
    "mistakes",
    lines(4000, (n) => `j${n}: {script: x, unknown: y}`),
    "jobs:j0 config contains unknown keys: unknown",
  ],
];

describe("a configuration is refused for", () => {
  it.each(REFUSED)("%s", async (_, text, error) => {
    const { errors } = await read(text);
    expect(errors[0]).toEqual(typeof error === "string" ? error : expect.stringMatching(error));
    expect(errors.length).toBeLessThanOrEqual(25);
  });
});

it("patterns whose program would be huge are refused", async () => {
  for (const pattern of ["/(((a{100}){100}){100}){100}/", "/a{1001}/", `/${"(".repeat(900)}/`]) {
    const { errors } = await read(`a: {script: x, rules: [{if: '$A =~ ${pattern}'}]}`);
    expect(errors).toEqual(["jobs:a:rules:rule if invalid expression syntax"]);
  }
});
