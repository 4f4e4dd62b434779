// Wikis of databases from before wikis were repositories.
import { afterEach, beforeEach, expect, it } from "vitest";
import { verifyRepositories } from "../../src/git/verify.ts";
import type { Value } from "../../src/store/port.ts";
import { openWorkshop, type Workshop } from "../api/_git.ts";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let shop: Workshop | undefined;
let projectId: number;
let userId: number;
beforeEach(async () => {
  app = await testApp();
  projectId = (await app.call("GET /projects/secret%2Fvault", { as: "owner" })).json.id;
  userId = (await app.call("GET /user", { as: "developer" })).json.id;
  // What the previous version had.
  await app.store.transaction(async (db) => {
    await db.run("delete from schema_migrations where id = '20261122-99-wiki-repositories'");
    await db.run("alter table git_repositories drop column head");
  });
});
afterEach(async () => {
  await shop?.close();
  shop = undefined;
  await app.dispose();
});

const START = Date.parse("2024-02-03T04:05:06.789Z");
const insert = async (table: string, row: Record<string, Value>): Promise<number> => {
  const columns = Object.keys(row);
  const marks = columns.map(() => "?").join(", ");
  const sql = `insert into ${table} (${columns.join(", ")}) values (${marks}) returning id`;
  const rows = await app.store.transaction((db) => db.rows(sql, Object.values(row)));
  return rows[0]?.[0] as number;
};

/** Adds a page as the previous version did, with its versions. A version without content deletes it. */
async function page(
  versions: readonly (readonly [slug: string, content: string | undefined])[],
  format = "markdown",
  author: number | null = userId,
): Promise<number> {
  const last = versions.at(-1) as readonly [string, string | undefined];
  const at = (index: number) => START + 60_000 * index;
  const names = (slug: string) => ({ slug, title: slug.replace(/-+/g, " "), format });
  const id = await insert("wiki_pages", {
    project_id: projectId,
    ...names(last[0]),
    content: last[1] ?? "",
    created_at: START,
    updated_at: at(versions.length - 1),
  });
  for (const [index, [slug, content]] of versions.entries()) {
    const action = content === undefined ? "deleted" : index === 0 ? "created" : "updated";
    await insert("wiki_page_versions", {
      project_id: projectId,
      page_id: id,
      action,
      author_id: author,
      author_username: "developer",
      message: `developer ${action} page: ${names(slug).title}`,
      created_at: at(index),
      ...names(slug),
      content: content ?? "",
    });
  }
  if (last[1] === undefined) {
    await app.store.transaction((db) => db.run("delete from wiki_pages where id = ?", [id]));
  }
  return id;
}

async function attach(secret: string, name: string, content: Buffer, at: number): Promise<void> {
  const PIECE = 256 * 1024;
  const blob = await insert("wiki_blobs", {
    project_id: projectId,
    sha256: `digest of ${name}`,
    size: content.length,
    created_at: at,
  });
  await app.store.transaction(async (db) => {
    for (let number = 0; number * PIECE < content.length; number += 1) {
      await db.run("insert into wiki_blob_pieces (blob_id, number, bytes) values (?, ?, ?)", [
        blob,
        number,
        content.subarray(number * PIECE, (number + 1) * PIECE),
      ]);
    }
  });
  await insert("wiki_attachments", {
    project_id: projectId,
    blob_id: blob,
    secret,
    file_name: name,
    branch: "topic",
    author_id: userId,
    created_at: at,
  });
}

const WIKI = "/projects/secret%2Fvault/wikis";
const SECRET = "0123456789abcdef0123456789abcdef";

it("become repositories with their slugs, versions, authors, instants and attachments", async () => {
  await page([
    ["home", "One"],
    ["home", "Two"],
    ["docs/start", "Two"],
    ["docs/start", "Three"],
  ]);
  await page([["home", "Another home"]], "rdoc", null);
  await page([
    ["gone", "For a while"],
    ["gone", undefined],
  ]);
  // Names that a repository can't have.
  await page([["a", "A page"]]);
  await page([["a.md/b", "Below"]]);
  await page([[".git/config", "Forbidden"]]);
  await insert("wiki_pages", {
    project_id: projectId,
    slug: "imported",
    title: "imported",
    format: "asciidoc",
    content: "= By hand",
    created_at: START,
    updated_at: START,
  });
  const large = Buffer.alloc(600_000, "0123456789");
  await attach(SECRET, "large.bin", large, START + 30_000);

  const upgraded = await app.another();
  const slugs = async () =>
    (await upgraded.call(`GET ${WIKI}`, { as: "guest" })).json.map(
      ({ slug }: { slug: string }) => slug,
    );
  const before = [".git/config", "a", "a.md/b", "docs/start", "home", "imported"];
  expect(await slugs()).toEqual(before);
  shop = await openWorkshop({ ...app, ...upgraded });
  const clone = () =>
    shop?.git("", "clone", "--quiet", shop.url("secret/vault.wiki", "guest"), `${Math.random()}`);
  await Promise.all([clone(), clone(), clone()]);
  await shop.git("", "clone", "--quiet", shop.url("secret/vault.wiki", "guest"), "wiki");
  expect(await shop.git("wiki", "fsck", "--strict", "--no-progress")).toBe("");
  expect((await shop.git("wiki", "ls-files")).split("\n")).toEqual([
    "_.git/config.md",
    "a.md/b.md",
    "a.mkd",
    "docs/start.md",
    "home.rdoc",
    "imported.asciidoc",
    `uploads/${SECRET}/large.bin`,
  ]);
  const log = await shop.git("wiki", "log", "--reverse", "--format=%an|%ae|%aI|%s");
  const at = (minute: number) => `2024-02-03T04:0${5 + minute}:06+00:00`;
  const by = "The developer|developer@example.com";
  expect(log.split("\n")).toEqual([
    `${by}|${at(0)}|developer created page: home`,
    // Of attachments it is known to the second when they came.
    `${by}|2024-02-03T04:05:36+00:00|Upload attachment large.bin`,
    `${by}|${at(1)}|developer updated page: home`,
    `${by}|${at(2)}|developer updated page: docs/start`,
    `${by}|${at(3)}|developer updated page: docs/start`,
    // The author is not a user any more.
    `developer||${at(0)}|developer created page: home`,
    `${by}|${at(0)}|developer created page: gone`,
    `${by}|${at(1)}|developer deleted page: gone`,
    `${by}|${at(0)}|developer created page: a`,
    `${by}|${at(0)}|developer created page: a.md/b`,
    `${by}|${at(0)}|developer created page: .git/config`,
    `unknown||${at(0)}|updated page: imported`,
  ]);
  expect(await shop.git("wiki", "show", "HEAD~9:home.md")).toBe("Two");
  expect(await slugs()).toEqual(["_.git/config", ...before.slice(1)].sort());
  const file = await upgraded.call(`GET ${WIKI}/uploads/${SECRET}/large.bin`, { as: "guest" });
  expect(file.text === large.toString()).toBe(true);
  await upgraded.close();
  expect(await verifyRepositories(app.store, 10)).toEqual([]);
});

it("are converted by the first change, whichever process makes it, and only once", async () => {
  await page([["home", "One"]]);
  const [first, second] = [await app.another(), await app.another()];
  const answers = await Promise.all(
    [first, second, first, second].map((one, at) =>
      one.call(`POST ${WIKI}`, { as: "owner", json: { title: `page ${at}`, content: "x" } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  const { json } = await first.call(`GET ${WIKI}`, { as: "guest" });
  expect(json).toHaveLength(5);
  shop = await openWorkshop({ ...app, ...first });
  await shop.git("", "clone", "--quiet", shop.url("secret/vault.wiki", "owner"), "wiki");
  expect(await shop.git("wiki", "rev-list", "--count", "HEAD")).toBe("5");
  expect(await app.store.rows("select count(*) from git_repositories")).toEqual([[1]]);
  await Promise.all([first.close(), second.close()]);
});

it("are converted in the background after the start, and leave nothing in the old tables", async () => {
  for (let number = 0; number < 300; number += 1) {
    await page([
      [`page-${number}`, `One of ${number}`],
      [`page-${number}`, `Two of ${number}`],
    ]);
  }
  await attach(SECRET, "a.txt", Buffer.from("bytes"), START);
  const upgraded = await app.another({ background: true });
  const left = async () => {
    const tables = ["wiki_page_versions", "wiki_attachments", "wiki_blobs", "outbox"];
    const counts = tables.map((table) => app.store.rows(`select count(*) from ${table}`));
    return (await Promise.all(counts)).flat().flat();
  };
  await expect.poll(left, { timeout: 60_000 }).toEqual([0, 0, 0, 0]);
  shop = await openWorkshop({ ...app, ...upgraded });
  await shop.git("", "clone", "--quiet", shop.url("secret/vault.wiki", "guest"), "wiki");
  expect(await shop.git("wiki", "rev-list", "--count", "HEAD")).toBe("601");
  const { headers } = await upgraded.call(`GET ${WIKI}`, { as: "guest" });
  expect(headers.get("x-total")).toBe("300");
  await upgraded.close();
});
