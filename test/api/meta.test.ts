import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import { VERSION } from "../../src/core/version.ts";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

describe("GET /version and /metadata", () => {
  it("397: report version and features to users", async () => {
    const version = await app.call("GET /version", { as: "stranger" });
    expect([version.status, version.json]).toEqual([
      200,
      { version: VERSION, revision: `v${VERSION}` },
    ]);
    const metadata = await app.call("GET /metadata", { as: "stranger" });
    expect([metadata.status, metadata.json]).toEqual([
      200,
      {
        version: VERSION,
        revision: `v${VERSION}`,
        kas: { enabled: false, externalUrl: null, externalK8sProxyUrl: null, version: null },
        enterprise: true,
      },
    ]);
  });

  it.each(["/version", "/metadata"])("%s is 401 without a token", async (path) => {
    const { status, json } = await app.call(`GET ${path}`);
    expect([status, json]).toEqual([401, { message: "401 Unauthorized" }]);
  });
});

describe("health", () => {
  it.each(["/-/health", "/-/readiness"])("%s is ok, to anyone", async (path) => {
    const { status, json } = await app.call(`GET ${path}`);
    expect([status, json]).toEqual([200, { status: "ok" }]);
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
