// Archives of bare repositories, as Git reads them.
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newFolder } from "../folder.ts";
import { everyone, type TestApp, testApp } from "../helpers.ts";

const SITE = "/projects/acme%2Fsite";
const folder = newFolder();
let app: TestApp;
const commits: string[] = [];

beforeAll(async () => {
  app = await testApp();
  for (const name of ["a", "b"]) {
    const json = { branch: "main", content: `${name}\n`, commit_message: `Add ${name}` };
    await app.call(`POST ${SITE}/repository/files/${name}`, { as: "owner", json });
  }
  const branch = { branch: "topic/one", ref: "main" };
  await app.call(`POST ${SITE}/repository/branches`, { as: "owner", json: branch });
  const { json } = await app.call(`GET ${SITE}/repository/commits`, { as: "owner" });
  commits.push(...json.map(({ id }: { id: string }) => id));
  const page = { title: "Home", content: "Welcome" };
  await app.call(`POST ${SITE}/wikis`, { as: "owner", json: page });
});
afterAll(async () => {
  await app.dispose();
  await rm(folder, { recursive: true, force: true });
});

const run = async (program: string, ...args: string[]) => {
  const env = { ...process.env, GIT_CONFIG_NOSYSTEM: "1", HOME: folder, LC_ALL: "C" };
  return (await promisify(execFile)(program, args, { env })).stdout.trim();
};
/** Unpacks a snapshot, and returns what Git says about it. */
async function unpacked(name: string, query: string) {
  const headers = { "private-token": "token-of-admin" };
  const url = `http://pm.test/api/v4${SITE}/snapshot${query}`;
  const answer = await app.fetch(new Request(url, { headers }));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/x-tar");
  expect(answer.headers.get("content-disposition")).toContain("snapshot.tar");
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(bytes.length % 10_240).toBe(0);
  const at = join(folder, name);
  await mkdir(at);
  await writeFile(`${at}.tar`, bytes);
  await run("tar", "-xf", `${at}.tar`, "-C", at);
  return (...args: string[]) => run("git", "--git-dir", at, ...args);
}

it("has the branches and commits of a project", async () => {
  const git = await unpacked("code", "");
  expect(await git("fsck", "--full", "--strict")).toBe("");
  expect((await git("rev-list", "main")).split("\n")).toEqual(commits);
  expect(await git("for-each-ref", "--format=%(refname)", "refs/heads")).toBe(
    "refs/heads/main\nrefs/heads/topic/one",
  );
  expect(await git("symbolic-ref", "HEAD")).toBe("refs/heads/main");
  expect(await git("show", "main:b")).toBe("b");
});

it("has the pages of its wiki", async () => {
  const git = await unpacked("wiki", "?wiki=true");
  expect(await git("fsck", "--full", "--strict")).toBe("");
  expect(await git("show", "HEAD:Home.md")).toBe("Welcome");
});

it("is for administrators, and of projects that have a repository", async () => {
  for (const as of everyone) {
    const expected = as === "anonymous" ? 401 : as === "admin" ? 200 : 403;
    expect([as, (await app.call(`GET ${SITE}/snapshot`, { as })).status]).toEqual([as, expected]);
  }
  const empty = "/projects/secret%2Fvault/snapshot";
  for (const query of ["", "?wiki=true"]) {
    const { status, json } = await app.call(`GET ${empty}${query}`, { as: "admin" });
    expect([status, json]).toEqual([404, { message: "404 Not found" }]);
  }
  expect((await app.call("GET /projects/4711/snapshot", { as: "admin" })).status).toBe(404);
  expect((await app.call(`GET ${SITE}/snapshot?wiki=x`, { as: "admin" })).status).toBe(400);
});
