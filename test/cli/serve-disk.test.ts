import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { newFolder, runJson, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
afterAll(folder.remove);

it("serve answers writes with 503 on a full disk, keeps reading, and loses no acknowledged write", async () => {
  const { tokens } = await runJson(["seed", "--db", "small.db"], at);
  const headers = { "private-token": tokens[0].token, "content-type": "application/json" };
  const kilobytes = Math.ceil(statSync(join(folder.path, "small.db")).size / 1024) + 64;
  const through = ["bash", "-c", `ulimit -f ${kilobytes}; exec "$0" "$@"`];
  const server = await startServing(["--db", "small.db"], { ...at, through });
  const labels = `${server.url}/api/v4/groups/acme/labels`;
  const write = (index: number) => {
    const body = JSON.stringify({ name: `label ${index} ${"x".repeat(200)}`, color: "#123456" });
    return fetch(labels, { method: "POST", headers, body });
  };
  let written = 0;
  let refused = await write(0);
  while (refused.status === 201 && written < 10_000) {
    written += 1;
    refused = await write(written);
  }
  expect(written).toBeGreaterThan(0);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toEqual({ message: "503 Service Unavailable" });
  expect(refused.headers.get("retry-after")).toBe("1");
  const counted = async (url: string) => {
    const answer = await fetch(`${url}?search=xxx&per_page=1`, { headers });
    return Number(answer.headers.get("x-total"));
  };
  expect(await counted(labels)).toBe(written);
  expect(await server.stop()).toBe(0);
  expect(JSON.parse(server.stderr.split("\n")[0] as string).message).toMatch(
    /^the database does not answer: /,
  );

  const again = await startServing(["--db", "small.db"], at);
  expect(await counted(`${again.url}/api/v4/groups/acme/labels`)).toBe(written);
  expect(await again.stop()).toBe(0);
});
