import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ now: "2026-01-01T00:00:00Z" });
});
afterEach(() => server.close());

const label = { name: "new", color: "#ff0000" };

describe("requests", () => {
  it("are kept with their answers and with who they were answered as", async () => {
    await ask(server, "POST", "/groups/acme/labels?with=it", label);
    const { status, headers, json } = await tell(server, "GET", "requests");
    expect(status).toBe(200);
    expect(headers.get("x-total")).toBe("1");
    expect(headers.get("x-dropped")).toBe("0");
    expect(json).toEqual([
      {
        id: 1,
        method: "POST",
        path: "/api/v4/groups/acme/labels",
        query: "with=it",
        headers: expect.objectContaining({
          "content-type": "application/json",
          "private-token": "[REDACTED]",
        }),
        body: JSON.stringify(label),
        bytes: JSON.stringify(label).length,
        user: "root",
        route: "/api/v4/groups/:id/labels",
        by: "route",
        status: 201,
        answer: {
          headers: expect.objectContaining({ "content-type": "application/json" }),
          body: expect.stringContaining('"name":"new"'),
          bytes: expect.any(Number),
        },
        time: "2026-01-01T00:00:00.000Z",
        duration: expect.any(Number),
      },
    ]);
    expect(json).toEqual(server.received.list());
    expect((await tell(server, "DELETE", "requests")).status).toBe(204);
    expect(server.requests).toEqual([]);
  });

  it("are found by method, path, user and status", async () => {
    const { token } = await server.admin.tokens.create({
      user: "root",
      name: "x",
      scopes: ["api"],
    });
    await server.admin.users.create({ username: "ada", name: "Ada", email: "ada@example.com" });
    const adas = await server.admin.tokens.create({ user: "ada", name: "x", scopes: ["api"] });
    await ask({ ...server, token }, "GET", "/projects/acme%2Fapp");
    await ask({ ...server, token: adas.token }, "GET", "/projects/acme%2Fsite");
    await ask({ ...server, token: "nobodys" }, "GET", "/projects/acme%2Fapp");
    await ask(server, "POST", "/groups/acme/labels", {});
    const found = async (query: string) =>
      (await tell(server, "GET", `requests?${query}`)).json.map(({ id }: { id: number }) => id);
    expect(await found("method=get")).toEqual([1, 2, 3]);
    expect(await found("path=/api/v4/projects/acme%252Fapp")).toEqual([1, 3]);
    expect(await found("path=*/projects/*&status=200")).toEqual([1]);
    expect(await found("user=ada")).toEqual([2]);
    expect(await found("status=401")).toEqual([3]);
    expect(await found("status=400&user=root")).toEqual([4]);
    expect(server.received.list({ path: /labels$/ })).toHaveLength(1);
    const wrong = await tell(server, "GET", "requests?pth=x");
    expect(wrong).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining("Did you mean path?") },
    });
    expect((await tell(server, "GET", "requests?status=ok")).status).toBe(400);
  });

  it("that nothing answers are found, with the body that was sent", async () => {
    server.faults.add({ path: "/api/v4/faulty" });
    await ask(server, "POST", "/nothing", { about: "it" });
    await ask(server, "GET", "/groups/none");
    await ask(server, "GET", "/faulty");
    await fetch(`${server.url}/unknown`);
    const { json } = await tell(server, "GET", "requests?unmatched=1");
    expect(json).toMatchObject([
      { path: "/api/v4/nothing", status: 404, by: null, route: null, body: '{"about":"it"}' },
      { path: "/unknown", status: 404, by: null },
    ]);
    expect(server.received.list({ unmatched: false }).map(({ by }) => by)).toEqual([
      "route",
      "fault",
    ]);
  });

  it("show no secrets", async () => {
    const { url } = server;
    const call = (path: string, init: RequestInit = {}) => fetch(url + path, init);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    await call("/api/v4/user?private_token=hush-1&page=1");
    await call("/api/v4/user", {
      headers: { authorization: "Bearer hush-2", cookie: "_s=hush-3" },
    });
    await call("/api/v4/user?access_token=hush-4&job_token=hush-5");
    const body = "grant_type=password&username=root&password=hush-6&user[password]=hush-7";
    await call("/oauth/token", { method: "POST", headers: form, body: `${body}&code=hush-8` });
    await ask(server, "POST", "/users", {
      password: 'hush"9',
      nested: [{ otp_attempt: 123456, private_key: "hush-10" }],
      url: "https://ada:hush-11@example.com/?token=hush-12",
      text: "glpat-hush13abcdefghijkl",
    });
    await ask(server, "POST", "/nothing", { query: 'mutation { a(token: "hush-14") }' });
    const parts = new FormData();
    parts.set("token", "hush-15");
    await call("/api/v4/nothing", { method: "POST", body: parts });
    const { json: made } = await ask(server, "POST", "/users/1/personal_access_tokens", {
      name: "x",
      scopes: ["api"],
    });
    const shown = JSON.stringify((await tell(server, "GET", "requests")).json);
    expect(shown).not.toMatch(/hush|123456/);
    expect(made.token).toMatch(/^pmat-/);
    expect(shown).not.toContain(made.token);
    expect(shown).not.toContain(server.token);
    expect(server.requests[0]?.query).toBe("private_token=[REDACTED]&page=1");
    expect(server.requests[1]?.headers["authorization"]).toBe("Bearer [REDACTED]");
    expect(server.requests.at(-1)?.answer?.body).toContain('"token":"[REDACTED]"');
  });

  it("keep the beginning of a large body, and of one that is no text only its length", async () => {
    const large = `{"description":"${"ü".repeat(80_000)}"}`;
    await ask(server, "POST", "/groups/acme/labels", JSON.parse(large));
    const bytes = new Uint8Array([0, 255, 1]);
    await fetch(`${server.url}/api/v4/nothing`, { method: "POST", body: bytes });
    const [first, second] = server.requests;
    expect(first?.bytes).toBe(Buffer.byteLength(large));
    expect(first?.body?.length).toBeLessThan(65_536);
    expect(large.startsWith(first?.body as string)).toBe(true);
    expect(second).toMatchObject({ body: null, bytes: 3 });
  });

  it("keep the beginning of an answer that is sent piece by piece", async () => {
    const commit = {
      branch: "main",
      commit_message: "x",
      actions: [{ action: "create", file_path: "a.txt", content: "text\n" }],
    };
    await ask(server, "POST", "/projects/acme%2Fapp/repository/commits", commit);
    const archive = await fetch(`${server.url}/api/v4/projects/acme%2Fapp/repository/archive.tar`, {
      headers: { "private-token": server.token },
    });
    const { byteLength } = await archive.arrayBuffer();
    expect(archive.status).toBe(200);
    await expect.poll(() => server.requests[1]?.answer?.bytes).toBe(byteLength);
    expect(byteLength).toBeGreaterThan(1000);
  });

  it("are forgotten oldest first once there are many, or they are large", async () => {
    const asked = async (count: number, init: RequestInit) => {
      const host = new Request("http://localhost/api/v4/nothing", init);
      for (let at = 0; at < count; at += 1) {
        await server.app.fetch(host.clone());
      }
    };
    // What the application is asked without the server is none of its requests.
    await asked(1, {});
    expect(server.requests).toEqual([]);
    const body = JSON.stringify({ text: "x".repeat(60_000) });
    for (let at = 0; at < 1200; at += 1) {
      const response = await fetch(`${server.url}/api/v4/nothing`, { method: "POST", body });
      await response.arrayBuffer();
    }
    const { json, headers } = await tell(server, "GET", "requests?method=POST");
    const dropped = Number(headers.get("x-dropped"));
    expect(dropped).toBeGreaterThan(50);
    expect(json).toHaveLength(1200 - dropped);
    expect(json[0].id).toBe(dropped + 1);
    expect(server.received.dropped).toBe(dropped);
  });

  it("are waited for", async () => {
    const soon = tell(server, "GET", "requests/wait?method=POST&path=*/labels&timeout=60000");
    await ask(server, "GET", "/groups/acme/labels");
    await ask(server, "POST", "/groups/acme/labels", label);
    expect(await soon).toMatchObject({ status: 200, json: { id: 2, status: 201, user: "root" } });
    // One that has come already is found, too.
    expect((await server.received.wait({ method: "POST" })).id).toBe(2);
    const late = await tell(server, "GET", "requests/wait?status=500&timeout=20");
    expect(late.status).toBe(408);
    expect(late.json.message).toBe(
      "No such request within 20 ms, instead of it: GET /api/v4/groups/acme/labels 200; " +
        "POST /api/v4/groups/acme/labels 201",
    );
    await expect(server.received.wait({ user: "eve" }, { timeout: 1 })).rejects.toThrow(/instead/);
    await server.reset();
    const { json } = await tell(server, "GET", "requests/wait?timeout=1");
    expect(json.message).toBe("No such request within 1 ms, no other request either");
    expect((await tell(server, "GET", "requests/wait?timeout=600001")).status).toBe(400);
  });

  it("that have no answer yet, or never get one, say so", async () => {
    server.faults.add({ path: "/api/v4/version", disconnect: true });
    await expect(ask(server, "GET", "/version")).rejects.toThrow();
    const { json } = await tell(server, "GET", "requests/wait?path=/api/v4/version");
    expect(json).toMatchObject({ status: null, answer: null, by: "fault" });
  });
});
