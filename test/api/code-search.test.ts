import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let project: string;
let id: number;
let sha: string;

const send = (request: string, as: Person, json: object) => {
  const [method, path] = request.split(" ");
  return app.call(`${method} ${project}${path}`, { as, json });
};

beforeAll(async () => {
  app = await testApp();
  const group = await app.call("GET /groups/secret", { as: "owner" });
  const made = await app.call("POST /projects", {
    as: "owner",
    json: { name: "Searched", namespace_id: group.json.id, visibility: "private" },
  });
  id = made.json.id;
  project = `/projects/${id}`;
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
  lines[9] = "here is a NEEDLE";
  lines[24] = "another needle";
  const create = (file_path: string, content: string, encoding = "text") => ({
    action: "create",
    file_path,
    content,
    encoding,
  });
  const first = await send("POST /repository/commits", "owner", {
    branch: "main",
    commit_message: "Add a Needle\n\nAnd more",
    actions: [
      create("src/deep/code.test.ts", lines.join("\n")),
      create("needle.txt", "nothing"),
      create("binary", Buffer.from("\0needle").toString("base64"), "base64"),
      create("large", `${"x".repeat(600_000)}needle`),
    ],
  });
  sha = first.json.id;
  await send("POST /repository/commits", "owner", {
    branch: "other",
    start_branch: "main",
    commit_message: "Second",
    actions: [create("only-there", "needle")],
  });
  await send("POST /wikis", "owner", { title: "Home", content: "a\nb\nthe needle\nc" });
  await send("POST /issues", "owner", { title: "One" });
  await send("POST /issues", "owner", { title: "Hidden", confidential: true });
  await send("POST /issues/1/notes", "owner", { body: "A needle here" });
  await send("POST /issues/1/notes", "owner", { body: "An internal needle", internal: true });
  await send("POST /issues/2/notes", "owner", { body: "A hidden needle" });
  await send(`POST /repository/commits/${sha}/comments`, "owner", { note: "A needle in code" });
});
afterAll(() => app.dispose());

const search = async (scope: string, as: Person = "reporter", more = "", text = "nEEdle") => {
  const { status, json, headers } = await app.call(
    `GET ${project}/search?scope=${scope}&search=${text}${more}`,
    { as },
  );
  return { status, json, headers };
};

describe("a search of a project", () => {
  it("finds parts of files, with lines around them", async () => {
    const { json } = await search("blobs");
    expect(json).toEqual([
      {
        basename: "needle",
        data: "",
        path: "needle.txt",
        filename: "needle.txt",
        id: null,
        ref: "main",
        startline: 1,
        project_id: id,
      },
      {
        basename: "src/deep/code.test",
        data: "line 8\nline 9\nhere is a NEEDLE\nline 11\nline 12\n",
        path: "src/deep/code.test.ts",
        filename: "src/deep/code.test.ts",
        id: null,
        ref: "main",
        startline: 8,
        project_id: id,
      },
      expect.objectContaining({ path: "src/deep/code.test.ts", startline: 23 }),
    ]);
    const there = (await search("blobs", "reporter", "&ref=other")).json;
    expect(there.map(({ path }: { path: string }) => path)).toContain("only-there");
    expect((await search("blobs", "reporter", "&ref=none")).json).toEqual([]);
  });

  it("pages what it finds", async () => {
    const { json, headers } = await search("blobs", "reporter", "&per_page=1&page=2");
    expect(json).toHaveLength(1);
    expect(headers.get("x-next-page")).toBe("3");
    expect((await search("blobs", "reporter", "&per_page=2&page=2")).headers.get("x-total")).toBe(
      "3",
    );
  });

  it("finds commits by their messages and names", async () => {
    expect((await search("commits")).json).toMatchObject([{ id: sha, title: "Add a Needle" }]);
    expect((await search("commits", "reporter", "", sha.slice(0, 10))).json).toHaveLength(1);
    expect((await search("commits", "reporter", "", "and%20MORE")).json).toHaveLength(1);
    expect((await search("commits", "reporter", "&ref=other", "second")).json).toHaveLength(1);
  });

  it("finds pages of the wiki", async () => {
    expect((await search("wiki_blobs")).json).toEqual([
      {
        basename: "Home",
        data: "a\nb\nthe needle\nc\n",
        path: "Home.md",
        filename: "Home.md",
        id: null,
        ref: "master",
        startline: 1,
        project_id: id,
      },
    ]);
  });

  it.each<[Person, Record<string, number>]>([
    ["owner", { notes: 4, blobs: 3, commits: 1, wiki_blobs: 1 }],
    ["reporter", { notes: 4, blobs: 3, commits: 1, wiki_blobs: 1 }],
    ["guest", { notes: 1, blobs: 0, commits: 0, wiki_blobs: 1 }],
  ])("shows %s what they may see", async (as, counts) => {
    for (const [scope, count] of Object.entries(counts)) {
      const { status, json } = await search(scope, as);
      expect([scope, status, json.length]).toEqual([scope, 200, count]);
    }
  });

  it("shows others nothing", async () => {
    for (const scope of ["notes", "blobs", "commits", "wiki_blobs"]) {
      expect((await search(scope, "stranger")).status).toBe(404);
      expect((await search(scope, "anonymous")).status).toBe(401);
    }
  });

  it("leaves out what projects have disabled, and finds nothing where there is nothing", async () => {
    await app.call(`PUT ${project}`, { as: "owner", json: { wiki_enabled: false } });
    expect((await search("wiki_blobs")).json).toEqual([]);
    const empty = await app.call("POST /projects", { as: "owner", json: { name: "Empty" } });
    for (const scope of ["blobs", "commits", "wiki_blobs", "notes"]) {
      const { status, json } = await app.call(
        `GET /projects/${empty.json.id}/-/search?scope=${scope}&search=x`,
        { as: "owner" },
      );
      expect([status, json]).toEqual([200, []]);
    }
  });

  it.each([
    ["filename:needle.txt", ["needle.txt"]],
    ["filename:*.test.ts", ["src/deep/code.test.ts"]],
    ["path:src/*/code another", ["src/deep/code.test.ts"]],
    ["needle extension:txt", ["needle.txt"]],
    ["needle -extension:ts", ["needle.txt"]],
    ["filename:deep", []],
    ["nothing filename:code.test.ts", []],
  ])("has filters: %s", async (text, paths) => {
    const { json } = await search("blobs", "reporter", "", encodeURIComponent(text));
    expect(json.map(({ path }: { path: string }) => path)).toEqual(paths);
  });
});

describe("a search of a group, and of everything", () => {
  const PLACES = ["/groups/secret/search", "/search"];
  let second: number;
  const found = async (place: string, scope: string, as: Person, more = "") => {
    const query = `scope=${scope}&search=${encodeURIComponent("manifest")}${more}`;
    const { status, json } = await app.call(`GET ${place}?${query}`, { as });
    expect([place, scope, status]).toEqual([place, scope, 200]);
    return json.map((one: { project_id?: number; id: unknown }) => one.project_id ?? one.id);
  };

  beforeAll(async () => {
    const group = await app.call("GET /groups/secret", { as: "owner" });
    const below = await app.call("POST /groups", {
      as: "owner",
      json: { name: "Below", path: "below", parent_id: group.json.id },
    });
    const made = await app.call("POST /projects", {
      as: "owner",
      json: { name: "Second", namespace_id: below.json.id, visibility: "private" },
    });
    second = made.json.id;
    for (const [at, branch] of [
      [id, "main"],
      [second, "main"],
    ] as const) {
      const actions = [{ action: "create", file_path: "manifest.yaml", content: "kind: a" }];
      const commit_message = "Add the manifest";
      const json = { branch, commit_message, actions };
      const to = `POST /projects/${at}`;
      const written = await app.call(`${to}/repository/commits`, { as: "owner", json });
      expect(written.status).toBe(201);
      await app.call(`PUT /projects/${at}`, { as: "owner", json: { wiki_enabled: true } });
      const page = { title: "Manifest", content: "text" };
      await app.call(`${to}/wikis`, { as: "owner", json: page });
    }
  });

  it("finds files, commits and wiki pages of all projects, in the order of their ids", async () => {
    for (const place of PLACES) {
      for (const scope of ["blobs", "wiki_blobs"]) {
        expect(await found(place, scope, "owner")).toEqual([id, second]);
      }
      expect(await found(place, "commits", "owner")).toHaveLength(2);
      expect(await found(place, "blobs", "owner", "&per_page=1&page=2")).toEqual([second]);
      const filtered = await app.call(
        `GET ${place}?scope=blobs&search=${encodeURIComponent("filename:manifest.yaml")}`,
        { as: "reporter" },
      );
      expect(filtered.json).toHaveLength(2);
    }
  });

  it("finds only what the caller may read", async () => {
    for (const place of PLACES) {
      expect(await found(place, "blobs", "guest")).toEqual([]);
      expect(await found(place, "commits", "guest")).toEqual([]);
      expect(await found(place, "wiki_blobs", "guest")).toEqual([id, second]);
    }
    for (const scope of ["blobs", "commits", "wiki_blobs"]) {
      expect(await found("/search", scope, "stranger")).toEqual([]);
      const hidden = await app.call(`GET ${PLACES[0]}?scope=${scope}&search=a`, { as: "stranger" });
      expect(hidden.status).toBe(404);
    }
    await app.call(`PUT /projects/${second}`, { as: "owner", json: { wiki_enabled: false } });
    expect(await found("/search", "wiki_blobs", "owner")).toEqual([id]);
  });

  it("leaves out archived projects", async () => {
    await app.call(`POST /projects/${second}/archive`, { as: "owner" });
    for (const place of PLACES) expect(await found(place, "blobs", "owner")).toEqual([id]);
  });
});
