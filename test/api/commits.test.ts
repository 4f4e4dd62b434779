// Answers about commits are compared with what Git's own client says, which must be installed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";
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

  it.each([
    ...["HEAD~", "main~1", "main~3", "main~0", "main^", "main^0", "main^2", "main~2^2~1", "main^^"],
    ...["main^3", "main~999999", "main~x", "main^{commit}", "main~1x", "~1"],
  ])("%s is the ancestor that Git finds", async (name) => {
    const found = await git("rev-parse", "--verify", "--quiet", name).catch(() => undefined);
    // Names of objects' types are not among the steps.
    const id = name.includes("{") ? undefined : found;
    const { status, json } = await get(`/commits/${encodeURIComponent(name)}`);
    expect([status, json.id]).toEqual(id === undefined ? [404, undefined] : [200, id]);
    if (id === undefined) return;
    const short = `${id.slice(0, 8)}~0`;
    expect((await get(`/commits/${encodeURIComponent(short)}`)).json.id).toBe(id);
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

describe("pages of commits", () => {
  it("begin with the first, and link to each other", async () => {
    const [first, second] = await log("main");
    const { json, headers } = await get("/commits?page=2&per_page=1");
    expect(json.map(({ id }: { id: string }) => id)).toEqual([second]);
    expect(headers.get("x-page")).toBe("2");
    expect(headers.get("link")).toContain('page=1&per_page=1>; rel="prev"');
    expect((await get("/commits?page=0&per_page=1")).json[0].id).toBe(first);
    expect((await get("/commits?page=9000000000000000")).json).toEqual([]);
  });

  it("show the new commits after a push", async () => {
    const before = await namesIn("path=d");
    const objects = new Objects();
    const tip = Buffer.from(await git("rev-parse", "main"), "hex");
    const tree = objects.add("tree", entry("100644", "d", objects.add("blob", "new")));
    const next = objects.commit(tree, [tip], { time: 1_900_000_000 });
    await push(app, "secret/vault", objects.pack, { "refs/heads/next": next });
    expect(await namesIn("path=d&ref_name=next")).toEqual([next.toString("hex"), ...before]);
    expect(await namesIn("ref_name=next")).toEqual([next.toString("hex"), ...(await log("main"))]);
  });

  it("of an unknown branch are empty, and of an impossible one refused", async () => {
    for (const query of ["ref_name=nope&path=a", "ref_name=nope..main", "ref_name=main..nope"]) {
      const { status, json, headers } = await get(`/commits?${query}`);
      expect([status, json, headers.get("x-total")]).toEqual([200, [], "0"]);
    }
    expect((await get("/commits?ref_name=")).json[0].id).toBe((await log("main"))[0]);
    for (const [query, message] of [
      ["since=invalid-date", { since: ["is invalid"] }],
      ["until=x", { until: ["is invalid"] }],
      ["ref_name=-x", { ref_name: ["is invalid"] }],
      ["ref_name=a%20b", { ref_name: ["is invalid"] }],
      ["order=size", { order: ["does not have a valid value"] }],
    ] as const) {
      const { status, json } = await get(`/commits?${query}`);
      expect([status, json]).toEqual([400, { message }]);
    }
  });
});

let messages = 0;

/** Pushes a commit with a message to a new branch. */
async function pushMessage(name: string, message: string, signature = ""): Promise<string> {
  const objects = new Objects();
  const commit = objects.commit(objects.add("tree", ""), [], { message, signature });
  await push(app, "acme/site", objects.pack, { [`refs/heads/${name}`]: commit });
  return `/projects/acme%2Fsite/repository/commits/${commit.toString("hex")}`;
}

describe("messages", () => {
  const BODY = "A title\n\nA text: with a colon\n\n";
  it.each([
    [`${BODY}Signed-off-by: Ada <a@b>\nFixes: #1\nFixes: #2\n`],
    [`${BODY}Key: one\n two\n  three\nOther : x\n`],
    [`${BODY}Signed-off-by: Ada\nNo trailer\n`],
    [`${BODY}Key: value\nNo trailer\n`],
    [`${BODY}Key: value\n(cherry picked from commit ${"a".repeat(40)})\n`],
    ["Key: value\n"],
    ["A title\nKey: value\n"],
    ["A title\n\nKey: value\n\n\n"],
    ["\n\nA title\n\nKey: value"],
    ["A title"],
    [""],
    [`${BODY}https://example.com\nKey: value\n`],
    [`${BODY}__proto__: x\nKey:\n`],
  ])("%j have Git's trailers", async (message) => {
    const path = await pushMessage(`m${messages++}`, message);
    const { json } = await app.call(`GET ${path}`);
    const args = ["--format=%(trailers:only,unfold,key_value_separator=%x00)"];
    const judged = new Objects();
    const id = judged.commit(judged.add("tree", ""), [], { message }).toString("hex");
    expect(json.id).toBe(id);
    await git("fetch", "--quiet", workshop.url("acme/site", "owner"), id);
    const expected = (await git("log", "-1", ...args, id))
      .split("\n")
      .filter((line) => line.includes("\0"))
      .map((line) => line.split("\0") as [string, string]);
    expect(json.trailers).toEqual(Object.fromEntries(expected));
    for (const [key, values] of Object.entries(json.extended_trailers)) {
      expect(values).toEqual(expected.filter(([name]) => name === key).map(([, value]) => value));
    }
    expect(json.message).toBe(message);
  });

  it("have no trailers in lists, unless they are asked for", async () => {
    await pushMessage("trailers", "A title\n\nKey: value\n");
    const list = "GET /projects/acme%2Fsite/repository/commits?ref_name=trailers";
    expect((await app.call(list)).json[0].trailers).toEqual({});
    expect((await app.call(`${list}&trailers=true`)).json[0].trailers).toEqual({ Key: "value" });
  });

  it("may be signed", async () => {
    for (const [type, begin] of [
      ["PGP", "PGP SIGNATURE"],
      ["SSH", "SSH SIGNATURE"],
      ["X509", "SIGNED MESSAGE"],
    ] as const) {
      const signature = `-----BEGIN ${begin}-----\n\nabc\n-----END ${begin}-----`;
      const path = await pushMessage(type, "Signed\n", signature);
      const { status, json } = await app.call(`GET ${path}/signature`);
      const told = { signature_type: type, verification_status: "unverified" };
      expect([status, json]).toMatchObject([200, { ...told, commit_source: "gitaly" }]);
      expect((await app.call(`GET ${path}`)).json.message).toBe("Signed\n");
    }
    const { status, json } = await get("/commits/main/signature");
    expect([status, json]).toEqual([404, { message: "404 Signature Not Found" }]);
  });
});

describe("comments", () => {
  it("are written on commits by those who can read the code", async () => {
    const path = `POST ${REPOSITORY}/commits/main/comments`;
    const written = await app.call(path, { as: "reporter", json: { note: "Why?" } });
    expect(written.status).toBe(201);
    expect(written.json).toMatchObject({
      note: "Why?",
      path: null,
      line: null,
      line_type: null,
      author: { username: "reporter" },
    });
    const again = await app.call(path, { as: "developer", json: { note: "Because." } });
    const id = await git("rev-parse", "main");
    const { json } = await get(`/commits/${id}/comments`);
    expect(json).toEqual([written.json, again.json]);
    expect((await get("/commits/b1/comments")).json).toEqual([]);
    expect((await app.call(path, { as: "guest", json: { note: "x" } })).status).toBe(403);
    expect((await app.call(path, { as: "stranger", json: { note: "x" } })).status).toBe(404);
    expect((await app.call(path, { json: { note: "x" } })).status).toBe(401);
  });

  it("may be on a line of a file that the commit changed", async () => {
    const objects = new Objects();
    const files = (text: string) =>
      objects.add(
        "tree",
        Buffer.concat([
          entry("100644", "a", objects.add("blob", text)),
          entry("100644", "b", objects.add("blob", "same\n")),
        ]),
      );
    const first = objects.commit(files("one\n"), []);
    const second = objects.commit(files("one\ntwo\n"), [first]);
    await push(app, "secret/vault", objects.pack, { "refs/heads/commented": second });
    const comment = (json: object, branch = "commented") =>
      app.call(`POST ${REPOSITORY}/commits/${branch}/comments`, { as: "developer", json });
    const on = { note: "Look", line: 2, line_type: "new" };
    expect((await comment({ ...on, path: "a" })).json).toMatchObject({ ...on, path: "a" });
    const nowhere = { path: null, line: null, line_type: null };
    expect((await comment({ ...on, path: "b" })).json).toMatchObject(nowhere);
    expect((await comment({ ...on, path: "none" })).json).toMatchObject(nowhere);
    for (const line of [1, 3]) {
      expect((await comment({ ...on, path: "a", line })).json).toMatchObject(nowhere);
    }
    const old = { ...on, path: "a", line_type: "old" };
    expect((await comment(old)).json).toMatchObject(nowhere);
    const third = objects.commit(files("two\n"), [second]);
    await push(app, "secret/vault", objects.pack, { "refs/heads/shortened": third });
    const onRemoved = { ...old, line: 1 };
    expect((await comment(onRemoved, "shortened")).json).toMatchObject(onRemoved);
    const missing = await comment({ note: "Look", path: "a" });
    expect([missing.status, missing.json.message]).toEqual([
      400,
      '400 (Bad request) "line" not given',
    ]);
    expect((await comment({ path: "a", line: 1 })).status).toBe(400);
  });

  it("are refused on unknown commits and in archived projects", async () => {
    const path = "POST /projects/acme%2Fsite/repository/commits";
    const json = { note: "x" };
    expect((await app.call(`${path}/none/comments`, { as: "owner", json })).status).toBe(404);
    await pushMessage("archived", "x\n");
    await app.call("POST /projects/acme%2Fsite/archive", { as: "owner" });
    expect((await app.call(`${path}/archived/comments`, { as: "owner", json })).status).toBe(403);
    await app.call("POST /projects/acme%2Fsite/unarchive", { as: "owner" });
  });
});

describe("merge requests with a commit", () => {
  it("are those whose latest version brings it, or that were merged with it", async () => {
    const objects = new Objects();
    const tree = objects.add("tree", "");
    const base = objects.commit(tree, []);
    const work = objects.commit(tree, [base], { message: "Work" });
    const more = objects.commit(tree, [work], { message: "More" });
    await push(app, "secret/vault", objects.pack, {
      "refs/heads/target": base,
      "refs/heads/feature": work,
      "refs/heads/more": more,
    });
    const open = async (source_branch: string, target_branch: string) => {
      const json = { title: source_branch, source_branch, target_branch };
      const created = await app.call("POST /projects/secret%2Fvault/merge_requests", {
        as: "developer",
        json,
      });
      expect(created.status).toBe(201);
      return created.json.iid;
    };
    const [one, two, three] = [
      await open("feature", "target"),
      await open("more", "target"),
      await open("more", "feature"),
    ];
    const numbers = async (name: string, query = "") =>
      (await get(`/commits/${name}/merge_requests${query}`)).json.map(
        ({ iid }: { iid: number }) => iid,
      );
    expect(await numbers("feature")).toEqual([two, one]);
    expect(await numbers("more")).toEqual([three, two]);
    expect(await numbers("target")).toEqual([]);
    const close = { as: "developer", json: { state_event: "close" } } as const;
    await app.call(`PUT /projects/secret%2Fvault/merge_requests/${one}`, close);
    expect(await numbers("feature", "?state=opened")).toEqual([two]);
    expect(await numbers("feature", "?state=closed")).toEqual([one]);
    expect(await numbers("feature", "?state=all")).toEqual([two, one]);
    // A merge brings the commits to the target branch: they still belong to what was merged.
    const merge = `PUT /projects/secret%2Fvault/merge_requests/${two}/merge`;
    const merged = await app.call(merge, { as: "maintainer", json: { squash: true } });
    expect(merged.status).toBe(200);
    expect(await numbers("more", "?state=merged")).toEqual([two]);
    expect(await numbers(merged.json.merge_commit_sha)).toEqual([two]);
    expect(await numbers(merged.json.squash_commit_sha)).toEqual([two]);
    expect((await get("/commits/feature/merge_requests", "guest")).status).toBe(403);
    expect((await get("/commits/none/merge_requests")).status).toBe(404);
  });
});
