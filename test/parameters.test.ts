import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApiError } from "../src/core/errors.ts";
import {
  decodePath,
  fromParsed,
  PARAMETER_LIMITS,
  type Parameter,
  parseJson,
  parseQuery,
  requireNames,
} from "../src/core/http/parameters.ts";
import { runs, tryRandomly } from "./forms.ts";

const parse = (text: string) => parseQuery(text, PARAMETER_LIMITS);

/** Converts to ordinary objects, for comparison. */
const plain = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(plain)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
      : value;

describe("a query or form is parsed like Rack does", () => {
  it.each<[string, unknown]>([
    ["", {}],
    ["&&", {}],
    ["a=1", { a: "1" }],
    ["&a=1&&b=2&", { a: "1", b: "2" }],
    ["a", { a: null }],
    ["a=", { a: "" }],
    ["a=1=2", { a: "1=2" }],
    ["=1", {}],
    ["a=1&a=2", { a: "2" }],
    ["a=1&b=2&a=", { a: "", b: "2" }],
    // Escapes
    ["a+b=c+d", { "a b": "c d" }],
    ["a=1%2B2", { a: "1+2" }],
    ["t=2026-01-01T00:00:00%2B01:00", { t: "2026-01-01T00:00:00+01:00" }],
    ["%61=%62", { a: "b" }],
    ["a=%C3%A9%F0%9F%98%80", { a: "é😀" }],
    ["a=é", { a: "é" }],
    ["a=%26%3D%23", { a: "&=#" }],
    ["a%5Bb%5D=1", { a: { b: "1" } }],
    ["a%5B%5D=1&a[]=2", { a: ["1", "2"] }],
    // Arrays
    ["a[]=1", { a: ["1"] }],
    ["a[]=1&a[]=2&a[]=1", { a: ["1", "2", "1"] }],
    ["a[]=", { a: [""] }],
    ["a[]", { a: [null] }],
    // Hashes
    ["a[b]=1", { a: { b: "1" } }],
    ["a[b]=1&a[c]=2", { a: { b: "1", c: "2" } }],
    ["a[b]=1&a[b]=2", { a: { b: "2" } }],
    ["a[b][c][d]=1", { a: { b: { c: { d: "1" } } } }],
    ["a[0]=x&a[1]=y", { a: { "0": "x", "1": "y" } }],
    ["a[b][]=1&a[b][]=2", { a: { b: ["1", "2"] } }],
    ["a[b]=1&a=2", { a: "2" }],
    ["a[b c]=1", { a: { "b c": "1" } }],
    // Arrays of hashes: a repeated key starts a new element
    ["v[][key]=A&v[][value]=1", { v: [{ key: "A", value: "1" }] }],
    [
      "v[][key]=A&v[][value]=1&v[][key]=B&v[][value]=2",
      {
        v: [
          { key: "A", value: "1" },
          { key: "B", value: "2" },
        ],
      },
    ],
    ["v[][key]=A&v[][key]=B", { v: [{ key: "A" }, { key: "B" }] }],
    ["v[][key]=A&v[][value]=1&v[][key]=B", { v: [{ key: "A", value: "1" }, { key: "B" }] }],
    ["x[][y][z]=1&x[][y][w]=2", { x: [{ y: { z: "1", w: "2" } }] }],
    ["x[][y][z]=1&x[][y][z]=2", { x: [{ y: { z: "1" } }, { y: { z: "2" } }] }],
    ["x[][y][]=1&x[][y][]=2", { x: [{ y: ["1", "2"] }] }],
    ["x[y][][z]=1&x[y][][z]=2", { x: { y: [{ z: "1" }, { z: "2" }] } }],
    ["x[y][][z]=1&x[y][][w]=a&x[y][][z]=2", { x: { y: [{ z: "1", w: "a" }, { z: "2" }] } }],
    [
      "x[][id]=1&x[][y][a]=5&x[][y][b]=7&x[][id]=2",
      {
        x: [{ id: "1", y: { a: "5", b: "7" } }, { id: "2" }],
      },
    ],
  ])("%j", (text, expected) => {
    expect(plain(parse(text))).toEqual(expected);
  });

  it.each([
    ["a=%", "malformed percent-encoding"],
    ["a=%zz", "malformed percent-encoding"],
    ["%=1", "malformed percent-encoding"],
    ["a=%ff", "malformed percent-encoding"],
    ["a=%ed%a0%80", "malformed percent-encoding"],
    ["a=1&a[b]=2", "expected a hash for parameter 'a'"],
    ["a=1&a[]=2", "expected an array for parameter 'a'"],
    ["a[]=1&a[b]=2", "expected a hash for parameter 'a'"],
    ["a[b]=1&a[]=2", "expected an array for parameter 'a'"],
    ["a[b]=1&a[b][c]=2", "expected a hash for parameter 'b'"],
    ["a&a[b]=1", "expected a hash for parameter 'a'"],
    [`a${"[b]".repeat(33)}=1`, "parameters are nested too deeply"],
    [`a${"[]".repeat(33)}=1`, "parameters are nested too deeply"],
    [`a${"[".repeat(20_000)}=1`, "parameters are nested too deeply"],
    ["a=1&".repeat(4096), "too many parameters"],
    ["&".repeat(5000), "too many parameters"],
  ])("%j is 400", (text, error) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ name: "ApiError", status: 400, body: { error } }),
    );
  });

  it("may reach its limits", () => {
    expect(parse(Array.from({ length: 4096 }, (_, i) => `a${i}=1`).join("&"))).toHaveProperty(
      "a4095",
      "1",
    );
    expect(plain(parse(`a${"[b]".repeat(32)}=1`))).toHaveProperty("a.b.b.b");
    const limits = { depth: 1, count: 2 };
    expect(plain(parseQuery("a[b]=1&c=2", limits))).toEqual({ a: { b: "1" }, c: "2" });
    expect(() => parseQuery("a[b][c]=1", limits)).toThrow(ApiError);
    expect(() => parseQuery("a=1&b=2&c=3", limits)).toThrow(ApiError);
  });
});

describe("a JSON body", () => {
  const json = (text: string) => parseJson(text, PARAMETER_LIMITS);

  it("may be an object with any JSON values", () => {
    const value = { a: 1, b: "x", c: [1, { d: null }], e: { f: true }, "g[h]": 2, "": 0 };
    expect(plain(json(JSON.stringify(value)))).toEqual(value);
    expect(plain(json('{"a":1,"a":2}'))).toEqual({ a: 2 });
    expect(plain(json("{}"))).toEqual({});
  });

  it("null has none", () => {
    expect(plain(json("null"))).toEqual({});
  });

  it.each(["", "{", "true", "1", '"a"', "{'a':1}", "{a:1}", '{"a":1}x', "NaN"])(
    "%j is 400",
    (text) => {
      expect(() => json(text)).toThrow(
        expect.objectContaining({
          status: 400,
          body: { error: "message body does not match declared format" },
        }),
      );
    },
  );

  it.each([
    [`{"a":${"[".repeat(33)}${"]".repeat(33)}}`, "parameters are nested too deeply"],
    [`${'{"a":'.repeat(34)}1${"}".repeat(34)}`, "parameters are nested too deeply"],
    [`{"a":[${"1,".repeat(4096)}1]}`, "too many parameters"],
  ])("beyond the limits is 400 (%#)", (text, error) => {
    expect(() => json(text)).toThrow(expect.objectContaining({ status: 400, body: { error } }));
  });

  it("may be an array, which is one parameter that few routes take", () => {
    expect(plain(json("[1]"))).toEqual({ _json: [1] });
    expect(() => requireNames(json("[]"), { title: "" })).toThrow(
      expect.objectContaining({
        status: 400,
        body: { error: "message body does not match declared format" },
      }),
    );
    expect(() => requireNames(json("[]"), { _json: "" })).not.toThrow();
  });

  it("nested a hundred thousand deep is 400", () => {
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect(() => json(deep)).toThrow(expect.objectContaining({ status: 400 }));
  });

  it("is accepted from a host's parser within the same limits", () => {
    expect(plain(fromParsed({ a: { b: [1] } }, PARAMETER_LIMITS))).toEqual({ a: { b: [1] } });
    expect(plain(fromParsed([1], PARAMETER_LIMITS))).toEqual({ _json: [1] });
    for (const body of ["a", null]) {
      expect(() => fromParsed(body, PARAMETER_LIMITS)).toThrow(ApiError);
    }
    expect(() => fromParsed({ a: { b: 1 } }, { depth: 1, count: 9 })).toThrow(ApiError);
    expect(() => fromParsed({ a: 1, b: 2 }, { depth: 9, count: 2 })).toThrow(ApiError);
  });
});

describe("a path segment", () => {
  it("is decoded without treating + as a space", () => {
    expect(decodePath("a%2Fb+c%20d")).toBe("a/b+c d");
    expect(() => decodePath("%zz")).toThrow(expect.objectContaining({ status: 400 }));
    expect(() => decodePath("%c3")).toThrow(expect.objectContaining({ status: 400 }));
  });
});

/** The visible state of the built-in prototypes, to detect pollution. */
const prototypes = () =>
  [Object.prototype, Array.prototype, Function.prototype, String.prototype].map(
    (one) => Reflect.ownKeys(one).length,
  );

const NAMES = ["a", "b", "__proto__", "constructor", "prototype", "toString", "0", "length", ""];
const nameArbitrary = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 4 }));
const bracketArbitrary = fc.oneof(
  fc.constantFrom("[]", "[", "]", "[[", "]]", "[]]", "[][]", "%5B%5D"),
  nameArbitrary.map((name) => `[${name}]`),
);
const pairArbitrary = fc
  .tuple(
    nameArbitrary,
    fc.array(bracketArbitrary, { maxLength: 4 }),
    fc.constantFrom("=", "", "=="),
    fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("%", "%zz", "%00", "+", "%2B", "\0")),
  )
  .map(([name, brackets, equals, value]) => name + brackets.join("") + equals + value);
const queryArbitrary = fc.oneof(
  fc.array(pairArbitrary, { maxLength: 8 }).map((pairs) => pairs.join("&")),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: fc.constantFrom(..."ab[]=&%+0_;.5BD"), maxLength: 60 }),
);

/** Whether a value consists only of what parameters can contain, and no object has a prototype. */
const isClean = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Array.isArray(value)
      ? value.every(isClean)
      : Object.getPrototypeOf(value) === null &&
        Reflect.ownKeys(value).every((key) =>
          isClean((value as Record<string, unknown>)[String(key)]),
        )
    : ["string", "number", "boolean"].includes(typeof value) || value === null;

/** Runs a parser: it returns parameters or throws a 400, and never changes a prototype. */
const behaves = (run: () => unknown) => {
  const before = prototypes();
  try {
    expect(isClean(run())).toBe(true);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    expect(error.status).toBe(400);
    expect(Object.keys(error.body)).toEqual(["error"]);
  }
  expect(prototypes()).toEqual(before);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
};

describe("arbitrary input", () => {
  it("as a query yields parameters or 400", async () => {
    await tryRandomly(
      fc.property(queryArbitrary, (text) => behaves(() => parse(text))),
      { numRuns: runs(3000, 30_000) },
    );
  });

  it("as JSON yields parameters or 400", async () => {
    const texts = fc.oneof(
      fc.json({ maxDepth: 5 }),
      fc.string(),
      fc.dictionary(nameArbitrary, fc.jsonValue()).map((value) => JSON.stringify(value)),
    );
    await tryRandomly(
      fc.property(texts, (text) => behaves(() => parseJson(text, PARAMETER_LIMITS))),
      { numRuns: runs(1000, 10_000) },
    );
  });

  it.each([
    "__proto__[polluted]=1",
    "constructor[prototype][polluted]=1",
    "a[__proto__][polluted]=1",
    "a[][__proto__][polluted]=1",
    "__proto__=1",
    "__proto__[]=1",
    "a[constructor][prototype][polluted]=1",
  ])("%s is an ordinary name", (text) => {
    behaves(() => parse(text));
    expect(Object.keys(parse(text))).toEqual([text.split(/[[=]/, 1)[0]]);
  });

  it("__proto__ in JSON is an ordinary name", () => {
    const parsed = parseJson('{"__proto__":{"polluted":1},"a":{"__proto__":2}}', PARAMETER_LIMITS);
    behaves(() => parsed);
    expect(Object.keys(parsed)).toEqual(["__proto__", "a"]);
  });
});

describe("parameters encoded by a client", () => {
  type Tree = string | Tree[] | { [key: string]: Tree };
  const word = fc.string({ unit: fc.constantFrom(...'ab é&=+%[]"😀'), minLength: 1, maxLength: 5 });
  const key = fc.string({ unit: fc.constantFrom(..."abc_é"), minLength: 1, maxLength: 3 });
  const tree = fc.letrec<{ tree: Tree; hash: { [key: string]: Tree } }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      word,
      fc.array(word, { minLength: 1, maxLength: 3 }),
      // An element is distinguished from the previous one by its first key.
      fc.array(
        fc.tuple(word, fc.option(word)).map(
          ([first, second]): Tree => ({
            first,
            ...(second !== null && { second }),
          }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
      tie("hash"),
    ),
    hash: fc.dictionary(key, tie("tree"), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
  })).hash;

  const written = (name: string, value: Tree): string[] =>
    typeof value === "string"
      ? [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`]
      : Array.isArray(value)
        ? value.flatMap((element) => written(`${name}[]`, element))
        : Object.entries(value).flatMap(([inner, one]) => written(`${name}[${inner}]`, one));

  it("are decoded the same by the server, in a form and in JSON", async () => {
    await tryRandomly(
      fc.property(tree, (value) => {
        const form = Object.entries(value).flatMap(([name, one]) => written(name, one));
        expect(plain(parse(form.join("&")))).toEqual(value);
        const json: Record<string, Parameter> = parseJson(JSON.stringify(value), PARAMETER_LIMITS);
        expect(plain(json)).toEqual(value);
      }),
      { numRuns: runs(500, 5000) },
    );
  });
});
