// Files of repositories over the REST API. Git's own client, which must be installed, judges what was written.
import { createHash } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CallOptions, Person, TestApp } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ app, workshop, git } = opened);
});

const encoded = (path: string) => encodeURIComponent(path);
const call = (request: string, as: Person, json?: object, options: CallOptions = {}) =>
  app.call(request, { as, ...(json && { json }), ...options });
const messageOf = ({ status, json }: { status: number; json: { message: unknown } }) => [
  status,
  json.message,
];

/** Clones a project's repository, which must be sound, and returns where. */
async function cloned(project: string, name: string): Promise<string> {
  await git("", "clone", "--quiet", "--mirror", workshop.url(project, "owner"), name);
  await git(name, "fsck", "--full", "--strict");
  return name;
}

let counter = 0;
/** A new project of the group `secret`, with `README.md`, `a/b.txt` and `run.sh` on an unprotected `main`. */
async function newProject(): Promise<{ path: string; url: string; clone(): Promise<string> }> {
  counter += 1;
  const name = `p${counter}`;
  const { json: group } = await call("GET /groups/secret", "owner");
  const made = await call("POST /projects", "owner", { name, namespace_id: group.id });
  expect(made.status).toBe(201);
  const path = `/projects/${made.json.id}`;
  const actions = [
    { action: "create", file_path: "README.md", content: "# Hello\n" },
    { action: "create", file_path: "a/b.txt", content: "one\ntwo\n" },
    { action: "create", file_path: "run.sh", content: "#!/bin/sh\n", execute_filemode: true },
  ];
  const commit = { branch: "main", commit_message: "First", actions };
  const { status, text } = await call(`POST ${path}/repository/commits`, "maintainer", commit);
  expect([status, text]).toEqual([201, expect.anything()]);
  await call(`DELETE ${path}/protected_branches/main`, "maintainer");
  let clones = 0;
  return {
    path,
    url: `${path}/repository/files`,
    clone: () => {
      clones += 1;
      return cloned(`secret/${name}`, `${name}-${clones}`);
    },
  };
}

const written = { branch: "main", commit_message: "Change" };

describe("a file", () => {
  let project: Awaited<ReturnType<typeof newProject>>;
  beforeAll(async () => {
    project = await newProject();
  });
  const at = (path: string, query = "?ref=main") => `${project.url}/${encoded(path)}${query}`;

  it("is shown with its content, and with the commits it is of", async () => {
    const { status, json, headers } = await call(`GET ${at("a/b.txt")}`, "reporter");
    expect(status).toBe(200);
    const where = await project.clone();
    const head = await git(where, "rev-parse", "main");
    const content = Buffer.from("one\ntwo\n");
    expect(json).toEqual({
      file_name: "b.txt",
      file_path: "a/b.txt",
      size: 8,
      encoding: "base64",
      content_sha256: createHash("sha256").update(content).digest("hex"),
      ref: "main",
      blob_id: await git(where, "rev-parse", "main:a/b.txt"),
      commit_id: head,
      last_commit_id: head,
      execute_filemode: false,
      content: content.toString("base64"),
    });
    expect(headers.get("content-type")).toBe("application/json");
    const run = await call(`GET ${at("run.sh", "?ref=HEAD")}`, "reporter");
    expect(run.json).toMatchObject({ ref: "HEAD", execute_filemode: true });
  });

  it("is shown by headers, too", async () => {
    const { json } = await call(`GET ${at("a/b.txt")}`, "reporter");
    for (const request of [
      `HEAD ${at("a/b.txt")}`,
      `GET ${at("a/b.txt/raw").replace("%2Fraw", "/raw")}`,
    ]) {
      const { status, headers } = await call(request, "reporter");
      expect(status).toBe(200);
      const shown = Object.fromEntries(
        Object.keys(json)
          .filter((key) => key !== "content")
          .map((key) => [key, headers.get(`x-gitlab-${key.replaceAll("_", "-")}`)]),
      );
      const { content, ...expected } = json;
      expect(shown).toEqual(
        Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, String(value)])),
      );
    }
    const head = await call(`HEAD ${at("a/b.txt")}`, "reporter");
    expect(head.text).toBe("");
  });

  it("is shown the same again, by each name of its commit, and as the branch has it by then", async () => {
    const get = async (ref: string) => {
      const { status, json, headers } = await call(
        `GET ${at("run.sh", `?ref=${encoded(ref)}`)}`,
        "reporter",
      );
      expect([status, headers.get("x-gitlab-ref")]).toEqual([200, ref]);
      return json;
    };
    const before = await get("main");
    expect(before.ref).toBe("main");
    expect(await get("main")).toEqual(before);
    const sha = before.commit_id;
    expect(await get(sha)).toEqual({ ...before, ref: sha });
    expect(await get("refs/heads/main")).toEqual({ ...before, ref: "refs/heads/main" });
    const content = "#!/bin/sh\necho\n";
    const changed = await call(`PUT ${at("run.sh", "")}`, "maintainer", { ...written, content });
    expect(changed.status, changed.text).toBe(200);
    const after = await get("main");
    expect(Buffer.from(after.content, "base64").toString()).toBe(content);
    expect(after.commit_id).not.toBe(sha);
    expect(await get(sha)).toEqual({ ...before, ref: sha });
  });

  it("is sent as it is", async () => {
    const raw = await call(`GET ${project.url}/a%2Fb.txt/raw`, "reporter");
    expect([raw.status, raw.text]).toEqual([200, "one\ntwo\n"]);
    expect(raw.headers.get("content-type")).toBe("text/plain");
    expect(raw.headers.get("content-disposition")).toBe(
      `inline; filename="b.txt"; filename*=UTF-8''b.txt`,
    );
    expect(raw.headers.get("cache-control")).toBe(
      "max-age=0, private, must-revalidate, no-store, no-cache",
    );
    const old = await call(`GET ${project.url}/a%2Fb.txt/raw?ref=nope`, "reporter");
    expect(messageOf(old)).toEqual([404, "404 Commit Not Found"]);
  });

  it("that does not exist is not found", async () => {
    expect(messageOf(await call(`GET ${at("nope")}`, "reporter"))).toEqual([
      404,
      "404 File Not Found",
    ]);
    for (const path of ["a", "a/b.txt/c", "../README.md", "/"]) {
      expect(messageOf(await call(`GET ${at(path)}`, "reporter"))).toEqual([
        404,
        "404 File Not Found",
      ]);
    }
    expect(messageOf(await call(`GET ${at("README.md", "?ref=nope")}`, "reporter"))).toEqual([
      404,
      "404 Commit Not Found",
    ]);
    const missing = await call(`GET ${at("README.md", "")}`, "reporter");
    expect(messageOf(missing)).toEqual([400, '400 (Bad request) "ref" not given']);
    const blank = await call(`GET ${at("README.md", "?ref=")}`, "reporter");
    expect(messageOf(blank)).toEqual([400, { ref: ["can't be blank"] }]);
    expect((await call(`GET ${project.url}/a/b.txt?ref=main`, "reporter")).status).toBe(404);
  });

  it.each([
    ["anonymous", 404],
    ["stranger", 404],
    ["guest", 403],
    ["reporter", 200],
  ] as const)("is read by reporters: %s gets %d", async (person, status) => {
    expect((await call(`GET ${at("a/b.txt")}`, person)).status).toBe(status);
  });
});

describe("writing", () => {
  let project: Awaited<ReturnType<typeof newProject>>;
  beforeAll(async () => {
    project = await newProject();
  });
  const at = (path: string) => `${project.url}/${encoded(path)}`;
  const head = async (branch = "main") => {
    const { json } = await call(`GET ${project.path}/repository/commits/${branch}`, "reporter");
    return json;
  };
  const contentOf = async (path: string, ref = "main") =>
    (await call(`GET ${at(path)}/raw?ref=${ref}`, "reporter")).text;

  it("creates, changes and deletes files, each with a commit", async () => {
    const before = await head();
    const made = await call(`POST ${at("docs/n.txt")}`, "developer", { ...written, content: "1" });
    expect([made.status, made.json]).toEqual([201, { file_path: "docs/n.txt", branch: "main" }]);
    expect(await contentOf("docs/n.txt")).toBe("1");
    const first = await head();
    expect(first).toMatchObject({
      parent_ids: [before.id],
      title: "Change",
      message: "Change",
      author_name: "The developer",
      committer_name: "The developer",
    });
    const changed = await call(`PUT ${at("docs/n.txt")}`, "developer", { ...written, content: "" });
    expect([changed.status, changed.json]).toEqual([
      200,
      { file_path: "docs/n.txt", branch: "main" },
    ]);
    expect(await contentOf("docs/n.txt")).toBe("");
    const query = "?branch=main&commit_message=Gone";
    const gone = await call(`DELETE ${at("docs/n.txt")}${query}`, "developer");
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await head()).message).toBe("Gone");
    const where = await project.clone();
    expect(await git(where, "ls-tree", "-r", "--name-only", "main")).toBe(
      "README.md\na/b.txt\nrun.sh",
    );
    expect(await git(where, "rev-list", "--count", "main")).toBe("4");
  });

  it("deletes with the parameters in the body, too", async () => {
    await call(`POST ${at("x")}`, "developer", { ...written, content: "1" });
    expect((await call(`DELETE ${at("x")}`, "developer", written)).status).toBe(204);
  });

  it("keeps the mode of a file, unless told otherwise", async () => {
    const modeOf = async (path: string) =>
      (await git(await project.clone(), "ls-tree", "main", path)).slice(0, 6);
    await call(`PUT ${at("run.sh")}`, "developer", { ...written, content: "#!/bin/bash\n" });
    expect(await modeOf("run.sh")).toBe("100755");
    const plain = { ...written, content: "#!/bin/bash\n", execute_filemode: false };
    await call(`PUT ${at("run.sh")}`, "developer", plain);
    expect(await modeOf("run.sh")).toBe("100644");
    const executable = { ...written, content: "new", execute_filemode: true };
    await call(`POST ${at("new.sh")}`, "developer", executable);
    expect(await modeOf("new.sh")).toBe("100755");
  });

  it("takes Base64 with line breaks, and any bytes", async () => {
    const bytes = Buffer.from(Array.from({ length: 300 }, (_, at) => at % 256));
    const content = bytes.toString("base64").replace(/.{60}/g, "$&\n");
    const sent = { ...written, content, encoding: "base64" };
    expect((await call(`POST ${at("bytes.bin")}`, "developer", sent)).status).toBe(201);
    const { json } = await call(`GET ${at("bytes.bin")}?ref=main`, "reporter");
    expect(Buffer.from(json.content, "base64").equals(bytes)).toBe(true);
    expect(json.size).toBe(300);
  });

  it("takes forms", async () => {
    const form = { branch: "main", commit_message: "A form", content: "a&b=c é\r\n" };
    const { status } = await app.call(`POST ${at("form.txt")}`, { as: "developer", form });
    expect(status).toBe(201);
    expect(await contentOf("form.txt")).toBe("a&b=c é\r\n");
  });

  it("takes names in any script, and drops slashes at the ends", async () => {
    for (const path of ["süß/日本 語.txt", "/slash/", "-x", "a.git"]) {
      const { status } = await call(`POST ${at(path)}`, "developer", { ...written, content: path });
      expect(status).toBe(201);
      expect(await contentOf(path.replace(/^\/|\/$/g, ""))).toBe(path);
    }
    await project.clone();
  });

  it("is by the author who is named, and by the user who commits", async () => {
    const author = { author_name: "Ada <x>\nLovelace", author_email: "ada@example.com" };
    const sent = { ...written, ...author, content: "1" };
    expect((await call(`POST ${at("ada")}`, "developer", sent)).status).toBe(201);
    expect(await head()).toMatchObject({
      author_name: "Ada xLovelace",
      author_email: "ada@example.com",
      committer_name: "The developer",
    });
    await project.clone();
  });

  it("creates a branch from another", async () => {
    const before = await head();
    const sent = { ...written, branch: "feature/x", start_branch: "main", content: "1" };
    const { status, json } = await call(`POST ${at("f")}`, "developer", sent);
    expect([status, json]).toEqual([201, { file_path: "f", branch: "feature/x" }]);
    expect((await head()).id).toBe(before.id);
    expect((await head("feature%2Fx")).parent_ids).toEqual([before.id]);
    const again = await call(`POST ${at("g")}`, "developer", sent);
    expect(messageOf(again)).toEqual([
      400,
      "A branch called 'feature/x' already exists. Switch to that branch in order to make changes",
    ]);
  });

  describe("is refused", () => {
    const refused = async (request: string, changes: object, as: Person = "developer") => {
      const before = await head();
      const answer = await call(request, as, { ...written, content: "1", ...changes });
      expect((await head()).id).toBe(before.id);
      return messageOf(answer);
    };

    it("for files that exist, or do not", async () => {
      expect(await refused(`POST ${at("README.md")}`, {})).toEqual([
        400,
        "A file with this name already exists",
      ]);
      expect(await refused(`POST ${at("README.md/x")}`, {})).toEqual([
        400,
        "A file with this name already exists",
      ]);
      expect(await refused(`POST ${at("a")}`, {})).toEqual([
        400,
        "A directory with this name already exists",
      ]);
      for (const request of [`PUT ${at("nope")}`, `DELETE ${at("nope")}`, `PUT ${at("a")}`]) {
        expect(await refused(request, {})).toEqual([400, "A file with this name doesn't exist"]);
      }
    });

    it("for paths that files can't have", async () => {
      expect(await refused(`POST ${at("a/../b")}`, {})).toEqual([
        400,
        "Path cannot include directory traversal",
      ]);
      for (const path of [".git/config", "a/.GIT", "git~1", "x//y", `${"x/".repeat(200)}y`]) {
        expect(await refused(`POST ${at(path)}`, {})).toEqual([400, `invalid path: '${path}'`]);
      }
      expect(await refused(`POST ${at("/")}`, {})).toEqual([400, "You must provide a file path"]);
    });

    it("if the file has changed since", async () => {
      const { json } = await call(`GET ${at("a/b.txt")}?ref=main`, "reporter");
      const stale = { last_commit_id: json.last_commit_id };
      await call(`PUT ${at("a/b.txt")}`, "developer", { ...written, content: "three\n" });
      expect(await refused(`PUT ${at("a/b.txt")}`, stale)).toEqual([
        400,
        "You are attempting to update a file that has changed since you started editing it.",
      ]);
      expect(await refused(`DELETE ${at("a/b.txt")}`, stale)).toEqual([
        400,
        "You are attempting to delete a file that has been previously updated.",
      ]);
      const now = await call(`GET ${at("a/b.txt")}?ref=main`, "reporter");
      const current = { ...written, content: "four\n", last_commit_id: now.json.last_commit_id };
      expect((await call(`PUT ${at("a/b.txt")}`, "developer", current)).status).toBe(200);
    });

    it("on branches that do not exist, or can't", async () => {
      expect(await refused(`POST ${at("n")}`, { branch: "nosuch" })).toEqual([
        400,
        "You can only create or edit files when you are on a branch",
      ]);
      for (const branch of ["a b", "-x", "HEAD", "refs/heads/x", "x..y", "x.lock"]) {
        expect(await refused(`POST ${at("n")}`, { branch, start_branch: "main" })).toEqual([
          400,
          `Something went wrong when we tried to create '${branch}' for you: Branch name is invalid`,
        ]);
      }
      const below = { branch: "main/x", start_branch: "main" };
      expect(await refused(`POST ${at("n")}`, below)).toEqual([
        400,
        "'refs/heads/main' exists; cannot create 'refs/heads/main/x'",
      ]);
    });

    it("without what is needed", async () => {
      for (const name of ["branch", "commit_message", "content"]) {
        expect(await refused(`POST ${at("n")}`, { [name]: undefined })).toEqual([
          400,
          `400 (Bad request) "${name}" not given`,
        ]);
      }
      expect(await refused(`POST ${at("n")}`, { commit_message: "" })).toEqual([
        400,
        { commit_message: ["can't be blank"] },
      ]);
      expect(await refused(`POST ${at("n")}`, { encoding: "rot13" })).toEqual([
        400,
        { encoding: ["does not have a valid value"] },
      ]);
      expect(await refused(`POST ${at("n")}`, { execute_filemode: "maybe" })).toEqual([
        400,
        { execute_filemode: ["is invalid"] },
      ]);
    });

    it.each([
      ["anonymous", 404],
      ["stranger", 404],
      ["guest", 403],
      ["reporter", 403],
    ] as const)("below developers: %s gets %d", async (person, status) => {
      for (const method of ["POST", "PUT", "DELETE"]) {
        expect((await refused(`${method} ${at("README.md")}`, {}, person))[0]).toBe(status);
      }
    });
  });
});

describe("concurrent writers", () => {
  it("of one branch lose nothing", async () => {
    const project = await newProject();
    const second = await app.another();
    const writers = Array.from({ length: 12 }, (_, at) => (at % 3 === 0 ? second : app));
    const answers = await Promise.all(
      writers.map((writer, at) =>
        writer.call(`POST ${project.url}/${encoded(`w/${at}`)}`, {
          as: "developer",
          json: { ...written, commit_message: `Writer ${at}`, content: String(at) },
        }),
      ),
    );
    await second.close();
    expect(answers.map(({ status }) => status)).toEqual(writers.map(() => 201));
    const where = await project.clone();
    const names = (await git(where, "ls-tree", "--name-only", "main:w")).split("\n");
    expect(names.sort()).toEqual(writers.map((_, at) => String(at)).sort());
    expect(await git(where, "rev-list", "--count", "--no-merges", "main")).toBe("13");
    const packs = "select count(*) from git_packs p";
    const unused = "where not exists (select 1 from git_repository_packs r where r.pack_id = p.id)";
    const [row] = await app.store.rows(`${packs} ${unused}`);
    expect(row).toEqual([0]);
  });

  it("of one file: one creates it, the others are told", async () => {
    const project = await newProject();
    const json = { ...written, content: "1" };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => call(`POST ${project.url}/same`, "developer", json)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400, 400, 400]);
    const refused = answers.filter(({ status }) => status === 400).map(({ json }) => json.message);
    expect(new Set(refused)).toEqual(new Set(["A file with this name already exists"]));
  });
});

describe("an empty project", () => {
  let empty: string;
  beforeEach(async () => {
    counter += 1;
    const { json: group } = await call("GET /groups/secret", "owner");
    const made = await call("POST /projects", "owner", {
      name: `e${counter}`,
      namespace_id: group.id,
    });
    expect(made.json).toMatchObject({ empty_repo: true, readme_url: null, default_branch: "main" });
    empty = `/projects/${made.json.id}`;
  });

  it("gets its first commit, and with it a default branch, from maintainers", async () => {
    const readme = `${empty}/repository/files/README.md`;
    expect((await call(`GET ${readme}?ref=main`, "reporter")).status).toBe(404);
    const json = { ...written, content: "# Hi\n" };
    const refused = await call(`POST ${readme}`, "developer", json);
    expect(messageOf(refused)).toEqual([
      403,
      "403 Forbidden - You are not allowed to push into this branch",
    ]);
    expect((await call(`POST ${readme}`, "maintainer", json)).status).toBe(201);
    const { json: shown } = await call(`GET ${empty}`, "reporter");
    expect(shown).toMatchObject({ empty_repo: false, default_branch: "main" });
    expect(shown.readme_url).toBe(`${shown.web_url}/-/blob/main/README.md`);
    const commit = await call(`GET ${empty}/repository/commits/main`, "reporter");
    expect(commit.json.parent_ids).toEqual([]);
    const { json: events } = await call(`GET ${empty}/events?action=pushed`, "maintainer");
    expect(events[0].push_data).toEqual({
      commit_count: 1,
      action: "created",
      ref_type: "branch",
      commit_from: null,
      commit_to: commit.json.id,
      ref: "main",
      commit_title: "Change",
    });
  });

  it("gets what was pushed, and the README follows", async () => {
    const { json: shown } = await call(`GET ${empty}`, "owner");
    const url = workshop.url(shown.path_with_namespace, "owner");
    await workshop.importInto(
      `i${counter}`,
      "commit refs/heads/trunk\ncommitter A <a@b> 1 +0000\ndata 1\nx\nM 100644 inline readme.txt\ndata 1\nx\nM 100644 inline Readme.rst\ndata 1\nx\n\n",
    );
    await git(`i${counter}`, "push", "--quiet", url, "trunk");
    const pushed = await call(`GET ${empty}`, "owner");
    expect(pushed.json).toMatchObject({ empty_repo: false, default_branch: "trunk" });
    expect(pushed.json.readme_url).toMatch(/\/-\/blob\/trunk\/Readme\.rst$/);
    const gone = { branch: "trunk", commit_message: "Gone" };
    const removed = await call(`DELETE ${empty}/repository/files/Readme.rst`, "maintainer", gone);
    expect(removed.status).toBe(204);
    expect((await call(`GET ${empty}`, "owner")).json.readme_url).toMatch(/\/readme\.txt$/);
  });
});

it("a token for repositories reads files, and changes none", async () => {
  const project = await newProject();
  const made = await app.admin.tokens.create({
    user: "maintainer",
    name: "Reader",
    scopes: ["read_repository"],
  });
  const headers = { "private-token": made.token };
  const url = `${project.url}/README.md`;
  expect((await app.call(`GET ${url}?ref=main`, { headers })).status).toBe(200);
  expect((await app.call(`GET ${url}/raw`, { headers })).status).toBe(200);
  const json = { ...written, content: "1" };
  const refused = await app.call(`PUT ${url}`, { headers, json });
  expect([refused.status, refused.json.error]).toEqual([403, "insufficient_scope"]);
});

it("protected branches are changed by those who may push to them", async () => {
  const project = await newProject();
  const rule = { name: "main", push_access_level: 40 };
  await call(`POST ${project.path}/protected_branches`, "maintainer", rule);
  const json = { ...written, content: "1" };
  const refused = await call(`PUT ${project.url}/README.md`, "developer", json);
  expect(messageOf(refused)).toEqual([
    403,
    "403 Forbidden - You are not allowed to push into this branch",
  ]);
  expect((await call(`PUT ${project.url}/README.md`, "maintainer", json)).status).toBe(200);
});

it("changes of archived projects are refused", async () => {
  const project = await newProject();
  expect((await call(`POST ${project.path}/archive`, "owner")).status).toBe(201);
  const reason = "403 Forbidden - You are not allowed to push into this branch";
  const file = { ...written, content: "1" };
  const actions = [{ action: "create", file_path: "x", content: "1" }];
  const commits = `${project.path}/repository/commits`;
  for (const [request, json] of [
    [`POST ${project.url}/x`, file],
    [`PUT ${project.url}/README.md`, file],
    [`DELETE ${project.url}/README.md`, written],
    [`POST ${commits}`, { ...written, actions }],
    [`POST ${commits}/main/cherry_pick`, { branch: "main" }],
    [`POST ${commits}/main/revert`, { branch: "main" }],
  ] as const) {
    expect([request, messageOf(await call(request, "owner", json))]).toEqual([
      request,
      [403, reason],
    ]);
  }
  expect((await call(`GET ${project.url}/README.md?ref=main`, "reporter")).status).toBe(200);
});

it("anonymous callers read public projects, and are asked to sign in to change them", async () => {
  const url = "/projects/acme%2Fsite/repository/files/README.md";
  const json = { ...written, content: "1" };
  expect((await call(`POST ${url}`, "maintainer", json)).status).toBe(201);
  expect((await app.call(`GET ${url}?ref=main`)).status).toBe(200);
  expect((await app.call(`PUT ${url}`, { json })).status).toBe(401);
});

it("commits update the merge requests of their branch, and are events", async () => {
  const project = await newProject();
  const sent = { ...written, branch: "topic", start_branch: "main", content: "1" };
  expect((await call(`POST ${project.url}/t`, "developer", sent)).status).toBe(201);
  const json = { source_branch: "topic", target_branch: "main", title: "Topic" };
  const made = await call(`POST ${project.path}/merge_requests`, "developer", json);
  const again = { branch: "topic", commit_message: "More\n\nand more", content: "2" };
  expect((await call(`PUT ${project.url}/t`, "developer", again)).status).toBe(200);
  const topic = (await call(`GET ${project.path}/repository/commits/topic`, "reporter")).json;
  const shown = await call(`GET ${project.path}/merge_requests/${made.json.iid}`, "reporter");
  expect(shown.json.sha).toBe(topic.id);
  const { json: events } = await call(`GET ${project.path}/events?action=pushed`, "developer");
  expect(events.slice(0, 2).map((one: { push_data: object }) => one.push_data)).toMatchObject([
    { action: "pushed", ref: "topic", commit_count: 1, commit_to: topic.id, commit_title: "More" },
    { action: "created", ref: "topic", commit_count: 1, commit_from: null },
  ]);
});

it("larger files than other bodies may be are taken", async () => {
  const project = await newProject();
  const content = "0123456789abcde\n".repeat(400_000);
  const json = { ...written, content };
  expect((await call(`POST ${project.url}/large`, "developer", json)).status).toBe(201);
  const { text } = await call(`GET ${project.url}/large/raw`, "reporter");
  expect(text === content).toBe(true);
});
