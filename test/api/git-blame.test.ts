// Lines are blamed on the commits that Git's own `git blame` names; it must be installed.
import { beforeAll, describe, expect, it } from "vitest";
import { blame } from "../../src/git/blame.ts";
import { commitId } from "../../src/git/commits.ts";
import { Budget } from "../../src/turns/budget.ts";
import { histories } from "../forms.ts";
import type { TestApp } from "../helpers.ts";
import { changingHistory } from "./_changing-history.ts";
import { randomOf, shareWorkshop, type Workshop } from "./_git.ts";

const COMMITS = 60;
const FILES = 12;

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ app, workshop, git } = opened);
});

describe.each(histories(1, 3))("%s", (_, seed) => {
  it.each(["wild", "calm"])("is blamed as git blame does, if it is %s", async (kind) => {
    const source = `${kind}-${seed}`;
    const history = changingHistory(seed, COMMITS, kind === "calm");
    const repository = await workshop.pushed(source, history);
    const draw = randomOf(seed);
    for (let file = 0; file < FILES; file += 1) {
      const tag = `c${1 + draw(COMMITS)}`;
      const listed = await git(source, "ls-tree", "-r", tag);
      const files = listed.split("\n").filter((line) => line.startsWith("100"));
      const path = files[draw(files.length)]?.split("\t")[1];
      if (path === undefined) continue;
      const lines = await git(source, "blame", "-s", "-l", "--root", tag, "--", path);
      const expected = lines === "" ? [] : lines.split("\n").map((line) => line.slice(0, 40));
      const oid = await git(source, "rev-parse", tag);
      const commit = repository.graph.commitOf(repository.findHex(oid));
      const range = { from: 0, to: expected.length };
      const runs = (await blame(repository, commit, path, range, new Budget())) ?? [];
      const found = runs.flatMap(({ commit, count }) =>
        Array.from({ length: count }, () => commitId(repository, commit)),
      );
      expect([tag, path, found]).toEqual([tag, path, expected]);
    }
  });
});

describe("over the API", () => {
  const source = "blamed";
  const get = (query: string, as: "owner" | "developer" | "anonymous" = "owner") =>
    app.call(`GET /projects/owner%2F${source}/repository/files/d%2Fb.c/blame${query}`, { as });
  beforeAll(async () => {
    const file = (content: string) => `M 100644 inline d/b.c\ndata ${content.length}\n${content}\n`;
    const commit = (mark: number, content: string) =>
      `commit refs/heads/main\nmark :${mark}\ncommitter A <a@example.com> ${mark} +0100\ndata 3\nC${mark}\n\n${mark > 1 ? `from :${mark - 1}\n` : ""}${file(content)}`;
    const history = [commit(1, "a\nb\n"), commit(2, "a\nx\ny\nb\n"), commit(3, "a\nx\ny\nb\nz")];
    await workshop.pushed(source, `${history.join("\n")}\n`);
  });

  it("each part has its commit and its lines", async () => {
    const ids = (await git(source, "rev-list", "--reverse", "main")).split("\n");
    const { status, json } = await get("?ref=main");
    expect(status).toBe(200);
    const parts = (json as { commit: { id: string }; lines: string[] }[]).map(
      ({ commit, lines }) => [commit.id, lines],
    );
    expect(parts).toEqual([
      [ids[0], ["a"]],
      [ids[1], ["x", "y"]],
      [ids[0], ["b"]],
      [ids[2], ["z"]],
    ]);
    expect(json[1].commit).toEqual({
      id: ids[1],
      parent_ids: [ids[0]],
      message: "C2\n",
      authored_date: "1970-01-01T01:00:02.000+01:00",
      author_name: "A",
      author_email: "a@example.com",
      committed_date: "1970-01-01T01:00:02.000+01:00",
      committer_name: "A",
      committer_email: "a@example.com",
    });
  });

  it("HEAD tells about the file", async () => {
    const path = `/projects/owner%2F${source}/repository/files/d%2Fb.c/blame?ref=main`;
    const { status, headers, text } = await app.call(`HEAD ${path}`, { as: "owner" });
    expect([status, text, headers.get("x-gitlab-file-path")]).toEqual([200, "", "d/b.c"]);
    expect((await get("?ref=main")).headers.get("x-gitlab-file-path")).toBe("d/b.c");
  });

  it("a range of lines can be asked for", async () => {
    const { json } = await get("?ref=main&range[start]=3&range[end]=4");
    expect(json.map(({ lines }: { lines: string[] }) => lines)).toEqual([["y"], ["b"]]);
    expect((await get("?ref=main&range[start]=6&range[end]=9")).json).toEqual([]);
    const wrong = await get("?ref=main&range[start]=3&range[end]=2");
    expect([wrong.status, wrong.json.message]).toEqual([
      400,
      "400 Bad request - range[start] must be less than or equal to range[end]",
    ]);
    for (const range of ["range[start]=1", "range[start]=x&range[end]=2", "range=1"]) {
      expect((await get(`?ref=main&${range}`)).status).toBe(400);
    }
  });

  it("there is none without a commit or file, or for others", async () => {
    expect((await get("")).status).toBe(400);
    expect((await get("?ref=nope")).json).toEqual({ message: "404 Commit Not Found" });
    const path = `/projects/owner%2F${source}/repository/files/nope/blame?ref=main`;
    expect((await app.call(`GET ${path}`, { as: "owner" })).json).toEqual({
      message: "404 File Not Found",
    });
    expect((await get("?ref=main", "anonymous")).status).toBe(404);
  });
});
