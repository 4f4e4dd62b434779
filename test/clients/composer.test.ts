import { execFile, spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { startWithTool, TOKEN } from "./_tool.ts";

// Composer itself, which must be installed, with PHP.

const run = promisify(execFile);
const hasComposer = spawnSync("composer", ["--version"]).status === 0;
if (!hasComposer) console.warn("not tested, since there is no Composer");

let server: TestServer;
let folder: string;
let project: string;

beforeAll(async () => {
  const tool = await startWithTool();
  server = tool.server;
  folder = newFolder();
  project = `/projects/${tool.id}`;
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function call(path: string, json: object) {
  const answer = await fetch(`${server.url}/api/v4${project}/${path}`, {
    method: "POST",
    headers: { "private-token": TOKEN, "content-type": "application/json" },
    body: JSON.stringify(json),
  });
  expect([path, answer.status]).toEqual([path, 201]);
}
const composer = (...args: string[]) =>
  run("composer", ["--no-interaction", "--no-plugins", ...args], {
    cwd: folder,
    env: { ...process.env, COMPOSER_HOME: join(folder, "home"), COMPOSER_ALLOW_SUPERUSER: "1" },
  }).then(
    ({ stdout, stderr }) => stdout + stderr,
    ({ stdout, stderr }) => String(stdout) + String(stderr),
  );

it.runIf(hasComposer)("Composer requires packages of a group's private projects", async () => {
  const manifest = { name: "acme/thing", type: "library", autoload: { files: ["thing.php"] } };
  const action = "create";
  await call("repository/commits", {
    ...{ branch: "main", commit_message: "x" },
    actions: [
      { action, file_path: "composer.json", content: JSON.stringify(manifest) },
      { action, file_path: "thing.php", content: "<?php const THING = 'first';\n" },
    ],
  });
  for (const tag_name of ["v1.0.0", "v1.1.0"]) {
    await call("repository/tags", { tag_name, ref: "main" });
    await call("packages/composer", { tag: tag_name });
  }
  await call("packages/composer", { branch: "main" });
  const host = new URL(server.url).host;
  const app = {
    name: "acme/app",
    repositories: [
      {
        type: "composer",
        url: `${server.url}/api/v4/group/acme/-/packages/composer/packages.json`,
      },
      { "packagist.org": false },
    ],
    config: { "secure-http": false, "gitlab-domains": [] },
  };
  await writeFile(join(folder, "composer.json"), JSON.stringify(app));
  const withToken = (password: string) =>
    writeFile(
      join(folder, "auth.json"),
      JSON.stringify({ "http-basic": { [host]: { username: "rob", password } } }),
    );
  await withToken("wrong");
  expect(await composer("require", "acme/thing")).toContain("401");
  await withToken("rob-token");
  const said = await composer("require", "acme/thing:^1.0");
  expect(said).toContain("Locking acme/thing (v1.1.0)".replace("v", ""));
  expect(await readFile(join(folder, "vendor/acme/thing/thing.php"), "utf8")).toContain("first");
  expect(await composer("require", "acme/thing:dev-main")).toContain("dev-main");
  expect(await composer("require", "acme/thing:9.9")).toContain("does not match the constraint");
  expect(await composer("show", "--available", "acme/thing")).toContain("1.0.0");
});
