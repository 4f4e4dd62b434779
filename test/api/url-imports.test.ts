// Projects that are imported from a repository on another server.
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { givePassword, PASSWORD, type Person, SECRET_KEY, type TestApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";
import { randomHistory, shareWorkshop, type Workshop } from "./_git.ts";
import { type Backend, PRIVATE_CHAINS, redirectInChain, startBackend } from "./_http-backend.ts";
import { startReceiver } from "./_receiver.ts";

let app: TestApp;
let workshop: Workshop;
let backend: Backend;
/** How far the clock of the application is ahead, in milliseconds. */
let ahead = 0;
const NO_ACCESS = { message: "Unable to access repository with the URL and credentials provided" };

shareWorkshop(
  async (opened) => {
    ({ app, workshop } = opened);
    await workshop.importInto("there", randomHistory(1, 30));
    await workshop.git("there", "branch", "other", "main~3");
    await workshop.git("there", "branch", "trunk", "main~1");
    await workshop.git("there", "tag", "-a", "-m", "One", "v1", "main~2");
    await workshop.git("there", "update-ref", "refs/pull/1/head", "main");
    await workshop.git("there", "symbolic-ref", "HEAD", "refs/heads/trunk");
    backend = await startBackend(workshop.folder, "ada:s3cr%t");
  },
  {
    now: () => Date.now() + ahead,
    webhooks: { deliver: false, allowLocalRequests: true },
    secretKey: SECRET_KEY,
  },
);
afterAll(() => backend.close());
beforeEach(() => {
  // Everybody may begin six imports a minute.
  ahead += 61_000;
  backend.instead = () => undefined;
});

const urlOf = (where: string) => `${backend.url.replace("//", "//ada:s3cr%25t@")}/${where}`;
const work = () => app.admin.maintenance.updateMirrors();
const create = (name: string, json: object = {}, as: Person = "owner") =>
  app.call("POST /projects", { as, json: { name, import_url: urlOf("there"), ...json } });
const get = async (path: string, as: Person = "owner") =>
  (await app.call(`GET /projects/owner%2F${path}`, { as })).json;

describe("imports by URL", () => {
  it("bring all branches and tags, and nothing follows from them", async () => {
    const receiver = await startReceiver();
    const system = { url: receiver.url, push_events: true, repository_update_events: true };
    await app.call("POST /hooks", { as: "admin", json: system });
    const made = await create("site", { visibility: "public", wiki_enabled: "false" });
    expect([made.status, made.json]).toMatchObject([
      201,
      {
        import_status: "scheduled",
        import_type: "git",
        import_url: `${backend.url}/there`,
        import_error: null,
        wiki_enabled: false,
        mirror: false,
        empty_repo: true,
      },
    ]);
    expect((await get("site/import")).import_status).toBe("scheduled");
    expect((await get("site/repository/branches")).length).toBe(0);
    expect(await work()).toEqual({ updates: 1 });
    const refs = (await workshop.git("", "ls-remote", workshop.url("owner/site", "owner")))
      .split("\n")
      .map((line) => line.split("\t").reverse().join(" "))
      .filter((line) => !/\^\{\}|^HEAD/.test(line));
    const there = await workshop.git(
      "there",
      "for-each-ref",
      "--format=%(refname) %(objectname)",
      "refs/heads",
      "refs/tags",
    );
    expect(refs.sort()).toEqual(there.split("\n").sort());
    expect(await get("site/import")).toMatchObject({
      import_status: "finished",
      import_type: "git",
      import_error: null,
      failed_relations: [],
    });
    expect(await get("site")).toMatchObject({
      import_status: "finished",
      default_branch: "trunk",
      empty_repo: false,
    });
    const count = Number(await workshop.git("there", "rev-list", "--count", "trunk"));
    expect((await get("site?statistics=true")).statistics.commit_count).toBe(count);
    expect(await get("site/protected_branches")).toMatchObject([{ name: "trunk" }]);
    const pushes = (await get("site/events")).filter((event: object) => "push_data" in event);
    expect([pushes, await get("site/pipelines")]).toEqual([[], []]);
    const told = await app.store.rows(
      "select kind from hook_deliveries where kind in ('push', 'tag_push', 'repository_update')",
    );
    expect(told).toEqual([]);
    expect(await work()).toEqual({ updates: 0 });
    const stored = await app.store.all<{ credentials: string | null }>(
      "select credentials from project_imports",
    );
    expect(stored).toEqual([{ credentials: null }]);
    await receiver.close();
  });

  it("tell only maintainers where a project comes from", async () => {
    const project = await get("site");
    for (const [person, level] of [
      ["maintainer", 40],
      ["developer", 30],
    ] as const) {
      const [{ id }] = (await app.call(`GET /users?username=${person}`, { as: "admin" })).json;
      await app.call(`POST /projects/${project.id}/members`, {
        as: "owner",
        json: { user_id: id, access_level: level },
      });
    }
    const seen = { owner: true, maintainer: true, admin: true, developer: false, stranger: false };
    for (const [person, sees] of Object.entries(seen)) {
      const shown = await get("site", person as Person);
      const origin = [shown.import_url, shown.import_type];
      expect([person, origin]).toEqual([
        person,
        sees ? [`${backend.url}/there`, "git"] : [null, null],
      ]);
      const { status } = await app.call(`GET /projects/${project.id}/import`, {
        as: person as Person,
      });
      expect([person, status]).toEqual([person, sees ? 200 : 403]);
    }
    expect((await get("site", "anonymous")).import_url).toBeUndefined();
  });

  it("take the default branch from there, or main, of what has several", async () => {
    await workshop.git("there", "symbolic-ref", "HEAD", "refs/heads/none");
    await create("headless");
    await work();
    expect((await get("headless")).default_branch).toBe("main");
    await workshop.git("there", "symbolic-ref", "HEAD", "refs/heads/trunk");
    await workshop.git("", "init", "--bare", "-q", "nothing");
    await create("empty", { import_url: urlOf("nothing") });
    await work();
    expect(await get("empty")).toMatchObject({ import_status: "finished", empty_repo: true });
  });

  it("fail with a reason without secrets, and forget these", async () => {
    await create("late", { visibility: "public" });
    await givePassword(app, "owner", "stranger");
    const [owner, stranger] = [new Visitor(app), new Visitor(app)];
    await owner.signIn("owner", PASSWORD);
    await stranger.signIn("stranger", PASSWORD);
    const page = async (visitor: Visitor) => (await visitor.get("/owner/late")).page;
    expect(await page(stranger)).toContain("This project is being imported");
    backend.instead = () => [401, {}];
    await work();
    expect(await page(stranger)).toContain("The import of this project has failed.");
    expect(await page(owner)).toContain("owner/late - the credentials are refused");
    const reason = `Error importing repository ${backend.url}/there into owner/late - the credentials are refused`;
    expect(await get("late/import")).toMatchObject({
      import_status: "failed",
      import_error: reason,
    });
    expect(await get("late")).toMatchObject({ import_status: "failed", import_error: reason });
    const [stored] = await app.store.all(
      "select credentials from project_imports where status = 'failed'",
    );
    expect(stored).toEqual({ credentials: null });
    // The project is there, and can be pushed to.
    const file = { branch: "main", content: "x", commit_message: "x" };
    const pushed = await app.call("POST /projects/owner%2Flate/repository/files/x", {
      as: "owner",
      json: file,
    });
    expect(pushed.status).toBe(201);
  });

  it("fail where whose they are may no longer push", async () => {
    const { json: made } = await create("blocked", {}, "maintainer");
    const [{ id }] = (await app.call("GET /users?username=maintainer", { as: "admin" })).json;
    await app.call(`POST /users/${id}/block`, { as: "admin" });
    await work();
    const { json } = await app.call(`GET /projects/${made.id}`, { as: "admin" });
    const reason = "whoever has begun the import may not push any more";
    expect(json).toMatchObject({
      import_status: "failed",
      import_error: `Error importing repository ${backend.url}/there into maintainer/blocked - ${reason}`,
      empty_repo: true,
    });
    await app.call(`POST /users/${id}/unblock`, { as: "admin" });
  });

  it("end with their project", async () => {
    const { json } = await create("gone");
    const [path] = ["permanently_remove=true&full_path=owner/gone"];
    await app.call(`DELETE /projects/${json.id}`, { as: "owner" });
    await app.call(`DELETE /projects/${json.id}?${path}`, { as: "owner" });
    await work();
    expect((await app.call(`GET /projects/${json.id}`, { as: "owner" })).status).toBe(404);
    const waiting = await app.store.rows("select 1 from outbox where worker = 'url-imports'");
    expect(waiting).toEqual([]);
  });

  it("are refused where no repository can be read, without saying more", async () => {
    await writeFile(join(workshop.folder, "plain.txt"), "x");
    const urls = [
      urlOf("absent"),
      urlOf("plain.txt"),
      `${backend.url.replace("//", "//ada:wrong@")}/there`,
      "ftp://example.com/a.git",
      "ssh://git@example.com/a.git",
      "no address",
      "http://-bad@127.0.0.1:2000/a.git",
      "http://does-not-exist.invalid/a.git",
    ];
    for (const [at, import_url] of urls.entries()) {
      const { status, json } = await create(`refused${at}`, { import_url });
      expect([import_url, status, json]).toEqual([import_url, 422, NO_ACCESS]);
    }
    const ports = { message: "Only allowed ports are 80, 443, and any over 1024" };
    const { status, json } = await create("port", { import_url: "http://127.0.0.1:22/a.git" });
    expect([status, json]).toEqual([422, ports]);
    const both = await create("both", { initialize_with_readme: true });
    expect([both.status, both.json]).toEqual([
      400,
      { error: "import_url, initialize_with_readme are mutually exclusive" },
    ]);
    expect((await app.call("GET /projects?search=refused", { as: "owner" })).json).toEqual([]);
  });

  it("are refused for this machine and its networks, unless these are allowed", async () => {
    const strict = await app.another({ webhooks: { deliver: false } });
    const said: Record<string, string> = {
      "http://127.0.0.1:8080/a.git": "Requests to localhost are not allowed",
      "http://localhost:8080/a.git": "Requests to localhost are not allowed",
      "http://[::ffff:10.0.0.1]/a.git": "Requests to the local network are not allowed",
      "http://169.254.169.254/a.git": "Requests to link-local addresses are not allowed",
      "http://0177.1:8080/a.git": "Requests to localhost are not allowed",
    };
    for (const [import_url, message] of Object.entries(said)) {
      const json = { name: "local", import_url };
      const answer = await strict.call("POST /projects", { as: "owner", json });
      expect([import_url, answer.status, answer.json]).toEqual([import_url, 422, { message }]);
    }
    await strict.close();
  });

  it("take no credentials to another host", async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    const { port } = elsewhere.address() as AddressInfo;
    backend.instead = () => [
      302,
      { location: `http://localhost:${port}/a/info/refs?service=git-upload-pack` },
    ];
    const { status, json } = await create("redirected");
    expect([status, json, seen]).toEqual([422, NO_ACCESS, []]);
    elsewhere.close();
  });

  it("follow no chain of redirects to a private address, when they are asked for and when they are done", async () => {
    for (const [at, [to, hops, problem]] of PRIVATE_CHAINS.entries()) {
      ahead += 61_000;
      const asked = redirectInChain(backend, to, hops);
      const { status, json } = await create(`chain${at}`);
      expect([to, status, json, asked()]).toEqual([to, 422, NO_ACCESS, hops + 1]);
      backend.instead = () => undefined;
      await create(`chain${at}`);
      const again = redirectInChain(backend, to, hops);
      await work();
      const { import_status, import_error } = await get(`chain${at}/import`);
      const reason = `Error importing repository ${backend.url}/there into owner/chain${at} - ${problem}`;
      expect([to, import_status, import_error, again()]).toEqual([to, "failed", reason, hops + 1]);
    }
  });

  it("need `git` among the sources of imports", async () => {
    const sources = (import_sources: string[]) =>
      app.call("PUT /application/settings", { as: "admin", json: { import_sources } });
    expect((await sources([])).json.import_sources).toEqual([]);
    const { status, json } = await create("off");
    expect([status, json]).toEqual([403, { message: "403 Forbidden" }]);
    await sources(["git"]);
  });
});

describe("users who import much", () => {
  it("wait for a minute after six of them", async () => {
    for (let number = 1; number <= 6; number += 1) {
      expect((await create(`many${number}`)).status).toBe(201);
    }
    const more = await create("many7");
    expect([more.status, more.json.message.error]).toEqual([
      429,
      "This endpoint has been requested too many times. Try again later.",
    ]);
    expect((await create("other", {}, "maintainer")).status).toBe(201);
    ahead += 61_000;
    expect((await create("many7")).status).toBe(201);
    expect(await work()).toEqual({ updates: 8 });
  });

  it("wait for one address at a time", async () => {
    let arrived = () => undefined as unknown;
    const isThere = new Promise((resolve) => {
      arrived = () => resolve(undefined);
    });
    const hanging = createServer(() => void arrived());
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
    const import_url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/a.git`;
    const first = create("hanging", { import_url });
    await isThere;
    expect((await create("second")).status).toBe(429);
    hanging.closeAllConnections();
    const { status, json } = await first;
    expect([status, json]).toEqual([422, NO_ACCESS]);
    expect((await create("second")).status).toBe(201);
    hanging.close();
  });
});
