import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder } from "../folder.ts";
import { runs, tryRandomly } from "../forms.ts";
import { type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const folder = newFolder();
const START = Date.parse("2026-11-21T08:00:00.000Z");
let now = START;
beforeAll(async () => {
  app = await testApp({ now: () => now });
});
afterAll(async () => {
  await app.dispose();
  await rm(folder, { recursive: true, force: true });
});

/** Writes an exported wiki to a folder, and returns the paths of its files, without Git's own. */
const exported = async (project: string, to: string) => {
  const paths: string[] = [];
  for await (const { path, bytes } of app.admin.projects.exportWiki(project)) {
    expect(paths).not.toContain(path);
    const file = join(folder, to, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
    paths.push(path);
  }
  return paths.filter((path) => !path.startsWith(".git/")).sort();
};
/** What `git` says about an exported wiki. */
const git = async (to: string, ...args: string[]) => {
  const env = { ...process.env, GIT_CONFIG_NOSYSTEM: "1", HOME: folder, LC_ALL: "C" };
  const { stdout } = await promisify(execFile)("git", args, { cwd: join(folder, to), env });
  return stdout.trim();
};
const W = "/projects/secret%2Fvault/wikis";

describe("exporting a wiki", () => {
  it("is 404 for an unknown project", async () => {
    await expect(exported("secret/nothing", "no")).rejects.toThrow("404 Project Not Found");
    await expect(exported("4711", "no")).rejects.toThrow("404 Project Not Found");
  });

  it("makes a clone, with pages, attachments and every version, also of deleted pages", async () => {
    expect(await exported("acme/site", "empty")).toEqual([]);

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

    expect(await exported("Secret/Vault", "vault")).toEqual([
      "guides/start.asciidoc",
      attached.json.link.url,
    ]);
    const read = (path: string) => readFile(join(folder, "vault", path), "utf8");
    expect(await read("guides/start.asciidoc")).toBe("two");
    expect(await read(attached.json.link.url)).toBe("bytes");
    expect(await git("vault", "fsck", "--strict", "--no-progress")).toBe("");
    expect(await git("vault", "status", "--porcelain")).toBe("");
    expect(await git("vault", "branch", "--show-current")).toBe("master");
    const log = await git("vault", "log", "--reverse", "--format=%an %ct %s");
    const when = (minutes: number) => (START + minutes * 60_000) / 1000;
    expect(log.split("\n")).toEqual([
      `The developer ${when(0)} developer created page: home page`,
      `The maintainer ${when(1)} maintainer updated page: home page`,
      `The maintainer ${when(2)} maintainer updated page: guides/start`,
      `The developer ${when(2)} developer created page: other`,
      `The owner ${when(3)} owner deleted page: other`,
      `The developer ${when(3)} Upload attachment a.txt`,
    ]);
    expect(await git("vault", "show", "HEAD~5:home-page.md")).toBe("one");
    expect(await git("vault", "show", "HEAD~2:other.md")).toBe("gone");
  });

  it("keeps the authors of versions after they are deleted", async () => {
    await app.admin.users.create({ username: "leaver", name: "L", email: "leaver@example.com" });
    const { token } = await app.admin.tokens.create({ user: "leaver", name: "t", scopes: ["api"] });
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
    expect(await exported("acme/site", "site")).toEqual(["memo.md"]);
    expect(await git("site", "log", "--format=%an <%ae>")).toBe("L <leaver@example.com>");
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
    await tryRandomly(
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
        const paths: string[] = [];
        for await (const { path } of app.admin.projects.exportWiki(id)) {
          if (!path.startsWith(".git/")) paths.push(path);
        }
        expect(paths.length).toBe(pages);
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
      { numRuns: runs(4, 40) },
    );
  });
});
