import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const START = Date.parse("2026-11-21T08:00:00.000Z");
let now = START;
beforeAll(async () => {
  app = await testApp({ now: () => now });
});
afterAll(() => app.dispose());

const exported = async (project: string) => {
  const files: Record<string, string> = {};
  for await (const { path, bytes } of app.admin.exportWiki(project)) {
    expect(files).not.toHaveProperty([path]);
    const pieces: Uint8Array[] = [];
    for await (const piece of bytes) pieces.push(piece);
    files[path] = Buffer.concat(pieces).toString();
  }
  return files;
};
const W = "/projects/secret%2Fvault/wikis";

describe("exporting a wiki", () => {
  it("is 404 for an unknown project", async () => {
    await expect(exported("secret/nothing")).rejects.toThrow("404 Project Not Found");
    await expect(exported("4711")).rejects.toThrow("404 Project Not Found");
  });

  it("returns pages, attachments and every version, including deleted ones", async () => {
    expect(await exported("acme/site")).toEqual({ "history.jsonl": "" });

    const at = (minutes: number) => {
      now = START + minutes * 60_000;
    };
    const json = { title: "home page", content: "one" };
    await app.call(`POST ${W}`, { as: "developer", json });
    at(1);
    const put = (slug: string, sent: object) =>
      app.call(`PUT ${W}/${slug}`, { as: "maintainer", json: sent });
    await put("home-page", { content: "two" });
    await put("home-page", { content: "two" });
    await put("home-page", { content: "two", title: "home page" });
    at(2);
    await put("home-page", { title: "guides/start", format: "asciidoc" });
    await app.call(`POST ${W}`, { as: "developer", json: { title: "other", content: "gone" } });
    at(3);
    await app.call(`DELETE ${W}/other`, { as: "owner" });
    const body = new FormData();
    body.append("file", new Blob(["bytes"]), "a.txt");
    const attached = await app.call(`POST ${W}/attachments`, { as: "developer", body });

    const files = await exported("Secret/Vault");
    expect(Object.keys(files).sort()).toEqual([
      "guides/start.asciidoc",
      "history.jsonl",
      attached.json.link.url,
    ]);
    expect(files["guides/start.asciidoc"]).toBe("two");
    expect(files[attached.json.link.url]).toBe("bytes");
    const history = (files["history.jsonl"] as string).trimEnd().split("\n");
    const versions = history.map((line) => JSON.parse(line));
    const first = versions[0].page_id;
    const home = { page_id: first, slug: "home-page", title: "home page", format: "markdown" };
    expect(versions.slice(0, 3)).toEqual([
      {
        ...home,
        action: "created",
        author: "developer",
        message: "developer created page: home page",
        created_at: "2026-11-21T08:00:00.000Z",
        content: "one",
      },
      {
        ...home,
        action: "updated",
        author: "maintainer",
        message: "maintainer updated page: home page",
        created_at: "2026-11-21T08:01:00.000Z",
        content: "two",
      },
      {
        page_id: first,
        slug: "guides/start",
        title: "guides/start",
        format: "asciidoc",
        action: "updated",
        author: "maintainer",
        message: "maintainer updated page: guides/start",
        created_at: "2026-11-21T08:02:00.000Z",
        content: "two",
      },
    ]);
    const other = versions.slice(3).map(({ action, author, content }) => [action, author, content]);
    expect(other).toEqual([
      ["created", "developer", "gone"],
      ["deleted", "owner", ""],
    ]);
  });

  it("keeps the authors of versions after they are deleted", async () => {
    await app.admin.createUser({ username: "leaver", name: "L", email: "leaver@example.com" });
    const { token } = await app.admin.createToken({ user: "leaver", name: "t", scopes: ["api"] });
    const { json } = await app.call("GET /users?username=leaver", { as: "admin" });
    await app.call("POST /projects/acme%2Fsite/members", {
      as: "owner",
      json: { user_id: json[0].id, access_level: 30 },
    });
    const made = await app.call("POST /projects/acme%2Fsite/wikis", {
      headers: { "private-token": token },
      json: { title: "memo", content: "I was here" },
    });
    expect(made.status).toBe(201);
    await app.call(`DELETE /users/${json[0].id}`, { as: "admin" });
    const { "history.jsonl": history = "" } = await exported("acme/site");
    expect(JSON.parse(history)).toMatchObject({ author: "leaver", content: "I was here" });
  });

  it("uses file names valid on every system, whatever the titles are", async () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom("/", "\\", "C:", "..", ".", "~", "con", "aux.md", ".git", "A", "a", "a.md"),
    );
    const titles = fc
      .array(
        fc.array(piece, { minLength: 1, maxLength: 5 }).map((all) => all.join("")),
        { maxLength: 40 },
      )
      .map((all) => [
        ...all,
        "a",
        "A",
        "a.md/b",
        "a.md",
        "history.jsonl/x",
        "..\\..\\x",
        "CON/nul",
      ]);
    let count = 0;
    await fc.assert(
      fc.asyncProperty(titles, async (all) => {
        count += 1;
        const name = `exported${count}`;
        const made = await app.call("POST /projects", { as: "admin", json: { name } });
        const id = String(made.json.id);
        let pages = 0;
        for (const title of all) {
          const json = { title, content: title };
          const created = await app.call(`POST /projects/${id}/wikis`, { as: "admin", json });
          if (created.status === 201) pages += 1;
        }
        const paths = Object.keys(await exported(id));
        expect(paths.length).toBe(pages + 1);
        const files = new Set(paths.map((path) => path.normalize("NFC").toLowerCase()));
        expect(files.size).toBe(paths.length);
        for (const path of files) {
          const names = path.split("/");
          for (const one of names) {
            // biome-ignore lint/suspicious/noControlCharactersInRegex: checks that there are none
            expect(one).toMatch(/^(?![.])[^\x00-\x1f<>:"\\|?*]*[^\x00-\x1f<>:"\\|?*. ]$/);
            expect(one).not.toMatch(/^(con|nul|aux)(\.|$)/);
            expect(Buffer.byteLength(one)).toBeLessThanOrEqual(255);
          }
          // No file has the path of another one's folder.
          for (let at = 1; at < names.length; at += 1) {
            expect(files.has(names.slice(0, at).join("/"))).toBe(false);
          }
        }
      }),
      { numRuns: 8 },
    );
  });
});
