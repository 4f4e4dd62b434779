import { TOTP } from "otpauth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROGRAM_ADDRESSES } from "../../src/addresses/index.ts";
import { createAppOn } from "../../src/app.ts";
import type { Route } from "../../src/core/resource.ts";
import { allMounts, allResources } from "../../src/mounts.ts";
import { SCIM_BASE } from "../../src/resources/scim/mount.ts";
import { openStore } from "../../src/store/open.ts";
import { longestTurn, MEMORY, memoryOf, TURN } from "../attacks.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { hasTurn } from "../forms.ts";
import {
  type CallOptions,
  call,
  givePassword,
  newDatabase,
  PASSWORD,
  PASSWORD_COST,
  SECRET_KEY,
  type TestApp,
  type TestDatabase,
} from "../helpers.ts";
import { expectQuick } from "../relative-time.ts";
import { toys } from "../toy/index.ts";
import { type UndoingStore, undoing } from "../undoing.ts";
import { ORIGIN, Visitor } from "../visitor.ts";
import { providerOf } from "./_scim.ts";
import { filePartOf, routes, storesInMany } from "./routes.ts";

const MIB = 1024 * 1024;
/**
 * Maximum CPU time of an answer: so often that of reading a mebibyte of JSON. The largest CI configuration takes 18 times
 * that, and 35 on a busy machine with Deno.
 */
const MOST = 50;
/** An answer that takes longer is looked at for the longest turn of the event loop and for memory, in milliseconds of CPU time. */
const LONG = 80;
/** Bytes of an encoded text that a page's query or form has room for: larger ones are refused unread. */
const ROOM = { GET: 7000, POST: 60_000 };

/** Slow inputs for backtracking patterns with two open repetitions: text before, text to repeat, and text after. */
const SHAPES: readonly [before: string, repeated: string, after: string][] = [
  ["", "a", "!"],
  ["@a", ".", "b"],
  ["@a", "-", "!"],
  ["", "@a.", "!"],
  ["", "@", "a"],
  ["", "[", "b"],
  ["", "[](", "b"],
  ["", "(", "b"],
  ["", "`", "b"],
  ["", "`a\n", "b"],
  ["", "<", "b"],
  ["", "![", "b"],
  ["a", "/", "b"],
  ["a", "/-", "b"],
  ["", " ", "b"],
  ["", "\t\n", "b"],
  ["", "%{", "b"],
  ["", "%{a}", "b"],
  ["", "%2", "b"],
  ["", "-", "b"],
  ["", "_", "b"],
  ["", ".", "b"],
  ["", "*", "b"],
  ["", "0", "b"],
  ["", "e\u0301", "b"],
  ["", "\u00c9", "b"],
  ["", "\u{1f600}", "b"],
  ["", "\u2028 ", "b"],
  ["2026-01-01T", "0.", "b"],
  ["http://", "a.", "b"],
  ["a@", "a.", "@"],
];

/** @param room bytes of the encoded text */
function shaped(shape: number, length: number, room = Number.POSITIVE_INFINITY): string {
  const [before, repeated, after] = SHAPES[shape % SHAPES.length] as (typeof SHAPES)[number];
  const encoded = formOf({ "": repeated }).length / repeated.length;
  // Lengths may be counted in characters, but a body is limited in bytes.
  const most = Math.min(length, Math.floor(MIB / 4), Math.floor(room / encoded));
  const times = Math.floor((most - before.length - after.length) / repeated.length);
  // Of a list of many, each text may have no room for more than a few characters.
  return (before + repeated.repeat(Math.max(0, times)) + after).slice(0, Math.max(0, most));
}

/** Addresses for programs take texts in their paths: addresses.test.ts has those. */
const all: readonly Route[] = allResources
  .filter(({ name }) => name !== PROGRAM_ADDRESSES.name)
  .flatMap((resource) => resource.routes);
const pages: readonly Route[] = allMounts
  .filter(({ hasForms }) => hasForms)
  .flatMap(({ resources }) => resources)
  .flatMap((resource) => resource.routes);

const ofScim: readonly Route[] = allMounts
  .filter(({ name }) => name === "SCIM")
  .flatMap(({ resources }) => resources)
  .flatMap((resource) => resource.routes);

let database: TestDatabase;
let store: UndoingStore;
let app: Pick<TestApp, "admin" | "call" | "close" | "fetch">;
let places: Places;
/** A signed-in visitor, who has an application and has begun to set up a second factor. */
let signedIn: Visitor;
/** The SCIM token of a group. */
let scimToken: string;
/** A visitor whose password was accepted, and who has not yet sent the second factor. */
let halfSignedIn: Visitor;
/** Values that forms and addresses of pages need to be read to the end, whatever else is sent. */
let ofPages: Record<string, string>;

beforeAll(async () => {
  database = await newDatabase();
  store = undoing(await openStore(database.database));
  const made = await createAppOn(
    store,
    {
      background: false,
      sites: "path",
      secretKey: SECRET_KEY,
      limits: { unknownTokens: false, signInsPerAccount: false, signInsPerAddress: false },
    },
    toys,
    PASSWORD_COST,
  );
  app = { ...made, call: (text, options) => call(made, text, options) };
  await app.admin.seed(fixtureSeed(1));
  await createFixtures(app, 1);
  places = await placesIn(app, "acme", "acme/site");
  const long = { title: "Long", source_branch: "main", target_branch: "feature" };
  for (const path of ["issues", "merge_requests", "milestones"]) {
    const description = "a".repeat(MIB - 200);
    const json = { ...long, description };
    expect(
      (await app.call(`POST /projects/acme%2Fsite/${path}`, { as: "admin", json })).status,
    ).toBe(201);
  }
  scimToken = (await providerOf(app)).token;
  await visitPages();
  store.undoes = true;
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

async function visitPages(): Promise<void> {
  const password = PASSWORD;
  await givePassword({ store }, "admin", "owner");
  const setUp = async (login: string) => {
    const visitor = new Visitor(app);
    await visitor.signIn(login, password);
    await visitor.get("/-/profile/two_factor_auth");
    await visitor.post("/-/profile/two_factor_auth/start", { password });
    const { page } = await visitor.get("/-/profile/two_factor_auth");
    const secret = /<code class="secret">([A-Z2-7 ]+)</.exec(page)?.[1] ?? "";
    return { visitor, code: () => new TOTP({ secret: secret.replaceAll(" ", "") }).generate() };
  };

  signedIn = (await setUp("admin")).visitor;
  const redirect_uri = "https://app.test/callback";
  const form = { name: "App", redirect_uri, "scopes[]": "api", confidential: "1" };
  const registered = await signedIn.post("/-/user_settings/applications", form);
  const { 1: client_id = "" } = /<dd><code class="secret">(\w+)</.exec(registered.page) ?? [];
  const { 1: application_id = 0 } = /applications\/(\d+)\/delete/.exec(registered.page) ?? [];

  const { visitor: owner, code } = await setUp("owner");
  expect((await owner.post("/-/profile/two_factor_auth", { code: code() })).status).toBe(200);
  halfSignedIn = new Visitor(app);
  const half = await halfSignedIn.signIn("owner", password);
  expect((await halfSignedIn.follow(half)).status).toBe(200);

  const { path } = await app.admin.users.createPasswordLink("guest");
  const reset_password_token = new URL(path, ORIGIN).searchParams.get("reset_password_token");
  places.params = {
    ...places.params,
    "user_settings application_id": application_id,
    session_id: 1,
    source_user_id: 1,
    provider: "corp",
    "invites token": "f".repeat(64),
  };
  ofPages = {
    ...{ client_id, redirect_uri, response_type: "code", scope: "api", state: "x" },
    reset_password_token: reset_password_token ?? "",
  };
  const read = async (page: string) => (await signedIn.get(page)).status;
  expect(await read(`/oauth/authorize?${formOf(ofPages)}`)).toBe(200);
  expect(await read(`/-/user_settings/applications/${application_id}`)).toBe(200);
}

/** Sends a request, and repeats a slow one, since something else may have used the time. */
async function requireQuick(request: string, options: CallOptions): Promise<number> {
  let status = 0;
  let took = 0;
  const what = `${request.slice(0, 80)} ${JSON.stringify(options).slice(0, 120)}`;
  const send = async () => {
    const before = process.cpuUsage();
    ({ status } = await app.call(request, options));
    const { user, system } = process.cpuUsage(before);
    took = (user + system) / 1000;
  };
  await expectQuick(send, MOST, what);
  if (status >= 500) expect.fail(`${what}: ${status}`);
  if (took >= LONG) {
    expect(await longestTurn(send, TURN), what).toBeLessThan(TURN);
    expect(await memoryOf(send), what).toBeLessThan(MEMORY);
  }
  return status;
}

function send(route: Route, sent: Record<string, unknown>): Promise<number> {
  if (pages.includes(route)) return sendToPage(route, { form: formOf({ ...ofPages, ...sent }) });
  if (ofScim.includes(route)) {
    const request = `${route.method} ${SCIM_BASE}${pathOf(route, places)}?${formOf(sent)}`;
    const headers = { authorization: `Bearer ${scimToken}` };
    return requireQuick(request, route.body === "object" ? { headers, json: sent } : { headers });
  }
  const path = `${route.method} ${pathOf(route, places)}`;
  const part = filePartOf(route);
  if (route.method === "GET" || route.method === "DELETE") {
    return requireQuick(`${path}?${formOf(sent)}`, { as: "admin" });
  }
  if (part !== undefined) {
    const body = new FormData();
    for (const [name, value] of Object.entries(sent)) body.set(name, String(value));
    body.set(part, new Blob(["x"]), String(sent["branch"]).slice(0, 255));
    return requireQuick(path, { as: "admin", body });
  }
  return requireQuick(path, { as: "admin", json: sent });
}

/** Passwords are hashed, which takes its time, and the same for every shape. */
const isPassword = (name: string) => /password$/.test(name);

/** See {@link ROOM}. */
function roomOf(route: Route): number {
  if (ofScim.includes(route)) return ROOM.GET;
  if (!pages.includes(route)) return Number.POSITIVE_INFINITY;
  return route.method === "POST" ? ROOM.POST : ROOM.GET;
}

/** Sends what a page's form or link would, with the CSRF token, as a visitor who gets as far as possible. */
function sendToPage(
  route: Route,
  { form = "", query = "" }: { form?: string; query?: string },
): Promise<number> {
  const { cookie, csrf } = route.access === "anyone" ? halfSignedIn : signedIn;
  const headers = { cookie, "x-csrf-token": csrf };
  const request = `${route.method} ${ORIGIN}${pathOf(route, places)}`;
  if (route.method === "POST") return requireQuick(`${request}?${query}`, { headers, form });
  return requireQuick(`${request}?${query}${form}`, { headers });
}

/** Encodes values as forms and queries do; arrays as repeated values. */
function formOf(values: Record<string, unknown>): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((one) => [`${name}[]`, String(one)]) : [[name, String(value)]],
  );
  return String(new URLSearchParams(pairs));
}

/** Parameters a route requires beside the attribute under test. */
function needed(route: Route): Record<string, unknown> {
  const plain: Record<string, string> = {
    color: "#ffffff",
    email: "new@example.com",
    image_url: "https://a.test",
    link_url: "https://a.test",
    // An unknown one takes as long as a real password.
    login: "admin",
    scopes: "api",
    source_branch: "one",
    target_branch: "two",
  };
  return Object.fromEntries(
    Object.entries(route.input ?? {})
      .filter(([name, schema]) => !schema.notes.optional && !route.path.includes(`:${name}`))
      .map(([name, schema]) => {
        const { type, values } = schema.notes;
        return [name, values?.[0] ?? plain[name] ?? (type === "integer" ? 1 : `a ${name}`)];
      }),
  );
}

describe("the worst texts at the largest size", () => {
  // What some routes write can't be undone: they come last, so that no other has to show their longest texts.
  const ordered = [
    ...all.filter((route) => !storesInMany(route)),
    ...all.filter((route) => storesInMany(route)),
  ];
  const cases = ordered
    .filter((route) => hasTurn(route))
    .map((route) => [`${route.method} ${route.path}`, route] as const);

  it.each(cases)("%s answers quickly", async (_, route) => {
    const attributes = Object.entries(route.input ?? {})
      .filter(([name]) => !route.path.includes(`:${name}`) && name !== route.upload?.part)
      .map(([name, schema]) => ({ name, ...schema.notes }));
    store.undoes = !storesInMany(route);
    const texts = attributes.filter(({ maxLength, maxItems }) => maxLength && !maxItems);
    const lists = attributes.filter(({ maxItems }) => maxItems);
    // Attributes with the same name occur in many routes, each of which begins with another shape.
    const first = all.indexOf(route);
    for (const [at, { name, maxLength = 0 }] of texts.entries()) {
      const isLong = maxLength > 10_000 && !isPassword(name);
      for (let shape = 0; shape < (isLong ? SHAPES.length : 3); shape += 1) {
        const text = shaped(isLong ? shape : 3 * (first + at) + shape, maxLength, roomOf(route));
        await send(route, { ...needed(route), [name]: text });
      }
    }
    for (const { name, type, maxItems = 0, maxLength = 0 } of lists) {
      const isText = type.includes("string") && maxLength > 0;
      const room = roomOf(route) / maxItems;
      const entry = (at: number) =>
        isText ? `${at}${shaped(first, maxLength - 8, room)}` : at + 1;
      const entries = Array.from({ length: maxItems }, (_, at) => entry(at));
      await send(route, { ...needed(route), [name]: entries });
      if (isText)
        await send(route, {
          ...needed(route),
          [name]: ",".repeat(Math.min(MIB / 2, roomOf(route) / 3)),
        });
    }
    if (texts.length + lists.length > 0) {
      const count = texts.length + lists.length;
      const each = Math.floor(MIB / 2 / count);
      const sent = [...texts, ...lists].map(({ name }, at) => [
        name,
        shaped(first + at, each, roomOf(route) / count),
      ]);
      await send(route, Object.fromEntries(sent));
    }
  });

  it("every text is bounded", () => {
    const unbounded = allResources.flatMap((resource) =>
      resource.routes.flatMap((route) =>
        Object.entries(route.input ?? {})
          .map(([name, schema]) => ({ name, ...schema.notes }))
          .filter(
            ({ type, values, maxLength, maxItems }) =>
              (/string/.test(type) && !values && !maxLength) ||
              (/array|comma/.test(type) && !maxItems),
          )
          .map(({ name }) => `${route.method} ${route.path} ${name}`),
      ),
    );
    expect(unbounded).toEqual([]);
  });
});

describe("pages", () => {
  const cases = pages.filter((route) => hasTurn(route, "query"));

  it.each(cases.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s answers quickly to any query",
    async (_, route) => {
      const hashes = Object.keys(route.input ?? {}).some(isPassword);
      const form = formOf({ ...(!hashes && needed(route)), ...ofPages });
      for (let shape = 0; shape < SHAPES.length; shape += 1) {
        const text = shaped(shape, MIB, ROOM.GET);
        for (const query of [{ [text]: "" }, { page: text }, { a: text }]) {
          await sendToPage(route, { form, query: `${formOf(query)}&` });
        }
      }
    },
  );

  it("answers quickly to any CSRF token", async () => {
    const { cookie } = signedIn;
    for (let shape = 0; shape < SHAPES.length; shape += 1) {
      const form = formOf({ authenticity_token: shaped(shape, MIB, ROOM.POST) });
      expect(
        await requireQuick(`POST ${ORIGIN}/users/sign_out`, { headers: { cookie }, form }),
      ).toBe(422);
    }
  });
});

describe("paths", () => {
  const ENDINGS = ["/".repeat(15_000), "/a".repeat(7000), "%2F".repeat(5000), ".".repeat(15_000)];
  const OTHERS = ["0".repeat(15_000), "a-".repeat(7000), "%".repeat(15_000), "%C3%89".repeat(2500)];

  const cases = routes.filter((route) => hasTurn(route, "path"));

  it.each(cases.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s answers quickly",
    async (_, route) => {
      const path = pathOf(route, places);
      const most = path.slice(0, path.lastIndexOf("/"));
      const at = routes.indexOf(route);
      for (const ending of [ENDINGS[at % 4], OTHERS[at % 4]]) {
        await requireQuick(`${route.method} ${most}/a${ending}b`, { as: "admin" });
        await requireQuick(`${route.method} ${path}${ending}b`, { as: "admin" });
      }
    },
  );

  it("of a wiki page may have any number of slashes", async () => {
    const slashes = "/".repeat(MIB / 4);
    await requireQuick(`GET /projects/acme%2Fsite/wikis/a${slashes}b`, { as: "admin" });
    await requireQuick(`GET /projects/acme%2Fsite/wikis/a${slashes}`, { as: "admin" });
  });
});

describe("headers", () => {
  const NAMES = [
    ...["accept", "authorization", "content-type", "cookie", "if-none-match"],
    ...["if-unmodified-since", "origin", "private-token", "range", "sec-fetch-site", "sudo"],
    ...["user-agent", "x-csrf-token", "x-forwarded-for", "x-request-id"],
  ];
  const BEGINNINGS: Record<string, string> = {
    authorization: "Basic ",
    "content-type": "multipart/form-data; boundary=",
    cookie: "_service_session=",
    "if-none-match": 'W/"',
    origin: "https://",
  };

  it.each(NAMES)("%s is read quickly", async (name) => {
    for (const repeated of ["a", " ", "; ", ",", "W/", '"', "\\", "=", "Bearer ", "a.", "[", ":"]) {
      for (const beginning of new Set(["", BEGINNINGS[name] ?? ""])) {
        const run = repeated.repeat(Math.floor(16_000 / repeated.length));
        const value = `${beginning}${run}!`;
        const headers = { [name]: value };
        await requireQuick("GET /projects", { headers });
        await requireQuick(`GET ${ORIGIN}/users/sign_in`, { headers });
        await requireQuick("POST /projects/acme%2Fsite/issues", { headers, body: "title=x" });
      }
    }
  });
});

describe("bodies", () => {
  const boundary = "--xx\r\n";
  const field = 'Content-Disposition: form-data; name="a"\r\n';
  const file = 'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n1\r\n';
  const JSON_TYPE = "application/json";
  const FORM = "application/x-www-form-urlencoded";
  const MULTIPART = "multipart/form-data; boundary=xx";

  it.each([
    [JSON_TYPE, "", "["],
    [JSON_TYPE, "", '{"a":'],
    [JSON_TYPE, '{"a":[', "0,"],
    [JSON_TYPE, '{"a":[', "[],"],
    [JSON_TYPE, "{", '"a":0,'],
    [JSON_TYPE, '{"a":"', "\\\\"],
    [JSON_TYPE, '{"a":"', "\\u0041"],
    [JSON_TYPE, '{"a":', "1"],
    [JSON_TYPE, "", " "],
    [JSON_TYPE, "", '"'],
    [FORM, "", "&"],
    [FORM, "", "="],
    [FORM, "a", "["],
    [FORM, "a", "[]"],
    [FORM, "a", "[a]"],
    [FORM, "", "a[][b]=&"],
    [FORM, "", "a[]=&"],
    [FORM, "a=", "%"],
    [FORM, "a=", "%41"],
    [FORM, "a=", "+"],
    [MULTIPART, "", boundary],
    [MULTIPART, "", `${boundary}${field}\r\n1\r\n`],
    [MULTIPART, "", `${boundary}${file}`],
    [MULTIPART, boundary + field, "X: y\r\n"],
    [MULTIPART, boundary, "\\"],
    [MULTIPART, `${boundary}Content-Disposition: form-data`, "; a=b"],
    [MULTIPART, `${boundary}Content-Disposition: form-data`, ";a*=u''%"],
    [MULTIPART, `${boundary}Content-Disposition: form-data; name="`, '\\"'],
    [MULTIPART, `${boundary}${field}\r\n`, "\r\n--x"],
    [MULTIPART, `${boundary}${field}\r\n`, "\r\n"],
    [MULTIPART, "", "\r\n--x"],
  ])("of %s that repeat are read quickly: %j %j", async (type, before, repeated) => {
    const times = Math.floor((MIB - 1000 - before.length) / repeated.length);
    const body = `${before}${repeated.repeat(times)}`;
    const headers = { "content-type": type };
    for (const path of ["issues", "wikis/attachments"]) {
      await requireQuick(`POST /projects/acme%2Fsite/${path}`, { as: "admin", headers, body });
    }
  });
});
