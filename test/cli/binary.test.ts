import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, root } from "./helpers.ts";

const binary = process.env["TEST_PM_CLI"];
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

// It has to be built first, as by `npm test`, which runs the other tests of pm-cli on it too.
describe.skipIf(binary === undefined)("the binary, alone in a folder and without a PATH", () => {
  const folder = newFolder();
  beforeAll(() => copyFileSync(binary as string, copy));
  afterAll(folder.remove);

  let project: string;
  const copy = join(folder.path, "pm-cli");
  const surroundings = { cwd: folder.path, env: { PATH: "/nowhere" } };
  const pm = async (...args: string[]) => {
    const { stdout, stderr } = await promisify(execFile)(copy, args, surroundings);
    expect(stderr).toBe("");
    return stdout;
  };

  it("shows its version and its commands", async () => {
    expect(await pm("--version")).toBe(`${version}\n`);
    expect(await pm("serve", "--help")).toContain("--trust-proxy");
  });

  it("seeds, issues a token and serves", async () => {
    await pm("seed", "--db", "pm.db", "--json");
    const { token } = JSON.parse(
      await pm(...["token", "create", "--db", "pm.db", "--user", "root"], ...issue),
    );
    const serve = ["serve", "--db", "pm.db", "--port", "0"];
    const child = spawn(copy, serve, { ...surroundings, stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(child, "close");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { url } = JSON.parse(String((await lines.next()).value));

    const headers = { "private-token": token };
    const boards = await fetch(`${url}/api/v4/groups/acme/boards`, { headers });
    expect(await boards.json()).toMatchObject([{ name: "Delivery" }, { name: "Support" }]);
    const form = new FormData();
    form.set("name", "from the binary");
    form.set("color", "#123456");
    const label = await fetch(`${url}/api/v4/groups/acme/labels`, {
      method: "POST",
      headers,
      body: form,
    });
    expect([label.status, (await label.json()).name]).toEqual([201, "from the binary"]);

    const projects = await fetch(`${url}/api/v4/projects?per_page=1`, { headers });
    project = (await projects.json())[0].path_with_namespace;

    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(readdirSync(folder.path).sort()).toEqual(["pm-cli", "pm.db", "pm.db.key"]);
  });

  it("reads lock files of every kind", async () => {
    mkdirSync(join(folder.path, "site"));
    const fixtures = join(root, "test/dependencies/fixtures");
    for (const name of ["yarn-4/yarn.lock", "maven/pom.xml", "pip/requirements.txt"]) {
      copyFileSync(join(fixtures, name), join(folder.path, "site", name.split("/")[1] as string));
    }
    writeFileSync(join(folder.path, "site/Gemfile.lock"), "GEM\n  specs:\n    rack (3.1.0)\n");
    const scanned = await pm(
      ...["dependencies", "scan", "site", "--project", project, "--db", "pm.db", "--json"],
    );
    expect(JSON.parse(scanned).files).toHaveLength(4);
  });
});

const issue = ["--name", "laptop", "--scopes", "api", "--json"];
