import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { expectQuick } from "../relative-time.ts";
import { ENDPOINT } from "./ask.ts";

/** Maximum CPU time of an answer: so often that of reading a mebibyte of JSON. */
const MOST = 40;

const repeated = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(" ");

const within = (depth: number, field: (inner: string) => string, core = "id"): string =>
  depth === 0 ? core : within(depth - 1, field, field(core));

const GROUP = (selections: string, fragments = "") =>
  `{group(fullPath:"acme"){${selections}}} ${fragments}`;

/** Documents within the limits of their text, each built to cost as much as it can in its own way. */
const DOCUMENTS: Record<string, string | readonly string[]> = {
  "one field many times": `{${repeated(150, () => "__typename")}}`,
  "many names for one field": `{${repeated(250, (n) => `a${n}:echo(text:"")`)}}`,
  "one field many times, with selections": GROUP(repeated(149, () => "parent{id}")),
  "fields that double": GROUP(within(6, (inner) => `parent{${inner}} parent{${inner}}`)),
  "inline fragments in each other": GROUP(within(149, (inner) => `...{${inner} parent{id}}`)),
  "a chain of fragments": GROUP(
    "...F0",
    `${repeated(149, (n) => `fragment F${n} on Group{...F${n + 1} parent{id}}`)} fragment F149 on Group{id}`,
  ),
  "fragments that double": GROUP(
    "...F0",
    `${repeated(60, (n) => `fragment F${n} on Group{parent{...F${n + 1}} parent{...F${n + 1}}}`)} fragment F60 on Group{id}`,
  ),
  "fragments in a net": GROUP(
    "...F0",
    `${repeated(100, (n) => `fragment F${n} on Group{...F${n + 1} ...F${n + 2} parent{...F${n + 1}}}`)} fragment F100 on Group{id} fragment F101 on Group{id}`,
  ),
  "fragments in circles": GROUP(
    "...F0",
    repeated(
      40,
      (n) =>
        `fragment F${n} on Group{parent{...F${(n + 1) % 40}} p${n}:parent{...F${(n + 7) % 40}}}`,
    ),
  ),
  "many spreads": GROUP(
    repeated(120, (n) => `...G${n}`),
    repeated(120, (n) => `fragment G${n} on Group{parent{id}}`),
  ),
  "many operations of many fragments": `${repeated(150, (n) => `query Q${n}{...A0}`)} ${repeated(120, (n) => `fragment A${n} on Query{...A${n + 1}}`)} fragment A120 on Query{__typename}`,
  "many variables": `query(${repeated(600, (n) => `$v${n}:Int`)}){__typename}`,
  "many unknown names": `{${repeated(400, (n) => `zz${n}projectt`)}}`,
  "a long unknown name": `{${"project".repeat(1400)}}`,
  "a long text": `{echo(text:"${"\\n".repeat(4980)}")}`,
  "a long block text": `{echo(text:"""${"\n  x".repeat(2400)}""")}`,
  "a long number": `{projects(first:${"9".repeat(9000)}){count}}`,
  "a long list": `{project(fullPath:"a"){issues(labelName:[${repeated(2400, () => '""')}]){count}}}`,
  "nested lists": `{echo(text:${"[".repeat(180)}${"]".repeat(180)})}`,
  "many directives": `{${repeated(400, (n) => `a${n}:__typename@skip(if:false)`)}}`,
  "many directives on one field": `{__typename ${repeated(500, () => "@skip(if:false)")}}`,
  "names of types many times": `{${repeated(140, () => "...on Query{...on Query{__typename}}")}}`,
  "many small operations": Array.from({ length: 100 }, () => "{__typename}"),
  "many empty operations": Array.from({ length: 4000 }, () => ""),
  "many wrong operations": Array.from(
    { length: 100 },
    (_, n) => `{${repeated(9, (m) => `z${n}${m}`)}}`,
  ),
  "too many operations": Array.from({ length: 900 }, (_, n) => `{z${n}}`),
  "the whole schema": getIntrospectionQuery(),
  "the schema many times": `{${repeated(90, (n) => `a${n}:__schema{types{fields{type{fields{type{name}}}}}}`)}}`,
  "types of types": `{__schema{types{${within(2, (inner) => `fields{type{${inner} possibleTypes{${inner}}}}`, "name")}}}}`,
  "a type's kinds": `{__type(name:"Issue"){${within(60, (inner) => `ofType{${inner}}`, "name")}}}`,
  "pages of pages": `{projects{nodes{${repeated(9, (n) => `a${n}:issues{nodes{iid labels{nodes{id}}}}`)}}}}`,
  "counts of pages": `{projects{nodes{${repeated(60, (n) => `a${n}:issues(search:"x",first:0){count}`)}}}}`,
  "searches of many": `{projects{nodes{${repeated(12, (n) => `a${n}:issues(search:"Issue",first:1){count}`)}}}}`,
  "long names": `{projects{nodes{issues{nodes{${"a".repeat(9000)}:iid}}}}}`,
  "the same project in many issues": `{project(fullPath:"acme/p0"){issues{nodes{${repeated(20, (n) => `a${n}:milestone{project{description}}`)}}}}}`,
};

let app: TestApp;
beforeAll(async () => {
  const issues = Array.from({ length: 100 }, (_, n) => ({
    title: `Issue ${n}`,
    author: "owner",
    milestone: n % 2 === 0 ? "m" : undefined,
  }));
  app = await testApp({
    seed: {
      users: [
        { username: "owner", tokens: [{ token: "token-of-owner" }] },
        { username: "admin", admin: true, tokens: [{ token: "token-of-admin" }] },
      ],
      groups: [
        {
          path: "acme",
          members: { owner: "owner" },
          projects: Array.from({ length: 60 }, (_, n) => ({
            path: `p${n}`,
            description: "d".repeat(2000),
            milestones: [{ title: "m" }],
            issues,
          })),
        },
      ],
    },
  });
});
afterAll(() => app.dispose());

describe("the worst documents", () => {
  it.each([
    ["objects", `{projects{nodes{${repeated(4, (n) => `a${n}:issues{nodes{iid}}`)}}}}`],
    ["characters", `{projects{nodes{issues{nodes{${"a".repeat(9000)}:iid}}}}}`],
    ["lists", `{projects{nodes{${repeated(40, (n) => `a${n}:issues(first:0){count}`)}}}}`],
  ])("that ask for too many %s are refused", async (_, query) => {
    const { status, json } = await app.call(`POST ${ENDPOINT}`, { as: "admin", json: { query } });
    const message = "The answer has more than 20000 objects or 16 MiB: ask for smaller pages";
    expect([status, json]).toEqual([200, { errors: [{ message }] }]);
  });

  it.each(Object.entries(DOCUMENTS))("%s are answered quickly", async (_, sent) => {
    const json = Array.isArray(sent) ? sent.map((query) => ({ query })) : { query: sent };
    await expectQuick(async () => {
      const { status, text } = await app.call(`POST ${ENDPOINT}`, { as: "admin", json });
      expect([200, 400, 422]).toContain(status);
      expect(text.length).toBeLessThan(17 * 1024 * 1024);
    }, MOST);
  });
});
