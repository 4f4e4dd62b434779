import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { ask, tell } from "./telling.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

it("a seed is added to what there is, and may name users that there are", async () => {
  const seed = {
    users: [{ username: "ada", tokens: [{ name: "ci", token: "adas-token" }] }],
    projects: [
      {
        namespace: "acme",
        path: "print",
        members: { ada: "developer" },
        issues: [{ title: "Ink", author: "root", assignees: ["ada"] }],
      },
    ],
  };
  const { status, json } = await tell(server, "POST", "seed", seed);
  expect(status).toBe(201);
  expect(json).toMatchObject({
    users: 1,
    projects: 1,
    issues: 1,
    groups: 0,
    tokens: [{ username: "ada", token: "adas-token" }],
  });
  const issues = await ask(
    { ...server, token: "adas-token" },
    "GET",
    "/projects/acme%2Fprint/issues",
  );
  expect(issues.json).toMatchObject([
    { author: { username: "root" }, assignees: [{ username: "ada" }] },
  ]);
  // Once more: both exist by now.
  const again = await tell(server, "POST", "seed", { projects: seed.projects });
  expect(again).toMatchObject({ status: 400, json: { message: "acme/print is taken" } });
  await server.reset();
  expect((await ask(server, "GET", "/projects/acme%2Fprint")).status).toBe(404);
});

it("a seed may be YAML, whatever it says it is", async () => {
  const yaml = "users:\n  - username: bob\n    tokens:\n      - token: bobs-token\n";
  for (const type of ["application/yaml", "application/x-www-form-urlencoded"]) {
    const response = await fetch(`${server.url}/-/test/seed`, {
      method: "POST",
      headers: { "content-type": type },
      body: yaml,
    });
    expect(response.status).toBe(201);
    expect((await ask({ ...server, token: "bobs-token" }, "GET", "/user")).json.username).toBe(
      "bob",
    );
    await server.reset();
  }
});

it("a seed is refused with the place of the mistake", async () => {
  const messageOf = async (seed: unknown) => {
    const { status, json } = await tell(server, "POST", "seed", seed);
    expect(status).toBe(400);
    return json.message;
  };
  expect(await messageOf({ user: [] })).toMatch(/Did you mean users\?/);
  expect(await messageOf({ groups: [{ path: "x", projects: [{ paht: "y" }] }] })).toMatch(
    /^groups\.0\.projects\.0\.pa(th|ht)/,
  );
  expect(await messageOf({ groups: [{ path: "x", members: { eve: "owner" } }] })).toBe(
    "the seed has no user eve",
  );
  expect(await messageOf('{"users": [\n  {"username": "x",}\n]}')).toMatch(
    /^The body is not JSON: .*line 2 column 20/,
  );
  expect(await messageOf("users:\n  - username: x\n username: y\n")).toMatch(
    /^The body is not YAML: .*line 3/,
  );
  expect(await messageOf("hello")).toMatch(/must be data, not the path/);
  expect((await ask(server, "GET", "/users?username=x")).json).toEqual([]);
});

it("a seed that is a file, or given in the process, may name folders, whose files a commit brings", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pm-seed-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "site/src"), { recursive: true });
  await mkdir(join(folder, "site/.git"));
  await writeFile(join(folder, "site/.git/config"), "none");
  await writeFile(join(folder, "site/README.md"), "# Site\n");
  await writeFile(join(folder, "site/src/logo.png"), Buffer.from([0x89, 0x50, 0xff, 0]));
  await writeFile(join(folder, "site/run.sh"), "echo\n");
  await chmod(join(folder, "site/run.sh"), 0o755);
  const seed = (path: string) => ({
    users: [{ username: "root", admin: true }],
    groups: [
      {
        path: "made",
        subgroups: [
          {
            path: "web",
            projects: [
              {
                path: "site",
                pushes: [
                  {
                    author: "root",
                    ref: "main",
                    commits: [{ message: "Begin", folder: path, files: { LICENSE: "MIT\n" } }],
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  });
  await writeFile(join(folder, "seed.json"), JSON.stringify(seed("./site")));
  for (const given of [join(folder, "seed.json"), seed(join(folder, "site"))]) {
    const one = await startTestServer({ seed: given });
    const site = "/projects/made%2Fweb%2Fsite/repository";
    const { json } = await ask(one, "GET", `${site}/tree?recursive=true`);
    const files = (json as { path: string; type: string; mode: string }[]).filter(
      ({ type }) => type === "blob",
    );
    expect(files.map(({ path, mode }) => `${mode} ${path}`).sort()).toEqual([
      "100644 LICENSE",
      "100644 README.md",
      "100644 src/logo.png",
      "100755 run.sh",
    ]);
    const logo = await ask(one, "GET", `${site}/files/src%2Flogo.png?ref=main`);
    expect(logo.json.content).toBe(Buffer.from([0x89, 0x50, 0xff, 0]).toString("base64"));
    await one.close();
  }
  await expect(startTestServer({ seed: seed(join(folder, "none")) })).rejects.toThrow(
    /the folder .*none can't be read/,
  );
  // Who sends a seed reads no files of this machine.
  for (const [path, body] of [
    ["seed", seed(join(folder, "site"))],
    ["worlds", { seed: seed(join(folder, "site")) }],
    ["worlds", { seed: join(folder, "seed.json") }],
    ["worlds", { seed: [join(folder, "seed.json")] }],
  ] as const) {
    const { status, json } = await tell(server, "POST", path, body);
    expect(status).toBe(400);
    expect(json.message).toMatch(/names no files|not the path of a file/);
  }
  await expect(server.admin.seed({ ...seed("x"), users: [] })).rejects.toThrow(
    /the folder x is not read/,
  );
});

it("a seed may have repositories from bundles of Git", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pm-seed-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const git = (...words: string[]) =>
    promisify(execFile)(
      "git",
      ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-C", folder, ...words],
      { encoding: "utf8" },
    );
  await git("init", "-q", "-b", "trunk");
  await writeFile(join(folder, "a.txt"), "one\n");
  await git("add", ".");
  await git("commit", "-qm", "One");
  await git("tag", "-am", "First", "v1");
  await git("checkout", "-qb", "next");
  await writeFile(join(folder, "a.txt"), "two\n");
  await git("commit", "-qam", "Two");
  await git("checkout", "-q", "trunk");
  await git("bundle", "create", "-q", "all.bundle", "--all");
  await git("bundle", "create", "-q", "part.bundle", "trunk..next");
  const bundle = (await readFile(join(folder, "all.bundle"))).toString("base64");
  const seed = (repository: object, more: object = {}) => ({
    users: [{ username: "root", admin: true }],
    groups: [{ path: "made", projects: [{ path: "site", repository, ...more }] }],
  });
  await writeFile(join(folder, "seed.json"), JSON.stringify(seed({ file: "all.bundle" })));
  for (const given of [join(folder, "seed.json"), seed({ bundle }, { default_branch: "next" })]) {
    const one = await startTestServer({ seed: given });
    const site = "/projects/made%2Fsite";
    const { json: project } = await ask(one, "GET", site);
    expect(project.default_branch).toBe(typeof given === "string" ? "trunk" : "next");
    const { json: branches } = await ask(one, "GET", `${site}/repository/branches`);
    expect(branches).toMatchObject([
      { name: "next", commit: { title: "Two", author_name: "Ada" } },
      { name: "trunk", commit: { title: "One" } },
    ]);
    const { json: tags } = await ask(one, "GET", `${site}/repository/tags`);
    expect(tags).toMatchObject([{ name: "v1", message: "First" }]);
    const clone = `http://root:${one.token}@${one.url.slice(7)}/made/site.git`;
    const { stdout } = await git("ls-remote", "--symref", clone, "HEAD");
    expect(stdout).toContain(`ref: refs/heads/${project.default_branch}\tHEAD`);
    await one.close();
  }
  for (const [given, problem] of [
    [seed({ bundle: "bm8=" }), /made\/site: it is no bundle of Git/],
    [seed({ file: join(folder, "part.bundle") }), /needs commits that it does not have/],
    [seed({ file: join(folder, "none") }), /none can't be read/],
    [
      seed({ bundle }, { pushes: [{ author: "root", ref: "x", commits: [{ message: "x" }] }] }),
      /made\/site has a repository: its pushes have no commits/,
    ],
  ] as const) {
    await expect(startTestServer({ seed: given })).rejects.toThrow(problem);
  }
  const { status, json } = await tell(server, "POST", "seed", { ...seed({ bundle }), users: [] });
  expect(status).toBe(201);
  expect(json.projects).toBe(1);
  const sent = await tell(server, "POST", "seed", { ...seed({ file: "all.bundle" }), users: [] });
  expect(sent.json.message).toMatch(/names no files/);
});

it("what was created can be copied from the window as a seed, of which a new world has all of it", async () => {
  const made = async (path: string, json: object) => {
    const { status } = await ask(server, "POST", path, json);
    expect([path, status]).toEqual([path, 201]);
  };
  const app = "/projects/acme%2Fapp";
  await made("/users", {
    username: "new",
    name: "New",
    email: "n@a.test",
    password: "Xy9!long-one",
  });
  await made("/groups", { name: "Fresh one", path: "fresh", visibility: "public" });
  await made("/projects", { name: "own" });
  await made(`${app}/milestones`, { title: "v9", due_date: "2030-01-01" });
  await made("/groups/acme/labels", { name: "urgent", color: "#ff0000" });
  const users = await ask(server, "GET", "/users?username=new");
  await made(`${app}/members`, { user_id: users.json[0].id, access_level: 30 });
  const issue = { title: "It's <broken>", labels: "urgent", assignee_ids: [users.json[0].id] };
  await made(`${app}/issues`, issue);
  await made(`${app}/issues/1/notes`, { body: "Why?" });
  await made(`${app}/snippets`, {
    ...{ title: "How", visibility: "public", files: [{ file_path: "a.sh", content: "ls" }] },
  });
  await made("/projects/root%2Fown/variables", { key: "A", value: "b" });
  await ask(server, "PUT", `${app}/issues/1?state_event=close&milestone_id=1`);

  const page = await (await fetch(`${server.url}/-/test/`)).text();
  const [, text = ""] = /<pre id="as-seed-text"[^>]*>([^<]*)</.exec(page) ?? [];
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', amp: "&", "#39": "'" };
  const seed = JSON.parse(text.replace(/&([a-z]+|#39);/g, (_, name) => entities[name] ?? "?"));
  expect(Object.keys(seed)).toEqual(["users", "groups", "projects"]);
  const { status, json: world } = await tell(server, "POST", "worlds", { seed });
  expect([status, Object.keys(world.tokens)]).toEqual([201, ["root"]]);
  const there = { url: world.url, token: world.tokens.root };
  const changed = await ask(there, "GET", `${app}/issues/1`);
  expect(changed.json).toMatchObject({
    ...{
      title: "It's <broken>",
      state: "closed",
      labels: ["urgent"],
      milestone: { title: "v1.0" },
    },
    assignees: [{ username: "new" }],
  });
});
