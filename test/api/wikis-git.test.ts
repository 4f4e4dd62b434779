// Wikis as repositories: Git's own client and the API change the same pages.
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { newCommit, pushHeaders, pushOf, pushTo } from "../packs.ts";
import { openWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let shop: Workshop;
beforeAll(async () => {
  app = await testApp();
  shop = await openWorkshop(app);
});
afterAll(async () => {
  await shop.close();
  await app.dispose();
});

let count = 0;
/** Creates a project of the developer's, and returns its path. */
async function project(visibility = "private"): Promise<string> {
  count += 1;
  const json = { name: `book${count}`, visibility };
  expect((await app.call("POST /projects", { as: "developer", json })).status).toBe(201);
  return `developer/book${count}`;
}

/** The routes of a project's wiki. */
const wiki = (path: string) => `/projects/${encodeURIComponent(path)}/wikis`;
const create = async (path: string, title: string, content = title, format = "markdown") => {
  const json = { title, content, format };
  const { status, text } = await app.call(`POST ${wiki(path)}`, { as: "developer", json });
  expect([status, text]).toEqual([201, expect.anything()]);
};
const pages = async (path: string): Promise<Record<string, string>> => {
  const { json } = await app.call(`GET ${wiki(path)}?with_content=1&per_page=100`, {
    as: "developer",
  });
  return Object.fromEntries(
    json.map((page: Record<string, string>) => [page["slug"], page["content"]]),
  );
};

/** Clones a project's wiki into a folder of the same name, and checks it. */
async function clone(path: string): Promise<string> {
  const to = `${path.replace("/", "-")}-${Math.random()}`;
  await shop.git("", "clone", "--quiet", shop.url(`${path}.wiki`, "developer"), to);
  await shop.git(to, "fsck", "--strict", "--no-progress");
  return to;
}
/** Writes files, where `null` removes one, commits, and pushes. */
async function commit(where: string, files: Record<string, string | null>, message = "Change") {
  for (const [path, content] of Object.entries(files)) {
    const file = join(shop.folder, where, path);
    if (content === null) await rm(file);
    else {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
  }
  await shop.git(where, "add", "--all");
  await shop.git(where, "commit", "--quiet", "--message", message);
}
const push = (where: string, ...what: string[]) =>
  shop.git(where, "push", "--quiet", "origin", ...(what.length > 0 ? what : ["HEAD"]));
const read = (where: string, path: string) => readFile(join(shop.folder, where, path), "utf8");

it("pages of the API are files of the clone, with their authors and messages", async () => {
  const path = await project();
  await create(path, "new title", "One");
  await create(path, "docs/Set up", "= Two", "asciidoc");
  const change = { title: "New name", content: "Three" };
  await app.call(`PUT ${wiki(path)}/new-title`, { as: "developer", json: change });
  await app.call(`PUT ${wiki(path)}/New-name`, { as: "developer", json: { content: "Three" } });
  const where = await clone(path);
  expect((await shop.git(where, "ls-files")).split("\n")).toEqual([
    "New-name.md",
    "docs/Set-up.asciidoc",
  ]);
  expect(await read(where, "New-name.md")).toBe("Three");
  expect(await shop.git(where, "show", "HEAD~2:new-title.md")).toBe("One");
  const log = await shop.git(where, "log", "--format=%an <%ae> %s");
  const by = "The developer <developer@example.com>";
  expect(log.split("\n")).toEqual([
    `${by} developer updated page: New name`,
    `${by} developer created page: docs/Set up`,
    `${by} developer created page: new title`,
  ]);
  const shown = await app.call(`GET /projects/${encodeURIComponent(path)}?statistics=1`, {
    as: "developer",
  });
  const { wiki_size, storage_size, repository_size, commit_count } = shown.json.statistics;
  expect([wiki_size > 500, storage_size, repository_size, commit_count]).toEqual([
    true,
    wiki_size,
    0,
    0,
  ]);
  await app.call(`DELETE ${wiki(path)}/docs%2FSet-up`, { as: "developer" });
  await shop.git(where, "pull", "--quiet");
  expect(await shop.git(where, "ls-files")).toBe("New-name.md");
  expect(await shop.git(where, "log", "-1", "--format=%s")).toBe(
    "developer deleted page: docs/Set up",
  );
});

it("files that are pushed are pages of the API, and keep what they are when they are renamed", async () => {
  const path = await project();
  await create(path, "home");
  const where = await clone(path);
  await commit(where, {
    "a/b.md": "First",
    "Über uns.markdown": "Wir",
    "shout.RDOC": "= Loud",
    "uploads/0123456789abcdef0123456789abcdef/notes.md": "An attachment",
    "picture.svg": "<svg/>",
    ".md": "nameless",
  });
  await symlink("home.md", join(shop.folder, where, "link.md"));
  await commit(where, { "empty.md": "" });
  await push(where);
  expect(await pages(path)).toEqual({
    "a/b": "First",
    empty: "",
    home: "home",
    shout: "= Loud",
    "Über uns": "Wir",
  });
  const shown = await app.call(`GET ${wiki(path)}/a%2Fb`, { as: "developer" });
  expect([shown.status, shown.json]).toEqual([
    200,
    { content: "First", format: "markdown", slug: "a/b", title: "a/b" },
  ]);
  const attached = `${wiki(path)}/uploads/0123456789abcdef0123456789abcdef/notes.md`;
  expect((await app.call(`GET ${attached}`, { as: "developer" })).text).toBe("An attachment");

  const idOf = async (slug: string) =>
    (
      await app.store.rows("select id from wiki_pages where slug = ? and content = 'First'", [slug])
    )[0];
  const id = await idOf("a/b");
  await shop.git(where, "mv", "a/b.md", "a/c.asciidoc");
  await commit(where, { "home.md": "changed", "empty.md": null });
  await push(where);
  expect(await pages(path)).toMatchObject({ "a/c": "First", home: "changed" });
  expect(await idOf("a/c")).toEqual(id);
  expect(await pages(path)).not.toHaveProperty("empty");
  // A change over the API keeps the file's own ending.
  await app.call(`PUT ${wiki(path)}/%C3%9Cber%20uns`, {
    as: "developer",
    json: { content: "Ihr" },
  });
  await shop.git(where, "pull", "--quiet");
  expect(await read(where, "Über uns.markdown")).toBe("Ihr");
});

it("of several files with one slug one is the page, whatever happened before", async () => {
  const path = await project();
  await create(path, "a", "from the API", "rdoc");
  const where = await clone(path);
  await commit(where, { "a.asciidoc": "= Later", "a.md": "# First" });
  await push(where);
  expect(await pages(path)).toEqual({ a: "# First" });
  await commit(where, { "a.md": null });
  await push(where);
  expect(await pages(path)).toEqual({ a: "from the API" });
  await commit(where, { "a.rdoc": null });
  await push(where);
  expect(await pages(path)).toEqual({ a: "= Later" });
});

it("a page has room beside a folder of its file's name, but not below a file", async () => {
  const path = await project();
  await create(path, "a.md/b");
  await create(path, "a");
  const where = await clone(path);
  expect((await shop.git(where, "ls-files")).split("\n")).toEqual(["a.md/b.md", "a.mkd"]);
  await create(path, "c");
  const json = { title: "c.md/d", content: "x" };
  const refused = await app.call(`POST ${wiki(path)}`, { as: "developer", json });
  expect([refused.status, refused.json]).toEqual([
    400,
    { message: { base: ["There is a file where the page's folder would be."] } },
  ]);
  for (const title of [".git/x", "a/GIT~1/x", ".Git"]) {
    const answer = await app.call(`POST ${wiki(path)}`, {
      as: "developer",
      json: { title, content: "x" },
    });
    expect([answer.status, answer.json]).toEqual([400, { message: { title: ["is invalid"] } }]);
  }
});

describe("branches", () => {
  it("other than the default one change no page", async () => {
    const path = await project();
    await create(path, "home");
    const where = await clone(path);
    await shop.git(where, "switch", "--quiet", "--create", "draft");
    await commit(where, { "home.md": "draft", "more.md": "draft" });
    await push(where);
    expect(await pages(path)).toEqual({ home: "home" });
    await push(where, "HEAD:master");
    expect(await pages(path)).toEqual({ home: "draft", more: "draft" });
    await push(where, "--delete", "draft");
    const refused = await shop.failure(where, "push", "origin", "--delete", "master");
    expect(refused).toContain("deletion of the current branch prohibited");
    await shop.git(where, "reset", "--quiet", "--hard", "HEAD~1");
    await push(where, "--force", "HEAD:master");
    expect(await pages(path)).toEqual({ home: "home" });
  });

  it("of the first push may have any name", async () => {
    const path = await project();
    const where = `${path.replace("/", "-")}-new`;
    await shop.git("", "init", "--quiet", "--initial-branch=trunk", where);
    await commit(where, { "home.md": "Hello" });
    await shop.git(where, "remote", "add", "origin", shop.url(`${path}.wiki`, "developer"));
    await push(where);
    expect(await pages(path)).toEqual({ home: "Hello" });
    await create(path, "more");
    const again = await clone(path);
    expect(await shop.git(again, "branch", "--show-current")).toBe("trunk");
    expect(await shop.git(again, "ls-files")).toBe("home.md\nmore.md");
  });

  it("get attachments, and begin at the default branch", async () => {
    const path = await project();
    await create(path, "home");
    const attach = async (branch?: string) => {
      const body = new FormData();
      if (branch !== undefined) body.append("branch", branch);
      body.append("file", new Blob(["bytes"]), "a b.txt");
      const given = { as: "developer", body } as const;
      return app.call(`POST ${wiki(path)}/attachments`, given);
    };
    const { json: first } = await attach();
    expect(first.branch).toBe("master");
    const { json: other } = await attach("topic/x");
    expect(other.branch).toBe("topic/x");
    const where = await clone(path);
    expect(await shop.git(where, "log", "--format=%s", "origin/topic/x")).toBe(
      [
        "Upload attachment a_b.txt",
        "Upload attachment a_b.txt",
        "developer created page: home",
      ].join("\n"),
    );
    expect(await shop.git(where, "ls-files")).toBe(`home.md\n${first.file_path}`);
    expect(await shop.git(where, "show", `origin/topic/x:${other.file_path}`)).toBe("bytes");
    const get = async (query = "") =>
      (await app.call(`GET ${wiki(path)}/${other.link.url}${query}`, { as: "developer" })).status;
    expect([await get(), await get("?branch=topic/x"), await get("?branch=no")]).toEqual([
      404, 200, 404,
    ]);
    for (const branch of ["-x", "a..b", "topic"]) expect((await attach(branch)).status).toBe(400);
  });
});

describe("access", () => {
  const ask = (path: string, service: string, person: Person) =>
    app.call(`GET http://pm.test/${path}.wiki.git/info/refs?service=git-${service}`, {
      headers: person === "anonymous" ? {} : pushHeaders(tokenOf(person)),
    });
  const statuses = async (path: string, service: string) => {
    const found: number[] = [];
    for (const person of everyone) found.push((await ask(path, service, person)).status);
    return found;
  };

  it.each([
    //                                anonymous stranger guest reporter developer maintainer owner admin
    ["acme/site", "upload-pack", [200, 200, 200, 200, 200, 200, 200, 200]],
    ["acme/site", "receive-pack", [401, 403, 403, 403, 200, 200, 200, 200]],
    // Guests read wikis, other than code.
    ["secret/vault", "upload-pack", [401, 404, 200, 200, 200, 200, 200, 200]],
    ["secret/vault", "receive-pack", [401, 404, 403, 403, 200, 200, 200, 200]],
    ["secret/nothing", "upload-pack", [401, 404, 404, 404, 404, 404, 404, 404]],
    ["secret/nothing", "receive-pack", [401, 404, 404, 404, 404, 404, 404, 404]],
  ])("to %s: %s", async (path, service, expected) => {
    expect(await statuses(path, service)).toEqual(expected);
  });

  it("is refused with the words that Git shows, also when the push arrives", async () => {
    const said = async (...args: Parameters<typeof ask>) => (await ask(...args)).text.trim();
    expect(await said("secret/vault", "upload-pack", "anonymous")).toBe(
      "HTTP Basic: Access denied",
    );
    const unknown = "The wiki you were looking for could not be found.";
    expect(await said("secret/vault", "upload-pack", "stranger")).toBe(unknown);
    const refused = "You are not allowed to write to this project's wiki.";
    expect(await said("acme/site", "receive-pack", "guest")).toBe(refused);
    const { oid, pack } = newCommit("A page");
    const body = pushOf([{ name: "refs/heads/master", to: oid }], pack);
    const guest = await pushTo(app, "acme/site.wiki", body, pushHeaders(tokenOf("guest")));
    expect([guest.status, guest.text.trim()]).toEqual([403, refused]);

    const path = await project("public");
    const set = (json: object) =>
      app.call(`PUT /projects/${encodeURIComponent(path)}`, { as: "developer", json });
    await set({ wiki_enabled: false });
    expect(await statuses(path, "upload-pack")).toEqual([401, 404, 404, 404, 404, 404, 404, 404]);
    expect(await said(path, "upload-pack", "developer")).toBe(unknown);
    await set({ wiki_enabled: true });
    await app.call(`POST /projects/${encodeURIComponent(path)}/archive`, { as: "developer" });
    expect(await said(path, "receive-pack", "developer")).toBe(refused);
    expect((await ask(path, "upload-pack", "anonymous")).status).toBe(200);
  });
});

it("a push that changes too many pages is refused, and leaves nothing", async () => {
  const path = await project();
  await create(path, "home");
  const where = await clone(path);
  const files = Array.from({ length: 5001 }, (_, at) => [`many/${at}.md`, "same"]);
  await commit(where, Object.fromEntries(files));
  const refused = await shop.failure(where, "push", "origin", "HEAD");
  expect(refused).toContain("GitLab: A push to a wiki can change 5000 pages at most");
  expect(await pages(path)).toEqual({ home: "home" });
  await shop.git(where, "reset", "--quiet", "--hard", "HEAD~1");
  await commit(where, Object.fromEntries(files.slice(0, 5000)));
  await push(where);
  const { headers } = await app.call(`GET ${wiki(path)}?per_page=1`, { as: "developer" });
  expect(headers.get("x-total")).toBe("5001");
});

it("changes at the same time all arrive, over the API and by pushes", async () => {
  const path = await project();
  await create(path, "home");
  const where = await clone(path);
  await commit(where, { "pushed.md": "pushed" });
  const api = Array.from({ length: 8 }, (_, at) => create(path, `page ${at}`));
  const pushed = async () => {
    for (let left = 20; left > 0; left -= 1) {
      await shop.git(where, "pull", "--quiet", "--rebase");
      try {
        return await push(where, "HEAD:master");
      } catch {
        // Somebody was faster.
      }
    }
    throw new Error("the push never arrived");
  };
  await Promise.all([...api, pushed()]);
  expect(Object.keys(await pages(path))).toHaveLength(10);
  const after = await clone(path);
  expect((await shop.git(after, "ls-files")).split("\n")).toHaveLength(10);
  expect(await shop.git(after, "rev-list", "--count", "HEAD")).toBe("10");
  // Of two that change one page one way, none is lost.
  const json = (at: number) => ({ content: `${at}`, title: `Home ${at}` });
  const answers = await Promise.all(
    [0, 1, 2, 3].map((at) =>
      app.call(`PUT ${wiki(path)}/home`, { as: "developer", json: json(at) }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404]);
});
