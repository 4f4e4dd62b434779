import { afterEach, beforeEach, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";
import { HOSTILE, RUNS } from "./_forms.ts";

const grace = {
  name: "Grace Hopper",
  username: "grace",
  email: "grace@navy.example",
  password: "correct horse",
};
let app: TestApp;
let now: number;
beforeEach(async () => {
  now = Date.parse("2026-01-01T00:00:00Z");
  app = await testApp({ now: () => now });
});
afterEach(() => app.dispose());

const change = async (json: object) =>
  expect((await app.call("PUT /application/settings", { as: "admin", json })).status).toBe(200);

async function signUp(form: Partial<typeof grace> = {}) {
  const visitor = new Visitor(app);
  await visitor.get("/users/sign_up");
  const { status, headers, page } = await visitor.post("/users/sign_up", { ...grace, ...form });
  return { status, headers, page: page.replaceAll(/value="[0-9a-f]{64}"/g, "") };
}

const userNamed = async (username: string) =>
  (await app.call(`GET /users?username=${username}`, { as: "admin" })).json[0];

it("makes an account that waits for an administrator, as GitLab does unless it is told otherwise", async () => {
  const visitor = new Visitor(app);
  expect((await visitor.get("/users/sign_in")).page).toContain('href="/users/sign_up"');
  const signedUp = await signUp();
  expect([signedUp.status, signedUp.page.includes("awaiting approval")]).toEqual([200, true]);
  const user = await userNamed("grace");
  expect(user).toMatchObject({ ...{ name: grace.name, email: grace.email }, is_admin: false });
  expect(user.state).toBe("blocked_pending_approval");
  const early = await visitor.signIn("grace", grace.password);
  expect([early.status, early.page.includes("pending approval")]).toEqual([401, true]);
  const approved = await app.call(`POST /users/${user.id}/approve`, { as: "admin" });
  expect(approved.status).toBe(201);
  expect((await visitor.signIn("grace", grace.password)).status).toBe(303);
  await change({ require_admin_approval_after_user_signup: false });
  const next = await signUp({ username: "ida", email: "ida@navy.example" });
  expect(next.page).toContain("You can sign in now.");
  expect((await new Visitor(app).signIn("ida", grace.password)).status).toBe(303);
  const [event] = (await app.admin.auditEvents.list()).filter(
    ({ action, author }) => action === "user created" && author === "ida",
  );
  expect(event).toBeDefined();
});

it("is closed where the settings say so, and to who is signed in", async () => {
  await app.call("GET /version", { as: "owner" });
  await change({ signup_enabled: false });
  const visitor = new Visitor(app);
  expect((await visitor.get("/users/sign_in")).page).not.toContain("/users/sign_up");
  const shown = await visitor.get("/users/sign_up");
  expect([shown.status, shown.headers.get("location")]).toEqual([303, "/users/sign_in"]);
  const sent = await visitor.post("/users/sign_up", grace);
  expect([sent.status, sent.headers.get("location")]).toEqual([303, "/users/sign_in"]);
  // What is to be confirmed by mail needs mail.
  await change({ signup_enabled: true, email_confirmation_setting: "hard" });
  expect((await visitor.get("/users/sign_up")).status).toBe(303);
  expect(await userNamed("grace")).toBeUndefined();
});

it("tells nobody whether an address has an account, but who has a user name", async () => {
  const free = await signUp();
  const known = await signUp({ username: "other", email: "OWNER@example.com" });
  expect(known).toMatchObject({ status: 200, page: free.page });
  expect(await userNamed("other")).toBeUndefined();
  const taken = await signUp({ username: "Owner", email: "third@navy.example" });
  expect([taken.status, taken.page.includes("User name has already been taken.")]).toEqual([
    422,
    true,
  ]);
});

it("says what is wrong beside each field, with what was typed", async () => {
  const shown = await signUp({ name: "", username: "-", email: "nobody", password: "short" });
  expect(shown.status).toBe(422);
  for (const text of [
    "Full name can&#39;t be blank.",
    "E-mail address is invalid.",
    "is too short",
  ]) {
    expect(shown.page).toContain(text);
  }
  expect(shown.page).toContain('value="nobody"');
  expect(shown.page).not.toContain('short"');
  const hostile = await signUp({ name: HOSTILE, username: HOSTILE, email: HOSTILE });
  expect([hostile.status, RUNS.test(hostile.page)]).toEqual([422, false]);
});

it("asks for passwords and domains as the settings say", async () => {
  await change({
    minimum_password_length: 12,
    ...{ password_number_required: true, password_lowercase_required: true },
    ...{ password_uppercase_required: true, password_symbol_required: true },
  });
  const plain = await signUp({ password: "correct horse" });
  expect(plain.status).toBe(422);
  expect(plain.page).toContain(
    "Password requires at least one number, requires at least one uppercase letter, requires at least one symbol character.",
  );
  const long = { name: "A", username: "a1", email: "a1@x.example", password: "correct horse" };
  expect((await app.call("POST /users", { as: "admin", json: long })).json.message).toEqual({
    password: [
      "requires at least one number",
      "requires at least one uppercase letter",
      "requires at least one symbol character",
    ],
  });
  const password = "Correct-horse-1";
  await change({ domain_allowlist: ["navy.example", "*.mil.example"] });
  const elsewhere = await signUp({ password });
  expect(elsewhere.page).toContain("Signed up");
  const other = await signUp({ ...{ username: "ida", email: "ida@sea.example" }, password });
  expect([other.status, other.page.includes("is not authorized for sign-up")]).toEqual([422, true]);
  const below = { username: "jo", email: "jo@west.mil.example", password };
  expect((await signUp(below)).status).toBe(200);
  await change({ domain_denylist: ["*.mil.example"], domain_denylist_enabled: true });
  const wrong = await app.call("PUT /application/settings", {
    ...{ as: "admin", json: { email_restrictions: "(" } },
  });
  expect([wrong.status, wrong.json.message]).toEqual([
    400,
    { email_restrictions: ["not valid RE2 syntax"] },
  ]);
  // JavaScript's own expressions would take for ever.
  const email_restrictions = "^(a+)+@|^temporary";
  await change({ email_restrictions, email_restrictions_enabled: true });
  for (const email of ["temporary@navy.example", `${"a".repeat(200)}@navy.example`]) {
    const restricted = await signUp({ username: "eve", email, password });
    expect([restricted.status, restricted.page.includes("is not allowed for sign-up")]).toEqual([
      422,
      true,
    ]);
  }
  await change({ after_sign_up_text: "Read **this** <script>alert(1)</script>" });
  const welcome = await signUp({ username: "eve", email: "eve@navy.example", password });
  expect(welcome.page).toContain("<p>Read <strong>this</strong>");
  expect(welcome.page).not.toContain("<script");
  const denied = await signUp({ username: "al", email: "al@west.mil.example", password });
  expect([denied.status, denied.page.includes("is not from an allowed domain")]).toEqual([
    422,
    true,
  ]);
});

it("is refused after some tries with the same address", async () => {
  for (const username of ["a1", "a2", "a3"]) expect((await signUp({ username })).status).toBe(200);
  expect((await signUp({ username: "a4" })).status).toBe(429);
  now += 3_600_001;
  expect((await signUp({ username: "a4" })).status).toBe(200);
});
