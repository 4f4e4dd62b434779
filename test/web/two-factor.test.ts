import { TOTP } from "otpauth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { givePassword, PASSWORD as password, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

const PATH = "/-/profile/two_factor_auth";
const STEP = "/users/sign_in/two_factor";
const PERIOD = 30_000;

let app: TestApp;
let now = Date.parse("2026-11-21T12:00:00Z");
beforeAll(async () => {
  app = await testApp({ now: () => now });
  await givePassword(app, "admin", "owner", "maintainer", "developer");
});
afterAll(() => app.dispose());

const codeOf = (secret: string, at = now) => new TOTP({ secret }).generate({ timestamp: at });
const knows = async (visitor: Visitor) => (await visitor.get("/api/v4/user")).status;
const codesIn = (page: string) =>
  [...page.matchAll(/<li>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})<\/li>/g)].map(
    ([, code]) => code as string,
  );

/** Signs a user in and sets up their second factor. */
async function setUp(
  login: string,
): Promise<{ visitor: Visitor; secret: string; codes: string[] }> {
  const visitor = new Visitor(app);
  await visitor.signIn(login, password);
  await visitor.get(PATH);
  await visitor.post(`${PATH}/start`, { password });
  const { page } = await visitor.get(PATH);
  const secret = (/<code class="secret">([A-Z2-7 ]+)</.exec(page)?.[1] ?? "").replaceAll(" ", "");
  const made = await visitor.post(PATH, { code: codeOf(secret) });
  now += PERIOD;
  return { visitor, secret, codes: codesIn(made.page) };
}

async function halfIn(login: string, returnTo?: string): Promise<Visitor> {
  const visitor = new Visitor(app);
  await visitor.get("/users/sign_in");
  const form = { login, password, ...(returnTo ? { return_to: returnTo } : {}) };
  const answer = await visitor.post("/users/sign_in", form);
  const query = returnTo ? `?return_to=${encodeURIComponent(returnTo)}` : "";
  expect(answer.headers.get("location")).toBe(STEP + query);
  expect((await visitor.follow(answer)).page).not.toContain(password);
  return visitor;
}

describe("setting up a second factor", () => {
  it("requires the password, shows a secret and its QR code, and accepts a code", async () => {
    const visitor = new Visitor(app);
    await visitor.signIn("admin", password);
    await visitor.get(PATH);
    const wrong = await visitor.post(`${PATH}/start`, { password: "wrong horse" });
    expect([wrong.status, wrong.page.includes("Your password is wrong.")]).toEqual([422, true]);
    expect((await visitor.post(PATH, { code: "123456" })).status).toBe(422);
    await visitor.post(`${PATH}/start`, { password });
    const { page } = await visitor.get(PATH);
    expect(page).toContain('<svg xmlns="http://www.w3.org/2000/svg"');
    const secret = (/<code class="secret">(.*?)</.exec(page)?.[1] ?? "").replaceAll(" ", "");
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);

    const other = new Visitor(app);
    await other.signIn("admin", password);
    expect(await knows(other)).toBe(200);

    const refused = await visitor.post(PATH, { code: codeOf(secret, now + 10 * PERIOD) });
    expect([refused.status, refused.page.includes("Code does not fit.")]).toEqual([422, true]);
    const made = await visitor.post(PATH, { code: codeOf(secret) });
    expect(made.status).toBe(200);
    expect(new Set(codesIn(made.page)).size).toBe(10);
    expect((await visitor.get(PATH)).page).toContain("10 are left");
    for (const [state, names] of [
      ["enabled", ["admin"]],
      ["disabled", []],
    ] as const) {
      const { json } = await app.call(`GET /users?username=admin&two_factor=${state}`, {
        as: "admin",
      });
      expect(json.map(({ username }: { username: string }) => username)).toEqual(names);
    }

    // An enabled factor stays: replacing it would let a stolen session take it over.
    await visitor.post(`${PATH}/start`, { password });
    now += PERIOD;
    const signIn = await halfIn("admin");
    expect((await signIn.post(STEP, { code: codeOf(secret) })).status).toBe(303);
  });

  it("stores neither recovery codes nor cookies in clear", async () => {
    const { codes, visitor } = await setUp("owner");
    const half = await halfIn("owner");
    const kept = JSON.stringify([
      await app.store.all("select * from recovery_codes"),
      await app.store.all("select * from half_sign_ins"),
      await app.store.all("select * from sessions"),
    ]);
    for (const secret of [...codes, ...codes.map((code) => code.replaceAll("-", ""))]) {
      expect(kept).not.toContain(secret);
    }
    for (const { cookie } of [visitor, half]) expect(kept).not.toContain(cookie.split("=")[1]);
    await visitor.post(`${PATH}/disable`, { password });
  });
});

describe("the second step", () => {
  it("grants no access without a code: neither to the API nor to pages", async () => {
    const { secret } = await setUp("maintainer");
    const return_to = "/-/user_settings/active_sessions";
    const visitor = await halfIn("maintainer", return_to);
    expect((await visitor.get(`${STEP}?return_to=${return_to}`)).page).toContain(
      `name="return_to" value="${return_to}"`,
    );
    expect(await knows(visitor)).toBe(401);
    expect((await visitor.get("/-/profile")).status).toBe(302);
    for (const code of ["", "000000", "12345", "1234567", "x", codeOf(secret, now + 5 * PERIOD)]) {
      const answer = await visitor.post(STEP, { code });
      expect([code, answer.status]).toEqual([code, 401]);
    }
    const before = visitor.cookie;
    const code = codeOf(secret).replace(/^.../, "$& ");
    const answer = await visitor.post(STEP, { code, return_to });
    expect(answer.headers.get("location")).toBe(return_to);
    expect(visitor.cookie).not.toBe(before);
    expect(await knows(visitor)).toBe(200);
  });

  it("accepts a code once, and no older one", async () => {
    now += 3 * PERIOD;
    const { secret, visitor } = await setUp("developer");
    const code = codeOf(secret);
    const first = await halfIn("developer");
    const second = await halfIn("developer");
    expect((await first.post(STEP, { code })).status).toBe(303);
    expect((await second.post(STEP, { code })).status).toBe(401);
    const older = codeOf(secret, now - PERIOD);
    expect((await second.post(STEP, { code: older })).status).toBe(401);
    // A clock one period ahead is accepted.
    const ahead = codeOf(secret, now + PERIOD);
    expect((await second.post(STEP, { code: ahead })).status).toBe(303);
    await visitor.post(`${PATH}/disable`, { password });
  });

  it("has one winner when the same code is sent concurrently", async () => {
    now += 3 * PERIOD;
    const { codes, secret, visitor } = await setUp("developer");
    for (const code of [codeOf(secret), codes[0] as string]) {
      const all = await Promise.all(Array.from({ length: 5 }, () => halfIn("developer")));
      const answers = await Promise.all(all.map((one) => one.post(STEP, { code })));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([303, 401, 401, 401, 401]);
    }
    await visitor.get(PATH);
    await visitor.post(`${PATH}/disable`, { password });
  });

  it("accepts each recovery code once, however it is typed", async () => {
    now += 3 * PERIOD;
    const { codes, visitor } = await setUp("developer");
    const [code = ""] = codes;
    const typed = ` ${code.toUpperCase().replaceAll("-", "  ")}`;
    expect((await (await halfIn("developer")).post(STEP, { code: typed })).status).toBe(303);
    expect((await (await halfIn("developer")).post(STEP, { code })).status).toBe(401);
    expect((await visitor.get(PATH)).page).toContain("9 are left");
    const wrong = await visitor.post(`${PATH}/codes`, { password: "wrong horse" });
    expect(wrong.status).toBe(422);
    const renewed = codesIn((await visitor.post(`${PATH}/codes`, { password })).page);
    expect(renewed).toHaveLength(10);
    expect(
      (await (await halfIn("developer")).post(STEP, { code: codes[1] as string })).status,
    ).toBe(401);
    expect(
      (await (await halfIn("developer")).post(STEP, { code: renewed[1] as string })).status,
    ).toBe(303);
    expect((await visitor.get(PATH)).page).toContain("9 are left");
    await visitor.post(`${PATH}/disable`, { password });
  });

  it("has a time limit, after the password", async () => {
    now += 3 * PERIOD;
    const { secret, visitor } = await setUp("developer");
    const late = await halfIn("developer");
    now += 10 * 60_000;
    const answer = await late.post(STEP, { code: codeOf(secret) });
    expect(answer.headers.get("location")).toBe("/users/sign_in");
    expect(await knows(late)).toBe(401);
    const stranger = new Visitor(app);
    expect((await stranger.get(STEP)).headers.get("location")).toBe("/users/sign_in");
    await stranger.get("/users/sign_in");
    expect((await stranger.post(STEP, { code: codeOf(secret) })).headers.get("location")).toBe(
      "/users/sign_in",
    );
    expect(await knows(stranger)).toBe(401);
    await visitor.post(`${PATH}/disable`, { password });
  });

  it("is cancelled by a password change, and by blocking", async () => {
    now += 3 * PERIOD;
    const { secret } = await setUp("developer");
    const { json } = await app.call("GET /users?username=developer", { as: "admin" });
    const user = `/users/${json[0].id}`;
    const half = await halfIn("developer");
    await app.call(`PUT ${user}`, { as: "admin", json: { password } });
    expect((await half.post(STEP, { code: codeOf(secret) })).headers.get("location")).toBe(
      "/users/sign_in",
    );
    const blocked = await halfIn("developer");
    await app.call(`POST ${user}/block`, { as: "admin" });
    await blocked.post(STEP, { code: codeOf(secret) });
    await app.call(`POST ${user}/unblock`, { as: "admin" });
    expect(await knows(blocked)).toBe(401);
  });

  it("is stopped after ten wrong codes from anywhere, and the password does not help", async () => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 11; attempt += 1) {
      const visitor = await halfIn("maintainer");
      statuses.push((await visitor.post(STEP, { code: "000000" })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });
});

describe("switching it off", () => {
  it("requires the password, after which the password alone suffices", async () => {
    now += 60 * 60_000;
    const visitor = new Visitor(app);
    await visitor.signIn("owner", password);
    expect(await knows(visitor)).toBe(200);
    const { visitor: owner } = await setUp("owner");
    const wrong = await owner.post(`${PATH}/disable`, { password: "wrong horse" });
    expect([wrong.status, wrong.page.includes("Your password is wrong.")]).toEqual([422, true]);
    await halfIn("owner");
    expect((await owner.post(`${PATH}/disable`, { password })).headers.get("location")).toBe(PATH);
    expect((await new Visitor(app).signIn("owner", password)).headers.get("location")).toBe(
      "/dashboard/projects",
    );
    expect(await app.store.rows("select 1 from recovery_codes where user_id = 2")).toEqual([]);
  });

  it("can be done by an operator, for users who have lost everything", async () => {
    now += 60 * 60_000;
    await setUp("owner");
    await halfIn("owner");
    expect(await app.admin.users.disableTwoFactor("OWNER")).toMatchObject({ username: "owner" });
    const answer = await new Visitor(app).signIn("owner", password);
    expect(answer.headers.get("location")).toBe("/dashboard/projects");
    await expect(app.admin.users.disableTwoFactor("nobody")).rejects.toThrow("404 User Not Found");
    const sql =
      "select action, author_name, user_id from audit_events where author_name = 'operator' order by id";
    expect(await app.store.rows(sql)).toEqual([["two-factor disabled", "operator", 2]]);
  });

  it("is audited, as all of this is", async () => {
    const actions = await app.store.rows(
      "select distinct action from audit_events order by action",
    );
    expect(actions.flat()).toEqual(
      expect.arrayContaining([
        "recovery code used",
        "sign-in failed",
        "two-factor disabled",
        "two-factor enabled",
      ]),
    );
  });
});

describe("signing in again", () => {
  it("asks for both factors of somebody who is signed in, and ends the session before", async () => {
    now += 60 * 60_000;
    await app.admin.users.disableTwoFactor("maintainer");
    const { visitor, secret } = await setUp("maintainer");
    expect(await knows(visitor)).toBe(200);
    const before = Object.assign(new Visitor(app), { cookie: visitor.cookie });
    const form = await visitor.get("/users/sign_in?again=true&return_to=/dashboard/projects");
    expect(form.page).toContain('name="password"');
    const wrong = await visitor.post("/users/sign_in", { login: "maintainer", password: "wrong" });
    expect([wrong.status, await knows(visitor)]).toEqual([401, 200]);
    const first = await visitor.post("/users/sign_in", { login: "maintainer", password });
    expect(first.headers.get("location")).toBe(STEP);
    expect([await knows(visitor), await knows(before)]).toEqual([401, 401]);
    await visitor.get(STEP);
    await visitor.post(STEP, { code: codeOf(secret) });
    expect([await knows(visitor), await knows(before)]).toEqual([200, 401]);
  });
});
