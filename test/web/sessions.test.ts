import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { givePassword, PASSWORD as password, type TestApp, testApp, waitFor } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

const PATH = "/-/user_settings/active_sessions";
const MINUTE = 60_000;
const DAY = 86_400_000;

let app: TestApp;
let now = Date.parse("2026-11-21T12:00:00Z");
beforeAll(async () => {
  app = await testApp({ now: () => now });
  await givePassword(app, "admin", "owner", "maintainer");
});
afterAll(() => app.dispose());

async function signedIn(login: string, userAgent = ""): Promise<Visitor> {
  const visitor = new Visitor(app);
  if (userAgent) visitor.headers["user-agent"] = userAgent;
  expect((await visitor.signIn(login, password)).status).toBe(303);
  return visitor;
}

const knows = async (visitor: Visitor) => (await visitor.get("/api/v4/user")).status;
const sessions = () =>
  app.store.all<{ last_seen_at: number; expires_at: number }>(
    "select last_seen_at, expires_at from sessions order by id",
  );

/** It is written after the answer. */
const seenNow = () => waitFor(async () => (await sessions()).at(-1)?.last_seen_at === now);

describe("a session", () => {
  it("is updated at most once a minute, which extends it", async () => {
    const visitor = await signedIn("owner");
    app.activity.length = 0;
    now += MINUTE - 1;
    expect(await knows(visitor)).toBe(200);
    expect(app.activity.filter((sql) => sql.startsWith("update sessions"))).toEqual([]);
    now += 1;
    expect(await Promise.all([knows(visitor), knows(visitor)])).toEqual([200, 200]);
    await seenNow();
    expect(app.activity.filter((sql) => sql.startsWith("update sessions"))).toHaveLength(1);
    expect((await sessions()).at(-1)).toEqual({ last_seen_at: now, expires_at: now + 14 * DAY });
    now += 14 * DAY - 1;
    expect(await knows(visitor)).toBe(200);
    await seenNow();
    now += 14 * DAY - 1;
    expect(await knows(visitor)).toBe(200);
    await seenNow();
    now += 14 * DAY;
    expect(await knows(visitor)).toBe(401);
  });

  it("works while somebody else writes, however long that takes", async () => {
    const visitor = await signedIn("owner");
    now += MINUTE;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const writing = app.store.transaction(() => held);
    expect(await knows(visitor)).toBe(200);
    letGo();
    await writing;
    await seenNow();
    now += 14 * DAY;
  });

  it("is deleted after it has expired, when somebody signs in", async () => {
    expect(await sessions()).toHaveLength(1);
    const visitor = await signedIn("owner");
    expect(await sessions()).toHaveLength(1);
    await visitor.post("/users/sign_out");
  });

  it("can't be ended by other users, nor if it doesn't exist", async () => {
    const owner = await signedIn("owner");
    const admin = await signedIn("admin");
    const [id] = await app.store.rows("select max(id) from sessions");
    await owner.get(PATH);
    expect((await owner.post(`${PATH}/${id?.[0]}/revoke`)).status).toBe(404);
    expect((await owner.post(`${PATH}/no/revoke`)).status).toBe(404);
    expect(await knows(admin)).toBe(200);
  });

  it("is listed with its browser, and can be ended alone or with all others", async () => {
    const firefox = await signedIn(
      "owner",
      "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    );
    const phone = await signedIn(
      "owner",
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
    );
    const script = await signedIn("owner", "curl/8.5.0");
    const { page } = await script.get(PATH);
    const titles = [...page.matchAll(/<h3>(.*?)<\/h3>/g)].map(([, title]) => title);
    expect(titles.slice(0, 3)).toEqual([
      'curl<span class="tag">This session</span>',
      "Safari on iOS",
      "Firefox on Linux",
    ]);
    const second = /active_sessions\/(\d+)\/revoke/.exec(page)?.[1];
    expect((await script.post(`${PATH}/${second}/revoke`)).headers.get("location")).toBe(PATH);
    expect([await knows(phone), await knows(firefox), await knows(script)]).toEqual([
      401, 200, 200,
    ]);
    await script.post(`${PATH}/revoke_others`);
    expect([await knows(firefox), await knows(script)]).toEqual([401, 200]);
  });

  it("of a blocked user is 403, ends, and allows another sign-in", async () => {
    const visitor = await signedIn("owner");
    const { cookie } = visitor;
    await app.call("POST /users/2/block", { as: "admin" });
    const answer = await visitor.get("/api/v4/user");
    expect([answer.status, answer.page]).toEqual([
      403,
      '{"message":"403 Forbidden - Your account has been blocked."}',
    ]);
    const shown = await visitor.get("/-/profile");
    expect(shown.status).toBe(403);
    expect(shown.page).toContain("Your account has been blocked.");
    expect(visitor.cookie).not.toBe(cookie);
    expect((await visitor.signIn("admin", password)).status).toBe(303);

    const again = await new Visitor(app).get("/users/sign_in");
    expect(again.status).toBe(200);
    const refused = await new Visitor(app).signIn("owner", password);
    expect([refused.status, refused.page.includes("has been blocked")]).toEqual([401, true]);

    await app.call("POST /users/2/unblock", { as: "admin" });
    visitor.cookie = cookie;
    expect(await knows(visitor)).toBe(401);
  });

  it("ends when an administrator sets another password, or the user is deleted", async () => {
    const owner = await signedIn("owner");
    await app.call("PUT /users/2", { as: "admin", json: { bio: "x" } });
    expect(await knows(owner)).toBe(200);
    await app.call("PUT /users/2", { as: "admin", json: { password } });
    expect(await knows(owner)).toBe(401);
    const again = await signedIn("owner");
    await app.admin.users.setPassword("owner", password);
    expect(await knows(again)).toBe(401);

    const third = await signedIn("maintainer");
    await app.call("DELETE /users/3", { as: "admin" });
    expect(await knows(third)).toBe(401);
  });

  it("records the time of the sign-in", async () => {
    now += DAY;
    await signedIn("owner");
    const before = now;
    now += DAY;
    const owner = await signedIn("owner");
    const { json } = await app.call("GET /users/2", { as: "admin" });
    expect(json).toMatchObject({
      last_sign_in_at: new Date(before).toISOString(),
      current_sign_in_at: new Date(now).toISOString(),
    });
    await owner.post("/users/sign_out");
  });

  it("can't be fixated by an attacker who knows the earlier cookie", async () => {
    const victim = new Visitor(app);
    victim.cookie = `_service_session=${"a".repeat(64)}`;
    expect((await victim.signIn("owner", password)).status).toBe(303);
    const attacker = new Visitor(app);
    attacker.cookie = `_service_session=${"a".repeat(64)}`;
    expect(await knows(attacker)).toBe(401);
    expect(await knows(victim)).toBe(200);
  });

  it("is replaced by the next one of the same browser", async () => {
    const visitor = await signedIn("owner");
    const { cookie } = visitor;
    await visitor.get(PATH);
    expect((await visitor.post("/users/sign_in", { login: "admin", password })).status).toBe(303);
    expect(JSON.parse((await visitor.get("/api/v4/user")).page).username).toBe("admin");
    visitor.cookie = cookie;
    expect(await knows(visitor)).toBe(401);
  });

  it("can't be started by a form of another site", async () => {
    const visitor = new Visitor(app);
    const attacker = new Visitor(app);
    await attacker.get("/users/sign_in");
    await visitor.get("/users/sign_in");
    const form = { login: "owner", password };
    expect((await visitor.post("/users/sign_in", form, attacker.csrf)).status).toBe(422);
    expect(await knows(visitor)).toBe(401);
  });
});
