import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestApp, testApp, waitFor } from "../helpers.ts";
import { type Receiver, startReceiver } from "./_receiver.ts";

const PROJECT = "/projects/acme%2Fsite";

let app: TestApp;
let receiver: Receiver;

beforeEach(async () => {
  receiver = await startReceiver();
  app = await testApp({ webhooks: { deliver: true, allowLocalRequests: true, interval: 10 } });
});

afterEach(async () => {
  await app.dispose();
  await receiver.close();
});

const as = "maintainer";

/** Adds a hook that listens for these events only. */
async function listen(path: string, events: readonly string[], more: object = {}) {
  const json = {
    url: `${receiver.url}/in`,
    push_events: false,
    ...Object.fromEntries(events.map((event) => [`${event}_events`, true])),
    ...more,
  };
  const added = await app.call(`POST ${path}/hooks`, { as: "admin", json });
  expect(added.status).toBe(201);
  return added.json;
}

const call = async (request: string, json: object) => {
  const answer = await app.call(request, { as, json });
  expect(answer.status).toBeLessThan(300);
  return answer.json;
};

/** The next request that the receiver has got and no test has seen. */
async function next() {
  await waitFor(async () => receiver.received.length > 0);
  return receiver.received.shift() as Receiver["received"][number];
}

const outbox = async () =>
  Number((await app.store.rows("select count(*) from outbox where worker = 'hooks'"))[0]?.[0]);

/** Everything that the tables of hooks have, as text. */
async function stored(): Promise<string> {
  const tables = ["hooks", "hook_secrets", "hook_deliveries"];
  const rows = await Promise.all(tables.map((name) => app.store.rows(`select * from ${name}`)));
  return JSON.stringify(rows);
}

describe("secrets in a URL", () => {
  const SECRET = "s3cret-of-the-receiver";

  it("are stored encrypted, sent, and shown to maintainers, but not in the log", async () => {
    const url = `${receiver.url.replace("//", `//ann:${SECRET}@`)}/in?${SECRET}&token=${SECRET}&to={room}`;
    const variables = { url_variables: [{ key: "room", value: SECRET }] };
    const hook = await listen(PROJECT, ["issues"], { url, ...variables });
    expect(hook.url).toBe(url);
    await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    const { path, headers } = await next();
    expect(path).toBe(`/in?${SECRET}&token=${SECRET}&to=${SECRET}`);
    expect(headers["authorization"]).toBe(
      `Basic ${Buffer.from(`ann:${SECRET}`).toString("base64")}`,
    );
    await waitFor(async () => (await outbox()) === 0);
    expect(await stored()).not.toContain(SECRET);
    const shown = async (request: string) => (await app.call(request, { as })).json;
    expect((await shown(`GET ${PROJECT}/hooks/${hook.id}`)).url).toBe(url);
    expect((await shown(`GET ${PROJECT}/hooks`))[0].url).toBe(url);
    const [logged] = await shown(`GET ${PROJECT}/hooks/${hook.id}/events`);
    expect(logged.url).toBe(
      `${receiver.url.replace("//", "//*****@")}/in?*****&token=*****&to={room}`,
    );
  });

  it("stay until the hook gets another URL", async () => {
    const url = `${receiver.url}/in?token=${SECRET}`;
    const variables = { url_variables: [{ key: "room", value: "r" }] };
    const hook = await listen(PROJECT, ["issues"], { url, ...variables });
    const change = (json: object) => call(`PUT ${PROJECT}/hooks/${hook.id}`, json);
    expect((await change({ name: "n" })).url).toBe(url);
    // The same URL is no other, so the secrets of the hook stay.
    expect(await change({ url })).toMatchObject({ url, url_variables: [{ key: "room" }] });
    const plain = `${receiver.url}/plain`;
    expect(await change({ url: plain })).toMatchObject({ url: plain, url_variables: [] });
    expect(await app.store.rows("select kind from hook_secrets")).toEqual([]);
    expect((await change({ url: `${plain}?a=b` })).url).toBe(`${plain}?a=b`);
  });

  it("that an earlier version stored are encrypted when the application starts", async () => {
    const url = `${receiver.url}/in?token=${SECRET}`;
    const { id } = await listen(PROJECT, ["issues"], { url });
    await app.store.transaction((db) =>
      db.run("update hook_secrets set value = ? where kind = 'url'", [url]),
    );
    expect(await stored()).toContain(SECRET);
    const other = await app.another();
    expect(await stored()).not.toContain(SECRET);
    const { json } = await other.call(`GET ${PROJECT}/hooks/${id}`, { as });
    expect(json.url).toBe(url);
    await other.close();
  });
});

describe("a delivery", () => {
  it("has GitLab's headers and the token, and is told nothing else", async () => {
    await listen(PROJECT, ["issues"], {
      token: "s3cret",
      custom_headers: [{ key: "X-Own", value: "mine" }],
      url: `${receiver.url}/{place}?a=1`,
      url_variables: [{ key: "place", value: "hidden" }],
    });
    const issue = await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    const { path, headers, json } = await next();
    expect(path).toBe("/hidden?a=1");
    const uuid = expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "GitLab/18.5.0-ee",
      "x-gitlab-event": "Issue Hook",
      "x-gitlab-token": "s3cret",
      "x-gitlab-instance": "http://pm.test",
      "x-gitlab-webhook-uuid": uuid,
      "x-gitlab-event-uuid": uuid,
      "idempotency-key": uuid,
      "x-own": "mine",
    });
    expect(json).toMatchObject({
      object_kind: "issue",
      event_type: "issue",
      user: { username: as, email: "[REDACTED]" },
      project: { path_with_namespace: "acme/site", web_url: "http://pm.test/acme/site" },
      object_attributes: {
        id: issue.id,
        iid: issue.iid,
        title: "Broken",
        state: "opened",
        action: "open",
        url: "http://pm.test/acme/site/-/issues/1",
      },
      labels: [],
      changes: {},
      repository: { name: "Site", homepage: "http://pm.test/acme/site" },
    });
    await waitFor(async () => (await outbox()) === 0);
    expect(receiver.received).toEqual([]);
  });

  it("has the form of the hook's template, unless that makes it too long", async () => {
    const write = async (template: string) => {
      const hook = await listen(PROJECT, ["issues"], { custom_webhook_template: template });
      await call(`POST ${PROJECT}/issues`, { title: 'A "bug"', description: "x".repeat(100_000) });
      const { json } = await next();
      await app.call(`DELETE ${PROJECT}/hooks/${hook.id}`, { as });
      return json;
    };
    const title = "{{object_attributes.title}}";
    expect(await write(`{ "text": "New: ${title}", "none": {{a.b}} }`)).toEqual({
      text: 'New: A "bug"',
      none: null,
    });
    const long = "{{object_attributes.description}}".repeat(100);
    expect(await write(`{ "text": "${long}" }`)).toMatchObject({ object_kind: "issue" });
  });

  it("is repeated until it is accepted, with the same key and in order", async () => {
    await listen(PROJECT, ["issues"]);
    let calls = 0;
    receiver.answer = () => (++calls % 3 === 0 ? 500 : 200);
    for (let number = 1; number <= 12; number += 1) {
      await call(`POST ${PROJECT}/issues`, { title: `Issue ${number}` });
    }
    await waitFor(async () => (await outbox()) === 0);
    const numbers = receiver.received.map(({ json }) => json.object_attributes.iid);
    expect(numbers).toEqual([1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 9, 10, 11, 11, 12]);
    const keys = receiver.received.map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(12);
    expect(keys[2]).toBe(keys[3]);
  });

  it("goes to a hook whatever others do", async () => {
    await listen(PROJECT, ["issues"], { url: "http://127.0.0.1:1/closed" });
    await listen(PROJECT, ["issues"]);
    await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    expect((await next()).json.object_kind).toBe("issue");
  });

  it("does not follow redirects, which count as accepted", async () => {
    await listen(PROJECT, ["issues"]);
    receiver.answer = () => 302;
    await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    await waitFor(async () => (await outbox()) === 0);
    expect(receiver.received).toHaveLength(1);
  });

  it("does not reach local addresses, even if a hook was saved with one", async () => {
    const hook = await listen(PROJECT, ["issues"]);
    await app.close();
    const strict = await app.another({ webhooks: { deliver: true, interval: 10 } });
    const json = { title: "Broken" };
    expect((await strict.call(`POST ${PROJECT}/issues`, { as, json })).status).toBe(201);
    const shown = () => strict.call(`GET ${PROJECT}/hooks/${hook.id}`, { as });
    await waitFor(async () => (await shown()).json.alert_status === "temporarily_disabled");
    await strict.close();
    expect(receiver.received).toEqual([]);
  });
});

describe("a hook that keeps failing", () => {
  it("is left alone for a while after four failures", async () => {
    const hook = await listen(PROJECT, ["issues"]);
    receiver.answer = () => 500;
    await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    const shown = () => app.call(`GET ${PROJECT}/hooks/${hook.id}`, { as });
    await waitFor(async () => (await shown()).json.alert_status === "temporarily_disabled");
    expect((await shown()).json.disabled_until).toMatch(/Z$/);
    expect(receiver.received).toHaveLength(4);
  });

  it("is switched off after forty, and is told nothing more", async () => {
    const hook = await listen(PROJECT, ["issues"]);
    await app.store.transaction((db) => db.run("update hooks set failures = 39"));
    receiver.answer = () => 500;
    await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    const { json } = await app.call(`GET ${PROJECT}/hooks/${hook.id}`, { as });
    expect(json.alert_status).toBeDefined();
    await waitFor(async () => {
      const now = await app.call(`GET ${PROJECT}/hooks/${hook.id}`, { as });
      return now.json.alert_status === "disabled";
    });
    await call(`POST ${PROJECT}/issues`, { title: "Broken again" });
    expect(await outbox()).toBe(1);
    expect(receiver.received).toHaveLength(1);
  });
});

describe("by hand", () => {
  const log = async (hook: { id: number }, query = "") =>
    (await app.call(`GET ${PROJECT}/hooks/${hook.id}/events${query}`, { as })).json;

  it("the log shows what was sent and answered, without secrets", async () => {
    const hook = await listen(PROJECT, ["issues"], { token: "s3cret" });
    const issue = await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    await waitFor(async () => (await log(hook)).length > 0);
    const [entry] = await log(hook);
    expect(entry).toMatchObject({
      url: hook.url,
      trigger: "issues_events",
      request_headers: { "X-Gitlab-Event": "Issue Hook", "X-Gitlab-Token": "[REDACTED]" },
      request_data: { object_attributes: { id: issue.id } },
      response_headers: { "x-answer": "yes" },
      response_body: "Thanks",
      response_status: "200",
    });
    expect(await log(hook, "?status=successful")).toHaveLength(1);
    expect(await log(hook, "?status=server_failure")).toEqual([]);
  });

  it("a hook is tried out with the newest record", async () => {
    const hook = await listen(PROJECT, []);
    const test = (trigger: string) =>
      app.call(`POST ${PROJECT}/hooks/${hook.id}/test/${trigger}`, { as });
    const without = await test("issues_events");
    expect([without.status, without.json]).toEqual([
      422,
      { message: "Ensure the project has issues." },
    ]);
    await call(`POST ${PROJECT}/issues`, { title: "Broken" });
    const tested = await test("issues_events");
    expect([tested.status, tested.json]).toEqual([201, { message: "201 Created" }]);
    expect((await next()).json.object_attributes.title).toBe("Broken");
    receiver.answer = () => 500;
    const failed = await test("issues_events");
    expect([failed.status, failed.json]).toEqual([422, { message: "the receiver answered 500" }]);
    expect(
      (await log(hook)).map((one: { response_status: string }) => one.response_status),
    ).toEqual(["200"]);
    expect((await test("no_events")).status).toBe(400);
  });

  it("what failed is sent again, and a hook that answers is called again at once", async () => {
    const hook = await listen(PROJECT, ["issues"]);
    receiver.answer = () => 500;
    for (const title of ["One", "Two"]) await call(`POST ${PROJECT}/issues`, { title });
    const shown = async () => (await app.call(`GET ${PROJECT}/hooks/${hook.id}`, { as })).json;
    await waitFor(async () => (await shown()).alert_status === "temporarily_disabled");
    receiver.answer = () => 200;
    receiver.received.length = 0;
    const [entry] = await log(hook);
    const path = `POST ${PROJECT}/hooks/${hook.id}/events/${entry.id}/resend`;
    const again = await app.call(path, { as });
    expect([again.status, again.json]).toEqual([201, { response_status: 200 }]);
    await waitFor(async () => (await outbox()) === 0);
    expect(receiver.received.map(({ json }) => json.object_attributes.title)).toEqual([
      "One",
      "Two",
    ]);
    expect((await shown()).alert_status).toBe("executable");
    const unknown = `POST ${PROJECT}/hooks/${hook.id}/events/999/resend`;
    expect((await app.call(unknown, { as })).status).toBe(404);
  });

  it("the log goes back a week, and ends with the hook", async () => {
    const [old, recent] = [await listen(PROJECT, []), await listen(PROJECT, [])];
    for (const { id } of [old, recent]) {
      await app.call(`POST ${PROJECT}/issues`, { as, json: { title: "Broken" } });
      await app.call(`POST ${PROJECT}/hooks/${id}/test/issues_events`, { as });
    }
    const entries = async () =>
      Number((await app.store.rows("select count(*) from hook_deliveries"))[0]?.[0]);
    const week = 7 * 86_400_000;
    await app.store.transaction((db) =>
      db.run("update hook_deliveries set created_at = created_at - ? where hook_id = ?", [
        week + 1,
        old.id,
      ]),
    );
    await app.admin.maintenance.sweepDaily();
    expect(await log(old)).toEqual([]);
    expect(await log(recent)).toHaveLength(1);
    await app.call(`DELETE ${PROJECT}/hooks/${recent.id}`, { as });
    await app.store.transaction((db) => db.run("delete from jobs"));
    await app.admin.maintenance.sweepDaily();
    expect(await entries()).toBe(0);
  });

  it("a hook of the instance is tried out with an example", async () => {
    const hook = await listen("", []);
    const { status, json } = await app.call(`POST /hooks/${hook.id}`, { as: "admin" });
    expect([status, json.event_name]).toEqual([201, "project_create"]);
    const { headers, json: sent } = await next();
    expect([headers["x-gitlab-event"], sent]).toEqual(["System Hook", json]);
  });
});
