import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { seedData } from "../../cli/seed/index.ts";

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
  JSON.parse(read("seed.schema.json")),
);
const problems = (seed: unknown) => {
  validate(seed);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};

describe("seed.schema.json", () => {
  it("accepts the seed in the documentation, which has every key, and generated ones", () => {
    const [, documented = ""] = /^```json\n(.*?)^```$/ms.exec(read("testing.md")) ?? [];
    const seed = JSON.parse(documented);
    expect(seed.$schema).toBe("./node_modules/pm-api/docs/seed.schema.json");
    expect(problems(seed)).toEqual([]);
    expect(problems(seedData("small", Date.now()))).toEqual([]);
  });

  it.each([
    [{ users: [{ name: "Ada" }] }, "/users/0 must have required property 'username'"],
    [{ users: [{ username: "ada", nmae: "Ada" }] }, "/users/0 must NOT have additional properties"],
    [
      { users: [{ username: "ada", tokens: [{ scopes: ["everything"] }] }] },
      "/users/0/tokens/0/scopes/0 must be equal to one of the allowed values",
    ],
    [
      {
        groups: [
          { path: "a", subgroups: [{ path: "b", projects: [{ path: "c", issues: [{}] }] }] },
        ],
      },
      "/groups/0/subgroups/0/projects/0/issues/0 must have required property 'title'",
    ],
  ])("refuses %j", (seed, problem) => {
    expect(problems(seed)).toContain(problem);
  });
});
