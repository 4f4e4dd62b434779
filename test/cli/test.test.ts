import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "vitest";
import { environment, newFolder, program, run } from "./helpers.ts";

const folder = newFolder();
afterAll(folder.remove);

/** Starts `pm-cli test`, and reads the line that says that it is ready. */
async function start(...args: string[]) {
  const [command, ...rest] = [...program, "test", ...args];
  const child = spawn(command as string, rest, { cwd: folder.path, env: environment() });
  const printed: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => printed.push(line));
  const [line] = (await once(lines, "line")) as [string];
  const ended = once(child, "exit") as Promise<[number | null]>;
  return { child, ready: JSON.parse(line), printed, ended };
}

describe("test", () => {
  it("prints one line of JSON when it is ready, and ends with its input", async () => {
    const { child, ready, printed, ended } = await start("--exit-with-parent");
    expect(ready).toEqual({
      id: "main",
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      api: `${ready.url}/api/v4`,
      graphql: `${ready.url}/api/graphql`,
      control: `${ready.url}/-/test/`,
      version: "18.5.0-ee",
      tokens: { root: expect.any(String) },
    });
    const headers = { "private-token": ready.tokens.root };
    const user = await (await fetch(`${ready.api}/user`, { headers })).json();
    expect(user).toMatchObject({ username: "root", is_admin: true });
    expect((await fetch(`${ready.control}reset`, { method: "POST" })).status).toBe(204);
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect(printed).toHaveLength(1);
  });

  it("takes several seeds, as JSON and YAML, a version and a tier", async () => {
    const ann = { username: "ann", tokens: [{ token: "anns" }] };
    writeFileSync(join(folder.path, "people.json"), JSON.stringify({ users: [ann] }));
    writeFileSync(
      join(folder.path, "groups.yml"),
      "groups: [{ path: acme, members: { ann: owner } }]",
    );
    const seeds = ["--seed", "people.json", "groups.yml"];
    const { child, ready, ended } = await start(
      ...seeds,
      "--gitlab-version",
      "17.11.2-ce",
      "--tier",
      "free",
    );
    expect(ready).toMatchObject({ version: "17.11.2", tokens: { ann: "anns" } });
    const headers = { "private-token": "anns" };
    expect((await fetch(`${ready.api}/groups/acme`, { headers })).status).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });

  it("says what is wrong with a seed, an option or a port", async () => {
    writeFileSync(join(folder.path, "wrong.json"), JSON.stringify({ user: [] }));
    const at = { cwd: folder.path };
    const wrong = await run(["test", "--seed", "wrong.json"], at);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/Did you mean users\?/) });
    const missing = await run(["test", "--seed", "none.yml"], at);
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: .*none\.yml/),
    });
    expect((await run(["test", "--gitlab-version", "new"], at)).code).toBe(2);
    const { child, ready, ended } = await start();
    const taken = await run(["test", "--port", new URL(ready.url).port], at);
    expect(taken).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is in use: .* --port, 0 for a free one/),
    });
    child.kill("SIGINT");
    await ended;
  });
});
