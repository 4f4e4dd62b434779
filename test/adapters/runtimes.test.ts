import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { baseSeed } from "../helpers.ts";
import { linesOf } from "../lines.ts";
import { runtimes } from "../runtimes.mjs";
import { adapterTests, raw } from "./_tests.ts";

const script = fileURLToPath(new URL("_serve.mjs", import.meta.url));
const TOKEN = { "private-token": "token-of-owner" };
const MEBIBYTE = 1024 * 1024;

/** An application on another runtime, served by that runtime's adapter from the build. */
interface Served {
  url: string;
  /** How much was read of files until now. */
  read(): Promise<{ pieces: number; ended: number }>;
  /** Closes it, and expects that this does not take as long as it may. */
  close(): Promise<void>;
  /** Lets a process end that was told to linger. */
  leave(): void;
}

async function start(
  [program = "", ...args]: readonly string[],
  options: object = {},
): Promise<Served> {
  const child = spawn(program, [...args, script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const line = linesOf(child);
  child.stdin.write(`${JSON.stringify(baseSeed)}\n`);
  const url = await line();
  return {
    url,
    leave: () => child.kill("SIGTERM"),
    read: async () => {
      child.stdin.write("read\n");
      return JSON.parse(await line());
    },
    close: async () => {
      child.stdin.end();
      expect(await line()).toBe("soon");
      expect(await ended).toEqual([0, null]);
    },
  };
}

/** The first line of an answer, or nothing. */
async function answerTo(url: string, ...lines: string[]): Promise<string> {
  const socket = await raw(url, [...lines, "Connection: close", "", ""].join("\r\n"));
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  return text;
}

const closed = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

for (const { name, command } of runtimes) {
  if (name !== "Bun" && name !== "Deno") continue;
  if (!command) {
    describe.skip(`${name}, which is not available on this platform`);
    continue;
  }
  adapterTests({
    name,
    alone: true,
    start: async () => {
      return start(command);
    },
    ...(name === "Bun" ? { withoutLength: "GET" } : {}),
  });

  describe(`${name}'s server`, () => {
    let served: Served | undefined;
    const serve = async (options: object = {}) => {
      served = await start(command, options);
      return served;
    };
    const close = async () => {
      await served?.close();
      served = undefined;
    };
    afterEach(close);

    it("refuses an invalid Host", async () => {
      const { url } = await serve();
      for (const host of ["a b", "x/y", "%%", "[::1", "a,b", "user@x"]) {
        const answer = await answerTo(url, "GET /api/v4/version HTTP/1.1", `Host: ${host}`);
        // Deno takes the part after a slash for the path.
        expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
      }
    });

    it("trusts a proxy only if told to", async () => {
      const headers = {
        ...TOKEN,
        "x-forwarded-proto": "https",
        "x-forwarded-host": "pm.example.com, inner",
        "x-forwarded-for": "203.0.113.9, 10.0.0.1",
      };
      const links = async (url: string) =>
        (await fetch(`${url}/api/v4/projects?per_page=1`, { headers })).headers.get("link");
      const direct = await serve();
      expect(await links(direct.url)).toContain(`<${direct.url}/api/v4/projects?`);
      await close();
      const behind = await serve({ trustProxy: 2 });
      expect(await links(behind.url)).toContain("<https://pm.example.com/api/v4/projects?");
    });

    it("knows its clients' addresses", async () => {
      const { url } = await serve();
      expect(await (await fetch(`${url}/ip`)).text()).toBe("127.0.0.1");
      await close();
      const other = await serve({ trustProxy: true });
      const headers = { "x-forwarded-for": "203.0.113.9, 198.51.100.7" };
      expect(await (await fetch(`${other.url}/ip`, { headers })).text()).toBe("198.51.100.7");
    });

    it("stops reading a file if the client reads slowly or disconnects", async () => {
      const { url, read } = await serve();
      const wiki = `${url}/api/v4/projects/secret%2Fvault/wikis`;
      const body = new FormData();
      body.set("file", new Blob([Buffer.alloc(9 * MEBIBYTE)]), "a.bin");
      const taken = await fetch(`${wiki}/attachments`, { method: "POST", headers: TOKEN, body });
      const path = `${wiki}/${(await taken.json()).link.url}`;
      for (let round = 0; round < 5; round += 1) {
        await new Promise<void>((resolve, reject) => {
          const sent = request(path, { headers: TOKEN, agent: false }, (answer) => {
            answer.once("data", () => {
              answer.pause();
              setTimeout(() => resolve(void answer.destroy()), 100);
            });
          });
          sent.on("error", reject).end();
        });
      }
      await expect.poll(async () => (await read()).ended).toBe(5);
      // The file has 36 chunks.
      expect((await read()).pieces).toBeLessThan(5 * 36);
    });

    it("finishes running requests when closed, and ends keep-alive connections", async () => {
      const { url } = await serve();
      const [slow, idle] = await Promise.all([
        raw(url, "GET /slow HTTP/1.1\r\nHost: pm.test\r\n\r\n"),
        raw(url, "GET /-/health HTTP/1.1\r\nHost: pm.test\r\n\r\n"),
      ]);
      await once(idle, "data");
      const answer = once(slow, "data");
      const ends = [closed(idle), closed(slow)];
      await close();
      expect(String(await answer)).toMatch(/^HTTP\/1\.1 404 /);
      await Promise.all(ends);
    });

    it("does not wait longer than allowed for stalled clients", async () => {
      const { url, leave } = await serve({ grace: 100, linger: true });
      const stalled = await Promise.all([
        // On Bun a connection only counts from its first byte.
        ...(name === "Bun" ? [] : [raw(url, "")]),
        raw(url, "GET /-/health HT"),
        raw(url, "POST /api/v4/groups HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"),
      ]);
      const cut = Promise.all(stalled.map(closed));
      const closing = close();
      // Not only by the end of the process.
      await cut;
      leave();
      await closing;
    });

    it("reads the rest of a body being sent when it is closed", async () => {
      const { url } = await serve();
      const body = JSON.stringify({ name: "on its way", color: "#123456" });
      const socket = await raw(
        url,
        [
          "POST /api/v4/groups/acme/labels HTTP/1.1",
          "Host: pm.test",
          `Private-Token: ${TOKEN["private-token"]}`,
          "Content-Type: application/json",
          `Content-Length: ${body.length}`,
          "",
          body.slice(0, 10),
        ].join("\r\n"),
      );
      const answer = once(socket, "data");
      // There is no way to see from outside that the request has come in.
      await new Promise((resolve) => setTimeout(resolve, 200));
      const closing = close();
      await new Promise((resolve) => setTimeout(resolve, 300));
      const late = fetch(`${url}/-/health`).then(({ status }) => status);
      // Deno can't stop listening separately.
      expect(await late.catch(() => "refused")).toBe(name === "Deno" ? 503 : "refused");
      socket.write(body.slice(10));
      expect(String(await answer)).toMatch(/^HTTP\/1\.1 201 /);
      await closing;
    });

    it("works on IPv6 addresses", async () => {
      const { url } = await serve({ host: "::1" });
      expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
      expect((await fetch(`${url}/-/health`)).status).toBe(200);
    });
  });
}
