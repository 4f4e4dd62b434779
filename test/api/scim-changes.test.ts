import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runs, tryRandomly } from "../forms.ts";
import type { TestApp } from "../helpers.ts";
import {
  ENTERPRISE,
  filtered,
  operations,
  type Provider,
  type ScimUser,
  scimApp,
  USER,
} from "./_scim.ts";

let app: TestApp & Provider;
beforeAll(async () => {
  app = await scimApp();
});
afterAll(() => app.dispose());

let count = 0;
function newUser(more: object = {}): Promise<ScimUser> {
  count += 1;
  return app.add({ userName: `user${count}@corp.example`, ...more });
}

async function patch(user: ScimUser, ...all: object[]): Promise<ScimUser> {
  const answer = await app.ask(`PATCH /Users/${user.id}`, operations(...all));
  expect([JSON.stringify(all), answer.status, answer.text]).toEqual([
    JSON.stringify(all),
    200,
    answer.text,
  ]);
  return answer.json;
}

/** What a PATCH changes, without the version. */
async function changed(before: ScimUser, ...all: object[]) {
  const { meta: _, ...after } = await patch(before, ...all);
  return after;
}

describe("operations", () => {
  it.each([
    ["a text", { op: "replace", path: "title", value: "T" }, { title: "T" }],
    ["in any case", { OP: "Replace", Path: "TITLE", VALUE: "T" }, { title: "T" }],
    ["with a schema", { op: "add", path: `${USER}:title`, value: "T" }, { title: "T" }],
    [
      "a part",
      { op: "add", path: "name.givenName", value: "G" },
      { name: { givenName: "G", familyName: "F" } },
    ],
    [
      "a whole",
      { op: "replace", path: "name", value: { middleName: "M" } },
      { name: { familyName: "F", middleName: "M" } },
    ],
    [
      "an object",
      { op: "add", value: { title: "T", name: { familyName: "N" } } },
      { title: "T", name: { familyName: "N" } },
    ],
    [
      "dotted keys",
      { op: "replace", value: { "name.familyName": "N", "NAME.givenname": "G" } },
      { name: { familyName: "N", givenName: "G" } },
    ],
    [
      "keys with filters",
      { op: "add", value: { 'emails[type eq "work"].display': "Work" } },
      { emails: [{ type: "work", primary: true, display: "Work" }] },
    ],
    [
      "an extension",
      { op: "add", path: `${ENTERPRISE}:department`, value: "D" },
      { [ENTERPRISE]: { department: "D" } },
    ],
    [
      "an extension's object",
      { op: "add", value: { [ENTERPRISE]: { manager: { value: "1" } } } },
      { [ENTERPRISE]: { manager: { value: "1" } } },
    ],
    [
      "a manager alone",
      { op: "Add", path: `${ENTERPRISE}:manager`, value: "1" },
      { [ENTERPRISE]: { manager: { value: "1" } } },
    ],
    ["a value in a list", { op: "Add", path: "title", value: [{ value: "T" }] }, { title: "T" }],
    ["nothing", { op: "replace", path: "name", value: null }, { name: undefined }],
    ["an empty text", { op: "replace", path: "name.familyName", value: "" }, { name: undefined }],
    ["a removal", { op: "remove", path: "name.familyName" }, { name: undefined }],
    ["a removal of all", { op: "Remove", path: "name" }, { name: undefined }],
    ["a removal of nothing", { op: "remove", path: 'phoneNumbers[type eq "fax"]' }, {}],
    [
      "unknown keys",
      { op: "replace", value: { unknown: 1, 'nothing[a eq "b"].c': 1, schemas: [], groups: [] } },
      {},
    ],
    [
      "a changed element",
      { op: "replace", path: "emails[primary eq true].display", value: "D" },
      { emails: [{ type: "work", primary: true, display: "D" }] },
    ],
    [
      "all elements",
      { op: "replace", path: "emails.display", value: "D" },
      { emails: [{ type: "work", primary: true, display: "D" }] },
    ],
    [
      "a new element",
      { op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "1" },
      { phoneNumbers: [{ type: "mobile", value: "1" }] },
    ],
    [
      "a new element without a filter",
      { op: "add", path: "phoneNumbers.value", value: "1" },
      { phoneNumbers: [{ value: "1" }] },
    ],
    [
      "elements",
      { op: "add", path: "phoneNumbers", value: [{ value: "1" }, { value: "2", type: "fax" }] },
      { phoneNumbers: [{ value: "1" }, { value: "2", type: "fax" }] },
    ],
    [
      "one element",
      { op: "add", path: "roles", value: { value: "r", primary: "True" } },
      { roles: [{ value: "r", primary: true }] },
    ],
    [
      "values alone",
      { op: "add", path: "roles", value: ["r", "s"] },
      { roles: [{ value: "r" }, { value: "s" }] },
    ],
    [
      "replaced elements",
      { op: "replace", path: "addresses", value: [{ country: "DE" }] },
      { addresses: [{ country: "DE" }] },
    ],
  ])("set %s", async (_, operation, expected: Record<string, unknown>) => {
    const user = await newUser({ name: { familyName: "F" } });
    const { meta: __, ...before } = user;
    const [email] = before["emails"];
    const { emails, ...others } = expected as { emails?: object[] };
    const lists = emails ? { emails: emails.map((one) => ({ ...email, ...one })) } : {};
    const schemas = ENTERPRISE in expected ? [USER, ENTERPRISE] : [USER];
    const wanted = JSON.parse(JSON.stringify({ ...before, ...others, ...lists, schemas }));
    expect(await changed(user, operation)).toEqual(wanted);
    expect((await app.ask(`GET /Users/${user.id}`)).json).toMatchObject(wanted);
  });

  it.each([
    ["invalidSyntax", {}],
    ["invalidSyntax", { Operations: [] }],
    ["invalidSyntax", { Operations: {} }],
    ["invalidSyntax", operations("add" as never)],
    ["invalidSyntax", operations({ op: "move", path: "title", value: "T" })],
    ["invalidSyntax", operations({ path: "title", value: "T" })],
    ["noTarget", operations({ op: "remove" })],
    ["noTarget", operations({ op: "remove", path: "" })],
    [
      "noTarget",
      operations({ op: "replace", path: 'emails[type eq "fax"].value', value: "a@b.c" }),
    ],
    ["invalidValue", operations({ op: "add", path: "title" })],
    ["invalidValue", operations({ op: "add", value: "T" })],
    ["invalidValue", operations({ op: "add", path: "title", value: { a: 1 } })],
    ["invalidValue", operations({ op: "replace", path: "userName", value: "" })],
    ["invalidValue", operations({ op: "replace", path: "active", value: "yes" })],
    ["invalidValue", operations({ op: "replace", path: "name", value: "Ada" })],
    ["invalidValue", operations({ op: "add", path: "addresses", value: "Berlin" })],
    ["invalidPath", operations({ op: "add", path: "none", value: "T" })],
    ["invalidPath", operations({ op: "add", path: 1, value: "T" })],
    ["invalidPath", operations({ op: "add", path: "title.none", value: "T" })],
    ["invalidPath", operations({ op: "add", path: 'title[a eq "b"]', value: "T" })],
    ["invalidPath", operations({ op: "add", path: 'emails[type eq "work"].none', value: "T" })],
    ["invalidPath", operations({ op: "add", path: "__proto__.polluted", value: "yes" })],
    [
      "invalidPath",
      operations({ op: "add", path: "constructor.prototype.polluted", value: "yes" }),
    ],
    ["invalidPath", operations({ op: "add", path: "x".repeat(100_000), value: "yes" })],
    ["invalidFilter", operations({ op: "add", path: 'emails[type eq "work"', value: "T" })],
    ["invalidFilter", operations({ op: "add", path: 'emails[type eq "work"]value', value: "T" })],
    ["invalidFilter", operations({ op: "add", path: "emails[__proto__ pr].value", value: "T" })],
    ["invalidFilter", operations({ op: "add", path: `emails[${"(".repeat(9000)}`, value: "T" })],
    ["mutability", operations({ op: "replace", path: "id", value: "x" })],
    ["mutability", operations({ op: "replace", value: { id: "x" } })],
    ["mutability", operations({ op: "replace", path: "meta.created", value: "x" })],
    ["mutability", operations({ op: "remove", path: "meta" })],
    ["mutability", operations({ op: "remove", path: "userName" })],
    ["mutability", operations({ op: "remove", path: "active" })],
  ])("answer %s for %j, and change nothing", async (scimType, body) => {
    const user = await newUser();
    const Operations = (body as { Operations?: unknown }).Operations;
    const first = { op: "replace", path: "title", value: "first" };
    const bodies =
      Array.isArray(Operations) && Operations.length > 0
        ? [body, { ...body, Operations: [first, ...Operations] }]
        : [body];
    for (const one of bodies) {
      const { status, json } = await app.ask(`PATCH /Users/${user.id}`, one);
      expect([status, json.scimType]).toEqual([400, scimType]);
      expect(json.detail.length).toBeLessThan(300);
    }
    expect((await app.ask(`GET /Users/${user.id}`)).json).toEqual(user);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("leave the version as it is if nothing changes", async () => {
    const user = await newUser({ title: "T", roles: [{ value: "r", type: "a" }] });
    const after = await patch(
      user,
      { op: "add", path: "title", value: "T" },
      { op: "add", path: "roles", value: [{ type: "a", value: "r" }] },
      { op: "replace", value: { id: user.id, active: "True" } },
      { op: "remove", path: "nickName" },
    );
    expect(after).toEqual(user);
  });

  it("leave at most one value primary", async () => {
    const user = await newUser();
    const second = { value: "second@corp.example", type: "home", primary: true };
    const { emails } = await patch(user, { op: "add", path: "emails", value: [second] });
    expect(emails).toEqual([{ ...user["emails"][0], primary: false }, second]);
    const back = await patch(user, {
      op: "replace",
      path: 'emails[type eq "work"].primary',
      value: true,
    });
    expect(back["emails"]).toEqual([user["emails"][0], { ...second, primary: false }]);
    const both = operations({ op: "replace", path: "emails.primary", value: true });
    expect((await app.ask(`PATCH /Users/${user.id}`, both)).json.scimType).toBe("invalidValue");
  });

  it("are applied in their order, also many of them", async () => {
    const user = await newUser();
    const many = Array.from({ length: 500 }, (_, at) => ({
      op: "replace",
      path: "title",
      value: `T${at}`,
    }));
    expect((await patch(user, ...many))["title"]).toBe("T499");
    const bodies = [
      operations(...Array.from({ length: 100_000 }, () => ({ op: "remove", path: "title" }))),
      operations(
        ...Array.from({ length: 60 }, (_, at) => ({
          op: "add",
          path: "roles",
          value: [{ value: `r${at}` }],
        })),
      ),
      operations({ op: "replace", path: "title", value: "x".repeat(900_000) }),
    ];
    for (const body of bodies) {
      const { status, text } = await app.ask(`PATCH /Users/${user.id}`, body);
      expect(status === 400 || status === 413).toBe(true);
      expect(text.length).toBeLessThan(400);
    }
  });

  it("may be anything, and never fail", async () => {
    const user = await newUser();
    const name = fc.constantFrom(
      ...["userName", "name", "name.givenName", "emails", "emails.value", "addresses", "active"],
      ...["meta", "id", ENTERPRISE, `${ENTERPRISE}:manager`, "__proto__", "constructor", "schemas"],
      ...[
        'emails[type eq "work"]',
        'emails[type eq "x" and primary eq true].value',
        "emails[",
        "]",
      ],
    );
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom("True", "\0", "\ud800", "x".repeat(300), { value: "" }, [{}], [[]], {
        "": 1,
      }),
      fc.dictionary(name, fc.jsonValue({ maxDepth: 2 })),
    );
    const operation = fc.record(
      {
        op: fc.constantFrom("add", "Replace", "REMOVE", 1),
        path: fc.oneof(name, fc.string()),
        value,
      },
      { requiredKeys: [] },
    );
    await tryRandomly(
      fc.asyncProperty(
        fc.array(operation, { maxLength: 4 }),
        fc.dictionary(name, value),
        async (all, body) => {
          const patched = await app.ask(`PATCH /Users/${user.id}`, operations(...all));
          const posted = await app.ask("POST /Users", body);
          const put = await app.ask(`PUT /Users/${user.id}`, body);
          for (const { status, text } of [patched, posted, put]) {
            expect([text, status < 500]).toEqual([text, true]);
          }
        },
      ),
      { numRuns: runs(60, 600) },
    );
    expect((await app.ask("GET /Users?count=100")).status).toBe(200);
  });
});

describe("Okta", () => {
  const RANDOM = "00000000-4321-4321-4321-0123456789ab";

  // The tests of Okta-SCIM-20-SPEC-Test.json, in their order and with their assertions.
  it("passes the published tests for SCIM 2.0", async () => {
    await newUser({ name: { givenName: "First", familyName: "Last" } });
    const type = { "content-type": "application/json", accept: "application/scim+json" };
    const first = await app.ask("GET /Users?count=1&startIndex=1", undefined, type);
    expect(first.status).toBe(200);
    expect(first.json.schemas).toContain("urn:ietf:params:scim:api:messages:2.0:ListResponse");
    expect([first.json.itemsPerPage, first.json.startIndex, first.json.totalResults]).toEqual([
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
    ]);
    const [listed] = first.json.Resources;
    expect(listed).toMatchObject({
      id: expect.any(String),
      userName: expect.any(String),
      active: expect.any(Boolean),
      emails: [{ value: expect.any(String) }],
    });
    const known = await app.ask(`GET /Users/${listed.id}`);
    expect([known.status, known.json.id]).toEqual([200, listed.id]);

    const invalid = await app.ask(
      `GET /Users?${filtered(`userName eq "invalid${RANDOM}@abc.test"`)}`,
    );
    expect([invalid.status, invalid.json.totalResults]).toEqual([200, 0]);
    const missing = await app.ask(`GET /Users/${RANDOM}`);
    expect([missing.status, missing.json]).toEqual([
      404,
      {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
        status: "404",
        detail: expect.stringMatching(/./),
      },
    ]);
    const userName = "Runscope300Abcdef1234@atko.com";
    const body = {
      schemas: [USER],
      userName,
      name: { givenName: "Runscope300", familyName: "Abcdef1234" },
      emails: [{ primary: true, value: userName, type: "work" }],
      displayName: "Runscope300 Abcdef1234",
      active: true,
    };
    const created = await app.ask("POST /Users", body, type);
    expect([created.status, created.json]).toMatchObject([201, { ...body, schemas: [USER] }]);
    const again = await app.ask(`GET /Users/${created.json.id}`, undefined, type);
    expect([again.status, again.json]).toMatchObject([200, body]);
    expect((await app.ask("POST /Users", body, type)).status).toBe(409);
    const upper = await app.ask(
      `GET /Users?${filtered(`userName eq "${userName.toUpperCase()}"`)}`,
    );
    expect([upper.status, upper.json.Resources[0].id]).toEqual([200, created.json.id]);
    const wrong = await app.ask("GET /Users", undefined, { authorization: "Bearer wrong" });
    expect([wrong.status, wrong.json.status, wrong.json.schemas]).toEqual([
      401,
      "401",
      ["urn:ietf:params:scim:api:messages:2.0:Error"],
    ]);
  });

  it("creates, updates, deactivates and reactivates people as it sends it", async () => {
    const userName = "test.user@okta.local";
    const search = `/Users?${filtered(`userName eq "${userName}"`)}&startIndex=1&count=100`;
    expect((await app.ask(`GET ${search}`)).json.totalResults).toBe(0);
    const created = await app.ask("POST /Users", {
      schemas: [USER],
      userName,
      name: { givenName: "Test", familyName: "User" },
      emails: [{ primary: true, value: userName, type: "work" }],
      displayName: "Test User",
      locale: "en-US",
      externalId: "00ujl29u0le5T6Aj10h7",
      groups: [],
      password: "1mz050nq",
      active: true,
    });
    expect(created.status).toBe(201);
    const path = `/Users/${created.json.id}`;
    // Custom apps read the whole user, change it and put it back.
    const whole = (await app.ask(`GET ${path}`)).json;
    const renamed = { ...whole, name: { ...whole.name, familyName: "Renamed" }, groups: [] };
    expect((await app.ask(`PUT ${path}`, renamed)).json.name.familyName).toBe("Renamed");
    const off = await app.ask(`PUT ${path}`, { ...renamed, active: false });
    expect([off.status, off.json.active]).toEqual([200, false]);
    const on = await app.ask(
      `PATCH ${path}`,
      operations({ op: "replace", value: { active: true } }),
    );
    expect([on.status, on.json.active]).toEqual([200, true]);
    expect((await app.ask(`GET ${search}`)).json).toMatchObject({
      totalResults: 1,
      itemsPerPage: 1,
      Resources: [{ id: created.json.id, active: true }],
    });
  });
});

describe("Microsoft Entra", () => {
  it("tests the connection, creates, updates and deletes people as it sends it", async () => {
    const random = await app.ask(`GET /Users?${filtered(`userName eq "${crypto.randomUUID()}"`)}`);
    expect([random.status, random.json.totalResults, random.json.Resources]).toEqual([200, 0, []]);
    const userName = "Test_User_ab6490ee@testuser.com";
    const created = await app.ask("POST /Users", {
      schemas: [USER, ENTERPRISE],
      externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
      userName,
      active: true,
      emails: [{ primary: true, type: "work", value: "Test_User_fd0ea19b@testuser.com" }],
      meta: { resourceType: "User" },
      name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
      roles: [],
    });
    expect(created.status).toBe(201);
    const path = `/Users/${created.json.id}`;
    const found = await app.ask(
      `GET /Users?${filtered('emails[type eq "work"].value eq "test_user_fd0ea19b@TESTUSER.com"')}`,
    );
    expect(found.json.Resources).toEqual([created.json]);
    const update = operations(
      { op: "Replace", path: 'emails[type eq "work"].value', value: "updatedEmail@testuser.com" },
      { op: "Replace", path: "name.familyName", value: "updatedFamilyName" },
      { op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "+1 555" },
      { op: "Add", path: 'addresses[type eq "work"].formatted', value: "1 Main St" },
      { op: "Add", path: `${ENTERPRISE}:department`, value: "Sales" },
      { op: "Add", path: `${ENTERPRISE}:manager`, value: "26118915" },
      { op: "Add", path: "preferredLanguage", value: "en-US" },
    );
    const { json, status } = await app.ask(`PATCH ${path}`, update);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      emails: [{ primary: true, type: "work", value: "updatedEmail@testuser.com" }],
      name: { familyName: "updatedFamilyName", givenName: "givenName" },
      phoneNumbers: [{ type: "mobile", value: "+1 555" }],
      addresses: [{ type: "work", formatted: "1 Main St" }],
      [ENTERPRISE]: { department: "Sales", manager: { value: "26118915" } },
    });
    const unmanaged = { op: "Replace", path: `${ENTERPRISE}:manager`, value: { value: "" } };
    const patched = await app.ask(`PATCH ${path}`, operations(unmanaged));
    expect(patched.json[ENTERPRISE]).toEqual({ department: "Sales" });
    // With the flag aadOptscim062020.
    const flagged = {
      op: "replace",
      value: {
        displayName: "New",
        "name.givenName": "New",
        active: true,
        [`${ENTERPRISE}:department`]: "IT",
      },
    };
    expect((await app.ask(`PATCH ${path}`, operations(flagged))).json).toMatchObject({
      displayName: "New",
      name: { givenName: "New", familyName: "updatedFamilyName" },
      [ENTERPRISE]: { department: "IT" },
    });
    const off = operations({ op: "Replace", path: "active", value: "False" });
    expect((await app.ask(`PATCH ${path}`, off)).json.active).toBe(false);
    const still = await app.ask(
      `GET /Users?${filtered(`userName eq "${userName.toUpperCase()}"`)}`,
    );
    expect(still.json.Resources[0].active).toBe(false);
    expect((await app.ask(`DELETE ${path}`)).status).toBe(204);
    expect((await app.ask(`DELETE ${path}`)).status).toBe(404);
  });

  // What Microsoft's SCIM Validator sends.
  it("replaces 36 attributes in one PATCH", async () => {
    const email = { type: "work", primary: true, value: "a@validator.example" };
    const list = (extra: object) => [{ type: "work", primary: true, ...extra }];
    const user = await newUser({
      emails: [email],
      phoneNumbers: ["work", "mobile", "fax"].map((type) => ({ type, value: "0" })),
      addresses: list({ country: "X" }),
      roles: list({ value: "role" }),
      [ENTERPRISE]: { department: "D" },
    });
    const singles = [
      ...["title", "displayName", "nickName", "profileUrl", "userType", "preferredLanguage"],
      ...["locale", "timezone", "externalId", "userName", "name.formatted", "name.familyName"],
      ...["name.givenName", "name.middleName", "name.honorificPrefix", "name.honorificSuffix"],
      ...["employeeNumber", "costCenter", "organization", "division", "department"].map(
        (name) => `${ENTERPRISE}:${name}`,
      ),
      `${ENTERPRISE}:manager.value`,
      ...["work", "mobile", "fax"].map((type) => `phoneNumbers[type eq "${type}"].value`),
      ...["formatted", "streetAddress", "locality", "region", "postalCode", "country"].map(
        (name) => `addresses[type eq "work"].${name}`,
      ),
      "roles[primary eq true].value",
      "roles[primary eq true].display",
      'emails[type eq "work"].display',
    ];
    const all = [
      ...singles.map((path, at) => ({ op: "replace", path, value: `value-${at}` })),
      { op: "replace", path: "emails[primary eq true].value", value: "b@validator.example" },
      { op: "replace", path: "active", value: false },
    ];
    expect(all).toHaveLength(36);
    const after = await patch(user, ...all);
    const texts = JSON.stringify(after);
    for (let at = 0; at < singles.length; at += 1) expect(texts).toContain(`"value-${at}"`);
    expect(after).toMatchObject({
      active: false,
      emails: [{ value: "b@validator.example" }],
      meta: { version: 'W/"2"' },
    });
    const broken = [
      ...all.map((one) => ({ ...one, value: "other" })),
      { op: "replace", path: "id", value: "x" },
    ];
    expect((await app.ask(`PATCH /Users/${user.id}`, operations(...broken))).status).toBe(400);
    expect((await app.ask(`GET /Users/${user.id}`)).json).toEqual(after);
  });
});
