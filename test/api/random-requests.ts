import fc from "fast-check";
import type { Attribute } from "../../src/core/input.ts";
import type { Route } from "../../src/core/resource.ts";
import { type Places, pathOf } from "../fixtures.ts";
import { type CallOptions, everyone } from "../helpers.ts";
import { filePartOf } from "./routes.ts";

/** A request to a route, in the form `call` takes. */
export interface RandomRequest extends CallOptions {
  request: string;
}

const PROTOTYPE_NAMES = ["__proto__", "constructor", "toString"];

const hostileText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(
    "",
    " ",
    "\t\r\n",
    "\0",
    "a\0b",
    "\ud800",
    "\u202eabc\u200b",
    "\ufeff",
    "İıſK",
    "e\u0301".repeat(50),
    "👩‍👩‍👧‍👦".repeat(20),
    "'; drop table users; --",
    "%_\\%",
    "%{project_path}%00%zz",
    "../../etc/passwd",
    "a/../b",
    "/",
    "//",
    ".",
    "..",
    "-",
    "~",
    ",,,",
    "&a=b#c?d",
    "<script>alert(1)</script>",
    "javascript:alert(1)",
    "\r\nSet-Cookie: a=b",
    "null",
    "undefined",
    "NaN",
    "true",
    "[]",
    "{}",
    "x".repeat(256),
    "é".repeat(5000),
    "x".repeat(100_000),
    "(".repeat(1000),
    "a ".repeat(2000),
    ...PROTOTYPE_NAMES,
  ),
);

const EDGES = [
  ...[0, -0, 1, -1, 2, 9, 10, 50, 99, 100, 101, 1e3, 1e6],
  ...[2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53) + 1],
  ...[0.5, 1e21, 1e308, Number.MIN_VALUE],
];
const EDGES_AS_TEXT = [
  ...["01", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "１", "9".repeat(16), "9".repeat(30)],
  ...["-9007199254740991", "9007199254740991", "9223372036854775807", "9223372036854775808"],
];
const number = fc.oneof(
  fc.integer({ min: -3, max: 40 }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(...EDGES, ...EDGES_AS_TEXT, ...EDGES.map(String)),
);

const nested = fc.oneof(
  fc.array(fc.oneof(hostileText, number, fc.constant(null)), { maxLength: 4 }),
  fc.dictionary(fc.oneof(hostileText, fc.constantFrom("0", "a", "key")), hostileText, {
    maxKeys: 3,
  }),
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom([], {}, [[]], [null], [[[[[["a"]]]]]], [{ a: [{}] }], Array(300).fill(1)),
);

const hostile = fc.oneof(hostileText, number, nested, fc.boolean(), fc.constant(null));

const date = fc.oneof(
  fc.date({ noInvalidDate: true }).map((at) => at.toISOString().slice(0, 10)),
  fc.constantFrom("2026-1-2", "0000-01-01", "0001-01-01", "9999-12-31", "2026-02-30", "2024-02-29"),
);

const instant = fc.oneof(
  date,
  fc.date({ noInvalidDate: true }).map((at) => at.toISOString()),
  fc.constantFrom("2026-01-01T00:00:00+14:00", "2026-01-01T25:00:00Z", "2026-01-01T1"),
);

/** A text that JSON can have, and PostgreSQL can't, half of the time. */
const rawText = fc.oneof(hostileText, fc.constantFrom("a\0b", "\ud800"));

/** Pairs in each of the forms that attributes of JSON have. */
const pairs = fc.oneof(
  fc.dictionary(fc.constantFrom("KEY", "key", "version", "platform"), rawText, { maxKeys: 2 }),
  fc.array(
    fc.record(
      {
        key: fc.constantFrom("KEY", "X-Key"),
        value: rawText,
        variable_type: fc.constant("file"),
      },
      { requiredKeys: ["key"] },
    ),
    { maxLength: 2 },
  ),
);

/** Typical values of attributes by name, in addition to those of their type. */
const NAMED: Record<string, fc.Arbitrary<unknown>> = {
  action: fc.constantFrom("created", "pushed", "commented"),
  assets: fc.record({
    links: fc.array(fc.record({ name: hostileText, url: fc.constantFrom("https://a.test", "b") }), {
      maxLength: 2,
    }),
  }),
  body: fc.constantFrom("A note with @guest and @nobody", "/close", "@all"),
  color: fc.constantFrom("#fff", "#123456", "red", "#12345", "FF0000"),
  content: fc.constantFrom(
    ...["# Head\n\n[[link]]", "text", "a: { script: make }", '"a\\0": { script: "\\ud800" }'],
    "a: { script: make, parallel: { matrix: [{ A: [1, 2], B: [x, y] }] }, needs: [a] }",
  ),
  created_after: instant,
  created_at: instant,
  created_before: instant,
  cron: fc.constantFrom("0 1 * * *", "0 0 31 2 *", "* * * * * *", "@daily"),
  cron_timezone: fc.constantFrom("Europe/Berlin", "UTC", "+01:00", "Mars/Phobos"),
  email: fc.constantFrom("new@example.com", "owner@example.com", "a@b", "@", "a@b.c\nd@e.f"),
  expire_in: fc.constantFrom("1 day", "never", "9999999999999999 years", "1e400 s", "soon"),
  file_name: fc.constantFrom("a.txt", "ü.png"),
  info: pairs,
  job_variables_attributes: pairs,
  label_id: fc.constantFrom("Development", "UX", "9", "1"),
  labels: fc.constantFrom("Development", "Testing, new", ["UX", "a,b"], "none", "any"),
  milestone: fc.constantFrom("v1", "None", "Any", "#upcoming"),
  name: fc.constantFrom("Development", "Board", "New", "thumbsup", "rocket", "Site", "a.svg"),
  new_name: fc.constantFrom("Testing", "Newer"),
  notification_email: fc.constantFrom("owner@example.com", "else@example.com"),
  password: fc.constantFrom("short", "long enough", "x".repeat(73)),
  path: fc.constantFrom("acme", "site", "new-path", "new.git", "a/b", "-a", "team"),
  custom_headers: pairs,
  private_token: fc.constantFrom("none", ""),
  scopes: fc.constantFrom(["api"], "api,read_user", ["sudo", "none"], []),
  search: fc.constantFrom("e", "Development", "100%", "a b c"),
  slug: fc.constantFrom("home", "Home", "docs/page", "docs%2Fpage", "ho me"),
  source_branch: fc.constantFrom("feature", "main", "new"),
  target_branch: fc.constantFrom("main", "feature"),
  title: fc.constantFrom("v1", "home", "docs/page", "New one"),
  updated_after: instant,
  updated_before: instant,
  url_variables: pairs,
  variables: pairs,
  username: fc.constantFrom("owner", "new.user", "OWNER", "acme", "a b"),
  link_url: fc.constantFrom("https://a.test/%{project_path}", "http://b", "ftp://c", "https://"),
  image_url: fc.constantFrom("https://a.test/%{default_branch}.svg", "//b", "http://[::1"),
};

const PLAUSIBLE: Record<string, fc.Arbitrary<unknown>> = {
  integer: fc.integer({ min: 0, max: 12 }),
  boolean: fc.constantFrom(true, false, "true", "0", "yes", "off"),
  date,
  string: fc.constantFrom("a", "Some words", "owner"),
  "comma-separated string": fc.constantFrom("a,b", "a", ["a", "b"], ""),
  "array of integer": fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 4 }),
  "array of string": fc.array(fc.constantFrom("owner", "guest"), { maxLength: 3 }),
};

function plausible(name: string, schema: Attribute<unknown>, places: Places) {
  const { type, values } = schema.notes;
  const known = places.params[name];
  return fc.oneof(
    ...(values ? [{ weight: 4, arbitrary: fc.constantFrom(...values) }] : []),
    ...(known === undefined ? [] : [{ weight: 3, arbitrary: fc.constant(known) }]),
    ...(NAMED[name] ? [{ weight: 3, arbitrary: NAMED[name] }] : []),
    { weight: 1, arbitrary: PLAUSIBLE[type] ?? hostileText },
  );
}

/** Parameters of a route: mostly its own with acceptable values, optionally mixed with hostile ones. */
function parametersOf(route: Route, places: Places): fc.Arbitrary<Record<string, unknown>> {
  return fc.oneof(
    { weight: 2, arbitrary: parametersWith(0, route, places) },
    { weight: 3, arbitrary: parametersWith(2, route, places) },
  );
}

function parametersWith(hostility: number, route: Route, places: Places) {
  const inPath = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
  const sent = Object.entries(route.input ?? {})
    .filter(([name]) => !inPath.has(name) && name !== route.upload?.part)
    .map(([name, schema]) => {
      const { optional } = schema.notes;
      const needed = !optional || route.atLeastOne?.includes(name);
      const value = fc.oneof(
        { weight: 5, arbitrary: plausible(name, schema, places) },
        { weight: hostility, arbitrary: hostile },
      );
      const freq = needed ? 12 : 2;
      return fc.option(fc.tuple(fc.constant(name), value), { freq, nil: undefined });
    })
    .map((one) => one as fc.Arbitrary<[string, unknown] | undefined>);
  const page = fc.oneof(fc.integer({ min: 0, max: 5 }), hostile);
  const others = [
    ...["page", "per_page"].map((name) => fc.tuple(fc.constant(name), page)),
    fc.tuple(fc.constantFrom("x", "id", "sudo", ...PROTOTYPE_NAMES), hostile),
  ].map((pair) =>
    fc.oneof(
      { weight: hostility, arbitrary: pair as fc.Arbitrary<[string, unknown]> },
      { weight: 3, arbitrary: fc.constant(undefined) },
    ),
  );
  return fc.tuple(...sent, ...others).map((pairs) =>
    pairs
      .filter((pair) => pair !== undefined)
      .reduce<Record<string, unknown>>((all, [name, value]) => {
        all[name] = value;
        return all;
      }, Object.create(null)),
  );
}

/** A path of the route, mostly one that exists. */
function pathsOf(route: Route, places: Places): fc.Arbitrary<string> {
  const segment = fc.oneof(
    hostileText.map((text) => encodeURIComponent(text.slice(0, 300).toWellFormed())),
    number.map((one) => encodeURIComponent(String(one))),
    fc.constantFrom(
      "%",
      "%zz",
      "%c3%28",
      "%00",
      "%2F",
      "%2e%2e",
      "0",
      "acme",
      "acme%2Fteam%2Fcore",
    ),
  );
  const real = fc.constant(pathOf(route, places));
  const odd = fc.array(segment, { minLength: 5, maxLength: 5 }).map((segments) => {
    let at = 0;
    return route.path.replace(/:\w+\*?/g, () => {
      at += 1;
      // Dot segments would lead to another route, since URLs are resolved before sending.
      return (segments[at - 1] as string).replace(/^(\.|%2e){0,2}$/i, "0");
    });
  });
  return fc.oneof({ weight: 6, arbitrary: real }, { weight: 1, arbitrary: odd });
}

function textOf(value: unknown): string {
  return (typeof value === "string" ? value : String(JSON.stringify(value))).toWellFormed();
}

/** Form names and values of a parameter, with brackets for arrays and hashes. */
function pairsOf(name: string, value: unknown): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((one) => pairsOf(`${name}[]`, one));
  if (value !== null && typeof value === "object") {
    return Object.entries(value).flatMap(([key, one]) => pairsOf(`${name}[${key}]`, one));
  }
  return [[name.toWellFormed(), textOf(value)]];
}

function queryOf(sent: Record<string, unknown>): string {
  const pairs = Object.entries(sent).flatMap(([name, value]) => pairsOf(name, value));
  return new URLSearchParams(pairs).toString();
}

function multipartOf(sent: Record<string, unknown>, part: string): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(sent).flatMap((one) => pairsOf(...one))) {
    form.append(name, value);
  }
  const name = textOf(sent["file_name"] ?? "a.txt").slice(0, 300);
  form.append(part, new Blob(["x"]), name);
  return form;
}

type Carry = (sent: Record<string, unknown>, route: Route) => Omit<CallOptions, "as">;

/** Encodings of parameters in a body. */
const BODIES: Record<string, Carry> = {
  json: (json) => ({ json }),
  form: (sent) => ({ form: queryOf(sent) }),
  multipart: (sent, route) => ({ body: multipartOf(sent, filePartOf(route) ?? "file") }),
  "json of another shape": (sent) => ({ json: [Object.values(sent)] }),
  "json cut short": (sent) => ({
    body: JSON.stringify(sent).slice(0, -1),
    headers: { "content-type": "application/json" },
  }),
  "another type": (sent) => ({
    body: JSON.stringify(sent),
    headers: { "content-type": "application/xml" },
  }),
  "a form that is none": (sent) => ({
    body: JSON.stringify(sent),
    headers: { "content-type": "multipart/form-data; boundary=x" },
  }),
};

/** Requests in which all attributes have the same odd value, or none is sent. */
export function oddRequestsTo(route: Route, places: Places): RandomRequest[] {
  const names = Object.keys(route.input ?? {});
  return [null, "", 0, -1, true, "\0", [], [null], {}, "9".repeat(30), undefined].map((value) => {
    const sent = Object.fromEntries(names.map((name) => [name, value]));
    const path = `${route.method} ${pathOf(route, places)}`;
    return route.method === "GET"
      ? { request: `${path}?${queryOf(sent)}`, as: "admin" }
      : { request: path, as: "admin", ...BODIES["json"]?.(sent, route) };
  });
}

/** Arbitrary requests to a route, of every kind a client could send. */
export function requestsTo(route: Route, places: Places): fc.Arbitrary<RandomRequest> {
  const writes = route.method !== "GET";
  const carrier = writes
    ? fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom("json", "form", "multipart") },
        { weight: 2, arbitrary: fc.constant("query") },
        { weight: 2, arbitrary: fc.constantFrom(...Object.keys(BODIES)) },
      )
    : fc.constant("query");
  const as = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("admin", "owner") },
    { weight: 2, arbitrary: fc.constantFrom(...everyone) },
  );
  return fc
    .record({
      as: as as fc.Arbitrary<NonNullable<CallOptions["as"]>>,
      path: pathsOf(route, places),
      sent: parametersOf(route, places),
      carrier,
      since: fc.option(fc.constantFrom("Fri, 12 Jan 1990 06:00:48 GMT", "soon", "-1", "\u00ff"), {
        freq: 1,
      }),
    })
    .map(({ as, path, sent, carrier, since }) => {
      const carried = BODIES[carrier]?.(sent, route) ?? {};
      const query = carrier === "query" ? `?${queryOf(sent)}` : "";
      const headers = { ...carried.headers, ...(since && { "if-unmodified-since": since }) };
      return { ...carried, request: `${route.method} ${path}${query}`, as, headers };
    });
}
