import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { newFolder, runJson, startServing, until } from "./helpers.ts";

const REQUESTS = 3000;
const CLIENTS = 8;
const MEBIBYTE = 1024 * 1024;

it.skipIf(process.env["TEST_PM_CLI"])(
  "a busy server's new objects take half of what V8 allows (decision 85)",
  async () => {
    const folder = newFolder();
    const db = `${folder.path}/pm.db`;
    const { token } = await runJson(["seed", "--db", db]);
    const preload = fileURLToPath(new URL("_heap.mjs", import.meta.url));
    const serving = await startServing(["--db", db], {
      env: { NODE_OPTIONS: `--import ${preload}` },
    });
    const client = async () => {
      for (let sent = 0; sent < REQUESTS / CLIENTS; sent += 1) {
        const answer = await serving.get("/issues?scope=all&per_page=100", token);
        expect(answer.status).toBe(200);
        await answer.arrayBuffer();
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    serving.child.kill("SIGUSR2");
    const size = await until(
      serving.child,
      () => /^\{"newSpace":(\d+)\}$/m.exec(serving.stderr)?.[1],
    );
    expect(Number(size) / MEBIBYTE).toBeLessThanOrEqual(16);
    await serving.stop();
    folder.remove();
  },
);
