import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const source = (file: string) => JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href);

it("The library `graphql` is loaded with the first request that needs it", async () => {
  const program = `
    const { createApp } = await import(${source("index.ts")});
    const { Module } = await import("node:module");
    const isLoaded = () =>
      Object.keys(Module._cache).some((file) => /node_modules.graphql.index\\.js$/.test(file));
    const app = await createApp({ database: ":memory:", background: false });
    const get = (path) => app.fetch(new Request("http://pm.test" + path));
    const statuses = [];
    for (let count = 0; count < 200; count += 1) statuses.push((await get("/api/v4/projects")).status);
    const before = isLoaded();
    const { status } = await get("/api/graphql?query={__typename}");
    console.log(JSON.stringify([new Set(statuses).size, statuses[0], before, status, isLoaded()]));
    await app.close();`;
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const args = ["--import", "tsx", "--input-type=module", "--eval", program];
  // Node's modules tell what is loaded, on whichever runtime this test runs: the Node that npm started, with its driver.
  const env = { ...process.env, PM_SQLITE: "" };
  const { stdout } = await run("node", args, { cwd, env });
  expect(JSON.parse(stdout)).toEqual([1, 200, false, 200, true]);
});
