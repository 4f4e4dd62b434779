import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sendFrom, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const LABELS = "http://pm.test/api/v4/groups/acme/labels";

/** Sends a body generated while it is read; returns how much of it was read. */
async function sendStream(headers: Record<string, string>, query = "", url = LABELS) {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulled += 1;
        if (pulled > 1000) controller.close();
        else controller.enqueue(new Uint8Array(16 * 1024).fill(0x20));
      },
    },
    { highWaterMark: 0 },
  );
  const init = { method: "POST", body, duplex: "half", headers };
  const response = await sendFrom(app, "", new Request(url + query, init as RequestInit));
  return { status: response.status, text: await response.text(), pulled };
}

const JSON_TYPE = { "content-type": "application/json" };

describe("a body", () => {
  it.each([
    ["an unknown token", { "private-token": "no token" }, "", 401],
    ["an unknown token in the query", {}, "?private_token=no-token", 401],
    ["an unknown bearer token", { authorization: "Bearer no-token" }, "", 401],
    ["a blocked user's token", { "private-token": "token-of-blocked" }, "", 403],
  ])("behind %s is not read", async (_, headers, query, status) => {
    const answer = await sendStream({ ...JSON_TYPE, ...headers }, query);
    expect([answer.status, answer.pulled]).toEqual([status, 0]);
  });

  it("of an administrators-only request is not read for other callers", async () => {
    const headers = { ...JSON_TYPE, "private-token": "token-of-owner" };
    const answer = await sendStream(headers, "", "http://pm.test/api/v4/users");
    expect([answer.status, answer.pulled]).toEqual([403, 0]);
  });

  it("of an anonymous caller is read up to 64 KiB, since it may contain a token", async () => {
    expect((await sendStream(JSON_TYPE)).status).toBe(401);
    const small = { name: "from the body", color: "#123456", private_token: "token-of-owner" };
    expect((await app.call("POST /groups/acme/labels", { json: small })).status).toBe(201);
    const description = "x".repeat(100_000);
    const large = { ...small, name: "large", description };
    expect((await app.call("POST /groups/acme/labels", { json: large })).status).toBe(401);
    const token = "?private_token=token-of-owner";
    const json = { ...large, private_token: undefined, description: "x".repeat(1000) };
    expect((await app.call(`POST /groups/acme/labels${token}`, { json })).status).toBe(201);
  });

  it.each([
    ["application/json", "{"],
    ["application/json", "[".repeat(60_000)],
    ["text/plain", "x"],
    ["multipart/form-data", "x"],
  ])("of an anonymous caller is 401 if malformed: %s", async (type, body) => {
    const headers = { "content-type": type };
    expect((await app.call("POST /groups/acme/labels", { headers, body })).status).toBe(401);
  });

  it.each([
    ["application/json, application/json; charset=utf-8", '{"name":"NAME","color":"#123456"}'],
    ["application/json;charset=utf-8,application/json", '{"name":"NAME","color":"#123456"}'],
    ["application/x-www-form-urlencoded, text/plain", "name=NAME&color=%23123456"],
  ])("is of the first type if the header was set twice: %s", async (type, body) => {
    const headers = { "content-type": type };
    const name = `Of ${type.length}`;
    const sent = { as: "owner", headers, body: body.replace("NAME", name) } as const;
    const { status, json } = await app.call("POST /groups/acme/labels", sent);
    expect([status, json.name]).toEqual([201, name]);
    const query = { headers, body: '{"query":"{ echo(text: \\"hi\\") }"}' };
    if (type.startsWith("application/json")) {
      const { status, text } = await app.call("POST http://pm.test/api/graphql", query);
      expect([status, text]).toEqual([200, expect.stringContaining("hi")]);
    }
  });

  it("decides the caller if it contains a token that takes precedence over the header's", async () => {
    const headers = { "private-token": "token-of-owner" };
    const form = { name: "x", color: "#123456", private_token: "no token" };
    expect((await app.call("POST /groups/acme/labels", { headers, form })).status).toBe(401);
  });

  it("of deeply nested JSON is cheap", async () => {
    for (const body of ["[".repeat(1_000_000), '{"a":'.repeat(200_000), '"\\\\'.repeat(300_000)]) {
      const headers = JSON_TYPE;
      const { status } = await app.call("POST /groups/acme/labels", { as: "owner", headers, body });
      expect(status).toBe(400);
    }
    const json = { name: '[[[["{'.repeat(8), color: "#123456" };
    expect((await app.call("POST /groups/acme/labels", { as: "owner", json })).status).toBe(201);
  });

  it("of many files is refused before they cost as many writes", async () => {
    const body = new FormData();
    for (let at = 0; at < 40; at += 1) body.append("file", new Blob(["x"]), `${at}.txt`);
    const path = "POST /projects/secret%2Fvault/wikis/attachments";
    app.statements.length = 0;
    expect((await app.call(path, { as: "owner", body })).status).toBe(400);
    expect(app.statements.length).toBeLessThan(100);
    const rows = await app.store.rows("select count(*) from stored_files");
    expect(rows).toEqual([[0]]);
  });
});

describe("many requests from one address", () => {
  const ip = "203.0.113.7";
  const request = (path: string, init: RequestInit = {}) =>
    new Request(`http://pm.test${path}`, {
      headers: { "private-token": "token-of-owner" },
      ...init,
    });

  it("queue up to a limit, and don't delay other clients", async () => {
    let answered = 0;
    const sent = Array.from({ length: 1100 }, async (_, at) => {
      const path = `/api/v4/groups/acme/labels?name=many-${at}&color=%23123456`;
      const response = await sendFrom(app, ip, request(path, { method: "POST" }));
      answered += 1;
      return response;
    });
    const waiting = () => 1100 - answered;
    expect((await sendFrom(app, ip, request("/-/health"))).status).toBe(200);
    expect(waiting()).toBeGreaterThan(150);
    const other = request("/api/v4/groups/acme/labels?name=other&color=%23123456", {
      method: "POST",
    });
    expect((await sendFrom(app, "203.0.113.8", other)).status).toBe(201);
    expect(waiting()).toBeGreaterThan(50);
    const responses = await Promise.all(sent);
    const statuses = responses.map(({ status }) => status);
    // 8 run and 1024 wait, and each one answered while the others came made room for one more.
    const accepted = statuses.filter((status) => status === 201).length;
    expect(accepted).toBeGreaterThanOrEqual(1032);
    expect(accepted).toBeLessThan(1050);
    const refused = responses.filter(({ status }) => status !== 201);
    for (const { status, headers } of refused) {
      expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    }
    // All accepted requests have finished.
    expect((await sendFrom(app, ip, request("/api/v4/user"))).status).toBe(200);
  });
});
