// Answers about files are compared with what Git's own client says, which must be installed.
import { execFileSync } from "node:child_process";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";
import { openWorkshop, randomHistory, type Workshop } from "./_git.ts";
import { unzipped } from "./_zip.ts";

const REPOSITORY = "/projects/secret%2Fvault/repository";

/** A history with every kind of file, and names of every length. */
const KINDS = `commit refs/heads/kinds
committer Ada <ada@example.com> 1600000000 +0530
data 6
Kinds

M 100644 inline readme.md
data 6
hello

M 100755 inline bin/run
data 3
run
M 120000 inline bin/link
data 3
run
M 160000 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa vendor/module
M 100644 inline a-folder/${"deep/".repeat(18)}file
data 4
deep
M 100644 inline ${"n".repeat(180)}
data 4
long
M 100644 inline "caf\\303\\251 and spaces"
data 3
tea
M 120000 inline long-link
data 120
${"t".repeat(120)}
M 100644 inline empty
data 0

`;

/** Names that are not UTF-8, two of which look alike, and a branch whose archives have a long folder. */
const BYTES = ["bytes", `long-${"branch-".repeat(8)}name`]
  .map(
    (branch) => `commit refs/heads/${branch}
committer Ada <ada@example.com> 1600000000 +0530
data 6
Bytes

M 100644 inline "caf\\350.txt"
data 1
b
M 100644 inline "caf\\351.txt"
data 1
a
M 100644 inline "d\\351j\\340 vu/${"deep/".repeat(30)}${"n".repeat(99)}\\351"
data 1
c
M 100644 inline plain/${"n".repeat(200)}
data 1
d

`,
  )
  .join("");

let app: TestApp;
let workshop: Workshop;
const git = (...args: string[]) =>
  workshop.git("source.git", "-c", "core.quotePath=false", ...args);
beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  await workshop.importInto("source.git", randomHistory(3, 120) + KINDS + BYTES);
  await git("push", "--quiet", "--mirror", workshop.url("secret/vault", "owner"));
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const get = (path: string, as: Person = "developer") =>
  app.call(`GET ${REPOSITORY}${path}`, { as });

/** What `git ls-tree` lists, in GitLab's order. */
async function listed(...args: string[]) {
  const lines = (await git("ls-tree", "-z", ...args)).split("\0").filter((line) => line !== "");
  const entries = lines.map((line) => {
    const [about = "", path = ""] = line.split("\t");
    const [mode, type, id] = about.split(" ");
    return { id, name: path.split("/").at(-1), type, path, mode };
  });
  return ["tree", "blob", "commit"].flatMap((kind) => entries.filter(({ type }) => type === kind));
}

describe("the tree", () => {
  it.each([
    ["", ["main"]],
    ["?ref=kinds", ["kinds"]],
    ["?ref=kinds&path=bin", ["kinds", "bin/"]],
    ["?ref=kinds&path=/bin/", ["kinds", "bin/"]],
    ["?ref=b1&recursive=true", ["-r", "-t", "b1"]],
    ["?ref=kinds&recursive=1&per_page=100", ["-r", "-t", "kinds"]],
    ["?path=d&recursive=1&ref_name=kinds", ["-r", "-t", "main:d"]],
  ])("%s is Git's", async (query, args) => {
    const { status, json, headers } = await get(`/tree${query}`);
    const expected = await listed(...args);
    const inFolder = args.at(-1)?.includes(":") ? "d/" : "";
    expect([status, json]).toEqual([
      200,
      expected.map((one) => ({ ...one, path: inFolder + one.path })).slice(0, 100),
    ]);
    expect(headers.get("x-total")).toBe(String(expected.length));
  });

  it("can be read in pages of any size", async () => {
    const expected = await listed("-r", "-t", "kinds");
    for (const size of [1, 2, 7]) {
      const found: unknown[] = [];
      for (let page = 1; page <= Math.ceil(expected.length / size); page += 1) {
        const query = `?ref=kinds&recursive=true&per_page=${size}&page=${page}`;
        found.push(...(await get(`/tree${query}`)).json);
      }
      expect(found).toEqual(expected);
    }
  });

  it("can be read by key, with a link to the next page only", async () => {
    const expected = await listed("-r", "-t", "kinds");
    const found: unknown[] = [];
    let next: string | undefined = "?ref=kinds&recursive=true&pagination=keyset&per_page=7";
    while (next !== undefined) {
      const { json, headers } = await get(`/tree${next}`);
      found.push(...json);
      const link = headers.get("link");
      if (link) expect(link).toMatch(/^<[^>]*>; rel="next"$/);
      expect(headers.get("x-total")).toBeNull();
      next = link === null ? undefined : /tree(\?[^>]*)>/.exec(link)?.[1];
    }
    expect(found).toEqual(expected);
  });

  it("can be read at once, if it is recursive", async () => {
    const { json } = await get("/tree?ref=kinds&recursive=true&pagination=none");
    expect(json).toEqual(await listed("-r", "-t", "kinds"));
    const whole = await get("/tree?ref=kinds&recursive=1&pagination=none&per_page=2&page=3");
    expect(whole.json).toEqual(json);
    const paging = [...whole.headers.keys()].filter((name) =>
      /^(link|x-.*(page|total).*)$/.test(name),
    );
    expect(paging).toEqual([]);
    const refused = await get("/tree?pagination=none");
    const error = 'pagination cannot be "none" unless "recursive" is true';
    expect([refused.status, refused.json]).toEqual([400, { error }]);
  });

  it.each([
    ["?ref=foo", "404 Tree Not Found"],
    ["?ref=foo&path=bogus", "404 Tree Not Found"],
    ["?path=bogus", "404 invalid revision or path Not Found"],
    ["?ref=kinds&path=readme.md", "404 invalid revision or path Not Found"],
    ["?ref=kinds&path=readme.md/x", "404 invalid revision or path Not Found"],
  ])("%s is 404", async (query, message) => {
    const { status, json } = await get(`/tree${query}`);
    expect([status, json]).toEqual([404, { message }]);
  });

  it("of an empty repository is 404", async () => {
    const { status, json } = await app.call("GET /projects/acme%2Fsite/repository/tree");
    expect([status, json]).toEqual([404, { message: "404 Tree Not Found" }]);
  });

  it("is for those who can read the code, which is checked before the parameters", async () => {
    for (const path of ["/tree", "/tree?recursive=perhaps", "/merge_base", "/commits?since=x"]) {
      expect((await get(path, "guest")).status).toBe(403);
      const anonymous = await get(path, "anonymous");
      expect([anonymous.status, anonymous.json.message]).toEqual([404, "404 Project Not Found"]);
      expect((await get(path, "stranger")).status).toBe(404);
    }
    expect((await get("/tree?recursive=perhaps")).status).toBe(400);
  });

  it("of trees with more entries than could be counted one by one is read in parts", async () => {
    const objects = new Objects();
    let tree = objects.add("tree", entry("100644", "leaf", objects.add("blob", "")));
    for (let depth = 0; depth < 20; depth += 1) {
      const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
      tree = objects.add("tree", Buffer.concat(names.map((name) => entry("40000", name, tree))));
    }
    const commit = objects.commit(tree, []);
    await push(app, "acme/site", objects.pack, { "refs/heads/bomb": commit });
    const bomb = "GET /projects/acme%2Fsite/repository/tree?ref=bomb&recursive=true";
    const first = await app.call(`${bomb}&per_page=3`);
    expect(first.json.map(({ path }: { path: string }) => path)).toEqual(["a", "a/a", "a/a/a"]);
    const far = await app.call(`${bomb}&per_page=2&page=${8 ** 15}`);
    expect(far.json).toHaveLength(2);
    const archive = await app.call("GET /projects/acme%2Fsite/repository/archive?sha=bomb");
    expect([archive.status, archive.json.message]).toEqual([
      400,
      "400 Bad request - The archive would have more than 1000000 entries",
    ]);
  });
});

describe("a blob", () => {
  it("has the content of its file", async () => {
    const id = await git("rev-parse", "kinds:readme.md");
    const { status, json } = await get(`/blobs/${id}`);
    const content = Buffer.from("hello\n").toString("base64");
    expect([status, json]).toEqual([200, { size: 6, encoding: "base64", content, sha: id }]);
    const raw = await get(`/blobs/${id}/raw`);
    expect([raw.status, raw.text]).toEqual([200, "hello\n"]);
    expect(raw.headers.get("content-type")).toBe("text/plain");
    expect(raw.headers.get("content-disposition")).toBe("inline");
    expect(raw.headers.get("x-content-type-options")).toBe("nosniff");
    expect(raw.headers.get("content-security-policy")).toBe("sandbox");
  });

  it("is found by its whole name only, and is no tree or commit", async () => {
    const [id, tree, commit] = (
      await git("rev-parse", "kinds:readme.md", "kinds^{tree}", "kinds")
    ).split("\n");
    for (const name of ["abcd9876", id?.slice(0, 10), tree, commit, "0".repeat(40), "readme.md"]) {
      const { status, json } = await get(`/blobs/${name}`);
      expect([status, json]).toEqual([404, { message: "404 Blob Not Found" }]);
      expect((await get(`/blobs/${name}/raw`)).status).toBe(404);
    }
  });
});

/** An archive as bytes. */
async function bytesOf(path: string): Promise<{ bytes: Buffer; headers: Headers }> {
  const response = await app.fetch(
    new Request(`http://pm.test/api/v4${REPOSITORY}${path}`, {
      headers: { "private-token": "token-of-developer" },
    }),
  );
  expect(response.status).toBe(200);
  return { bytes: Buffer.from(await response.arrayBuffer()), headers: response.headers };
}

describe("an archive", () => {
  const judge = (name: string, prefix: string, ...paths: string[]) =>
    execFileSync("git", ["archive", "--format=tar", `--prefix=${prefix}/`, name, ...paths], {
      cwd: `${workshop.folder}/source.git`,
      maxBuffer: 64 * 1024 * 1024,
    });

  it.each(["kinds", "main", "b1"])("of %s is Git's", async (ref) => {
    const id = await git("rev-parse", ref);
    const prefix = `vault-${ref}-${id}`;
    const expected = judge(id, prefix);
    const plain = await bytesOf(`/archive.tar?sha=${ref}`);
    expect(plain.bytes.equals(expected)).toBe(true);
    expect(plain.headers.get("content-disposition")).toContain(
      `attachment; filename="${prefix}.tar"`,
    );
    for (const ending of ["tar.gz", "tgz", "gz"]) {
      const { bytes, headers } = await bytesOf(`/archive.${ending}?sha=${ref}`);
      expect(gunzipSync(bytes).equals(expected)).toBe(true);
      expect(headers.get("content-type")).toBe("application/octet-stream");
    }
  });

  it("is of the default branch, as a compressed tar archive", async () => {
    const { bytes, headers } = await bytesOf("/archive");
    const id = await git("rev-parse", "main");
    expect(gunzipSync(bytes).equals(judge(id, `vault-main-${id}`))).toBe(true);
    expect(headers.get("content-disposition")).toContain(`filename="vault-main-${id}.tar.gz"`);
  });

  it("keeps names that are not UTF-8, also in folders with long names", async () => {
    for (const ref of ["bytes", `long-${"branch-".repeat(8)}name`]) {
      const id = await git("rev-parse", ref);
      const { bytes } = await bytesOf(`/archive.tar?sha=${ref}`);
      expect([ref, bytes.equals(judge(id, `vault-${ref}-${id}`))]).toEqual([ref, true]);
      const below = await bytesOf(`/archive.tar?sha=${ref}&path=plain`);
      const expected = judge(id, `vault-${ref}-${id}-plain`, "plain");
      expect([ref, below.bytes.equals(expected)]).toEqual([ref, true]);
    }
    const { bytes } = await bytesOf("/archive.zip?sha=bytes");
    const name = Buffer.from("caf\xe9.txt", "latin1");
    expect([bytes.includes(name), bytes.includes(Buffer.from("caf\ufffd"))]).toEqual([true, false]);
    // Such a name is not said to be UTF-8, but others are.
    const local = bytes.lastIndexOf(Buffer.from("PK\x03\x04"), bytes.indexOf(name));
    expect(bytes.readUInt16LE(local + 6) & 0x0800).toBe(0);
  });

  it("can be of a folder", async () => {
    const id = await git("rev-parse", "kinds");
    const { bytes, headers } = await bytesOf("/archive.tar?sha=kinds&path=bin");
    expect(headers.get("content-disposition")).toContain(`vault-kinds-${id}-bin.tar`);
    expect(bytes.equals(judge(id, `vault-kinds-${id}-bin`, "bin"))).toBe(true);
  });

  it("can be a ZIP file", async () => {
    const { bytes, headers } = await bytesOf("/archive.zip?sha=kinds");
    expect(headers.get("content-type")).toBe("application/zip");
    const id = await git("rev-parse", "kinds");
    const files = unzipped(bytes);
    const expected = await listed("-r", "-t", "kinds");
    const prefix = `vault-kinds-${id}/`;
    const names = expected.map(({ path, type }) => prefix + path + (type === "blob" ? "" : "/"));
    expect([...files.keys()].sort()).toEqual([prefix, ...names].sort());
    for (const { path, type, id: blob } of expected) {
      if (type !== "blob") continue;
      // What Git prints lacks white space at the ends.
      const text = files
        .get(prefix + path)
        ?.toString()
        .trim();
      expect(text).toBe(await git("cat-file", "blob", blob as string));
    }
  });

  it.each([
    "/archive?sha=xxx",
    "/archive.zip?sha=xxx",
    "/archive?path=none",
    "/archive.tar?path=a",
  ])("%s is 404", async (path) => {
    const { status, json } = await get(path);
    expect([status, json]).toEqual([404, { message: "404 File Not Found" }]);
  });

  it("of another format is 406", async () => {
    expect((await get("/archive.rar")).status).toBe(406);
    expect((await get("/archive.constructor")).status).toBe(406);
  });

  it("in bzip2 is 400, which says what there is", async () => {
    for (const ending of ["tar.bz2", "tbz", "tbz2", "tb2", "bz2"]) {
      const { status, json } = await get(`/archive.${ending}`);
      const message = "400 Bad request - There are no bzip2 archives: use tar.gz or zip";
      expect([ending, status, json]).toEqual([ending, 400, { message }]);
    }
  });
});

it("files whose names are not UTF-8 are found by what the tree shows", async () => {
  const { json } = await get("/tree?ref=bytes");
  const names = json.map(({ name }: { name: string }) => name);
  expect(names).toEqual(["d\ufffdj\ufffd vu", "plain", "caf\ufffd.txt", "caf\ufffd.txt"]);
  const file = await get(`/files/${encodeURIComponent(names[2])}?ref=bytes`);
  expect([file.status, file.json.content]).toEqual([200, Buffer.from("b").toString("base64")]);
  const below = await get(`/tree?ref=bytes&path=${encodeURIComponent(names[0])}`);
  expect(below.json.map(({ name }: { name: string }) => name)).toEqual(["deep"]);
});

describe("contributors", () => {
  it("are counted by their addresses, without merges", async () => {
    const { status, json } = await get("/contributors?ref=main");
    const count = Number(await git("rev-list", "--count", "--no-merges", "main"));
    expect([status, json]).toEqual([
      200,
      [{ name: "A", email: "a@example.com", commits: count, additions: 0, deletions: 0 }],
    ]);
  });

  it("are sorted", async () => {
    const objects = new Objects();
    const tree = objects.add("tree", "");
    let tip: Buffer | undefined;
    for (const author of ["Bob", "Ada", "Cid", "Ada", "Ada", "Bob"]) {
      tip = objects.commit(tree, tip ? [tip] : [], { author });
    }
    await push(app, "acme/site", objects.pack, { "refs/heads/people": tip as Buffer });
    const names = async (query: string) =>
      (await app.call(`GET /projects/acme%2Fsite/repository/contributors?ref=people${query}`)).json
        .map(({ name }: { name: string }) => name)
        .join(" ");
    expect(await names("")).toBe("Cid Bob Ada");
    expect(await names("&sort=desc")).toBe("Ada Bob Cid");
    expect(await names("&order_by=name")).toBe("Ada Bob Cid");
    expect(await names("&order_by=email&sort=desc")).toBe("Cid Bob Ada");
  });

  it("of an unknown branch are none", async () => {
    expect((await get("/contributors?ref=none")).json).toEqual([]);
  });
});

describe("the merge base", () => {
  it("of any two commits is one of Git's", async () => {
    const all = (await git("rev-list", "main", "b1", "b2")).split("\n");
    for (let at = 0; at + 11 < all.length; at += 5) {
      const [one, other] = [all[at] as string, all[at + 11] as string];
      const bases = (await git("merge-base", "--all", one, other).catch(() => "")).split("\n");
      const { status, json } = await get(`/merge_base?refs[]=${one}&refs[]=${other}`);
      if (bases[0] === "") expect(status).toBe(404);
      else expect([status, bases.includes(json.id)]).toEqual([200, true]);
    }
  });

  it("of several takes all but the first together", async () => {
    const base = await git("merge-base", "main", "b1", "b2");
    expect((await get("/merge_base?refs[]=main&refs[]=b1&refs[]=b2")).json.id).toBe(base);
    expect((await get("/merge_base?refs[]=main,b1,b2")).json.id).toBe(base);
  });

  it.each([
    ["refs[]=main", 400, "400 Bad request - Provide at least 2 refs"],
    ["refs[]=main&refs[]=nope", 400, "400 Bad request - Could not find ref: nope"],
    ["refs[]=no&refs[]=nope", 400, "400 Bad request - Could not find refs: no, nope"],
    ["refs[]=main&refs[]=kinds", 404, "404 Merge Base Not Found"],
  ])("%s is refused", async (query, status, message) => {
    const answer = await get(`/merge_base?${query}`);
    expect([answer.status, answer.json]).toEqual([status, { message }]);
  });
});
