import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder } from "../folder.ts";
import { linesOf } from "../lines.ts";
import { runtimes } from "../runtimes.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Starts an example as its README describes, and collects its output lines. */
function start(
  file: string,
  env: Record<string, string> = {},
  [program = "", ...args]: readonly string[] = [process.execPath],
) {
  const process_ = spawn(program, [...args, file], {
    cwd: root,
    env: { ...process.env, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { process: process_, line: linesOf(process_) };
}

/** Stops an example, and returns its exit code. */
async function stop(process_: ChildProcess): Promise<unknown> {
  const ended = once(process_, "exit");
  process_.kill("SIGTERM");
  const [code] = await ended;
  return code;
}

describe("examples/express-mount", () => {
  let example: ReturnType<typeof start>;
  let boards: string;
  let origin: string;
  beforeAll(async () => {
    example = start("examples/express-mount/server.mjs");
    boards = await example.line();
    origin = new URL(boards).origin;
  });
  afterAll(async () => {
    expect(await stop(example.process)).toBe(0);
  });

  it("prints an address that answers, with links below the prefix", async () => {
    const response = await fetch(boards);
    expect(response.status).toBe(200);
    const base = `${origin}/tools/pm`;
    const [board] = await response.json();
    expect(board).toMatchObject({ name: "Development", group: { web_url: `${base}/groups/acme` } });
    expect(response.headers.get("link")).toContain(`<${base}/api/v4/groups/acme/boards?`);
  });

  it("reads bodies that the app's parsers have consumed", async () => {
    const headers = { "private-token": "ada-token", "content-type": "application/json" };
    for (const [type, body] of [
      ["application/json", '{"name":"By JSON"}'],
      ["application/x-www-form-urlencoded", "name=By+form"],
    ] as const) {
      const init = { method: "POST", headers: { ...headers, "content-type": type }, body };
      expect((await fetch(boards.split("?")[0] as string, init)).status).toBe(201);
    }
  });

  it("leaves the app's own routes alone", async () => {
    const text = async (path: string) => (await fetch(origin + path)).text();
    expect(await text("/")).toBe("The shop's front page");
    expect(await text("/tools/pm/about")).toBe("About our project management");
    const unknown = await fetch(`${origin}/tools/pm/nowhere`);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({ error: "There is no /tools/pm/nowhere" });
    expect((await fetch(`${origin}/api/v4/version`)).status).toBe(404);
  });
});

describe("examples/node", () => {
  it("serves a database that survives a restart", async () => {
    const folder = newFolder();
    const env = { DATABASE: join(folder, "pm.db") };
    const first = start("examples/node/server.mjs", env);
    const token = /^The token of root, shown only now: (\S+)$/.exec(await first.line())?.[1];
    const user = async (line: string) => {
      const url = /^The API is at (http:\/\/127\.0\.0\.1:\d+\/api\/v4)$/.exec(line)?.[1];
      const headers = { "private-token": token as string };
      return (await (await fetch(`${url}/user`, { headers })).json()).username;
    };
    expect(await user(await first.line())).toBe("root");
    expect(await stop(first.process)).toBe(0);

    const second = start("examples/node/server.mjs", env);
    expect(await user(await second.line())).toBe("root");
    expect(await stop(second.process)).toBe(0);
    await rm(folder, { recursive: true });
  });
});

describe("examples/fastify", () => {
  it("prints an address that answers, and leaves the app's own routes alone", async () => {
    const example = start("examples/fastify/server.mjs");
    const boards = await example.line();
    const base = boards.replace(/\/api\/.*/, "");
    const [board] = await (await fetch(boards)).json();
    expect(board).toMatchObject({ name: "Development", group: { web_url: `${base}/groups/acme` } });
    const headers = { "private-token": "ada-token", "content-type": "application/json" };
    const made = await fetch(boards.split("?")[0] as string, {
      method: "POST",
      headers,
      body: '{"name":"By JSON"}',
    });
    expect(made.status).toBe(201);
    const text = async (url: string) => (await fetch(url)).text();
    expect(await text(new URL("/", base).href)).toBe("The shop's front page");
    expect(await text(`${base}/about`)).toBe("About our project management");
    expect((await fetch(`${base}/nowhere`)).status).toBe(404);
    expect(await stop(example.process)).toBe(0);
  });
});

const { Bun: bun, Deno: deno } = Object.fromEntries(
  runtimes.map(({ name, command }) => [name, command]),
);

/** As in its README, and without code that was cached for an earlier build. */
const DENO_FLAGS = ["run", "--no-code-cache", "--allow-net", "--allow-env", "--allow-read"];

describe.each([
  ["bun", bun && [bun[0] as string]],
  ["deno", deno && [deno[0] as string, ...DENO_FLAGS]],
])("examples/%s", (name, command) => {
  // Bun and Deno are not available on every platform.
  it.skipIf(!command)("prints an address that answers, beside the app's own", async () => {
    const example = start(`examples/${name}/server.mjs`, {}, command);
    const boards = await example.line();
    const { origin } = new URL(boards);
    const [board] = await (await fetch(boards)).json();
    expect(board).toMatchObject({
      name: "Development",
      group: { web_url: `${origin}/groups/acme` },
    });
    expect(await (await fetch(origin)).text()).toBe("The shop's front page");
    const headers = { "private-token": "ada-token" };
    const body = new URLSearchParams({ name: "urgent", color: "#cc0000" });
    const made = await fetch(`${origin}/api/v4/groups/acme/labels`, {
      method: "POST",
      headers,
      body,
    });
    expect(made.status).toBe(201);
    expect((await fetch(`${origin}/nowhere`)).status).toBe(404);
    expect(await stop(example.process)).toBe(0);
  });
});

describe("examples/fetch", () => {
  it.each([
    ["Node", [process.execPath]],
    ["Bun", bun],
    ["Deno", deno],
  ])("prints the result on %s", async (_, command) => {
    if (!command) return;
    const example = start("examples/fetch/script.mjs", {}, command);
    expect([await example.line(), await example.line()]).toEqual(["201 urgent", "Development"]);
  });
});

describe("examples/git", () => {
  it.each([
    ["Node", [process.execPath]],
    ["Bun", bun],
    ["Deno", deno],
  ])("prints the result on %s", async (_, command) => {
    if (!command) return;
    const { line } = start("examples/git/script.mjs", {}, command);
    const lines = [await line(), await line(), await line(), await line()];
    expect(lines).toEqual(["Say what it is", "Begin the site", "What Acme sells.", "# Acme"]);
  });
});

describe("examples/graphql", () => {
  it.each([
    ["Node", [process.execPath]],
    ["Bun", bun],
    ["Deno", deno],
  ])("prints the result on %s", async (_, command) => {
    if (!command) return;
    const { line } = start("examples/graphql/script.mjs", {}, command);
    expect(await line()).toBe("made acme/site#4");
    const shown = [await line(), await line(), await line(), await line()];
    expect(shown.sort()).toEqual([
      "#1 Draw by Ada",
      "#2 Build by Ada",
      "#3 Test by Ada",
      "#4 Ship by Ada",
    ]);
  });
});

describe("examples/in-a-test", () => {
  // vitest.config.ts includes its vitest half like any other test.
  it("passes with node:test", async () => {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--test", "--test-reporter=tap", "examples/in-a-test/node-test.mjs"],
      { cwd: root, env },
    );
    expect(stdout).toMatch(/^# pass 3$/m);
    expect(stdout).toMatch(/^# fail 0$/m);
  });
});

describe("examples/scim", () => {
  it.each([
    ["Node", [process.execPath]],
    ["Bun", bun],
    ["Deno", deno],
  ])("provisions and deprovisions a person on %s", async (_, command) => {
    if (!command) return;
    const example = start("examples/scim/provider.mjs", {}, command);
    const lines = [];
    for (let at = 0; at < 4; at += 1) lines.push(await example.line());
    expect(lines).toEqual([
      "200 0 found",
      "201 Ada Lovelace is a developer",
      "200 Countess 0 members",
      "204",
    ]);
  });
});
