import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type Person, type TestApp, testApp, waitFor } from "../helpers.ts";

const VAULT = "/projects/secret%2Fvault";
const SECRET = "/groups/secret";
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0];
let app: TestApp;

beforeAll(async () => {
  app = await testApp({ background: true });
});
afterAll(() => app.dispose());

const form = (content: readonly number[] | string, name = "graphqlModule.png") => {
  const body = new FormData();
  const bytes = typeof content === "string" ? content : Uint8Array.from(content);
  body.append("avatar", new Blob([bytes]), name);
  return body;
};

const gzipped = (text: string) => Uint8Array.from(gzipSync(text));

const send = (request: string, as: Person, body = form(PNG)) => app.call(request, { as, body });

/** The content at an address. */
async function bytesOf(url: string, as: Person): Promise<Uint8Array<ArrayBuffer>> {
  const full = url.startsWith("http") ? url : `http://pm.test/api/v4${url}`;
  const headers = { "private-token": `token-of-${as}` };
  const response = await app.fetch(new Request(full, { headers }));
  return new Uint8Array(await response.arrayBuffer());
}

/** What an address answers everyone. */
async function statusesOf(url: string): Promise<number[]> {
  const statuses = [];
  for (const as of everyone) statuses.push((await app.call(`GET ${url}`, { as })).status);
  return statuses;
}

describe("pictures of users", () => {
  it("are uploaded by them, shown wherever they are, and served to anyone", async () => {
    const { status, json } = await send("PUT /user/avatar", "guest");
    const { json: self } = await app.call("GET /user", { as: "guest" });
    const url = `http://pm.test/uploads/-/system/user/avatar/${self.id}/graphqlModule.png`;
    expect([status, json]).toEqual([200, { avatar_url: url }]);
    expect(self.avatar_url).toBe(url);
    const { json: members } = await app.call(`GET ${VAULT}/members/all`, { as: "guest" });
    const found = members.find(({ id }: { id: number }) => id === self.id);
    expect(found.avatar_url).toBe(url);
    const query = `{ user(username: "${self.username}") { avatarUrl } }`;
    const answer = await app.call("POST http://pm.test/api/graphql", {
      as: "guest",
      json: { query },
    });
    expect(answer.json).toEqual({ data: { user: { avatarUrl: url } } });
    const served = await app.call(`GET ${url}`, { as: "anonymous" });
    expect(served.status).toBe(200);
    expect(await bytesOf(url, "guest")).toEqual(Uint8Array.from(PNG));
    expect(Object.fromEntries(served.headers)).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
    });
    expect((await app.call(`GET ${url}x`, { as: "guest" })).status).toBe(404);
  });

  it("are replaced and removed", async () => {
    const first = (await send("PUT /user/avatar", "reporter")).json.avatar_url;
    const gif = [...Buffer.from("GIF89a......")];
    const { json } = await send("PUT /user/avatar", "reporter", form(gif, "a b.html"));
    expect(json.avatar_url).toMatch(/a_b\.html$/);
    const served = await app.call(`GET ${json.avatar_url}`, { as: "anonymous" });
    expect(served.headers.get("content-type")).toBe("image/gif");
    expect((await app.call(`GET ${first}`, { as: "reporter" })).status).toBe(404);
    const removed = await app.call("PUT /user/avatar", { as: "reporter", json: { avatar: "" } });
    expect(removed.json.avatar_url).toMatch(/\/-\/avatars\/r-\d+\.svg$/);
    expect((await app.call(`GET ${json.avatar_url}`, { as: "reporter" })).status).toBe(404);
    expect((await send("PUT /user/avatar", "anonymous")).status).toBe(401);
  });

  it("are set by administrators, and go with their user", async () => {
    const body = form(PNG, "new.png");
    for (const name of ["name", "username", "password"]) body.append(name, "pictured-1");
    body.append("email", "pictured@example.com");
    const { status, json } = await send("POST /users", "admin", body);
    expect(status).toBe(201);
    const url = `http://pm.test/uploads/-/system/user/avatar/${json.id}/`;
    expect(json.avatar_url).toBe(`${url}new.png`);
    const { json: changed } = await send(`PUT /users/${json.id}`, "admin", form(PNG, "2.png"));
    expect(changed.avatar_url).toBe(`${url}2.png`);
    await app.call(`DELETE /users/${json.id}`, { as: "admin" });
    expect((await app.call(`GET ${url}2.png`, { as: "admin" })).status).toBe(404);
  });
});

describe("what is no picture", () => {
  const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>';
  const FORMAT =
    "file format is not supported. Please try one of the following supported formats: image/png, image/jpeg, image/gif, image/bmp, image/tiff, image/vnd.microsoft.icon, image/webp";

  it.each([
    ["svg", SVG, { avatar: [FORMAT] }],
    ["HTML that is called an image", "<html></html>", { avatar: [FORMAT] }],
    ["BMP in name only", "BM<script>", { avatar: [FORMAT] }],
    [
      "too large",
      [...PNG, ...Array(200 * 1024).fill(0)],
      { avatar: ["is too big (should be at most 200 KiB)"] },
    ],
  ])("is refused: %s", async (_, content, message) => {
    for (const [request, as] of [
      ["PUT /user/avatar", "guest"],
      [`PUT ${VAULT}`, "owner"],
      [`PUT ${SECRET}`, "owner"],
    ] as const) {
      const { status, json } = await send(request, as, form(content));
      expect([request, status, json]).toEqual([request, 400, { message }]);
    }
  });

  it("is refused if it is a text", async () => {
    const json = { avatar: "http://example.com/a.png" };
    const answer = await app.call(`PUT ${VAULT}`, { as: "owner", json });
    expect([answer.status, answer.json]).toEqual([400, { message: { avatar: ["is invalid"] } }]);
    const none = await app.call("PUT /user/avatar", { as: "owner", json: {} });
    expect([none.status, none.json]).toEqual([
      400,
      { message: '400 (Bad request) "avatar" not given' },
    ]);
  });

  it.each([
    ["image/jpeg", [0xff, 0xd8, 0xff, 0xe0]],
    ["image/bmp", [0x42, 0x4d, 9, 0, 0, 0, 0, 0, 0, 0]],
    ["image/tiff", [0x49, 0x49, 0x2a, 0]],
    ["image/vnd.microsoft.icon", [0, 0, 1, 0]],
    ["image/webp", [...Buffer.from("RIFF....WEBP")]],
  ])("%s is one", async (type, content) => {
    const { json } = await send("PUT /user/avatar", "developer", form(content, "x"));
    const served = await app.call(`GET ${json.avatar_url}`, { as: "anonymous" });
    expect(served.headers.get("content-type")).toBe(type);
  });
});

describe.each([
  ["projects", "project", VAULT],
  ["groups", "group", SECRET],
])("pictures of %s", (_, kind, path) => {
  it("are seen by those who see it", async () => {
    const none = await app.call(`GET ${path}/avatar`, { as: "guest" });
    expect([none.status, none.json]).toEqual([404, { message: "404 Avatar Not Found" }]);
    const { status, json } = await send(`PUT ${path}`, "owner", form(PNG, "logo.png"));
    const url = `http://pm.test/uploads/-/system/${kind}/avatar/${json.id}/logo.png`;
    expect([status, json.avatar_url]).toEqual([200, url]);
    expect((await app.call(`GET ${path}`, { as: "guest" })).json.avatar_url).toBe(url);
    const seen = await statusesOf(path);
    expect(seen).toContain(404);
    for (const address of [`${path}/avatar`, url]) expect(await statusesOf(address)).toEqual(seen);
    const got = await app.call(`GET ${path}/avatar`, { as: "guest" });
    expect(got.headers.get("content-type")).toBe("image/png");
    expect(await bytesOf(`${path}/avatar`, "guest")).toEqual(Uint8Array.from(PNG));
    expect((await send(`PUT ${path}`, "guest")).status).toBe(403);
    const removed = await send(`PUT ${path}`, "owner", form(""));
    expect([removed.status, removed.json.avatar_url]).toEqual([200, null]);
    expect((await app.call(`GET ${url}`, { as: "owner" })).status).toBe(404);
  });

  it("come with a new one", async () => {
    const body = form(PNG, "new.png");
    body.append("name", "Pictured");
    body.append("path", "pictured");
    const { status, json } = await send(`POST /${kind}s`, "admin", body);
    expect([status, json.avatar_url]).toEqual([
      201,
      `http://pm.test/uploads/-/system/${kind}/avatar/${json.id}/new.png`,
    ]);
  });
});

it("archives have the picture of their project, and are not believed that it is one", async () => {
  const { json: made } = await send(`PUT ${VAULT}`, "owner", form(PNG, "logo.png"));
  await app.call(`POST ${VAULT}/export`, { as: "owner" });
  const state = async (url: string) => (await app.call(`GET ${url}`, { as: "admin" })).json;
  await waitFor(async () => (await state(`${VAULT}/export`)).export_status === "finished");
  const archive = await bytesOf(`${VAULT}/export/download`, "owner");
  const imported = async (bytes: Uint8Array<ArrayBuffer>, path: string) => {
    const body = new FormData();
    body.append("path", path);
    body.append("file", new Blob([bytes]), "vault.gz");
    const { json } = await app.call("POST /projects/import", { as: "admin", body });
    const url = `/projects/${json.id}`;
    await waitFor(async () => /finished|failed/.test((await state(`${url}/import`)).import_status));
    return [await state(`${url}/import`), await state(url)];
  };
  const [, copy] = await imported(archive, "copied");
  expect(copy.avatar_url).toBe(made.avatar_url.replace(`/${made.id}/`, `/${copy.id}/`));
  expect(await bytesOf(copy.avatar_url, "admin")).toEqual(Uint8Array.from(PNG));
  const text = gunzipSync(archive).toString();
  const content = Buffer.from(PNG).toString("base64");
  const other = Buffer.from("<html></html>").toString("base64");
  const [result, refused] = await imported(gzipped(text.replace(content, other)), "refused");
  expect(result).toMatchObject({ import_status: "failed" });
  expect([result.import_error, refused.avatar_url]).toEqual([
    expect.stringContaining("the avatar is no image"),
    null,
  ]);
});

describe("pictures of topics", () => {
  it("are uploaded, shown and removed by administrators, and served to anyone", async () => {
    const body = form(PNG, "t.png");
    body.append("name", "painted");
    body.append("title", "Painted");
    const { status, json } = await send("POST /topics", "admin", body);
    const url = `http://pm.test/uploads/-/system/projects/topic/avatar/${json.id}/t.png`;
    expect([status, json.avatar_url]).toEqual([201, url]);
    expect((await app.call("GET /topics")).json).toMatchObject([{ avatar_url: url }]);
    expect(await bytesOf(url, "stranger")).toEqual(Uint8Array.from(PNG));
    expect(await statusesOf(url)).toEqual(everyone.map(() => 200));
    expect((await app.call(`GET ${url}x`)).status).toBe(404);
    const path = `/topics/${json.id}`;
    expect((await send(`PUT ${path}`, "owner")).status).toBe(403);
    const changed = await send(`PUT ${path}`, "admin", form([...Buffer.from("GIF89a......")], "u"));
    expect(changed.json).toMatchObject({ title: "Painted", avatar_url: url.replace("t.png", "u") });
    const removed = await app.call(`PUT ${path}`, { as: "admin", json: { avatar: "" } });
    expect([removed.status, removed.json.avatar_url]).toEqual([200, null]);
    expect((await app.call(`GET ${changed.json.avatar_url}`)).status).toBe(404);
  });

  it("are gone with their topic", async () => {
    const body = form(PNG);
    body.append("name", "gone");
    body.append("title", "Gone");
    const { json } = await send("POST /topics", "admin", body);
    expect((await app.call(`DELETE /topics/${json.id}`, { as: "admin" })).status).toBe(204);
    expect((await app.call(`GET ${json.avatar_url}`)).status).toBe(404);
  });
});

describe("GET /avatar", () => {
  const urlOf = async (query: string, as: Person = "anonymous") =>
    (await app.call(`GET /avatar?${query}`, { as })).json;

  it("has the picture of the user with a public address", async () => {
    const { json } = await send("PUT /user/avatar", "developer");
    const { json: user } = await app.call("GET /user", { as: "developer" });
    const generated = { avatar_url: expect.stringMatching(/\/-\/avatars\/d-\d+\.svg$/) };
    // A private address tells nobody whose it is.
    expect(await urlOf(`email=${user.email}`)).toEqual(generated);
    const shown = { public_email: user.email };
    await app.call(`PUT /users/${user.id}`, { as: "admin", json: shown });
    const email = encodeURIComponent(user.email.toUpperCase());
    expect(await urlOf(`email=${email}&size=32`)).toEqual(json);
  });

  it("has a drawn one for other addresses, which is served", async () => {
    const { avatar_url } = await urlOf("email=zoe@nowhere.example");
    expect(avatar_url).toMatch(/\/-\/avatars\/z-\d+\.svg$/);
    const served = await app.call(`GET ${avatar_url}`);
    expect([served.status, served.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
  });

  it("needs an address", async () => {
    const answer = await app.call("GET /avatar");
    expect([answer.status, answer.json.message]).toEqual([
      400,
      '400 (Bad request) "email" not given',
    ]);
    expect((await app.call("GET /avatar?email=a@b.c&size=0")).status).toBe(400);
  });
});
