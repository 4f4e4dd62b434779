import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";

// semantic-release, release-it, danger and the clients of Unleash are programs, installed apart from the project: test/client-programs.

const root = fileURLToPath(new URL("../client-programs", import.meta.url));
const run = promisify(execFile);
const PROJECT = "/projects/acme%2Ftool";

let server: TestServer;
let folder: string;

beforeAll(async () => {
  if (existsSync(join(root, "node_modules"))) return;
  await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root });
});

/** A clone of a project in whose `main` is a feature that closes an issue. */
beforeEach(async () => {
  server = await startTestServer({
    seed: {
      users: [{ username: "ann", email: "ann@a.test", tokens: [{ token: "ann-token" }] }],
      groups: [
        {
          path: "acme",
          members: { ann: "owner" },
          projects: [{ path: "tool", issues: [{ title: "It lacks a feature", author: "ann" }] }],
        },
      ],
    },
  });
  const first = { name: "tool", version: "0.0.0", private: true };
  await commit("main", undefined, "chore: begin", "package.json", `${JSON.stringify(first)}\n`);
  await call("POST /repository/tags", { tag_name: "v1.0.0", ref: "main" });
  await commit("feature", "main", "feat: add a feature", "feature.txt", "It is there\n");
  const request = {
    title: "Add a feature",
    description: "Closes #1",
    source_branch: "feature",
    target_branch: "main",
  };
  const { iid } = await call("POST /merge_requests", request);
  await call(`PUT /merge_requests/${iid}/merge`, {});
  folder = newFolder();
  const url = server.url.replace("http://", "http://ann:ann-token@");
  await git(".", "clone", "-q", `${url}/acme/tool.git`, "tool");
  await git("tool", "config", "user.email", "ann@a.test");
  await git("tool", "config", "user.name", "Ann");
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const git = (where: string, ...args: string[]) =>
  run("git", args, { cwd: join(folder, where), env: environment() });

/** Without what a CI job has. */
const environment = () => ({
  PATH: process.env["PATH"],
  HOME: folder,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GITLAB_TOKEN: "ann-token",
});

async function call(request: string, json?: object) {
  const [method = "GET", path] = request.split(" ");
  const response = await fetch(`${server.url}/api/v4${PROJECT}${path}`, {
    method,
    headers: { "private-token": "ann-token", "content-type": "application/json" },
    ...(json && { body: JSON.stringify(json) }),
  });
  const answer = await response.json();
  expect([request, response.status < 300, answer]).toEqual([request, true, answer]);
  return answer;
}

function commit(
  branch: string,
  start_branch: string | undefined,
  commit_message: string,
  file_path: string,
  content: string,
) {
  const actions = [{ action: "create", file_path, content }];
  return call("POST /repository/commits", { branch, start_branch, commit_message, actions });
}

/** Runs a program in the clone. `variables`: what a CI job would add to the environment. */
async function start(program: string, args: string[], variables = {}): Promise<string> {
  const file = join(root, "node_modules", program);
  const env = { ...environment(), ...variables };
  const options = { cwd: join(folder, "tool"), env, maxBuffer: 2 ** 24 };
  try {
    const { stdout, stderr } = await run(process.execPath, [file, ...args], options);
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} failed:\n${stdout}\n${stderr}`);
  }
}

const download = async (url: string) =>
  (await fetch(url, { headers: { "private-token": "ann-token" } })).text();

it("semantic-release releases a merged feature with assets, and tells the issue", async () => {
  for (const name of ["tool.txt", "manual.txt"]) {
    await writeFile(join(folder, "tool", name), "the tool\n");
  }
  await writeFile(
    join(folder, "tool", ".releaserc.json"),
    JSON.stringify({
      branches: ["main"],
      plugins: [
        "@semantic-release/commit-analyzer",
        "@semantic-release/release-notes-generator",
        [
          "@semantic-release/gitlab",
          {
            gitlabUrl: server.url,
            assets: [
              { path: "manual.txt", label: "Upload" },
              { path: "tool.txt", label: "Package", target: "generic_package" },
            ],
          },
        ],
      ],
    }),
  );
  await start("semantic-release/bin/semantic-release.js", ["--no-ci"]);
  const [made] = await call("GET /releases");
  expect(made).toMatchObject({ tag_name: "v1.1.0", name: "v1.1.0" });
  expect(made.description).toContain("add a feature");
  const links = made.assets.links as { name: string; url: string; link_type: string }[];
  expect(links.map(({ name }) => name).sort()).toEqual(["Package", "Upload"]);
  for (const { url } of links) expect(await download(url)).toBe("the tool\n");
  const { commit: tagged } = await call("GET /repository/tags/v1.1.0");
  expect(made.commit.id).toBe(tagged.id);
  for (const path of ["/issues/1", "/merge_requests/1"]) {
    const notes = (await call(`GET ${path}/notes`)) as { body: string; system: boolean }[];
    const said = notes.filter(({ system }) => !system).map(({ body }) => body);
    expect([path, said]).toEqual([path, [expect.stringContaining("v1.1.0")]]);
  }
});

it("release-it releases with a tag message, milestones and assets", async () => {
  await call("POST /milestones", { title: "1.1" });
  await git("tool", "config", "push.default", "current");
  await writeFile(join(folder, "tool", "tool.txt"), "the tool\n");
  await writeFile(
    join(folder, "tool", ".release-it.json"),
    JSON.stringify({
      git: { requireCleanWorkingDir: false },
      npm: { publish: false },
      gitlab: {
        release: true,
        origin: server.url,
        assets: ["tool.txt"],
        milestones: ["1.1"],
        useGenericPackageRepositoryForAssets: true,
      },
    }),
  );
  await start("release-it/bin/release-it.js", ["--ci", "1.1.0"]);
  const made = await call("GET /releases/v1.1.0");
  expect(made.milestones).toMatchObject([{ title: "1.1" }]);
  const [link] = made.assets.links;
  expect(link.name).toBe("tool.txt");
  expect(await download(link.url)).toBe("the tool\n");
});

it("danger keeps one note on a merge request up to date, and removes it once all is well", async () => {
  const change = { title: "Change the tool", source_branch: "change", target_branch: "main" };
  await commit("change", "main", "feat: change", "tool.js", "export {};\n");
  const { iid } = await call("POST /merge_requests", change);
  await writeFile(
    join(folder, "tool", "dangerfile.js"),
    `const { danger, warn } = require("danger");
    const { mr, commits } = danger.gitlab;
    if (!mr.description) warn(mr.title + " by " + mr.author.username + " has no description");
    for (const path of danger.git.created_files) {
      if (mr.description !== "Fine") warn(path + " is new, in " + commits.length + " commit");
    }
    schedule(async () => {
      const diff = await danger.git.diffForFile("tool.js");
      if (diff.added !== "+export {};") fail("The difference is " + JSON.stringify(diff));
    });`,
  );
  const review = () =>
    start("danger/distribution/commands/danger-ci.js", ["--failOnErrors"], {
      GITLAB_CI: "1",
      CI_MERGE_REQUEST_IID: String(iid),
      CI_PROJECT_PATH: "acme/tool",
      DANGER_GITLAB_HOST: server.url,
      DANGER_GITLAB_API_TOKEN: "ann-token",
    });
  const notes = async () =>
    ((await call(`GET /merge_requests/${iid}/notes`)) as { body: string; system: boolean }[])
      .filter(({ system }) => !system)
      .map(({ body }) => body);

  await review();
  const [first = "", ...others] = await notes();
  expect(others).toEqual([]);
  expect(first).toContain("Change the tool by ann has no description");
  expect(first).toContain("tool.js is new, in 1 commit");
  await call(`PUT /merge_requests/${iid}`, { description: "It needs an explanation" });
  await review();
  const [second = "", ...more] = await notes();
  expect(more).toEqual([]);
  expect(second).toContain("tool.js is new");
  expect(second).not.toContain("has no description");
  await call(`PUT /merge_requests/${iid}`, { description: "Fine" });
  await review();
  expect(await notes()).toEqual([]);
});

it("Unleash's client asks for feature flags", async () => {
  const list = await call("POST /feature_flags_user_lists", {
    name: "Staff",
    user_xids: "ann,bob",
  });
  await call("POST /feature_flags", {
    name: "new_search",
    version: "new_version_flag",
    strategies: [
      {
        name: "gitlabUserList",
        user_list_id: list.id,
        scopes: [{ environment_scope: "production" }],
      },
      { name: "default", scopes: [{ environment_scope: "review/*" }] },
    ],
  });
  const { token } = await call("POST /feature_flags_client/reset_token", {});
  const { id } = await call("GET ");
  const load = createRequire(join(root, "package.json"));
  const { Unleash, UnleashEvents } = load("unleash-client");
  const inEnvironment = async (appName: string) => {
    const client = new Unleash({
      url: `${server.url}/api/v4/feature_flags/unleash/${id}`,
      appName,
      instanceId: token,
      refreshInterval: 20,
      backupPath: folder,
    });
    await new Promise((resolve, reject) => {
      client.once(UnleashEvents.Synchronized, resolve).on(UnleashEvents.Error, reject);
    });
    return client;
  };
  const production = await inEnvironment("production");
  const isOn = (userId: string) => production.isEnabled("new_search", { userId });
  expect([isOn("ann"), isOn("carl")]).toEqual([true, false]);
  const review = await inEnvironment("review/1");
  expect(review.isEnabled("new_search")).toBe(true);
  const changed = new Promise((resolve) => production.once(UnleashEvents.Changed, resolve));
  await call("PUT /feature_flags/new_search", { active: false });
  await changed;
  expect(isOn("ann")).toBe(false);
  // What they still ask is answered before the server ends: nobody would hear of an error.
  for (const client of [production, review]) {
    await new Promise((resolve) => client.once(UnleashEvents.Unchanged, resolve));
    client.destroy();
  }
});
