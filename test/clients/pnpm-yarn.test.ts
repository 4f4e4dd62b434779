import { execFile, spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { startWithTool, TOKEN } from "./_tool.ts";

// pnpm and Yarn speak with a registry as npm does; they read its `.npmrc`.

const run = promisify(execFile);
const TOOLS = ["pnpm", "yarn"].map((tool) => ({
  tool,
  version: spawnSync(tool, ["--version"], { encoding: "utf8", cwd: "/" }).stdout?.trim(),
}));
for (const { tool, version } of TOOLS) {
  if (!version) console.warn(`not tested, since there is no ${tool}`);
}

let server: TestServer;
let folder: string;
let id: number;

beforeAll(async () => {
  ({ server, id } = await startWithTool());
  folder = newFolder();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** A folder whose `.npmrc` names the registry of a group or project. */
async function project(name: string, registry: string, token: string, manifest: object) {
  const at = join(folder, name);
  await mkdir(at);
  const host = server.url.slice("http://".length);
  const lines = [
    `registry=${server.url}/api/v4${registry}/`,
    `@acme:registry=${server.url}/api/v4${registry}/`,
    `//${host}/api/v4${registry}/:_authToken=${token}`,
    `//${host}/api/v4/projects/${id}/packages/npm/:_authToken=${token}`,
    "always-auth=true",
  ];
  await writeFile(join(at, ".npmrc"), `${lines.join("\n")}\n`);
  await writeFile(join(at, "package.json"), JSON.stringify(manifest));
  return at;
}

/** Later Yarns are configured otherwise. */
const TESTED = TOOLS.filter(
  ({ tool, version }) => version && (tool === "pnpm" || version.startsWith("1.")),
);

describe.skipIf(TESTED.length === 0)("package managers", () => {
  it.each(TESTED)("$tool publishes, installs and refuses", async ({ tool }) => {
    const own = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(npm|pnpm|yarn)_/i.test(name)),
    );
    const env = { ...own, HOME: folder, XDG_DATA_HOME: folder, XDG_CACHE_HOME: folder };
    const call = (cwd: string, ...args: string[]) =>
      run(tool, args, { cwd, env }).then(
        ({ stdout, stderr }) => stdout + stderr,
        ({ stdout, stderr }) => `failed: ${stdout}${stderr}`,
      );
    const name = `@acme/of-${tool}`;
    const thing = { name, version: "1.0.0", main: "index.js", license: "MIT" };
    const at = await project(`${tool}-thing`, `/projects/${id}/packages/npm`, TOKEN, thing);
    await writeFile(join(at, "index.js"), "module.exports = 1;\n");
    const publish =
      tool === "yarn" ? ["publish", "--non-interactive"] : ["publish", "--no-git-checks"];
    expect(await call(at, ...publish)).not.toMatch(/^failed/);
    expect(await call(at, ...publish)).toMatch(/^failed|already/);
    // Yarn 1 knows no token of a registry whose host has a port, but for the one that it asks.
    const registry =
      tool === "yarn" ? `/projects/${id}/packages/npm` : "/groups/acme/-/packages/npm";
    const app = { name: "app", version: "1.0.0", license: "MIT" };
    const user = await project(`${tool}-app`, registry, "rob-token", app);
    expect(await call(user, "add", name)).not.toMatch(/^failed/);
    const installed = join(user, "node_modules", name, "index.js");
    expect(await readFile(installed, "utf8")).toBe("module.exports = 1;\n");
    expect(await call(user, "add", "@acme/unknown")).toMatch(/^failed.*(404|Not Found)/s);
  });
});
