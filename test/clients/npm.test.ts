import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { startWithTool, TOKEN } from "./_tool.ts";

// The npm that comes with Node, as it is.

const run = promisify(execFile);
let server: TestServer;
let folder: string;
/** The id of the private project `acme/tool`. */
let id: number;

beforeEach(async () => {
  ({ server, id } = await startWithTool());
  folder = newFolder();
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function call(method: string, path: string) {
  const answer = await fetch(`${server.url}/api/v4${path}`, {
    method,
    headers: { "private-token": TOKEN },
  });
  return answer.status === 204 ? undefined : answer.json();
}

/** A folder whose `.npmrc` names a registry of the server, as in GitLab's documents. */
async function project(name: string, registry: string, token: string, manifest: object) {
  const at = join(folder, name);
  await mkdir(at);
  const url = `${server.url}/api/v4${registry}/`;
  const lines = [
    `registry=${url}`,
    `@acme:registry=${url}`,
    `//${url.slice("http://".length)}:_authToken=${token}`,
    `//${server.url.slice("http://".length)}/api/v4/projects/${id}/packages/npm/:_authToken=${token}`,
    `cache=${join(folder, `cache-of-${name}`)}`,
    "update-notifier=false",
    "fund=false",
    "audit=true",
    "fetch-retries=0",
  ];
  await writeFile(join(at, ".npmrc"), `${lines.join("\n")}\n`);
  await writeFile(join(at, "package.json"), JSON.stringify(manifest));
  return at;
}

/** What npm prints. Neither the environment of the npm that runs these tests is its own, nor what its user has set. */
async function npm(cwd: string, ...args: string[]): Promise<string> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)),
  );
  const own = { ...env, npm_config_userconfig: join(folder, "none") };
  const { stdout, stderr } = await run("npm", args, { cwd, env: own });
  return stdout + stderr;
}

const ofProject = () => `/projects/${id}/packages/npm`;

async function published(...versions: string[]) {
  const manifest = { name: "@acme/thing", version: "0.0.0", main: "index.js", license: "MIT" };
  const at = await project("thing", ofProject(), TOKEN, manifest);
  for (const version of versions) {
    await writeFile(join(at, "package.json"), JSON.stringify({ ...manifest, version }));
    await writeFile(join(at, "index.js"), `module.exports = "thing ${version}";\n`);
    await npm(at, "publish");
  }
  return at;
}

describe("npm", () => {
  it("publishes, and refuses a version that is there", async () => {
    const at = await published("1.0.0");
    const [found] = await call("GET", `/projects/${id}/packages?package_type=npm`);
    expect(found).toMatchObject({ name: "@acme/thing", version: "1.0.0" });
    await expect(npm(at, "publish")).rejects.toThrow(/cannot publish over|already exists/i);
  });

  it.each([
    ["project", ofProject],
    ["group", () => "/groups/acme/-/packages/npm"],
    ["instance", () => "/packages/npm"],
  ])("installs from the registry of the %s, and audits", async (_, registry) => {
    await published("1.0.0", "1.1.0");
    const at = await project("app", registry(), "rob-token", { name: "app", version: "1.0.0" });
    const said = await npm(at, "install", "@acme/thing");
    expect(said).toMatch(/added 1 package, and audited 2 packages/);
    expect(await readFile(join(at, "node_modules/@acme/thing/index.js"), "utf8")).toContain(
      "thing 1.1.0",
    );
    const lock = JSON.parse(await readFile(join(at, "package-lock.json"), "utf8"));
    expect(lock.packages["node_modules/@acme/thing"]).toMatchObject({
      version: "1.1.0",
      resolved: `${server.url}/api/v4${ofProject()}/@acme/thing/-/@acme/thing-1.1.0.tgz`,
      integrity: expect.stringMatching(/^sha512-/),
    });
    await npm(at, "ci");
    expect(await npm(at, "audit")).toContain("found 0 vulnerabilities");
    expect(await npm(at, "install", "@acme/thing@1.0.0")).toContain("changed 1 package");
    await expect(npm(at, "install", "@acme/unknown")).rejects.toThrow("404");
  });

  it("sets, lists and takes away tags", async () => {
    const at = await published("1.0.0", "1.1.0");
    await npm(at, "dist-tag", "add", "@acme/thing@1.0.0", "stable");
    expect((await npm(at, "dist-tag", "ls", "@acme/thing")).trim().split("\n").sort()).toEqual([
      "latest: 1.1.0",
      "stable: 1.0.0",
    ]);
    expect((await npm(at, "view", "@acme/thing@stable", "version")).trim()).toBe("1.0.0");
    await npm(at, "dist-tag", "rm", "@acme/thing", "stable");
    expect((await npm(at, "dist-tag", "ls", "@acme/thing")).trim()).toBe("latest: 1.1.0");
    await expect(npm(at, "dist-tag", "add", "@acme/thing@9.9.9", "next")).rejects.toThrow("404");
  });

  it("deprecates versions, and shows it", async () => {
    const at = await published("1.0.0", "1.1.0");
    await npm(at, "deprecate", "@acme/thing@1.0.0", "Too old");
    expect(await npm(at, "view", "@acme/thing@1.0.0")).toContain("Too old");
    expect(await npm(at, "view", "@acme/thing@1.1.0")).not.toContain("Too old");
    expect(JSON.parse(await npm(at, "view", "@acme/thing", "versions", "--json"))).toEqual([
      "1.0.0",
      "1.1.0",
    ]);
    await npm(at, "deprecate", "@acme/thing@1.0.0", "");
    expect(await npm(at, "view", "@acme/thing@1.0.0")).not.toContain("Too old");
  });

  it("can't unpublish: versions are deleted by the API", async () => {
    const at = await published("1.0.0");
    await expect(npm(at, "unpublish", "@acme/thing", "--force")).rejects.toThrow(/E40[45]/);
    const [found] = await call("GET", `/projects/${id}/packages`);
    await call("DELETE", `/projects/${id}/packages/${found.id}`);
    await expect(npm(at, "view", "@acme/thing")).rejects.toThrow("E404");
    await npm(at, "publish");
  });

  it("is told whose token may not", async () => {
    const manifest = { name: "@acme/thing", version: "1.0.0" };
    const reporter = await project("reporter", ofProject(), "rob-token", manifest);
    await expect(npm(reporter, "publish")).rejects.toThrow("E403");
    const nobody = await project("nobody", ofProject(), "wrong", manifest);
    await expect(npm(nobody, "publish")).rejects.toThrow("E401");
  });
});
