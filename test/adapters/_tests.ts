import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, type RequestOptions, request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Something that serves an application filled with `baseSeed`. */
interface Served {
  /** Where the API is mounted, without a trailing slash. */
  url: string;
  close(): Promise<void>;
}

/** An adapter under test. */
export interface Adapter {
  name: string;
  start(): Promise<Served>;
  /** Whether it serves alone, without a host for other requests. */
  alone?: boolean;
  /** The method whose answers lack a file's length: GET on Bun (it streams), HEAD with hattip on Node. */
  withoutLength?: "GET" | "HEAD";
}

const TOKEN = { "private-token": "token-of-owner" };
const FIVE_MEGABYTES = 5 * 1024 * 1024;
/**
 * For so many milliseconds the rest of a refused body is read: late answers come after them, each time, so that the
 * quickest of several tells them.
 */
const LINGER = 1000;

/** The tests every adapter has to pass. */
export function adapterTests({ name, start, alone = false, withoutLength }: Adapter): void {
  describe(name, () => {
    let served: Served;
    let api: string;
    beforeAll(async () => {
      served = await start();
      api = `${served.url}/api/v4`;
    });
    afterAll(() => served.close());

    const get = (path: string, init: RequestInit = {}) =>
      fetch(`${api}${path}`, { ...init, headers: { ...TOKEN, ...init.headers } });
    const newLabel = (label: object, init: RequestInit = {}) =>
      get("/groups/acme/labels", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ color: "#123456", ...label }),
        ...init,
      });
    const isHealthy = async () => {
      const response = await get("/groups/acme");
      return response.status === 200 && (await response.json()).path === "acme";
    };

    describe("answers", () => {
      it("are JSON, with links that begin with the mount", async () => {
        const response = await get("/projects?per_page=1");
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe("application/json");
        expect(response.headers.get("x-total")).toBe("3");
        const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
        expect(next).toBe(`${api}/projects?page=2&per_page=1`);
        expect((await fetch(next as string, { headers: TOKEN })).status).toBe(200);
        const group = await (await get("/groups/acme")).json();
        expect(group.web_url).toBe(`${served.url}/groups/acme`);
      });

      it("are complete when large", async () => {
        const description = "größer 👩‍🚀 ".repeat(20_000);
        const response = await newLabel({ name: "large", description });
        expect(response.status).toBe(201);
        expect((await response.json()).description).toBe(description);
        const read = await (await get("/groups/acme/labels/large")).json();
        expect(read.description).toBe(description);
      });

      it("to HEAD have the headers of GET and no body", async () => {
        const [head, whole] = [
          await get("/groups/acme/labels", { method: "HEAD" }),
          await get("/groups/acme/labels"),
        ];
        expect(head.status).toBe(200);
        expect(await head.text()).toBe("");
        for (const header of ["content-type", "etag", "x-total", "link"]) {
          expect([header, head.headers.get(header)]).toEqual([header, whole.headers.get(header)]);
        }
        expect(await isHealthy()).toBe(true);
      });

      it("without content have no body", async () => {
        await newLabel({ name: "short-lived" });
        const gone = await get("/groups/acme/labels/short-lived", { method: "DELETE" });
        expect([gone.status, await gone.text()]).toEqual([204, ""]);
        const etag = (await get("/groups/acme")).headers.get("etag") as string;
        const same = await get("/groups/acme", { headers: { "if-none-match": etag } });
        expect([same.status, await same.text()]).toEqual([304, ""]);
        const options = await get("/groups/acme", { method: "OPTIONS" });
        expect([options.status, await options.text()]).toEqual([204, ""]);
        expect(options.headers.get("allow")).toBe("DELETE, GET, HEAD, OPTIONS, PUT");
      });

      it("to invalid requests are the API's own errors", async () => {
        const anonymous = await fetch(`${api}/user`);
        expect(anonymous.status).toBe(401);
        expect(anonymous.headers.get("www-authenticate")).toBe("Bearer");
        const unknown = await get("/nowhere");
        expect([unknown.status, await unknown.json()]).toEqual([404, { error: "404 Not Found" }]);
        const method = await get("/version", { method: "DELETE" });
        expect([method.status, method.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
        const malformed = await newLabel({}, { body: "{" });
        expect(malformed.status).toBe(400);
      });

      it("outside the API are the host's", async () => {
        for (const path of ["/apis/v4/user", "/api", "/index.html?x=/api/v4/user", "//"]) {
          expect([path, (await fetch(served.url + path)).status]).toEqual([path, 404]);
        }
      });

      it(`at / ${alone ? "lead to the pages" : "are the host's"}`, async () => {
        for (const path of ["", "/", "/?a=b"]) {
          const { status, headers } = await fetch(served.url + path, { redirect: "manual" });
          const led = [303, "/explore/projects"];
          expect([path, status, headers.get("location")]).toEqual([
            path,
            ...(alone ? led : [404, null]),
          ]);
        }
        if (!alone) return;
        expect(await (await fetch(served.url)).text()).toContain("<h1>All projects</h1>");
        const head = await fetch(served.url, { method: "HEAD", redirect: "manual" });
        expect(head.status).toBe(303);
      });
    });

    describe("requests", () => {
      it("keep the encoding of their path", async () => {
        const team = await get("/groups/acme%2Fteam");
        expect((await team.json()).full_path).toBe("acme/team");
        expect((await get("/groups/acme%2fteam")).status).toBe(200);
        expect((await get("/groups/%zz")).status).toBe(400);
      });

      it("keep the encoding of their query", async () => {
        await newLabel({ name: "a+b c&d" });
        for (const search of ["a%2Bb+c%26d", "a%2Bb%20c%26d"]) {
          const found = await (await get(`/groups/acme/labels?search=${search}`)).json();
          expect(found.map((label: { name: string }) => label.name)).toEqual(["a+b c&d"]);
        }
        const token = await fetch(`${api}/user?private_token=token-of-guest`);
        expect((await token.json()).username).toBe("guest");
      });

      it("can have a body of JSON, form or multipart, or parameters in the query", async () => {
        const form = new URLSearchParams({ name: "by form", color: "#123456" });
        const multipart = new FormData();
        multipart.set("name", "by multipart ü");
        multipart.set("color", "#123456");
        const statuses: number[] = [];
        for (const body of [form, multipart]) {
          statuses.push((await get("/groups/acme/labels", { method: "POST", body })).status);
        }
        statuses.push((await newLabel({ name: "by JSON ü" })).status);
        const query = "name=by+query&color=%23123456";
        statuses.push((await get(`/groups/acme/labels?${query}`, { method: "POST" })).status);
        expect(statuses).toEqual([201, 201, 201, 201]);
        const found = await (await get("/groups/acme/labels?search=by%20")).json();
        expect(found.map((label: { name: string }) => label.name).sort()).toEqual([
          "by JSON ü",
          "by form",
          "by multipart ü",
          "by query",
        ]);
      });

      it("can arrive in chunks of any size", async () => {
        const bytes = new TextEncoder().encode(JSON.stringify({ name: "in größeren chunks" }));
        const { status, body } = await send(`${api}/groups/acme/labels?color=%23123456`, {
          method: "POST",
          headers: { ...TOKEN, "content-type": "application/json" },
          chunks: [...bytes].map((byte) => Uint8Array.of(byte)),
        });
        expect([status, JSON.parse(body).name]).toEqual([201, "in größeren chunks"]);
      });

      it("can share a connection", async () => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        const sockets = new Set<unknown>();
        const json = { "content-type": "application/json" };
        for (const [method, path, headers, chunks] of [
          ["GET", "/groups/acme", {}, []],
          ["POST", "/groups/acme/labels", json, ['{"name":"kept","color":"#123456"}']],
          ["HEAD", "/groups/acme", {}, []],
          ["POST", "/groups/acme/labels", json, ["{"]],
          ["DELETE", "/groups/acme/labels/kept", {}, []],
          ["OPTIONS", "/groups/acme", {}, []],
          ["GET", "/nowhere", {}, []],
          ["GET", "/groups/acme", {}, []],
        ] as [string, string, Record<string, string>, string[]][]) {
          const answer = await send(api + path, {
            method,
            agent,
            headers: { ...TOKEN, ...headers },
            chunks,
          });
          sockets.add(answer.socket);
        }
        expect(sockets.size).toBe(1);
        agent.destroy();
      });

      it("are answered concurrently", async () => {
        const names = Array.from({ length: 30 }, (_, at) => `side ${at}`);
        const made = await Promise.all(names.map((label) => newLabel({ name: label })));
        expect(made.every(({ status }) => status === 201)).toBe(true);
        const ids = await Promise.all(made.map(async (one) => (await one.json()).id as number));
        expect(new Set(ids).size).toBe(30);
      });
    });

    describe("a body over the limit", () => {
      it.each([
        ["fetch", "declared"],
        ["fetch", "in chunks"],
        ["node:http", "declared"],
        ["node:http", "in chunks"],
      ])("is refused to %s when %s", async (client, length) => {
        const script = fileURLToPath(new URL("_upload.mjs", import.meta.url));
        const url = `${api}/groups/acme/labels`;
        const { stdout } = await run(process.execPath, [
          script,
          url,
          TOKEN["private-token"],
          client,
          length,
        ]);
        const answers: { outcome: string; took: number }[] = stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line));
        expect(answers.map(({ outcome }) => outcome)).toEqual(
          Array.from({ length: 10 }, () => '413 {"message":"413 Request Entity Too Large"}'),
        );
        expect(Math.min(...answers.map(({ took }) => took))).toBeLessThan(LINGER);
        expect(await isHealthy()).toBe(true);
      });

      // curl is not installed everywhere.
      it.runIf(hasCurl)("is refused to curl, declared or in chunks", async () => {
        const folder = await mkdtemp(join(tmpdir(), "pm-api-upload-"));
        const file = join(folder, "body");
        await writeFile(file, Buffer.alloc(FIVE_MEGABYTES, "x"));
        for (const extra of [[], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect:"]]) {
          let least = Number.POSITIVE_INFINITY;
          for (let round = 0; round < 10 && least >= LINGER; round += 1) {
            const { stdout } = await run("curl", [
              ...["-sS", "-X", "POST", "--data-binary", `@${file}`],
              ...["-w", "\n%{http_code}\n%{time_total}"],
              ...["-H", "Private-Token: token-of-owner", "-H", "Content-Type: application/json"],
              ...extra,
              `${api}/groups/acme/labels`,
            ]);
            const [body, status, seconds] = stdout.split("\n");
            expect([body, status]).toEqual(['{"message":"413 Request Entity Too Large"}', "413"]);
            least = Math.min(least, 1000 * Number(seconds));
          }
          expect(least).toBeLessThan(LINGER);
        }
        await rm(folder, { recursive: true });
        expect(await isHealthy()).toBe(true);
      });
    });

    describe("a file", () => {
      const wiki = "/projects/secret%2Fvault/wikis";
      const content = randomBytes(FIVE_MEGABYTES);
      const upload = (bytes: Uint8Array<ArrayBuffer>) => {
        const body = new FormData();
        body.set("file", new Blob([bytes]), "a.bin");
        return get(`${wiki}/attachments`, { method: "POST", body });
      };

      it("is uploaded and downloaded unchanged", async () => {
        const taken = await upload(content);
        expect(taken.status).toBe(201);
        const path = `${wiki}/${(await taken.json()).link.url}`;
        for (const method of ["GET", "HEAD"]) {
          const given = await get(path, { method });
          expect(given.headers.get("content-type")).toBe("application/octet-stream");
          if (method !== withoutLength) {
            expect(given.headers.get("content-length")).toBe(String(content.length));
          }
          const bytes = Buffer.from(await given.arrayBuffer());
          expect(method === "GET" ? content.equals(bytes) : bytes.length === 0).toBe(true);
        }
      });

      it.each([12, 40])("of %i MB is refused", async (megabytes) => {
        const refused = await upload(Buffer.alloc(megabytes * 1024 * 1024));
        expect([refused.status, await refused.json()]).toEqual([
          413,
          { message: "413 Request Entity Too Large" },
        ]);
        expect(await isHealthy()).toBe(true);
      });

      it("is discarded if the upload breaks off", async () => {
        const start = [
          `POST ${new URL(api).pathname}${wiki}/attachments HTTP/1.1`,
          "Host: pm.test",
          "Private-Token: token-of-owner",
          "Content-Type: multipart/form-data; boundary=x",
        ];
        const begun = `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${"x".repeat(600_000)}`;
        for (const how of ["Content-Length: 9000000", "Transfer-Encoding: chunked"]) {
          const size = how.startsWith("T") ? `${begun.length.toString(16)}\r\n` : "";
          const socket = await raw(api, [...start, how, "", size + begun].join("\r\n"));
          socket.destroy();
        }
        expect((await upload(content.subarray(0, 100))).status).toBe(201);
      });
    });

    describe("a client that does not finish", () => {
      const half = (path: string) =>
        [
          `POST ${new URL(api).pathname}${path} HTTP/1.1`,
          "Host: pm.test",
          "Private-Token: token-of-owner",
          "Content-Type: application/x-www-form-urlencoded",
          "Content-Length: 1000",
          "",
          "name=unfinished&color=%23123456",
        ].join("\r\n");

      it("does not block others from writing", async () => {
        const stalled = await Promise.all(
          Array.from({ length: 5 }, () => raw(api, half("/groups/acme/labels"))),
        );
        expect((await newLabel({ name: "meanwhile" })).status).toBe(201);
        for (const socket of stalled) socket.destroy();
        expect(await isHealthy()).toBe(true);
      });

      it("may disconnect before the answer, without blocking others", async () => {
        for (let round = 0; round < 20; round += 1) {
          const ended = new AbortController();
          const asked = get("/projects?per_page=100", { signal: ended.signal });
          setTimeout(() => ended.abort(), round % 5);
          await asked.then((response) => response.text()).catch(() => undefined);
        }
        expect(await isHealthy()).toBe(true);
      });

      it("writes nothing", async () => {
        for (let round = 0; round < 20; round += 1) {
          const socket = await raw(api, half("/groups/acme/labels"));
          if (round % 2 === 0) socket.destroy();
          else socket.resetAndDestroy();
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(await (await get("/groups/acme/labels?search=unfinished")).json()).toEqual([]);
        expect(await isHealthy()).toBe(true);
      });
    });
  });
}

const run = promisify(execFile);

const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);

/** Opens a socket and sends a raw text on it. */
export async function raw(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.write(text, () => resolve(undefined)));
  return socket;
}

/** Sends a request with Node's own client, its body in the given chunks. */
export async function send(
  url: string,
  { chunks = [], ...options }: RequestOptions & { chunks?: (Uint8Array | string)[] },
): Promise<{
  status: number | undefined;
  headers: IncomingMessage["headers"];
  body: string;
  socket: Socket;
}> {
  const outgoing = request(url, options);
  const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
  // After an early answer, further writes may meet a closed connection.
  answered.then(() => outgoing.on("error", () => undefined)).catch(() => undefined);
  for (const chunk of chunks) outgoing.write(chunk);
  outgoing.end();
  const [response] = await answered;
  const { socket } = response;
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  return { status: response.statusCode, headers: response.headers, body, socket };
}
