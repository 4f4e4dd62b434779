import { execFile, spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { startWithTool, TOKEN } from "./_tool.ts";

// Helm's own client. It has no upload of its own: charts are sent as GitLab's documents do, with curl.

const run = promisify(execFile);
const hasHelm = spawnSync("helm", ["version"]).status === 0;
if (!hasHelm) console.warn("not tested, since there is no Helm");

let server: TestServer;
let folder: string;
let base: string;

beforeAll(async () => {
  const tool = await startWithTool();
  server = tool.server;
  folder = newFolder();
  base = `${server.url}/api/v4/projects/${tool.id}/packages/helm`;
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const tool = (name: string, ...args: string[]) =>
  run(name, args, { cwd: folder, env: { ...process.env, HOME: folder } }).then(
    ({ stdout, stderr }) => stdout + stderr,
    ({ stdout, stderr }) => String(stdout) + String(stderr),
  );
const helm = (...args: string[]) => tool("helm", ...args);

it.runIf(hasHelm)(
  "Helm packages charts, finds them in a channel, pulls and templates them",
  async () => {
    await mkdir(join(folder, "thing/templates"), { recursive: true });
    const value = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Values.name }} }\n";
    await writeFile(join(folder, "thing/templates/map.yaml"), value);
    await writeFile(join(folder, "thing/values.yaml"), "name: ours\n");
    for (const version of ["1.0.0", "1.1.0", "2.0.0-beta.1"]) {
      const chart = `apiVersion: v2\nname: thing\nversion: ${version}\ndescription: A thing\nappVersion: "7"\n`;
      await writeFile(join(folder, "thing/Chart.yaml"), chart);
      await helm("package", "thing");
      const form = `chart=@thing-${version}.tgz`;
      const to = `${base}/api/stable/charts`;
      expect(await tool("curl", "-s", "-F", form, "-u", `ann:${TOKEN}`, to)).toContain(
        "201 Created",
      );
    }
    const add = ["repo", "add", "ours", `${base}/stable`];
    expect(await helm(...add)).toContain("401");
    expect(await helm(...add, "--username", "rob", "--password", "rob-token")).toContain("added");
    const found = await helm("search", "repo", "ours/thing", "--versions", "-o", "json");
    expect(JSON.parse(found)).toEqual(
      ["1.1.0", "1.0.0"].map((version) => ({
        ...{ name: "ours/thing", version, app_version: "7", description: "A thing" },
      })),
    );
    expect(await helm("pull", "ours/thing", "--version", "1.0.0", "-d", "pulled", "--untar")).toBe(
      "",
    );
    expect(await readFile(join(folder, "pulled/thing/Chart.yaml"), "utf8")).toContain("1.0.0");
    expect(await helm("template", "ours/thing")).toContain("name: ours");
    expect(await helm("pull", "ours/thing", "--version", "9.9.9")).toContain("not found");
  },
);
