import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { type CallOptions, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { CERTIFICATES } from "./_certificates.ts";
import type { CiProject } from "./_pipelines.ts";
import { publish, SITE, siteProject } from "./_sites.ts";
import { zipped } from "./_zip.ts";

const DOMAIN = "pages.example.net";
let app: TestApp;
let site: CiProject;
let host: string;
beforeAll(async () => {
  app = await testApp({ sites: `https://${DOMAIN}`, url: "https://pm.example.com" });
  site = await siteProject(app, "site");
  host = new URL((await site.call("GET /pages", { as: "owner" })).json.url).host;
});
afterAll(() => app.dispose());

const ask = (address: string, options?: CallOptions) => app.call(`GET https://${address}`, options);
const textAt = async (address: string, options?: CallOptions) => {
  const { status, text } = await ask(address, options);
  return [status, text];
};
const NOTHING = [404, "The page you're looking for could not be found.\n"];

describe("the host of a site", () => {
  it("is its own, or its group's if it has none", async () => {
    expect(host).toMatch(new RegExp(`^site-[0-9a-z]{6}\\.${DOMAIN}$`));
    expect(await textAt(`${host}/`)).toEqual([200, "<h1>Home</h1>"]);
    expect(await textAt(`${host}/docs/`)).toEqual([200, "<h1>Docs</h1>"]);
    const moved = await ask(`secret.${DOMAIN}/site/docs/?a=b`);
    expect([moved.status, moved.headers.get("location")]).toEqual([
      308,
      `https://${host}/docs/?a=b`,
    ]);
    const set = (pages_unique_domain_enabled: boolean) =>
      site.call("PATCH /pages", { as: "maintainer", json: { pages_unique_domain_enabled } });
    expect((await set(false)).json).toMatchObject({
      url: `https://secret.${DOMAIN}/site`,
      is_unique_domain_enabled: false,
    });
    expect(await textAt(`secret.${DOMAIN}/site/docs/`)).toEqual([200, "<h1>Docs</h1>"]);
    expect(await textAt(`${host}/`)).toEqual(NOTHING);
    const { status, headers } = await ask(`secret.${DOMAIN}/site`);
    expect([status, headers.get("location")]).toEqual([302, "/site/"]);
    expect((await set(true)).json.url).toBe(`https://${host}`);
  });

  it("may be that of the group as a whole", async () => {
    const own = await siteProject(app, `secret.${DOMAIN}`);
    await own.call("PATCH /pages", { as: "owner", json: { pages_unique_domain_enabled: false } });
    const { json } = await own.call("GET /pages", { as: "owner" });
    expect(json.url).toBe(`https://secret.${DOMAIN}`);
    expect(await textAt(`secret.${DOMAIN}/about`)).toEqual([200, "<h1>About</h1>"]);
  });

  it.each([
    ["in capitals", () => host.toUpperCase()],
    ["with a port", () => `${host}:8443`],
    ["with the dot of the root", () => `${host}.`],
  ])("is the same %s", async (_, at) => {
    expect(await textAt(`${at()}/`)).toEqual([200, "<h1>Home</h1>"]);
  });

  it.each([
    ["the domain itself", () => DOMAIN],
    ["another name with the number", () => host.replace("site-", "sites-")],
    ["a number of nobody", () => `site-zzzzzz.${DOMAIN}`],
    ["a label below", () => `x.${host}`],
    ["a group that there is not", () => `nobody.${DOMAIN}`],
  ])("is not %s", async (_, at) => {
    expect(await textAt(`${at()}/`)).toEqual(NOTHING);
  });

  it("has nothing of the server, and the server nothing of it", async () => {
    const headers = { "private-token": tokenOf("admin") };
    for (const path of [
      "/api/v4/user",
      "/users/sign_in",
      "/api/graphql",
      "/-/sites/secret/site/",
    ]) {
      const { status, text } = await ask(`${host}${path}`, { headers });
      expect([status, text]).toEqual([404, "<h1>Nowhere</h1>"]);
    }
    for (const path of ["/-/site-hosts", "/-/site-hosts/site/", "/-/sites/secret/site/"]) {
      const { status } = await ask(`pm.example.com${path}`, { headers });
      expect(status).toBe(404);
    }
    const posted = await app.call(`POST https://${host}/api/v4/projects`, { headers });
    expect(posted.status).toBe(405);
  });

  it("reads no cookies and sets none", async () => {
    for (const path of ["/", "/docs", "/missing"]) {
      const { headers } = await ask(`${host}${path}`, { headers: { cookie: "_pm_session=x" } });
      expect(headers.get("set-cookie")).toBeNull();
      expect(headers.get("content-security-policy")).toBeNull();
    }
  });

  it("shows sites of a few to tokens in headers, and to nobody else", async () => {
    const own = await siteProject(app, "hidden");
    await own.call("PUT ", { as: "owner", json: { pages_access_level: "private" } });
    const { json } = await own.call("GET /pages", { as: "owner" });
    const hidden = new URL(json.url).host;
    const home = [200, "<h1>Home</h1>"];
    const token = tokenOf("guest");
    expect(await textAt(`${hidden}/`)).toEqual(NOTHING);
    expect(await textAt(`${hidden}/?private_token=${token}`)).toEqual(NOTHING);
    expect(await textAt(`${hidden}/`, { headers: { "private-token": token } })).toEqual(home);
    expect(await textAt(`${hidden}/`, { headers: { authorization: `Bearer ${token}` } })).toEqual(
      home,
    );
    const stranger = { "private-token": tokenOf("stranger") };
    expect(await textAt(`${hidden}/`, { headers: stranger })).toEqual(NOTHING);
    const { headers } = await ask(`${hidden}/`, { headers: { "private-token": token } });
    expect(headers.get("cache-control")).toContain("private");
    expect(headers.get("access-control-allow-origin")).toBeNull();
    // Not where it has moved to, either.
    expect(await textAt(`secret.${DOMAIN}/hidden/`)).toEqual(NOTHING);
  });

  it("asks for https where the site says so", async () => {
    await site.call("PATCH /pages", { as: "owner", json: { pages_https_only: true } });
    const { status, headers } = await app.call(`GET http://${host}/docs/?a=b`);
    expect([status, headers.get("location")]).toEqual([308, `https://${host}/docs/?a=b`]);
    expect((await ask(`${host}/docs/`)).status).toBe(200);
    await site.call("PATCH /pages", { as: "owner", json: { pages_https_only: false } });
  });

  it("may lead to other hosts by its rules, but not by what is put into them", async () => {
    const own = await siteProject(app, "leading", {
      "public/index.html": "home",
      "public/_redirects": "/away https://example.com/x 302\n/to/* /:splat 302",
    });
    const leading = new URL((await own.call("GET /pages", { as: "owner" })).json.url).host;
    const leads = async (path: string) => (await ask(leading + path)).headers.get("location");
    expect(await leads("/away")).toBe("https://example.com/x");
    expect(await leads("/to//evil.example/")).toBe("/evil.example");
    expect(await leads("/to/%5Cevil.example")).toBeNull();
    expect(await leads("//evil.example/%2e%2e")).toBeNull();
  });
});

describe("domains of sites", () => {
  const path = "/pages/domains";
  const add = (domain: string, more: object = {}) =>
    site.call(`POST ${path}`, { as: "maintainer", json: { domain, ...more } });

  it("are added, verified where nothing has to be proved, and serve the site", async () => {
    const made = await add("WWW.Site.example");
    expect([made.status, made.json]).toEqual([
      201,
      {
        domain: "www.site.example",
        url: "http://www.site.example",
        verified: false,
        verification_code: expect.stringMatching(/^[0-9a-f]{32}$/),
        enabled_until: null,
        auto_ssl_enabled: false,
      },
    ]);
    expect((await ask("www.site.example/")).text).not.toBe("<h1>Home</h1>");
    const verify = () => site.call(`PUT ${path}/www.site.example/verify`, { as: "maintainer" });
    const refused = await verify();
    expect([refused.status, refused.json.message]).toEqual([
      400,
      "400 Bad request - Couldn't verify the ownership of www.site.example",
    ]);
    const trust = (pages_domain_verification_enabled: boolean) =>
      app.call("PUT /application/settings", {
        as: "admin",
        json: { pages_domain_verification_enabled },
      });
    await trust(false);
    const verified = await verify();
    expect([verified.status, verified.json.verified]).toEqual([200, true]);
    expect((await add("new.site.example")).json.verified).toBe(true);
    await trust(true);
    expect(await textAt("www.site.example/")).toEqual([200, "<h1>Home</h1>"]);
    expect(await textAt("WWW.site.example.:8443/docs/")).toEqual([200, "<h1>Docs</h1>"]);
    const primary = await site.call("PATCH /pages", {
      as: "owner",
      json: { pages_primary_domain: "www.site.example" },
    });
    expect(primary.json.primary_domain).toBe("www.site.example");
    const { status, headers } = await ask(`${host}/docs/`);
    expect([status, headers.get("location")]).toEqual([308, "https://www.site.example/docs/"]);
    expect((await site.call(`DELETE ${path}/www.site.example`, { as: "maintainer" })).status).toBe(
      204,
    );
    expect((await site.call("GET /pages", { as: "owner" })).json.primary_domain).toBeNull();
    expect((await ask("www.site.example/")).text).not.toBe("<h1>Home</h1>");
    const unknown = await site.call("PATCH /pages", {
      as: "owner",
      json: { pages_primary_domain: "www.site.example" },
    });
    expect(unknown.json).toEqual({
      message: { pages_primary_domain: ["is no domain of the project"] },
    });
  });

  it("have certificates, whose keys are encrypted and never shown", async () => {
    const [{ key, certificate }, other] = CERTIFICATES;
    const made = await add("tls.example", { key, certificate, auto_ssl_enabled: true });
    expect(made.json).toMatchObject({
      url: "https://tls.example",
      auto_ssl_enabled: true,
      certificate: {
        subject: "/O=Example, Inc./CN=tls.example",
        expired: false,
        certificate,
        certificate_text: expect.stringContaining("Issuer: /O=Example, Inc."),
      },
    });
    const [row] = await app.store.rows("select private_key from site_domains where domain = ?", [
      "tls.example",
    ]);
    expect(row?.[0]).toMatch(/^\$1\$/);
    const all = await app.call("GET /pages/domains", { as: "admin" });
    const listed = all.json.find(({ domain }: { domain: string }) => domain === "tls.example");
    expect(listed).toMatchObject({
      project_id: site.id,
      certificate: { expired: false, expiration: expect.stringMatching(/Z$/) },
    });
    expect(Object.keys(listed.certificate)).toEqual(["expired", "expiration"]);
    const one = await site.call(`GET ${path}/tls.example`, { as: "maintainer" });
    expect(one.json).toEqual(made.json);
    for (const { text } of [made, all, one]) expect(text).not.toContain("PRIVATE KEY");
    const change = (json: object) =>
      site.call(`PUT ${path}/tls.example`, { as: "maintainer", json });
    expect((await change({ key: other.key })).json).toEqual({
      message: { key: ["doesn't match the certificate"] },
    });
    expect((await change(other)).json.certificate.certificate).toBe(other.certificate);
    expect((await change({ certificate: null })).json).toEqual({
      message: { certificate: ["can't be blank"] },
    });
    const { json } = await change({ certificate: "", key: "", auto_ssl_enabled: false });
    expect([json.url, json.certificate, json.auto_ssl_enabled]).toEqual([
      "http://tls.example",
      undefined,
      false,
    ]);
    const [without] = await app.store.rows(
      "select private_key from site_domains where domain = ?",
      ["tls.example"],
    );
    expect(without).toEqual([null]);
  });

  it.each([
    ["", { domain: ["is invalid"] }],
    ["localhost", { domain: ["is invalid"] }],
    ["127.0.0.1", { domain: ["is invalid"] }],
    ["-a.example.com", { domain: ["is invalid"] }],
    ["a..example.com", { domain: ["is invalid"] }],
    ["a.example.com:80", { domain: ["is invalid"] }],
    ["a.example.com.", { domain: ["is invalid"] }],
    ["a/b.example.com", { domain: ["is invalid"] }],
    [`${"a.".repeat(126)}com`, { domain: ["is invalid"] }],
    ["pm.example.com", { domain: ["is reserved"] }],
    [DOMAIN, { domain: ["is reserved"] }],
    [`acme.${DOMAIN}`, { domain: ["is reserved"] }],
  ])("can't be %j", async (domain, message) => {
    const { status, json } = await add(domain);
    expect([status, json]).toEqual([400, { message }]);
  });

  it("belong to one project, and are no more than a hundred", async () => {
    await add("taken.example");
    const other = await siteProject(app, "other");
    const taken = await other.call(`POST ${path}`, {
      as: "maintainer",
      json: { domain: "Taken.example" },
    });
    expect(taken.json).toEqual({ message: { domain: ["has already been taken"] } });
    expect((await other.call(`GET ${path}/taken.example`, { as: "owner" })).status).toBe(404);
    await app.store.transaction((db) =>
      db.run(
        `insert into site_domains (project_id, domain, auto_ssl_enabled, verification_code, created_at, updated_at)
         select ?, 'd' || id || '.example', 0, '', 0, 0 from (
           select a.id * 100 + b.id as id from users a cross join users b) numbers limit 100`,
        [other.id],
      ),
    );
    const rows = await app.store.rows("select count(*) from site_domains where project_id = ?", [
      other.id,
    ]);
    const left = 100 - Number(rows[0]?.[0]);
    for (let at = 0; at < left; at += 1) {
      await other.call(`POST ${path}`, { as: "owner", json: { domain: `e${at}.example` } });
    }
    const full = await other.call(`POST ${path}`, {
      as: "owner",
      json: { domain: "full.example" },
    });
    expect(full.json).toEqual({ message: { domain: ["can't be more than 100 of a project"] } });
  });

  it("are in the audit log", async () => {
    await add("audited.example");
    await site.call(`PUT ${path}/audited.example`, {
      as: "maintainer",
      json: { auto_ssl_enabled: true },
    });
    await site.call(`DELETE ${path}/audited.example`, { as: "maintainer" });
    const rows = await app.store.rows(
      "select action from audit_events where target = 'audited.example of secret/site' order by id",
    );
    expect(rows.flat()).toEqual([
      "site domain added",
      "site domain changed",
      "site domain removed",
    ]);
  });
});

describe("options", () => {
  it.each(["pages.example.com", "https://a/b", "ftp://a", "https://a?b", "https://u@a", "off"])(
    "refuse %s",
    async (sites) => {
      await expect(createApp({ sites })).rejects.toThrow(
        'sites must be "path", false, or the URL of a domain',
      );
    },
  );

  it("refuse the server's own domain, whose cookies sites would get", async () => {
    for (const sites of ["https://pm.example.com", "https://example.com"]) {
      const made = createApp({ url: "https://pm.example.com/x", sites });
      await expect(made).rejects.toThrow("sites must be another domain than that of url");
    }
  });
});

it("publishes nothing of an older job over a newer one", async () => {
  const { job } = await publish(app, site, zipped(SITE));
  await app.store.transaction((db) =>
    db.run("update site_deployments set job_id = job_id + 1000 where project_id = ?", [site.id]),
  );
  const late = await publish(app, site, zipped(SITE));
  expect(job.id).toBeGreaterThan(0);
  expect(late.deploy).toMatchObject({
    status: "failed",
    description: "build SHA is outdated for this ref",
  });
});
