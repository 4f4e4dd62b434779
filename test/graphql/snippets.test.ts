import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
const ids: Record<string, string> = {};
const SITE = "/projects/acme%2Fsite/snippets";
const CONTENT = 'a < "b" && é';

beforeAll(async () => {
  app = await testApp();
  const create = async (path: string, title: string, visibility: string, as: Person = "owner") => {
    const json = { title, file_name: `${title}.txt`, content: CONTENT, visibility };
    const created = await app.call(`POST ${path}`, { as, json });
    if (created.status !== 201) throw new Error(created.text);
    const type = path === SITE ? "ProjectSnippet" : "PersonalSnippet";
    ids[title] = `gid://gitlab/${type}/${created.json.id}`;
  };
  await create(SITE, "open", "public");
  await create(SITE, "closed", "private");
  await create("/snippets", "mine", "private");
  await create("/snippets", "shared", "internal", "developer");
  await create("/snippets", "free", "public");
});
afterAll(() => app.dispose());

const titlesOf = ({ nodes }: { nodes: { title: string }[] }) => nodes.map(({ title }) => title);

async function titles(args = "", as: Person = "owner", variables: object = {}) {
  const head = Object.keys(variables).length > 0 ? "query ($ids: [SnippetID!])" : "";
  const { data, errors } = await send(
    app,
    as,
    `${head} { snippets${args} { count nodes { title } } }`,
    variables,
  );
  if (errors) return errors[0].message;
  expect(data.snippets.count).toBe(data.snippets.nodes.length);
  return titlesOf(data.snippets);
}

describe("a snippet", () => {
  it.each(["open", "mine"])("has the values that REST shows: %s", async (title) => {
    const { data } = await send(
      app,
      "owner",
      `query ($ids: [SnippetID!]) { snippets(ids: $ids) { nodes { id title description fileName
        visibilityLevel author { username } project { fullPath } createdAt updatedAt webUrl rawUrl
        userPermissions { readSnippet updateSnippet adminSnippet }
        blobs { nodes { name path rawPath plainData rawPlainData size binary } } } } }`,
      { ids: [ids[title]] },
    );
    const number = ids[title]?.split("/").at(-1);
    const isMine = title === "mine";
    const path = isMine ? `/snippets/${number}` : `${SITE}/${number}`;
    const { json } = await app.call(`GET ${path}`, { as: "owner" });
    const seconds = (at: string) => at.replace(/\.\d+Z$/, "Z");
    expect(data.snippets.nodes).toEqual([
      {
        id: ids[title],
        title,
        description: null,
        fileName: `${title}.txt`,
        visibilityLevel: json.visibility,
        author: { username: "owner" },
        project: isMine ? null : { fullPath: "acme/site" },
        createdAt: seconds(json.created_at),
        updatedAt: seconds(json.updated_at),
        webUrl: json.web_url,
        rawUrl: json.raw_url,
        userPermissions: { readSnippet: true, updateSnippet: true, adminSnippet: true },
        blobs: {
          nodes: [
            {
              name: `${title}.txt`,
              path: `${title}.txt`,
              rawPath: new URL(json.files[0].raw_url).pathname,
              plainData: "<pre><code>a &lt; &quot;b&quot; &amp;&amp; é</code></pre>",
              rawPlainData: CONTENT,
              size: 13,
              binary: false,
            },
          ],
        },
      },
    ]);
  });
});

describe("lists", () => {
  it.each([
    ["", ["free", "shared", "mine", "closed", "open"]],
    ["(type: personal)", ["free", "shared", "mine"]],
    ["(type: project)", ["closed", "open"]],
    ["(visibility: private)", ["mine", "closed"]],
    ["(explore: true)", ["free", "shared"]],
    ['(projectId: "gid://gitlab/Project/999")', []],
    [
      '(projectId: "gid://gitlab/Project/1", authorId: "gid://gitlab/User/1")',
      "Only one of [author_id, project_id] arguments is allowed at the same time.",
    ],
  ])("of all snippets: %s", async (args, expected) => {
    expect(await titles(args)).toEqual(expected);
  });

  it.each([
    ["anonymous", ["open"]],
    ["stranger", ["free", "shared", "open"]],
    ["guest", ["free", "shared", "closed", "open"]],
    ["admin", ["free", "shared", "mine", "closed", "open"]],
  ] as const)("show %s what REST shows", async (as, expected) => {
    expect(await titles("", as)).toEqual(expected);
    expect(await titles("(ids: $ids)", as, { ids: Object.values(ids) })).toEqual(expected);
    for (const [title, id] of Object.entries(ids)) {
      const number = id.split("/").at(-1);
      const path = id.includes("Project") ? `${SITE}/${number}` : `/snippets/${number}`;
      const { status } = await app.call(`GET ${path}`, { as });
      expect([title, status === 200]).toEqual([
        title,
        (expected as readonly string[]).includes(title),
      ]);
    }
  });

  it("of projects and users", async () => {
    const { data } = await send(
      app,
      "guest",
      `{ project(fullPath: "acme/site") { snippets(visibility: public) { nodes { title
          blobs(paths: ["other"]) { nodes { name } } } } }
        user(username: "owner") { snippets { nodes { title } } }
        currentUser { snippets { nodes { title } } } }`,
    );
    expect(data.project.snippets.nodes).toEqual([{ title: "open", blobs: { nodes: [] } }]);
    expect(titlesOf(data.user.snippets)).toEqual(["free", "closed", "open"]);
    expect(titlesOf(data.currentUser.snippets)).toEqual([]);
  });
});

describe("changes", () => {
  const change = async (name: string, input: object, as: Person = "owner") => {
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
    const { data, errors } = await send(
      app,
      as,
      `mutation ($input: ${type}) { ${name}(input: $input) { errors snippet { id title description
        visibilityLevel project { fullPath } blobs { nodes { path rawPlainData } } } } }`,
      { input },
    );
    return { ...data[name], refused: errors?.[0].message };
  };
  const file = (action: string, filePath: string, more: object = {}) => ({
    blobActions: [{ action, filePath, ...more }],
  });

  it.each([undefined, "acme/site"])("of a snippet in %s", async (projectPath) => {
    const { snippet, errors } = await change("createSnippet", {
      title: "New",
      description: "Text",
      visibilityLevel: "internal",
      projectPath,
      ...file("create", "a.rb", { content: "puts 1" }),
    });
    expect(errors).toEqual([]);
    const { id } = snippet;
    const shown = {
      id,
      title: "New",
      description: "Text",
      visibilityLevel: "internal",
      project: projectPath ? { fullPath: projectPath } : null,
      blobs: { nodes: [{ path: "a.rb", rawPlainData: "puts 1" }] },
    };
    expect(snippet).toEqual(shown);
    const updated = await change("updateSnippet", {
      id,
      title: "Newer",
      description: null,
      visibilityLevel: "public",
      ...file("update", "a.rb", { content: "puts 2" }),
    });
    const changed = { ...shown, title: "Newer", description: null, visibilityLevel: "public" };
    expect(updated.snippet).toEqual({
      ...changed,
      blobs: { nodes: [{ path: "a.rb", rawPlainData: "puts 2" }] },
    });
    const moved = await change("updateSnippet", {
      id,
      ...file("move", "b.rb", { previousPath: "a.rb" }),
    });
    expect(moved.snippet.blobs.nodes).toEqual([{ path: "b.rb", rawPlainData: "puts 2" }]);
    const more = await change("updateSnippet", {
      id,
      blobActions: [
        { action: "create", filePath: "lib/c.rb", content: "c" },
        { action: "create", filePath: "", content: "new" },
        { action: "create", filePath: "a.rb", content: "a" },
        { action: "delete", filePath: "b.rb" },
      ],
    });
    const files = [
      { path: "a.rb", rawPlainData: "a" },
      { path: "lib/c.rb", rawPlainData: "c" },
      { path: "snippetfile1.txt", rawPlainData: "new" },
    ];
    expect(more.snippet.blobs.nodes).toEqual(files);
    const { data } = await send(
      app,
      "owner",
      `query ($ids: [SnippetID!]) { snippets(ids: $ids) { nodes { fileName
        some: blobs(paths: ["lib/c.rb", "none"]) { nodes { path rawPath } }
        first: blobs(first: 1) { count nodes { path } pageInfo { hasNextPage } }
        last: blobs(last: 1) { nodes { path } } } } }`,
      { ids: [id] },
    );
    const number = id.split("/").at(-1);
    const rawPath = `${projectPath ? "/acme/site" : ""}/-/snippets/${number}/raw/main/lib/c.rb`;
    expect(data.snippets.nodes).toEqual([
      {
        fileName: "a.rb",
        some: { nodes: [{ path: "lib/c.rb", rawPath }] },
        first: { count: 3, nodes: [{ path: "a.rb" }], pageInfo: { hasNextPage: true } },
        last: { nodes: [{ path: "snippetfile1.txt" }] },
      },
    ]);
    for (const [blobs, message] of [
      [
        file("update", "b.rb", { content: "x" }),
        "Repository Error updating the snippet - A file with this name doesn't exist",
      ],
      [file("update", "a.rb"), "Snippet actions have invalid data"],
    ] as const) {
      expect((await change("updateSnippet", { id, ...blobs })).errors).toEqual([message]);
    }
    for (const as of ["guest", "anonymous"] as const) {
      for (const name of ["updateSnippet", "destroySnippet"]) {
        const input = { id, ...(name === "updateSnippet" && { title: "Not mine" }) };
        expect((await change(name, input, as)).refused).toBe(NOT_AVAILABLE);
      }
    }
    expect(await change("destroySnippet", { id })).toMatchObject({ errors: [], snippet: null });
    expect((await change("destroySnippet", { id })).refused).toBe(NOT_AVAILABLE);
  });

  it("refuse a snippet without content, with two files of a name, or in a project that is not the caller's", async () => {
    const base = { title: "New", visibilityLevel: "public" };
    const empty = await change("createSnippet", base);
    expect([empty.snippet, empty.errors.length]).toEqual([null, 1]);
    const [action] = file("create", "a", { content: "x" }).blobActions;
    const twice = await change("createSnippet", { ...base, blobActions: [action, action] });
    expect(twice.errors).toEqual([
      "Repository Error creating the snippet - A file with this name already exists",
    ]);
    const unnamed = [1, 2].map(() => ({ action: "create", filePath: "", content: "x" }));
    const named = await change("createSnippet", { ...base, blobActions: unnamed });
    expect(named.snippet.blobs.nodes.map(({ path }: { path: string }) => path)).toEqual([
      "snippetfile1.txt",
      "snippetfile2.txt",
    ]);
    const foreign = { ...base, projectPath: "acme/site", blobActions: [action] };
    expect((await change("createSnippet", foreign, "guest")).refused).toBe(NOT_AVAILABLE);
  });
});
