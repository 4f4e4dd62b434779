import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SECRET_KEY, type TestApp, testApp } from "../helpers.ts";

const PROJECT = "/projects/acme%2Fsite";
const URL = "https://hooks.example.invalid/in";

let app: TestApp;

beforeEach(async () => {
  app = await testApp();
});

afterEach(() => app.dispose());

const as = "maintainer";
const add = (path: string, json: object) => app.call(`POST ${path}/hooks`, { as: "admin", json });

describe("hooks of a project", () => {
  it("has GitLab's defaults, and no token", async () => {
    const { status, json } = await app.call(`POST ${PROJECT}/hooks`, {
      as,
      json: { url: URL, token: "s3cret" },
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      url: URL,
      push_events: true,
      issues_events: false,
      enable_ssl_verification: true,
      alert_status: "executable",
      disabled_until: null,
      url_variables: [],
      custom_headers: [],
      branch_filter_strategy: "wildcard",
    });
    expect(json).not.toHaveProperty("token");
    expect(json).not.toHaveProperty("subgroup_events");
    const [row] = await app.store.rows("select value from hook_secrets");
    expect(row?.[0]).toMatch(/^\$1\$/);
  });

  it.each([
    [{ url: "ftp://example.com" }, 422, { error: "Invalid url given" }],
    [{ url: "no url" }, 422, { error: "Invalid url given" }],
    [{ url: "https://{host}.example.com" }, 422, { error: "Invalid url given" }],
    [{}, 400, expect.anything()],
    [{ url: URL, token: "a\nb" }, 422, { error: "Token must not contain line breaks" }],
    [{ url: URL, custom_headers: [{ key: "Host", value: "x" }] }, 422, expect.anything()],
    [{ url: URL, custom_headers: [{ key: "X-A", value: "a\r\nB: c" }] }, 422, expect.anything()],
    [{ url: URL, url_variables: { key: "a", value: "b" } }, 400, expect.anything()],
    ...["a__b", "a.", "-a", "a1b", "a..b", "ä"].map((key): [object, number, unknown] => [
      { url: URL, url_variables: [{ key, value: "b" }] },
      422,
      { error: "Invalid url_variables given" },
    ]),
  ])("refuses %j", async (json, status, error) => {
    const answer = await app.call(`POST ${PROJECT}/hooks`, { as, json });
    expect([answer.status, answer.json]).toEqual([status, error]);
  });

  it.each([
    "http://127.0.0.1/x",
    "http://localhost:3000",
    "http://hooks.localhost",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b:1::808:808]/",
    "http://[2001::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://198.18.0.1/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://255.255.255.255/",
    "http://224.0.0.1/",
  ])("refuses the local address %s, unless an option allows it", async (url) => {
    const refused = await app.call(`POST ${PROJECT}/hooks`, { as, json: { url } });
    expect([refused.status, refused.json]).toEqual([422, { error: "Invalid url given" }]);
    const open = await app.another({ webhooks: { allowLocalRequests: true } });
    expect((await open.call(`POST ${PROJECT}/hooks`, { as, json: { url } })).status).toBe(201);
    await open.close();
  });

  it("accepts public addresses", async () => {
    for (const url of [
      "http://1.1.1.1/",
      "https://[2606:4700::1111]/",
      "https://[64:ff9b::1.1.1.1]/",
      "https://[2002:101:101::1]/",
      "http://example.com",
    ]) {
      expect((await app.call(`POST ${PROJECT}/hooks`, { as, json: { url } })).status).toBe(201);
    }
  });

  it("changes what is given, and keeps the rest", async () => {
    const { json: hook } = await add(PROJECT, { url: URL, issues_events: true, name: "Ours" });
    const path = `${PROJECT}/hooks/${hook.id}`;
    const changed = await app.call(`PUT ${path}`, { as, json: { note_events: true } });
    expect(changed.json).toMatchObject({
      push_events: true,
      issues_events: true,
      note_events: true,
      name: "Ours",
    });
    expect((await app.call(`PUT ${path}`, { as, json: {} })).json).toEqual({
      error: "No parameters provided",
    });
    expect((await app.call(`PUT ${path}`, { as, json: { url: "ftp://a" } })).status).toBe(422);
    expect((await app.call(`GET ${path}`, { as })).json).toEqual(changed.json);
    expect((await app.call(`GET ${PROJECT}/hooks`, { as })).json).toEqual([changed.json]);
    expect((await app.call(`DELETE ${path}`, { as })).status).toBe(204);
    expect((await app.call(`DELETE ${path}`, { as })).status).toBe(404);
    expect((await app.call(`PUT ${path}`, { as, json: { url: URL } })).status).toBe(404);
  });

  it("refuses filters that no branch can fit", async () => {
    const { json: hook } = await add(PROJECT, { url: URL, push_events_branch_filter: "a/*" });
    const change = async (json: object) => {
      const changed = await app.call(`PUT ${PROJECT}/hooks/${hook.id}`, { as, json });
      return [changed.status, changed.json.error ?? changed.json.push_events_branch_filter];
    };
    const refused = [422, "Invalid branch filter given"];
    expect(await change({ push_events_branch_filter: "~badbranchname/" })).toEqual(refused);
    expect(await change({ branch_filter_strategy: "regex" })).toEqual([200, "a/*"]);
    expect(await change({ push_events_branch_filter: "(" })).toEqual(refused);
    expect(await change({ push_events_branch_filter: "^a~" })).toEqual([200, "^a~"]);
    expect(await change({ branch_filter_strategy: "wildcard" })).toEqual(refused);
    expect(await change({ push_events_branch_filter: "" })).toEqual([200, null]);
    const json = { url: URL, push_events_branch_filter: "~badbranchname/" };
    expect((await add(PROJECT, json)).status).toBe(422);
  });

  it("shows the names of headers and variables, never their values", async () => {
    const { json: hook } = await add(PROJECT, {
      url: "https://hooks.example.invalid/{key}",
      url_variables: [{ key: "key", value: "k1" }],
      custom_headers: [{ key: "X-B", value: "b" }],
    });
    const path = `${PROJECT}/hooks/${hook.id}`;
    const put = (rest: string) => app.call(`PUT ${path}/${rest}`, { as, json: { value: "a" } });
    expect((await put("custom_headers/X-A")).status).toBe(204);
    expect((await put("url_variables/other")).status).toBe(204);
    expect((await put("custom_headers/X-Gitlab-Token")).status).toBe(422);
    const { json, text } = await app.call(`GET ${path}`, { as });
    expect(json.custom_headers).toEqual([{ key: "X-A" }, { key: "X-B" }]);
    expect(json.url_variables).toEqual([{ key: "key" }, { key: "other" }]);
    expect(text).not.toContain("k1");
    const remove = () => app.call(`DELETE ${path}/custom_headers/X-A`, { as });
    expect((await remove()).status).toBe(204);
    expect((await remove()).status).toBe(404);
  });

  it("forgets its secrets when it gets another URL", async () => {
    const { json: hook } = await add(PROJECT, {
      url: URL,
      token: "s3cret",
      custom_headers: [{ key: "X-A", value: "a" }],
    });
    const path = `PUT ${PROJECT}/hooks/${hook.id}`;
    const count = async () =>
      Number((await app.store.rows("select count(*) from hook_secrets"))[0]?.[0]);
    await app.call(path, { as, json: { url: URL, name: "The same" } });
    expect(await count()).toBe(2);
    await app.call(path, { as, json: { url: "https://elsewhere.example.invalid", token: "new" } });
    expect(await count()).toBe(1);
  });

  it("has its secrets encrypted again when the key changes", async () => {
    await add(PROJECT, { url: URL, token: "s3cret", custom_headers: [{ key: "X-A", value: "a" }] });
    const other = await app.another({ secretKey: `${"11".repeat(32)},${SECRET_KEY}` });
    expect(await other.admin.secrets.rotate()).toMatchObject({ secrets: 2 });
    expect(await other.admin.secrets.check()).toMatchObject({ secrets: 2, outdated: 0 });
    await other.close();
  });

  it("are a hundred at most", async () => {
    for (let made = 0; made < 100; made += 1) await add(PROJECT, { url: URL });
    expect((await add(PROJECT, { url: URL })).status).toBe(422);
  });

  it("are found only where they belong", async () => {
    const { json: hook } = await add(PROJECT, { url: URL });
    const elsewhere = `GET /projects/secret%2Fvault/hooks/${hook.id}`;
    expect((await app.call(elsewhere, { as: "admin" })).status).toBe(404);
    expect((await app.call(`GET /hooks/${hook.id}`, { as: "admin" })).status).toBe(404);
    expect((await app.call(`GET ${PROJECT}/hooks`, { as: "developer" })).status).toBe(403);
    expect((await app.call(`GET ${PROJECT}/hooks`)).status).toBe(401);
  });
});

describe("other hooks", () => {
  it("belong to groups, for owners", async () => {
    const { status, json } = await app.call("POST /groups/acme/hooks", {
      as: "owner",
      json: { url: URL, subgroup_events: true },
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({ push_events: true, subgroup_events: true });
    expect((await app.call("GET /groups/acme/hooks", { as })).status).toBe(403);
  });

  it("belong to the instance, for administrators", async () => {
    const { json } = await add("", { url: URL });
    expect(json).toMatchObject({ push_events: false, repository_update_events: true });
    expect(json).not.toHaveProperty("issues_events");
    expect((await app.call("GET /hooks", { as: "owner" })).status).toBe(403);
    expect((await app.call(`DELETE /hooks/${json.id}`, { as: "admin" })).status).toBe(204);
  });
});

describe("what hooks are told", () => {
  const told = () =>
    app.store.rows(
      `select d.hook_id, d.kind, d.data from hook_deliveries d
       join outbox o on o.payload = '{"delivery":' || d.id || '}' and o.order_key = d.hook_id
       where o.worker = 'hooks' order by o.id`,
    );

  it("is queued with the change, for the hooks that listen", async () => {
    const { json: ours } = await add(PROJECT, { url: URL, issues_events: true });
    const { json: above } = await add("/groups/acme", { url: URL, issues_events: true });
    await add(PROJECT, { url: URL });
    await add("/groups/secret", { url: URL, issues_events: true });
    await add("", { url: URL, push_events: true });
    const json = { title: "Broken" };
    const { json: issue } = await app.call(`POST ${PROJECT}/issues`, { as, json });
    const data = expect.stringContaining(`"id":${issue.id},"action":"open"`);
    expect(await told()).toEqual([
      [ours.id, "issue", data],
      [above.id, "issue", data],
    ]);
  });

  it("leaves out hooks that were called in the same chain", async () => {
    await add(PROJECT, { url: URL, issues_events: true });
    const headers = { "x-gitlab-event-uuid": "13792a34-cac6-4fda-95a8-c58e00a3954e" };
    for (const title of ["One", "Two"]) {
      await app.call(`POST ${PROJECT}/issues`, { as, json: { title }, headers });
    }
    expect(await told()).toHaveLength(1);
  });

  it("is nothing if the change is refused", async () => {
    await add(PROJECT, { url: URL, issues_events: true });
    const refused = await app.call(`POST ${PROJECT}/issues`, { as, json: { title: " " } });
    expect(refused.status).toBe(400);
    expect(await told()).toEqual([]);
  });
});
