// Answers about branches and tags are compared with what Git's own client says, which must be installed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, randomHistory, type Workshop } from "./_git.ts";

const REPOSITORY = "/projects/secret%2Fvault/repository";

let app: TestApp;
let workshop: Workshop;
const git = (...args: string[]) => workshop.git("source.git", ...args);
beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  await workshop.importInto("source.git", randomHistory(5, 200));
  for (const [name, at] of [
    ["feature", "main~3"],
    ["Feature/two", "b1"],
    ["new-feature", "main"],
    ["fix#1", "b2~1"],
  ] as const) {
    await git("branch", name, at);
  }
  for (const name of ["v1.2", "v1.10", "v1.9", "v1.10.1", "v01.3", "light"]) {
    await git("tag", name, "main~2");
  }
  await git("tag", "-a", "annotated", "-m", "A title\n\nA text", "b3");
  await git("tag", "-a", "nested", "-m", "A tag of a tag", "annotated");
  await git("tag", "of-tree", "main^{tree}");
  await git("push", "--quiet", "--mirror", workshop.url("secret/vault", "owner"));
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const get = (path: string, as: Person = "developer") =>
  app.call(`GET ${REPOSITORY}${path}`, { as });
const lines = async (...args: string[]) => (await git(...args)).split("\n");

/** The names in all pages of a list. */
async function namesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await get(`${path}${path.includes("?") ? "&" : "?"}per_page=4&page=${page}`);
    expect(answer.status).toBe(200);
    names.push(...answer.json.map(({ name }: { name: string }) => name));
    if (answer.headers.get("x-next-page") !== "") continue;
    expect(answer.headers.get("x-total")).toBe(String(names.length));
    return names;
  }
}

const refs = (kind: "heads" | "tags", sort: string) =>
  lines("for-each-ref", `--sort=${sort}`, "--format=%(refname:strip=2)", `refs/${kind}`);

describe("branches", () => {
  it("are listed by name, or by their newest commits", async () => {
    expect(await namesIn("/branches")).toEqual(await refs("heads", "refname"));
    expect(await namesIn("/branches?sort=name_asc")).toEqual(await refs("heads", "refname"));
    const timeOf = async (name: string) => Number(await git("log", "-1", "--format=%ct", name));
    for (const [sort, sign] of [["updated_asc", 1] as const, ["updated_desc", -1] as const]) {
      const times: number[] = [];
      for (const name of await namesIn(`/branches?sort=${sort}`))
        times.push(sign * (await timeOf(name)));
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
    expect((await get("/branches?sort=size")).status).toBe(400);
  });

  it.each([
    ["^fe", ["Feature/two", "feature"]],
    ["ure$", ["feature", "new-feature"]],
    ["EAT", ["Feature/two", "feature", "new-feature"]],
    ["feature", ["feature", "Feature/two", "new-feature"]],
    ["^feature$", ["feature"]],
    ["f*e", ["Feature/two", "feature", "new-feature"]],
    ["^f*o$", ["Feature/two"]],
    ["^*$", undefined],
    ["e*e*e", ["new-feature"]],
    ["none", []],
    ["^", undefined],
  ])("are searched for %s", async (search, expected) => {
    const found = await namesIn(`/branches?search=${encodeURIComponent(search)}`);
    expect(found).toEqual(expected ?? (await refs("heads", "refname")));
  });

  it.each([
    ["^fe", ["feature"]],
    ["(?i)^FE", ["Feature/two", "feature"]],
    ["eat[^/]*$", ["feature", "new-feature"]],
    ["none", []],
    ["", undefined],
  ])("are searched for the regular expression %s", async (regex, expected) => {
    const found = await namesIn(`/branches?regex=${encodeURIComponent(regex)}`);
    expect(found).toEqual(expected ?? (await refs("heads", "refname")));
  });

  it("are not searched for what is no regular expression, or a very long one", async () => {
    for (const regex of ["[", "(?<=a)b", "((((x{9}){9}){9}){9})", "x".repeat(1001)]) {
      const { status, json } = await get(`/branches?regex=${encodeURIComponent(regex)}`);
      expect([regex, status]).toEqual([regex, 400]);
      if (regex.length < 1000) expect(json.message).toBe("400 Bad request - Regex is invalid");
    }
    expect(await namesIn("/branches?regex=ure&search=^new")).toEqual(["new-feature"]);
  });

  it("show their newest commit, and whether they are merged", async () => {
    const strict = async (name: string) =>
      (await git("rev-list", "--count", `${name}..main`)) !== "0" &&
      (await git("rev-list", "--count", `main..${name}`)) === "0";
    const { json } = await get("/branches?per_page=100");
    for (const branch of json) {
      const { name, commit, merged } = branch;
      const id = await git("rev-parse", `refs/heads/${name}`);
      expect([name, commit.id, merged]).toEqual([name, id, await strict(name)]);
      expect((await get(`/branches/${encodeURIComponent(name)}`)).json).toEqual(branch);
    }
    expect(json.find(({ name }: { name: string }) => name === "feature")).toMatchObject({
      merged: true,
      protected: false,
      developers_can_push: false,
      developers_can_merge: false,
      can_push: true,
      default: false,
      web_url: "http://pm.test/secret/vault/-/tree/feature",
    });
    const defaults = json.filter((branch: { default: boolean }) => branch.default);
    expect(defaults.map(({ name }: { name: string }) => name)).toEqual(["main"]);
    const { json: odd } = await get("/branches/fix%231", "reporter");
    expect([odd.can_push, odd.web_url]).toEqual([
      false,
      "http://pm.test/secret/vault/-/tree/fix%231",
    ]);
  });

  it("answer HEAD without a body", async () => {
    const head = (name: string) =>
      app.call(`HEAD ${REPOSITORY}/branches/${name}`, { as: "developer" });
    expect([(await head("feature")).status, (await head("none")).status]).toEqual([204, 404]);
  });

  it("that do not exist are 404, or 400 if they can't", async () => {
    const answers = [];
    for (const name of ["unknown", "feature%2F", "branch*", "a..b"]) {
      const { status, json } = await get(`/branches/${name}`);
      answers.push([status, json.message]);
    }
    expect(answers).toEqual([
      [404, "404 Branch Not Found"],
      [400, "The branch refname is invalid"],
      [400, "The branch refname is invalid"],
      [400, "The branch refname is invalid"],
    ]);
  });

  it("of an empty repository are none", async () => {
    const of = "/projects/acme%2Fsite/repository";
    for (const path of ["branches", "branches?search=a", "tags", "commits", "contributors"]) {
      const { status, json } = await app.call(`GET ${of}/${path}`);
      expect([path, status, json]).toEqual([path, 200, []]);
    }
  });
});

describe("tags", () => {
  it("are listed by the time they were made, by name or by version", async () => {
    expect(await namesIn("/tags?order_by=name&sort=asc")).toEqual(await refs("tags", "refname"));
    expect(await namesIn("/tags?order_by=name")).toEqual((await refs("tags", "refname")).reverse());
    const timeOf = async (name: string) =>
      Number((await git("for-each-ref", "--format=%(creatordate:unix)", `refs/tags/${name}`)) || 0);
    const times: number[] = [];
    for (const name of await namesIn("/tags")) times.push(await timeOf(name));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(await namesIn("/tags?order_by=version&sort=asc&search=^v")).toEqual([
      "v1.2",
      "v01.3",
      "v1.9",
      "v1.10",
      "v1.10.1",
    ]);
  });

  it("show what they are of", async () => {
    const names = await refs("tags", "refname");
    for (const name of names) {
      const { status, json } = await get(`/tags/${name}`);
      const [target, type] = (
        await git("for-each-ref", "--format=%(objectname) %(objecttype)", `refs/tags/${name}`)
      ).split(" ");
      const commit = await git("rev-parse", "--verify", "--quiet", `${name}^{commit}`).catch(
        () => null,
      );
      expect([status, json.target, json.commit?.id ?? null]).toEqual([200, target, commit]);
      expect(json.created_at === null).toBe(type !== "tag");
    }
    expect((await get("/tags/annotated")).json).toMatchObject({
      name: "annotated",
      message: "A title\n\nA text",
      release: null,
      protected: false,
    });
    expect((await get("/tags/light")).json).toMatchObject({ message: "", created_at: null });
  });

  it("that do not exist are 404", async () => {
    const { status, json } = await get("/tags/nope");
    expect([status, json]).toEqual([404, { message: "404 Tag Not Found" }]);
  });
});

describe("the references of a commit", () => {
  it("are the branches, then the tags that contain it", async () => {
    const all = await lines("rev-list", "--all");
    for (const id of [all[0], all[20], all[90], all.at(-1)]) {
      const contain = async (kind: "heads" | "tags") =>
        (
          await git(
            "for-each-ref",
            `--contains=${id}`,
            "--format=%(refname:strip=2)",
            `refs/${kind}`,
          )
        )
          .split("\n")
          .filter((name) => name !== "");
      const branches = (await contain("heads")).map((name) => ({ type: "branch", name }));
      const tags = (await contain("tags")).map((name) => ({ type: "tag", name }));
      const listed = async (query: string) =>
        (await get(`/commits/${id}/refs?per_page=100${query}`)).json;
      expect(await listed("")).toEqual([...branches, ...tags]);
      expect(await listed("&type=all")).toEqual([...branches, ...tags]);
      expect(await listed("&type=branch")).toEqual(branches);
      expect(await listed("&type=tag")).toEqual(tags);
    }
    expect((await get("/commits/none/refs")).status).toBe(404);
  });

  it("are counted from the first commit on", async () => {
    for (const name of ["main", "b1", "feature"]) {
      const count = Number(await git("rev-list", "--count", name));
      const first = Number(await git("rev-list", "--count", "--first-parent", name));
      expect((await get(`/commits/${name}/sequence`)).json).toEqual({ count });
      const { json } = await get(`/commits/${name}/sequence?first_parent=true`);
      expect(json).toEqual({ count: first });
    }
  });
});
