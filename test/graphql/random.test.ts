import fc from "fast-check";
import { parse, validate } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSchema } from "../../src/graphql/schema.ts";
import { modules } from "../../src/resources/graphql.ts";
import { createFixtures, fixtureSeed } from "../fixtures.ts";
import { runs, tryRandomly } from "../forms.ts";
import { everyone, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { ENDPOINT, post } from "./ask.ts";
import { RandomDocuments } from "./random-documents.ts";
import { recompleted } from "./recompletion.ts";

const RUNS = runs(50, 300);

const schema = buildSchema(modules).graphql;
let app: TestApp;
const failures: unknown[] = [];
/** Cursors that were answered. */
const cursors: string[] = [];

beforeAll(async () => {
  const onError = (error: unknown) => failures.push(error);
  app = await testApp({ seed: fixtureSeed(3), extra: toys, onError });
  await createFixtures(app, 3);
  for (const list of ["projects", "issues"]) {
    const query =
      list === "projects"
        ? "{projects{pageInfo{endCursor}}}"
        : '{project(fullPath:"acme/site"){issues{pageInfo{endCursor}}}}';
    const { text } = await post(app, query, { as: "admin" });
    const found = /"endCursor":"([^"]+)"/.exec(text)?.[1];
    expect(found).toBeDefined();
    cursors.push(found as string);
  }
});
afterAll(() => app.dispose());

describe("random documents", () => {
  it("are answered as the specification says", async () => {
    let answered = 0;
    await tryRandomly(
      fc.asyncProperty(fc.gen(), fc.constantFrom(...everyone), async (gen, as) => {
        const draw = (limit: number) => gen(fc.nat, { max: limit - 1 });
        const operation = new RandomDocuments(schema, draw, cursors).query();
        const { query, variables } = operation;
        if (query.length > 10_000) return;
        expect(validate(schema, parse(query)).map(String)).toEqual([]);
        const { status, json, text } = await post(app, query, { as, body: { variables } });
        expect([status, failures, query]).toEqual([200, [], query]);
        if (json.data === undefined) {
          expect(json.errors).not.toEqual([]);
          return;
        }
        answered += 1;
        if (json.data === null) {
          expect(json.errors).not.toEqual([]);
          return;
        }
        const { data, errors } = await recompleted(schema, operation, json.data);
        const own = text.slice('{"data":'.length, '{"data":'.length + JSON.stringify(data).length);
        expect([errors?.map(String), own]).toEqual([undefined, JSON.stringify(data)]);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(answered).toBeGreaterThan(RUNS / 2);
  }, 600_000);

  it("with random pieces of text end in an answer", async () => {
    const words = fc.constantFrom(
      ...'{ } ( ) [ ] : , ! $ @ ... = | & # " """ \\ \n query mutation subscription fragment on F true null 1 -1.5e9 a id echo text project fullPath issues nodes first __schema __typename \u0000 \ufeff \ud800 é'.split(
        " ",
      ),
    );
    const bodies = fc.oneof(
      fc.array(words, { maxLength: 60 }).map((some) => ({ query: some.join(" ") })),
      fc.array(words, { maxLength: 60 }).map((some) => ({ query: some.join("") })),
      fc.string({ unit: "binary", maxLength: 200 }).map((query) => ({ query })),
      fc.json().map((text) => JSON.parse(text)),
      fc.record({ query: fc.constant("query($a: [ID!]) {__typename}"), variables: fc.json() }),
    );
    await tryRandomly(
      fc.asyncProperty(bodies, fc.constantFrom(...everyone), async (json, as) => {
        const { status } = await app.call(`POST ${ENDPOINT}`, { as, json });
        expect([[200, 400, 422].includes(status), failures]).toEqual([true, []]);
      }),
      { numRuns: 3 * RUNS, endOnFailure: true },
    );
  }, 600_000);
});
