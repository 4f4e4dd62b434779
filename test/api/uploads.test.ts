import { afterAll, beforeAll, expect, it } from "vitest";
import { everyone, type Person, type TestApp, testApp } from "../helpers.ts";

const VAULT = "/projects/secret%2Fvault";
let app: TestApp;

beforeAll(async () => {
  app = await testApp({ limits: { attachmentBytes: 1000 } });
});
afterAll(() => app.dispose());

const upload = (as: Person, name = "dk.png", content = "pixels") => {
  const body = new FormData();
  body.append("file", new Blob([content]), name);
  return app.call(`POST ${VAULT}/uploads`, { as, body });
};

it("a file is uploaded, and has an address and markdown", async () => {
  const { status, json } = await upload("guest");
  const id = (await app.call(`GET ${VAULT}`, { as: "guest" })).json.id;
  expect(status).toBe(201);
  expect(json.url).toMatch(/^\/uploads\/[0-9a-f]{32}\/dk\.png$/);
  expect(json).toEqual({
    id: expect.any(Number),
    alt: "dk",
    url: json.url,
    full_path: `/-/project/${id}${json.url}`,
    markdown: `![dk](${json.url})`,
  });
  for (const path of [`http://pm.test${json.full_path}`, `${VAULT}${json.url}`]) {
    const got = await app.call(`GET ${path}`, { as: "guest" });
    expect([got.status, got.text]).toEqual([200, "pixels"]);
    expect(got.headers.get("content-type")).toBe("image/png");
    const statuses = [];
    for (const as of everyone) statuses.push((await app.call(`GET ${path}`, { as })).status);
    expect(statuses).toEqual([404, 404, 200, 200, 200, 200, 200, 200]);
  }
  const text = await upload("guest", "my notes.txt");
  expect([text.json.alt, text.json.markdown]).toEqual([
    "my_notes.txt",
    `[my_notes.txt](${text.json.url})`,
  ]);
});

it("what is no file, or too large, is refused", async () => {
  const none = await app.call(`POST ${VAULT}/uploads`, { as: "guest", json: { file: "x" } });
  expect(none.status).toBe(400);
  expect((await upload("guest", "a.txt", "x".repeat(1001))).status).toBe(413);
  expect((await upload("stranger")).status).toBe(404);
  expect((await upload("anonymous")).status).toBe(401);
});

it("maintainers list, download and delete them", async () => {
  await upload("developer", "first.txt", "12345");
  const { json: last } = await upload("guest", "last.txt", "123");
  const { json, headers } = await app.call(`GET ${VAULT}/uploads?per_page=2`, {
    as: "maintainer",
  });
  expect(headers.get("x-next-page")).toBe("2");
  expect(json).toMatchObject([
    { id: last.id, size: 3, filename: "last.txt", uploaded_by: { username: "guest" } },
    { size: 5, filename: "first.txt", uploaded_by: { username: "developer" } },
  ]);
  const one = `${VAULT}/uploads/${last.id}`;
  expect((await app.call(`GET ${one}`, { as: "maintainer" })).text).toBe("123");
  for (const [request, as] of [
    [`GET ${VAULT}/uploads`, "developer"],
    [`GET ${one}`, "developer"],
    [`DELETE ${one}`, "developer"],
    [`DELETE ${VAULT}${last.url}`, "developer"],
  ] as const) {
    expect((await app.call(request, { as })).status).toBe(403);
  }
  const found = await app.call(`GET ${VAULT}?statistics=true`, { as: "owner" });
  const { uploads_size } = found.json.statistics;
  expect((await app.call(`DELETE ${one}`, { as: "maintainer" })).status).toBe(204);
  expect((await app.call(`GET ${VAULT}${last.url}`, { as: "guest" })).status).toBe(404);
  const after = await app.call(`GET ${VAULT}?statistics=true`, { as: "owner" });
  expect(after.json.statistics.uploads_size).toBe(uploads_size - 3);
  const other = await upload("guest");
  const path = `${VAULT}${other.json.url}`;
  expect((await app.call(`DELETE ${path}`, { as: "maintainer" })).status).toBe(204);
  expect((await app.call(`DELETE ${path}`, { as: "maintainer" })).status).toBe(404);
});
