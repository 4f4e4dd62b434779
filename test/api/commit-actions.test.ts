// Commits of several changes over the REST API, compared with what Git makes of the same changes.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Person, TestApp } from "../helpers.ts";
import { randomOf, shareWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ app, workshop, git } = opened);
});

let counter = 0;
/** A new project whose unprotected branch `main` has `a.txt`, `b/c.txt` and `b/d.txt`. */
async function newProject() {
  counter += 1;
  const name = `p${counter}`;
  const { json: group } = await app.call("GET /groups/secret", { as: "owner" });
  const json = { name, namespace_id: group.id };
  const made = await app.call("POST /projects", { as: "owner", json });
  const path = `/projects/${made.json.id}`;
  const commits = `${path}/repository/commits`;
  const actions = ["a.txt", "b/c.txt", "b/d.txt"].map((file_path) => ({
    action: "create",
    file_path,
    content: `${file_path}\n`,
  }));
  const first = { branch: "main", commit_message: "First", actions };
  const { json: commit } = await app.call(`POST ${commits}`, { as: "maintainer", json: first });
  await app.call(`DELETE ${path}/protected_branches/main`, { as: "maintainer" });
  let clones = 0;
  return {
    path,
    commits,
    first: commit,
    commit: (actions: object[], changes: object = {}, as: Person = "developer") =>
      app.call(`POST ${commits}`, {
        as,
        json: { branch: "main", commit_message: "Change", actions, ...changes },
      }),
    clone: async () => {
      clones += 1;
      const where = `${name}-${clones}`;
      await git("", "clone", "--quiet", "--mirror", workshop.url(`secret/${name}`, "owner"), where);
      await git(where, "fsck", "--full", "--strict");
      return where;
    },
  };
}

describe("a commit", () => {
  let project: Awaited<ReturnType<typeof newProject>>;
  beforeAll(async () => {
    project = await newProject();
  });

  it("has all its changes", async () => {
    const { status, json } = await project.commit([
      { action: "create", file_path: "new/x", content: "eA==", encoding: "base64" },
      { action: "update", file_path: "a.txt", content: "changed\n" },
      { action: "delete", file_path: "b/d.txt" },
      { action: "move", previous_path: "b/c.txt", file_path: "moved.txt" },
      { action: "chmod", file_path: "moved.txt", execute_filemode: true },
    ]);
    expect(status).toBe(201);
    expect(json).toMatchObject({
      parent_ids: [project.first.id],
      title: "Change",
      project_id: expect.any(Number),
      status: null,
    });
    const where = await project.clone();
    const lines = (await git(where, "ls-tree", "-r", "main")).split("\n");
    const same = await git(where, "rev-parse", "main~1:b/c.txt");
    expect(lines.map((line) => line.replace(/ blob /, " ").split("\t"))).toEqual([
      [expect.stringMatching(/^100644 /), "a.txt"],
      [`100755 ${same}`, "moved.txt"],
      [expect.stringMatching(/^100644 /), "new/x"],
    ]);
    expect(await git(where, "show", "main:a.txt")).toBe("changed");
    expect(await git(where, "show", "main:new/x")).toBe("x");
  });

  it("moves with new content, or with none", async () => {
    const moves = [
      { action: "move", previous_path: "a.txt", file_path: "m/a.txt", content: "x\n" },
      { action: "move", previous_path: "m/a.txt", file_path: "m/b.txt", content: "" },
    ];
    expect((await project.commit(moves)).status).toBe(201);
    const where = await project.clone();
    expect(await git(where, "show", "main:m/b.txt")).toBe("");
    expect(await git(where, "ls-tree", "-r", "--name-only", "main", "m")).toBe("m/b.txt");
  });

  it("may turn a folder into a file, and back", async () => {
    const there = [
      { action: "delete", file_path: "new/x" },
      { action: "create", file_path: "new", content: "file\n" },
    ];
    expect((await project.commit(there)).status).toBe(201);
    const back = [
      { action: "move", previous_path: "new", file_path: "new.txt" },
      { action: "create", file_path: "new/y", content: "" },
    ];
    expect((await project.commit(back)).status).toBe(201);
    const where = await project.clone();
    expect(await git(where, "ls-tree", "-r", "--name-only", "main")).toBe(
      "m/b.txt\nmoved.txt\nnew.txt\nnew/y",
    );
  });

  it("without changes is possible, if that is asked for", async () => {
    const before = await app.call(`GET ${project.commits}/main`, { as: "reporter" });
    const { status, json } = await project.commit([], { allow_empty: true });
    expect([status, json.parent_ids]).toEqual([201, [before.json.id]]);
    const where = await project.clone();
    expect(await git(where, "diff", "--name-only", "main~1", "main")).toBe("");
  });

  it("follows another branch, or a commit", async () => {
    const add = (name: string) => [{ action: "create", file_path: name, content: "" }];
    const main = (await app.call(`GET ${project.commits}/main`, { as: "reporter" })).json.id;
    const topic = { branch: "topic", start_branch: "main" };
    expect((await project.commit(add("t1"), topic)).json.parent_ids).toEqual([main]);
    const old = { branch: "old", start_sha: project.first.id };
    expect((await project.commit(add("t2"), old)).json.parent_ids).toEqual([project.first.id]);
    expect((await project.commit(add("t3"), topic)).json.message).toBe(
      "A branch called 'topic' already exists. Switch to that branch in order to make changes",
    );
    const forced = await project.commit(add("t3"), { ...topic, force: true });
    expect(forced.json.parent_ids).toEqual([main]);
    const where = await project.clone();
    expect(await git(where, "rev-parse", "topic")).toBe(forced.json.id);
  });
});

describe("a refused commit changes nothing:", () => {
  let project: Awaited<ReturnType<typeof newProject>>;
  beforeAll(async () => {
    project = await newProject();
  });
  const file = { action: "create", file_path: "n", content: "" };
  const bad = "400 Bad request - ";

  it.each<[what: string, actions: unknown, changes: object, message: unknown]>([
    ["no branch", [file], { branch: undefined }, '400 (Bad request) "branch" not given'],
    ["no actions", undefined, {}, '400 (Bad request) "actions" not given'],
    ["empty actions", [], {}, `${bad}Provide at least one action, or set allow_empty to true`],
    ["text for actions", "create", {}, { actions: ["is invalid"] }],
    ["text for an action", ["create"], {}, { actions: ["is invalid"] }],
    ["no path", [{ action: "create" }], {}, `${bad}actions[0][file_path] is required`],
    [
      "an unknown action",
      [file, { ...file, action: "copy" }],
      {},
      `${bad}actions[1][action] must be one of: create, update, move, delete, chmod`,
    ],
    ["no action", [{ file_path: "x" }], {}, `${bad}actions[0][action] is required`],
    [
      "a move from nowhere",
      [{ action: "move", file_path: "x" }],
      {},
      `${bad}actions[0][previous_path] is required for move action`,
    ],
    [
      "an update without content",
      [{ action: "update", file_path: "a.txt" }],
      {},
      `${bad}actions[0][content] is required for update action`,
    ],
    [
      "a mode that is none",
      [{ action: "chmod", file_path: "a.txt", execute_filemode: "x" }],
      {},
      `${bad}actions[0][execute_filemode] must be a boolean`,
    ],
    [
      "an encoding that is none",
      [{ ...file, encoding: "rot13" }],
      {},
      `${bad}actions[0][encoding] must be text or base64`,
    ],
    [
      "a file that exists",
      [file, { ...file, file_path: "a.txt" }],
      {},
      "A file with this name already exists",
    ],
    ["a file that exists since", [file, file], {}, "A file with this name already exists"],
    [
      "a missing file",
      [file, { action: "delete", file_path: "x" }],
      {},
      "A file with this name doesn't exist",
    ],
    [
      "a mode of a missing file",
      [{ action: "chmod", file_path: "x", execute_filemode: true }],
      {},
      "A file with this name doesn't exist",
    ],
    [
      "a path that climbs",
      [{ ...file, file_path: "../n" }],
      {},
      "Path cannot include directory traversal",
    ],
    ["an empty path", [{ ...file, file_path: "" }], {}, "You must provide a file path"],
    ["a short start", [file], { branch: "s", start_sha: "1234567" }, "Invalid start_sha '1234567'"],
    [
      "an unknown start",
      [file],
      { branch: "s", start_sha: "1".repeat(40) },
      `Cannot find start_sha '${"1".repeat(40)}'`,
    ],
    [
      "two starts",
      [file],
      { branch: "s", start_sha: "1".repeat(40), start_branch: "main" },
      `${bad}start_branch, start_sha are mutually exclusive`,
    ],
    [
      "an unknown branch",
      [file],
      { branch: "s" },
      "You can only create or edit files when you are on a branch",
    ],
    [
      "a changed file",
      [{ action: "delete", file_path: "a.txt", last_commit_id: "1".repeat(40) }],
      {},
      "The file has changed since you started editing it: a.txt",
    ],
  ])("%s", async (_, actions, changes, message) => {
    const { status, json } = await project.commit(actions as object[], changes);
    expect([status, json.message]).toEqual([400, message]);
    const main = await app.call(`GET ${project.commits}/main`, { as: "reporter" });
    expect(main.json.id).toBe(project.first.id);
  });

  it.each([
    ["anonymous", 404],
    ["guest", 403],
    ["reporter", 403],
  ] as const)("%s gets %d", async (person, status) => {
    expect((await project.commit([file], {}, person)).status).toBe(status);
  });
});

it("takes the parameters of forms", async () => {
  const project = await newProject();
  const form =
    "branch=main&commit_message=Form&actions[][action]=create&actions[][file_path]=f" +
    "&actions[][content]=1&actions[][action]=delete&actions[][file_path]=a.txt";
  const { status } = await app.call(`POST ${project.commits}`, { as: "developer", form });
  expect(status).toBe(201);
});

it("makes the same trees as Git of random changes", async () => {
  const random = randomOf(20);
  const project = await newProject();
  const where = await project.clone();
  const work = `${where}-work`;
  await git("", "clone", "--quiet", where, work);
  const files = new Map((await git(work, "ls-files")).split("\n").map((path) => [path, ""]));
  const parts = ["a", "b", "a.b", "a-b", "é", "z"];
  const newPath = () =>
    Array.from({ length: 1 + random(4) }, () => parts[random(parts.length)]).join("/");
  const isFree = (path: string) =>
    [...files.keys()].every(
      (known) => known !== path && !known.startsWith(`${path}/`) && !path.startsWith(`${known}/`),
    );
  const write = async (path: string, content: string) => {
    await writeFile(join(workshop.folder, work, ".content"), content);
    const oid = await git(work, "hash-object", "-w", ".content");
    await git(work, "update-index", "--add", "--cacheinfo", `100644,${oid},${path}`);
    files.set(path, content);
  };
  const erase = async (path: string) => {
    await git(work, "update-index", "--force-remove", path);
    files.delete(path);
  };
  for (let round = 0; round < 10; round += 1) {
    const actions: object[] = [];
    for (let count = 1 + random(6); count > 0; count -= 1) {
      const [known = ""] = [...files.keys()].slice(random(files.size));
      const path = newPath();
      const content = `${round} ${count}\n`;
      const kind = random(4);
      if (kind === 0 && files.size > 2) {
        actions.push({ action: "delete", file_path: known });
        await erase(known);
      } else if (kind === 1) {
        actions.push({ action: "update", file_path: known, content });
        await write(known, content);
      } else if (isFree(path)) {
        actions.push({ action: "create", file_path: path, content });
        await write(path, content);
      }
    }
    if (actions.length === 0) continue;
    const { status, text } = await project.commit(actions, { stats: false });
    expect([status, text]).toEqual([201, expect.anything()]);
    const tree = await git(work, "write-tree");
    await git(work, "fetch", "--quiet", workshop.url(`secret/p${counter}`, "owner"), "main");
    expect(await git(work, "rev-parse", "FETCH_HEAD^{tree}")).toBe(tree);
  }
  await project.clone();
});
