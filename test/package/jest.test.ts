import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, it } from "vitest";
import { newProject, type Project } from "./project.ts";

const folder = fileURLToPath(new URL("../jest", import.meta.url));
const jest = join(folder, "node_modules/jest/bin/jest.js");

let project: Project;
beforeAll(async () => {
  if (!existsSync(jest)) {
    const { status, stderr } = spawnSync(
      "npm",
      ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"],
      { cwd: folder, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(stderr);
  }
  project = await newProject();
});
afterAll(() => project?.remove());

const code = `
const { startTestServer } = require("pm-api/testing");

let server;
beforeAll(async () => {
  server = await startTestServer({
    seed: { users: [{ username: "ada", admin: true, password: "difference engine" }] },
  });
});
afterEach(() => server.reset());
afterAll(() => server.close());

test("reads and writes", async () => {
  const headers = { "private-token": server.token };
  const user = await fetch(server.url + "/api/v4/user", { headers });
  expect(await user.json()).toMatchObject({ username: "ada" });
  const body = new FormData();
  body.set("name", "acme");
  body.set("path", "acme");
  const made = await fetch(server.url + "/api/v4/groups", { method: "POST", headers, body });
  expect(made.status).toBe(201);
});

test("checks passwords", async () => {
  const body = new URLSearchParams({
    grant_type: "password",
    username: "ada",
    password: "difference engine",
  });
  const granted = await fetch(server.url + "/oauth/token", { method: "POST", body });
  expect(granted.status).toBe(200);
});
`;

it("a plain Jest test requires the test server", async () => {
  await writeFile(join(project.folder, "package.json"), "{}");
  await writeFile(join(project.folder, "server.test.js"), code);
  await project.node([jest, "--rootDir", project.folder, "--ci", "--no-cache", "server"], {
    CI: "true",
  });
});
