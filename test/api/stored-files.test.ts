import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { verifyFiles } from "../../src/files/read.ts";
import type { Value } from "../../src/store/port.ts";
import { type CallOptions, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";

const PIECE = 256 * 1024;
const SITE = "/projects/acme%2Fsite";

let app: TestApp;
let topic: string;

beforeAll(async () => {
  app = await testApp({ extra: toys });
});
afterAll(() => app.dispose());
beforeEach(async () => {
  const { json } = await app.call(`POST ${SITE}/topics`, { as: "owner", json: { name: "x" } });
  topic = `${SITE}/topics/${json.id}`;
});

/** Bytes that are nowhere the same. */
function bytesOf(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 1) bytes[at] = (at * 2654435761) >>> (at % 24);
  return bytes;
}

const put = (body: BodyInit, options: CallOptions = {}, path = topic) =>
  app.call(`PUT ${path}/file`, { as: "developer", body, ...options });

const form = (content: string | Uint8Array<ArrayBuffer>) => {
  const data = new FormData();
  data.append("file", new Blob([content]), "a.txt");
  return data;
};

const get = (headers: Record<string, string> = {}, method = "GET") =>
  app.fetch(`http://pm.test/api/v4${topic}/file`, { method, headers });

const counted = async () => {
  const [row] = await app.store.rows(
    "select (select count(*) from stored_files), (select count(*) from stored_file_pieces)",
  );
  return row?.map(Number);
};

it.each([0, 1, PIECE - 1, PIECE, PIECE + 1, 4 * PIECE, 9 * PIECE + 5])(
  "a file of %i bytes comes back as it was",
  async (size) => {
    const bytes = bytesOf(size);
    expect((await put(bytes)).status).toBe(204);
    const answer = await get();
    expect([answer.status, answer.headers.get("content-length")]).toEqual([200, String(size)]);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(answer.headers.get("etag")).toBe(`"${sha256}"`);
  },
);

it("a file in gzip is stored as what it stands for", async () => {
  await put(gzipSync("abc"), { headers: { "content-encoding": "gzip" } });
  expect(await (await get()).text()).toBe("abc");
});

it("a part of a multipart body is stored, too", async () => {
  const bytes = bytesOf(3 * PIECE + 7);
  const sent = { as: "developer", body: form(bytes) } as const;
  expect((await app.call(`PUT ${topic}/attachment`, sent)).status).toBe(204);
  expect(Buffer.from(await (await get()).arrayBuffer()).equals(bytes)).toBe(true);
});

it("ranges are answered", async () => {
  const bytes = Buffer.from(bytesOf(2 * PIECE + 100));
  await put(new Uint8Array(bytes));
  const { size } = { size: bytes.length };
  for (const [range, from, to] of [
    ["bytes=0-0", 0, 1],
    ["bytes=5-9", 5, 10],
    [`bytes=${PIECE - 1}-${PIECE}`, PIECE - 1, PIECE + 1],
    [`bytes=${PIECE}-`, PIECE, size],
    ["bytes=-7", size - 7, size],
    [`bytes=-${size + 7}`, 0, size],
    [`bytes=10-${size + 10}`, 10, size],
  ] as const) {
    const answer = await get({ range });
    expect([range, answer.status]).toEqual([range, 206]);
    expect(answer.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/${size}`);
    expect(answer.headers.get("content-length")).toBe(String(to - from));
    const part = Buffer.from(await answer.arrayBuffer());
    expect([range, part.equals(bytes.subarray(from, to))]).toEqual([range, true]);
  }
  for (const range of ["bytes=2-1", "bytes=0-1,5-6", "bytes=-", "lines=1-2", "bytes=a-b"]) {
    const answer = await get({ range });
    expect([range, answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([
      range,
      200,
      size,
    ]);
  }
  for (const range of [`bytes=${size}-`, "bytes=-0", "bytes=99999999999999999999-"]) {
    const answer = await get({ range });
    expect([range, answer.status, answer.headers.get("content-range")]).toEqual([
      range,
      416,
      `bytes */${size}`,
    ]);
  }
  const etag = (await get()).headers.get("etag") as string;
  expect((await get({ range: "bytes=0-0", "if-range": etag })).status).toBe(206);
  expect((await get({ range: "bytes=0-0", "if-range": '"other"' })).status).toBe(200);
  expect((await get({ "if-none-match": etag })).status).toBe(304);
  const head = await get({ range: "bytes=0-0" }, "HEAD");
  expect([head.status, head.headers.get("content-length")]).toEqual([200, String(size)]);
});

it("browsers show nothing of it that could be a script", async () => {
  await put("<script>");
  const { headers } = await get();
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="a b.txt"; filename*=UTF-8''a%20b.txt`,
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "accept-ranges": "bytes",
  });
});

it("nothing is stored for those who may not, and nothing is left of what is refused", async () => {
  const before = await counted();
  for (const [as, status] of [
    ["anonymous", 401],
    ["reporter", 403],
  ] as const) {
    app.statements.length = 0;
    expect((await put("x", { as })).status).toBe(status);
    const sent = { as, body: form("x") };
    expect((await app.call(`PUT ${topic}/attachment`, sent)).status).toBe(status);
    expect(app.statements.filter((sql) => sql.startsWith("insert into stored_"))).toEqual([]);
  }
  app.statements.length = 0;
  const admitted = { as: "developer", body: form("x") } as const;
  const unknown = await app.call(`PUT ${SITE}/topics/999/attachment`, admitted);
  expect(unknown.json).toEqual({ message: "404 Topic Not Found" });
  expect(app.statements.filter((sql) => sql.startsWith("insert into stored_"))).toEqual([]);
  // Only the handler finds that there is no such topic.
  expect((await put(bytesOf(9 * PIECE), {}, `${SITE}/topics/998`)).status).toBe(404);
  const large = { as: "developer", body: form(bytesOf(20_000_001)) } as const;
  expect((await app.call(`PUT ${topic}/attachment`, large)).status).toBe(413);
  const broken = Buffer.concat([gzipSync(bytesOf(5 * PIECE)), Buffer.from("x")]);
  expect((await put(broken, { headers: { "content-encoding": "gzip" } })).status).toBe(400);
  expect(await counted()).toEqual(before);
});

it("files are deleted by the sweep once no record refers to them", async () => {
  await app.admin.maintenance.sweepFiles();
  const before = await counted();
  const others = await Promise.all(
    [1, 2].map(async () => {
      const sent = { as: "owner", json: { name: "x" } } as const;
      return `${SITE}/topics/${(await app.call(`POST ${SITE}/topics`, sent)).json.id}`;
    }),
  );
  for (const path of [topic, ...others]) await put(bytesOf(70 * PIECE), {}, path);
  expect(await app.admin.maintenance.sweepFiles()).toEqual({ files: 0 });
  await put("another", {}, others[0] as string);
  await app.call(`DELETE ${others[1]}`, { as: "owner" });
  expect(await app.admin.maintenance.sweepFiles()).toEqual({ files: 2 });
  expect((await get()).status).toBe(200);
  const project = { namespace: "owner", name: "Gone" };
  const { json } = await app.call("POST /projects", { as: "owner", json: project });
  const mine = await app.call(`POST /projects/${json.id}/topics`, {
    as: "owner",
    json: { name: "x" },
  });
  const path = `/projects/${json.id}/topics/${mine.json.id}`;
  expect((await put("x", { as: "owner" }, path)).status).toBe(204);
  await app.store.transaction((db) =>
    db.run("delete from toy_topics where id = ?", [mine.json.id]),
  );
  expect(await app.admin.maintenance.sweepFiles()).toEqual({ files: 1 });
  await app.call(`DELETE ${topic}`, { as: "owner" });
  await app.call(`DELETE ${others[0]}`, { as: "owner" });
  expect(await app.admin.maintenance.sweepFiles()).toEqual({ files: 2 });
  expect(await counted()).toEqual(before);
});

it("a check finds files that are not what they were", async () => {
  const problems = () => verifyFiles(app.store, 20);
  expect(await problems()).toEqual([]);
  await put(bytesOf(PIECE + 5));
  expect(await problems()).toEqual([]);
  const change = (sql: string, values: Value[] = []) =>
    app.store.transaction((db) =>
      db.run(`${sql} file_id = (select max(id) from stored_files)`, values),
    );
  await change("delete from stored_file_pieces where number = 1 and");
  expect(await problems()).toEqual([
    expect.stringMatching(/^file \d+ has 262144 of 262149 bytes$/),
  ]);
  await put("abc");
  await change("update stored_file_pieces set bytes = ? where", [Buffer.from("abd")]);
  expect((await problems()).at(-1)).toMatch(/another content/);
});
