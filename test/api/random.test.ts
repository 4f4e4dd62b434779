import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CallOptions, type TestApp, testApp } from "../helpers.ts";
import { type Places, pathOf, placesIn, routes } from "./routes.ts";

let app: TestApp;
let places: Places;
beforeAll(async () => {
  app = await testApp({ onError: (error) => failures.push(error) });
  places = await placesIn(app, "acme", "acme/site");
});
afterAll(() => app.dispose());

/** What was answered with a 500. */
const failures: unknown[] = [];

const value = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, "", "0", "-1", "9".repeat(30), "\0", "\ud800", "2026-02-30", "__proto__"),
  fc.jsonValue({ maxDepth: 3 }),
);

/** What ends the token it comes with gets one of its own. */
async function caller({ path }: (typeof routes)[number]): Promise<CallOptions> {
  if (!path.includes("/self")) return { as: "reporter" };
  const of = { user: "reporter", name: "one of many", scopes: ["api"] };
  const { token } = await app.admin.createToken(of);
  return { headers: { "private-token": token } };
}

describe("random parameters", () => {
  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s: an answer in one of the contract's shapes",
    async (_, route) => {
      const names = Object.keys(route.input ?? { page: 1 });
      const parameters = fc.dictionary(fc.constantFrom(...names, "page", "per_page", "x"), value);
      const property = fc.asyncProperty(parameters, async (sent) => {
        const body = route.method === "GET" ? {} : { json: sent };
        const pairs = Object.entries(sent).map(([name, one]) => [
          name,
          (typeof one === "string" ? one : JSON.stringify(one)).toWellFormed(),
        ]);
        const query = route.method === "GET" ? `?${new URLSearchParams(pairs)}` : "";
        const request = `${route.method} ${pathOf(route, places)}${query}`;
        const { status, json, text } = await app.call(request, {
          ...(await caller(route)),
          ...body,
        });
        expect([failures, status]).toEqual([[], expect.toSatisfy((code: number) => code < 500)]);
        if (status < 400) return;
        expect([text, typeof json]).toEqual([text, "object"]);
        expect("message" in json || "error" in json).toBe(true);
      });
      await fc.assert(property, { numRuns: 10 });
    },
  );
});

it("of 200 concurrent writes, half of them failing, exactly the accepted ones are there", async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => {
      const name = `concurrent ${index >> 1}`;
      const [path, json] = (
        [
          ["/groups/acme/labels", { name, color: index % 2 ? "none" : "#123456" }],
          ["/groups/acme/milestones", { title: index % 2 ? "" : name }],
          ["/groups/acme/boards", index % 2 ? {} : { name }],
          ["/projects/acme%2Fsite/issues", index % 2 ? {} : { title: name }],
        ] as const
      )[(index >> 1) % 4] as [string, object];
      return app.call(`POST ${path}`, { as: "owner", json });
    }),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(100);
  expect(answers.filter(({ status }) => status === 400)).toHaveLength(100);
  const listed = await Promise.all(
    [
      "groups/acme/labels",
      "groups/acme/milestones",
      "groups/acme/boards",
      "projects/acme%2Fsite/issues",
    ].map(async (path) => (await app.call(`GET /${path}?per_page=100`, { as: "owner" })).json),
  );
  const names = listed
    .flat()
    .map((one: { name?: string; title?: string }) => one.name ?? one.title);
  const kept = names.filter((name) => name?.startsWith("concurrent "));
  expect(kept.sort()).toEqual(Array.from({ length: 100 }, (_, at) => `concurrent ${at}`).sort());
});
