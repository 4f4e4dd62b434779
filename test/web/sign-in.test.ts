import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  await givePassword(app, "admin");
});
afterAll(() => app.dispose());

const visit = () => new Visitor(app);

const right = { login: "admin", password: PASSWORD };

describe("signing in", () => {
  it("sets a new cookie, which authenticates the caller in the API", async () => {
    const visitor = visit();
    const form = await visitor.get("/users/sign_in");
    expect(form.status).toBe(200);
    expect(form.headers.get("set-cookie")).toMatch(
      /^_service_session=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const before = visitor.cookie;
    const answer = await visitor.post("/users/sign_in", right);
    expect(answer.status).toBe(303);
    expect(answer.headers.get("location")).toBe("/dashboard/projects");
    expect(visitor.cookie).not.toBe(before);
    const user = await visitor.get("/api/v4/user");
    expect(JSON.parse(user.page)).toMatchObject({ username: "admin" });
    await visitor.get("/-/user_settings/active_sessions");
    await visitor.post("/users/sign_out", {});
    expect((await visitor.get("/api/v4/user")).status).toBe(401);
  });

  it("answers the same to a wrong password and an unknown user", async () => {
    const visitor = visit();
    await visitor.get("/users/sign_in");
    for (const login of ["admin", "nobody"]) {
      const answer = await visitor.post("/users/sign_in", { login, password: "wrong horse" });
      expect(answer.status).toBe(401);
      expect(answer.page).toContain("Invalid login or password.");
    }
  });

  it("refuses a form without its page's token", async () => {
    const visitor = visit();
    await visitor.get("/users/sign_in");
    expect((await visitor.post("/users/sign_in", right, "0".repeat(64))).status).toBe(422);
    expect((await visit().post("/users/sign_in", right)).status).toBe(422);
  });

  it.each(["//evil.test", "/\\evil.test", "https://evil.test", "/a\nb", "javascript:x"])(
    "never redirects to %j",
    async (return_to) => {
      const visitor = visit();
      await visitor.get("/users/sign_in");
      const answer = await visitor.post("/users/sign_in", { ...right, return_to });
      expect(answer.headers.get("location")).toBe("/dashboard/projects");
    },
  );

  it("redirects visitors who are not signed in to sign in first, and back", async () => {
    const visitor = visit();
    const answer = await visitor.get("/-/user_settings/active_sessions?a=1");
    expect(answer.status).toBe(302);
    const there = "/users/sign_in?return_to=%2F-%2Fuser_settings%2Factive_sessions%3Fa%3D1";
    expect(answer.headers.get("location")).toBe(there);
  });

  it("allows GET and HEAD in the API, whatever else is sent", async () => {
    const visitor = visit();
    await visitor.signIn("admin", PASSWORD);
    for (const method of ["GET", "HEAD"]) {
      const headers = { cookie: visitor.cookie, "sec-fetch-site": "cross-site" };
      const answer = await app.fetch(new Request(`${ORIGIN}/api/v4/user`, { method, headers }));
      expect([method, answer.status]).toEqual([method, 200]);
      // Another site's script can send the request, but can't read the answer.
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    }
    for (const method of ["PUT", "DELETE"]) {
      const headers = { cookie: visitor.cookie };
      const answer = await app.fetch(new Request(`${ORIGIN}/api/v4/users/2`, { method, headers }));
      expect([method, answer.status]).toEqual([method, 401]);
    }
  });

  it("allows changes in the API only with the CSRF token", async () => {
    const visitor = visit();
    await visitor.get("/users/sign_in");
    await visitor.post("/users/sign_in", right);
    await visitor.get("/-/user_settings/active_sessions");
    const post = (headers: Record<string, string>) =>
      app.fetch(
        new Request(`${ORIGIN}/api/v4/projects?name=by-session`, {
          method: "POST",
          headers: { cookie: visitor.cookie, ...headers },
        }),
      );
    expect((await post({})).status).toBe(401);
    expect((await post({ "x-csrf-token": "0".repeat(64) })).status).toBe(401);
    for (const from of [{ "sec-fetch-site": "same-site" }, { origin: "https://evil.test" }]) {
      expect((await post({ "x-csrf-token": visitor.csrf, ...from })).status).toBe(401);
    }
    expect((await post({ "x-csrf-token": visitor.csrf })).status).toBe(201);
  });
});

it("is stopped after ten wrong passwords of one account", async () => {
  const visitor = visit();
  await visitor.get("/users/sign_in");
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt += 1) {
    const answer = await visitor.post("/users/sign_in", { login: "Owner", password: "wrong" });
    statuses.push(answer.status);
    if (answer.status === 429) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
});
