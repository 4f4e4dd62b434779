// Repositories of seeds. Needs Git's client.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type Seed, SeedError } from "../../src/index.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, type Workshop } from "./_git.ts";

const users: Seed["users"] = [
  { username: "ada", name: "Ada Lovelace", tokens: [{ token: "token-of-ada" }] },
  { username: "bob", email: "bob@works.example" },
];

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      visibility: "public",
      members: { ada: "owner" },
      projects: [
        {
          path: "site",
          visibility: "public",
          created_at: "2026-01-01",
          merge_requests: [
            {
              title: "Search",
              author: "bob",
              source_branch: "search",
              target_branch: "trunk",
              reviewers: ["ada"],
              approved_by: ["ada"],
              diff_notes: [
                {
                  author: "ada",
                  body: "One?",
                  path: "s",
                  new_line: 1,
                  replies: [{ author: "bob", body: "Yes" }],
                  resolved_by: "ada",
                },
              ],
            },
          ],
          pushes: [
            {
              author: "ada",
              ref: "trunk",
              created_at: "2026-01-02T10:00:00Z",
              commits: [
                {
                  message: "Begin",
                  created_at: "2026-01-01T09:00:00Z",
                  files: {
                    "README.md": "# Site\n",
                    "src/index.js": "run();\n",
                    "old.txt": "old\n",
                  },
                },
                {
                  message: "Tidy up\n\nNobody reads it.",
                  author: "bob",
                  files: { "old.txt": null },
                },
              ],
            },
            { author: "ada", ref: "v1.0", ref_type: "tag" },
            {
              author: "bob",
              ref: "menu",
              commits: [
                { message: "Add a menu", files: { "src/ménü/a.js": "menu();\n" } },
                { message: "Load the menu", files: { "src/index.js": "run(menu);\n" } },
              ],
              created_at: "2026-01-03",
            },
            { author: "ada", ref: "search", commits: [{ message: "Search", files: { s: "1" } }] },
            {
              author: "ada",
              ref: "trunk",
              commits: [{ message: "Merge branch 'menu'", merge: "menu" }],
              created_at: "2026-01-04",
            },
            { author: "ada", ref: "menu", action: "removed", created_at: "2026-01-05" },
            { author: "ada", ref: "v1.1", ref_type: "tag", message: "The menu\n\nAt last." },
            { author: "ada", ref: "stable", start_branch: "search" },
            { author: "bob", ref: "elsewhere", commit_to: "f".repeat(40), commit_title: "Foreign" },
          ],
        },
        { path: "bare", pushes: [{ author: "ada", ref: "main" }] },
      ],
    },
  ],
};

interface PushEvent {
  push_data: Record<"action" | "ref" | "commit_count" | "commit_title", string>;
}

let app: TestApp;
let workshop: Workshop;
beforeAll(async () => {
  app = await testApp({ seed, now: () => Date.parse("2026-07-01T00:00:00Z") });
  workshop = await openWorkshop(app);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const site = "/projects/acme%2Fsite";
const get = async (path: string) => {
  const headers = { "private-token": "token-of-ada" };
  const answer = await app.fetch(new Request(`http://pm.test/api/v4${path}`, { headers }));
  expect(answer.status, path).toBe(200);
  return answer.json();
};

describe("a seed with commits", () => {
  it("makes a repository that Git clones and finds sound", async () => {
    const { git } = workshop;
    await git("", "clone", "--quiet", workshop.url("acme/site"), "site");
    expect(await git("site", "fsck", "--strict", "--full")).toBe("");
    const log = await git("site", "log", "--topo-order", "--format=%s|%an|%ae|%aI");
    expect(log.split("\n")).toEqual([
      "Merge branch 'menu'|Ada Lovelace|ada@example.com|2026-01-04T00:00:00+00:00",
      "Load the menu|bob|bob@works.example|2026-01-03T00:00:00+00:00",
      "Add a menu|bob|bob@works.example|2026-01-03T00:00:00+00:00",
      "Tidy up|bob|bob@works.example|2026-01-02T10:00:00+00:00",
      "Begin|Ada Lovelace|ada@example.com|2026-01-01T09:00:00+00:00",
    ]);
    expect(await git("site", "show", "HEAD:src/index.js")).toBe("run(menu);");
    expect(await git("site", "for-each-ref", "--format=%(refname) %(objecttype)")).toBe(
      [
        "refs/heads/trunk commit",
        "refs/remotes/origin/HEAD commit",
        "refs/remotes/origin/search commit",
        "refs/remotes/origin/stable commit",
        "refs/remotes/origin/trunk commit",
        "refs/tags/v1.0 commit",
        "refs/tags/v1.1 tag",
      ].join("\n"),
    );
    expect(await git("site", "rev-parse", "v1.0", "v1.1^{}", "origin/stable")).toBe(
      await git("site", "rev-parse", "HEAD^", "HEAD", "origin/search"),
    );
  });

  it("shows it over REST", async () => {
    const tree = await get(`${site}/repository/tree?recursive=true`);
    expect(tree.map(({ path }: { path: string }) => path)).toEqual([
      "src",
      "src/ménü",
      "README.md",
      "src/index.js",
      "src/ménü/a.js",
    ]);
    expect(await get(site)).toMatchObject({
      default_branch: "trunk",
      empty_repo: false,
      readme_url: expect.stringMatching(/\/acme\/site\/-\/blob\/trunk\/README\.md$/),
    });
    expect(await get(`${site}/protected_branches`)).toMatchObject([{ name: "trunk" }]);
    expect(await get(`${site}/repository/tags/v1.1`)).toMatchObject({
      message: "The menu\n\nAt last.",
      commit: { title: "Merge branch 'menu'" },
    });
    expect(await get("/projects/acme%2Fbare")).toMatchObject({ empty_repo: true });
  });

  it("has merge requests with reviewers, approvals and threads on lines", async () => {
    const request = `${site}/merge_requests/1`;
    expect(await get(`${request}/reviewers`)).toMatchObject([
      { user: { username: "ada" }, state: "approved" },
    ]);
    expect((await get(`${request}/approvals`)).approved_by).toMatchObject([
      { user: { username: "ada" } },
    ]);
    const { diff_refs } = await get(request);
    const position = { ...diff_refs, new_path: "s", old_line: null, new_line: 1 };
    const note = { type: "DiffNote", position, resolved: true };
    const [thread] = await get(`${request}/discussions`);
    expect(thread.notes).toMatchObject([
      { body: "One?", ...note },
      { body: "Yes", ...note },
    ]);
    const events = await get(`${site}/events?action=approved`);
    expect(events).toMatchObject([{ author_username: "ada", target_iid: 1 }]);
  });

  it("has events that name its commits", async () => {
    const events = await get(`${site}/events?sort=asc&action=pushed&per_page=100`);
    const told = events.map(
      ({ push_data: { action, ref, commit_count, commit_title } }: PushEvent) =>
        `${action} ${ref} ${commit_count} ${commit_title}`,
    );
    expect(told.sort()).toEqual([
      "created menu 2 Load the menu",
      "created search 1 Search",
      "created stable 0 null",
      "created trunk 2 Tidy up",
      "created v1.0 1 null",
      "created v1.1 1 The menu",
      "pushed elsewhere 1 Foreign",
      "pushed trunk 3 Merge branch 'menu'",
      "removed menu 0 null",
    ]);
    const onTrunk = events
      .map(({ push_data }: PushEvent) => push_data)
      .filter(({ ref }: PushEvent["push_data"]) => ref === "trunk");
    const commits = await get(`${site}/repository/commits?first_parent=true`);
    const [merge, tidied] = commits.map(({ id }: { id: string }) => id);
    expect(onTrunk).toMatchObject([
      { commit_from: null, commit_to: tidied },
      { commit_from: tidied, commit_to: merge },
    ]);
    const search = await get(`${site}/repository/branches/search`);
    expect((await get(`${site}/merge_requests/1`)).sha).toBe(search.commit.id);
  });

  it("is one pack per repository, and sound", async () => {
    const count = async (table: string) =>
      (await app.store.rows(`select count(*) from ${table}`))[0]?.[0];
    expect([await count("git_repositories"), await count("git_packs")]).toEqual([1, 1]);
    expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
  });

  it("can be pushed to", async () => {
    const { git } = workshop;
    const url = workshop.url("acme/site").replace("//", "//any:token-of-ada@");
    await git("", "clone", "--quiet", url, "again");
    await git("again", "commit", "--quiet", "--allow-empty", "-m", "More");
    await git("again", "push", "--quiet");
    const [last] = await get(`${site}/repository/commits`);
    expect(last.title).toBe("More");
  });
});

describe("a seed with impossible commits", () => {
  const push = (commit: object, rest: object = {}) => ({
    author: "ada",
    ref: "main",
    commits: [{ message: "x", ...commit }],
    ...rest,
  });
  it.each([
    ["a path that no file can have", [push({ files: { "a/../b": "" } })], 'a file "a/../b"'],
    ["a path inside Git's own folder", [push({ files: { ".git/config": "" } })], ".git/config"],
    ["a missing file to delete", [push({ files: { a: null } })], 'the file "a" can\'t be changed'],
    ["a file where a folder is", [push({ files: { "a/b": "", a: "" } })], 'the file "a" can\'t'],
    ["a file in a file", [push({ files: { a: "", "a/b": "" } })], 'the file "a/b" can\'t'],
    ["a merge of no branch", [push({ merge: "b" })], "acme/site has no branch b when main"],
    ["a start at no branch", [push({}, { start_branch: "b" })], "acme/site has no branch b when"],
    ["a name that no branch can have", [push({}, { ref: "a..b" })], "refs/heads/a..b in acme/site"],
    [
      "branches of which one is a folder",
      [push({}), push({}, { ref: "main/a" })],
      "'refs/heads/main' exists; ",
    ],
    ["an unknown author", [push({ author: "eve" })], "the seed has no user eve"],
    ["content that is no text", [push({ files: { a: 1 } })], "commits.0.files.a"],
  ])("is refused for %s, and nothing is stored", async (_name, pushes, message) => {
    const empty = await testApp({ seed: {} });
    const data = { users, groups: [{ path: "acme", projects: [{ path: "site", pushes }] }] };
    const seeded = empty.admin.seed(data as unknown as Seed);
    await expect(seeded).rejects.toThrow(SeedError);
    await expect(seeded).rejects.toThrow(message);
    expect(await empty.store.rows("select id from git_packs")).toEqual([]);
    expect(await empty.admin.users.list()).toEqual([]);
    await empty.dispose();
  });
});
