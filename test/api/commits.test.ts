// Answers about commits are compared with what Git's own client says, which must be installed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, randomHistory, type Workshop } from "./_git.ts";

const REPOSITORY = "/projects/secret%2Fvault/repository";

let app: TestApp;
let workshop: Workshop;
const git = (...args: string[]) => workshop.git("source.git", ...args);
beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  await workshop.importInto("source.git", randomHistory(1, 150));
  await git("push", "--quiet", "--mirror", workshop.url("secret/vault", "owner"));
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const get = (path: string, as: "developer" | "guest" | "stranger" | "anonymous" = "developer") =>
  app.call(`GET ${REPOSITORY}${path}`, { as });

/** The names of all commits of a list. */
async function namesIn(query: string): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page += 1) {
    const { status, json, headers } = await get(`/commits?per_page=100&page=${page}&${query}`);
    expect(status).toBe(200);
    names.push(...json.map(({ id }: { id: string }) => id));
    if (headers.get("x-next-page") === "") {
      expect(headers.get("x-total")).toBe(String(names.length));
      return names;
    }
  }
}

const log = async (...args: string[]) => {
  const said = await git("log", "--format=%H", ...args);
  return said === "" ? [] : said.split("\n");
};

describe("a commit", () => {
  it("has what Git shows of it", async () => {
    const format = ["%H", "%P", "%an", "%ae", "%cn", "%ce", "%s", "%B"].join("%x00");
    for (const name of ["main", "HEAD", "b1", "refs/heads/b2", "heads/b3"]) {
      const [id, parents, author, email, committer, address, title, message] = (
        await git("log", "-1", `--format=${format}`, name)
      ).split("\0");
      const { status, json } = await get(`/commits/${encodeURIComponent(name)}`);
      expect([status, json.message.trimEnd()]).toEqual([200, message]);
      expect(json).toMatchObject({
        id,
        short_id: id?.slice(0, 8),
        parent_ids: parents === "" ? [] : parents?.split(" "),
        author_name: author,
        author_email: email,
        committer_name: committer,
        committer_email: address,
        title,
        created_at: json.committed_date,
        status: null,
        last_pipeline: null,
        web_url: `http://pm.test/secret/vault/-/commit/${id}`,
      });
    }
  });

  it("is found by its name, the beginning of it, and by tags", async () => {
    const tag = (await git("tag")).split("\n")[0] as string;
    const id = await git("rev-parse", `${tag}^{commit}`);
    const object = await git("rev-parse", tag);
    for (const name of [id, id.slice(0, 9), id.toUpperCase(), tag, object, `refs/tags/${tag}`]) {
      expect((await get(`/commits/${encodeURIComponent(name)}`)).json.id).toBe(id);
    }
  });

  it.each(["unknown", "a".repeat(40), "abc", "refs%2Fheads%2Fnone", "x%2Fy", "-", "%00"])(
    "%s is 404 or 400",
    async (name) => {
      const { status, json } = await get(`/commits/${name}`);
      if (name === "%00") expect(status).toBe(400);
      else expect([status, json]).toEqual([404, { message: "404 Commit Not Found" }]);
    },
  );
});

describe("the list of commits", () => {
  it.each([
    ["", ["main"]],
    ["ref_name=b1", ["b1"]],
    ["all=true", ["--all"]],
    ["first_parent=true", ["--first-parent", "main"]],
    ["order=topo", ["--topo-order", "main"]],
    ["order=topo&all=true", ["--topo-order", "--all"]],
    ["ref_name=b1..main", ["b1..main"]],
    ["ref_name=main..b2", ["main..b2"]],
    ["author=a@example", ["--author=a@example", "main"]],
    ["author=nobody", ["--author=nobody", "main"]],
    ...["a", "d", "d/e", "d/e/f", "g/h/i/j", "none", "a/none"].flatMap(
      (path): [string, string[]][] => [
        [`path=${path}`, ["main", "--", path]],
        [`path=${path}&ref_name=b3`, ["b3", "--", path]],
        [`path=${path}&all=true`, ["--all", "--", path]],
        [`path=${path}&first_parent=true`, ["--first-parent", "main", "--", path]],
        [`path=${path}&order=topo`, ["--topo-order", "main", "--", path]],
      ],
    ),
  ])("%s is Git's", async (query, args) => {
    expect(await namesIn(query)).toEqual(await log(...args));
  });

  it("can be limited to a time", async () => {
    const [since, until] = [1_600_050_000, 1_600_100_000];
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
    const args = [`--since=${since}`, `--until=${until}`, "main"];
    expect(await namesIn(`since=${iso(since)}&until=${iso(until)}`)).toEqual(await log(...args));
    const [newest] = await log("main");
    const at = await git("log", "-1", "--format=%ct", "main");
    const one = `since=${iso(Number(at))}&until=${iso(Number(at))}`;
    expect(await namesIn(one)).toContain(newest);
  });
});
