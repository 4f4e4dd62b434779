import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp, createAppOn } from "../../src/app.ts";
import { VERSION } from "../../src/core/version.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const metadataOf = (version: string, enterprise: boolean) => ({
  version,
  revision: `v${VERSION}`,
  kas: { enabled: false, externalUrl: null, externalK8sProxyUrl: null, version: null },
  enterprise,
});

const ask = async (other: Pick<TestApp, "call">, as: Person = "stranger") => {
  const query =
    "{ metadata { version revision enterprise kas { enabled version externalUrl } } currentLicense { plan type name } }";
  const answer = await other.call("POST http://pm.test/api/graphql", { as, json: { query } });
  return answer.json.data;
};

describe("GET /version and /metadata", () => {
  it.each([
    [{}, "18.5.0-ee", true, "ultimate"],
    [{ tier: "premium" }, "18.5.0-ee", true, "premium"],
    [{ tier: "free" }, "18.5.0", false, undefined],
    [{ gitlabVersion: "19.3.1" }, "19.3.1-ee", true, "ultimate"],
  ] as const)(
    "397: with %o are those of a GitLab, everywhere",
    async (options, version, enterprise, plan) => {
      const other = await app.another(options);
      const expected = metadataOf(version, enterprise);
      for (const path of ["/version", "/metadata"]) {
        const { status, json } = await other.call(`GET ${path}`, { as: "stranger" });
        expect([status, json]).toEqual([200, expected]);
      }
      expect(await ask(other)).toEqual({
        metadata: {
          version,
          revision: `v${VERSION}`,
          enterprise,
          kas: { enabled: false, version: null, externalUrl: null },
        },
        currentLicense: plan ? { plan, type: "offline_license", name: null } : null,
      });
      expect((await ask(other, "anonymous")).currentLicense).toBeNull();
      await other.close();
    },
  );

  it.each(["18", "18.5", "v18.5.0", "18.5.0-ee", "", 18])(
    "refuses %o as a version",
    async (given) => {
      const made = createApp({ gitlabVersion: given as string });
      await expect(made).rejects.toThrow("createApp: gitlabVersion must be");
    },
  );

  it("comes with the headers of a GitLab, and our own version", async () => {
    for (const [request, expected] of [
      ["GET /version", 401],
      ["GET /nothing", 404],
      ["GET /-/health", 200],
    ] as const) {
      const { status, headers } = await app.call(request, { headers: { "x-request-id": "of-1" } });
      expect(status).toBe(expected);
      expect(headers.get("server")).toBe(`pm-api/${VERSION}`);
      const meta = JSON.parse(headers.get("x-gitlab-meta") as string);
      expect(meta).toEqual({ correlation_id: "of-1", version: "1" });
    }
  });

  it.each(["/version", "/metadata"])("%s is 401 without a token", async (path) => {
    const { status, json } = await app.call(`GET ${path}`);
    expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
  });
});

describe("health", () => {
  it.each([
    ["/-/health", { status: "ok", version: VERSION }],
    ["/-/liveness", { status: "ok" }],
    ["/-/readiness", { status: "ok" }],
  ])("%s is ok, to anyone", async (path, expected) => {
    const { status, json } = await app.call(`GET ${path}`);
    expect([status, json]).toEqual([200, expected]);
    expect((await app.call(`HEAD ${path}`)).status).toBe(200);
  });

  it("accesses the database only to report its readiness", async () => {
    const gone = () => Promise.reject(new Error("gone"));
    const { dialect } = app.store;
    const failing = await createAppOn(
      {
        ...app.store,
        reader: () => ({ dialect, rows: gone, slice: gone, each: gone, all: gone, one: gone }),
      },
      { onError: () => undefined, background: false },
    );
    const ask = async (path: string) =>
      (await failing.fetch(new Request(`http://pm.test${path}`))).status;
    expect([await ask("/-/health"), await ask("/-/readiness")]).toEqual([200, 500]);
  });
});

describe("GET /license", () => {
  it("is that of the tier, without an end, for administrators", async () => {
    for (const tier of ["premium", "ultimate"] as const) {
      const other = await app.another({ tier });
      const { status, json } = await other.call("GET /license", { as: "admin" });
      expect([status, json]).toMatchObject([
        200,
        { plan: tier, expired: false, expires_at: null, user_limit: 0, overage: 0 },
      ]);
      const { json: counts } = await other.call("GET /application/statistics", { as: "admin" });
      expect([json.active_users, json.historical_max]).toEqual(Array(2).fill(counts.active_users));
      await other.close();
    }
    for (const [as, refused] of [
      ["anonymous", 401],
      ["owner", 403],
    ] as const) {
      expect((await app.call("GET /license", { as })).status).toBe(refused);
    }
  });

  it("is forbidden where the tier is free", async () => {
    const other = await app.another({ tier: "free" });
    expect((await other.call("GET /license", { as: "admin" })).status).toBe(403);
    await other.close();
  });
});

describe("GET /-/avatars/:name", () => {
  it("draws an initial, at the avatar URL of users", async () => {
    const { json } = await app.call("GET /users?username=guest");
    const url = new URL(json[0].avatar_url);
    const { status, text, headers } = await app.call(`GET ${url.pathname}`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("image/svg+xml");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(text).toMatch(/^<svg [^>]*>.*>G<\/text>\n<\/svg>\n$/s);
    expect(headers.get("etag")).toMatch(/^W\//);
  });

  it.each([
    "a.svg",
    "a-1",
    "a-1.png",
    "ab-1.svg",
    "%3Cscript%3E-1.svg",
    "a-1000.svg",
    "A-1.svg",
    "a-1.svg%00",
  ])("%s is 404 or 400", async (name) => {
    const { status } = await app.call(`GET /-/avatars/${name}`);
    expect(status).toBe(name.includes("%00") ? 400 : 404);
  });
});
