import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { registerDependencies, type WithAdmin } from "../../cli/commands/dependencies.ts";
import { createApp } from "../../src/index.ts";

const fixtures = fileURLToPath(new URL("./fixtures", import.meta.url));

let folder: string;
let database: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pm-api-"));
  database = join(folder, "pm.db");
  await withAdmin(database, (admin) =>
    admin.seed({ groups: [{ path: "acme", projects: [{ path: "site" }] }] }),
  );
  const checkout = join(folder, "checkout");
  await cp(join(fixtures, "npm-v3"), checkout, { recursive: true });
  await cp(join(fixtures, "maven"), join(checkout, "services/money"), { recursive: true });
  for (const name of ["node_modules/left", ".git", "vendor/lib", "services/vendor"]) {
    await mkdir(join(checkout, name), { recursive: true });
    await writeFile(join(checkout, name, "package-lock.json"), "not read");
  }
  await symlink(checkout, join(checkout, "loop"));
  await mkdir(join(folder, "nothing"));
  await mkdir(join(folder, "broken"));
  await writeFile(join(folder, "broken/yarn.lock"), "<<<<<<< HEAD");
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

const withAdmin: WithAdmin = async (file, work) => {
  const app = await createApp({ database: file });
  try {
    return await work(app.admin);
  } finally {
    await app.close();
  }
};

/** Runs `pm-cli dependencies …` within the folder and gives what it prints. */
async function run(...argv: string[]): Promise<string> {
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line) => printed.push(line));
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerDependencies(program, withAdmin);
  program.commands[0]?.commands.forEach((command) => {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  });
  await program.parseAsync(["dependencies", ...argv], { from: "user" });
  return printed.join("\n");
}

const site = () => ["--project", "acme/site", "--db", database];

it("scans a folder and those below, but for what others brought", async () => {
  expect(await run("scan", join(folder, "checkout"), ...site())).toBe(
    "package-lock.json: 18 dependencies\nservices/money/pom.xml: 6 dependencies",
  );
  expect(JSON.parse(await run("scan", join(folder, "checkout"), ...site(), "--json"))).toEqual({
    files: [
      { path: "package-lock.json", dependencies: 18, vulnerabilities: 0 },
      { path: "services/money/pom.xml", dependencies: 6, vulnerabilities: 0 },
    ],
    skipped: 0,
  });
});

it("says that there is nothing to scan", async () => {
  expect(await run("scan", join(folder, "nothing"), ...site())).toBe(
    "Nothing that acme/site depends on was found.",
  );
});

it("imports a report", async () => {
  const report = join(fixtures, "reports/gl-dependency-scanning-report.json");
  expect(await run("import", report, ...site())).toBe(
    [
      "app/yarn.lock: 2 dependencies, 2 vulnerabilities",
      "api/Pipfile.lock: 1 dependency",
      "Left out: 1 package of other package managers.",
    ].join("\n"),
  );
});

it("fails with what is wrong", async () => {
  await expect(run("scan", join(folder, "none"), ...site())).rejects.toThrow(
    /^cannot read it: ENOENT/,
  );
  await expect(run("scan", join(folder, "broken"), ...site())).rejects.toThrow(/^yarn\.lock: /);
  await expect(run("import", join(folder, "none.json"), ...site())).rejects.toThrow(
    /^cannot read it/,
  );
  await expect(run("scan", folder)).rejects.toThrow("--project");
  await expect(
    run("scan", join(folder, "nothing"), "--project", "acme/none", "--db", database),
  ).rejects.toThrow("404 Project Not Found");
});
