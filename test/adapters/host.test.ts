import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { digest } from "../../src/core/digest.ts";
import { createMiddleware } from "../../src/node.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";

/** A request as the host's own session middleware passes it on. */
interface HostRequest extends express.Request {
  member?: string;
}

/** The host's signed-in user, from its own cookie. */
const cookieOf = (header: string | null | undefined) => /host=([\w-]+)/.exec(header ?? "")?.[1];

describe("an Express app with its own sign-in", () => {
  let app: TestApp;
  let url: string;
  let close: () => void;
  beforeAll(async () => {
    app = await testApp({
      signInUrl: "/login?from=pm",
      authenticate(request: HostRequest) {
        const user = request.member;
        if (user === "broken") throw new Error("the host's own");
        return user === "three" ? 3 : user;
      },
      onError: (error) => failures.push(String(error)),
    });
    const host = express();
    host.use((request: HostRequest, _, next) => {
      const member = cookieOf(request.headers.cookie);
      if (member !== undefined) request.member = member;
      next();
    });
    host.use("/pm", createMiddleware(app));
    host.use((_, response) => response.status(404).send("the host's"));
    const server = createServer(host).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    close = () => server.close();
  });
  afterAll(async () => {
    close();
    await app.dispose();
  });
  const failures: string[] = [];

  const ask = (path: string, user?: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (user) headers.set("cookie", `host=${user}`);
    return fetch(`${url}/pm${path}`, { redirect: "manual", ...init, headers });
  };
  const post = (path: string, user: string, headers: Record<string, string> = {}) =>
    ask(path, user, { method: "POST", headers });

  it.each(["owner", "OWNER"])("knows %s by the host's session", async (user) => {
    const answer = await ask("/api/v4/user", user);
    expect([answer.status, await answer.json()]).toMatchObject([200, { username: "owner" }]);
  });

  it("knows a user by id", async () => {
    expect(await (await ask("/api/v4/user", "three")).json()).toMatchObject({ id: 3 });
  });

  it("treats no user as anonymous", async () => {
    expect((await ask("/api/v4/user")).status).toBe(401);
    expect((await ask("/api/v4/groups/acme")).status).toBe(200);
  });

  it("answers 403 with a reason to the host's users without an account here, and to blocked ones", async () => {
    const unknown = await ask("/api/v4/groups/acme", "nobody");
    expect([unknown.status, await unknown.json()]).toEqual([
      403,
      { message: "403 Forbidden - There is no account here for 'nobody'." },
    ]);
    const blocked = await ask("/api/v4/groups/acme", "blocked");
    expect([blocked.status, await blocked.json()]).toEqual([
      403,
      { message: "403 Forbidden - Your account has been blocked." },
    ]);
    const page = await ask("/-/profile", "nobody");
    expect([page.status, await page.text()]).toEqual([
      403,
      expect.stringContaining("There is no account here for &#39;nobody&#39;."),
    ]);
  });

  it("prefers a token", async () => {
    const headers = { "private-token": "token-of-guest" };
    const answer = await ask("/api/v4/user", "owner", { headers });
    expect(await answer.json()).toMatchObject({ username: "guest" });
    const wrong = await ask("/api/v4/user", "owner", { headers: { "private-token": "no" } });
    expect(wrong.status).toBe(401);
  });

  it("allows changes from its own pages, but not from other sites", async () => {
    const path = "/api/v4/projects?name=";
    const host = new URL(url).host;
    expect((await post(`${path}a`, "owner", { "sec-fetch-site": "same-origin" })).status).toBe(201);
    expect((await post(`${path}b`, "owner", { origin: `http://${host}` })).status).toBe(201);
    // Clients other than browsers don't send cookies by mistake.
    expect((await post(`${path}c`, "owner")).status).toBe(201);
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.test" },
      { origin: "null" },
    ]) {
      const answer = await post(`${path}d`, "owner", headers as unknown as Record<string, string>);
      expect([headers, answer.status]).toEqual([headers, 401]);
    }
  });

  it("answers GraphQL, with changes from its own pages only", async () => {
    const send = async (query: string, headers: Record<string, string> = {}) => {
      const body = JSON.stringify({ query });
      const type = { "content-type": "application/json", ...headers };
      const answer = await ask("/api/graphql", "owner", { method: "POST", headers: type, body });
      return answer.json();
    };
    const change =
      'mutation{createIssue(input:{projectPath:"acme/site" title:"made"}){issue{title}}}';
    const made = { createIssue: { issue: { title: "made" } } };
    expect((await send(change, { "sec-fetch-site": "same-origin" })).data).toEqual(made);
    expect((await send(change, { origin: "https://evil.test" })).data).toEqual({
      createIssue: null,
    });
    expect((await send("{currentUser{username}}")).data).toEqual({
      currentUser: { username: "owner" },
    });
  });

  it("ignores our own sessions, and has no page that creates one", async () => {
    expect((await ask("/users/sign_in")).status).toBe(404);
    for (const path of ["active_sessions", "password/edit"]) {
      expect(await (await ask(`/-/user_settings/${path}`, "owner")).text()).toBe("the host's");
    }
    await app.store.transaction((db) =>
      db.run(
        `insert into sessions (user_id, digest, ip, user_agent, created_at, last_seen_at, expires_at)
         values (1, ?, '', '', 0, 0, 9000000000000000)`,
        [digest("sha256", "a".repeat(64))],
      ),
    );
    const headers = { cookie: `_service_session=${"a".repeat(64)}` };
    expect((await ask("/api/v4/user", undefined, { headers })).status).toBe(401);
  });

  it("shows its pages below the mount, with forms protected by their token", async () => {
    const answer = await ask("/-/user_settings/personal_access_tokens", "owner");
    const page = await answer.text();
    const links = [...page.matchAll(/(?:href|action)="(\/[^"]*)"/g)].map(([, path]) => path);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) expect(link).toMatch(/^\/pm\//);
    expect(page).not.toContain("Sign out");
    const cookie = answer.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/; Path=\/pm; HttpOnly; SameSite=Lax$/);

    const csrf = /name="authenticity_token" value="(\w+)"/.exec(page)?.[1] ?? "";
    const form = (token: string, more: Record<string, string> = {}) =>
      ask("/-/user_settings/personal_access_tokens", undefined, {
        method: "POST",
        headers: { cookie: `host=owner; ${cookie.split(";")[0]}`, ...more },
        body: new URLSearchParams({ name: "x", "scopes[]": "api", authenticity_token: token }),
      });
    expect((await form("")).status).toBe(422);
    expect((await form(csrf, { origin: "https://evil.test" })).status).toBe(422);
    expect(await (await form(csrf)).text()).toContain("pmat-");
  });

  it("redirects visitors who are not signed in to the host's page, and back", async () => {
    const answer = await ask("/-/profile?a=1");
    expect(answer.status).toBe(302);
    expect(answer.headers.get("location")).toBe(
      `/login?from=pm&return_to=${encodeURIComponent("/pm/-/profile?a=1")}`,
    );
  });

  it("answers 500 if the host's own function fails", async () => {
    expect((await ask("/api/v4/user", "broken")).status).toBe(500);
    expect(failures).toEqual(["Error: the host's own"]);
  });
});

describe("an Express app that parses bodies", () => {
  it("passes operations and batches of GraphQL on", async () => {
    const app = await testApp();
    const host = express().use(express.json(), express.urlencoded(), createMiddleware(app));
    const server = createServer(host).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => server.once("listening", resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/graphql`;
      const send = async (body: unknown) => {
        const isForm = body instanceof URLSearchParams;
        const headers: Record<string, string> = isForm
          ? {}
          : { "content-type": "application/json" };
        const sent = isForm ? body : JSON.stringify(body);
        return (await fetch(url, { method: "POST", headers, body: sent })).json();
      };
      const query = 'query($text: String = "x"){echo(text: $text)}';
      const says = (text: string) => ({ data: { echo: `null says: ${text}` } });
      expect(await send({ query, variables: { text: "y" } })).toEqual(says("y"));
      expect(await send([{ query }, { query }])).toEqual([says("x"), says("x")]);
      const form = new URLSearchParams({ query, variables: '{"text":"z"}' });
      expect(await send(form)).toEqual(says("z"));
    } finally {
      server.close();
      await app.dispose();
    }
  });
});

describe("an app called by fetch", () => {
  it("receives the original request, and may return a promise", async () => {
    const app = await testApp({
      authenticate: async (request) =>
        request instanceof Request ? cookieOf(request.headers.get("cookie")) : undefined,
    });
    const answer = await app.fetch(
      new Request(`${ORIGIN}/api/v4/user`, { headers: { cookie: "host=owner" } }),
    );
    expect(await answer.json()).toMatchObject({ username: "owner" });
    const page = await new Visitor(app).get("/-/profile");
    expect(page.status).toBe(401);
    expect(page.page).toContain("<h1>Not signed in</h1>");
    await app.dispose();
  });

  it("refuses our own sign-in pages beside the host's", async () => {
    const options = { authenticate: () => undefined, pages: ["sign_in"] as const };
    await expect(testApp(options)).rejects.toThrow(/^pages: sign_in is ours alone/);
  });
});

describe("our own pages mounted under a prefix", () => {
  it("sign in, sign out, and call the API with the CSRF token, all below it", async () => {
    const app = await testApp();
    await app.call("PUT /users/1", { as: "admin", json: { password: "correct horse" } });
    const host = express().use(express.urlencoded()).use("/pm", createMiddleware(app));
    const server = createServer(host).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const visitor = new Visitor({
      fetch: (request) =>
        fetch(new Request(request.url.replace(ORIGIN, url), request), { redirect: "manual" }),
    });
    const form = await visitor.get("/pm/users/sign_in?return_to=/-/profile");
    expect(form.headers.get("set-cookie")).toContain("; Path=/pm; ");
    expect(form.page).toContain('action="/pm/users/sign_in"');
    const answer = await visitor.post("/pm/users/sign_in", {
      login: "admin",
      password: "correct horse",
      return_to: "/-/profile",
    });
    expect(answer.headers.get("location")).toBe("/pm/-/profile");
    expect((await visitor.follow(answer)).page).toContain(
      'href="/pm/-/user_settings/applications"',
    );
    const call = (headers: Record<string, string>, method = "POST") =>
      fetch(`${url}/pm/api/v4/projects?name=by-session`, {
        method,
        headers: { cookie: visitor.cookie, ...headers },
      });
    expect((await call({}, "GET")).status).toBe(200);
    expect((await call({})).status).toBe(401);
    expect((await call({ "x-csrf-token": "0".repeat(64) })).status).toBe(401);
    expect((await call({ "x-csrf-token": visitor.csrf })).status).toBe(201);
    const out = await visitor.post("/pm/users/sign_out");
    expect(out.headers.get("location")).toBe("/pm/users/sign_in");
    expect((await call({}, "GET")).status).toBe(200);
    expect((await visitor.get("/pm/api/v4/user")).status).toBe(401);
    server.close();
    await app.dispose();
  });
});
