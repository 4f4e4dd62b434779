// Git's own client fetches and pushes; it must be installed. It judges what it gets by `git fsck`.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { TestApp } from "../helpers.ts";
import { randomHistory, randomOf, shareWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ app, workshop, git } = opened);
});

/** A new private project, as the address of its repository. */
async function newRepository(name: string): Promise<string> {
  const { status } = await app.call("POST /projects", { as: "owner", json: { name } });
  expect(status).toBe(201);
  return workshop.url(`owner/${name}`, "owner");
}

/** The names of all objects that references reach. */
const objectsOf = async (where: string, ...refs: string[]) =>
  (await git(where, "rev-list", "--objects", ...refs))
    .split("\n")
    .map((line) => line.slice(0, 40))
    .sort();

/** Changes a file of a clone, and commits it. */
async function commit(where: string, file: string, content: string | Buffer, ...args: string[]) {
  await writeFile(join(workshop.folder, where, file), content);
  await git(where, "add", "--all");
  await git(where, "commit", "--quiet", "-m", `Change ${file}`, ...args);
}

describe.each([0, 1, 2])("protocol version %d", (version) => {
  const as = ["-c", `protocol.version=${version}`] as const;
  const source = `source${version}.git`;
  const ours = (name: string) => `v${version}-${name}`;
  let url: string;
  let all: string[];
  beforeAll(async () => {
    url = await newRepository(ours("project"));
    await workshop.importInto(source, randomHistory(version + 1, 120));
    all = (await git(source, "rev-list", "--all", "--topo-order", "--reverse")).split("\n");
  });
  const fsck = (where: string) => git(where, "fsck", "--full", "--strict");

  it("clones a repository without commits", async () => {
    await git("", ...as, "clone", "--quiet", url, ours("empty"));
    if (version === 2) {
      expect(await git(ours("empty"), "symbolic-ref", "HEAD")).toBe("refs/heads/main");
    }
  });

  it("pushes in parts, and clones the same", async () => {
    await git(source, ...as, "push", "--quiet", url, "main~1:refs/heads/main");
    await git(source, ...as, "push", "--quiet", "--mirror", url);
    await git("", ...as, "clone", "--quiet", "--mirror", url, ours("mirror"));
    await fsck(ours("mirror"));
    const shown = (where: string) => git(where, "for-each-ref");
    expect(await shown(ours("mirror"))).toBe(await shown(source));
    expect(await objectsOf(ours("mirror"), "--all")).toEqual(await objectsOf(source, "--all"));
    const strict = ["-c", "transfer.fsckObjects=true", "clone", "--quiet", "--bare"];
    await git("", ...as, ...strict, url, ours("strict"));
    expect(await git(ours("strict"), "symbolic-ref", "HEAD")).toBe("refs/heads/main");
  });

  it("clones one branch, or none of its blobs", async () => {
    await git("", ...as, "clone", "--quiet", "--bare", "--single-branch", url, ours("single"));
    await fsck(ours("single"));
    const partial = ["clone", "--quiet", "--no-checkout"];
    await git("", ...as, ...partial, "--filter=blob:none", url, ours("blobless"));
    const missing = ["rev-list", "--objects", "--all", "--missing=print"];
    expect(await git(ours("blobless"), ...missing)).toMatch(/^\?/m);
    await git(ours("blobless"), ...as, "checkout", "--quiet", "main");
    await git(ours("blobless"), ...as, "log", "-p", "-5");
    await git("", ...as, ...partial, "--filter=tree:0", url, ours("treeless"));
    await git(ours("treeless"), ...as, "checkout", "--quiet", "main");
    expect(await git(ours("treeless"), "status", "--porcelain")).toBe("");
    await git("", ...as, ...partial, "--filter=blob:limit=200", url, ours("limited"));
    await git(ours("limited"), ...as, "checkout", "--quiet", "main");
    expect(await git(ours("limited"), "status", "--porcelain")).toBe("");
  });

  it("clones a part of the history, and the rest later", async () => {
    const shallow = ours("shallow");
    const count = (where: string) => git(where, "rev-list", "--count", "HEAD");
    const commits = async (where: string) =>
      (await git(where, "rev-list", "--all")).split("\n").sort();
    const judge = ours("judge");
    const file = `file://${join(workshop.folder, source)}`;
    const parts = ["clone", "--quiet", "--no-single-branch", "--depth=1"];
    await git("", ...as, ...parts, url, shallow);
    await git("", ...as, ...parts, file, judge);
    for (const step of ["--deepen=2", "--deepen=1", "--depth=2", "--depth=6"]) {
      for (const where of [shallow, judge]) await git(where, ...as, "fetch", "-q", step);
      await git(shallow, "fsck", "--full");
      expect(await commits(shallow)).toEqual(await commits(judge));
    }
    await git(shallow, ...as, "fetch", "--quiet", "--unshallow");
    await fsck(shallow);
    expect(await count(shallow)).toBe(await count(source));
    const since = `--shallow-since=${1_600_000_000 + 60_000}`;
    await git("", ...as, "clone", "--quiet", since, url, ours("since"));
    await git(ours("since"), "fsck", "--full");
    const tag = (await git(source, "tag")).split("\n")[0] as string;
    await git("", ...as, "clone", "--quiet", `--shallow-exclude=${tag}`, url, ours("exclude"));
    await git(ours("exclude"), "fsck", "--full");
  });

  it("fetches from any state to any other", async () => {
    const random = randomOf(version + 7);
    const one = <T>(values: readonly T[]) => values[random(values.length)] as T;
    for (let round = 0; round < 6; round += 1) {
      const where = ours(`round${round}`);
      await git("", "init", "--quiet", where);
      await git(where, "remote", "add", "origin", url);
      const limit = () => one(["", "", "", `--depth=${1 + random(6)}`]);
      const wants = [one(all), one(all)];
      const limits = [limit(), limit()];
      for (const [at, want] of wants.entries()) {
        const args = ["fetch", "--quiet", ...limits.slice(at, at + 1).filter(Boolean)];
        await git(where, ...as, ...args, "origin", want);
        await git(where, "update-ref", `refs/heads/r${at}`, want);
      }
      await git(where, "fsck", "--full");
      const fetched = await objectsOf(where, "r0", "r1");
      if (limits.every((text) => text === "")) {
        expect(fetched).toEqual(await objectsOf(source, ...wants));
      }
    }
  });

  it("pushes and fetches changes", async () => {
    const [work, other] = [ours("work"), ours("other")];
    for (const where of [work, other]) await git("", ...as, "clone", "--quiet", url, where);
    for (const round of [1, 2, 3]) {
      await commit(work, `new${round}`, `${round}\n`);
      await git(work, ...as, "push", "--quiet", "origin", "main");
    }
    await git(other, ...as, "fetch", "--quiet");
    await fsck(other);
    const tip = await git(work, "rev-parse", "main");
    expect(await git(other, "rev-parse", "origin/main")).toBe(tip);
    // A history that the server does not have, longer than one round of negotiation.
    for (let round = 0; round < 40; round += 1) {
      await git(other, "commit", "--quiet", "--allow-empty", "-m", `${round}`);
    }
    await commit(work, "more", "more\n");
    await git(work, ...as, "push", "--quiet", "origin", "main");
    await git(other, ...as, "fetch", "--quiet");
    await fsck(other);
    await git("", ...as, "clone", "--quiet", "--depth=1", url, ours("thin"));
    await commit(ours("thin"), "from-shallow", "x\n");
    await git(ours("thin"), ...as, "push", "--quiet");
    // Larger than Git sends at once, so it is sent in chunks, after a probe.
    await git(work, ...as, "pull", "--quiet", "--rebase");
    await commit(work, "large", randomBytes(3_000_000));
    await git(work, ...as, "push", "--quiet", "origin", "main");
    await git(other, ...as, "fetch", "--quiet");
    await fsck(other);
  });
});

describe("a push", () => {
  let url: string;
  const work = "pushes";
  beforeAll(async () => {
    url = await newRepository("pushes");
    await git("", "init", "--quiet", "--initial-branch=trunk", work);
    await git(work, "remote", "add", "origin", url);
    await commit(work, "a", "1\n");
    await commit(work, "b", "2\n");
    await git(work, "push", "--quiet", "origin", "trunk");
  });
  const remote = async (...names: string[]) => {
    const lines = (await git(work, "ls-remote", "origin", ...names)).split("\n");
    return Object.fromEntries(lines.filter(Boolean).map((line) => line.split("\t").reverse()));
  };
  const tip = (name = "HEAD") => git(work, "rev-parse", name);

  it("makes the first branch the default one", async () => {
    const { json } = await app.call("GET /projects/owner%2Fpushes", { as: "owner" });
    expect(json.default_branch).toBe("trunk");
    const query = `{ project(fullPath: "${json.path_with_namespace}") { repository { empty exists rootRef } } }`;
    const shown = await app.call("POST /api/graphql", { as: "owner", json: { query } });
    const repository = { empty: false, exists: true, rootRef: "trunk" };
    expect(shown.json).toEqual({ data: { project: { repository } } });
    expect(await git(work, "ls-remote", "--symref", "origin", "HEAD")).toContain(
      "ref: refs/heads/trunk\tHEAD",
    );
  });

  it.each([
    [["0.1-release", "develop", "master"], "master"],
    [["develop", "main", "master"], "main"],
    [["develop", "zoo"], "develop"],
  ])("of %j makes %s the default one", async (branches, expected) => {
    const name = `many-${expected}`;
    const to = await newRepository(name);
    await git(work, "push", "--quiet", to, ...branches.map((one) => `HEAD:refs/heads/${one}`));
    const { json } = await app.call(`GET /projects/owner%2F${name}`, { as: "owner" });
    expect(json.default_branch).toBe(expected);
    const [rule] = (await app.call(`GET /projects/${json.id}/protected_branches`, { as: "owner" }))
      .json;
    expect(rule.name).toBe(expected);
  });

  it("is an event", async () => {
    const events = async () =>
      (await app.call("GET /projects/owner%2Fpushes/events?action=pushed", { as: "owner" })).json;
    const first = await tip();
    expect((await events())[0]).toMatchObject({
      action_name: "pushed new",
      author_username: "owner",
      push_data: {
        action: "created",
        commit_count: 2,
        commit_from: null,
        commit_to: first,
        commit_title: "Change b",
        ref: "trunk",
        ref_type: "branch",
      },
    });
    await commit(work, "a", "3\n");
    await git(work, "tag", "-a", "-m", "note", "v1");
    await git(work, "push", "--quiet", "origin", "trunk", "v1", "HEAD:refs/heads/same");
    const pushed = (await events())
      .slice(0, 3)
      .map(({ push_data: data }: { push_data: Record<string, unknown> }) => [
        data["ref"],
        data["ref_type"],
        data["action"],
        data["commit_count"],
      ]);
    expect(pushed.sort()).toEqual([
      ["same", "branch", "created", 1],
      ["trunk", "branch", "pushed", 1],
      ["v1", "tag", "created", 1],
    ]);
    await git(work, "push", "--quiet", "origin", ":same");
    const removed = { action: "removed", commit_count: 0, commit_to: null, commit_title: null };
    expect((await events())[0]).toMatchObject({ action_name: "deleted", push_data: removed });
  });

  it("changes a branch that was left behind only by force", async () => {
    await git(work, "push", "--quiet", "origin", "trunk:topic");
    await git(work, "checkout", "--quiet", "-b", "other", "HEAD~1");
    await commit(work, "c", "4\n");
    const refused = await workshop.failure(work, "push", "origin", "other:topic");
    expect(refused).toContain("non-fast-forward");
    await git(work, "push", "--quiet", "--force", "origin", "other:topic");
    expect((await remote("topic"))["refs/heads/topic"]).toBe(await tip("other"));
    await git("", "clone", "--quiet", "--mirror", url, "after-force");
    expect(await git("after-force", "fsck", "--unreachable", "--no-reflogs")).toBe("");
  });

  it("changes nothing that others have changed since", async () => {
    await git("", "clone", "--quiet", url, "stale");
    const old = await tip("trunk~1");
    // As if the client had read the references before the last push.
    const lease = `--force-with-lease=trunk:${old}`;
    expect(await workshop.failure(work, "push", lease, "origin", "other:trunk")).toMatch(/stale/);
    const command = `${old} ${await tip("other")} refs/heads/trunk\0report-status`;
    const body = `${(command.length + 4).toString(16).padStart(4, "0")}${command}0000`;
    const answer = await pushed(url, body, await emptyPack());
    expect(answer).toContain("ng refs/heads/trunk fetch first");
    expect((await remote("trunk"))["refs/heads/trunk"]).toBe(await tip("trunk"));
  });

  it("changes all references, or with --atomic none, if one is refused", async () => {
    const names = ["trunk:refs/heads/fine", "trunk:refs/heads/topic/below"];
    const refused = await workshop.failure(work, "push", "--atomic", "origin", ...names);
    expect(refused).toMatch(/'refs\/heads\/topic' exists/);
    expect(await remote("fine")).toEqual({});
    await workshop.failure(work, "push", "origin", ...names);
    expect(await remote("fine")).toEqual({ "refs/heads/fine": await tip("trunk") });
    await git(work, "push", "--quiet", "origin", ":fine", "trunk:refs/heads/fine/below");
    expect(await remote("below")).toEqual({ "refs/heads/fine/below": await tip("trunk") });
  });

  it("can't delete the default branch", async () => {
    const refused = await workshop.failure(work, "push", "origin", ":trunk", "trunk:refs/heads/x");
    expect(refused).toContain("remote: GitLab: The default branch of a project cannot be deleted.");
    expect(refused).toContain("pre-receive hook declined");
    expect(await remote("x")).toEqual({});
  });

  it("takes tags of tags, notes and options", async () => {
    await git(work, "tag", "-a", "-m", "outer", "v-of-tag", "v1");
    await git(work, "notes", "add", "-m", "hello", "trunk");
    await git(work, "push", "--quiet", "-o", "ci.skip", "origin", "v-of-tag", "refs/notes/commits");
    const shown = await git(work, "ls-remote", "origin", "v-of-tag^{}");
    expect(shown).toContain(await tip("v1^{}"));
    for (const name of ["refs/merge-requests/1/head", "refs/keep-around/x"]) {
      const refused = await workshop.failure(work, "push", "origin", `trunk:${name}`);
      expect(refused).toContain("deny updating a hidden ref");
    }
  });

  it("stores nothing if it is refused", async () => {
    const tables = ["git_packs", "git_pack_pieces", "git_pack_indexes", "git_refs"];
    const counts = () =>
      Promise.all(tables.map((table) => app.store.rows(`select count(*) from ${table}`)));
    await commit(work, "d", "5\n");
    const before = await counts();
    await workshop.failure(work, "push", "origin", "HEAD:refs/heads/topic/below");
    expect(await counts()).toEqual(before);
  });
});

/** Sends a push as it is. */
async function pushed(url: string, commands: string, pack: Buffer): Promise<string> {
  const { username, password, origin, pathname } = new URL(url);
  const response = await fetch(`${origin}${pathname}/git-receive-pack`, {
    method: "POST",
    headers: {
      authorization: `Basic ${btoa(`${username}:${password}`)}`,
      "content-type": "application/x-git-receive-pack-request",
    },
    body: Buffer.concat([Buffer.from(commands), pack]),
  });
  return response.text();
}

/** A pack without objects. */
async function emptyPack(): Promise<Buffer> {
  const head = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
  return Buffer.concat([head, new Uint8Array(await crypto.subtle.digest("SHA-1", head))]);
}
