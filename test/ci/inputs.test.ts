import { describe, expect, it } from "vitest";
import type { Json } from "../../src/ci/index.ts";
import { plan, read, type Situation } from "./read.ts";

/** A file with inputs, which is included with values. */
async function jobWith(inputs: string, values: Json, job: string, situation: Situation = {}) {
  const files = { "a.yml": `spec: { inputs: ${inputs} }\n---\n${job}` };
  const text = JSON.stringify({ include: { local: "a.yml", inputs: values } });
  const { configuration, errors } = await read(text, { files, ...situation });
  return { errors, jobs: configuration?.jobs ?? [] };
}

const scriptOf = async (inputs: string, values: Json, script: string, situation?: Situation) => {
  const { errors, jobs } = await jobWith(
    inputs,
    values,
    `job: { script: ["${script}"] }`,
    situation,
  );
  return errors.length > 0 ? errors.join() : jobs[0]?.options.script?.[0];
};

describe("inputs", () => {
  it.each<[string, string, Json, string, string]>([
    ["a text", "{ s: }", { s: "abc" }, "echo $[[ inputs.s ]]", "echo abc"],
    ["a default", "{ s: { default: abc } }", {}, "echo $[[inputs.s]]", "echo abc"],
    ["an empty default", "{ s: { default: '' } }", {}, "echo <$[[ inputs.s ]]>", "echo <>"],
    ["a number in a text", "{ n: { type: number } }", { n: 3 }, "echo $[[ inputs.n ]]", "echo 3"],
    [
      "a boolean in a text",
      "{ b: { type: boolean } }",
      { b: true },
      "echo $[[ inputs.b ]]",
      "echo true",
    ],
    [
      "a part of a text",
      "{ s: }",
      { s: "abcdef" },
      "echo $[[ inputs.s | truncate(1,3) ]]",
      "echo bcd",
    ],
    [
      "a variable",
      "{ s: }",
      { s: "test $WHO $NONE" },
      "echo $[[ inputs.s | expand_vars ]]",
      "echo test me $NONE",
    ],
    [
      "two functions",
      "{ s: }",
      { s: "test $WHO" },
      "echo $[[ inputs.s | expand_vars | truncate(5,2) ]]",
      "echo me",
    ],
    [
      "a word of a shell",
      "{ s: }",
      { s: "a b" },
      "echo $[[ inputs.s | posix_quote ]]",
      "echo 'a b'",
    ],
    ["one of some", "{ s: { options: [a, b] } }", { s: "b" }, "$[[ inputs.s ]]", "b"],
    [
      "an entry of a list",
      "{ l: { type: array } }",
      { l: ["a", "b"] },
      "echo $[[ inputs.l[1] ]]",
      "echo b",
    ],
    ["one that fits", "{ s: { regex: ^v\\d+$ } }", { s: "v1" }, "$[[ inputs.s ]]", "v1"],
  ])("stand for %s", async (_, inputs, values, script, expected) => {
    expect(await scriptOf(inputs, values, script, { values: { WHO: "me" } })).toBe(expected);
  });

  it("stand for any part of YAML", async () => {
    const job = `"$[[ inputs.prefix ]]-job":
  parallel: $[[ inputs.n ]]
  tags: $[[ inputs.tags ]]
  allow_failure: $[[ inputs.may_fail ]]
  script: $[[ inputs.s | split(',') ]]
  rules: $[[ inputs.rules ]]
`;
    const { errors, jobs } = await jobWith(
      "{ prefix: , n: { type: number }, tags: { type: array }, may_fail: { type: boolean }, s: , rules: { type: array } }",
      {
        ...{ prefix: "my", n: 3, tags: ["a", "b"], may_fail: true, s: "make, make test" },
        rules: [{ if: "$A" }],
      },
      job,
    );
    expect(errors).toEqual([]);
    expect(jobs).toHaveLength(3);
    expect(jobs[0]).toMatchObject({
      name: "my-job 1/3",
      tags: ["a", "b"],
      allowFailure: true,
      options: { script: ["make", "make test"] },
      rules: [{}],
    });
  });

  it("of the configuration itself are given to the pipeline", async () => {
    const text =
      "spec: { inputs: { env: , n: { type: number, default: 1 } } }\n---\ndeploy-$[[ inputs.env ]]: { script: x, parallel: $[[ inputs.n ]] }";
    const { jobs } = await plan(text, { inputs: { env: "prod", n: 2 } });
    expect(jobs.map(({ name }) => name)).toEqual(["deploy-prod 1/2", "deploy-prod 2/2"]);
    const texts = await plan(text, { inputs: { env: "prod", n: "2" }, areTexts: true });
    expect(texts.jobs).toHaveLength(2);
    expect((await read(text)).errors).toEqual([
      "`env` input: required value has not been provided",
    ]);
    expect((await read("a: { script: x }", { inputs: { a: 1 } })).errors).toEqual([
      "Given inputs not defined in the `spec` section of the included configuration file",
    ]);
  });

  it("are nothing in a file without a header", async () => {
    const { configuration } = await read("a: { script: 'echo $[[ inputs.s ]]' }");
    expect(configuration?.jobs[0]?.options.script).toEqual(["echo $[[ inputs.s ]]"]);
  });

  it("never show what is masked", async () => {
    const masked = { masked: new Set(["TOKEN"]), values: { TOKEN: "secret" } };
    expect(await scriptOf("{ s: }", { s: "$TOKEN" }, "$[[ inputs.s | expand_vars ]]", masked)).toBe(
      "`a.yml`: variable expansion error: masked variables cannot be expanded",
    );
  });
});

const OPTION = "is not in the list of allowed options";

describe("a file is refused", () => {
  it.each<[string, string, Json, string, string]>([
    ["without a value", "{ s: }", {}, "x", "`s` input: required value has not been provided"],
    [
      "with a number for a text",
      "{ s: }",
      { s: 1 },
      "x",
      "`s` input: provided value is not a string",
    ],
    [
      "with a text for a number",
      "{ s: { type: number } }",
      { s: "1" },
      "x",
      "`s` input: provided value is not a number",
    ],
    [
      "with a text for a boolean",
      "{ s: { type: boolean } }",
      { s: "yes" },
      "x",
      "`s` input: provided value is not a boolean",
    ],
    [
      "with a text for a list",
      "{ s: { type: array } }",
      { s: "yes" },
      "x",
      "`s` input: provided value is not an array",
    ],
    [
      "with another default",
      "{ s: { default: 1 } }",
      {},
      "x",
      "`s` input: default value is not a string",
    ],
    [
      "with another option",
      "{ s: { options: [a, b] } }",
      { s: "c" },
      "x",
      `\`s\` input: \`c\` cannot be used because it ${OPTION}`,
    ],
    [
      "with what does not fit",
      "{ s: { regex: ^v\\d+$ } }",
      { s: "1" },
      "x",
      "`s` input: provided value does not match required RegEx pattern",
    ],
    [
      "with a default that does not fit",
      "{ s: { regex: ^v$, default: a } }",
      {},
      "x",
      "`s` input: default value does not match required RegEx pattern",
    ],
    [
      "with what it has not",
      "{ s: { default: a } }",
      { z: 1, y: 2 },
      "x",
      "unknown input arguments: z, y",
    ],
    [
      "with several mistakes, of which it tells three",
      "{ a: , b: , c: , d: }",
      {},
      "x",
      ["a", "b", "c"]
        .map((name) => `\`${name}\` input: required value has not been provided`)
        .join(", "),
    ],
    [
      "with an unknown type",
      "{ s: { type: date } }",
      { s: "a" },
      "x",
      "unknown input specification for `s` (valid types: array, boolean, number, string)",
    ],
    [
      "with options of booleans",
      "{ s: { type: boolean, options: [true] } }",
      { s: true },
      "x",
      "`s` input: Options can only be used with string and number inputs",
    ],
    [
      "with a pattern for a number",
      "{ s: { type: number, regex: a } }",
      { s: 1 },
      "x",
      "`s` input: RegEx validation can only be used with string inputs",
    ],
    [
      "with no pattern",
      "{ s: { regex: '(' } }",
      { s: "a" },
      "x",
      "`s` input: invalid regular expression",
    ],
    [
      "with an unknown key",
      "{ s: { default: a, y: 1 } }",
      {},
      "x",
      "header:spec:inputs:s config contains unknown keys: y",
    ],
    [
      "that refers to what it has not",
      "{ s: }",
      { s: "a" },
      "$[[ inputs.nope ]]",
      "unknown interpolation key: `nope`",
    ],
    [
      "that refers to nothing",
      "{ s: }",
      { s: "a" },
      "$[[ nope ]]",
      "invalid interpolation access pattern",
    ],
    [
      "that refers to an entry of a text",
      "{ s: }",
      { s: "a" },
      "$[[ inputs.s[0] ]]",
      "unknown interpolation key: `s[0]`",
    ],
    [
      "that refers to something else",
      "{ s: }",
      { s: "a" },
      "$[[ other.s ]]",
      "unknown interpolation key: `other`",
    ],
    [
      "with too many functions",
      "{ s: }",
      { s: "a" },
      "$[[ inputs.s | expand_vars | expand_vars | expand_vars | expand_vars ]]",
      "too many functions in interpolation block",
    ],
    [
      "with an unknown function",
      "{ s: }",
      { s: "a" },
      "$[[ inputs.s | nope ]]",
      "no function matching `nope`: check that the function name, arguments, and types are correct",
    ],
    [
      "with wrong arguments",
      "{ s: }",
      { s: "a" },
      "$[[ inputs.s | truncate(a) ]]",
      "no function matching `truncate(a)`: check that the function name, arguments, and types are correct",
    ],
    [
      "with a function of a number",
      "{ s: { type: number } }",
      { s: 1 },
      "$[[ inputs.s | truncate(0,1) ]]",
      "invalid input type: truncate can only be used with string inputs",
    ],
  ])("%s", async (_, inputs, values, script, error) => {
    expect(await scriptOf(inputs, values, script)).toBe(`\`a.yml\`: ${error}`);
  });

  it.each([
    [
      "a: {script: x}\n---\nb: {script: x}",
      "several YAML documents are not supported, unless the first one has only `spec`",
    ],
    [
      "spec: {}\n---\na: {script: x}\n---\nb: {script: x}",
      "too many YAML documents (maximum is 2)",
    ],
    [
      "spec: {inputs: {}}\nother: 1\n---\na: {script: x}",
      "header config contains unknown keys: other",
    ],
    ["spec: {include: a.yml}\n---\na: {script: x}", "Local file `a.yml` does not exist!"],
    [
      "spec: {include: {template: a.yml}}\n---\na: {script: x}",
      "header:spec:include config must use one of: local, project, remote",
    ],
    [
      "spec: {include: {local: a.yml, rules: []}}\n---\na: {script: x}",
      "header:spec:include config contains unknown keys: rules",
    ],
    [
      "spec: {include: {local: a.yml, ref: b}}\n---\na: {script: x}",
      "include config contains unknown keys: ref",
    ],
    [
      "spec: {component: [nope]}\n---\na: {script: x}",
      "header:spec:component config must be an array with any of: name, sha, version, reference",
    ],
    ["spec: []\n---\na: {script: x}", "header:spec config should be a hash"],
    ["spec: {inputs: []}\n---\na: {script: x}", "header:spec:inputs config should be a hash"],
  ])("%j", async (text, error) => {
    expect((await read(text)).errors).toEqual([error]);
  });

  it("with more than fifty options", async () => {
    const options = JSON.stringify(Array.from({ length: 51 }, (_, at) => `o${at}`));
    expect(await scriptOf(`{ s: { options: ${options} } }`, { s: "o1" }, "x")).toBe(
      "`a.yml`: `s` input: cannot define more than 50 options",
    );
  });

  it("with a text that many inputs share", async () => {
    const names = Array.from({ length: 100 }, (_, at) => `i${at}`);
    const long = `&long "${"a".repeat(20_000)}"`;
    const values = names.map((name, at) => `${name}: ${at === 0 ? long : "*long"}`);
    const files = {
      "a.yml": `spec: { inputs: { ${names.map((name) => `${name}: `)} } }\n---\na: { script: x }`,
    };
    const text = `include: { local: a.yml, inputs: { ${values.join(", ")} } }`;
    expect((await read(text, { files })).errors).toEqual(["`a.yml`: The parsed YAML is too big"]);
  });

  it.each([
    ["blocks", "$[[ inputs.s ]]".repeat(10_001), "too many interpolation blocks"],
    ["characters", "$[[ inputs.long ]]".repeat(2000), "The parsed YAML is too big"],
    ["work", "$[[ inputs.long | truncate(0,1) ]]".repeat(2000), "The parsed YAML is too big"],
    [
      "names",
      `$[[ inputs.${"a".repeat(1100)} ]]`,
      "maximum interpolation expression size exceeded",
    ],
  ])("with too many %s", async (_, script, error) => {
    const values = { s: "a", long: "a".repeat(1000) };
    expect(await scriptOf("{ s: , long: }", values, script)).toBe(`\`a.yml\`: ${error}`);
  });
});

describe("spec:include", () => {
  const files = {
    "shared.yml": "inputs: { stage: { default: test }, size: { type: number, default: 1 } }",
    "more.yml": "inputs: { size: { type: number, default: 2 } }",
    "jobs.yml": "a: { script: x }",
  };
  const header = (include: string, inputs = "") =>
    `spec: { include: ${include}, inputs: { ${inputs} } }\n---\n` +
    '"job $[[ inputs.stage ]] $[[ inputs.size ]]": { script: x }';
  const names = async (text: string, inputs: Record<string, Json> = {}) => {
    const { configuration, errors, includes } = await read(text, { files, inputs });
    const files_ = includes.map(({ location }) => location);
    return errors.length > 0
      ? errors
      : [...(configuration?.jobs ?? []).map(({ name }) => name), ...files_];
  };

  it("gives inputs of other files, which later ones and the file's own override", async () => {
    expect(await names(header("shared.yml"))).toEqual(["job test 1", "shared.yml"]);
    expect(await names(header("[shared.yml, { local: more.yml }]"))).toEqual([
      ...["job test 2", "shared.yml", "more.yml"],
    ]);
    const own = header("[shared.yml]", "size: { default: big }");
    expect(await names(own)).toEqual(["job test big", "shared.yml"]);
    expect(await names(header("shared.yml"), { size: 3 })).toEqual(["job test 3", "shared.yml"]);
    expect(await names(header("shared.yml"), { size: "3" })).toEqual([
      "`size` input: provided value is not a number",
    ]);
  });

  it("takes files of inputs alone", async () => {
    expect(await names(header("jobs.yml"))).toEqual([
      "`jobs.yml`: header:spec:include config contains unknown keys: a",
    ]);
  });
});

describe("rules of an input", () => {
  const region = `cloud: { options: [aws, gcp], default: aws }, fast: { type: boolean, default: false }, count: { type: number, default: 1 }, region: { rules: [
    { if: "$[[ inputs.cloud ]] == 'aws' && !$[[ inputs.fast ]]", options: [us, eu], default: us },
    { if: "$[[ inputs.fast ]] == true || $[[inputs.count]] == '2'", options: [near], default: near },
    { options: [asia] } ] }`;
  const resultOf = (values: Json) => scriptOf(`{ ${region} }`, values, "in $[[ inputs.region ]]");

  it.each<[Json, string]>([
    [{}, "in us"],
    [{ region: "eu" }, "in eu"],
    [
      { region: "asia" },
      "`a.yml`: `region` input: `asia` cannot be used because it is not in the list of allowed options",
    ],
    [{ fast: true }, "in near"],
    [{ cloud: "gcp", count: 2 }, "in near"],
    [{ cloud: "gcp" }, "`a.yml`: `region` input: required value has not been provided"],
    [{ cloud: "gcp", region: "asia" }, "in asia"],
  ])("%j gives %s", async (values, result) => expect(await resultOf(values)).toBe(result));

  it.each([
    [
      "a: { options: [x], rules: [{ default: y }] }",
      "`a` input: rules can't be used with options or default",
    ],
    [
      "a: { rules: [{ if: '$A', default: y }] }",
      "header:spec:inputs:a:rules:rule if invalid expression syntax",
    ],
    ["a: { rules: [{}] }", "`a` input: a rule must define options or default"],
    [
      "a: { rules: [{ when: never, default: x }] }",
      "header:spec:inputs:a:rules:rule config contains unknown keys: when",
    ],
    ["a: { rules: x }", "header:spec:inputs:a:rules config should be an array of hashes"],
    ["a: { rules: [{ if: '$[[ inputs.b ]]', default: x }] }", "unknown input in rules: b"],
    [
      "a: { rules: [{ if: '$[[ inputs.b ]]', default: x }] }, b: { rules: [{ if: '$[[ inputs.a ]]', default: x }] }",
      "circular dependency detected in rules of inputs: a, b",
    ],
  ])("%s", async (inputs, error) => {
    expect(await scriptOf(`{ ${inputs} }`, {}, "x")).toBe(`\`a.yml\`: ${error}`);
  });
});
