import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import type { Incoming } from "../../src/core/http/incoming.ts";
import type { LogEntry } from "../../src/index.ts";
import type { Store } from "../../src/store/port.ts";
import { baseSeed, type TestApp, testApp } from "../helpers.ts";

// Numbers in test names are case ids.

const TODAY = "2026-06-15";
const NOW = Date.parse(`${TODAY}T12:00:00Z`);
const TOKEN = { "private-token": "token-of-owner" };

let app: TestApp;
const logged: LogEntry[] = [];
const failures: unknown[] = [];

beforeAll(async () => {
  app = await testApp({
    now: () => NOW,
    log: (entry) => logged.push(entry),
    onError: (error) => failures.push(error),
    seed: {
      ...baseSeed,
      users: [
        ...(baseSeed.users ?? []),
        {
          username: "scoped",
          tokens: [
            { token: "read_user", scopes: ["read_user"] },
            { token: "read_api", scopes: ["read_api"] },
            { token: "api", scopes: ["api"] },
            { token: "sudo", scopes: ["sudo"] },
            { token: "user and api", scopes: ["read_user", "read_api"] },
            { token: "expired", expires_at: "2026-06-14" },
            { token: "expires today", expires_at: TODAY },
            { token: "expires tomorrow", expires_at: "2026-06-16" },
            { token: "impersonates", impersonation: true },
          ],
        },
        { username: "with.dots", tokens: [{ token: "dotted" }] },
      ],
      groups: [
        ...(baseSeed.groups ?? []),
        {
          path: "dotted.group",
          visibility: "public",
          projects: [{ path: "a.project.json", visibility: "public" }],
        },
        { path: "2026", visibility: "public" },
      ],
    },
  });
});
afterAll(async () => {
  await app.dispose();
  expect(failures).toEqual([]);
});

/** The user name of a request's caller according to GET /user, or the refusal. */
async function whoAmI(query: string, headers: Record<string, string> = {}): Promise<unknown> {
  const { status, json } = await app.call(`GET /user${query}`, { headers });
  return status === 200 ? json.username : status;
}

it("ignores slashes at the end of a path, and doubled ones", async () => {
  for (const path of ["/version", "/version/", "//version", "///version//", "/groups//acme"]) {
    expect([path, (await app.call(`GET ${path}`, { as: "guest" })).status]).toEqual([path, 200]);
  }
});

describe("credentials", () => {
  it("224: without any, 401 with a challenge", async () => {
    const { status, json, headers } = await app.call("GET /user");
    expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
    expect(headers.get("www-authenticate")).toBe("Bearer");
  });

  it.each([
    ["the header Private-Token", "", { "private-token": "token-of-owner" }],
    ["the header in capitals", "", { "PRIVATE-TOKEN": "token-of-owner" }],
    ["private_token in the query", "?private_token=token-of-owner", {}], // 226
    ["access_token in the query", "?access_token=token-of-owner", {}],
    ["bearer_token in the query", "?bearer_token=token-of-owner", {}],
    ["a Bearer header", "", { authorization: "Bearer token-of-owner" }], // 227
    ["a bearer header in lower case", "", { authorization: "bearer   token-of-owner " }],
  ])("come in %s", async (_, query, headers) => {
    expect(await whoAmI(query, headers)).toBe("owner");
  });

  it("come in a form, in JSON and in a multipart body", async () => {
    const label = "POST /groups/acme/labels";
    const { status: form } = await app.call(label, {
      form: { name: "by form", color: "#000", private_token: "token-of-owner" },
    });
    const { status: json } = await app.call(label, {
      json: { name: "by json", color: "#000", private_token: "token-of-owner" },
    });
    const body = new FormData();
    body.set("name", "by multipart");
    body.set("color", "#000");
    body.set("private_token", "token-of-owner");
    const { status: multipart } = await app.call(label, { body });
    expect([form, json, multipart]).toEqual([201, 201, 201]);
  });

  it.each([
    // 230: the first that isn't empty decides, valid or not
    ["?private_token=token-of-guest", TOKEN, "guest"],
    ["?private_token=token-of-guest", { "private-token": "wrong" }, "guest"],
    ["?private_token=wrong", TOKEN, 401],
    ["?access_token=token-of-guest&private_token=token-of-owner", {}, "guest"],
    ["?access_token=wrong&private_token=token-of-owner", {}, 401],
    ["?bearer_token=token-of-guest&private_token=token-of-owner", {}, "guest"],
    ["?access_token=token-of-guest&bearer_token=token-of-owner", {}, "guest"],
    ["?private_token=token-of-owner", { authorization: "Bearer token-of-guest" }, "guest"],
    ["?bearer_token=token-of-owner", { authorization: "Bearer token-of-guest" }, "guest"],
    ["?private_token=token-of-owner", { authorization: "Bearer wrong" }, 401],
    ["", { authorization: "Bearer token-of-guest", ...TOKEN }, "guest"],
    ["", { authorization: "Bearer wrong", ...TOKEN }, 401],
    // An empty one is ignored
    ["?private_token=", TOKEN, "owner"],
    ["?access_token=&bearer_token=&private_token=", TOKEN, "owner"],
    ["", { authorization: "Bearer ", ...TOKEN }, "owner"],
    ["", { authorization: "", ...TOKEN }, "owner"],
    ["?private_token=token-of-owner", { "private-token": "" }, "owner"],
    ["", { "private-token": "" }, 401],
    // Other forms are not accepted as tokens
    ["", { authorization: "Basic b3duZXI6cGFzcw==", ...TOKEN }, "owner"],
    ["", { authorization: "token-of-owner" }, 401],
    ["?private_token[]=token-of-owner", {}, 401],
    ["?private_token[a]=token-of-owner", TOKEN, "owner"],
    ["?job_token=token-of-owner", {}, 401], // 241
    ["", { "job-token": "token-of-owner" }, 401],
    ["", { cookie: "_service_session=token-of-owner" }, 401],
    // Tokens are compared exactly
    ["?private_token=TOKEN-OF-OWNER", {}, 401],
    ["?private_token=token-of-owner%20", {}, 401],
    ["?private_token=token-of-owner%00", {}, 401],
    ["?private_token=%25", {}, 401],
    [`?private_token=${"x".repeat(5000)}`, {}, 401],
  ])("in GET /user%s with %j are those of %s", async (query, headers, expected) => {
    expect(await whoAmI(query, headers)).toBe(expected);
  });

  it("223: are refused in a Bearer header and access_token at once", async () => {
    const { status, json } = await app.call("GET /user?access_token=token-of-owner", {
      headers: { authorization: "Bearer token-of-owner" },
    });
    expect([status, json]).toEqual([
      400,
      {
        error: "invalid_request",
        error_description: "Both Authorization header and payload includes access token.",
      },
    ]);
  });

  it("229: an empty token is anonymous if that suffices", async () => {
    expect((await app.call("GET /projects?private_token=")).status).toBe(200);
    const { status } = await app.call("GET /projects", { headers: { "private-token": "" } });
    expect(status).toBe(200);
  });

  it.each(["wrong", "expired", "expires today"])(
    "221, 233: a token that is %s is 401 with an error, on public endpoints too",
    async (token) => {
      for (const path of ["/user", "/projects", "/groups/acme", "/groups/nothing"]) {
        const { status, json, headers } = await app.call(`GET ${path}`, {
          headers: { "private-token": token },
        });
        expect([path, status, json]).toEqual([path, 401, { message: "401 Unauthorized" }]);
        expect(headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
      }
    },
  );

  it("a token works until the day before its expiry date", async () => {
    expect(await whoAmI("?private_token=expires%20tomorrow")).toBe("scoped");
  });

  it("232: a token is 401 once revoked", async () => {
    const { id, token } = await app.admin.tokens.create({
      user: "scoped",
      name: "short-lived",
      scopes: ["api"],
    });
    expect(await whoAmI(`?private_token=${token}`)).toBe("scoped");
    await app.admin.tokens.revoke(id);
    expect(await whoAmI(`?private_token=${token}`)).toBe(401);
  });

  it("a blocked user is 403 everywhere, until unblocked", async () => {
    for (const path of ["/user", "/projects"]) {
      const { status, json } = await app.call(`GET ${path}`, { as: "blocked" });
      expect([status, json]).toEqual([
        403,
        { message: "403 Forbidden - Your account has been blocked." },
      ]);
    }
    await app.admin.users.unblock("blocked");
    expect(await whoAmI("?private_token=token-of-blocked")).toBe("blocked");
    await app.admin.users.block("blocked");
    expect(await whoAmI("?private_token=token-of-blocked")).toBe(403);
  });

  it("266: an impersonation token authenticates its user, and can be switched off", async () => {
    expect(await whoAmI("", { "private-token": "impersonates" })).toBe("scoped");
    const off = await createAppOn(unclosable(app.store), {
      impersonation: false,
      now: () => NOW,
      background: false,
    });
    for (const [token, expected] of [
      ["impersonates", 401],
      ["api", 200],
    ] as const) {
      const request = new Request("http://pm.test/api/v4/user", {
        headers: { "private-token": token },
      });
      expect((await off.fetch(request)).status).toBe(expected);
    }
  });
});

/** The store for another application, which does not close it. */
const unclosable = (store: Store): Store => ({ ...store, close: async () => undefined });

describe("scopes", () => {
  const ask = (token: string, request: string) =>
    app.call(request, { headers: { "private-token": token } });

  //                                  read_user read_api api sudo
  it.each([
    ["GET /user", [200, 200, 200, 403]],
    ["GET /users", [200, 200, 200, 403]],
    ["GET /users/1", [200, 200, 200, 403]],
    ["GET /version", [200, 200, 200, 403]],
    ["GET /metadata", [200, 200, 200, 403]],
    ["GET /projects", [403, 200, 200, 403]], // 235
    ["GET /groups/acme", [403, 200, 200, 403]],
    ["HEAD /groups/acme", [403, 200, 200, 403]],
    ["POST /projects", [403, 403, 400, 403]], // 236
    ["PUT /groups/acme", [403, 403, 403, 403]],
    ["DELETE /groups/acme", [403, 403, 403, 403]],
  ])("%s", async (request, expected) => {
    const statuses: number[] = [];
    for (const token of ["read_user", "read_api", "api", "sudo"]) {
      statuses.push((await ask(token, request)).status);
    }
    expect(statuses).toEqual(expected);
  });

  it.each([
    ["GET /projects", "api read_api"],
    ["POST /projects", "api"],
    ["DELETE /groups/acme", "api"],
  ])("that don't suffice for %s are refused, naming those that would", async (request, scope) => {
    const { status, json, headers } = await ask("read_user", request);
    expect([status, json]).toEqual([
      403,
      {
        error: "insufficient_scope",
        error_description:
          "The request requires higher privileges than provided by the access token.",
        scope,
      },
    ]);
    expect(headers.has("www-authenticate")).toBe(false);
  });

  it("add up", async () => {
    expect((await ask("user and api", "GET /user")).status).toBe(200);
    expect((await ask("user and api", "GET /projects")).status).toBe(200);
  });
});

describe("routes", () => {
  it.each([
    "/api/v4/nonexistent", // 287
    "/api/v4",
    "/api/v4/",
    "/api/v5/projects",
    "/api/v30/projects",
    "/-/nothing",
    "/api/v4/-/health",
    "/api/v4/groups/acme/nothing",
    "/api/v4/groups/acme/team", // 290
    "/api/v4/projects/acme/site",
    "/api/v4/groups/acme/boards/1/lists/1/more",
    "/api/v4/GROUPS",
    "/api/v4/users/1ASDF",
  ])("%s is unknown", async (path) => {
    for (const headers of [{}, TOKEN]) {
      const { status, json } = await app.call(`GET ${path}`, { headers });
      expect([status, json]).toEqual([404, { error: "404 Not Found" }]);
    }
  });

  it.each(["GET /api/v3/projects", "POST /api/v3/projects/1", "GET /api/v3", "DELETE /api/v3/"])(
    "289: %s no longer exists",
    async (request) => {
      const { status, json } = await app.call(request);
      expect([status, json]).toEqual([
        410,
        { error: "API V3 is no longer supported. Use API V4 instead." },
      ]);
    },
  );

  it.each([
    ["POST /version", "GET, HEAD, OPTIONS"],
    ["PATCH /groups/acme", "DELETE, GET, HEAD, OPTIONS, PUT"],
    ["DELETE /projects", "GET, HEAD, OPTIONS, POST"],
    ["GET /projects/acme%2Fsite/star", "OPTIONS, POST"],
    ["HEAD /projects/acme%2Fsite/star", "OPTIONS, POST"],
    ["PROPFIND /groups", "GET, HEAD, OPTIONS, POST"],
    ["POST /-/health", "GET, HEAD, OPTIONS"],
  ])("%s is 405, allowing %s", async (request, allow) => {
    const { status, json, text, headers } = await app.call(request);
    expect([status, headers.get("allow")]).toEqual([405, allow]);
    if (request.startsWith("HEAD")) expect(text).toBe("");
    else expect(json).toEqual({ error: "405 Not Allowed" });
  });

  it("outside the API belong to the host", async () => {
    for (const path of ["/", "/api", "/apiv4", "/nobody/nothing", "/index.html"]) {
      const url = `http://pm.test${path}`;
      const response = await app.fetch(new Request(url));
      expect([response.status, await response.json()]).toEqual([404, { error: "404 Not Found" }]);
      const incoming: Incoming = { ...plainGet, path };
      expect(await app.respond(incoming)).toBeUndefined();
    }
    for (const path of ["/explore", "/dashboard/issues", "/groups/acme", "/acme", "/acme/site"]) {
      const incoming: Incoming = { ...plainGet, path };
      expect([path, await app.respond(incoming)]).toEqual([path, undefined]);
      const last = await app.respond({ ...incoming, isLast: true });
      expect([path, [200, 302, 303].includes(last?.status ?? 0)]).toEqual([path, true]);
    }
  });
});

const plainGet: Incoming = {
  method: "GET",
  path: "/api/v4/version",
  query: "",
  header: () => undefined,
  body: () => undefined,
  base: "http://pm.test",
  ip: "",
  host: new Request("http://localhost"),
};

describe("paths", () => {
  it.each([
    "/groups/%",
    "/groups/%zz",
    "/groups/%c3",
    "/groups/%ff",
    "/projects/acme%2Fsite%",
    "/groups/acme/labels/%zz",
    "/users/%zz/impersonation_tokens",
  ])("%s is 400: malformed escapes", async (path) => {
    const { status, json } = await app.call(`GET ${path}`, { as: "admin" });
    expect([status, json]).toEqual([400, { error: "malformed percent-encoding" }]);
  });

  it.each([
    ["/groups/%00", { message: "404 Group Not Found" }],
    ["/groups/acme%00", { message: "404 Group Not Found" }],
    ["/projects/acme%2Fsite%00", { message: "404 Project Not Found" }],
    ["/groups/%00/boards", { message: "404 Group Not Found" }],
    ["/groups/%F0%9F%98%80", { message: "404 Group Not Found" }],
    ["/projects/%27%3B--", { message: "404 Project Not Found" }],
    ["/groups/acme/boards/%00", { message: "404 Not found" }],
  ])("%s is 404: unknown path", async (path, body) => {
    const { status, json } = await app.call(`GET ${path}`, { as: "admin" });
    expect([status, json]).toEqual([404, body]);
  });

  it("292: name groups and projects by id or by encoded path, in any case", async () => {
    const { json: site } = await app.call("GET /projects/acme%2Fsite");
    expect(site.path_with_namespace).toBe("acme/site");
    for (const id of [site.id, "ACME%2fSITE", "%61cme%2Fsite"]) {
      const { json } = await app.call(`GET /projects/${id}`);
      expect(json.id).toBe(site.id);
    }
    expect((await app.call("GET /projects/site")).status).toBe(404);
  });

  it("accept dots", async () => {
    const group = await app.call("GET /groups/dotted.group");
    expect([group.status, group.json.path]).toEqual([200, "dotted.group"]);
    const project = await app.call("GET /projects/dotted.group%2Fa.project.json");
    expect([project.status, project.json.path]).toEqual([200, "a.project.json"]);
    const user = await app.call("GET /users?username=with.dots");
    expect(user.json).toHaveLength(1);
  });

  it("treat digits as an id, even where a path has only digits", async () => {
    expect((await app.call("GET /groups/2026")).json).toEqual({ message: "404 Group Not Found" });
    for (const id of ["99999999999999999999", "9007199254740993", "00000000000000000000"]) {
      expect((await app.call(`GET /groups/${id}`)).status).toBe(404);
      expect((await app.call(`GET /users/${id}`)).status).toBe(404);
    }
  });
});

describe("queries", () => {
  it.each(["search=%", "search=%zz", "%=1", "search=%ff", "a=1&b=%ED%A0%80"])(
    "?%s is 400: malformed escapes",
    async (query) => {
      const { status, json } = await app.call(`GET /projects?${query}`);
      expect([status, json]).toEqual([400, { error: "malformed percent-encoding" }]);
    },
  );

  it.each([
    [`a${"[b]".repeat(33)}=1`, "parameters are nested too deeply"],
    ["&".repeat(4097), "too many parameters"],
    ["a=1&a[b]=1", "expected a hash for parameter 'a'"],
    ["a[b]=1&a[]=1", "expected an array for parameter 'a'"],
  ])("are 400 if malformed (%#)", async (query, error) => {
    const { status, json } = await app.call(`GET /projects?${query}`);
    expect([status, json]).toEqual([400, { error }]);
  });

  it("decode + as a space, %2B as a plus, and use the last of equal names", async () => {
    const title = async (query: string) =>
      (await app.call(`POST /groups/acme/milestones?${query}`, { as: "owner" })).json.title;
    expect(await title("title=one+two")).toBe("one two");
    expect(await title("title=one%2Btwo")).toBe("one+two");
    expect(await title("title=first&title=last")).toBe("last");
  });

  it("accept arrays as name[]=, and a single value for one", async () => {
    const groups = await app.call("GET /groups");
    const [first, second] = groups.json.map(({ id }: { id: number }) => id);
    for (const [query, left] of [
      [`skip_groups[]=${first}&skip_groups[]=${second}`, groups.json.length - 2],
      [`skip_groups%5B%5D=${first}`, groups.json.length - 1],
      [`skip_groups=${second}`, groups.json.length - 1],
      ["skip_groups=", groups.json.length],
    ]) {
      const { status, json } = await app.call(`GET /groups?${query}`);
      expect([query, status, json.length]).toEqual([query, 200, left]);
    }
  });

  it.each([
    ["/groups?skip_groups[]=a", { skip_groups: ["is invalid"] }],
    ["/groups?skip_groups[a]=1", { skip_groups: ["is invalid"] }],
    ["/groups?owned[a]=1", { owned: ["is invalid"] }],
    ["/groups?owned[]=true", { owned: ["is invalid"] }],
    ["/groups?owned=maybe", { owned: ["is invalid"] }],
    ["/groups?search[]=a", { search: ["is invalid"] }],
    ["/groups?search=%00", { search: ["is invalid"] }],
    ["/groups?sort=up", { sort: ["does not have a valid value"] }],
    ["/groups?sort=", { sort: ["does not have a valid value"] }],
    ["/groups?sort=ASC", { sort: ["does not have a valid value"] }],
    ["/groups?sort[]=asc", { sort: ["does not have a valid value"] }],
    ["/groups?min_access_level=35", { min_access_level: ["does not have a valid value"] }],
    ["/groups?min_access_level[a]=30", { min_access_level: ["does not have a valid value"] }],
    ["/groups?sort=up&owned=x", { owned: ["is invalid"], sort: ["does not have a valid value"] }],
  ])("%s is 400, naming each attribute", async (path, message) => {
    const { status, json } = await app.call(`GET ${path}`);
    expect([status, json]).toEqual([400, { message }]);
  });

  it("299: can change a record without a body", async () => {
    const { status, json } = await app.call("PUT /groups/acme?description=from+the+query", {
      as: "owner",
    });
    expect([status, json.description]).toEqual([200, "from the query"]);
  });

  it("the body takes precedence over the query, and the path over both", async () => {
    const board = await app.call("POST /groups/acme/boards?name=query&id=secret", {
      as: "owner",
      json: { name: "body", id: "secret" },
    });
    expect(board.json).toMatchObject({ name: "body", group: { name: "Acme" } });
    const other = await app.call("POST /groups/acme/boards?name=other", { as: "owner" });
    const { json } = await app.call(`PUT /groups/acme/boards/${board.json.id}`, {
      as: "owner",
      json: { board_id: other.json.id, name: "changed" },
    });
    expect([json.id, json.name]).toEqual([board.json.id, "changed"]);
  });

  it("can be long", async () => {
    const { status, json } = await app.call(`GET /projects?search=xyz&x=${"x".repeat(8000)}`);
    expect([status, json]).toEqual([200, []]);
  });
});

describe("bodies", () => {
  const send = (type: string | undefined, body: BodyInit, path = "/groups/acme/milestones") =>
    app.call(`POST ${path}`, {
      as: "owner",
      headers: type === undefined ? {} : { "content-type": type },
      body,
    });
  const unique = () => `milestone ${randomUUID()}`;

  it.each([
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "application/vnd.api+json",
  ])("are JSON as %s", async (type) => {
    const title = unique();
    const { status, json } = await send(type, JSON.stringify({ title, due_date: "2026-01-02" }));
    expect([status, json.title, json.due_date]).toEqual([201, title, "2026-01-02"]);
  });

  it.each(["application/x-www-form-urlencoded", "application/x-www-form-urlencoded;charset=UTF-8"])(
    "are parsed as a form with %s",
    async (type) => {
      const { status, json } = await send(
        type,
        "title=%C3%A9+%2B+%F0%9F%98%80&due_date=2026-01-02",
      );
      expect(status).toBe(201);
      expect([json.title, json.due_date]).toEqual(["é + 😀", "2026-01-02"]);
      await app.call(`DELETE /groups/acme/milestones/${json.id}`, { as: "owner" });
    },
  );

  it("can be multipart, skipping files", async () => {
    const body = new FormData();
    const title = unique();
    body.set("title", title);
    body.set("file", new Blob(["x".repeat(100_000)]), "a.txt");
    body.set("description", "é\n😀");
    const { status, json } = await send(undefined, body);
    expect([status, json.title, json.description]).toEqual([201, title, "é\r\n😀"]);
  });

  it("understand Rack's brackets in forms and multipart", async () => {
    const groups = [`labels[]=UX&labels[]=${encodeURIComponent("new one")}`, "labels=UX,new one"];
    const board = await app.call("POST /groups/acme/boards", { as: "owner", json: { name: "x" } });
    for (const form of groups) {
      const { json } = await app.call(`PUT /groups/acme/boards/${board.json.id}`, {
        as: "owner",
        form,
      });
      expect(json.labels.map(({ name }: { name: string }) => name)).toEqual(["UX", "new one"]);
    }
    const body = new FormData();
    body.append("labels[]", "Testing");
    body.append("labels[]", "UX");
    const { json } = await app.call(`PUT /groups/acme/boards/${board.json.id}`, {
      as: "owner",
      body,
    });
    expect(json.labels.map(({ name }: { name: string }) => name)).toEqual(["Testing", "UX"]);
  });

  const BOUNDARY = "multipart/form-data; boundary=xx";
  const part = (name: string, value: string) =>
    `--xx\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

  it("null has no parameters", async () => {
    const sent = { headers: { "content-type": "application/json" }, body: "null" };
    const starred = await app.call("POST /projects/acme%2Fsite/star", { as: "guest", ...sent });
    expect(starred.status).toBe(201);
    const unnamed = await app.call("POST /groups/acme/boards", { as: "owner", ...sent });
    expect(unnamed.json).toEqual({ message: '400 (Bad request) "name" not given' });
  });

  it.each([
    // 293
    ["application/json", "{", "message body does not match declared format"],
    ["application/json", "[]", "message body does not match declared format"],
    ["application/json", '[{"title":"x"}]', "message body does not match declared format"],
    ["application/json", '"title"', "message body does not match declared format"],
    ["application/json", "title=x", "message body does not match declared format"],
    ["application/json", new Uint8Array([0x22, 0xff]), "message body is not valid UTF-8"],
    [
      "application/json",
      `{"a":${"[".repeat(40)}1${"]".repeat(40)}}`,
      "parameters are nested too deeply",
    ],
    ["application/json", `{"a":[${"1,".repeat(5000)}1]}`, "too many parameters"],
    ["application/x-www-form-urlencoded", "title=%zz", "malformed percent-encoding"],
    ["application/x-www-form-urlencoded", "a&".repeat(5000), "too many parameters"],
    [
      "application/x-www-form-urlencoded",
      new Uint8Array([0x61, 0xff]),
      "message body is not valid UTF-8",
    ],
    ["multipart/form-data", "x", "malformed multipart body"],
    [BOUNDARY, part("title", "x"), "malformed multipart body"],
    [BOUNDARY, "--yy--\r\n", "malformed multipart body"],
    [
      BOUNDARY,
      `${part("a", "1")}${part("a[b]", "1")}--xx--\r\n`,
      "expected a hash for parameter 'a'",
    ],
    [BOUNDARY, `${part("a", "1").repeat(4200)}--xx--\r\n`, "too many parameters"],
  ])("%s %.20j is 400 if malformed", async (type, body, error) => {
    const { status, json } = await send(type, body);
    expect([status, json]).toEqual([400, { error }]);
  });

  it.each(["text/plain", "application/xml", "application/octet-stream", "nonsense"])(
    "of the type %s are 415",
    async (type) => {
      const { status, json } = await send(type, "title=x");
      expect([status, json]).toEqual([
        415,
        { error: `The provided content-type '${type}' is not supported.` },
      ]);
    },
  );

  it("without a type are 415", async () => {
    const { status } = await send(undefined, new Uint8Array([0x61]));
    expect(status).toBe(415);
  });

  it("301: may have any type if empty, on every method", async () => {
    for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain"]) {
      const headers = { "content-type": type };
      const made = await app.call(`POST /groups/acme/labels?name=${type}&color=%23000`, {
        as: "owner",
        headers,
      });
      expect(made.status).toBe(201);
      const at = `/groups/acme/labels/${made.json.id}`;
      expect((await app.call(`GET ${at}`, { as: "owner", headers })).status).toBe(200);
      expect((await app.call(`DELETE ${at}`, { as: "owner", headers })).status).toBe(204);
    }
  });

  it("of GET requests are ignored", async () => {
    const headers = { "content-type": "application/json" };
    expect((await app.call("GET /groups?owned=true", { headers })).status).toBe(200);
  });

  it("with NUL or a lone surrogate are refused where text is expected", async () => {
    for (const title of ["a\0b", "\ud800", "\udc00x"]) {
      const { status, json } = await app.call("POST /groups/acme/milestones", {
        as: "owner",
        json: { title },
      });
      expect([status, json]).toEqual([400, { message: { title: ["is invalid"] } }]);
    }
    const { status } = await app.call("POST /groups/acme/milestones", {
      as: "owner",
      form: "title=a%00b",
    });
    expect(status).toBe(400);
  });

  it("can contain __proto__ and the like, to no effect", async () => {
    for (const body of [
      '{"__proto__":{"title":"polluted","admin":true},"constructor":{"prototype":{"title":"x"}}}',
      '{"title":{"__proto__":"x"}}',
    ]) {
      const { status } = await send("application/json", body);
      expect(status).toBe(400);
    }
    const { status, json } = await send(
      "application/x-www-form-urlencoded",
      "__proto__[title]=polluted&constructor[prototype][title]=x",
    );
    expect([status, json]).toEqual([400, { message: '400 (Bad request) "title" not given' }]);
    expect(({} as Record<string, unknown>)["title"]).toBeUndefined();
  });

  it("over the limit are 413, declared or not, and close the connection", async () => {
    const small = await testApp({ limits: { bodyBytes: 1000 } });
    const big = "x".repeat(2000);
    const multipart = new FormData();
    multipart.set("title", big);
    const bodies: [string | undefined, BodyInit][] = [
      ["application/json", JSON.stringify({ title: big })],
      ["application/x-www-form-urlencoded", `title=${big}`],
      [undefined, multipart],
      ["application/json", streamOf(JSON.stringify({ title: big }))],
      [BOUNDARY, streamOf(`${part("title", big)}--xx--\r\n`)],
      ["text/plain", big],
    ];
    for (const [type, body] of bodies) {
      const request = new Request("http://pm.test/api/v4/groups/acme/milestones", {
        method: "POST",
        headers: { ...TOKEN, ...(type && { "content-type": type }) },
        body,
        duplex: "half",
      } as RequestInit);
      const response = await small.fetch(request);
      expect([type, response.status]).toEqual([type, 413]);
      expect(await response.json()).toEqual({ message: "413 Request Entity Too Large" });
      expect(response.headers.get("connection")).toBe("close");
    }
    const fits = await small.call("POST /groups/acme/milestones", {
      as: "owner",
      json: { title: "x", description: "y".repeat(900) },
    });
    expect(fits.status).toBe(201);
    await small.dispose();
  });

  it("may be one mebibyte by default, and no more", async () => {
    const body = (bytes: number) => {
      const empty = JSON.stringify({ title: "big", description: "" });
      return JSON.stringify({ title: "big", description: "x".repeat(bytes - empty.length) });
    };
    expect((await send("application/json", body(1024 * 1024))).status).toBe(201);
    expect((await send("application/json", body(1024 * 1024 + 1))).status).toBe(413);
  });
});

/** A body of unknown length, in small chunks. */
function streamOf(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, at + 100));
      at += 100;
    },
  });
}

describe("values", () => {
  const settable = (json: object) => app.call("PUT /groups/acme", { as: "owner", json });

  it.each([true, "true", "TRUE", "1", 1, "t", "yes", "on"])("%j is true", async (sent) => {
    await settable({ request_access_enabled: false });
    const { status, json } = await settable({ request_access_enabled: sent });
    expect([status, json.request_access_enabled]).toEqual([200, true]);
  });

  it.each([false, "false", "0", 0, "f", "no", "Off"])("%j is false", async (sent) => {
    await settable({ request_access_enabled: true });
    const { status, json } = await settable({ request_access_enabled: sent });
    expect([status, json.request_access_enabled]).toEqual([200, false]);
  });

  it.each(["maybe", "2", 2, -1, "tru", " true", [], [true], {}, { a: 1 }])(
    "%j is not a boolean",
    async (sent) => {
      const { status, json } = await settable({ request_access_enabled: sent });
      expect([status, json]).toEqual([
        400,
        { message: { request_access_enabled: ["is invalid"] } },
      ]);
    },
  );

  it.each(["", null])("%j leaves a boolean alone", async (sent) => {
    await settable({ request_access_enabled: true });
    const { status, json } = await settable({ request_access_enabled: sent });
    expect([status, json.request_access_enabled]).toEqual([200, true]);
  });

  let milestone: number;
  beforeAll(async () => {
    const { json } = await app.call("POST /groups/acme/milestones", {
      as: "owner",
      json: { title: "for dates" },
    });
    milestone = json.id;
  });
  const due = (due_date: unknown) =>
    app.call(`PUT /groups/acme/milestones/${milestone}`, { as: "owner", json: { due_date } });

  it.each([
    ["2026-12-24", "2026-12-24"],
    ["2026-2-3", "2026-02-03"],
    ["2024-02-29", "2024-02-29"],
    ["0001-01-01", "0001-01-01"],
    ["9999-12-31", "9999-12-31"],
    ["", null],
    [null, null],
  ])("%j is the date %j", async (sent, expected) => {
    const { status, json } = await due(sent);
    expect([status, json.due_date]).toEqual([200, expected]);
  });

  it.each([
    "2026-02-30",
    "2025-02-29",
    "2026-13-01",
    "2026-00-01",
    "2026-01-00",
    "20260101",
    "2026-01-01T00",
    "2026-01-01T00:00:00 UTC",
    "01/02/2026",
    "today",
    "12026-01-01",
    "-2026-01-01",
    20260101,
    true,
    [],
    {},
  ])("%j is not a date", async (sent) => {
    const { status, json } = await due(sent);
    expect([status, json]).toEqual([400, { message: { due_date: ["is invalid"] } }]);
  });

  it.each([
    "99999999999999999999",
    2 ** 53,
    1e20,
    "9007199254740993",
    1.5,
    "1.5",
    "1e3",
    "0x10",
    " 1",
    "one",
    true,
    [],
    [1],
    {},
  ])("%j is not an integer", async (label_id) => {
    const { status, json } = await app.call("POST /groups/acme/boards/1/lists", {
      as: "owner",
      json: { label_id },
    });
    expect([status, json]).toEqual([400, { message: { label_id: ["is invalid"] } }]);
  });

  it.each([-1, 0, 9007199254740991, "-9007199254740991", "+7", "007"])(
    "%j is an integer, but no label's id",
    async (label_id) => {
      const { status, json } = await app.call("POST /groups/acme/boards/1/lists", {
        as: "owner",
        json: { label_id: label_id === "+7" || label_id === "007" ? `${label_id}000` : label_id },
      });
      expect([status, json]).toEqual([400, { message: { error: "Label not found!" } }]);
    },
  );

  it("come back unchanged after escaping in JSON", async () => {
    for (const description of [
      'a "b" \\ / \b\f\n\r\t',
      "\u2028\u2029\u007f\u0001",
      "<script>&amp;</script>",
      "é 新 😀 ￿",
      "x".repeat(200),
    ]) {
      const { json } = await settable({ description });
      expect(json.description).toBe(description);
    }
  });
});

describe("the order of checks", () => {
  it.each([
    // Malformed requests come first, since they may contain a token
    ["GET /user?a=%zz", {}, 400],
    // Then the caller
    ["POST /groups/acme/boards", {}, 401],
    ["POST /groups/nothing/boards", {}, 401],
    // Then the token's scope
    ["POST /groups/nothing/boards", { "private-token": "read_user" }, 403],
    // Then the parameters
    ["POST /groups/nothing/boards", TOKEN, 400],
    ["POST /groups/secret/boards", { "private-token": "token-of-stranger" }, 400],
    ["POST /groups/acme/boards", { "private-token": "token-of-guest" }, 400],
    ["POST /users", { "private-token": "token-of-owner" }, 403],
    // Then the record, then the caller's role
    ["POST /groups/nothing/boards?name=x", TOKEN, 404],
    ["POST /groups/secret/boards?name=x", { "private-token": "token-of-stranger" }, 404],
    ["POST /groups/acme/boards?name=x", { "private-token": "token-of-guest" }, 403],
  ])("%s with %j is %s", async (request, headers, expected) => {
    expect((await app.call(request, { headers })).status).toBe(expected);
  });

  it("a group changed since is 412, not deleted", async () => {
    const headers = { "if-unmodified-since": "Mon, 15 Jun 2026 11:59:59 GMT" };
    const { status, json } = await app.call("DELETE /groups/acme", { as: "owner", headers });
    expect([status, json]).toEqual([412, { message: "412 Precondition Failed" }]);
    expect((await app.call("GET /groups/acme")).status).toBe(200);
  });
});

describe("HEAD", () => {
  it.each(["/version", "/user", "/groups", "/groups/acme", "/groups/acme/boards", "/-/health"])(
    "of %s has the headers of GET, and no body",
    async (path) => {
      const get = await app.call(`GET ${path}`, { as: "owner" });
      const head = await app.call(`HEAD ${path}`, { as: "owner" });
      expect([head.status, head.text]).toEqual([200, ""]);
      const headersOf = (headers: Headers) =>
        [...headers].filter(
          ([name]) =>
            !["x-request-id", "x-gitlab-meta", "x-runtime", "content-length"].includes(name),
        );
      expect(headersOf(head.headers)).toEqual(headersOf(get.headers));
    },
  );

  it.each([
    ["/groups/nothing", 404],
    ["/nothing", 404],
    ["/user?private_token=wrong", 401],
    ["/groups?sort=up", 400],
  ])("of %s is %s without a body", async (path, status) => {
    const head = await app.call(`HEAD ${path}`);
    expect([head.status, head.text]).toEqual([status, ""]);
  });
});

describe("OPTIONS and CORS", () => {
  const ORIGIN = { origin: "https://app.example.com" };

  it("lists a path's methods, to anyone", async () => {
    for (const [path, allow] of [
      ["/groups/acme", "DELETE, GET, HEAD, OPTIONS, PUT"],
      ["/groups/secret/boards", "GET, HEAD, OPTIONS, POST"],
      ["/version", "GET, HEAD, OPTIONS"],
    ]) {
      const { status, text, headers } = await app.call(`OPTIONS ${path}`);
      expect([status, text, headers.get("allow")]).toEqual([204, "", allow]);
      expect(headers.has("access-control-allow-origin")).toBe(false);
    }
    expect((await app.call("OPTIONS /nothing")).status).toBe(404);
  });

  it("answers a preflight without authentication", async () => {
    const { status, text, headers } = await app.call("OPTIONS /groups/secret/boards", {
      headers: {
        ...ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "private-token, content-type",
      },
    });
    expect([status, text]).toEqual([204, ""]);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-allow-methods")).toBe("GET, HEAD, OPTIONS, POST");
    expect(headers.get("access-control-allow-headers")).toBe("private-token, content-type");
    expect(headers.get("access-control-max-age")).toBe("7200");
    expect(headers.has("access-control-allow-credentials")).toBe(false);
    expect(headers.get("vary")).toContain("Origin");
  });

  it("allows any header if the preflight names none", async () => {
    const { headers } = await app.call("OPTIONS /groups", { headers: ORIGIN });
    expect(headers.get("access-control-allow-headers")).toBe("*");
  });

  it("lets a page read answers and their pagination headers", async () => {
    const { status, headers } = await app.call("GET /groups?per_page=1", { headers: ORIGIN });
    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    const exposed = headers.get("access-control-expose-headers")?.split(", ");
    for (const name of [
      "Link",
      "X-Total",
      "X-Total-Pages",
      "X-Per-Page",
      "X-Page",
      "X-Next-Page",
      "X-Prev-Page",
      "ETag",
      "X-Request-Id",
      "Retry-After",
    ]) {
      expect(exposed).toContain(name);
    }
  });

  it.each([
    ["GET /user", 401],
    ["GET /nothing", 404],
    ["GET /groups/nothing", 404],
    ["GET /groups?sort=up", 400],
    ["POST /version", 405],
    ["GET /api/v3/projects", 410],
  ])("lets a page read the error of %s", async (request, expected) => {
    const { status, headers } = await app.call(request, { headers: ORIGIN });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([expected, "*"]);
  });

  it("omits its headers for requests without an origin", async () => {
    const { headers } = await app.call("GET /groups");
    expect(headers.has("access-control-allow-origin")).toBe(false);
    expect(headers.has("access-control-expose-headers")).toBe(false);
  });
});

describe("ETag", () => {
  it("295: answers 304 if the client already has the answer", async () => {
    const first = await app.call("GET /groups/acme");
    const etag = first.headers.get("etag") as string;
    expect(etag).toMatch(/^W\/"[0-9a-f]{40}"$/);
    for (const sent of [etag, etag.slice(2), `"other", ${etag}`, `${etag},"other"`, "*"]) {
      for (const method of ["GET", "HEAD"]) {
        const { status, text, headers } = await app.call(`${method} /groups/acme`, {
          headers: { "if-none-match": sent },
        });
        expect([sent, status, text]).toEqual([sent, 304, ""]);
        expect(headers.get("etag")).toBe(etag);
        expect(headers.has("content-type")).toBe(false);
        expect(headers.get("cache-control")).toBe("max-age=0, private, must-revalidate");
      }
    }
  });

  it("is the same for the same answer, and differs after a change", async () => {
    const etag = async () => (await app.call("GET /groups/acme")).headers.get("etag");
    const before = await etag();
    expect(await etag()).toBe(before);
    await app.call("PUT /groups/acme?description=changed+again", { as: "owner" });
    const after = await etag();
    expect(after).not.toBe(before);
    const { status } = await app.call("GET /groups/acme", {
      headers: { "if-none-match": String(before) },
    });
    expect(status).toBe(200);
  });

  it("is absent from errors and changes", async () => {
    for (const request of ["GET /groups/nothing", "GET /user", "PUT /groups/acme?name=Acme"]) {
      const { headers } = await app.call(request, { headers: { "if-none-match": "*" } });
      expect(headers.has("etag")).toBe(false);
    }
    const made = await app.call("POST /groups/acme/boards?name=x", {
      as: "owner",
      headers: { "if-none-match": "*" },
    });
    expect([made.status, made.headers.has("etag")]).toEqual([201, false]);
  });
});

describe("every answer", () => {
  it.each([
    ["GET /version", 200],
    ["GET /groups/acme", 200],
    ["GET /groups", 200],
    ["GET /nothing", 404],
    ["GET /groups/nothing", 404],
    ["GET /groups?sort=up", 400],
    ["POST /version", 405],
    ["OPTIONS /version", 204],
    ["GET /groups/%zz", 400],
    ["POST /groups/acme/labels?name=UX&color=%23000", 409],
    ["GET /user?private_token=wrong", 401],
    ["GET /-/avatars/a-1.svg", 200],
  ])("296: to %s has security headers for browsers", async (request, expected) => {
    const { status, headers } = await app.call(request, { headers: TOKEN });
    expect(status).toBe(expected);
    expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("max-age=0, private, must-revalidate");
    expect(headers.get("vary")).toBe("Origin");
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    if (request.includes("svg")) expect(headers.get("content-type")).toBe("image/svg+xml");
    else if (expected !== 204) expect(headers.get("content-type")).toBe("application/json");
  });

  it("has the request's id, if that is valid in headers and log lines", async () => {
    const id = async (sent?: string) => {
      const headers = sent === undefined ? undefined : { "x-request-id": sent };
      const answer = await app.call("GET /version", { ...(headers && { headers }) });
      return answer.headers.get("x-request-id");
    };
    for (const sent of ["abc-123", "a.b_c", "x".repeat(255)]) expect(await id(sent)).toBe(sent);
    for (const sent of ["", "a b", "a\tb", "x".repeat(256), "<script>", "é", "a/b"]) {
      expect(await id(sent)).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(await id()).not.toBe(await id());
  });
});

describe("conflicts", () => {
  it.each([
    ["POST /groups/acme/labels?name=UX&color=%23000", { message: "Label already exists" }],
    ["POST /groups?name=x&path=acme", { message: { path: ["has already been taken"] } }],
    ["POST /groups?name=x&path=ACME", { message: { path: ["has already been taken"] } }],
    ["POST /groups?name=x&path=guest", { message: { path: ["has already been taken"] } }],
  ])("%s is 409", async (request, body) => {
    const { status, json } = await app.call(request, { as: "owner" });
    expect([status, json]).toEqual([409, body]);
  });

  it("have one winner among concurrent requests, and a clear error for the others", async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        app.call("POST /groups/acme/labels?name=contended&color=%23000", { as: "owner" }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  });
});

describe("a malformed request", () => {
  it("is 400 if its Host is malformed", async () => {
    const reply = await app.respond({ ...plainGet, base: undefined });
    expect([reply?.status, JSON.parse(String(reply?.body))]).toEqual([
      400,
      { error: "malformed Host header" },
    ]);
  });
});

describe("an internal error", () => {
  it("is 500 without details, and is reported", async () => {
    const cause = new Error("connection to 10.0.0.1 as postgres refused");
    const fail = () => {
      throw cause;
    };
    const broken: Store = {
      // A new SQLite database would be asked for its steps first.
      dialect: "postgres",
      all: fail,
      rows: fail,
      slice: fail,
      each: fail,
      one: fail,
      reader: () => broken,
      // For migrating, the only transaction.
      transaction: (async () => []) as Store["transaction"],
      snapshot: fail,
      backup: fail,
      close: async () => undefined,
    };
    const reported: unknown[] = [];
    const entries: LogEntry[] = [];
    const failing = await createAppOn(broken, {
      background: false,
      onError: (error) => reported.push(error),
      log: (entry) => entries.push(entry),
    });
    for (const path of ["/-/readiness", "/api/v4/projects"]) {
      const response = await failing.fetch(new Request(`http://pm.test${path}`));
      expect([response.status, await response.json()]).toEqual([
        500,
        { message: "500 Internal Server Error" },
      ]);
      expect(response.headers.get("x-request-id")).toBeTruthy();
    }
    expect(reported).toEqual([cause, cause]);
    expect(entries.map(({ status }) => status)).toEqual([500, 500]);
    const healthy = await failing.fetch(new Request("http://pm.test/-/health"));
    expect(healthy.status).toBe(200);
  });
});

describe("the log", () => {
  it("has a line for each request, without secrets", async () => {
    logged.length = 0;
    await app.call("GET /user?private_token=token-of-owner", {
      headers: { "x-request-id": "id-1", authorization: "" },
    });
    await app.call("POST /groups/acme/labels?name=s3cret", { as: "guest" });
    await app.call("GET /nothing?private_token=wrong");
    await app.call("GET /groups?private_token=wrong");
    expect(logged).toEqual([
      {
        time: "2026-06-15T12:00:00.000Z",
        method: "GET",
        path: "/api/v4/user",
        status: 200,
        duration: expect.any(Number),
        ip: "",
        request_id: "id-1",
        user: "owner",
      },
      expect.objectContaining({
        method: "POST",
        path: "/api/v4/groups/acme/labels",
        status: 400,
        user: "guest",
      }),
      expect.objectContaining({ path: "/api/v4/nothing", status: 404 }),
      expect.objectContaining({ path: "/api/v4/groups", status: 401 }),
    ]);
    expect(JSON.stringify(logged)).not.toMatch(/token|wrong|s3cret/);
    for (const { duration } of logged) expect(duration).toBeGreaterThanOrEqual(0);
    for (const entry of logged.slice(2)) expect(entry).not.toHaveProperty("user");
  });
});

describe("an invalid id in a path", () => {
  const invalid: [name: string, path: string, method?: string][] = [
    ["issue_iid", "/projects/acme%2Fsite/issues/abc"],
    ["issue_iid", "/projects/acme%2Fsite/issues/1.5"],
    ["noteable_id", "/projects/acme%2Fsite/issues/abc/notes"],
    ["note_id", "/projects/acme%2Fsite/issues/1/notes/abc"],
    ["noteable_id", "/projects/acme%2Fsite/issues/abc/award_emoji"],
    ["award_id", "/projects/acme%2Fsite/issues/1/award_emoji/abc"],
    ["merge_request_iid", "/projects/acme%2Fsite/merge_requests/abc"],
    ["milestone_id", "/projects/acme%2Fsite/milestones/abc"],
    ["milestone_id", "/groups/acme/milestones/%00"],
    ["user_id", "/groups/acme/members/%00"],
    ["user_id", "/users/%00/impersonation_tokens"],
    ["milestone_id", "/groups/acme/milestones/abc/issues"],
    ["user_id", "/projects/acme%2Fsite/members/abc"],
    ["user_id", "/groups/acme/members/all/abc"],
    ["snippet_id", "/snippets/abc"],
    ["snippet_id", "/projects/acme%2Fsite/snippets/abc/raw"],
    ["user_id", "/users/abc/impersonation_tokens"],
    ["token_id", "/users/1/impersonation_tokens/abc"],
    ["application_id", "/applications/abc", "DELETE"],
    ["audit_event_id", "/audit_events/abc"],
    ["todo_id", "/todos/abc/mark_as_done", "POST"],
    ["badge_id", "/groups/acme/badges/abc"],
    ["board_id", "/groups/acme/boards/abc/lists"],
    ["list_id", "/groups/acme/boards/1/lists/abc"],
  ];
  it.each(invalid)("is 400 and names %s: %s", async (name, path, method = "GET") => {
    const { status, json } = await app.call(`${method} ${path}`, { as: "admin" });
    expect([status, json]).toEqual([400, { message: { [name]: ["is invalid"] } }]);
    // A number too large for an id is simply not found.
    const large = path.replace(/abc|1\.5|%00/, "9".repeat(40));
    expect((await app.call(`${method} ${large}`, { as: "admin" })).status).toBe(404);
  });

  it.each([
    "GET /groups/acme/boards/abc",
    "GET /projects/abc",
    "GET /groups/nobody",
    "GET /users/1abc",
    "PUT /users/abc",
    "GET /users/nobody/events",
    "GET /personal_access_tokens/abc",
    "POST /projects/acme%2Fsite/fork/abc",
    "GET /groups/acme/labels/abc",
  ])("is not found where GitLab accepts names too: %s", async (request) => {
    expect((await app.call(request, { as: "admin" })).status).toBe(404);
  });
});

describe("a format", () => {
  it.each([
    "/version.json",
    "/version?format=json",
    "/groups/acme/boards.json",
    "/groups/acme/boards.json?per_page=1",
    "/projects/acme%2Fsite/labels.json/",
    "/users/1.json",
    "/groups/acme/badges/render.json?link_url=http://a.example&image_url=http://b.example",
  ])("may be json: %s", async (path) => {
    const plain = path.replace(/\.json|\?format=json/, "");
    const { status, json } = await app.call(`GET ${path}`, { as: "admin" });
    expect([status, json]).toEqual([200, (await app.call(`GET ${plain}`, { as: "admin" })).json]);
  });

  it("may be json after a number, whatever the method", async () => {
    const site = "/projects/acme%2Fsite/issues";
    const made = await app.call(`POST ${site}.json?title=t`, { as: "owner" });
    expect(made.status).toBe(201);
    const one = `${site}/${made.json.iid}.json`;
    expect((await app.call(`GET ${one}`, { as: "owner" })).json.title).toBe("t");
    expect((await app.call(`PUT ${one}?title=u`, { as: "owner" })).json.title).toBe("u");
    expect((await app.call(`PATCH ${one}`, { as: "owner" })).status).toBe(405);
    expect((await app.call(`DELETE ${one}`, { as: "owner" })).status).toBe(204);
  });

  it.each(["/version.xml", "/version?format=xml", "/groups/acme/boards.xml", "/users/1.xml"])(
    "is 406 if it is another: %s",
    async (path) => {
      const { status, json } = await app.call(`GET ${path}`);
      const error = "The requested format 'xml' is not supported.";
      expect([status, json]).toEqual([406, { error }]);
    },
  );

  it("is not split from names, which may end in any extension", async () => {
    const as = "owner";
    await app.call("POST /groups", { as, json: { name: "Dots", path: "dots.xyz" } });
    expect((await app.call("GET /groups/dots.xyz", { as })).json.path).toBe("dots.xyz");
    expect((await app.call("GET /groups/dots", { as })).status).toBe(404);
    const label = { name: "ui.json", color: "#ffffff" };
    await app.call("POST /groups/acme/labels", { as, json: label });
    expect((await app.call("GET /groups/acme/labels/ui.json", { as })).json.name).toBe("ui.json");
    const wiki = { title: "page.json", content: "c", format: "rdoc" };
    const query = new URLSearchParams(wiki);
    await app.call(`POST /projects/acme%2Fsite/wikis?${query}`, { as });
    const page = await app.call("GET /projects/acme%2Fsite/wikis/page.json", { as });
    expect(page.json).toMatchObject({ slug: "page.json", format: "rdoc" });
    // The attachments path accepts a format, but only for POST.
    const odd = new URLSearchParams({ title: "attachments.xml", content: "c" });
    await app.call(`POST /projects/acme%2Fsite/wikis?${odd}`, { as });
    const besides = await app.call("GET /projects/acme%2Fsite/wikis/attachments.xml", { as });
    expect(besides.json.slug).toBe("attachments.xml");
    expect((await app.call("GET /projects/acme%2Fsite.json", { as })).status).toBe(404);
    expect((await app.call("GET /nothing.json", { as })).status).toBe(404);
  });
});

it("reports how long each answer took, in seconds", async () => {
  for (const request of ["GET /version", "GET /nothing", "OPTIONS /groups", "POST /groups"]) {
    const { headers } = await app.call(request);
    expect(headers.get("x-runtime")).toMatch(/^\d+\.\d{6}$/);
  }
});
