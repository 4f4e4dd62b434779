import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { insertWithToken } from "../../src/oauth/grants.ts";
import { openSession } from "../api/sessions.ts";
import { baseSeed, everyone, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { ENDPOINT, messagesOf, post } from "./ask.ts";

const ECHO = '{echo(text:"x")}';
const ANONYMOUS_ECHO = { data: { echo: "null says: x" } };
const NOT_AVAILABLE =
  "The resource that you are attempting to access does not exist or you don't have permission to perform this action";
const CREATE =
  'mutation { createIssue(input: { projectPath: "acme/site", title: "Made" }) { issue { title } errors } }';
const CREATED = { data: { createIssue: { issue: { title: "Made" }, errors: [] } } };

let app: TestApp;
let ownerId: number;

beforeAll(async () => {
  const scoped = (["read_api", "read_user", "sudo"] as const).map((scope) => ({
    token: `${scope}-of-owner`,
    scopes: [scope],
  }));
  app = await testApp({
    seed: {
      ...baseSeed,
      users: (baseSeed.users ?? []).map((user) =>
        user.username === "owner"
          ? {
              ...user,
              tokens: [
                ...(user.tokens ?? []),
                ...scoped,
                { token: "expired-of-owner", expires_at: "2020-01-01" },
                { token: "revoked-of-owner", name: "revoked" },
              ],
            }
          : user,
      ),
    },
  });
  ownerId = (await app.call("GET /user", { as: "owner" })).json.id;
  await app.store.transaction((db) =>
    db.run("update tokens set revoked = 1 where name = 'revoked'"),
  );
});
afterAll(() => app.dispose());

const get = (parameters: Record<string, string>, options: Parameters<TestApp["call"]>[1] = {}) =>
  app.call(`GET ${ENDPOINT}?${new URLSearchParams(parameters)}`, options);

describe("an operation", () => {
  it("1: is posted as JSON", async () => {
    const { status, json, headers } = await post(app, ECHO);
    expect([status, json]).toEqual([200, ANONYMOUS_ECHO]);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  it("2: is sent in the query string", async () => {
    const { status, json } = await get({ query: ECHO });
    expect([status, json]).toEqual([200, ANONYMOUS_ECHO]);
  });

  it.each(["POST", "GET"])("3: %s may end its path in a slash", async (method) => {
    const { status, json } = await app.call(
      `${method} ${ENDPOINT}/?${new URLSearchParams({ query: ECHO })}`,
    );
    expect([status, json]).toEqual([200, ANONYMOUS_ECHO]);
  });

  it("4: is posted as a form", async () => {
    const { status, json } = await app.call(`POST ${ENDPOINT}`, { form: { query: ECHO } });
    expect([status, json]).toEqual([200, ANONYMOUS_ECHO]);
  });

  it("is posted as a form of parts", async () => {
    const body = new FormData();
    body.append("query", ECHO);
    const { status, json } = await app.call(`POST ${ENDPOINT}`, { body });
    expect([status, json]).toEqual([200, ANONYMOUS_ECHO]);
  });

  it("is posted as application/graphql-response+json", async () => {
    const headers = { "content-type": "application/graphql+json", accept: "application/json" };
    const body = JSON.stringify({ query: ECHO });
    const { status, json } = await app.call(`POST ${ENDPOINT}`, { headers, body });
    expect([status, json]).toEqual([200, ANONYMOUS_ECHO]);
  });

  it("in the body wins over one in the query string", async () => {
    const { json } = await app.call(
      `POST ${ENDPOINT}?${new URLSearchParams({ query: "{zzz}", operationName: "zzz" })}`,
      { json: { query: `query A ${ECHO}`, operationName: "A" } },
    );
    expect(json).toEqual(ANONYMOUS_ECHO);
  });

  it("may have members that nobody knows", async () => {
    const { json } = await post(app, ECHO, { body: { extensions: { a: 1 }, id: 7 } });
    expect(json).toEqual(ANONYMOUS_ECHO);
  });

  it("is refused as another type of content", async () => {
    const headers = { "content-type": "application/graphql" };
    const { status, json } = await app.call(`POST ${ENDPOINT}`, { headers, body: ECHO });
    expect([status, Object.keys(json)]).toEqual([415, ["errors"]]);
  });

  it.each([
    ["no body", {}],
    ["an empty query", { json: { query: "" } }],
    ["a query that is no text", { json: { query: { a: 1 } } }],
    ["null", { json: { query: null } }],
    ["a comment", { json: { query: "# nothing" } }],
  ])("with %s has a syntax error", async (_, options) => {
    const answer = await app.call(`POST ${ENDPOINT}`, options);
    expect([answer.status, Object.keys(answer.json)]).toEqual([200, ["errors"]]);
    expect(messagesOf(answer)).toEqual(["Syntax Error: Unexpected <EOF>."]);
  });

  it.each(["{", "[1", '"', "nul", "1", '"text"'])("with the body %s is malformed", async (body) => {
    const headers = { "content-type": "application/json" };
    const { status, json } = await app.call(`POST ${ENDPOINT}`, { headers, body });
    expect([status, Object.keys(json)]).toEqual([400, ["errors"]]);
  });

  it("9: is picked by its name", async () => {
    const query = 'query A {echo(text:"a")} query B {b: echo(text:"b")}';
    const named = (operationName: unknown) => post(app, query, { body: { operationName } });
    expect((await named("A")).json).toEqual({ data: { echo: "null says: a" } });
    expect((await named("B")).json).toEqual({ data: { b: "null says: b" } });
    expect(messagesOf(await named("C"))).toEqual(['No operation named "C"']);
    for (const none of [undefined, null, "", 7]) {
      expect(messagesOf(await named(none))).toEqual(["An operation name is required"]);
    }
  });

  it("without an operation is refused", async () => {
    const answer = await post(app, "fragment F on Query { echo }");
    expect(answer.status).toBe(200);
    expect(answer.json.data).toBeUndefined();
  });

  it("of changes in progress is refused", async () => {
    for (const query of ["subscription {zzz}", "subscription {currentUser{id}}"]) {
      expect(messagesOf(await post(app, query))).toEqual(["Subscriptions are not supported"]);
    }
  });

  it("17, 18: with errors is answered 200, with their places", async () => {
    const unknown = await post(app, "{zzz}");
    expect([unknown.status, Object.keys(unknown.json)]).toEqual([200, ["errors"]]);
    expect(unknown.json.errors).toEqual([
      {
        message: 'Cannot query field "zzz" on type "Query".',
        locations: [{ line: 1, column: 2 }],
      },
    ]);
    const malformed = await post(app, "{");
    expect([malformed.status, malformed.json.data]).toEqual([200, undefined]);
    expect(malformed.json.errors[0].locations).toEqual([{ line: 1, column: 2 }]);
  });

  it("has at most five errors", async () => {
    const { json } = await post(app, `{${Array.from({ length: 9 }, (_, n) => `z${n}`).join(" ")}}`);
    expect(json.errors).toHaveLength(5);
  });
});

describe("variables", () => {
  const QUERY = "query($text: String!) {echo(text: $text)}";
  const SAYS = { data: { echo: 'null says: "ü"' } };

  it("are an object", async () => {
    const { json } = await post(app, QUERY, { body: { variables: { text: '"ü"' } } });
    expect(json).toEqual(SAYS);
  });

  it("5: may be JSON text", async () => {
    const variables = JSON.stringify({ text: '"ü"' });
    expect((await post(app, QUERY, { body: { variables } })).json).toEqual(SAYS);
    expect((await get({ query: QUERY, variables })).json).toEqual(SAYS);
    const form = { query: QUERY, variables };
    expect((await app.call(`POST ${ENDPOINT}`, { form })).json).toEqual(SAYS);
  });

  it("may be fields of a form", async () => {
    const form = { query: QUERY, "variables[text]": '"ü"' };
    expect((await app.call(`POST ${ENDPOINT}`, { form })).json).toEqual(SAYS);
  });

  it.each([undefined, null, "", "null", "{}", {}])("%j are none", async (variables) => {
    expect((await post(app, ECHO, { body: { variables } })).json).toEqual(ANONYMOUS_ECHO);
    const [message] = messagesOf(await post(app, QUERY, { body: { variables } }));
    expect(message).toBe('Variable "$text" of required type "String!" was not provided.');
  });

  it.each(["no", "[]", "1", "[1", '"{}"', [], [1], 1, true])(
    "6: %j are refused",
    async (variables) => {
      const { status, json } = await post(app, ECHO, { body: { variables } });
      expect([status, Object.keys(json)]).toEqual([422, ["errors"]]);
    },
  );

  it("as JSON text have the same limits as a body", async () => {
    for (const variables of [
      `${'{"a":'.repeat(40)}1${"}".repeat(40)}`,
      `[${"1,".repeat(5000)}1]`,
    ]) {
      const { status } = await post(app, ECHO, { body: { variables: `{"a":${variables}}` } });
      expect(status).toBe(422);
    }
  });

  it("may have any name", async () => {
    const query =
      "query($__proto__: String!, $constructor: String!) {a: echo(text: $__proto__) b: echo(text: $constructor)}";
    const variables = '{"__proto__": "1", "constructor": "2"}';
    const { json } = await post(app, query, { body: { variables } });
    expect(json.data ?? json.errors).toEqual({ a: "null says: 1", b: "null says: 2" });
  });
});

describe("a batch", () => {
  it("7: is answered in order", async () => {
    const json = [{ query: ECHO }, { query: "{currentUser{username}}" }];
    const answer = await app.call(`POST ${ENDPOINT}`, { as: "owner", json });
    expect([answer.status, answer.json]).toEqual([
      200,
      [{ data: { echo: '"owner" says: x' } }, { data: { currentUser: { username: "owner" } } }],
    ]);
  });

  it("8: has errors beside data", async () => {
    const json = [{ query: "{" }, { query: ECHO }, null, 1, {}, "text", []];
    const answer = await app.call(`POST ${ENDPOINT}`, { json });
    expect(answer.status).toBe(200);
    expect(answer.json.map((one: object) => Object.keys(one)[0])).toEqual([
      "errors",
      "data",
      ...Array(5).fill("errors"),
    ]);
    expect(answer.json[1]).toEqual(ANONYMOUS_ECHO);
  });

  it("may be empty or of one", async () => {
    expect((await app.call(`POST ${ENDPOINT}`, { json: [] })).json).toEqual([]);
    const one = await app.call(`POST ${ENDPOINT}`, { json: [{ query: ECHO }] });
    expect(one.json).toEqual([ANONYMOUS_ECHO]);
  });

  it("shows what its earlier changes made", async () => {
    const query = '{project(fullPath:"acme/site"){issues{count}}}';
    const json = [{ query }, { query: CREATE }, { query: CREATE }, { query }];
    const answer = await app.call(`POST ${ENDPOINT}`, { as: "owner", json });
    const counts = [0, 3].map((at) => answer.json[at].data.project.issues.count);
    expect(answer.json.slice(1, 3)).toEqual([CREATED, CREATED]);
    expect((counts[1] as number) - (counts[0] as number)).toBe(2);
  });

  it("costs what its operations cost together", async () => {
    const query = '{a:echo(text:"x") b:echo(text:"x") c:echo(text:"x")}';
    const json = Array.from({ length: 67 }, () => ({ query }));
    const answer = await app.call(`POST ${ENDPOINT}`, { json });
    const refused = {
      errors: [{ message: "Query has complexity of 201, which exceeds max complexity of 200" }],
    };
    expect([answer.status, answer.json]).toEqual([200, json.map(() => refused)]);
    const says = '"owner" says: x';
    expect((await app.call(`POST ${ENDPOINT}`, { as: "owner", json })).json[66]).toEqual({
      data: { a: says, b: says, c: says },
    });
  });

  it("has at most 100 operations", async () => {
    const of = (length: number) =>
      app.call(`POST ${ENDPOINT}`, { json: Array.from({ length }, () => ({ query: ECHO })) });
    expect((await of(100)).json[99]).toEqual(ANONYMOUS_ECHO);
    const { status, json } = await of(101);
    const message = "Batch has more than 100 operations";
    expect([status, json]).toEqual([422, { errors: [{ message }] }]);
  });

  it("has as many characters as one operation may have", async () => {
    const json = Array.from({ length: 2 }, () => ({ query: `${ECHO}#${"x".repeat(5000)}` }));
    const { status, json: sent } = await app.call(`POST ${ENDPOINT}`, { json });
    expect([status, sent]).toEqual([422, { errors: [{ message: "Query too large" }] }]);
  });

  it("with a change needs what a change needs", async () => {
    const headers = await openSession(app, ownerId);
    const json = [{ query: ECHO }, { query: CREATE }];
    const { status } = await app.call(`POST ${ENDPOINT}`, { headers, json });
    expect(status).toBe(422);
  });

  it("is of the API's routes only where they take one", async () => {
    const { status } = await app.call("POST /groups", { as: "owner", json: [{ name: "a" }] });
    expect(status).toBe(400);
  });
});

describe("changes", () => {
  it.each(["GET", "HEAD"])("10: are not made by %s", async (method) => {
    const before = await countOfIssues();
    const parameters = new URLSearchParams({ query: CREATE, private_token: tokenOf("owner") });
    const { status, json } = await app.call(`${method} ${ENDPOINT}?${parameters}`);
    expect(status).toBe(422);
    if (method === "GET") {
      expect(json).toEqual({ errors: [{ message: "Mutations are forbidden in GET requests" }] });
    }
    expect(await countOfIssues()).toBe(before);
  });

  it("by GET are told from queries by the operation that is named", async () => {
    const query = `query A ${ECHO} ${CREATE.replace("mutation", "mutation B")}`;
    expect((await get({ query, operationName: "A" })).status).toBe(200);
    expect((await get({ query, operationName: "B" }, { as: "owner" })).status).toBe(422);
  });

  it("11: Documents of more than 10,000 characters are refused", async () => {
    const padded = (length: number) => ECHO + " ".repeat(length - ECHO.length);
    expect((await post(app, padded(10_000))).json).toEqual(ANONYMOUS_ECHO);
    const { status, json } = await post(app, padded(10_001));
    expect([status, json]).toEqual([422, { errors: [{ message: "Query too large" }] }]);
  });

  it("are not made for anonymous callers", async () => {
    const { status, json } = await post(app, CREATE);
    expect([status, json.data, json.errors[0].message, json.errors[0].path]).toEqual([
      200,
      { createIssue: null },
      NOT_AVAILABLE,
      ["createIssue"],
    ]);
  });
});

async function countOfIssues(): Promise<number> {
  const { json } = await post(app, '{project(fullPath:"acme/site"){issues{count}}}');
  return json.data.project.issues.count;
}

describe("callers", () => {
  const WHO = "{currentUser{username}}";
  const OWNER = { data: { currentUser: { username: "owner" } } };
  const INVALID = { errors: [{ message: "Invalid token" }] };

  it.each(everyone)("%s may ask who they are", async (as) => {
    const { json } = await post(app, WHO, { as });
    expect(json.data.currentUser?.username ?? "anonymous").toBe(as);
  });

  it("15: send their token in several ways", async () => {
    const token = tokenOf("owner");
    const ways = [
      post(app, WHO, { headers: { "private-token": token } }),
      post(app, WHO, { headers: { authorization: `Bearer ${token}` } }),
      get({ query: WHO, private_token: token }),
      get({ query: WHO, access_token: token }),
      app.call(`POST ${ENDPOINT}?private_token=${token}`, { json: { query: WHO } }),
      app.call(`POST ${ENDPOINT}?access_token=${token}`, { json: { query: WHO } }),
    ];
    for (const { json } of await Promise.all(ways)) expect(json).toEqual(OWNER);
  });

  it("send access tokens of OAuth2", async () => {
    const grant = { applicationId: null, userId: ownerId, scopes: "read_api" };
    const { accessToken } = await app.store.transaction((db) =>
      insertWithToken(db, grant, Date.now()),
    );
    const headers = { authorization: `Bearer ${accessToken}` };
    expect((await post(app, WHO, { headers })).json).toEqual(OWNER);
  });

  it.each([
    "unknown",
    "read_user-of-owner",
    "sudo-of-owner",
    "expired-of-owner",
    "revoked-of-owner",
  ])("12, 13: The token %s is invalid", async (token) => {
    for (const query of [ECHO, "{", CREATE]) {
      const { status, json } = await post(app, query, { headers: { "private-token": token } });
      expect([status, json]).toEqual([401, INVALID]);
    }
  });

  it("who are blocked get no access", async () => {
    const { status, json } = await post(app, ECHO, { as: "blocked" });
    expect([status, json]).toEqual([403, { errors: [{ message: "API not accessible for user" }] }]);
  });

  it("with Basic credentials are anonymous", async () => {
    const basic = Buffer.from(`owner:${tokenOf("owner")}`).toString("base64");
    const { json } = await post(app, WHO, { headers: { authorization: `Basic ${basic}` } });
    expect(json).toEqual({ data: { currentUser: null } });
  });

  it("with a job's token are not known", async () => {
    const { token } = await app.admin.tokens.createForJob({ project: "acme/site", user: "owner" });
    const { json } = await post(app, WHO, { headers: { "job-token": token } });
    expect(json).toEqual({ data: { currentUser: null } });
  });

  it("can't act as others", async () => {
    const { json } = await post(app, WHO, { as: "admin", headers: { sudo: "owner" } });
    expect(json).toEqual({ data: { currentUser: { username: "admin" } } });
  });

  it("14: with read_api may ask, and change nothing", async () => {
    const headers = { "private-token": "read_api-of-owner" };
    expect((await post(app, WHO, { headers })).json).toEqual(OWNER);
    const before = await countOfIssues();
    const { status, json } = await post(app, CREATE, { headers });
    expect([status, json.data, json.errors[0].message]).toEqual([
      200,
      { createIssue: null },
      NOT_AVAILABLE,
    ]);
    expect(await countOfIssues()).toBe(before);
  });
});

describe("22: a session", () => {
  const WHO = "{currentUser{username}}";
  const OWNER = { data: { currentUser: { username: "owner" } } };
  const NOBODY = { data: { currentUser: null } };
  let cookie: Record<string, string>;
  let csrf: Record<string, string>;

  beforeAll(async () => {
    csrf = await openSession(app, ownerId, { csrf: true });
    cookie = { cookie: csrf["cookie"] as string };
  });

  it("may ask by its cookie alone", async () => {
    expect((await post(app, WHO, { headers: cookie })).json).toEqual(OWNER);
    expect((await get({ query: WHO }, { headers: cookie })).json).toEqual(OWNER);
  });

  it("needs the CSRF token to change something", async () => {
    const before = await countOfIssues();
    for (const headers of [cookie, { ...cookie, "x-csrf-token": "wrong" }]) {
      const { status, json } = await post(app, CREATE, { headers });
      expect([status, Object.keys(json)]).toEqual([422, ["errors"]]);
    }
    expect(await countOfIssues()).toBe(before);
    expect((await post(app, CREATE, { headers: csrf })).json).toEqual(CREATED);
  });

  it("of another site's page is nobody's", async () => {
    for (const site of [{ "sec-fetch-site": "cross-site" }, { origin: "https://evil.test" }]) {
      const headers = { ...csrf, ...site };
      expect((await post(app, WHO, { headers })).json).toEqual(NOBODY);
      expect((await get({ query: WHO }, { headers })).json).toEqual(NOBODY);
      const { json } = await post(app, CREATE, { headers });
      expect(json.data).toEqual({ createIssue: null });
    }
  });

  it("of the own site's page counts", async () => {
    const headers = { ...csrf, "sec-fetch-site": "same-origin", origin: "http://pm.test" };
    expect((await post(app, CREATE, { headers })).json).toEqual(CREATED);
  });

  it("does not matter beside a token", async () => {
    const headers = { ...cookie, "private-token": tokenOf("guest") };
    const { json } = await post(app, WHO, { headers });
    expect(json).toEqual({ data: { currentUser: { username: "guest" } } });
  });
});

describe("browsers", () => {
  it("16: of any origin may ask, without cookies", async () => {
    const { status, headers } = await app.call(`OPTIONS ${ENDPOINT}`, {
      headers: {
        origin: "https://a.test",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type, private-token",
      },
    });
    expect(status).toBeLessThan(300);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    const answer = await post(app, ECHO, { headers: { origin: "https://a.test" } });
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  });

  it("may read how long an answer took, and its request's id", async () => {
    const { headers } = await post(app, ECHO, { headers: { "x-request-id": "abc" } });
    expect(headers.get("x-request-id")).toBe("abc");
    expect(Number(headers.get("x-runtime"))).toBeGreaterThanOrEqual(0);
  });
});

describe("paths and methods", () => {
  it.each(["PUT", "PATCH", "DELETE"])("%s is not allowed", async (method) => {
    const { status, json, headers } = await app.call(`${method} ${ENDPOINT}`);
    expect([status, Object.keys(json)]).toEqual([405, ["errors"]]);
    expect(headers.get("allow")).toBe("GET, HEAD, OPTIONS, POST");
  });

  it("HEAD answers as GET without a body", async () => {
    const parameters = new URLSearchParams({ query: ECHO });
    const { status, text, headers } = await app.call(`HEAD ${ENDPOINT}?${parameters}`);
    expect([status, text]).toEqual([200, ""]);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  it.each([`${ENDPOINT}/more`, `${ENDPOINT}//more`, `${ENDPOINT}/v4`])(
    "%s is unknown",
    async (path) => {
      const { status, json } = await app.call(`POST ${path}`, { json: { query: ECHO } });
      expect([status, json]).toEqual([404, { errors: [{ message: "Not Found" }] }]);
    },
  );

  it.each(["/api/graphqls", "/api/Graphql", "/graphql"])("%s is none of them", async (path) => {
    const { json } = await app.call(`POST http://pm.test${path}`, { json: { query: ECHO } });
    expect(json).toEqual({ error: "404 Not Found" });
  });
});

describe("limits", () => {
  let limited: TestApp;
  beforeAll(async () => {
    limited = await testApp({ limits: { requestsPerMinute: { user: 2, address: 1 } } });
  });
  afterAll(() => limited.dispose());
  const IP = "192.0.2.1";

  it("of requests count operations of all kinds", async () => {
    const first = await post(limited, ECHO, { as: "owner", ip: IP });
    expect(first.headers.get("ratelimit-remaining")).toBe("1");
    await post(limited, "{", { as: "owner", ip: IP });
    const { status, headers, json } = await post(limited, ECHO, { as: "owner", ip: IP });
    expect(status).toBe(429);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Object.keys(json)).toEqual(["errors"]);
    expect((await post(limited, ECHO, { ip: IP })).status).toBe(200);
    expect((await post(limited, ECHO, { ip: IP })).status).toBe(429);
  });
});

describe("20: complexity", () => {
  const echoes = (count: number) =>
    `{${Array.from({ length: count }, (_, n) => `a${n}: echo(text:"")`).join(" ")}}`;

  it.each([
    ["anonymous", 200],
    ["owner", 250],
    ["admin", 300],
  ] as const)("for %s is at most %i", async (as, most) => {
    expect((await post(app, echoes(most), { as })).json.errors).toBeUndefined();
    const { status, json } = await post(app, echoes(most + 1), { as });
    const message = `Query has complexity of ${most + 1}, which exceeds max complexity of ${most}`;
    expect([status, json]).toEqual([200, { errors: [{ message }] }]);
  });

  it("can be asked for", async () => {
    const { json } = await post(app, "{queryComplexity{score limit}}", { as: "owner" });
    expect(json.data).toEqual({ queryComplexity: { score: 3, limit: 250 } });
  });

  // A field costs 1, a connection all that is in it and 1 % more for each row of a page.
  it.each([
    ["{project(fullPath:$p){id}}", 2],
    ["{project(fullPath:$p){__typename}}", 1],
    ["{__schema{queryType{name}}}", 0],
    ["{project(fullPath:$p){issues{nodes{id}}}}", 1 + 2 * 3],
    ["{project(fullPath:$p){issues(first:10){nodes{id}}}}", 1 + 3],
    ["{project(fullPath:$p){issues(last:50){nodes{id title}}}}", 1 + 6],
    ["{project(fullPath:$p){issues(first:5000){nodes{id}}}}", 1 + 6],
    ["{project(fullPath:$p){issues(first:$n){nodes{id}}}}", 1 + 5],
    ['{project(fullPath:$p){issues(first:$n,search:"a"){nodes{id}}}}', 1 + 13],
    ["{project(fullPath:$p){issues(first:$n,search:$none){nodes{id}}}}", 1 + 5],
    ["{project(fullPath:$p){issues(first:$n,sort:CREATED_ASC){nodes{id}}}}", 1 + 6],
    ["{project(fullPath:$p){id id id ...{id} ...F}}", 2],
    ["{project(fullPath:$p){a:id b:id c:id}}", 4],
    ['{project(fullPath:$p)@skip(if:$yes){issues{nodes{id}}} echo(text:"")}', 1],
    ["{project(fullPath:$p)@include(if:$yes){id}}", 2],
  ])("of %s is %i", async (selection, score) => {
    const declared = { $p: "ID!", $n: "Int", $none: "String", $yes: "Boolean!" };
    const used = Object.entries(declared).filter(([name]) => selection.includes(name));
    const head = used.map(([name, type]) => `${name}:${type}`).join(" ");
    const fragment = selection.includes("...F") ? "fragment F on Project{id}" : "";
    const rest = selection.slice(1);
    const query = `query${head && `(${head})`}{queryComplexity{score} ${rest} ${fragment}`;
    const variables = { p: "acme/site", n: 70, yes: true };
    const { json } = await post(app, query, { as: "owner", body: { variables } });
    expect(json.data?.queryComplexity ?? json).toEqual({ score: score + 2 });
  });

  it("is not reached by fields that double in fragments", async () => {
    const doubling = Array.from(
      { length: 30 },
      (_, n) => `fragment F${n} on Query{...F${n + 1} a${n}:echo(text:"") ...F${n + 1}}`,
    );
    const query = `{...F0} ${doubling.join(" ")} fragment F30 on Query{__typename}`;
    expect((await post(app, query)).json.errors).toBeUndefined();
    const nested = Array.from(
      { length: 30 },
      (_, n) => `fragment F${n} on Group{a:parent{...F${n + 1}} b:parent{...F${n + 1}}}`,
    );
    const deep = `{group(fullPath:"acme"){...F0}} ${nested.join(" ")} fragment F30 on Group{id}`;
    const [message] = messagesOf(await post(app, deep));
    expect(message).toMatch(/^Recursive query|too complex/);
  });
});

describe("nesting", () => {
  it("19: of brackets is limited, wherever others are", async () => {
    const deep = [
      "{a".repeat(3000),
      "{a #}\n".repeat(1200),
      `{a(b:"}"){`.repeat(900),
      `{echo(text:${"[".repeat(3000)}`,
      `query($a:${"[".repeat(3000)}`,
      `{a(b:"""\n}}}""" c:{`.repeat(400),
    ];
    for (const query of deep) {
      const answer = await post(app, query);
      expect([answer.status, messagesOf(answer)]).toEqual([200, ["Query is nested too deeply"]]);
    }
  });

  it("of brackets in texts and comments does not matter", async () => {
    const text = "{[(".repeat(500);
    const { json } = await post(app, `{echo(text:"${text}")} # ${text}`);
    expect(json).toEqual({ data: { echo: `null says: ${text}` } });
  });

  it.each([
    ["anonymous", 15, "", "", " issue"],
    ["owner", 20, " descendantGroups(first:0) edges node", " issue author", " issue labels nodes"],
  ] as const)("of fields for %s is at most %i deep", async (as, most, above, least, more) => {
    const issues = "issues(first:0) edges node milestone project";
    const path = `group(fullPath:"acme")${above} projects(first:0) edges node ${issues} ${issues}`;
    const nested = (end: string) => {
      const steps = (path + end).split(" ");
      return `{${steps.join("{")}{id${"}".repeat(steps.length + 1)}`;
    };
    expect((await post(app, nested(least), { as })).json.errors).toBeUndefined();
    expect(messagesOf(await post(app, nested(more), { as }))).toEqual([
      `Query has depth of ${most + 1}, which exceeds max depth of ${most}`,
    ]);
  });

  it("of a field in itself is limited", async () => {
    const query = '{group(fullPath:"acme"){parent{parent{parent{id}}}}}';
    expect(messagesOf(await post(app, query))).toEqual([
      "Recursive query - too many of fields 'parent' nested",
    ]);
  });
});

describe("size", () => {
  it("is limited in fields, names and tokens", async () => {
    const numbered = (count: number, make: (n: number) => string) =>
      Array.from({ length: count }, (_, n) => make(n)).join(" ");
    const of = async (query: string) => messagesOf(await post(app, query));
    expect(await of(`{${numbered(501, (n) => `a${n}:__typename`)}}`)).toEqual([
      "Query has more than 500 fields",
    ]);
    expect(await of(`{${"__typename ".repeat(151)}}`)).toEqual([
      "Query has more than 150 fields named '__typename'",
    ]);
    expect(await of("!".repeat(5001))).toEqual(["Query has more than 5000 tokens"]);
    expect(await of(`{${"__typename ".repeat(150)}}`)).toEqual([]);
  });

  it("of lists in arguments is limited", async () => {
    const query =
      'query($l:[String!]){project(fullPath:"acme/site"){issues(labelName:$l){nodes{id}}}}';
    const of = async (count: number) =>
      post(app, query, { body: { variables: { l: Array(count).fill("a") } } });
    expect(messagesOf(await of(500))).toEqual([]);
    const { json } = await of(501);
    expect(json.errors).toMatchObject([
      {
        message: "A list of an argument has more than 500 values",
        path: ["project", "issues"],
      },
    ]);
    expect(json.data).toEqual({ project: { issues: null } });
  });
});

describe("introspection", () => {
  it("of one type is answered with its variables", async () => {
    const query =
      'query A($n:String="Issue"){...F} query B($n:String="Label"){...F} fragment F on Query{__type(name:\u0024n){name}}';
    const of = async (operationName: string, variables = {}) =>
      (await post(app, query, { body: { operationName, variables } })).json.data.__type?.name;
    expect(await of("A")).toBe("Issue");
    expect(await of("B")).toBe("Label");
    expect(await of("A", { n: "Group" })).toBe("Group");
    expect(await of("A", { n: "Nothing" })).toBeUndefined();
    expect(await of("A")).toBe("Issue");
  });

  it("21: gives the schema, whatever it costs", async () => {
    const { status, json } = await post(app, getIntrospectionQuery());
    expect([status, json.errors]).toEqual([200, undefined]);
    expect(json.data.__schema.queryType).toMatchObject({ name: "Query" });
  });

  it("is not multiplied", async () => {
    const bomb = `{${Array.from({ length: 50 }, (_, n) => `a${n}: __schema{types{fields{type{fields{name}}}}}`).join(" ")}}`;
    const answer = await post(app, bomb);
    const refused = ["Introspection asks for too much: lists in lists multiply"];
    expect(messagesOf(answer)).toEqual(refused);
    const query = getIntrospectionQuery();
    const twice = await app.call(`POST ${ENDPOINT}`, { json: [{ query }, { query }] });
    expect(twice.json[1].data.__schema.queryType).toMatchObject({ name: "Query" });
    const thrice = [{ query }, { query }, { query }];
    const { json } = await app.call(`POST ${ENDPOINT}`, { json: thrice });
    expect(json[0]).toEqual({ errors: [{ message: refused[0] }] });
  });
});

describe("echoCreate", () => {
  it("gives back what was sent to those who may change something", async () => {
    const query = `mutation { echoCreate(input: { messages: ["a", "b"], errors: ["c"], clientMutationId: "7" }) {
      echoes errors clientMutationId } }`;
    const { json } = await post(app, query, { as: "guest" });
    expect(json).toEqual({
      data: { echoCreate: { echoes: ["a", "b"], errors: ["c"], clientMutationId: "7" } },
    });
    const refused = await post(app, query);
    expect([refused.json.data, messagesOf(refused)]).toEqual([
      { echoCreate: null },
      [NOT_AVAILABLE],
    ]);
  });
});
