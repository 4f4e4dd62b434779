import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { runtimes } from "../runtimes.mjs";
import { environment, newFolder, run, script } from "./helpers.ts";

const folder = newFolder();
afterAll(folder.remove);

const newerNode = runtimes.find(({ name }) => name === "Node with node:sqlite")?.command?.[0];
const isItself = newerNode === process.execPath;

// The binary uses Bun's SQLite.
const isBinary = process.env["TEST_PM_CLI"] !== undefined;

// The binary only has the SQLite of Bun.
describe.skipIf(isBinary)("PM_SQLITE", () => {
  it("must name a known library", async () => {
    const seed = await run(["seed", "--db", "none.db"], { env: { PM_SQLITE: "sqlite3" } });
    expect(seed).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: PM_SQLITE is 'sqlite3', it must be better-sqlite3 or node:sqlite\n",
    });
  });

  // This Node has it.
  it.skipIf(isItself)("can't be node:sqlite on a Node without it", async () => {
    const seed = await run(["seed", "--db", "none.db"], { env: { PM_SQLITE: "node:sqlite" } });
    expect(seed).toEqual({
      code: 1,
      stdout: "",
      stderr: `error: Node ${process.versions.node} has no suitable built-in SQLite: install better-sqlite3, or use Node 22.16 or newer\n`,
    });
  });
});

// A newer Node is not available on every platform, and the binary runs on none.
describe.skipIf(!newerNode || isItself || isBinary)(
  "on a Node without a better-sqlite3 build",
  () => {
    const onNewerNode = (env: Record<string, string>) =>
      promisify(execFile)(newerNode as string, [script, "seed", "--db", "newer.db", "--json"], {
        cwd: folder.path,
        env: environment({ NODE_NO_WARNINGS: "1", ...env }),
      });

    it("Node's own is used instead", async () => {
      const { stdout, stderr } = await onNewerNode({});
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toHaveProperty("tokens");
      const read = await run(["user", "list", "--db", "newer.db", "--json"], { cwd: folder.path });
      expect(JSON.parse(read.stdout).length).toBeGreaterThan(1);
    });

    it("it is not if better-sqlite3 is requested", async () => {
      await expect(onNewerNode({ PM_SQLITE: "better-sqlite3" })).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^error: better-sqlite3 can't be loaded: .*\n$/),
      });
    });
  },
);
