import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { startTestServer } from "../../src/testing.ts";
import { program } from "../cli/helpers.ts";
import { newFolder } from "../folder.ts";
import { isLong } from "../forms.ts";

// Recipes of other languages and test runners, as their READMEs say, each with its real runtime and client.

const examples = fileURLToPath(new URL("../../examples", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const folder = newFolder();
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Whether a program is there; says if not. */
function has(command: string, ...args: string[]): boolean {
  const found = spawnSync(command, args).status === 0;
  if (!found) console.warn(`not tested, since there is no ${command} ${args.join(" ")}`);
  return found;
}

/** A copy of an example's folder, and commands in it. */
async function copied(name: string) {
  const path = join(folder, name);
  await cp(join(examples, name), path, { recursive: true });
  return async (command: string, ...args: string[]) => {
    const env = { ...process.env, PM_CLI: program.join(" "), NO_COLOR: "1", CI: "" };
    const { stdout, stderr } = await run(command, args, { cwd: path, env, maxBuffer: 2 ** 28 });
    return stdout + stderr;
  };
}

describe.runIf(isLong)("recipes", () => {
  it.runIf(has("python3", "--version"))("pytest with python-gitlab", async () => {
    const execute = await copied("pytest");
    await execute("python3", "-m", "venv", ".venv");
    await execute(".venv/bin/pip", "install", "-q", "-r", "requirements.txt");
    expect(await execute(".venv/bin/pytest", "-q")).toContain("2 passed");
  });

  it.runIf(has("go", "version"))("go test with client-go", async () => {
    const execute = await copied("go");
    expect(await execute("go", "test", "-v")).toContain("--- PASS: TestLabelsIssuesWithoutALabel");
  });

  it.runIf(has("mvn", "--version"))("JUnit with gitlab4j", async () => {
    const execute = await copied("junit");
    expect(await execute("mvn", "-B", "test")).toMatch(/Tests run: 1, Failures: 0, Errors: 0/);
  });

  it.runIf(has("cargo", "--version"))("cargo test with reqwest", async () => {
    const execute = await copied("rust");
    expect(await execute("cargo", "test")).toContain("test labels_issues_without_a_label ... ok");
  });

  it.runIf(has("rspec", "-r", "gitlab", "--version"))("RSpec with the Ruby gem", async () => {
    const execute = await copied("rspec");
    expect(await execute("rspec")).toContain("1 example, 0 failures");
  });

  it.runIf(has("git", "--version") && has("curl", "--version"))("a shell script", async () => {
    const execute = await copied("shell");
    expect(await execute("./test.sh")).toContain("passed");
  });

  it("an agent with an MCP server, judged by what it changes", async () => {
    const execute = await copied("agent");
    const tools = join(root, "test/model-tools");
    if (!existsSync(join(tools, "node_modules"))) {
      await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: tools });
    }
    await execute("npm", "init", "-y");
    await execute("npm", "install", "--no-audit", "--no-fund", `file:${root}`);
    const program = join(tools, "node_modules/@zereight/mcp-gitlab/build/index.js");
    const said = await execute("node", "evaluate.mjs", `node ${program}`);
    expect(said).toMatch(/^20 of 20 tasks solved, in [\d.]+ seconds\n$/);
  });

  it("test runners of Node", async () => {
    const execute = await copied("in-a-test");
    await execute("npm", "init", "-y");
    const tools = ["jest", "mocha", "@playwright/test", "@gitbeaker/rest"];
    await execute("npm", "install", "--no-audit", "--no-fund", `file:${root}`, ...tools);
    expect(await execute("node", "--test", "node-test.mjs")).toMatch(/pass 3/);
    expect(await execute("npx", "jest", "--ci", "jest.test.cjs")).toMatch(/2 passed, 2 total/);
    expect(await execute("npx", "mocha", "mocha.spec.mjs")).toMatch(/2 passing/);
    expect(await execute("npx", "playwright", "test", "playwright.spec.mjs")).toMatch(/2 passed/);
  });
});

describe("examples/ci", () => {
  const text = (name: string) => readFile(join(examples, "ci", name), "utf8");

  it("has a configuration that GitLab accepts", async () => {
    await using server = await startTestServer();
    const response = await fetch(`${server.url}/api/v4/projects/acme%2Fapp/ci/lint`, {
      method: "POST",
      headers: { "private-token": server.token, "content-type": "application/json" },
      body: JSON.stringify({ content: await text("gitlab-ci.yml") }),
    });
    expect(await response.json()).toMatchObject({ valid: true, errors: [] });
  });

  it("starts the server with options that there are", async () => {
    const [container, actions] = [await text("Containerfile"), await text("github-actions.yml")];
    const entry = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(container)?.[1] ?? "[]") as string[];
    const step = parse(actions).jobs.test.steps.find(({ name }: { name?: string }) => name);
    const lines = [entry.join(" "), /pm-cli test [^>]*/.exec(step.run)?.[0] ?? ""];
    const help = spawnSync(program[0] as string, [...program.slice(1), "test", "--help"]).stdout;
    for (const line of lines) {
      expect(line).toMatch(/^pm-cli test /);
      for (const [flag] of line.matchAll(/--[a-z-]+/g)) expect(String(help)).toContain(flag);
    }
    const { services } = parse(await text("compose.yml"));
    expect(services.gitlab.build.dockerfile).toBe("Containerfile");
  });
});
