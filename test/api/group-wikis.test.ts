// Wikis of groups: the same pages, attachments and repositories as those of projects, with the rights of the group.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";
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
/** Creates a subgroup of a group, and returns its path: `acme` is public, `secret` private. */
async function group(parent: "acme" | "secret", settings: object = {}): Promise<string> {
  count += 1;
  const found = await app.call(`GET /groups/${parent}`, { as: "owner" });
  const json = { name: `book${count}`, path: `book${count}`, parent_id: found.json.id };
  const visibility = parent === "acme" ? "public" : "private";
  const made = await app.call("POST /groups", {
    as: "owner",
    json: { ...json, visibility, ...settings },
  });
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
  return `${parent}/book${count}`;
}
const wiki = (path: string) => `/groups/${encodeURIComponent(path)}/wikis`;
const create = (path: string, title: string, content = "text", as: Person = "developer") =>
  app.call(`POST ${wiki(path)}`, { as, json: { title, content } });

it("pages are created, listed, shown, renamed and deleted", async () => {
  const path = await group("acme");
  const empty = await app.call(`GET ${wiki(path)}`);
  expect([empty.status, empty.json, empty.headers.get("x-total")]).toEqual([200, [], "0"]);
  const made = await create(path, "Set up", "One");
  const page = { content: "One", format: "markdown", slug: "Set-up", title: "Set up" };
  expect([made.status, made.json]).toEqual([201, page]);
  expect((await create(path, "Set up")).status).toBe(400);
  const second = await create(path, "docs/Home", "# Title");
  expect(second.json.slug).toBe("docs/Home");
  const listed = await app.call(`GET ${wiki(path)}?with_content=true`);
  expect(listed.json).toEqual([page, second.json]);
  const put = await app.call(`PUT ${wiki(path)}/Set-up`, {
    as: "developer",
    json: { title: "Install", content: "Two", format: "rdoc" },
  });
  const renamed = { content: "Two", format: "rdoc", slug: "Install", title: "Install" };
  expect([put.status, put.json]).toEqual([200, renamed]);
  const html = await app.call(`GET ${wiki(path)}/docs%2FHome?render_html=true`);
  expect(html.json.content).toContain('<h1 id="user-content-title">Title');
  const gone = await app.call(`DELETE ${wiki(path)}/Install`, { as: "maintainer" });
  expect(gone.status).toBe(204);
  const after = await app.call(`GET ${wiki(path)}/Install`);
  expect([after.status, after.json]).toEqual([404, { message: "404 Wiki Page Not Found" }]);
});

it("files are attached and downloaded", async () => {
  const path = await group("acme");
  const multipart = new FormData();
  multipart.set("file", new File(["Text"], "a b.txt"));
  const made = await app.call(`POST ${wiki(path)}/attachments`, {
    as: "developer",
    body: multipart,
  });
  expect(made.status).toBe(201);
  expect(made.json).toMatchObject({ file_name: "a_b.txt", branch: "master" });
  const shown = await app.call(`GET ${wiki(path)}/${made.json.link.url}`);
  expect([shown.status, shown.text]).toEqual([200, "Text"]);
});

it("roles count as in wikis of projects; a private group's is for its own members", async () => {
  const [open, closed] = [await group("acme"), await group("secret")];
  for (const path of [open, closed]) expect((await create(path, "home")).status).toBe(201);
  const readers: Record<string, number[]> = {};
  const writers: Record<string, number> = {};
  for (const as of everyone) {
    const asked = [open, closed].map((path) => app.call(`GET ${wiki(path)}/home`, { as }));
    readers[as] = (await Promise.all(asked)).map(({ status }) => status);
    const put = { as, json: { content: "Two" } };
    writers[as] = (await app.call(`PUT ${wiki(open)}/home`, put)).status;
  }
  expect(readers).toMatchObject({
    anonymous: [200, 404],
    stranger: [200, 404],
    guest: [200, 200],
    admin: [200, 200],
  });
  expect(writers).toMatchObject({
    anonymous: 401,
    stranger: 403,
    guest: 403,
    reporter: 403,
    developer: 200,
    maintainer: 200,
  });
  const del = await app.call(`DELETE ${wiki(open)}/home`, { as: "developer" });
  expect(del.status).toBe(403);
  // Somebody who belongs to a project below may see the private group, but not its wiki.
  const { json } = await app.call("GET /users?username=stranger", { as: "admin" });
  const found = await app.call(`GET /groups/${encodeURIComponent(closed)}`, { as: "owner" });
  const below = await app.call("POST /projects", {
    as: "owner",
    json: { name: "below", namespace_id: found.json.id },
  });
  await app.call(`POST /projects/${below.json.id}/members`, {
    as: "owner",
    json: { user_id: json[0].id, access_level: 40 },
  });
  for (const ending of ["", "/home", "/absent"]) {
    const asked = await app.call(`GET ${wiki(closed)}${ending}`, { as: "stranger" });
    expect(asked.status).toBe(403);
  }
});

it("wiki_access_level takes the wiki from everybody, or from those who are no members", async () => {
  const path = await group("acme", { wiki_access_level: "private" });
  const shown = await app.call(`GET /groups/${encodeURIComponent(path)}`, { as: "owner" });
  expect(shown.json.wiki_access_level).toBe("private");
  const statuses = async () =>
    Promise.all(
      (["stranger", "guest", "owner"] as const).map(
        async (as) => (await app.call(`GET ${wiki(path)}`, { as })).status,
      ),
    );
  expect(await statuses()).toEqual([403, 200, 200]);
  const set = (wiki_access_level: string) =>
    app.call(`PUT /groups/${encodeURIComponent(path)}`, {
      as: "owner",
      json: { wiki_access_level },
    });
  await set("disabled");
  expect(await statuses()).toEqual([403, 403, 403]);
  expect((await create(path, "home")).status).toBe(403);
  expect(await shop.failure("", "clone", shop.url(`${path}.wiki`, "owner"), "off")).toContain(
    "The wiki you were looking for could not be found.",
  );
  await set("enabled");
  expect(await statuses()).toEqual([200, 200, 200]);
});

it("it is a repository at the group's path and .wiki.git", async () => {
  const path = await group("secret");
  const where = `clone${count}`;
  await shop.git("", "clone", "--quiet", shop.url(`${path}.wiki`, "developer"), where);
  const commit = async (content: string) => {
    await writeFile(join(shop.folder, where, "home.md"), content);
    await shop.git(where, "add", "--all");
    await shop.git(where, "commit", "--quiet", "--message", "Change");
    await shop.git(where, "push", "--quiet", "origin", "HEAD:master");
  };
  await commit("One");
  const shown = await app.call(`GET ${wiki(path)}/home`, { as: "guest" });
  expect(shown.json).toMatchObject({ content: "One", slug: "home" });
  await create(path, "other", "Two");
  await shop.git(where, "pull", "--quiet", "origin", "master");
  expect(await readFile(join(shop.folder, where, "other.md"), "utf8")).toBe("Two");
  await commit("Three");
  expect((await app.call(`GET ${wiki(path)}/home`, { as: "guest" })).json.content).toBe("Three");
  const refused = await shop.failure(where, "push", shop.url(`${path}.wiki`, "guest"), "HEAD:x");
  expect(refused).toContain("You are not allowed to write to this group's wiki.");
  expect(await shop.failure("", "ls-remote", shop.url(`${path}.wiki`, "stranger"))).toContain(
    "The wiki you were looking for could not be found.",
  );
});

it("hooks are told nothing of it, as in GitLab", async () => {
  const path = await group("acme");
  const json = { url: "https://hooks.example.com", wiki_page_events: true };
  const hooks = `/groups/${encodeURIComponent(path)}/hooks`;
  expect((await app.call(`POST ${hooks}`, { as: "owner", json })).status).toBe(201);
  const tasks = async () =>
    (await app.store.rows("select count(*) from outbox where worker = 'hooks'"))[0]?.[0];
  const before = await tasks();
  await create(path, "home");
  expect(await tasks()).toEqual(before);
});

it("its hidden project is in no list, and goes with the group", async () => {
  const path = await group("acme");
  await create(path, "home");
  const projects = await app.call(`GET /groups/${encodeURIComponent(path)}/projects`);
  expect(projects.json).toEqual([]);
  const hidden = encodeURIComponent(`${path}/-`);
  expect((await app.call(`GET /projects/${hidden}/wikis`, { as: "admin" })).status).toBe(404);
  const id = encodeURIComponent(path);
  expect((await app.call(`DELETE /groups/${id}`, { as: "owner" })).status).toBe(202);
  const left =
    "select count(*) from git_repositories g join projects p on p.id = g.project_id where p.full_path = ?";
  const [row] = await app.store.rows(left, [`${path}/-`]);
  expect(Number(row?.[0])).toBe(0);
});
