import { beforeEach, describe, expect, it } from "vitest";
import type { Seed } from "../../src/testing.ts";
import { entry, Objects, pushHeaders, pushOf } from "../packs.ts";
import { refusal, serving, users } from "./gitbeaker.ts";

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      members: { ann: "owner", bob: "guest" },
      projects: [{ path: "site", creator: "ann" }],
    },
  ],
};

const { server, ann: gitlab, bob } = await serving(seed, 2);

const objects = new Objects();
const readme = objects.add("blob", "# Site\n");
const files = objects.add(
  "tree",
  Buffer.concat(["a.ts", "b.ts", "c.ts"].map((name) => entry("100644", name, readme))),
);
const tree = objects.add(
  "tree",
  Buffer.concat([entry("100644", "README.md", readme), entry("40000", "src", files)]),
);
const first = objects.commit(tree, [], { message: "First\n" });
const second = objects.commit(files, [first], { message: "Second\n", author: "Bob", time: 2e9 });
const third = objects.commit(tree, [second], { message: "Third\n", author: "Ada", time: 2e9 });
const hex = (name: Buffer) => name.toString("hex");

beforeEach(async () => {
  const response = await fetch(`${server.url}/acme/site.git/git-receive-pack`, {
    method: "POST",
    headers: pushHeaders("ann-token"),
    body: new Uint8Array(
      pushOf(
        [
          { name: "refs/heads/main", to: hex(third) },
          { name: "refs/heads/feature/a.b", to: hex(second) },
          { name: "refs/heads/first", to: hex(first) },
          { name: "refs/tags/v1", to: hex(first) },
        ],
        objects.pack,
      ),
    ),
  });
  expect(await response.text()).toContain("unpack ok");
});

describe("repositories", () => {
  it("list their files, across pages", async () => {
    const found = await gitlab.Repositories.allRepositoryTrees("acme/site", { recursive: true });
    expect(found.map(({ type, path }) => `${type} ${path}`)).toEqual([
      "tree src",
      "blob README.md",
      "blob src/a.ts",
      "blob src/b.ts",
      "blob src/c.ts",
    ]);
  });

  it("show blobs, contributors and merge bases", async () => {
    expect(await gitlab.Repositories.showBlob("acme/site", hex(readme))).toMatchObject({
      size: 7,
      content: btoa("# Site\n"),
    });
    // It reads texts as such.
    const raw: unknown = await gitlab.Repositories.showBlobRaw("acme/site", hex(readme));
    expect(raw).toBe("# Site\n");
    const people = await gitlab.Repositories.allContributors("acme/site");
    expect(people.map(({ name, commits }) => [name, commits])).toEqual([
      ["Bob", 1],
      ["Ada", 2],
    ]);
    const base = await gitlab.Repositories.mergeBase("acme/site", ["main", "feature/a.b"]);
    expect(base.id).toBe(hex(second));
  });

  it("are downloaded as archives", async () => {
    const zip = await gitlab.Repositories.showArchive("acme/site", { fileType: "zip" });
    expect(await zip.slice(0, 2).text()).toBe("PK");
  });

  it("are not for guests of private projects", async () => {
    expect(await refusal(bob.Repositories.allRepositoryTrees("acme/site"))).toEqual([
      403,
      "403 Forbidden",
    ]);
  });
});

describe("commits", () => {
  it("are listed and shown", async () => {
    const found = await gitlab.Commits.all("acme/site", { refName: "feature/a.b" });
    expect(found.map(({ title }) => title)).toEqual(["Second", "First"]);
    const shown = await gitlab.Commits.show("acme/site", "main");
    expect(shown).toMatchObject({ id: hex(third), title: "Third", parent_ids: [hex(second)] });
    const references = await gitlab.Commits.allReferences("acme/site", hex(first));
    expect(references.map(({ type, name }) => `${type} ${name}`)).toEqual([
      "branch feature/a.b",
      "branch first",
      "branch main",
      "tag v1",
    ]);
    const unsigned = gitlab.Commits.showGPGSignature("acme/site", hex(first));
    expect(await refusal(unsigned)).toEqual([404, "404 Signature Not Found"]);
  });

  it("have comments", async () => {
    await gitlab.Commits.createComment("acme/site", hex(first), "Why?");
    const comments = await gitlab.Commits.allComments("acme/site", hex(first));
    expect(comments).toMatchObject([{ note: "Why?", author: { username: "ann" } }]);
  });
});

describe("branches and tags", () => {
  it("are listed and shown", async () => {
    const branches = await gitlab.Branches.all("acme/site");
    expect(branches.map(({ name, merged }) => [name, merged])).toEqual([
      ["feature/a.b", true],
      ["first", true],
      ["main", false],
    ]);
    const branch = await gitlab.Branches.show("acme/site", "feature/a.b");
    expect(branch.commit.id).toBe(hex(second));
    const tags = await gitlab.Tags.all("acme/site");
    expect(tags.map(({ name, target }) => [name, target])).toEqual([["v1", hex(first)]]);
    expect((await gitlab.Tags.show("acme/site", "v1")).commit.id).toBe(hex(first));
    expect(await refusal(gitlab.Branches.show("acme/site", "none"))).toEqual([
      404,
      "404 Branch Not Found",
    ]);
  });
});
