import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const TOKEN = { "private-token": "token-of-owner" };
const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

async function groupsOf(response: Response) {
  expect(response.status).toBe(200);
  const [{ web_url }] = await response.json();
  return { web_url, link: response.headers.get("link")?.split(">")[0]?.slice(1) };
}

describe("fetch", () => {
  it("accepts the arguments of the Fetch API: a string or a URL, with an init", async () => {
    const address = "http://pm.test/api/v4/groups/acme/labels";
    expect((await app.fetch("http://pm.test/api/v4/groups")).status).toBe(200);
    const made = await app.fetch(new URL(address), {
      method: "POST",
      headers: TOKEN,
      body: new URLSearchParams({ name: "by-url", color: "#123456" }),
    });
    expect(made.status).toBe(201);
    const gone = await app.fetch(
      new Request(`${address}/by-url`, { method: "DELETE", headers: TOKEN }),
    );
    expect(gone.status).toBe(204);
    await expect(async () => app.fetch("/api/v4/version")).rejects.toThrow(TypeError);
  });

  it("answers below a prefix, with links that begin with it", async () => {
    for (const prefix of ["/pm", "/pm/", "pm"]) {
      const response = await app.fetch("http://pm.test/pm/api/v4/groups", {
        headers: TOKEN,
        prefix,
      });
      expect(await groupsOf(response)).toEqual({
        web_url: "http://pm.test/pm/groups/acme",
        link: expect.stringMatching(/^http:\/\/pm\.test\/pm\/api\/v4\/groups\?/),
      });
    }
    for (const path of ["/api/v4/groups", "/pmx/api/v4/groups", "/pm", "/x/pm/api/v4/groups"]) {
      const response = await app.fetch(`http://pm.test${path}`, { prefix: "/pm" });
      expect([path, response.status]).toEqual([path, 404]);
    }
  });

  it("takes the prefix from the application's own URL, whether or not it was cut off", async () => {
    const mounted = await testApp({ url: "https://pm.example.com/pm/" });
    for (const path of ["/pm/api/v4/groups", "/api/v4/groups"]) {
      const response = await mounted.fetch(`http://10.0.0.1:8080${path}`, { headers: TOKEN });
      expect((await groupsOf(response)).web_url).toBe("https://pm.example.com/pm/groups/acme");
    }
    await mounted.dispose();
  });

  it("reads only the prefix from a framework's second argument", async () => {
    const request = new Request("http://pm.test/api/v4/user", { headers: TOKEN });
    const others = { method: "DELETE", body: "x", incoming: {}, waitUntil: () => undefined };
    expect((await app.fetch(request, others as RequestInit)).status).toBe(200);
  });
});

describe("Hono on Node, which replaces the global Request and Response", () => {
  const globals = { Request: globalThis.Request, Response: globalThis.Response };
  let url: string;
  let server: ReturnType<typeof createAdaptorServer>;
  beforeAll(async () => {
    const hono = new Hono();
    hono.get("/", (context) => context.text("The shop's front page"));
    hono.all("/pm/*", (context) => app.fetch(context.req.raw, { prefix: "/pm" }));
    hono.mount("/mounted", app.fetch);
    server = createAdaptorServer({ fetch: hono.fetch }).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
    Object.assign(globalThis, globals);
  });

  it("really replaces them", () => {
    expect(globalThis.Response).not.toBe(globals.Response);
  });

  it("receives links below the prefix", async () => {
    const { web_url } = await groupsOf(await fetch(`${url}/pm/api/v4/groups`, { headers: TOKEN }));
    expect(web_url).toBe(`${url}/pm/groups/acme`);
  });

  it("can send bodies, and receives errors", async () => {
    const labels = `${url}/pm/api/v4/groups/acme/labels`;
    const headers = { ...TOKEN, "content-type": "application/json" };
    const body = JSON.stringify({ name: "by-hono", color: "#123456" });
    expect((await fetch(labels, { method: "POST", headers, body })).status).toBe(201);
    expect((await fetch(labels, { method: "POST", headers, body })).status).toBe(409);
    expect((await fetch(`${labels}/by-hono`, { method: "DELETE", headers })).status).toBe(204);
    expect((await fetch(`${url}/pm/api/v4/user`)).status).toBe(401);
  });

  it("can mount it", async () => {
    expect((await fetch(`${url}/mounted/api/v4/groups`, { headers: TOKEN })).status).toBe(200);
    expect(await (await fetch(url)).text()).toBe("The shop's front page");
  });
});

describe("unknown paths", () => {
  it.each(["/-/nowhere", "/oauth/nowhere", "/admin/nowhere", "/favicon.png"])(
    "%s is a page for browsers, and JSON for programs",
    async (path) => {
      const page = await app.fetch(`http://pm.test${path}`, { headers: HTML });
      expect(page.status).toBe(404);
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(await page.text()).toContain("<h1>Not found</h1>");
      const json = await app.fetch(`http://pm.test${path}`);
      expect([json.status, await json.json()]).toEqual([404, { error: "404 Not Found" }]);
    },
  );

  it("are JSON below the API, with pages switched off, and for other methods", async () => {
    const isJson = async (response: Response) => {
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({ error: "404 Not Found" });
    };
    await isJson(await app.fetch("http://pm.test/api/v4/nowhere", { headers: HTML }));
    await isJson(await app.fetch("http://pm.test/nowhere", { headers: HTML, method: "POST" }));
  });

  it("below a prefix, the mount itself redirects browsers to the account page", async () => {
    for (const path of ["/pm", "/pm/", "/pm/?x=1"]) {
      const page = await app.fetch(`http://pm.test${path}`, { headers: HTML, prefix: "/pm" });
      expect([path, page.status, page.headers.get("location")]).toEqual([
        path,
        303,
        "/pm/explore/projects",
      ]);
    }
    expect((await app.fetch("http://pm.test/", { headers: HTML })).status).toBe(404);
  });
});
