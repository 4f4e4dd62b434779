// What commits changed is compared with what Git's own client says, which must be installed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { changingHistory } from "./_changing-history.ts";
import { openWorkshop, type Workshop } from "./_git.ts";

const REPOSITORY = "/projects/secret%2Fvault/repository";
const COMMITS = 40;

let app: TestApp;
let workshop: Workshop;
const git = (...args: string[]) => workshop.git("source.git", ...args);
beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
  await workshop.importInto("source.git", changingHistory(5, COMMITS));
  await git("push", "--quiet", "--mirror", workshop.url("secret/vault", "owner"));
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

const get = (path: string, as: "developer" | "guest" | "stranger" | "anonymous" = "developer") =>
  app.call(`GET ${REPOSITORY}${path}`, { as });

interface Diff {
  readonly old_path: string;
  readonly new_path: string;
  readonly a_mode: string;
  readonly b_mode: string;
  readonly new_file: boolean;
  readonly renamed_file: boolean;
  readonly deleted_file: boolean;
  readonly diff: string;
}

/** Diffs as `git diff --raw` shows them, without the names of objects. */
const rawOf = (diffs: readonly Diff[]) =>
  diffs.map((diff) => {
    const { old_path, new_path, a_mode, b_mode, new_file, renamed_file, deleted_file } = diff;
    const paths = renamed_file ? `${old_path}\t${new_path}` : old_path;
    const kind = new_file ? "A" : deleted_file ? "D" : renamed_file ? "R" : "M";
    return `${a_mode.padStart(6, "0")} ${b_mode.padStart(6, "0")} ${kind}\t${paths}`;
  });

/** The same from Git. A file that becomes another kind of file is deleted and added. */
async function rawByGit(...args: string[]): Promise<string[]> {
  const lines = (await git("diff", "--raw", "-M", ...args)).split("\n").filter(Boolean);
  return lines.flatMap((line) => {
    const [, a, b, kind, paths] = /^:(\d+) (\d+) \S+ \S+ (\w)\d*\t(.+)$/.exec(line) ?? [];
    if (kind !== "T") return [`${a} ${b} ${kind}\t${paths}`];
    return [`${a} 000000 D\t${paths}`, `000000 ${b} A\t${paths}`];
  });
}

/** The hunks of `git diff`. */
async function hunksByGit(...args: string[]): Promise<string> {
  const patch = await git("diff", "-M", ...args);
  const sections = `${patch}\n`.split(/^diff --git .*\n/m).slice(1);
  return sections.map((one) => /^(?:@@|Binary files).*/ms.exec(one)?.[0] ?? "").join("");
}

const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

describe("the changes of a commit", () => {
  it("are what git diff shows", async () => {
    for (let number = 1; number <= COMMITS; number += 3) {
      const parents = (await git("log", "-1", "--format=%P", `c${number}`)).split(" ");
      const ends = [parents[0] || EMPTY_TREE, `c${number}`];
      const { status, json } = await get(`/commits/c${number}/diff?per_page=100`);
      expect([status, rawOf(json)]).toEqual([200, await rawByGit(...ends)]);
      const shown = json.map(({ diff }: Diff) => diff).join("");
      expect(shown.trimEnd()).toBe((await hunksByGit(...ends)).trimEnd());
    }
  });

  it("are counted", async () => {
    const { json } = await get("/commits?all=true&with_stats=true&per_page=100");
    expect(json).toHaveLength(COMMITS);
    for (const { id, parent_ids, stats } of json) {
      const before = parent_ids[0] ?? EMPTY_TREE;
      const lines = (await git("diff", "--numstat", "-M", before, id)).split("\n").filter(Boolean);
      const sum = (at: number) =>
        lines.reduce((sum, line) => sum + (Number(line.split("\t")[at]) || 0), 0);
      const [additions, deletions] = [sum(0), sum(1)];
      expect([id, stats]).toEqual([id, { additions, deletions, total: additions + deletions }]);
      expect((await get(`/commits/${id}`)).json.stats).toEqual(stats);
    }
    expect((await get("/commits/main?stats=false")).json).not.toHaveProperty("stats");
    expect((await get("/commits?per_page=1")).json[0]).not.toHaveProperty("stats");
  });

  it("are listed in pages", async () => {
    const whole = await get("/commits/c1/diff?per_page=100");
    const { headers, json } = await get("/commits/c1/diff?per_page=3&page=2");
    expect(json).toEqual(whole.json.slice(3, 6));
    expect(headers.get("x-total")).toBe(String(whole.json.length));
  });

  it("are refused to who may not read the code", async () => {
    for (const path of ["/commits/main/diff", "/compare"]) {
      expect((await get(path, "guest")).status).toBe(403);
      expect((await get(path, "anonymous")).json).toEqual({ message: "404 Project Not Found" });
    }
    const unknown = await get("/commits/unknown/diff");
    expect([unknown.status, unknown.json]).toEqual([404, { message: "404 Commit Not Found" }]);
  });
});

describe("kinds of changes", () => {
  const call = (path: string) =>
    app.call(`GET /projects/owner%2Fkinds/repository${path}`, { as: "owner" });
  const file = (mode: string, path: string, content: string) =>
    `M ${mode} inline ${path}\ndata ${Buffer.byteLength(content)}\n${content}\n`;
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join("");
  const long = (word: string) =>
    Array.from({ length: 30_000 }, (_, at) => `${word} ${at}\n`).join("");
  beforeAll(async () => {
    const commit = (mark: number, files: string[]) =>
      [
        `commit refs/heads/main\nmark :${mark}\ncommitter A <a@example.com> ${mark} +0000\n`,
        `data 2\nC${mark}\n${mark > 1 ? `from :${mark - 1}\n` : ""}deleteall\n`,
        ...files,
      ].join("");
    const before = [
      file("100644", "binary", "\0one"),
      file("100644", "ended", "a\nb"),
      file("100644", "gone", "z\n"),
      file("100644", "large", long("a")),
      file("100644", "mode", lines),
      file("100644", "moved/here", lines.replace("line 7", "line seven")),
      file("100644", "ünïcode \"and' more", "1\n"),
      file("120000", "link", "target"),
      `M 160000 ${"1".repeat(40)} module\n`,
    ];
    const after = [
      file("100644", "binary", "\0two"),
      file("100644", "ended", "a\nb\n"),
      file("100644", "large", long("b")),
      file("100755", "mode", lines),
      file("100644", "moved/there", lines.replace("line 9", "line nine")),
      file("100644", "new", "x\ny\n"),
      file("100644", "ünïcode \"and' more", "ß\n"),
      file("100644", "link", "target"),
      `M 160000 ${"2".repeat(40)} module\n`,
    ];
    await workshop.pushed("kinds", `${commit(1, before)}\n${commit(2, after)}\n`);
  });

  it("are shown as in GitLab", async () => {
    const { json } = await call("/commits/main/diff");
    const byPath = new Map<string, Diff>(json.map((diff: Diff) => [diff.new_path, diff]));
    const kept = { new_file: false, renamed_file: false, deleted_file: false };
    const settled = { generated_file: false, collapsed: false, too_large: false };
    expect(byPath.get("new")).toEqual({
      ...{ ...kept, ...settled, new_file: true, old_path: "new", new_path: "new" },
      ...{ a_mode: "0", b_mode: "100644", diff: "@@ -0,0 +1,2 @@\n+x\n+y\n" },
    });
    expect(byPath.get("gone")).toEqual({
      ...{ ...kept, ...settled, deleted_file: true, old_path: "gone", new_path: "gone" },
      ...{ a_mode: "100644", b_mode: "0", diff: "@@ -1 +0,0 @@\n-z\n" },
    });
    expect(byPath.get("binary")?.diff).toBe("Binary files a/binary and b/binary differ\n");
    expect(byPath.get("ended")?.diff).toBe(
      "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
    );
    expect(byPath.get("mode")).toMatchObject({
      ...kept,
      a_mode: "100644",
      b_mode: "100755",
      diff: "",
    });
    expect(byPath.get("moved/there")).toMatchObject({
      ...{ ...kept, renamed_file: true, old_path: "moved/here" },
      diff: expect.stringMatching(/^@@ -5,9 \+5,9 @@ line 3\n line 4\n/),
    });
    expect(byPath.get("large")).toMatchObject({ ...kept, too_large: true, diff: "" });
    expect(byPath.get("ünïcode \"and' more")?.diff).toBe("@@ -1 +1 @@\n-1\n+ß\n");
    expect(byPath.get("module")?.diff).toBe(
      `@@ -1 +1 @@\n-Subproject commit ${"1".repeat(40)}\n+Subproject commit ${"2".repeat(40)}\n`,
    );
    const links = json.filter(({ new_path }: Diff) => new_path === "link");
    expect(links.map(({ a_mode, b_mode }: Diff) => [a_mode, b_mode])).toEqual([
      ["120000", "0"],
      ["0", "100644"],
    ]);
  });

  it("have the names of the files before them if that is asked for", async () => {
    const { json } = await call("/commits/main/diff?unidiff=true");
    const diffOf = (path: string) => json.find(({ new_path }: Diff) => new_path === path).diff;
    expect(diffOf("new")).toBe("--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+x\n+y\n");
    expect(diffOf("gone")).toBe("--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n");
    expect(diffOf("moved/there")).toMatch(/^--- a\/moved\/here\n\+\+\+ b\/moved\/there\n@@ /);
    expect(diffOf("mode")).toBe("");
  });

  it("that are too large are counted all the same", async () => {
    const { json } = await call("/commits/main");
    expect(json.stats).toEqual({ additions: 30_007, deletions: 30_006, total: 60_013 });
  });
});

describe("a comparison", () => {
  it.each([
    ["c5", "c30"],
    ["c30", "c5"],
    ["c12", "main"],
    ["main", "c3"],
  ])("of %s and %s is Git's", async (from, to) => {
    const { status, json } = await get(`/compare?from=${from}&to=${to}`);
    expect(status).toBe(200);
    const log = (await git("rev-list", "--reverse", `${from}..${to}`)).split("\n").filter(Boolean);
    const shown = json.commits.map(({ id }: { id: string }) => id);
    expect(shown.toSorted()).toEqual(log.toSorted());
    expect(json.commit).toEqual(json.commits.at(-1) ?? null);
    expect(json.commits.at(-1)?.id).toBe(log.at(-1));
    expect(rawOf(json.diffs)).toEqual(await rawByGit(`${from}...${to}`));
    expect([json.compare_timeout, json.compare_same_ref]).toEqual([false, false]);
    const straight = await get(`/compare?from=${from}&to=${to}&straight=true`);
    expect(rawOf(straight.json.diffs)).toEqual(await rawByGit(from, to));
    expect(straight.json.commits).toEqual(json.commits);
  });

  it("of one commit with itself has nothing", async () => {
    const { json } = await get("/compare?from=main&to=HEAD");
    const id = await git("rev-parse", "main");
    expect(json).toEqual({
      commit: null,
      commits: [],
      diffs: [],
      compare_timeout: false,
      compare_same_ref: true,
      web_url: `http://pm.test/secret/vault/-/compare/${id}...${id}`,
    });
  });

  it("needs two commits of the project", async () => {
    expect((await get("/compare?to=main")).status).toBe(400);
    expect((await get("/compare?from=main")).status).toBe(400);
    for (const query of ["from=unknown&to=main", "from=main&to=unknown"]) {
      const { status, json } = await get(`/compare?${query}`);
      expect([status, json]).toEqual([404, { message: "404 Ref Not Found" }]);
    }
    const { status, json } = await get("/compare?from=main&to=main&from_project_id=99999");
    expect([status, json.message]).toEqual([400, expect.stringContaining("is not a fork of")]);
  });
});
