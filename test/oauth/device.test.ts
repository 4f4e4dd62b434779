import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Shown, Visitor } from "../visitor.ts";
import { type Client, credentials, type OAuthApp, oauthApp } from "./helpers.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const SCOPES = ["openid", "profile", "read_user", "write_repository", "api"];

let clock = Date.UTC(2026, 10, 21);
let app: OAuthApp;
let open: Client;
let client: Client;
let visitor: Visitor;
beforeAll(async () => {
  app = await oauthApp({ now: () => clock });
  open = await app.register({ name: "glab", scopes: SCOPES, confidential: false });
  client = await app.register({ name: "Printer", scopes: SCOPES });
});
beforeEach(async () => {
  clock += 3_600_000;
  visitor = await app.signedIn();
});
afterAll(() => app.dispose());

interface Codes {
  device_code: string;
  user_code: string;
}

const begin = (own: Client, more: Record<string, string> = {}, ip = "") =>
  app.call("POST /oauth/authorize_device", { form: { ...credentials(own), ...more }, ip });
const codesOf = async (own = open, scope = SCOPES.join(" ")) =>
  (await begin(own, { scope })).json as Codes;
const poll = (own: Client, device_code: string) =>
  app.token({ grant_type: GRANT, ...credentials(own), device_code });
const errorOf = async (own: Client, code: string) => {
  const { status, json } = await poll(own, code);
  return [status, json.error];
};

/** Enters a code, and decides about what is shown. */
async function decide(user_code: string, decision: string, who = visitor): Promise<Shown> {
  await who.get("/oauth/device");
  await who.post("/oauth/device", { user_code });
  return who.post("/oauth/device", { user_code, decision });
}

describe("a device", () => {
  it("gets codes", async () => {
    const { status, json, headers } = await begin(open, { scope: "api" });
    expect([status, json]).toEqual([
      200,
      {
        device_code: expect.stringMatching(/^[0-9a-f]{64}$/),
        user_code: expect.stringMatching(/^[A-Z0-9]{8}$/),
        verification_uri: "http://pm.test/oauth/device",
        verification_uri_complete: `http://pm.test/oauth/device?user_code=${json.user_code}`,
        expires_in: 300,
        interval: 5,
      },
    ]);
    expect(headers.get("cache-control")).toBe("no-store");
    const rows = JSON.stringify(await app.store.rows("select * from oauth_devices"));
    for (const code of [json.device_code, json.user_code]) expect(rows).not.toContain(code);
  });

  it("gets tokens once somebody has let it in, once", async () => {
    const { device_code, user_code } = await codesOf();
    expect(await errorOf(open, device_code)).toEqual([400, "authorization_pending"]);
    clock += 1000;
    expect(await errorOf(open, device_code)).toEqual([400, "slow_down"]);
    const done = await decide(user_code, "authorize");
    expect(done.page).toContain("Device successfully authorized");
    clock += 6000;
    const { status, json } = await poll(open, device_code);
    expect([status, json]).toEqual([
      200,
      {
        access_token: expect.any(String),
        token_type: "bearer",
        expires_in: 7200,
        refresh_token: expect.any(String),
        scope: SCOPES.join(" "),
        created_at: Math.floor(clock / 1000),
        id_token: expect.any(String),
      },
    ]);
    expect(decodeJwt(json.id_token)).toMatchObject({
      aud: open.client_id,
      preferred_username: "developer",
      auth_time: expect.any(Number),
    });
    expect((await app.user(json.access_token)).json.username).toBe("developer");
    expect(await errorOf(open, device_code)).toEqual([400, "invalid_grant"]);
    expect((await app.refresh(open, json.refresh_token)).status).toBe(200);
    const { page } = await visitor.get("/-/user_settings/applications");
    expect(page).toContain("glab");
    const logged = await app.store.rows(
      "select author_name from audit_events where action = 'application authorized' and target = 'glab'",
    );
    expect(logged).toEqual([["developer"]]);
  });

  it("that waits its time is not told to slow down", async () => {
    const { device_code } = await codesOf();
    for (let times = 0; times < 3; times += 1) {
      expect(await errorOf(open, device_code)).toEqual([400, "authorization_pending"]);
      clock += 5000;
    }
  });

  it("is turned away", async () => {
    const { device_code, user_code } = await codesOf();
    expect((await decide(user_code, "deny")).page).toContain("Device turned away");
    expect(await errorOf(open, device_code)).toEqual([400, "access_denied"]);
    expect(await errorOf(open, device_code)).toEqual([400, "invalid_grant"]);
    expect((await decide(user_code, "authorize")).page).toContain("The user code is invalid");
  });

  it("has five minutes", async () => {
    const { device_code, user_code } = await codesOf();
    clock += 301_000;
    const late = await decide(user_code, "authorize");
    expect([late.status, late.page.includes("The user code is expired")]).toEqual([422, true]);
    expect(await errorOf(open, device_code)).toEqual([400, "expired_token"]);
    expect(await errorOf(open, device_code)).toEqual([400, "invalid_grant"]);
    const let_in = await codesOf();
    await decide(let_in.user_code, "authorize");
    clock += 301_000;
    expect(await errorOf(open, let_in.device_code)).toEqual([400, "expired_token"]);
  });

  it("gets nothing with the code of another application, or as nobody", async () => {
    const { device_code, user_code } = await codesOf();
    await decide(user_code, "authorize");
    expect(await errorOf(client, device_code)).toEqual([400, "invalid_grant"]);
    expect((await app.token({ grant_type: GRANT, device_code })).status).toBe(401);
    const { json } = await app.token({ grant_type: GRANT, ...credentials(open) });
    expect(json.error).toBe("invalid_request");
    expect((await poll(open, device_code)).status).toBe(200);
  });

  it("gets tokens once, however often it asks at once", async () => {
    const { device_code, user_code } = await codesOf();
    await decide(user_code, "authorize");
    const answers = await Promise.all(Array.from({ length: 10 }, () => poll(open, device_code)));
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
  });

  it("gets nothing of somebody who was blocked since", async () => {
    const { device_code, user_code } = await codesOf();
    await decide(user_code, "authorize", await app.signedIn("reporter"));
    const { json } = await app.call("GET /user", { as: "reporter" });
    await app.call(`POST /users/${json.id}/block`, { as: "admin" });
    expect(await errorOf(open, device_code)).toEqual([400, "invalid_grant"]);
    await app.call(`POST /users/${json.id}/unblock`, { as: "admin" });
  });
});

describe("what begins it", () => {
  it("is refused for unknown applications, wrong secrets and scopes", async () => {
    const unknown = await app.call("POST /oauth/authorize_device", { form: { client_id: "x" } });
    expect([unknown.status, unknown.json.error]).toEqual([401, "invalid_client"]);
    const none = await app.call("POST /oauth/authorize_device");
    expect([none.status, none.json.error]).toEqual([401, "invalid_client"]);
    const { client_id } = client;
    const secretless = await app.call("POST /oauth/authorize_device", { form: { client_id } });
    expect([secretless.status, secretless.json.error]).toEqual([401, "invalid_client"]);
    const scoped = await begin(open, { scope: "sudo" });
    expect([scoped.status, scoped.json.error]).toEqual([400, "invalid_scope"]);
    expect((await begin(client)).status).toBe(200);
  });

  it("is limited by application and address", async () => {
    const statuses: number[] = [];
    for (let times = 0; times < 11; times += 1) {
      statuses.push((await begin(open, {}, "203.0.113.7")).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
    expect((await begin(client, {}, "203.0.113.7")).status).toBe(200);
    expect((await begin(open, {}, "203.0.113.8")).status).toBe(200);
    clock += 300_001;
    expect((await begin(open, {}, "203.0.113.7")).status).toBe(200);
  });
});

describe("the page", () => {
  it("asks to sign in, and comes back with the code", async () => {
    const { user_code } = await codesOf();
    const anonymous = await new Visitor(app).get(`/oauth/device?user_code=${user_code}`);
    expect(anonymous.status).toBe(302);
    const to = new URL(anonymous.headers.get("location") ?? "", "http://localhost");
    expect([to.pathname, to.searchParams.get("return_to")]).toEqual([
      "/users/sign_in",
      `/oauth/device?user_code=${user_code}`,
    ]);
  });

  it("shows who asks for what, from where, before anything is granted", async () => {
    const { json } = await begin(open, { scope: "read_user" }, "203.0.113.9");
    const link = await visitor.get(`/oauth/device?user_code=${json.user_code}`);
    expect(link.page).toContain(`value="${json.user_code}"`);
    const typed = `${json.user_code.slice(0, 4).toLowerCase()}-${json.user_code.slice(4)} `;
    const shown = await visitor.post("/oauth/device", { user_code: typed });
    expect(shown.status).toBe(200);
    for (const text of ["glab", "@owner", "Read who you are", "203.0.113.9", "<time"]) {
      expect(shown.page).toContain(text);
    }
    expect(await errorOf(open, json.device_code)).toEqual([400, "authorization_pending"]);
    const forged = await visitor.post(
      "/oauth/device",
      { user_code: json.user_code, decision: "authorize" },
      "0".repeat(64),
    );
    expect(forged.status).toBe(422);
    clock += 6000;
    expect(await errorOf(open, json.device_code)).toEqual([400, "authorization_pending"]);
  });

  it("takes ten wrong codes, and then none for a while", async () => {
    const { user_code } = await codesOf();
    await visitor.get("/oauth/device");
    for (let times = 0; times < 10; times += 1) {
      const wrong = await visitor.post("/oauth/device", { user_code: `WRONG${times}` });
      expect([wrong.status, wrong.page.includes("The user code is invalid")]).toEqual([422, true]);
    }
    expect((await visitor.post("/oauth/device", { user_code })).status).toBe(429);
    clock += 120_000;
    expect((await visitor.post("/oauth/device", { user_code })).status).toBe(429);
    clock += 600_000;
    const { user_code: other } = await codesOf();
    for (let times = 0; times < 12; times += 1) {
      expect((await visitor.post("/oauth/device", { user_code: other })).status).toBe(200);
    }
  });
});
