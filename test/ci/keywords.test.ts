import { expect, it } from "vitest";
import { type Json, planPipeline, readConfiguration } from "../../src/ci/index.ts";
import { KEYWORDS, REFUSED } from "../../src/ci/keywords.ts";
import { EXAMPLES, type Example, SHOWN_ONLY } from "./_keywords.ts";
import { circumstances, read, type Situation } from "./read.ts";

interface Headed {
  readonly spec?: object;
  readonly given?: Readonly<Record<string, Json>>;
  readonly text: string;
}
const isHeaded = (one: object): one is Headed => "text" in one;

/** What a configuration comes to: mistakes, or its pipeline. */
async function outcomeOf(configuration: object): Promise<string> {
  const headed = isHeaded(configuration) ? configuration : undefined;
  const text = headed
    ? `${headed.spec ? JSON.stringify({ spec: headed.spec }).slice(1, -1).replace('"spec":', "spec: ") : ""}\n---\n${headed.text}`
    : JSON.stringify(configuration);
  const files = { "more.yml": "k: { script: y }", "inputs.yml": "inputs: { a: { default: '2' } }" };
  const situation: Situation = {
    files,
    changed: ["changed"],
    compared: { old: ["elsewhere"] },
    elsewhere: {
      project: async (_, ref) => (ref === undefined ? "project" : "reference"),
      component: async () => "project",
      remote: async () => ({ text: "k: { script: y }" }),
      template: async () => undefined,
      artifact: async () => "job",
    },
    ...(headed?.given && { inputs: headed.given }),
  };
  const about = circumstances(situation);
  const { configuration: found, errors } = await readConfiguration(text, about);
  const plan = found && (await planPipeline(found, about));
  return JSON.stringify({ errors, plan });
}

/** The same without a keyword; `undefined` if it has none. */
function without([at, configuration]: Example, key: string): object | undefined {
  const copy = structuredClone(configuration);
  const place = at.reduce<object | undefined>((one, name) => Reflect.get(one ?? {}, name), copy);
  if (!place || Reflect.get(place, key) === undefined) return undefined;
  Reflect.deleteProperty(place, key);
  return copy;
}

const REPORTS: readonly Example[] = KEYWORDS["artifacts:reports"].map((kind) => [
  ["j", "artifacts", "reports"],
  {
    j: {
      script: "x",
      artifacts: {
        reports: {
          [kind]: kind === "coverage_report" ? { coverage_format: "jacoco", path: "p" } : "f",
        },
      },
    },
  },
]);

const rows = Object.entries(KEYWORDS).flatMap(([place, keys]) =>
  keys.map((key) => [place as keyof typeof KEYWORDS, key] as const),
);

it.each(rows)("%s: %s has an effect", async (place, key) => {
  const examples = place === "artifacts:reports" ? REPORTS : EXAMPLES[place];
  const outcomes: boolean[] = [];
  for (const example of examples) {
    const other = without(example, key);
    if (other) outcomes.push((await outcomeOf(example[1])) !== (await outcomeOf(other)));
  }
  expect(outcomes.includes(true)).toBe(!SHOWN_ONLY.includes(`${place} ${key}`));
});

it.each(
  Object.entries(REFUSED).flatMap(([place, keys]) => keys.map((key) => [place, key] as const)),
)("%s: %s is refused by name", async (place, key) => {
  const one = { name: "node", [key]: [80] };
  const own: Readonly<Record<string, object>> = {
    default: { default: { [key]: {} } },
    image: { j: { script: "x", image: one } },
    job: { j: { script: "x", [key]: {} } },
    services: { j: { script: "x", services: [one] } },
  };
  const { errors } = await read(JSON.stringify({ j: { script: "x" }, ...own[place] }));
  expect(errors.join()).toMatch(
    new RegExp(`${key} config is not supported on this server|disallowed keys: ${key}`),
  );
});
