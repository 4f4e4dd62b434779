import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import express from "express";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createMiddleware, type ServeOptions, serve } from "../../src/node.ts";
import { raw } from "../adapters/_tests.ts";
import { type TestApp, testApp, tokenOf } from "../helpers.ts";
import { toys } from "./index.ts";

const OWNER = { authorization: "Toy owner" };
const failures: unknown[] = [];
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ extra: toys, onError: (error) => failures.push(error) });
});
afterAll(() => app.dispose());

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function serving(options: ServeOptions = {}): Promise<string> {
  const server = await serve(app, { port: 0, grace: 100, ...options });
  ends.push(server.close);
  return server.url;
}

const seen = async () => (await app.fetch("http://pm.test/toy/v1/seen")).json();

describe("Response of fetch", () => {
  it("cancels the source with its body, also while it waits", async () => {
    for (const path of ["/streams/endless", "/waiting"]) {
      const { ended } = await seen();
      const { body } = await app.fetch(`http://pm.test/toy/v1${path}`);
      const reader = (body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      const next = path === "/waiting" ? reader.read() : undefined;
      await reader.cancel();
      await next;
      expect((await seen()).ended).toBe(ended + 1);
    }
  });
});

describe("a source that fails", () => {
  it("is reported", async () => {
    failures.length = 0;
    const { body } = await app.fetch("http://pm.test/toy/v1/streams/broken");
    await expect(new Response(body).arrayBuffer()).rejects.toThrow();
    expect(failures.map(String)).toEqual(["Error: the toy's source is broken"]);
  });
});

describe("on Node", () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: pm.test\r\n\r\n`;

  it("a client that reads nothing of a stream is cut, one that waits for its source is not", async () => {
    const url = await serving({ stallTimeout: 300 });
    const { ended } = await seen();
    const [idle, patient] = [
      await raw(url, get("/toy/v1/streams/endless")),
      await raw(url, get("/toy/v1/waiting")),
    ];
    let isClosed = false;
    patient.resume().once("close", () => {
      isClosed = true;
    });
    await expect.poll(async () => (await seen()).ended, { timeout: 5000 }).toBe(ended + 1);
    idle.destroy();
    await sleep(500);
    expect(isClosed).toBe(false);
    patient.destroy();
    await expect.poll(async () => (await seen()).ended).toBe(ended + 2);
  });

  it("a refused client that waits for 100 Continue sends no body", async () => {
    const url = await serving();
    const lines = ["POST /toy/v1/digest HTTP/1.1", "Host: pm.test", "Expect: 100-continue"];
    const socket = await raw(url, [...lines, "Content-Length: 50000000", "", ""].join("\r\n"));
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
    expect(String(answer)).toMatch(/\r\nconnection: close\r\n/i);
    await once(socket, "close");
  });

  it("a connection can be used again after a refused body has been read in part", async () => {
    const url = await serving();
    // More parts than allowed.
    const part = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n';
    const body = `${part.repeat(15_000)}--x--\r\n`;
    const lines = [
      "POST /api/v4/groups HTTP/1.1",
      "Host: pm.test",
      "Private-Token: token-of-owner",
      "Content-Type: multipart/form-data; boundary=x",
      `Content-Length: ${body.length}`,
    ];
    const socket = await raw(url, [...lines, "", body].join("\r\n"));
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 400 /);
    socket.write(get("/-/health"));
    await expect.poll(() => text, { timeout: 5000 }).toMatch(/HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

describe("behind a body parser of Express", () => {
  it("a route that takes bytes says where to mount it, and takes what a raw parser left", async () => {
    const host = express()
      .use("/json", express.json(), createMiddleware(app))
      .use("/raw", express.raw({ type: "*/*" }), createMiddleware(app));
    const server = createServer(host).listen(0, "127.0.0.1");
    ends.push(() => server.close().closeAllConnections());
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const headers = { ...OWNER, "content-type": "application/json" };
    for (const path of ["bytes", "digest"]) {
      const init = { method: "POST", headers, body: "{}" };
      const taken = await fetch(`${url}/json/toy/v1/${path}`, init);
      expect([taken.status, (await taken.json()).toy_error]).toEqual([
        500,
        expect.stringContaining("mounted before"),
      ]);
      const read = await fetch(`${url}/raw/toy/v1/${path}`, init);
      expect((await read.json()).bytes).toBe(2);
    }
    const compressed = await fetch(`${url}/raw/toy/v1/bytes`, {
      method: "POST",
      headers: { ...headers, "content-encoding": "gzip" },
      body: gzipSync("abc"),
    });
    expect((await compressed.json()).bytes).toBe(3);
  });
});

describe("a file of 200 MB", () => {
  it("is stored and sent in little memory", async () => {
    const url = `${await serving()}/api/v4/projects/acme%2Fsite/topics`;
    const headers = { "private-token": tokenOf("owner") };
    const made = await fetch(`${url}?name=large`, { method: "POST", headers });
    const { id } = (await made.json()) as { id: number };
    const chunk = Buffer.alloc(50_000, "x");
    const count = 4000;
    let most = 0;
    const measure = () => {
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      most = Math.max(most, heapUsed + arrayBuffers);
    };
    measure();
    const before = most;
    const sent = Readable.from(
      (async function* () {
        for (let at = 0; at < count; at += 1) {
          if (at % 50 === 0) measure();
          yield chunk;
        }
      })(),
    );
    const body = Readable.toWeb(sent) as ReadableStream;
    const file = `${url}/${id}/file`;
    const streamed = { duplex: "half" } as RequestInit;
    const put = await fetch(file, { ...streamed, method: "PUT", headers, body });
    expect(put.status).toBe(204);
    const hash = createHash("sha256");
    let received = 0;
    const got = await fetch(file);
    for await (const part of got.body as unknown as AsyncIterable<Uint8Array>) {
      hash.update(part);
      received += part.length;
      measure();
    }
    expect(received).toBe(count * chunk.length);
    expect(got.headers.get("etag")).toBe(`"${hash.digest("hex")}"`);
    expect(most - before).toBeLessThan(100_000_000);
  });
});
