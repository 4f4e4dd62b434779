import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runs, SEED, tryRandomly } from "../forms.ts";
import { engine, type TestApp } from "../helpers.ts";
import { baseOf, ENTERPRISE, filtered, type Provider, type ScimUser, scimApp } from "./_scim.ts";

let app: TestApp & Provider;
/** By the names before their `@`. */
const users: Record<string, ScimUser> = {};

beforeAll(async () => {
  app = await scimApp();
  const given = [
    { userName: "Alice@X", externalId: "Ext-1", title: 'Dev "lead"', displayName: "b" },
    { userName: "bob@x", externalId: "ext-2", active: false, title: "dev", displayName: "C" },
    {
      userName: "carol@y",
      displayName: "a",
      name: { familyName: "Z", givenName: "Carol" },
      emails: [
        { type: "home", value: "carol@home.example" },
        { type: "work", value: "carol@y", primary: true },
      ],
      [ENTERPRISE]: { department: "Tour", manager: { value: "26118915" } },
    },
    { userName: "dave@y", nickName: "Ärger 100%_x", emails: [{ value: "dave@y" }] },
  ];
  for (const user of given) {
    users[user.userName.split("@")[0]?.toLowerCase() as string] = await app.add(user);
  }
});
afterAll(() => app.dispose());

interface List {
  totalResults: number;
  startIndex: number;
  itemsPerPage: number;
  Resources: ScimUser[];
}

const namesIn = ({ Resources }: List) =>
  Resources.map(({ userName }) => userName.split("@")[0].toLowerCase());

async function find(query: string): Promise<string[]> {
  const { status, json } = await app.ask(`GET /Users?${query}`);
  expect([query, status]).toEqual([query, 200]);
  return namesIn(json);
}

describe("filters", () => {
  it.each([
    ['userName eq "ALICE@X"', "alice"],
    ['userName Eq "alice@x"', "alice"],
    ['USERNAME eq "alice@x"', "alice"],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "alice@x"', "alice"],
    ['userName eq "\\u0062ob@x"', "bob"],
    ['externalId eq "Ext-1"', "alice"],
    ['externalId eq "ext-1"', ""],
    ['title eq "Dev \\"lead\\""', "alice"],
    ['emails[type eq "work"].value eq "carol@y"', "carol"],
    ['emails[type eq "work"].value eq "carol@home.example"', ""],
    ['emails[type eq "home" and value co "HOME"]', "carol"],
    ['emails[not (type eq "work")]', "carol dave"],
    ['emails co "home"', "carol"],
    ["emails[primary eq true].value pr", "alice bob carol"],
    ['emails[primary eq "True"].value eq "alice@x"', "alice"],
    ['emails.value ew "@x" and active eq true', "alice"],
    ['emails.type ne "work"', "carol dave"],
    ["not (active eq true)", "bob"],
    ["active ne true", "bob"],
    ['active eq "False"', "bob"],
    ['userName sw "a" or userName sw "b" and active eq true', "alice"],
    ['(userName sw "a" or userName sw "b") and active eq false', "bob"],
    ['not (userName sw "a" or not (title pr))', "bob"],
    ['title ne "dev"', "alice carol dave"],
    ['not (title eq "dev")', "alice carol dave"],
    ["title eq null", "carol dave"],
    ["title ne null", "alice bob"],
    ["name pr", "carol"],
    ['name.familyName eq "z"', "carol"],
    [`${ENTERPRISE}:department eq "TOUR"`, "carol"],
    [`${ENTERPRISE}:manager.value eq "26118915"`, "carol"],
    [`${ENTERPRISE}:manager pr`, "carol"],
    ['nickName co "0%_X"', "dave"],
    ['nickName sw "Ä"', "dave"],
    ['nickName ew "x"', "dave"],
    ['nickName ew "ein sehr langer Text"', ""],
    ['nickName co ""', "dave"],
    ['displayName gt "a" and displayName le "B"', "alice"],
    ['meta.resourceType eq "User"', "alice bob carol dave"],
    ['meta.resourceType sw "Us"', "alice bob carol dave"],
    ['meta.resourceType ew "er"', "alice bob carol dave"],
    ['meta.resourceType co "se"', "alice bob carol dave"],
    ['meta.resourceType eq "Group"', ""],
    ['id sw "" and id pr', "alice bob carol dave"],
    [' userName   sw "a" ', "alice"],
    ['  ( userName sw "a")and(title pr)', "alice"],
  ])("%s finds %j", async (filter, names) => {
    expect((await find(filtered(filter))).sort()).toEqual(names.split(" ").filter(Boolean));
  });

  it("compare instants chronologically, with any offset and precision", async () => {
    const { created } = (users["carol"] as ScimUser)["meta"];
    const at = Date.parse(created);
    const hours = new Date(at + 2 * 3_600_000).toISOString().replace("Z", "+02:00");
    expect(await find(filtered(`meta.created eq "${created}"`))).toEqual(["carol"]);
    expect(await find(filtered(`meta.created eq "${hours}"`))).toEqual(["carol"]);
    expect(await find(filtered(`meta.created eq "${created.replace("Z", "0000Z")}"`))).toEqual([
      "carol",
    ]);
    expect(await find(filtered(`meta.created lt "${hours}"`))).toEqual(["alice", "bob"]);
    expect(await find(filtered(`meta.created ge "${hours}"`))).toEqual(["carol", "dave"]);
    expect(await find(filtered('meta.lastModified gt "2000-01-01T00:00:00Z"'))).toHaveLength(4);
  });

  it.each([
    'userName re "x"',
    "userName eq bob",
    "userName eq 5",
    "userName eq true",
    "(userName pr",
    "userName pr)",
    "",
    " ",
    "userName",
    "userName eq",
    'userName eq "a',
    'userName eq "\\x"',
    'userName eq "\\u0000"',
    'userName eq "\\ud800"',
    'userName eq "a" and',
    'or userName eq "a"',
    'not userName eq "a"',
    'nothing eq "a"',
    'password eq "a"',
    '__proto__ eq "a"',
    "constructor pr",
    "name.__proto__ pr",
    "emails[__proto__ pr]",
    'emails[type eq "a"',
    'emails[type eq "a"].none eq "b"',
    'emails[type eq "a"].value',
    "emails[]",
    'name eq "a"',
    'name[familyName eq "a"]',
    'addresses eq "a"',
    "active gt true",
    'active eq "yes"',
    "active co true",
    'meta.created gt "yesterday"',
    'meta.created co "2026"',
    'meta.created eq "2026-02-30T25:00:00Z"',
    'meta.location eq "a"',
    "userName gt null",
    "userName eq 'a'",
    "ünï pr",
  ])("%s is refused", async (filter) => {
    const { status, json } = await app.ask(`GET /Users?${filtered(filter)}`);
    expect([status, json.scimType, json.status]).toEqual([400, "invalidFilter", "400"]);
  });

  it("are refused if they are too deep or too long", async () => {
    for (const filter of [
      "(".repeat(10_000),
      `${"(".repeat(51)}id pr${")".repeat(51)}`,
      `${"not (".repeat(51)}id pr${")".repeat(51)}`,
      Array(150).fill("id pr").join(" or "),
      `userName eq "${"x".repeat(10_000)}"`,
      `emails[${"(".repeat(60)}`,
    ]) {
      for (const answer of [
        await app.ask(`GET /Users?${filtered(filter)}`),
        await app.ask("POST /Users/.search", { filter }),
      ]) {
        const { scimType, detail } = answer.json;
        expect([answer.status, scimType]).toEqual([400, "invalidFilter"]);
        expect(detail.length).toBeLessThan(200);
      }
    }
    const most = `${"(".repeat(50)}id pr${")".repeat(50)}`;
    expect((await app.ask("POST /.search", { filter: most })).json.totalResults).toBe(4);
    const long = Array(100).fill('title eq "a"').join(" or ");
    expect((await app.ask("POST /.search", { filter: long })).status).toBe(200);
  });
});

describe("lists", () => {
  it("say how many there are, with numbers", async () => {
    const { json } = await app.ask("GET /Users");
    expect(json).toMatchObject({
      schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
      totalResults: 4,
      startIndex: 1,
      itemsPerPage: 4,
    });
    expect(json.Resources[0]).toEqual((await app.ask(`GET /Users/${users["alice"]?.id}`)).json);
    expect((await app.ask("GET /Users/")).json).toEqual(json);
    const none = await app.ask(`GET /Users?${filtered('userName eq "none"')}`);
    expect([none.status, none.json]).toMatchObject([200, { totalResults: 0, Resources: [] }]);
    const plain = await app.ask("GET /Users", undefined, { accept: "application/json" });
    expect(plain.json).toEqual(json);
    expect((await app.ask("GET /Users?foo=bar")).json).toEqual(json);
  });

  it.each([
    ["count=1&startIndex=2", 2, ["bob"]],
    ["count=2&startIndex=3", 3, ["carol", "dave"]],
    ["count=2&startIndex=4", 4, ["dave"]],
    ["count=2&startIndex=5", 5, []],
    ["count=0", 1, []],
    ["count=-5", 1, []],
    ["startIndex=-3", 1, ["alice", "bob", "carol", "dave"]],
    ["startIndex=0&count=1000000", 1, ["alice", "bob", "carol", "dave"]],
  ])("%s is a page", async (query, startIndex, names) => {
    const { json } = await app.ask(`GET /Users?${query}`);
    expect([json.totalResults, json.startIndex, json.itemsPerPage]).toEqual([
      4,
      startIndex,
      names.length,
    ]);
    expect(namesIn(json)).toEqual(names);
  });

  it.each([
    ["sortBy=userName", "alice bob carol dave"],
    ["sortBy=userName&sortOrder=descending", "dave carol bob alice"],
    ["sortBy=displayName", "carol alice bob dave"],
    ["sortBy=DisplayName&sortOrder=descending", "dave bob alice carol"],
    ["sortBy=emails", "alice bob carol dave"],
    ["sortBy=emails.type", "alice bob carol dave"],
    ["sortBy=emails.type&sortOrder=descending", "dave carol bob alice"],
    ["sortBy=active", "bob alice carol dave"],
    ["sortBy=meta.created&sortOrder=descending", "dave carol bob alice"],
    ["sortBy=meta.resourceType", "alice bob carol dave"],
    ["sortOrder=descending", "dave carol bob alice"],
  ])("%s is %s", async (query, names) => {
    expect(await find(query)).toEqual(names.split(" "));
    for (let at = 1; at <= 4; at += 1) {
      expect(await find(`${query}&count=1&startIndex=${at}`)).toEqual([names.split(" ")[at - 1]]);
    }
  });

  it.each([
    ["sortBy=name", "invalidPath"],
    ["sortBy=addresses", "invalidPath"],
    ["sortBy=none", "invalidPath"],
    ["sortBy=meta.location", "invalidPath"],
    ["sortOrder=up", "invalidValue"],
    ["count=many", "invalidValue"],
    ["startIndex=1.5", "invalidValue"],
    ["attributes=id&excludedAttributes=name", "invalidValue"],
  ])("%s is refused", async (query, scimType) => {
    const { status, json } = await app.ask(`GET /Users?${query}`);
    expect([status, json.scimType]).toEqual([400, scimType]);
  });

  it("have only the attributes asked for", async () => {
    const carol = users["carol"] as ScimUser;
    const get = async (query: string) => (await app.ask(`GET /Users/${carol.id}?${query}`)).json;
    const { schemas, id } = carol as ScimUser & { schemas: string[] };
    expect(await get("attributes=userName")).toEqual({ schemas, id, userName: "carol@y" });
    expect(await get("attributes=USERNAME,none,emails.value")).toEqual({
      schemas,
      id,
      userName: "carol@y",
      emails: [{ value: "carol@home.example" }, { value: "carol@y" }],
    });
    expect(await get(`attributes=${ENTERPRISE}`)).toEqual({
      schemas,
      id,
      [ENTERPRISE]: carol[ENTERPRISE],
    });
    expect(await get(`attributes=name,${ENTERPRISE}:manager.value,meta.version`)).toEqual({
      schemas,
      id,
      name: carol["name"],
      [ENTERPRISE]: { manager: { value: "26118915" } },
      meta: { version: carol["meta"].version },
    });
    const { emails: _, meta: __, ...others } = carol;
    expect(await get("excludedAttributes=emails,id,meta")).toEqual(others);
    const { json } = await app.ask("GET /Users?attributes=id&count=1");
    expect(Object.keys(json.Resources[0])).toEqual(["schemas", "id"]);
    const change = { Operations: [{ op: "replace", path: "title", value: "T" }] };
    const path = `PATCH /Users/${users["dave"]?.id}?attributes=title`;
    const patched = await app.ask(path, change);
    expect(patched.json).toMatchObject({ title: "T", id: users["dave"]?.id });
    expect(patched.json).not.toHaveProperty("userName");
  });

  it("may be asked for by POST", async () => {
    for (const path of ["/Users/.search", "/.search"]) {
      const body = {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
        attributes: ["userName"],
        Filter: 'userName ew "@y"',
        sortBy: "userName",
        SORTORDER: "descending",
        startIndex: 2,
        count: 1,
      };
      const { status, json } = await app.ask(`POST ${path}`, body);
      expect([status, json]).toMatchObject([
        200,
        { totalResults: 2, startIndex: 2, itemsPerPage: 1 },
      ]);
      expect(json.Resources).toEqual([
        { schemas: expect.any(Array), id: users["carol"]?.id, userName: "carol@y" },
      ]);
    }
    const wrong = await app.ask("POST /Users/.search", { count: {} });
    expect([wrong.status, wrong.json.scimType]).toEqual([400, "invalidValue"]);
  });

  it("take the same number of statements however long they are", async () => {
    const counted = async (query: string) => {
      app.statements.length = 0;
      await app.ask(`GET /Users?${query}`);
      return app.statements.length;
    };
    expect(await counted("count=4")).toBe(await counted("count=1&startIndex=2"));
  });
});

describe("random filters", () => {
  const words = ["a", "B", "ab", "AB", "b%", "_", "ä", "Ä", "x@y", "", "é", "𝒳"];
  const word = fc.constantFrom(...words.filter(Boolean));
  const type = fc.constantFrom("work", "home", "other");
  const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
  const randomUser = fc.record({
    displayName: maybe(word),
    title: maybe(word),
    nickName: maybe(word),
    name: maybe(fc.record({ givenName: maybe(word), familyName: maybe(word) })),
    active: fc.boolean(),
    phoneNumbers: fc.array(
      fc.record({ value: word, type: maybe(type), primary: fc.constantFrom(false, undefined) }),
      { maxLength: 3 },
    ),
    [ENTERPRISE]: maybe(fc.record({ department: maybe(word) })),
  });

  /** A filter in words, and what it means for a user's JSON. */
  interface Said {
    text: string;
    holds: (user: ScimUser) => boolean;
  }
  type Read = (of: Record<string, unknown>) => unknown;

  const fold = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const OPERATORS: Record<string, (found: string, wanted: string) => boolean> = {
    eq: (found, wanted) => found === wanted,
    co: (found, wanted) => found.includes(wanted),
    sw: (found, wanted) => found.startsWith(wanted),
    ew: (found, wanted) => found.endsWith(wanted),
    gt: (found, wanted) => Buffer.compare(Buffer.from(found), Buffer.from(wanted)) > 0,
    ge: (found, wanted) => Buffer.compare(Buffer.from(found), Buffer.from(wanted)) >= 0,
    lt: (found, wanted) => Buffer.compare(Buffer.from(found), Buffer.from(wanted)) < 0,
    le: (found, wanted) => Buffer.compare(Buffer.from(found), Buffer.from(wanted)) <= 0,
  };

  const compared = (path: string, read: Read): fc.Arbitrary<Said> =>
    fc.oneof(
      fc
        .tuple(fc.constantFrom(...Object.keys(OPERATORS), "ne"), fc.constantFrom(...words))
        .map(([operator, wanted]) => ({
          text: `${path} ${operator} ${JSON.stringify(wanted)}`,
          holds: (user: Record<string, unknown>) => {
            const found = read(user);
            if (operator === "ne")
              return found === undefined || fold(String(found)) !== fold(wanted);
            if (found === undefined) return false;
            return OPERATORS[operator]?.(fold(String(found)), fold(wanted)) === true;
          },
        })),
      fc.constant({
        text: `${path} pr`,
        holds: (user: Record<string, unknown>) => read(user) !== undefined,
      }),
    );

  /** Conditions joined by and, or, not and brackets. */
  const joined = (leaf: fc.Arbitrary<Said>): fc.Arbitrary<Said> =>
    fc.letrec<{ any: Said }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3, depthIdentifier: "filter" },
        leaf,
        fc.tuple(tie("any"), tie("any"), fc.boolean()).map(([one, other, isAnd]) => ({
          text: `(${one.text}) ${isAnd ? "and" : "or"} (${other.text})`,
          holds: (user: ScimUser) =>
            isAnd ? one.holds(user) && other.holds(user) : one.holds(user) || other.holds(user),
        })),
        // Without brackets, and comes first.
        fc.tuple(leaf, leaf, leaf).map(([a, b, c]) => ({
          text: `${a.text} or ${b.text} and ${c.text}`,
          holds: (user: ScimUser) => a.holds(user) || (b.holds(user) && c.holds(user)),
        })),
        tie("any").map(({ text, holds }) => ({
          text: `not (${text})`,
          holds: (user: ScimUser) => !holds(user),
        })),
      ),
    })).any;

  const inName =
    (part: string): Read =>
    (of) =>
      (of["name"] as Record<string, unknown>)?.[part];
  const phones = (user: Record<string, unknown>) =>
    (user["phoneNumbers"] ?? []) as Record<string, unknown>[];
  const ofPhone = fc.oneof(
    compared("value", (phone) => phone["value"]),
    compared("type", (phone) => phone["type"]),
  );
  const leaf: fc.Arbitrary<Said> = fc.oneof(
    compared("displayName", (user) => user["displayName"]),
    compared("title", (user) => user["title"]),
    compared("nickName", (user) => user["nickName"]),
    compared("name.givenName", inName("givenName")),
    compared("name.familyName", inName("familyName")),
    compared(
      `${ENTERPRISE}:department`,
      (user) => (user[ENTERPRISE] as Record<string, unknown>)?.["department"],
    ),
    fc.boolean().map((active) => ({
      text: `active eq ${active}`,
      holds: (user: ScimUser) => user["active"] === active,
    })),
    joined(ofPhone).map(({ text, holds }) => ({
      text: `phoneNumbers[${text}]`,
      holds: (user: ScimUser) => phones(user).some((phone) => holds(phone as ScimUser)),
    })),
    ofPhone.map(({ text, holds }) => ({
      text: `phoneNumbers.${text}`,
      holds: (user: ScimUser) => phones(user).some((phone) => holds(phone as ScimUser)),
    })),
    fc.tuple(ofPhone, ofPhone).map(([one, other]) => ({
      text: `phoneNumbers[${one.text}].${other.text}`,
      holds: (user: ScimUser) =>
        phones(user).some(
          (phone) => one.holds(phone as ScimUser) && other.holds(phone as ScimUser),
        ),
    })),
  );

  it("find who a plain reading of them finds", async () => {
    const { ask, add } = app;
    const people = fc.sample(randomUser, { numRuns: 40, seed: SEED });
    for (const [at, one] of people.entries()) await add({ ...one, userName: `random${at}@r` });
    const all = await ask(`GET /Users?${filtered('userName sw "random"')}&count=100`);
    expect(all.json.Resources).toHaveLength(40);
    const tries = runs(150, 1500);
    let found = 0;
    await tryRandomly(
      fc.asyncProperty(joined(leaf), async ({ text, holds }) => {
        const filter = `userName sw "random" and (${text})`;
        const { status, json } = await ask("POST /.search", { filter, attributes: ["id"] });
        // As long as filters may be.
        if (status === 400 && /too (many|deeply|long)/.test(json.detail)) return;
        expect([text, status]).toEqual([text, 200]);
        const expected = all.json.Resources.filter(holds).map(({ id }: ScimUser) => id);
        expect(json.Resources.map(({ id }: ScimUser) => id)).toEqual(expected);
        if (expected.length > 0 && expected.length < 40) found += 1;
      }),
      { numRuns: tries },
    );
    expect(found).toBeGreaterThan(tries / 5);
  });
});

it("the address of a list may be any that names the group", async () => {
  const headers = { authorization: `Bearer ${app.token}` };
  const { status } = await app.call(`GET ${baseOf("ACME")}/Users?count=1`, { headers });
  expect(status).toBe(200);
});

// SQLite says how it will find the rows.
it.runIf(engine === "sqlite")(
  "an equality filter on any attribute uses an index of that attribute",
  async () => {
    const { json } = await app.ask("GET /Schemas");
    interface Attribute {
      name: string;
      type: string;
      multiValued: boolean;
      subAttributes?: Attribute[];
    }
    const paths = (attributes: Attribute[], before: string): string[] =>
      attributes.flatMap(({ name, type, subAttributes }) =>
        subAttributes
          ? paths(subAttributes, `${before}${name}.`)
          : type === "boolean" || name === "type"
            ? []
            : [before + name],
      );
    const all = json.Resources.flatMap((schema: { id: string; attributes: Attribute[] }) =>
      paths(schema.attributes, schema.id === ENTERPRISE ? `${ENTERPRISE}:` : ""),
    );
    expect(all.length).toBeGreaterThan(30);
    for (const path of ["id", "externalId", ...all]) {
      app.statements.length = 0;
      await app.ask(`GET /Users?${filtered(`${path} eq "x"`)}`);
      const sql = app.statements.find((text) => text.includes("from scim_users s")) as string;
      const values = Array.from(sql.matchAll(/\?/g), () => "x");
      const plan = await app.store.rows(`explain query plan ${sql}`, values);
      const steps = plan.map((step) => String(step[3]));
      const scans = steps.filter((step) =>
        /namespace_id=\?( AND attribute=\?)?\)|^SCAN/.test(step),
      );
      expect([path, scans]).toEqual([path, []]);
    }
  },
);
