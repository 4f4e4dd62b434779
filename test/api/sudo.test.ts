import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LogEntry, Scope } from "../../src/index.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { openSession } from "./sessions.ts";

// See docs/authentication.md. Numbers in test names are case ids.

const log: LogEntry[] = [];
let app: TestApp;
const tokens: Record<"sudo" | "api" | "user" | "acting", string> = {} as never;
const ids: Record<string, number> = {};
beforeAll(async () => {
  app = await testApp({ log: (entry) => log.push(entry) });
  for (const { id, username } of await app.admin.users.list()) ids[username] = id;
  const create = async (user: string, scopes: Scope[], impersonation = false) =>
    (await app.admin.tokens.create({ user, name: scopes.join(), scopes, impersonation })).token;
  tokens.sudo = await create("admin", ["sudo"]);
  tokens.api = await create("admin", ["api", "read_user"]);
  tokens.user = await create("owner", ["api", "sudo"]);
  tokens.acting = await create("admin", ["api", "sudo"], true);
});
afterAll(() => app.dispose());

const using = (token: string, more: Record<string, string> = {}) => ({
  headers: { "private-token": token, ...more },
});

describe("an administrator's token", () => {
  it("242, 244: acts as the user with that id or name in any case, by parameter or header", async () => {
    for (const target of ["guest", "GUEST", String(ids["guest"])]) {
      const by = [
        app.call(`GET /user?sudo=${target}`, { as: "admin" }),
        app.call("GET /user", { as: "admin", headers: { sudo: target } }),
        app.call("GET /user", using(tokens.acting, { sudo: target })),
      ];
      for (const { status, json } of await Promise.all(by)) {
        expect([status, json.username]).toEqual([200, "guest"]);
      }
    }
    const body = await app.call("POST /projects", {
      as: "admin",
      json: { name: "by number", sudo: ids["owner"] },
    });
    expect(body.json).toMatchObject({ creator_id: ids["owner"] });
  });

  it("prefers the parameter to the header, and ignores empty ones", async () => {
    const { json } = await app.call("GET /user?sudo=guest", {
      as: "admin",
      headers: { sudo: "reporter" },
    });
    expect(json.username).toBe("guest");
    const empty = await app.call("GET /user?sudo=", { as: "admin", headers: { sudo: "" } });
    expect(empty.json.username).toBe("admin");
  });

  it("has the target's rights and no more", async () => {
    const see = async (sudo: string) =>
      (await app.call(`GET /groups/secret?sudo=${sudo}`, { as: "admin" })).status;
    expect([await see("guest"), await see("stranger")]).toEqual([200, 404]);
    const { status } = await app.call("GET /users/1/impersonation_tokens?sudo=owner", {
      as: "admin",
    });
    expect(status).toBe(403);
  });

  it("245: with the scope sudo alone suffices for sudo, and for nothing else", async () => {
    const { status, json } = await app.call("GET /user?sudo=guest", using(tokens.sudo));
    expect([status, json.username]).toEqual([200, "guest"]);
    const write = await app.call("POST /projects?sudo=owner&name=by-sudo", using(tokens.sudo));
    expect(write.status).toBe(201);
    const own = await app.call("GET /user", using(tokens.sudo));
    expect([own.status, own.json.error]).toEqual([403, "insufficient_scope"]);
  });

  it("acts as a blocked user too", async () => {
    const { status, json } = await app.call("GET /user?sudo=blocked", { as: "admin" });
    expect([status, json.username]).toEqual([200, "blocked"]);
  });

  it("keeps sudo in the links of a list", async () => {
    const { headers } = await app.call("GET /projects?sudo=owner&per_page=1", { as: "admin" });
    expect(headers.get("link")).toContain("sudo=owner");
  });
});

describe("is refused", () => {
  const insufficient = {
    error: "insufficient_scope",
    error_description: "The request requires higher privileges than provided by the access token.",
    scope: "sudo",
  };
  const forbidden = (reason: string) => ({ message: `403 Forbidden - ${reason}` });

  it("247: without the scope", async () => {
    const { status, json } = await app.call("GET /user?sudo=guest", using(tokens.api));
    expect([status, json]).toEqual([403, insufficient]);
  });

  it("248: to users other than administrators, before the scope and the user are checked", async () => {
    for (const target of ["guest", "nobody"]) {
      for (const token of [tokens.user, "token-of-guest"]) {
        const { status, json } = await app.call(`GET /user?sudo=${target}`, using(token));
        expect([status, json]).toEqual([403, forbidden("Must be admin to use sudo")]);
      }
    }
  });

  it("250: for an unknown user", async () => {
    for (const target of ["nonexistent", "4711", "99999999999999999999", "a b", "x'y"]) {
      const { status, json } = await app.call(`GET /user?sudo=${encodeURIComponent(target)}`, {
        as: "admin",
      });
      const message = `404 User with ID or username '${target}' Not Found`;
      expect([target, status, json]).toEqual([target, 404, { message }]);
    }
    const nul = await app.call("GET /user?sudo=a%00b", { as: "admin" });
    expect(nul.status).toBe(404);
  });

  it("for values that can't name a user, in query and body", async () => {
    for (const request of ["GET /user?sudo[]=guest", "GET /projects?sudo[id]=1"]) {
      const { status, json } = await app.call(request, { as: "admin", headers: { sudo: "guest" } });
      expect([status, json]).toEqual([400, { message: { sudo: ["is invalid"] } }]);
    }
    for (const sudo of [["guest"], { id: 1 }]) {
      const json = { name: "not made", sudo };
      expect((await app.call("POST /projects", { as: "admin", json })).status).toBe(400);
    }
    const named = await app.call("POST /projects", {
      as: "admin",
      json: { name: "x", sudo: true },
    });
    expect(named.status).toBe(404);
  });

  it("251: to anonymous callers and with an invalid token, even where anyone may read", async () => {
    for (const request of ["GET /user?sudo=1", "GET /projects?sudo=1"]) {
      expect((await app.call(request)).status).toBe(401);
      expect((await app.call(request, using("no token"))).status).toBe(401);
    }
  });

  it("to a session: administrators need a token", async () => {
    const session = (user: string) => openSession(app, ids[user] as number);
    const asAdmin = await app.call("GET /user?sudo=guest", { headers: await session("admin") });
    const reason = "Must be authenticated using an OAuth or Personal Access Token to use sudo";
    expect([asAdmin.status, asAdmin.json]).toEqual([403, forbidden(reason)]);
    const asOwner = await app.call("GET /user?sudo=guest", { headers: await session("owner") });
    expect(asOwner.json).toEqual(forbidden("Must be admin to use sudo"));
  });

  it("to a job token of an administrator", async () => {
    const { token } = await app.admin.tokens.createForJob({ project: "acme/site", user: "admin" });
    const { status, json } = await app.call("GET /projects/acme%2Fsite?sudo=guest", {
      headers: { "job-token": token },
    });
    const reason = "Must be authenticated using an OAuth or Personal Access Token to use sudo";
    expect([status, json]).toEqual([403, forbidden(reason)]);
  });

  it("for a blocked administrator", async () => {
    await app.admin.users.create({ username: "ex", name: "X", email: "x@x.test", admin: true });
    const { token } = await app.admin.tokens.create({ user: "ex", name: "t", scopes: ["sudo"] });
    await app.admin.users.block("ex");
    const { json } = await app.call("GET /user?sudo=guest", using(token));
    expect(json).toEqual(forbidden("Your account has been blocked."));
  });
});

describe("writes with sudo", () => {
  it("belong to the target, and each write logs the real caller once", async () => {
    const acts = () => app.admin.auditEvents.list({ action: "acted by sudo", user: "developer" });
    const { json } = await app.call("POST /projects/acme%2Fsite/issues?sudo=developer&title=t", {
      as: "admin",
      ip: "192.0.2.1",
    });
    expect(json.author.username).toBe("developer");
    expect(await acts()).toEqual([
      {
        id: expect.any(Number),
        created_at: expect.any(String),
        action: "acted by sudo",
        author: "admin",
        user: "developer",
        target: "POST /api/v4/projects/acme%2Fsite/issues",
        ip: "192.0.2.1",
      },
    ]);
    // Neither reads nor refused requests.
    await app.call("GET /user?sudo=developer", { as: "admin" });
    await app.call("PUT /groups/acme?sudo=developer&name=Mine", { as: "admin" });
    expect(await acts()).toHaveLength(1);
  });

  it("have both names in the request log", async () => {
    log.length = 0;
    await app.call("GET /user?sudo=guest", { as: "admin" });
    await app.call("GET /user", { as: "guest" });
    expect(log).toMatchObject([{ user: "guest", sudoer: "admin" }, { user: "guest" }]);
    expect(log[1]).not.toHaveProperty("sudoer");
    expect(JSON.stringify(log)).not.toContain("token-of");
  });
});
