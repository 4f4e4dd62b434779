import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DRAGGING } from "../../src/browse/boards.ts";
import type { PageName } from "../../src/index.ts";
import { serve } from "../../src/node.ts";
import { LIVE } from "../../src/pages/live.ts";
import { STYLE } from "../../src/pages/style.ts";
import { PAGE_NAMES, pages } from "../../src/web/index.ts";
import { givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";

let app: TestApp;
let admin: Visitor;
beforeAll(async () => {
  app = await testApp();
  await givePassword(app, "admin");
  admin = new Visitor(app);
  await admin.signIn("admin", PASSWORD);
  await admin.get("/-/profile");
});
afterAll(() => app.dispose());

const routes = pages(PAGE_NAMES).flatMap((resource) => resource.routes);
const pathOf = ({ path }: { path: string }) => path.replace(/:\w+/g, "1");
const forms = routes.filter(({ method }) => method === "POST").map(pathOf);
const shown = routes.filter(({ method, path }) => method === "GET" && path !== "/").map(pathOf);
// Whoever has the link of an invitation may open it.
const own = shown.filter((path) => /^\/(-|import)\/(?!invites\/)/.test(path));

describe("every form", () => {
  it("covers several forms", () => expect(forms.length).toBeGreaterThan(10));

  it.each(forms)("%s is refused without its page's token", async (path) => {
    expect((await admin.post(path, {}, "")).status).toBe(422);
    expect((await admin.post(path, {}, "0".repeat(64))).status).toBe(422);
    expect((await new Visitor(app).post(path, {}, admin.csrf)).status).toBe(422);
    expect((await admin.get("/api/v4/user")).status).toBe(200);
  });

  it.each(forms)("%s is refused from another site, token or not", async (path) => {
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.test" },
      { origin: "http://sub.localhost" },
      { origin: "null" },
    ]) {
      const visitor = new Visitor(app);
      visitor.cookie = admin.cookie;
      visitor.headers = headers as unknown as Record<string, string>;
      const answer = await visitor.post(path, {}, admin.csrf);
      expect([headers, answer.status]).toEqual([headers, 422]);
    }
    expect((await admin.get("/api/v4/user")).status).toBe(200);
  });

  it("is accepted from our own pages, whatever origin headers the browser sends", async () => {
    for (const headers of [
      { "sec-fetch-site": "same-origin", origin: "null" },
      { "sec-fetch-site": "none" },
      { origin: ORIGIN },
      // Behind a proxy that terminates TLS without saying so.
      { origin: "https://localhost" },
    ]) {
      admin.headers = headers as unknown as Record<string, string>;
      const answer = await admin.post("/-/user_settings/active_sessions/revoke_others");
      expect([headers, answer.status]).toEqual([headers, 303]);
    }
    admin.headers = {};
  });
});

describe("with a public https address below a path", () => {
  it("the cookie is Secure and limited to that path, and forms are accepted from there", async () => {
    const other = await testApp({ url: "https://pm.example.com/x/" });
    const visitor = new Visitor(other);
    const { headers, page } = await visitor.get("/users/sign_in");
    expect(headers.get("set-cookie")).toMatch(/; Path=\/x; HttpOnly; SameSite=Lax; Secure$/);
    expect(page).toContain('action="/x/users/sign_in"');
    visitor.headers["origin"] = "https://pm.example.com";
    const answer = await visitor.post("/users/sign_in", { login: "admin", password: "wrong" });
    expect(answer.status).toBe(401);
    await other.dispose();
  });
});

describe("every page", () => {
  it.each(own)("%s redirects visitors who are not signed in to sign in, and back", async (path) => {
    const answer = await new Visitor(app).get(`${path}?a=%26`);
    expect(answer.status).toBe(302);
    const there = `/users/sign_in?return_to=${encodeURIComponent(`${path}?a=%26`)}`;
    expect(answer.headers.get("location")).toBe(there);
  });

  it.each(shown)("%s runs nothing, loads nothing, and can't be framed or cached", async (path) => {
    const isOwn = /^\/(-|import)\//.test(path);
    const visitor = isOwn ? admin : new Visitor(app);
    const answer = await visitor.get(path);
    if (answer.status === 303) return;
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy.includes("form-action 'self'")).toBe(path.startsWith("/-/"));
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("referrer-policy")).toBe("same-origin");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.page).not.toMatch(
      /<script|<link|<img|\son\w+=|\sstyle=|https?:\/\/(?!localhost|app\.example)/,
    );
    for (const form of answer.page.match(/<form.*?<\/form>/gs) ?? []) {
      expect(form).toMatch(/^<form method="post" action="\/[^/]/);
      expect(form).toContain(`name="authenticity_token" value="${visitor.csrf}"`);
    }
  });

  it("escapes user-defined names", async () => {
    const name = `<b>"'&`;
    await admin.get("/-/user_settings/personal_access_tokens");
    const form = { name, "scopes[]": "api", expires_at: "" };
    const made = await admin.post("/-/user_settings/personal_access_tokens", form);
    expect(made.page).toContain("<h3>&lt;b&gt;&quot;&#39;&amp;</h3>");
    expect(made.page).not.toContain("<b>");
  });

  it("shows errors in the same layout", async () => {
    const gone = await admin.get("/-/user_settings/applications/999");
    expect([gone.status, gone.headers.get("content-type")]).toEqual([
      404,
      "text/html; charset=utf-8",
    ]);
    expect(gone.page).toContain("<h1>Not found</h1>");
    const old = await admin.post("/-/user_settings/password", {}, "");
    expect(old.page).toContain("<h1>Form not accepted</h1>");
    const wrong = await admin.post("/-/user_settings/password", {});
    expect([wrong.status, wrong.page.includes("<h1>Not understood</h1>")]).toEqual([400, true]);
  });
});

describe("pages", () => {
  const withPages = async (chosen: false | PageName[], test: (app: TestApp) => Promise<void>) => {
    const other = await testApp({ pages: chosen });
    await test(other).finally(() => other.dispose());
  };

  it("false switches all off: their paths are the host's", () =>
    withPages(false, async (other) => {
      for (const path of shown) {
        const answer = await new Visitor(other).get(path);
        expect([path, answer.status, answer.page]).toEqual([
          path,
          404,
          '{"error":"404 Not Found"}',
        ]);
      }
      expect((await other.call("GET /-/health")).status).toBe(200);
    }));

  it("a list enables only those pages, and links to no others", () =>
    withPages(["sign_in", "personal_access_tokens"], async (other) => {
      await givePassword(other, "admin");
      const visitor = new Visitor(other);
      const answer = await visitor.signIn("admin", PASSWORD);
      expect(answer.headers.get("location")).toBe("/-/user_settings/personal_access_tokens");
      const { page } = await visitor.follow(answer);
      const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path);
      expect([...new Set(links)]).toEqual(["/-/user_settings/personal_access_tokens"]);
      expect((await visitor.get("/-/profile")).status).toBe(404);
    }));

  it("says, without pages of projects, where the API has what may be there, and keeps signing out", () =>
    withPages(["sign_in", "profile"], async (other) => {
      await givePassword(other, "admin");
      const browser = new Visitor(other);
      await browser.signIn("admin", PASSWORD);
      browser.headers = { accept: "text/html" };
      const gone = await browser.get("/acme/si%20te/-/issues/1");
      expect(gone.status).toBe(404);
      const address = `${ORIGIN}/api/v4/projects/acme%2Fsi%20te`;
      expect(gone.page).toContain(`href="${address}">${address}</a>`);
      expect(gone.page).toContain("Sign out");
      expect((await browser.get("/acme")).page).toContain(`${ORIGIN}/api/v4/groups/acme`);
      expect((await browser.get("/-/nothing")).page).not.toContain("/api/v4");
    }));

  it.each([
    { chosen: undefined, leads: "/explore/projects" },
    { chosen: ["profile"] as const, leads: "/-/profile" },
    {
      chosen: ["applications", "active_sessions"] as const,
      leads: "/-/user_settings/applications",
    },
    { chosen: ["sign_in"] as const, leads: undefined },
    { chosen: false as const, leads: undefined },
  ])("$chosen: / of a standalone server leads to $leads", async ({ chosen, leads }) => {
    const other = await testApp({ pages: chosen, url: "https://pm.example.com/x" });
    const server = await serve(other, { port: 0 });
    const answer = await fetch(server.url, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual(
      leads === undefined ? [404, null] : [303, `/x${leads}`],
    );
    const robots = await fetch(`${server.url}/robots.txt`);
    expect(await robots.text()).toBe("User-agent: *\nDisallow: /\n");
    const icon = await fetch(`${server.url}/favicon.ico`);
    expect([icon.status, icon.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
    await server.close();
    await other.dispose();
  });

  it("leaves what is at the root of a host to an embedding app", async () => {
    for (const path of ["/robots.txt", "/favicon.ico"]) {
      expect((await admin.get(path)).status).toBe(404);
    }
  });

  it("refuses unknown names", async () => {
    await expect(testApp({ pages: ["wiki" as PageName] })).rejects.toThrow(
      /^pages: wiki is not a page/,
    );
  });
});

it("the style sheet and the scripts are small", () => {
  expect(STYLE.length).toBeLessThan(30_000);
  expect(LIVE.markup.text.length + DRAGGING.markup.text.length).toBeLessThan(15_000);
});
