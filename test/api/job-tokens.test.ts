import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

// See docs/authentication.md. The access matrix checks which routes accept them.

const START = Date.parse("2026-06-15T12:00:00.000Z");
let clock = START;
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

const SITE = "GET /projects/acme%2Fsite";
const VAULT = "GET /projects/secret%2Fvault";
const using = (token: string) => ({ headers: { "job-token": token } });

async function jobOf(user: string, project = "secret/vault", lifetime?: number) {
  const made = await app.admin.tokens.createForJob({
    user,
    project,
    ...(lifetime === undefined ? {} : { lifetime }),
  });
  return made.token;
}

it("reads its project, by header and by parameter", async () => {
  const made = await app.admin.tokens.createForJob({ user: "GUEST", project: "secret/vault" });
  expect(made).toEqual({
    id: expect.any(Number),
    username: "guest",
    project: "secret/vault",
    expires_at: "2026-06-15T13:00:00.000Z",
    token: expect.stringMatching(/^pmat-[0-9a-f]{40}$/),
  });
  expect((await app.call(VAULT)).status).toBe(404);
  const byHeader = await app.call(VAULT, using(made.token));
  expect([byHeader.status, byHeader.json.path]).toEqual([200, "vault"]);
  const byParameter = await app.call(`${VAULT}?job_token=${made.token}`);
  expect(byParameter.json).toEqual(byHeader.json);
  const head = await app.call(VAULT.replace("GET", "HEAD"), using(made.token));
  expect(head.status).toBe(200);
});

it("is stored as a digest, and never shown in links", async () => {
  const token = await jobOf("developer");
  expect(JSON.stringify(await app.store.rows("select * from job_tokens"))).not.toContain(token);
  const { headers } = await app.call(`${VAULT}/merge_requests?job_token=${token}`);
  expect(headers.get("link")).not.toContain(token);
});

it("has its user's rights and no more", async () => {
  const stranger = await app.call(VAULT, using(await jobOf("stranger")));
  expect([stranger.status, stranger.json]).toEqual([404, { message: "404 Project Not Found" }]);
  const blocked = await app.call(VAULT, using(await jobOf("blocked")));
  expect(blocked.status).toBe(403);
});

it("reads of other projects what everybody may, and changes nothing there", async () => {
  const token = await jobOf("owner");
  const read = await app.call(SITE, using(token));
  expect([read.status, read.json]).toEqual([200, (await app.call(SITE)).json]);
  const { status, json } = await app.call("POST /projects/acme%2Fsite/releases", {
    ...using(token),
    json: { tag_name: "v1", ref: "main" },
  });
  const message =
    "403 Forbidden - Authentication by CI/CD job token not allowed from secret/vault to acme/site.";
  expect([status, json]).toEqual([403, { message }]);
});

it("ends with its lifetime, its user and its project", async () => {
  const token = await jobOf("owner", "acme/site", 60);
  clock += 59_999;
  expect((await app.call(SITE, using(token))).status).toBe(200);
  clock += 1;
  const over = await app.call(SITE, using(token));
  expect([over.status, over.json]).toEqual([401, { message: "401 Unauthorized" }]);
  expect(over.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');

  const { id } = await app.admin.users.create({
    username: "builder",
    name: "C",
    email: "builder@x.test",
  });
  const gone = await jobOf("builder", "acme/site");
  expect((await app.call(SITE, using(gone))).status).toBe(200);
  await app.call(`DELETE /users/${id}`, { as: "admin" });
  expect((await app.call(SITE, using(gone))).status).toBe(401);
  // Expired tokens are deleted when the next one is created.
  await jobOf("owner");
  const kept = await app.store.rows("select expires_at from job_tokens");
  expect(kept.every(([expires]) => Number(expires) > clock)).toBe(true);
});

describe("outside its project and beside other tokens", () => {
  it("241: it is ignored", async () => {
    const token = await jobOf("owner");
    expect((await app.call("GET /user", using(token))).status).toBe(401);
    expect((await app.call("PUT /projects/secret%2Fvault?name=x", using(token))).status).toBe(401);
    expect((await app.call("GET /projects", using(token))).json).toHaveLength(1);
  });

  it("it is not accepted as a personal token, and vice versa", async () => {
    const token = await jobOf("owner");
    expect((await app.call(VAULT, { headers: { "private-token": token } })).status).toBe(401);
    expect((await app.call(VAULT, using("token-of-owner"))).status).toBe(401);
    expect((await app.call("GET /personal_access_tokens", { as: "owner" })).text).not.toContain(
      "job",
    );
  });

  it("any other token takes precedence", async () => {
    const token = await jobOf("owner");
    const { status } = await app.call(VAULT, {
      headers: { "job-token": token, "private-token": "no token" },
    });
    expect(status).toBe(401);
  });
});

it("is only issued for an existing user and project, for a month at most, and audited", async () => {
  await expect(jobOf("nobody")).rejects.toThrow("404 User Not Found");
  await expect(jobOf("owner", "secret/none")).rejects.toThrow("404 Project Not Found");
  for (const lifetime of [0, -1, Number.NaN, 31 * 86_400]) {
    await expect(jobOf("owner", "secret/vault", lifetime)).rejects.toMatchObject({
      name: "OptionError",
      option: "lifetime",
    });
  }
  const [event] = await app.admin.auditEvents.list({ action: "job token made" });
  expect(event).toMatchObject({ author: "operator", user: "owner", target: "secret/vault" });
});
