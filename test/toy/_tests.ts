import { createHash } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { raw, send } from "../adapters/_tests.ts";

/** Something that serves an application with the toys, filled with `baseSeed`. */
interface Served {
  /** Where it is mounted, without a trailing slash. */
  url: string;
  close(): Promise<unknown>;
}

const MEBIBYTE = 1024 * 1024;
const OWNER = { authorization: "Toy owner" };
const GZIP = { ...OWNER, "content-encoding": "gzip" };

const digestOf = (bytes: Uint8Array) => ({
  bytes: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
});

/** The tests of every kind of route, for one adapter. */
export function toyTests(name: string, start: () => Promise<Served>): void {
  describe(`the toys, with ${name}`, () => {
    let served: Served;
    let toy: string;
    let path: string;
    beforeAll(async () => {
      served = await start();
      toy = `${served.url}/toy/v1`;
      path = new URL(toy).pathname;
    });
    afterAll(() => served.close());

    const ask = async (
      where: string,
      { headers = {}, ...init }: RequestInit & { headers?: Record<string, string> } = {},
    ) => {
      const response = await fetch(toy + where, { ...init, headers: { ...OWNER, ...headers } });
      const text = await response.text();
      const type = response.headers.get("content-type");
      const json = type === "application/toy+json" ? JSON.parse(text) : undefined;
      return { status: response.status, headers: response.headers, type, text, json };
    };
    const json = (method: string, sent: object) => ({
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(sent),
    });
    const seen = async (): Promise<{ pulled: number; ended: number }> => (await ask("/seen")).json;
    const isHealthy = async () => (await ask("/seen")).status === 200;
    /** The head of a raw request. */
    const head = (request: string, ...headers: string[]) => {
      const [method, where] = request.split(" ");
      const all = ["Host: pm.test", "Authorization: Toy owner", ...headers];
      return [`${method} ${path}${where} HTTP/1.1`, ...all, "", ""].join("\r\n");
    };

    describe("a route that takes an object", () => {
      it("gets it as it is, apart from the query", async () => {
        const sent = { Color: "red", deep: [{ a: null }], "urn:x:y": 1.5 };
        const answer = await ask("/object?color=blue&deep=query", json("POST", sent));
        expect([answer.status, answer.json]).toEqual([200, { body: sent, color: "blue" }]);
        const named = await ask("/object", json("POST", { color: "red" }));
        expect(named.json).toEqual({ body: { color: "red" } });
        expect((await ask("/object", { method: "POST" })).json).toEqual({ body: {} });
      });

      it("refuses anything else", async () => {
        const form = { method: "POST", body: new URLSearchParams({ a: "b" }) };
        expect((await ask("/object", form)).status).toBe(415);
        const headers = { "content-type": "application/json" };
        for (const body of ["[]", "{"]) {
          expect((await ask("/object", { method: "POST", headers, body })).status).toBe(400);
        }
      });
    });

    describe("its own rules", () => {
      it("find callers by its own authenticator", async () => {
        const anonymous = await fetch(`${toy}/notes`, { method: "POST" });
        expect(anonymous.status).toBe(401);
        const other = { headers: { "private-token": "token-of-owner" }, method: "POST" };
        expect((await fetch(`${toy}/notes`, other)).status).toBe(401);
        const unknown = { headers: { authorization: "Toy nobody" } };
        expect((await fetch(`${toy}/seen`, unknown)).status).toBe(401);
        const api = await fetch(`${served.url}/api/v4/user`, { headers: OWNER });
        expect(api.status).toBe(401);
      });

      it("show errors in its own form", async () => {
        for (const [where, init, status, toy_error] of [
          ["/nowhere", {}, 404, "404 Not Found"],
          ["/notes", { method: "DELETE" }, 405, "405 Not Allowed"],
          ["/notes", json("POST", {}), 400, '400 (Bad request) "text" not given'],
          ["/streams/none", {}, 400, expect.anything()],
        ] as const) {
          const answer = await ask(where, init);
          expect([answer.status, answer.type, answer.json]).toEqual([
            status,
            "application/toy+json",
            { toy_error },
          ]);
        }
      });

      it("limit bodies", async () => {
        const refused = await ask("/notes", json("POST", { text: "x".repeat(3000) }));
        expect([refused.status, refused.json]).toEqual([
          413,
          { toy_error: "413 Request Entity Too Large" },
        ]);
        expect(await isHealthy()).toBe(true);
      });

      it("let pages of any origin call it, with PATCH as well", async () => {
        const preflight = await fetch(`${toy}/notes/1`, {
          method: "OPTIONS",
          headers: { origin: "https://a.test", "access-control-request-method": "PATCH" },
        });
        expect(preflight.status).toBe(204);
        expect(preflight.headers.get("access-control-allow-methods")).toBe("OPTIONS, PATCH");
        expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
      });

      it("differ from those of forms", async () => {
        const headers = { ...OWNER, origin: "https://a.test" };
        const order = await fetch(`${served.url}/toy/forms/order`, { method: "POST", headers });
        expect([order.status, (await order.json()).toy_error]).toEqual([
          422,
          expect.stringContaining("CSRF"),
        ]);
        expect(order.headers.get("access-control-allow-origin")).toBe(null);
        expect(order.headers.get("set-cookie")).toContain("HttpOnly");
      });
    });

    it("PATCH changes what is sent, and is in Allow", async () => {
      const made = await ask("/notes", json("POST", { text: "a", color: "red" }));
      expect(made.status).toBe(201);
      const where = `/notes/${made.json.id}`;
      const changed = await ask(where, json("PATCH", { color: "blue" }));
      expect([changed.status, changed.json]).toEqual([
        200,
        { id: made.json.id, text: "a", color: "blue" },
      ]);
      const form = await ask(where, { method: "PATCH", body: new URLSearchParams({ text: "b" }) });
      expect(form.json).toEqual({ id: made.json.id, text: "b", color: "blue" });
      expect((await ask(where, json("PATCH", {}))).status).toBe(400);
      const put = await ask(where, json("PUT", { text: "c" }));
      expect([put.status, put.headers.get("allow")]).toEqual([405, "OPTIONS, PATCH"]);
    });

    it("a reading POST is answered while a transaction is open", async () => {
      const text = `slow ${crypto.randomUUID()}`;
      const search = async () => (await ask("/notes/search", json("POST", { texts: [text] }))).json;
      await ask("/gate/closed");
      const slow = ask("/notes/slow", json("POST", { text }));
      try {
        for (let round = 0; round < 5; round += 1) expect(await search()).toEqual({ count: 0 });
      } finally {
        await ask("/gate/open");
      }
      expect((await slow).status).toBe(204);
      expect(await search()).toEqual({ count: 1 });
    });

    describe("a streamed reply", () => {
      it("arrives complete", async () => {
        const numbers = await ask("/streams/numbers");
        expect(numbers.status).toBe(200);
        expect(numbers.text).toBe(
          Array.from({ length: 100_000 }, (_, number) => `${number}\n`).join(""),
        );
        expect((await ask("/streams/large")).text.length).toBe(5 * MEBIBYTE);
        expect((await ask("/streams/empty")).text).toBe("");
      });

      it("is not read for HEAD", async () => {
        const before = await seen();
        const answer = await ask("/streams/endless", { method: "HEAD" });
        expect([answer.status, answer.text]).toEqual([200, ""]);
        expect(await seen()).toEqual(before);
      });

      it.each([
        ["GET /streams/endless", ""],
        ["POST /endless", "{}"],
      ])(
        "of %s is read only as fast as the client, and cancelled when it leaves",
        async (...it) => {
          const [request, body] = it;
          const before = await seen();
          const type = "Content-Type: application/json";
          const socket = await raw(
            toy,
            head(request, type, `Content-Length: ${body.length}`) + body,
          );
          socket.pause();
          let last = -1;
          await expect
            .poll(async () => {
              const { pulled } = await seen();
              const isStill = pulled === last && pulled > before.pulled;
              last = pulled;
              return isStill;
            })
            .toBe(true);
          // What the system buffers of a connection, and little more.
          expect((last - before.pulled) * 64 * 1024).toBeLessThan(16 * MEBIBYTE);
          expect((await seen()).ended).toBe(before.ended);
          socket.destroy();
          await expect.poll(async () => (await seen()).ended).toBe(before.ended + 1);
        },
      );

      it("is cancelled while it waits", async () => {
        const { ended } = await seen();
        const socket = await raw(toy, head("GET /waiting"));
        let text = "";
        for await (const chunk of socket.setEncoding("utf8")) {
          text += chunk;
          if (text.includes("first")) break;
        }
        socket.destroy();
        await expect.poll(async () => (await seen()).ended).toBe(ended + 1);
      });

      it("is seen to be incomplete if its source fails", async () => {
        const response = await fetch(`${toy}/streams/broken`);
        expect(response.status).toBe(200);
        await expect(response.arrayBuffer()).rejects.toThrow();
        expect(await isHealthy()).toBe(true);
      });
    });

    describe("a streamed body", () => {
      const body = Buffer.alloc(50 * MEBIBYTE, "0123456789");

      it("of 50 MB is read only as fast as it is used", async () => {
        await ask("/gate/closed");
        const start = head("POST /digest?slowly=true", `Content-Length: ${body.length}`);
        const socket = await raw(toy, start);
        const answered = once(socket, "data");
        socket.write(body);
        let last = -1;
        const isStill = async () => {
          await sleep(100);
          const sent = socket.bytesWritten - socket.writableLength;
          const still = sent === last;
          last = sent;
          return still;
        };
        await expect.poll(isStill).toBe(true);
        expect(last).toBeLessThan(25 * MEBIBYTE);
        await ask("/gate/open");
        const [answer] = await answered;
        expect(String(answer)).toMatch(/^HTTP\/1\.1 201 /);
        socket.destroy();
        const digest = await ask("/digest", { method: "POST", body });
        expect([digest.status, digest.json]).toEqual([201, digestOf(body)]);
      });

      it("can be compressed", async () => {
        for (const encoding of ["gzip", "x-gzip"]) {
          const headers = { ...GZIP, "content-encoding": encoding };
          const answer = await ask("/digest", { method: "POST", headers, body: gzipSync(body) });
          expect([answer.status, answer.json]).toEqual([201, digestOf(body)]);
        }
        const chunks = [gzipSync("a"), gzipSync("b")];
        const url = `${toy}/digest`;
        const joined = await send(url, { method: "POST", headers: GZIP, chunks });
        expect(JSON.parse(joined.body)).toEqual(digestOf(Buffer.from("ab")));
      });

      it("may be empty", async () => {
        const answer = await ask("/digest", { method: "POST" });
        expect(answer.json).toEqual(digestOf(Buffer.alloc(0)));
      });

      it("that the handler doesn't read to its end does no harm", async () => {
        for (const length of [100, 5 * MEBIBYTE]) {
          const answer = await ask("/start", { method: "POST", body: Buffer.alloc(length) });
          expect(answer.json).toEqual({ isBegun: true });
        }
        expect(await isHealthy()).toBe(true);
      });

      it("cut short writes nothing and does no harm", async () => {
        for (const size of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
          const socket = await raw(toy, `${head("POST /digest", size)}5\r\nabcde`);
          socket.destroy();
        }
        expect(await isHealthy()).toBe(true);
      });
    });

    describe("bytes", () => {
      const bytes = Uint8Array.from({ length: 50_000 }, (_, at) => at % 256);

      it("arrive unchanged, compressed or not, and go back unchanged", async () => {
        for (const [headers, body] of [
          [{}, bytes],
          [GZIP, gzipSync(bytes)],
          [{ "content-encoding": "identity" }, bytes],
        ] as [Record<string, string>, Uint8Array<ArrayBuffer>][]) {
          const answer = await ask("/bytes", { method: "POST", headers, body });
          expect([answer.status, answer.json]).toEqual([200, digestOf(bytes)]);
          const echo = await fetch(`${toy}/echo`, {
            method: "POST",
            headers: { ...OWNER, ...headers },
            body,
          });
          expect(Buffer.from(await echo.arrayBuffer()).equals(bytes)).toBe(true);
        }
      });

      it.each([
        ["more than allowed", 413, "413 Request Entity Too Large", {}, Buffer.alloc(100_001)],
        ["a gzip bomb", 413, "413 Request Entity Too Large", GZIP, gzipSync(Buffer.alloc(1e8))],
        ["what is not gzip", 400, "message body is not valid gzip", GZIP, Buffer.from("plain")],
        [
          "truncated gzip",
          400,
          "message body is not valid gzip",
          GZIP,
          gzipSync(bytes).subarray(0, 90),
        ],
        [
          "gzip with something after it",
          400,
          "message body is not valid gzip",
          GZIP,
          Buffer.concat([gzipSync("a"), Buffer.from("plain")]),
        ],
        [
          "another encoding",
          415,
          "The provided content-encoding 'br' is not supported.",
          { "content-encoding": "br" },
          Buffer.from("x"),
        ],
      ] as [string, number, string, Record<string, string>, Buffer<ArrayBuffer>][])(
        "that are %s are refused",
        async (_, status, toy_error, headers, body) => {
          for (const where of ["/bytes", ...(status === 413 ? [] : ["/digest"])]) {
            const answer = await ask(where, { method: "POST", headers, body });
            expect([where, answer.status, answer.json]).toEqual([where, status, { toy_error }]);
          }
          expect(await isHealthy()).toBe(true);
        },
      );

      it("beyond the limit are refused in chunks, too", async () => {
        const chunks = Array.from({ length: 20 }, () => Buffer.alloc(10_000));
        const { status } = await send(`${toy}/bytes`, { method: "POST", headers: OWNER, chunks });
        expect(status).toBe(413);
      });

      it("are not read before the credentials are checked", async () => {
        const anonymous = head("POST /digest", "Content-Length: 50000000").replace("owner", "none");
        const socket = await raw(toy, anonymous);
        const [answer] = await once(socket, "data");
        expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
        socket.destroy();
      });

      it("are sent by clients that wait for 100 Continue", async () => {
        const start = head("POST /bytes", "Expect: 100-continue", "Content-Length: 3");
        const socket = await raw(toy, start);
        const [first] = await once(socket, "data");
        expect(String(first)).toMatch(/^HTTP\/1\.1 100 /);
        let text = String(first);
        socket.write("abc");
        for await (const chunk of socket.setEncoding("utf8")) {
          text += chunk;
          if (text.includes("sha256")) break;
        }
        expect(text).toContain(digestOf(Buffer.from("abc")).sha256);
        socket.destroy();
      });
    });
  });
}
