import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

const seed = {
  users: [
    {
      username: "root",
      name: "Root",
      admin: true,
      email: "root@example.com",
      tokens: [{ token: "roots" }],
    },
    { username: "ada", name: "Ada", email: "ada@example.com", tokens: [{ token: "adas" }] },
  ],
  groups: [
    {
      path: "acme",
      members: { root: "owner" as const, ada: "maintainer" as const },
      projects: [{ path: "site" }],
    },
  ],
};
const SITE = "/projects/acme%2Fsite";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ seed, now: "2026-01-01T00:00:00Z" });
});
afterEach(() => server.close());

const issue = (title: string, assignee = 2) =>
  ask(server, "POST", `${SITE}/issues`, {
    title,
    description: "All of it",
    assignee_ids: [assignee],
  });

describe("mails", () => {
  it("are kept instead of sent, with what they are about", async () => {
    await issue("Print it");
    const { status, headers, json } = await tell(server, "GET", "mails");
    expect(status).toBe(200);
    expect(headers.get("x-dropped")).toBe("0");
    expect(json).toEqual([
      {
        id: 1,
        to: "ada@example.com",
        from: "GitLab <gitlab@localhost>",
        subject: "acme/site | Print it (#1)",
        text: expect.stringContaining(`${server.url}/acme/site/-/issues/1\n`),
        html: expect.stringContaining(`<a href="${server.url}/acme/site/-/issues/1">`),
        headers: expect.objectContaining({
          "Message-ID": expect.any(String),
          "X-PM-Reason": "participating",
        }),
        about: "acme/site#1",
        time: "2026-01-01T00:00:00.000Z",
      },
    ]);
    expect(await server.mails.list()).toEqual(json);
    await ask({ ...server, token: "adas" }, "POST", `${SITE}/issues/1/notes`, { body: "Done" });
    const [, second] = await server.mails.list();
    expect(second).toMatchObject({
      to: "root@example.com",
      subject: "Re: acme/site | Print it (#1)",
    });
    expect(second?.headers["In-Reply-To"]).toMatch(/^<issue-/);
    expect((await tell(server, "DELETE", "mails")).status).toBe(204);
    expect(await server.mails.list()).toEqual([]);
  });

  it("are found and waited for", async () => {
    const soon = tell(server, "GET", "mails/wait?to=ada@*&subject=*Later*&timeout=10000");
    await issue("Now");
    await issue("Later");
    expect(await soon).toMatchObject({ status: 200, json: { about: "acme/site#2" } });
    const { json } = await tell(server, "GET", "mails?about=acme/site%231");
    expect(json).toMatchObject([{ subject: "acme/site | Now (#1)" }]);
    const late = await tell(server, "GET", "mails/wait?to=eve@example.com&timeout=1");
    expect(late.status).toBe(408);
    expect(late.json.message).toBe(
      "No such mail within 1 ms, instead of it: to ada@example.com: acme/site | Now (#1); " +
        "to ada@example.com: acme/site | Later (#2)",
    );
    expect((await tell(server, "GET", "mails?two=x")).status).toBe(400);
  });

  it("are made again after a reset, and long after the start", async () => {
    await issue("One");
    expect(await server.mails.list()).toHaveLength(1);
    await server.reset();
    expect(await server.mails.list()).toEqual([]);
    server.clock.set("2027-01-01T00:00:00Z");
    await issue("Two");
    expect(await server.mails.list()).toMatchObject([{ id: 1, about: "acme/site#1" }]);
  });

  it("invite who has no account", async () => {
    await ask(server, "POST", `${SITE}/invitations`, {
      email: "new@example.com",
      access_level: 30,
    });
    expect(await server.mails.list({ about: "invitation" })).toMatchObject([
      { to: "new@example.com" },
    ]);
  });
});

/** A receiver of webhooks. */
async function receive(status = 200) {
  const received: { headers: IncomingMessage["headers"]; body: string }[] = [];
  const receiver = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk) => {
      body += chunk;
    });
    req.on("end", () => {
      received.push({ headers: req.headers, body });
      res.writeHead(status).end("thanks");
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => receiver.once("listening", resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  return { url, received, close: () => receiver.close() };
}

describe("webhooks", () => {
  const hook = (url: string) =>
    ask(server, "POST", `${SITE}/hooks`, { url, token: "hush", issues_events: true });

  it("are called, and what they were sent is listed without secrets", async () => {
    const { url, received, close } = await receive();
    await hook(`${url}?secret=hush`);
    await issue("One");
    const { status, json } = await tell(server, "GET", "hooks/wait?event=Issue*&timeout=10000");
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: 1,
      hook: 1,
      project: "acme/site",
      event: "Issue Hook",
      trigger: "issues_events",
      headers: { "X-Gitlab-Event": "Issue Hook", "X-Gitlab-Token": "[REDACTED]" },
      payload: { object_attributes: { title: "One" } },
      sent: true,
      status: 200,
      answer: "thanks",
      time: "2026-01-01T00:00:00.000Z",
    });
    expect(JSON.stringify(json)).not.toContain("hush");
    expect(received[0]?.headers["x-gitlab-token"]).toBe("hush");
    expect((await tell(server, "GET", "hooks?status=500")).json).toEqual([]);
    expect((await tell(server, "GET", "hooks?project=acme/*")).json).toHaveLength(1);
    const late = await tell(server, "GET", "hooks/wait?event=Push+Hook&timeout=1");
    expect(late.json.message).toMatch(
      /^No such call of a webhook within 1 ms, instead of it: Issue Hook to http/,
    );
    expect((await tell(server, "DELETE", "hooks")).status).toBe(204);
    expect((await tell(server, "GET", "hooks")).json).toEqual([]);
    close();
  });

  it("are not called if the calls are only kept, which count as accepted", async () => {
    const kept = await startTestServer({ seed, webhooks: "keep" });
    const { json: made } = await ask(kept, "POST", `${SITE}/hooks`, {
      url: "https://ci.example.com/hook",
      issues_events: true,
    });
    await ask(kept, "POST", `${SITE}/issues`, { title: "One" });
    const [call] = await kept.hooks.list();
    expect(call).toMatchObject({ event: "Issue Hook", sent: false, status: null });
    const log = await ask(kept, "GET", `${SITE}/hooks/${made.id}/events`);
    expect(log.json).toMatchObject([{ response_status: "200" }]);
    expect((await ask(kept, "POST", `${SITE}/hooks/${made.id}/test/issues_events`)).status).toBe(
      201,
    );
    expect(await kept.hooks.list()).toHaveLength(2);
    await kept.close();
  });

  it("are kept from an order on, until the next reset", async () => {
    const { url, received, close } = await receive();
    expect((await tell(server, "PUT", "hooks", { deliver: false })).json).toEqual({
      deliver: false,
    });
    await hook(url);
    await issue("One");
    expect(await server.hooks.list()).toMatchObject([{ sent: false }]);
    expect((await tell(server, "PUT", "hooks", { deliver: true })).status).toBe(200);
    await issue("Two");
    await server.hooks.wait({ status: 200 });
    expect(received).toHaveLength(1);
    await tell(server, "PUT", "hooks", { deliver: false });
    await server.reset();
    expect(server.hooks.deliver).toBe(true);
    expect(await server.hooks.list()).toEqual([]);
    expect((await tell(server, "PUT", "hooks", { deliver: "no" })).status).toBe(400);
    close();
  });
});
