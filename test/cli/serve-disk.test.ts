import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
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

// Where `prlimit` is, the room that a running program has can be changed.
const canGiveRoom = process.platform === "linux";

it.runIf(canGiveRoom)(
  "serve goes on with webhooks within seconds, once there is room on a disk that has filled up meanwhile",
  async () => {
    const calls: { title: string; response: ServerResponse }[] = [];
    let heard = () => {};
    const receiver = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
      request.on("end", () => {
        calls.push({ title: JSON.parse(text).object_attributes.title, response });
        heard();
      });
    }).listen(0, "127.0.0.1");
    const nextCall = async () => {
      while (calls.length === 0) {
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
      return calls.shift() as (typeof calls)[number];
    };
    const { tokens } = await runJson(["seed", "--db", "hooks.db"], at);
    const headers = { "private-token": tokens[0].token, "content-type": "application/json" };
    const local = ["--local-webhooks", "on"];
    const server = await startServing(["--db", "hooks.db", ...local], at);
    try {
      const api = `${server.url}/api/v4`;
      const post = (path: string, body: object) =>
        fetch(api + path, { method: "POST", headers, body: JSON.stringify(body) });
      const [project] = (await (await fetch(`${api}/projects?per_page=1`, { headers })).json()) as {
        id: number;
      }[];
      const own = `/projects/${project?.id}`;
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      const hook = { url, issues_events: true, push_events: false };
      expect((await post(`${own}/hooks`, hook)).status).toBe(201);
      for (const title of ["one", "two"]) {
        expect((await post(`${own}/issues`, { title })).status).toBe(201);
      }
      // While the first is being delivered, the disk fills up; what has become of it can't be stored.
      const first = await nextCall();
      expect(first.title).toBe("one");
      // Not even a log that begins again has room.
      const prlimit = (size: string) =>
        execFileSync("prlimit", ["--pid", String(server.child.pid), `--fsize=${size}`]);
      prlimit("1:unlimited");
      const { status } = await post("/groups/acme/labels", { name: "label", color: "#123456" });
      expect(status).toBe(503);
      first.response.end();
      // Long enough for its settling to be tried, and refused.
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect(calls).toEqual([]);
      // It goes on within a second or so; without retries it would be ten minutes, which the test does not wait for.
      prlimit("unlimited");
      const second = await nextCall();
      expect(second.title).toBe("two");
      second.response.end();
      expect((await post(`${own}/issues`, { title: "three" })).status).toBe(201);
      const third = await nextCall();
      expect(third.title).toBe("three");
      third.response.end();
      expect(await server.stop()).toBe(0);
    } finally {
      await server.stop("SIGKILL");
      receiver.closeAllConnections();
      receiver.close();
    }
  },
);
