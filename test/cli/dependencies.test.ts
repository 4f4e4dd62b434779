import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newFolder, root, run, runJson } from "./helpers.ts";

const fixtures = join(root, "test/dependencies/fixtures");
const folder = newFolder();
const db = join(folder.path, "pm.db");
const site = ["--project", "acme/site", "--db", db];

beforeAll(async () => {
  const seed = join(folder.path, "seed.json");
  const projects = [{ path: "site" }];
  await writeFile(seed, JSON.stringify({ groups: [{ path: "acme", projects }] }));
  await runJson(["seed", "--db", db, "--file", seed]);
  const checkout = join(folder.path, "checkout");
  await cp(join(fixtures, "npm-v3"), checkout, { recursive: true });
  await cp(join(fixtures, "maven"), join(checkout, "services/money"), { recursive: true });
  for (const name of ["node_modules/left", ".git", "vendor/lib", "services/vendor"]) {
    await mkdir(join(checkout, name), { recursive: true });
    await writeFile(join(checkout, name, "package-lock.json"), "not read");
  }
  await symlink(checkout, join(checkout, "loop"));
  await mkdir(join(folder.path, "nothing"));
  await mkdir(join(folder.path, "broken"));
  await writeFile(join(folder.path, "broken/yarn.lock"), "<<<<<<< HEAD");
});
afterAll(() => folder.remove());

const inFolder = (name: string) => join(folder.path, name);

it("scans a folder and its subfolders, except installed packages", async () => {
  const scanned = await run(["dependencies", "scan", inFolder("checkout"), ...site]);
  expect(scanned).toEqual({
    code: 0,
    stdout: "package-lock.json: 18 dependencies\nservices/money/pom.xml: 6 dependencies\n",
    stderr: "",
  });
  expect(await runJson(["dependencies", "scan", inFolder("checkout"), ...site])).toEqual({
    files: [
      { path: "package-lock.json", dependencies: 18, vulnerabilities: 0 },
      { path: "services/money/pom.xml", dependencies: 6, vulnerabilities: 0 },
    ],
    skipped: 0,
  });
});

it("reports that there is nothing to scan", async () => {
  const { stdout } = await run(["dependencies", "scan", inFolder("nothing"), ...site]);
  expect(stdout).toBe("Nothing that acme/site depends on was found.\n");
});

it("imports a report", async () => {
  const report = join(fixtures, "reports/gl-dependency-scanning-report.json");
  const { stdout } = await run(["dependencies", "import", report, ...site]);
  expect(stdout).toBe(
    `app/yarn.lock: 2 dependencies, 2 vulnerabilities
api/Pipfile.lock: 1 dependency
Left out: 1 package of other package managers.
`,
  );
});

it.each([
  [["scan", inFolder("none"), ...site], 1, /^error: cannot read it: ENOENT/],
  [["scan", inFolder("broken"), ...site], 1, /^error: yarn\.lock: .*Nothing was changed/],
  [["import", inFolder("none.json"), ...site], 1, /^error: cannot read it/],
  [["scan", inFolder("nothing"), "--db", db], 2, /^error: --project is required/],
  [["scan", inFolder("nothing"), "--project", "acme/none", "--db", db], 1, /no such project/],
] as const)("reports what is wrong: %j", async (args, code, line) => {
  const ended = await run(["dependencies", ...args]);
  expect(ended.code).toBe(code);
  expect(ended.stderr).toMatch(line);
  expect(ended.stderr.trim().split("\n")).toHaveLength(1);
});
