import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENTITIES } from "../entities.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { routes } from "./routes.ts";

let app: TestApp;
let places: Places;
beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(1), extra: toys });
  await createFixtures(app, 1);
  places = await placesIn(app, "acme", "acme/site");
});
afterAll(() => app.dispose());

const compatibility = readFileSync(new URL("../../docs/compatibility.md", import.meta.url), "utf8");
const [, missing = ""] = compatibility.split("\n## Fields that there are not\n");

/** The documented exceptions: what is left out of which entities. */
const exceptions = new Map(
  [...(missing.split("\n## ")[0] ?? "").matchAll(/^\| (`.+?`) \| (.+?) \| .+ \|$/gm)].flatMap(
    ([, names = "", entities = ""]) =>
      names
        .split(", ")
        .map((name): [string, string[]] => [name.slice(1, -1), entities.split("; ")]),
  ),
);

const isException = (entity: string, name: string) => exceptions.get(name)?.includes(entity);

const TYPES: Record<string, (value: unknown) => boolean> = {
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  timestamp: (value) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/.test(String(value)),
  date: (value) => /^\d{4}-\d\d-\d\d$/.test(String(value)),
  array: Array.isArray,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** A value by its path, such as `label.id`; `undefined` if it is missing. */
const valueAt = (entity: Record<string, unknown>, path: string) =>
  path
    .split(".")
    .reduce<unknown>((found, name) => (found as Record<string, unknown> | null)?.[name], entity);

describe("the documented fields", () => {
  it.each(
    ENTITIES.map(
      (one) => [`${one.name}: GET ${one.at}${one.as ? ` as ${one.as}` : ""}`, one] as const,
    ),
  )("of %s", async (_, { name: entity, at, query = "", as = "admin", fields }) => {
    const route = routes.find(({ method, path }) => method === "GET" && path === at);
    expect(route, `GET ${at}`).toBeDefined();
    const path = pathOf(route as NonNullable<typeof route>, places);
    const { status, json, text } = await app.call(`GET ${path}?${query}`, { as });
    expect(status, text).toBe(200);
    const shown = Array.isArray(json) ? json[0] : json;
    const wrong = Object.entries(fields).flatMap(([name, type]) => {
      const value = valueAt(shown, name);
      if (isException(entity, name)) {
        return value === undefined
          ? []
          : [`${name} is there, but docs/compatibility.md says it is not`];
      }
      if (value === undefined) return [`${name} is missing`];
      if (value === null && type.endsWith("?")) return [];
      const fits = TYPES[type.replace("?", "")];
      return fits?.(value) ? [] : [`${name} is no ${type}: ${JSON.stringify(value)}`];
    });
    expect(wrong).toEqual([]);
  });

  it("are what docs/compatibility.md tells exceptions of", () => {
    const named = new Map(
      [...exceptions].map(([name, entities]) => [
        name,
        entities.filter((entity) =>
          ENTITIES.some((one) => one.name === entity && name in one.fields),
        ),
      ]),
    );
    expect(named).toEqual(exceptions);
    expect(exceptions.size).toBeGreaterThan(0);
  });
});
