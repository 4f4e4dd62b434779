import { afterEach, beforeEach, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

const ada = { username: "ada", name: "Ada Lovelace", email: "ada@example.com" };
const chosen = { password: "correct horse", password_confirmation: "correct horse" };
let app: TestApp;
let now = Date.parse("2026-01-01T00:00:00Z");
let path: string;
beforeEach(async () => {
  now = Date.parse("2026-01-01T00:00:00Z");
  app = await testApp({ now: () => now });
  path = (await app.admin.users.invite({ ...ada, lifetime: 3600 })).invitation.path;
});
afterEach(() => app.dispose());

const secretOf = (link: string) => ({ reset_password_token: link.slice(-64) });

it("lets a user set their password once, and sign in with it", async () => {
  const visitor = new Visitor(app);
  const shown = await visitor.get(path);
  expect(shown.status).toBe(200);
  expect(shown.page).toContain("<strong>ada</strong>");
  expect(shown.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(shown.headers.get("cache-control")).toBe("no-store");
  const set = await visitor.post("/users/password", { ...secretOf(path), ...chosen });
  expect([set.status, set.page.includes("Your password has been set.")]).toEqual([200, true]);
  expect((await visitor.signIn("ada", "correct horse")).status).toBe(303);
  await visitor.get("/-/user_settings/password/edit");
  const again = await visitor.post("/users/password", { ...secretOf(path), ...chosen });
  expect(again.status).toBe(404);
  expect((await visitor.get(path)).status).toBe(404);
  const [event] = (await app.admin.auditEvents.list()).filter(
    ({ action }) => action === "password changed",
  );
  expect(event).toMatchObject({ author: "ada", target: "by a link" });
});

it("shows what is wrong with the password", async () => {
  const visitor = new Visitor(app);
  await visitor.get(path);
  const send = (form: Record<string, string>) =>
    visitor.post("/users/password", { ...secretOf(path), ...form });
  const different = await send({ ...chosen, password: "correct house" });
  expect([different.status, different.page.includes("does not match")]).toEqual([422, true]);
  const short = await send({ password: "short", password_confirmation: "short" });
  expect([short.status, short.page.includes("is too short")]).toEqual([422, true]);
  expect((await send(chosen)).status).toBe(200);
});

it("requires the form's own token, and a valid link", async () => {
  const visitor = new Visitor(app);
  await visitor.get(path);
  const form = { ...secretOf(path), ...chosen };
  expect((await visitor.post("/users/password", form, "0".repeat(64))).status).toBe(422);
  expect((await visitor.post("/users/password", chosen)).status).toBe(404);
  const other = secretOf("0".repeat(64));
  expect((await visitor.post("/users/password", { ...chosen, ...other })).status).toBe(404);
  await app.admin.users.block("ada");
  expect((await visitor.get(path)).status).toBe(404);
  await app.admin.users.unblock("ada");
  expect((await visitor.get(path)).status).toBe(200);
  now += 3_600_000;
  expect((await visitor.get(path)).status).toBe(404);
});

it("is invalidated by another link, and when an operator sets a password", async () => {
  const visitor = new Visitor(app);
  const second = await app.admin.users.createPasswordLink("ada");
  expect(second.expires_at).toBe("2026-01-08T00:00:00.000Z");
  expect((await visitor.get(path)).status).toBe(404);
  expect((await visitor.get(second.path)).status).toBe(200);
  await app.admin.users.setPassword("ada", "battery staple");
  expect((await visitor.get(second.path)).status).toBe(404);
});

it("ends the sessions of the user", async () => {
  await app.admin.users.setPassword("ada", "battery staple");
  const before = new Visitor(app);
  await before.signIn("ada", "battery staple");
  expect((await before.get("/-/profile")).status).toBe(200);
  const link = await app.admin.users.createPasswordLink("ada");
  const visitor = new Visitor(app);
  await visitor.get(link.path);
  await visitor.post("/users/password", { ...secretOf(link.path), ...chosen });
  expect((await before.get("/-/profile")).status).toBe(302);
});
