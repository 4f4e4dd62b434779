import { existsSync, readdirSync, readFileSync } from "node:fs";
import * as modules from "node:module";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { newFolder, root, run } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
afterAll(folder.remove);

const commands = [
  "serve",
  "user",
  "user create",
  "user list",
  "user block",
  "user unblock",
  "user deactivate",
  "user ban",
  "token",
  "token create",
  "token list",
  "token revoke",
  "seed",
];

it.skipIf(!("enableCompileCache" in modules))(
  "keeps what is compiled for the next command, where Node can",
  async () => {
    const env = { TMPDIR: folder.path, NODE_COMPILE_CACHE: "", NODE_DISABLE_COMPILE_CACHE: "" };
    expect((await run(["seed", "--db", join(folder.path, "cached.db")], { env })).code).toBe(0);
    const kept = readdirSync(join(folder.path, "node-compile-cache"), { recursive: true });
    expect(kept.length).toBeGreaterThan(10);
  },
);

describe("--help", () => {
  it.each(["", ...commands])("of '%s' has examples", async (command) => {
    const words = command.split(" ").filter((word) => word !== "");
    const { code, stdout, stderr } = await run([...words, "--help"], at);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: pm-cli ${command}`.trimEnd());
    expect(stdout).toContain(`\nExamples:\n  $ `);
    const examples = stdout.slice(stdout.indexOf("\nExamples:"));
    expect(examples).toContain(`pm-cli ${command}`.trimEnd());
  });

  it("shows where each option can be set", async () => {
    const { stdout } = await run(["serve", "--help"], at);
    for (const name of ["DB", "HOST", "PORT", "URL", "TIER", "TRUST_PROXY"]) {
      expect(stdout).toMatch(new RegExp(`env:\\s+PM_${name}\\b`));
    }
  });

  it("doesn't show values of the environment", async () => {
    const env = { PM_DB: "postgres://pm:top-secret@127.0.0.1/pm" };
    expect((await run(["serve", "--help"], { env })).stdout).not.toContain("top-secret");
  });
});

describe("the command line", () => {
  it("has a version", async () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(await run(["--version"], at)).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it.each([
    [[], "Usage: pm-cli"],
    [["user"], "Usage: pm-cli user"],
    [["token"], "Usage: pm-cli token"],
    [["sreve"], "error: unknown command 'sreve'"],
    [["serve", "--prot", "80"], "error: unknown option '--prot'"],
    [["serve", "--port"], "error: option '--port <port>' argument missing"],
    [["user", "list", "everybody"], "error: too many arguments"],
  ])("that is invalid is a usage error: %j", async (args, message) => {
    const { code, stdout, stderr } = await run(args, at);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  it.each([
    ["user", "list"],
    ["user", "block", "ada"],
    ["token", "list"],
    ["token", "revoke", "1"],
    ["token", "create", "--user", "ada", "--name", "x", "--scopes", "api"],
  ])("creates no database for a misspelt name: %s %s", async (...args) => {
    const { code, stdout, stderr } = await run([...args, "--db", "misspelt.db"], at);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: there is no database misspelt\.db: name another .*\n$/);
    expect(existsSync(join(folder.path, "misspelt.db"))).toBe(false);
  });
});
