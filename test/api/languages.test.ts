import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

let made = 0;

/** Makes a project with files, by their sizes, and returns its path. */
async function withFiles(
  files: Record<string, number | string>,
  visibility = "public",
): Promise<string> {
  made += 1;
  const name = `code-${made}`;
  await app.call("POST /projects", { as: "owner", json: { name, visibility } });
  const path = `/projects/owner%2F${name}`;
  await commit(path, "create", files);
  return path;
}

async function commit(path: string, action: string, files: Record<string, number | string>) {
  const actions = Object.entries(files).map(([file_path, content]) => ({
    ...{ action, file_path },
    content: typeof content === "string" ? content : "a".repeat(content),
  }));
  const json = { branch: "main", commit_message: "m", actions };
  const { status, text } = await app.call(`POST ${path}/repository/commits`, { as: "owner", json });
  expect(status, text).toBe(201);
}

/** The text of the answer, which has an order. */
async function languages(path: string, as: Person = "anonymous"): Promise<string> {
  const { status, text } = await app.call(`GET ${path}/languages`, { as });
  expect(status).toBe(200);
  return text;
}

describe("GET /projects/:id/languages", () => {
  it("has the shares of files' bytes, the largest first", async () => {
    const path = await withFiles({ "b.js": 100, "lib/a.rb": 300, "data.json": 5000, LICENSE: 9 });
    expect(await languages(path)).toBe('{"Ruby":75,"JavaScript":25}');
    await commit(path, "create", { "c.rb": 500, Dockerfile: 2 });
    expect(await languages(path)).toBe('{"Ruby":88.69,"JavaScript":11.09,"Dockerfile":0.22}');
  });

  it("has five languages at most", async () => {
    const path = await withFiles({
      ...{ "a.go": 6, "a.rs": 5, "a.py": 4, "a.ts": 3, "a.c": 2, "a.lua": 1, "b.tsx": 3 },
    });
    expect(await languages(path)).toBe(
      '{"Go":25,"TypeScript":25,"Rust":20.83,"Python":16.67,"C":8.33}',
    );
  });

  it.each(["a.GO", "x/y/z.go", "cmd/.a.go"])("knows %s", async (file) => {
    expect(await languages(await withFiles({ [file]: 1 }))).toBe('{"Go":100}');
  });

  it("knows files by their whole names, and by two dots", async () => {
    const path = await withFiles({ "app/Rakefile": 1, "view.blade.php": 1 });
    expect(await languages(path)).toBe('{"Blade":50,"Ruby":50}');
  });

  it("leaves out what others or programs wrote, and documentation", async () => {
    const path = await withFiles({
      ...{ "node_modules/a/b.js": 9, "x/vendor/c.js": 9, "docs/d.js": 9, "third-party/e.js": 9 },
      ...{ "f.min.js": 9, "api.pb.go": 9, "src/docs.ts": 1, "jquery-3.1.js": 9, "my/docs/g.ts": 1 },
    });
    expect(await languages(path)).toBe('{"TypeScript":100}');
  });

  it("obeys .gitattributes", async () => {
    const path = await withFiles({
      ".gitattributes": [
        "# comments",
        "*.js linguist-vendored",
        "/own/** -linguist-vendored",
        "*.inc linguist-language=PHP",
        "*.x linguist-language=Jupyter-Notebook",
        "gen/* linguist-generated=true",
        "vendor/** linguist-vendored=false",
        "*.rs linguist-detectable=false",
        "*.go text",
      ].join("\n"),
      ...{ "a.js": 50, "own/deep/b.js": 1, "c.inc": 1, "d.x": 1, "gen/e.go": 50, "gen/x/f.go": 1 },
      ...{ "vendor/lib/g.rb": 1, "h.rs": 50 },
    });
    expect(JSON.parse(await languages(path))).toEqual({
      ...{ JavaScript: 20, PHP: 20, "Jupyter Notebook": 20, Go: 20, Ruby: 20 },
    });
  });

  it("leaves out what would take too many comparisons with .gitattributes", async () => {
    const rule = `${"**/a/".repeat(200)}b linguist-vendored`;
    const path = await withFiles({
      ".gitattributes": Array.from({ length: 50 }, () => rule).join("\n"),
      ...{ [`${"a/".repeat(60)}x.rb`]: 50, "y.go": 1 },
    });
    expect(await languages(path)).toBe('{"Go":100}');
  });

  it("has none without code, and for whoever may not read it", async () => {
    await app.call("POST /projects", {
      as: "owner",
      json: { name: "empty", visibility: "public" },
    });
    expect(await languages("/projects/owner%2Fempty")).toBe("{}");
    expect(await languages(await withFiles({ "a.json": 1, "b.go": 0 }))).toBe("{}");
    const path = await withFiles({ "a.go": 1 }, "private");
    expect((await app.call(`GET ${path}/languages`, { as: "stranger" })).status).toBe(404);
    expect((await app.call(`GET ${path}/languages`)).status).toBe(404);
    const users = (await app.call("GET /users?username=guest", { as: "admin" })).json;
    const json = { user_id: users[0].id, access_level: 10 };
    await app.call(`POST ${path}/members`, { as: "owner", json });
    expect(await languages(path, "guest")).toBe("{}");
    expect(await languages(path, "owner")).toBe('{"Go":100}');
  });

  it("is of the default branch, whichever it becomes", async () => {
    const path = await withFiles({ "a.go": 1 });
    const actions = [{ action: "create", file_path: "b.rs", content: "b" }];
    const json = { branch: "next", start_branch: "main", commit_message: "m", actions };
    await app.call(`POST ${path}/repository/commits`, { as: "owner", json });
    expect(await languages(path)).toBe('{"Go":100}');
    await app.call(`PUT ${path}`, { as: "owner", json: { default_branch: "next" } });
    expect(await languages(path)).toBe('{"Go":50,"Rust":50}');
  });

  it("are found out once for each commit", async () => {
    const path = await withFiles({ "a.go": 1 });
    const ofRepositories = async () => {
      app.statements.length = 0;
      expect(await languages(path)).toBe('{"Go":100}');
      return app.statements.filter((sql) => sql.includes("git_repo"));
    };
    expect((await ofRepositories()).some((sql) => sql.startsWith("update"))).toBe(true);
    expect(await ofRepositories()).toHaveLength(1);
  });

  it("looks at no more than a hundred thousand entries, of however few trees", async () => {
    const objects = new Objects();
    let tree = objects.add("tree", entry("100644", "a.go", objects.add("blob", "a")));
    for (let depth = 0; depth < 30; depth += 1) {
      tree = objects.add(
        "tree",
        Buffer.concat([entry("40000", "a", tree), entry("40000", "b", tree)]),
      );
    }
    await app.call("POST /projects", { as: "owner", json: { name: "dag", visibility: "public" } });
    const refs = { "refs/heads/main": objects.commit(tree, []) };
    expect(await push(app, "owner/dag", objects.pack, refs)).toContain("unpack ok");
    expect(await languages("/projects/owner%2Fdag")).toBe("{}");
  });
});

describe("languages of GraphQL's projects", () => {
  it("are the same, with colours", async () => {
    const paths = [await withFiles({ "b.js": 100, "a.rb": 300 }), await withFiles({ "a.go": 1 })];
    const fullPaths = paths.map((path) => decodeURIComponent(path).slice("/projects/".length));
    const query = `query ($fullPaths: [String!]) { projects(fullPaths: $fullPaths, sort: "id_asc") {
      nodes { languages { name share color } } } }`;
    const ask = async () =>
      (
        await app.call("POST http://pm.test/api/graphql", {
          json: { query, variables: { fullPaths } },
        })
      ).json;
    const expected = {
      data: {
        projects: {
          nodes: [
            {
              languages: [
                { name: "Ruby", share: 75, color: "#701516" },
                { name: "JavaScript", share: 25, color: "#f1e05a" },
              ],
            },
            { languages: [{ name: "Go", share: 100, color: "#00ADD8" }] },
          ],
        },
      },
    };
    expect(await ask()).toEqual(expected);
    // The second time, it was kept.
    expect(await ask()).toEqual(expected);
  });
});
