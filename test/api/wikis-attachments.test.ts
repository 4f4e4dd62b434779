import { createHash } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isStreamed } from "../../src/core/http/incoming.ts";
import { createMiddleware, type Server, serve } from "../../src/node.ts";
import { openRecord } from "../../src/resources/repositories/open.ts";
import { findWikiRecord } from "../../src/resources/wikis/record.ts";
import { call, type Person, type TestApp, testApp, tokenOf } from "../helpers.ts";

const MEBIBYTE = 1024 * 1024;
const VAULT = "/projects/secret%2Fvault/wikis";
const PNG = Buffer.from("89504e470d0a1a0a0000", "hex");

let app: TestApp;
let server: Server;
/** An application that accepts 1000 bytes a file. */
let small: TestApp;
let smallServer: Server;

beforeAll(async () => {
  app = await testApp();
  server = await serve(app, { port: 0 });
  small = await testApp({ limits: { attachmentBytes: 1000, bodyBytes: 2000 } });
  smallServer = await serve(small, { port: 0 });
});
afterAll(async () => {
  await Promise.all([server.close(), smallServer.close()]);
  await Promise.all([app.dispose(), small.dispose()]);
});

const form = (parts: Record<string, string | [Uint8Array | string, string]>) => {
  const data = new FormData();
  for (const [name, value] of Object.entries(parts)) {
    if (typeof value === "string") data.append(name, value);
    else data.append(name, new Blob([value[0] as BlobPart]), value[1]);
  }
  return data;
};

const attach = (body: FormData | string | undefined, as: Person = "developer", to = app) =>
  to.call(`POST ${VAULT}/attachments`, { as, ...(body === undefined ? {} : { body }) });

/** The name of a file's content in Git. */
const nameOf = (content: string | Uint8Array) =>
  createHash("sha1")
    .update(`blob ${Buffer.byteLength(content)}\0`)
    .update(content)
    .digest("hex");

/** The repository of the vault's wiki. */
const repository = async () => {
  const [project] = await app.store.rows(
    "select id from projects where full_path = 'secret/vault'",
  );
  return openRecord(app.store, (await findWikiRecord(app.store, project?.[0] as number)).row);
};

const leftBehind = async ({ store }: TestApp) => {
  const [uploads] = await store.rows("select count(*) from stored_files");
  const [pieces] = await store.rows("select count(*) from stored_file_pieces");
  return Number(uploads?.[0]) + Number(pieces?.[0]);
};

/** Sends raw bytes over a socket, and returns the status of the answer. */
async function raw(url: string, head: string[], pieces: (string | Uint8Array)[], cut = false) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (data) => {
    answer += data.toString("latin1");
  });
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const start = [
    `POST /api/v4${VAULT}/attachments HTTP/1.1`,
    "Host: pm.test",
    "Connection: close",
    `Private-Token: ${tokenOf("developer")}`,
    ...head,
  ];
  socket.write(`${start.join("\r\n")}\r\n\r\n`);
  for (const piece of pieces) {
    if (!socket.writable) break;
    socket.write(piece);
    await sleep(1);
  }
  if (cut) {
    await sleep(30);
    socket.destroy();
  }
  await closed;
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}

const MULTIPART = "Content-Type: multipart/form-data; boundary=XX";
const part = (name: string, content: string, file = "a.txt") =>
  `--XX\r\nContent-Disposition: form-data; name="${name}"; filename="${file}"\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`;
const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

describe("attaching", () => {
  it("returns an image's path and markdown (082)", async () => {
    const { status, json } = await attach(form({ file: [PNG, "dk.png"] }));
    expect(status).toBe(201);
    expect(json.file_path).toMatch(/^uploads\/[0-9a-f]{32}\/dk\.png$/);
    expect(json).toEqual({
      file_name: "dk.png",
      file_path: json.file_path,
      branch: "master",
      link: { url: json.file_path, markdown: `![dk](${json.file_path})` },
    });
  });

  it.each([
    ["test.txt", "[test.txt]"],
    ["Scan.JPG", "![Scan]"],
    ["talk.mp4", "![talk]"],
    ["drawing.svg", "[drawing.svg]"],
    ["README", "[README]"],
    [".png", "[.png]"],
  ])("links %s as %s (083)", async (name, text) => {
    const { json } = await attach(form({ file: ["x", name] }));
    expect(json.link.markdown).toBe(`${text}(${json.file_path})`);
  });

  it.each([
    ["my file (1).txt", "my_file__1_.txt"],
    ["Größe 🙂.txt", "Gr__e__.txt"],
    ["../../etc/passwd", "passwd"],
    ["C:\\temp\\x.txt", "x.txt"],
    ["...", "_"],
    ['q"uote\r\n.txt', /^q[\w%]*uote[\w%]*\.txt$/],
    [`${"a".repeat(300)}.tar.gz`, /^a{252}\.gz$/],
  ])("cleans the name %j", async (name, clean) => {
    const { status, json } = await attach(form({ file: ["x", name] }));
    expect(status).toBe(201);
    expect(json.file_name.length).toBeLessThanOrEqual(255);
    if (typeof clean === "string") expect(json.file_name).toBe(clean);
    else expect(json.file_name).toMatch(clean);
    const found = await app.call(`GET ${VAULT}/${json.link.url}`, { as: "guest" });
    expect([found.status, found.text]).toEqual([200, "x"]);
  });

  it("accepts a branch (085), and ignores other parts (088)", async () => {
    const named = await attach(form({ file: ["x", "a.txt"], branch: "topic" }));
    expect([named.status, named.json.branch]).toEqual([201, "topic"]);
    const before = await attach(form({ branch: "", file: ["x", "a.txt"], avatar: ["", ""] }));
    expect([before.status, before.json.branch]).toEqual([201, "master"]);
    const other = await attach(form({ picture: [PNG, "b.png"], file: ["x", "a.txt"] }));
    expect([other.status, other.json.file_name]).toEqual([201, "a.txt"]);
  });

  it("requires the file (086)", async () => {
    const message = '400 (Bad request) "file" not given';
    for (const body of [undefined, form({ branch: "topic" }), form({ avatar: ["x", "a.txt"] })]) {
      const { status, json } = await attach(body);
      expect([status, json]).toEqual([400, { message }]);
    }
    const text = await attach(form({ file: "just text" }));
    expect([text.status, text.json]).toEqual([400, { message: { file: ["is invalid"] } }]);
    const forged = { file: { id: 1, name: "x", size: 1, sha256: "00" } };
    const json = await app.call(`POST ${VAULT}/attachments`, { as: "developer", json: forged });
    expect([json.status, json.json]).toEqual([400, { message: { file: ["is invalid"] } }]);
    for (const name of [" ", "", "..", "a/"]) {
      const { status, json } = await attach(form({ file: ["x", name] }));
      expect([name, status, json]).toEqual([
        name,
        400,
        { message: "The file name cannot be empty" },
      ]);
    }
    expect(await leftBehind(app)).toBe(0);
  });

  it("accepts an empty file, and uses the last of two", async () => {
    const empty = await attach(form({ file: ["", "empty.txt"] }));
    expect(empty.status).toBe(201);
    const found = await app.call(`GET ${VAULT}/${empty.json.link.url}`, { as: "guest" });
    expect([found.status, found.text, found.headers.get("content-length")]).toEqual([200, "", "0"]);

    const data = form({ file: ["first", "1.txt"] });
    data.append("file", new Blob(["second"]), "2.txt");
    const { json } = await attach(data);
    expect(json.file_name).toBe("2.txt");
    const second = await app.call(`GET ${VAULT}/${json.link.url}`, { as: "guest" });
    expect(second.text).toBe("second");
    const replaced = form({ file: ["x", "1.txt"] });
    replaced.append("file", "text");
    expect((await attach(replaced)).status).toBe(400);
    expect(await leftBehind(app)).toBe(0);
  });

  it("is for developers, while the wiki is switched on (089)", async () => {
    const statuses = async (path: string, everybody: Person[]) => {
      const answers: number[] = [];
      for (const as of everybody) {
        const body = form({ file: ["x", "a.txt"] });
        answers.push((await app.call(`POST ${path}/wikis/attachments`, { as, body })).status);
      }
      return answers;
    };
    const all: Person[] = ["anonymous", "stranger", "guest", "reporter", "developer", "owner"];
    expect(await statuses("/projects/secret%2Fvault", all)).toEqual([404, 404, 403, 403, 201, 201]);
    expect(await statuses("/projects/acme%2Fsite", all)).toEqual([401, 403, 403, 403, 201, 201]);
    await app.call("PUT /projects/acme%2Fteam%2Fcore", {
      as: "owner",
      json: { wiki_enabled: false },
    });
    expect(await statuses("/projects/acme%2Fteam%2Fcore", all)).toEqual([
      404, 404, 403, 403, 403, 403,
    ]);
    expect(await leftBehind(app)).toBe(0);
  });

  it("accepts a token in a part before the file", async () => {
    const token = tokenOf("developer");
    const before = form({ private_token: token, file: ["x", "a.txt"] });
    expect((await attach(before, "anonymous")).status).toBe(201);
    const after = form({ file: ["x", "a.txt"], private_token: token });
    expect((await attach(after, "anonymous")).status).toBe(404);
    const query = await app.call(`POST ${VAULT}/attachments?private_token=${token}`, {
      body: form({ file: ["x", "a.txt"] }),
    });
    expect(query.status).toBe(201);
  });

  it("stores equal content of a project once, also when sent concurrently", async () => {
    const content = `the same ${Math.random()}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => attach(form({ file: [content, `${n}.txt`] }))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
    const oid = Buffer.from(nameOf(content), "hex");
    const packs = (await repository()).list.filter(({ oids }) => oids.find(oid) >= 0);
    expect(packs).toHaveLength(1);
    for (const { json } of answers) {
      const found = await app.call(`GET ${VAULT}/${json.link.url}`, { as: "guest" });
      expect(found.text).toBe(content);
    }
  });
});

describe("downloading", () => {
  it("follows the link in the wiki's address, with safe headers", async () => {
    const image = await attach(form({ file: [PNG, "a.png"] }));
    const base = `${server.url}/api/v4${VAULT}/`;
    const headers = { "private-token": tokenOf("guest") };
    const shown = await fetch(new URL(image.json.link.url, base), { headers });
    expect(shown.status).toBe(200);
    expect(Buffer.from(await shown.arrayBuffer()).equals(PNG)).toBe(true);
    expect(Object.fromEntries(shown.headers)).toMatchObject({
      "content-type": "image/png",
      "content-disposition": `inline; filename="a.png"; filename*=UTF-8''a.png`,
      "content-length": String(PNG.length),
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
    });
    for (const name of ["a.svg", "a.html", "a.txt", "a.js"]) {
      const data = new FormData();
      data.append("file", new Blob(["<script>"], { type: "image/png" }), name);
      const made = await attach(data);
      const found = await app.call(`GET ${VAULT}/${made.json.link.url}`, { as: "guest" });
      expect(found.headers.get("content-type")).toBe("application/octet-stream");
      expect(found.headers.get("content-disposition")).toBe(
        `attachment; filename="${name}"; filename*=UTF-8''${name}`,
      );
      expect(found.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("answers HEAD and If-None-Match", async () => {
    const { json } = await attach(form({ file: ["hello", "a.txt"] }));
    const url = `${server.url}/api/v4${VAULT}/${json.link.url}`;
    const headers = { "private-token": tokenOf("guest") };
    const head = await fetch(url, { method: "HEAD", headers });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "5"]);
    const etag = head.headers.get("etag") as string;
    expect(etag).toBe(`"${nameOf("hello")}"`);
    for (const condition of [etag, `W/${etag}`, "*", `"x", ${etag}`]) {
      const again = await fetch(url, { headers: { ...headers, "if-none-match": condition } });
      expect([again.status, await again.text()]).toEqual([304, ""]);
    }
    const other = await fetch(url, { headers: { ...headers, "if-none-match": '"x"' } });
    expect([other.status, await other.text()]).toEqual([200, "hello"]);
    const inProcess = await app.call(`HEAD ${VAULT}/${json.link.url}`, { as: "guest" });
    expect([inProcess.status, inProcess.headers.get("content-length"), inProcess.text]).toEqual([
      200,
      "5",
      "",
    ]);
  });

  it("requires access to the project's wiki, even if the address is known", async () => {
    const { json } = await attach(form({ file: ["secret", "a.txt"] }));
    const get = async (as: Person, path = VAULT) =>
      (await app.call(`GET ${path}/${json.link.url}`, { as })).status;
    expect([await get("anonymous"), await get("stranger"), await get("guest")]).toEqual([
      404, 404, 200,
    ]);
    expect(await get("guest", "/projects/acme%2Fsite/wikis")).toBe(404);
    const unknown = `GET ${VAULT}/uploads/${"0".repeat(32)}/a.txt`;
    expect((await app.call(unknown, { as: "guest" })).json).toEqual({ message: "404 Not found" });
    const off = { as: "owner", json: { wiki_enabled: false } } as const;
    await app.call("PUT /projects/secret%2Fvault", off);
    expect([await get("anonymous"), await get("guest")]).toEqual([404, 403]);
    await app.call("PUT /projects/secret%2Fvault", { as: "owner", json: { wiki_enabled: true } });
  });
});

describe("limits", () => {
  const fetchTo = (body: BodyInit, options: object = {}) =>
    fetch(`${smallServer.url}/api/v4${VAULT}/attachments`, {
      method: "POST",
      headers: { "private-token": tokenOf("developer") },
      body,
      ...options,
    });

  it("are 10 MiB by default", async () => {
    const most = Buffer.alloc(10 * MEBIBYTE, "x");
    expect((await attach(form({ file: [most, "most.bin"] }))).status).toBe(201);
    const more = form({ file: [Buffer.alloc(10 * MEBIBYTE + 1, "x"), "more.bin"] });
    const { status, json } = await attach(more);
    expect([status, json]).toEqual([413, { message: "413 Request Entity Too Large" }]);
    expect(await leftBehind(app)).toBe(0);
  });

  it("apply with and without Content-Length, and leave nothing behind", async () => {
    const of = (size: number) => form({ file: ["x".repeat(size), "a.txt"] });
    const status = async (body: FormData) => (await attach(body, "developer", small)).status;
    expect([await status(of(1000)), await status(of(1001)), await status(of(5000))]).toEqual([
      201, 413, 413,
    ]);
    expect((await fetchTo(of(1000))).status).toBe(201);
    expect((await fetchTo(of(1001))).status).toBe(413);
    expect((await fetchTo(of(3000))).status).toBe(413);
    const chunks = (count: number) =>
      Readable.toWeb(
        Readable.from(
          (async function* () {
            yield Buffer.from(part("file", "").slice(0, -2));
            for (let n = 0; n < count; n += 1) yield Buffer.alloc(100, "x");
            yield Buffer.from("\r\n--XX--\r\n");
          })(),
        ),
      ) as ReadableStream;
    const streamed = async (count: number) => {
      const headers = {
        "private-token": tokenOf("developer"),
        "content-type": "multipart/form-data; boundary=XX",
      };
      return (await fetchTo(chunks(count), { duplex: "half", headers })).status;
    };
    expect([await streamed(10), await streamed(11), await streamed(40)]).toEqual([201, 413, 413]);
    expect(await leftBehind(small)).toBe(0);
  });

  it("close the connection for far too large bodies", async () => {
    const declared = raw(
      smallServer.url,
      [MULTIPART, "Content-Length: 900000000"],
      [part("file", "x")],
    );
    expect(await declared).toBe(413);
    const endless = [chunked(part("file", "").slice(0, -2))];
    for (let n = 0; n < 200; n += 1) endless.push(chunked("x".repeat(500)));
    expect(await raw(smallServer.url, [MULTIPART, "Transfer-Encoding: chunked"], endless)).toBe(
      413,
    );
    expect(await leftBehind(small)).toBe(0);
  });

  it("also count fields", async () => {
    const { status } = await attach(
      form({ note: "x".repeat(2001), file: ["x", "a.txt"] }),
      "developer",
      small,
    );
    expect(status).toBe(413);
    expect(await leftBehind(small)).toBe(0);
  });
});

describe("a malformed upload", () => {
  const length = (text: string) => `Content-Length: ${Buffer.byteLength(text)}`;
  const whole = `${part("file", "hello")}--XX--\r\n`;

  it.each([
    ["ends in the file", part("file", "hello").slice(0, -4)],
    ["ends after the file", part("file", "hello")],
    ["ends in the last boundary", `${part("file", "hello")}--XX`],
    ["ends in the headers", "--XX\r\nContent-Dispo"],
    ["has no part", "nothing"],
    ["has another boundary", whole.replaceAll("XX", "YY")],
  ])("%s", async (_, body) => {
    const headers = { "content-type": "multipart/form-data; boundary=XX" };
    const given = { as: "developer", headers, body } as const;
    const answer = await app.call(`POST ${VAULT}/attachments`, given);
    expect([answer.status, answer.json]).toEqual([400, { error: "malformed multipart body" }]);
    expect(await raw(server.url, [MULTIPART, length(body)], [body])).toBe(400);
    expect(await leftBehind(app)).toBe(0);
  });

  it("has no boundary, or is not multipart", async () => {
    for (const [type, status] of [
      ["multipart/form-data", 400],
      ["text/plain", 415],
    ] as const) {
      const headers = { "content-type": type };
      const given = { as: "developer", headers, body: whole } as const;
      expect((await app.call(`POST ${VAULT}/attachments`, given)).status).toBe(status);
    }
  });

  it("is cut off by its sender", async () => {
    const errors: unknown[] = [];
    const own = await testApp({ onError: (error) => errors.push(error) });
    const listening = await serve(own, { port: 0 });
    const begun = part("file", "x".repeat(600_000)).slice(0, -2);
    for (let n = 0; n < 5; n += 1) {
      await raw(listening.url, [MULTIPART, "Content-Length: 9000000"], [begun], true);
    }
    const [{ json }] = [await attach(form({ file: ["x", "a.txt"] }), "developer", own)];
    expect(json.file_name).toBe("a.txt");
    await listening.close();
    expect(errors).toEqual([]);
    await own.dispose();
  });

  it("is removed a day later if the process died", async () => {
    const begin = (hours: number) =>
      app.store.transaction((db) =>
        db.run("insert into stored_files (unused_since) values (?)", [
          Date.now() - hours * 3_600_000,
        ]),
      );
    await begin(25);
    await begin(23);
    expect(await app.admin.maintenance.sweepFiles()).toEqual({ files: 1 });
    expect(await leftBehind(app)).toBe(1);
    await app.store.transaction((db) => db.run("delete from stored_files"));
  });
});

describe("on Node", () => {
  const big = Buffer.alloc(5 * MEBIBYTE);
  for (let at = 0; at < big.length; at += 4) big.writeUInt32LE((at * 2654435761) >>> 0, at);
  const sha256 = createHash("sha256").update(big).digest("hex");
  const headers = { "private-token": tokenOf("developer") };

  it("uploads and downloads 5 MB, many at once, in little memory", async () => {
    const url = `${server.url}/api/v4${VAULT}`;
    const up = async (n: number) => {
      const body = form({ file: [big, `${n}.bin`] });
      const answer = await fetch(`${url}/attachments`, { method: "POST", headers, body });
      expect(answer.status).toBe(201);
      return ((await answer.json()) as { link: { url: string } }).link.url;
    };
    const links = await Promise.all(Array.from({ length: 6 }, (_, n) => up(n)));
    await Promise.all(
      links.map(async (link) => {
        const answer = await fetch(`${url}/${link}`, { headers });
        const hash = createHash("sha256");
        for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
          hash.update(chunk);
        }
        expect(hash.digest("hex")).toBe(sha256);
      }),
    );
    expect(await leftBehind(app)).toBe(0);
  });

  // Bun's node:http has no backpressure; test/adapters covers Bun's own server.
  it.skipIf(process.versions["bun"])(
    "stops reading a file if the client reads slowly or disconnects",
    async () => {
      const { json } = await attach(form({ file: [big, "big.bin"] }));
      let pieces = 0;
      let ended = 0;
      const counting = await serve(
        {
          respond: async (incoming) => {
            const reply = await app.respond(incoming);
            if (!reply || !isStreamed(reply.body)) return reply;
            const { body } = reply;
            const chunks = async function* () {
              try {
                for await (const chunk of body.chunks()) {
                  pieces += 1;
                  yield chunk;
                }
              } finally {
                ended += 1;
              }
            };
            return { ...reply, body: { length: body.length, chunks } };
          },
        },
        { port: 0 },
      );
      const path = `/api/v4${VAULT}/${json.link.url}`;
      for (let n = 0; n < 5; n += 1) {
        await new Promise<void>((resolve) => {
          const sent = request(`${counting.url}${path}`, { headers, agent: false }, (answer) => {
            answer.once("data", async () => {
              answer.pause();
              await sleep(100);
              answer.destroy();
              resolve();
            });
          });
          sent.on("error", () => undefined);
          sent.end();
        });
      }
      await expect.poll(() => ended).toBe(5);
      expect(pieces).toBeLessThan(5 * 20);
      await counting.close();

      const inProcess = await app.fetch(new Request(`http://pm.test${path}`, { headers }));
      const reader = (inProcess.body as ReadableStream<Uint8Array>).getReader();
      expect((await reader.read()).value?.length).toBeGreaterThan(0);
      await reader.cancel();
    },
  );

  it("cuts the connection if the content disappears in the middle", async () => {
    const content = Buffer.concat([big, Buffer.from("!")]);
    const { json } = await attach(form({ file: [content, "x.bin"] }));
    // Others take its place in memory.
    for (const byte of [1, 2]) {
      const other = big.map((value) => value ^ byte);
      await attach(form({ file: [Buffer.concat([other, other.subarray(0, 4e6)]), "o.bin"] }));
    }
    const stored = await repository();
    const { pack } = stored.placeOf(stored.findHex(nameOf(content)));
    await app.store.transaction((db) =>
      db.run("delete from git_pack_pieces where pack_id = ? and number > 10", [pack.id]),
    );
    const read = fetch(`${server.url}/api/v4${VAULT}/${json.link.url}`, { headers }).then(
      (answer) => answer.arrayBuffer(),
    );
    await expect(read).rejects.toThrow();
  });

  it("works mounted in Express, after its body parsers", async () => {
    const host = express();
    host.use(express.json(), express.urlencoded({ extended: true }));
    host.use("/pm", createMiddleware(app) as unknown as express.RequestHandler);
    const listening = host.listen(0, "127.0.0.1");
    await new Promise((resolve) => listening.once("listening", resolve));
    const { port } = listening.address() as { port: number };
    const url = `http://127.0.0.1:${port}/pm/api/v4${VAULT}`;
    const body = form({ file: [PNG, "dk.png"] });
    const made = await fetch(`${url}/attachments`, { method: "POST", headers, body });
    expect(made.status).toBe(201);
    const { link } = (await made.json()) as { link: { url: string } };
    const found = await fetch(`${url}/${link.url}`, { headers });
    expect(Buffer.from(await found.arrayBuffer()).equals(PNG)).toBe(true);
    await new Promise((resolve) => listening.close(resolve));
  });
});

describe("other multipart bodies", () => {
  it("are parsed without uploads: files are skipped", async () => {
    const body = form({ title: "by form", content: "text", file: ["x", "a.txt"] });
    const { status, json } = await call(app, `POST ${VAULT}`, { as: "developer", body });
    expect([status, json.slug]).toEqual([201, "by-form"]);
  });
});
