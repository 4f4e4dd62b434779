import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sweepSites } from "../../src/resources/sites/deploy.ts";
import { type CallOptions, everyone, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";
import { PAGES, publish, SITE, siteProject } from "./_sites.ts";
import { zipped } from "./_zip.ts";

let app: TestApp;
let project: CiProject;
beforeAll(async () => {
  app = await testApp();
  project = await siteProject(app, "shown");
});
afterAll(() => app.dispose());

const at = (path: string, options?: CallOptions) =>
  app.call(`GET http://localhost/-/sites/secret${path}`, options);

const asOwner = { "private-token": tokenOf("owner") };

describe("a job named pages", () => {
  it("publishes its folder, which its runner uploads, and a status says so", async () => {
    const own = await ciProject(app, "published", PAGES);
    const { job, between, deploy, pipeline } = await publish(app, own, zipped(SITE));
    expect(job.artifacts).toEqual([
      { paths: ["public"], artifact_type: "archive", artifact_format: "zip" },
    ]);
    expect([between.deploy.status, between.pipeline]).toEqual(["running", "running"]);
    expect(deploy).toMatchObject({ status: "success", name: "pages:deploy", ref: "main" });
    expect(pipeline).toBe("success");
    const { status, json } = await own.call("GET /pages", { as: "maintainer" });
    const url = "http://pm.test/-/sites/secret/published";
    expect([status, json]).toEqual([
      200,
      {
        url,
        is_unique_domain_enabled: true,
        force_https: false,
        deployments: [
          { created_at: expect.any(String), url, path_prefix: "", root_directory: "public" },
        ],
        primary_domain: null,
      },
    ]);
    const variables = Object.fromEntries(
      job.variables.map(({ key, value }: { key: string; value: string }) => [key, value]),
    );
    expect(variables).toMatchObject({
      CI_PAGES_DOMAIN: "pm.test",
      CI_PAGES_HOSTNAME: "pm.test",
      CI_PAGES_URL: url,
    });
  });

  it("publishes nothing of a job that was only said to have succeeded", async () => {
    const own = await ciProject(app, "said", PAGES);
    const { json } = await own.call("POST /pipeline?ref=main", { as: "owner" });
    const [job] = (await own.call(`GET /pipelines/${json.id}/jobs`, { as: "owner" })).json;
    await app.admin.jobs.finish(job.id);
    const pipeline = await own.call(`GET /pipelines/${json.id}`, { as: "owner" });
    expect(pipeline.json.status).toBe("success");
  });

  it("has a status for each of several, and another once a job is tried again", async () => {
    const own = await ciProject(
      app,
      "several",
      "pages: { script: [make] }\nother: { script: [make], pages: { path_prefix: other } }",
    );
    const first = await publish(app, own, zipped(SITE));
    expect(first.deploy.status).toBe("success");
    const { json: runner } = await app.call("POST /user/runners", {
      as: "owner",
      json: { runner_type: "project_type", project_id: own.id },
    });
    const run = async () => {
      const { json } = await app.call("POST /jobs/request", { json: { token: runner.token } });
      await app.call(`PUT /jobs/${json.id}`, { json: { token: json.token, state: "success" } });
      await app.admin.maintenance.runPipelines();
      return json.id as number;
    };
    const second = await run();
    const statuses = async () => {
      const path = `/repository/commits/${own.sha}/statuses?name=pages%3Adeploy`;
      const { json } = await own.call(`GET ${path}`, { as: "owner" });
      return json.map(({ status }: { status: string }) => status);
    };
    expect(await statuses()).toEqual(["success", "failed"]);
    expect((await own.call(`POST /jobs/${second}/retry`, { as: "owner" })).status).toBe(201);
    await run();
    expect(await statuses()).toEqual(["success", "failed"]);
    const all = await own.call(`GET /repository/commits/${own.sha}/statuses?all=true`, {
      as: "owner",
    });
    expect(all.json.filter((one: { name: string }) => one.name === "pages:deploy")).toHaveLength(3);
  });

  it.each([
    ["without artifacts", undefined, "missing pages artifacts"],
    [
      "without the folder",
      zipped({ "dist/index.html": "x" }),
      "the public folder is missing or empty",
    ],
    ["with no archive", Buffer.from("PK"), "the public folder is missing or empty"],
  ])("fails its status %s", async (name, archive, description) => {
    const own = await ciProject(app, name.replaceAll(" ", "-"), PAGES);
    const { deploy, pipeline } = await publish(
      app,
      own,
      archive as Buffer<ArrayBuffer> | undefined,
    );
    expect(deploy).toMatchObject({ status: "failed", description });
    expect(pipeline).toBe("failed");
    expect((await own.call("GET /pages", { as: "owner" })).json.deployments).toEqual([]);
  });

  it("replaces the site before it, and has others beside it, which end", async () => {
    const configuration = `
site:
  script: [make]
  pages: { publish: dist/html, path_prefix: "Review/$CI_COMMIT_BRANCH", expire_in: 1 hour }
  rules: [{ if: $CI_COMMIT_BRANCH != "main" }]
pages: { script: [make], rules: [{ if: $CI_COMMIT_BRANCH == "main" }] }
`;
    const own = await ciProject(app, "replaced", configuration);
    await own.call("PUT ", { as: "owner", json: { pages_access_level: "public" } });
    await publish(app, own, zipped({ "public/index.html": "one", "public/old.txt": "old" }));
    await publish(app, own, zipped({ "public/index.html": "two" }));
    await own.call("POST /repository/branches?branch=new&ref=main", { as: "owner" });
    await publish(app, own, zipped({ "dist/html/index.html": "beside" }), "new");
    const { json } = await own.call("GET /pages", { as: "owner" });
    expect(json.deployments.map((one: { path_prefix: string }) => one.path_prefix)).toEqual([
      "",
      "review-new",
    ]);
    expect(json.deployments[1].root_directory).toBe("dist/html");
    expect((await at("/replaced/")).text).toBe("two");
    expect((await at("/replaced/old.txt")).status).toBe(404);
    expect((await at("/replaced/review-new/")).text).toBe("beside");
    const count = async () =>
      Number((await app.store.rows("select count(*) from site_files"))[0]?.[0]);
    const files = await count();
    await app.store.transaction((db) =>
      db.run("update site_deployments set expires_at = 1 where expires_at is not null"),
    );
    expect((await own.call("GET /pages", { as: "owner" })).json.deployments).toHaveLength(1);
    expect((await at("/replaced/review-new/")).status).toBe(404);
    await sweepSites(app.store, Date.now());
    expect(await count()).toBe(files - 1);
    expect((await at("/replaced/")).text).toBe("two");
  });

  it("keeps what the job's artifacts lose", async () => {
    const own = await siteProject(app, "kept");
    await own.call("DELETE /artifacts", { as: "owner" });
    await app.admin.maintenance.sweepFiles();
    expect((await at("/kept/")).text).toBe("<h1>Home</h1>");
  });

  it("publishes nothing of what is larger than the settings allow", async () => {
    const settings = (max_pages_size: number | null) =>
      app.call("PUT /application/settings", { as: "admin", json: { max_pages_size } });
    expect((await settings(1)).json.max_pages_size).toBe(1);
    const own = await ciProject(app, "large", PAGES);
    const large = zipped({ "public/index.html": Buffer.alloc(1_100_000) });
    const { deploy } = await publish(app, own, large);
    expect(deploy.description).toMatch(/^artifacts for pages are too large/);
    await settings(null);
  });
});

describe("a file of a site", () => {
  it.each([
    ["/shown/", 200, "text/html; charset=utf-8", "<h1>Home</h1>"],
    ["/shown/index.html", 200, "text/html; charset=utf-8", "<h1>Home</h1>"],
    ["/shown/about", 200, "text/html; charset=utf-8", "<h1>About</h1>"],
    ["/shown/docs/", 200, "text/html; charset=utf-8", "<h1>Docs</h1>"],
    ["/shown/docs/a%20b.txt", 200, "text/plain; charset=utf-8", "a and b"],
    ["/shown/app.js", 200, "text/javascript; charset=utf-8", "alert(1)"],
    ["/shown//docs///", 200, "text/html; charset=utf-8", "<h1>Docs</h1>"],
    ["/shown/missing", 404, "text/html; charset=utf-8", "<h1>Nowhere</h1>"],
    ["/shown/other/secret.txt", 404, "text/html; charset=utf-8", "<h1>Nowhere</h1>"],
    ["/SHOWN/about", 200, "text/html; charset=utf-8", "<h1>About</h1>"],
  ])("is at %s", async (path, status, type, text) => {
    const answer = await at(path);
    expect([answer.status, answer.headers.get("content-type"), answer.text]).toEqual([
      status,
      type,
      text,
    ]);
  });

  it("is shown by browsers as if it came from nowhere, without cookies", async () => {
    for (const path of ["/shown/", "/shown/app.js", "/shown/missing", "/shown"]) {
      const { headers } = await at(path);
      expect(headers.get("content-security-policy")).toMatch(/^sandbox (?!.*same-origin)/);
      expect(headers.get("set-cookie")).toBeNull();
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it.each([
    ["/shown", "/-/sites/secret/shown/"],
    ["/shown/docs", "/-/sites/secret/shown/docs/"],
    ["/shown/docs?a=b", "/-/sites/secret/shown/docs/?a=b"],
    ["//shown//docs", "/-/sites/secret/shown/docs/"],
  ])("sends %s to %s", async (path, location) => {
    const { status, headers } = await at(path);
    expect([status, headers.get("location")]).toEqual([302, location]);
  });

  it.each([
    "/shown/../shown/",
    "/shown/%2e%2e/shown/index.html",
    "/shown/..%2findex.html",
    "/shown/docs%2findex.html",
    "/shown/docs%5cindex.html",
    "/shown/%00",
    "/shown/index.html%00",
    "/%2e%2e/secret/shown/",
  ])("is not at %s", async (path) => {
    const reply = await app.respond({
      method: "GET",
      path: `/-/sites/secret${path}`,
      query: "",
      header: () => undefined,
      body: () => undefined,
      base: "http://localhost",
      ip: "",
      ownsRoot: true,
      isLast: true,
      host: new Request("http://localhost"),
    });
    expect(reply?.status).toBeGreaterThanOrEqual(302);
    expect(reply?.status).toBeLessThan(500);
  });

  it.each(["/shown/%zz", "/shown/%ff%fe"])("is not at %s either", async (path) => {
    const { status } = await at(path);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  });

  it("is sent again only if it has changed, and in parts", async () => {
    const whole = await at("/shown/docs/a%20b.txt");
    const etag = whole.headers.get("etag") as string;
    const again = await at("/shown/docs/a%20b.txt", { headers: { "if-none-match": etag } });
    expect([again.status, again.text]).toEqual([304, ""]);
    const part = await at("/shown/docs/a%20b.txt", { headers: { range: "bytes=2-4" } });
    expect([part.status, part.text, part.headers.get("content-range")]).toEqual([
      206,
      "and",
      "bytes 2-4/7",
    ]);
    const behind = await at("/shown/docs/a%20b.txt", { headers: { range: "bytes=9-" } });
    expect(behind.status).toBe(416);
    const head = await app.call("HEAD http://localhost/-/sites/secret/shown/");
    expect([head.status, head.text]).toEqual([200, ""]);
    expect((await app.call("POST http://localhost/-/sites/secret/shown/")).status).toBe(405);
  });

  it("is sent compressed to clients that take it, if it is there compressed", async () => {
    await siteProject(app, "packed", {
      "public/a.css": "plain",
      "public/a.css.br": "brotli",
      "public/a.css.gz": "gzip",
      "public/index.html": "home",
      "public/index.html.gz": "packed home",
    });
    const asked = async (accepted: string, path = "a.css") => {
      const { text, headers } = await at(`/packed/${path}`, {
        headers: { "accept-encoding": accepted },
      });
      const names = ["content-encoding", "content-type", "vary"] as const;
      return [text, ...names.map((name) => headers.get(name))];
    };
    const css = "text/css; charset=utf-8";
    const vary = "Accept-Encoding, Origin";
    expect(await asked("gzip, br;q=0.9")).toEqual(["brotli", "br", css, vary]);
    expect(await asked("gzip;q=1, br;q=0")).toEqual(["gzip", "gzip", css, vary]);
    expect(await asked("identity")).toEqual(["plain", null, css, vary]);
    expect((await asked("gzip", ""))[0]).toBe("packed home");
  });

  it("takes few statements, whatever the site has", async () => {
    const count = async (path: string) => {
      app.statements.length = 0;
      await at(path);
      return app.statements.length;
    };
    const few = await count("/shown/app.js");
    expect(few).toBeLessThanOrEqual(4);
    const many: Record<string, string> = {};
    for (let at = 0; at < 2500; at += 1) many[`public/${at}/index.html`] = String(at);
    await siteProject(app, "many", many);
    expect(await count("/many/2499/")).toBe(few);
    expect((await at("/many/2499/")).text).toBe("2499");
  });
});

describe("an archive that somebody has made up", () => {
  it("has no links, no files outside of it, and none twice", async () => {
    const own = await ciProject(app, "hostile", PAGES);
    await own.call("PUT ", { as: "owner", json: { pages_access_level: "public" } });
    const archive = zipped(
      {
        "public/index.html": "home",
        "public/link": "../other/secret.txt",
        "public/../up.txt": "up",
        "/public/root.txt": "root",
        "public/a\\b.txt": "backslash",
        "public/nul\0.txt": "nul",
        [`public/${"long".repeat(300)}`]: "long",
        "other/secret.txt": "secret",
      },
      { "public/link": 0o120777 },
    );
    const { deploy } = await publish(app, own, archive);
    expect(deploy.status).toBe("success");
    const rows = await app.store.rows(
      "select path from site_files where project_id = ? order by path",
      [own.id],
    );
    expect(rows).toEqual([["index.html"]]);
    expect((await at("/hostile/link")).status).toBe(404);
  });

  it("can't say that less is in it than there is, nor more", async () => {
    for (const [name, said] of [
      ["less", 10],
      ["more", 900_000],
    ] as const) {
      const own = await ciProject(app, `says-${name}`, PAGES);
      await own.call("PUT ", { as: "owner", json: { pages_access_level: "public" } });
      const archive = zipped({ "public/index.html": Buffer.alloc(500_000) });
      archive.writeUInt32LE(said, archive.lastIndexOf("PK\x01\x02", undefined, "latin1") + 24);
      await publish(app, own, archive);
      await expect(at(`/says-${name}/`)).rejects.toThrow();
    }
  });
});

describe("redirects of a site", () => {
  const RULES = `
# a comment
/rules/old /rules/about.html
/rules/gone /rules/new 302 # why
/rules/news/* /rules/blog/:splat 301
/rules/:year/:month/post /rules/posts-:year-:month.html
/rules/app/* /rules/index.html 200
/rules/loop /rules/loop
/rules/evil/* /:splat
/rules/away https://example.com/ 301
/rules/umlaut /rules/ü\u0001x
/rules/forced /rules/x 200!
/rules/language /rules/x 302 Language=de
//evil.example /rules/x
/rules/about.html /rules/never
`;
  beforeAll(() =>
    siteProject(app, "rules", {
      "public/index.html": "home",
      "public/about.html": "about",
      "public/_redirects": RULES,
    }),
  );

  it.each([
    ["/rules/old", 301, "/-/sites/secret/rules/about.html"],
    ["/rules/gone", 302, "/-/sites/secret/rules/new"],
    ["/rules/news/a/b?c=d", 301, "/-/sites/secret/rules/blog/a/b"],
    ["/rules/2026/12/post", 301, "/-/sites/secret/rules/posts-2026-12.html"],
    ["/rules/evil//evil.example", 301, "/-/sites/secret/evil.example"],
    ["/rules/app/deep/link", 200, null],
    ["/rules/about.html", 200, null],
    ["/rules/loop", 404, null],
    ["/rules/umlaut", 301, "/-/sites/secret/rules/%C3%BC%01x"],
    ["/rules/away", 404, null],
    ["/rules/forced", 404, null],
    ["/rules/language", 404, null],
  ])("answer %s with %i and %s", async (path, status, location) => {
    const answer = await at(path);
    expect([answer.status, answer.headers.get("location")]).toEqual([status, location]);
  });

  it("are no more than a thousand, of 64 KiB", async () => {
    const rules = Array.from({ length: 1001 }, (_, at) => `/many-rules/${at} /many-rules/x 302`);
    await siteProject(app, "many-rules", {
      "public/index.html": "home",
      "public/_redirects": rules.join("\n"),
    });
    expect((await at("/many-rules/999")).status).toBe(302);
    expect((await at("/many-rules/1000")).status).toBe(404);
    await siteProject(app, "long-rules", {
      "public/index.html": "home",
      "public/_redirects": `/long-rules/a /long-rules/b\n#${"x".repeat(65_536)}`,
    });
    expect((await at("/long-rules/a")).status).toBe(404);
  });
});

describe("who sees a site", () => {
  const statuses = async (level: string, visibility = "private") => {
    const own = await siteProject(app, `${level}-${visibility}`);
    const json = { pages_access_level: level, visibility };
    expect((await own.call("PUT ", { as: "owner", json })).json.pages_access_level).toBe(level);
    const found: Record<string, number> = {};
    for (const person of everyone) {
      const headers: Record<string, string> =
        person === "anonymous" ? {} : { "private-token": tokenOf(person) };
      const { status } = await at(`/${level}-${visibility}/`, { headers });
      const access = await own.call("GET /pages_access", { as: person });
      found[person] = status;
      if (status === 200 && level !== "public") expect(access.status).toBe(200);
      if (status !== 200) expect([403, 404]).toContain(access.status);
    }
    return found;
  };
  const members = {
    guest: 200,
    reporter: 200,
    developer: 200,
    maintainer: 200,
    owner: 200,
    admin: 200,
  };

  it.each([
    ["public", { anonymous: 200, stranger: 200, ...members }],
    ["enabled", { anonymous: 302, stranger: 404, ...members }],
    ["private", { anonymous: 302, stranger: 404, ...members }],
  ])("is decided by %s in a private project", async (level, expected) => {
    expect(await statuses(level)).toEqual(expected);
  });

  it("is nobody if it is disabled", async () => {
    expect(new Set(Object.values(await statuses("disabled")))).toEqual(new Set([302, 404]));
  });

  it("says no more of sites that somebody can't see than of those that there are not", async () => {
    const hidden = await at("/enabled-private/", { as: "stranger" });
    const missing = await at("/there-is-none/", { as: "stranger" });
    expect([hidden.status, hidden.text]).toEqual([missing.status, missing.text]);
    const browser = { accept: "text/html" };
    const asked = await at("/enabled-private/", { headers: browser });
    expect([asked.status, asked.headers.get("location")]).toEqual([
      302,
      expect.stringContaining("/users/sign_in"),
    ]);
  });
});

describe("the API", () => {
  it("takes a site away", async () => {
    const own = await siteProject(app, "taken");
    expect((await own.call("DELETE /pages", { as: "developer" })).status).toBe(403);
    expect((await own.call("DELETE /pages", { as: "maintainer" })).status).toBe(204);
    expect((await own.call("GET /pages", { as: "owner" })).json.deployments).toEqual([]);
    expect((await at("/taken/", { headers: asOwner })).status).toBe(404);
    await sweepSites(app.store, Date.now());
    const left = await app.store.rows("select 1 from site_files where project_id = ?", [own.id]);
    expect(left).toEqual([]);
  });

  it("refuses what needs hosts where sites have none, and keeps whether they would be their own", async () => {
    const change = (json: object) => project.call("PATCH /pages", { as: "maintainer", json });
    expect((await change({ pages_unique_domain_enabled: false })).json).toMatchObject({
      url: "http://pm.test/-/sites/secret/shown",
      is_unique_domain_enabled: false,
    });
    const back = await change({ pages_unique_domain_enabled: true, pages_https_only: false });
    expect(back.json.is_unique_domain_enabled).toBe(true);
    const { status, json } = await change({ pages_https_only: true });
    expect([status, json]).toEqual([
      400,
      { message: { pages_https_only: ["needs a domain of sites"] } },
    ]);
  });

  it("answers 404 where no sites are served, and jobs named pages simply run", async () => {
    const without = await testApp({ sites: false });
    const own = await ciProject(without, "plain", PAGES);
    const { deploy, pipeline, job } = await publish(without, own, zipped(SITE));
    expect([deploy, pipeline]).toEqual([undefined, "success"]);
    expect(JSON.stringify(job.variables)).not.toContain("CI_PAGES");
    for (const path of [
      "/pages",
      "/pages/domains",
      "/pages/domains/a.example.com",
      "/pages_access",
    ]) {
      const { status, json } = await own.call(`GET ${path}`, { as: "owner" });
      expect([status, json]).toEqual([404, { message: "404 Not found" }]);
    }
    expect((await without.call("GET /pages/domains", { as: "admin" })).status).toBe(404);
    expect(
      (await without.call("GET http://localhost/-/sites/secret/plain/", { headers: asOwner }))
        .status,
    ).toBe(404);
    await without.dispose();
  });
});
