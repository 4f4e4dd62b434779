import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
let incident: string;
let issue: string;
beforeAll(async () => {
  app = await testApp();
  const make = async (json: object) => {
    const { json: made } = await app.call(`POST ${SITE}/issues`, { as: "owner", json });
    return `${SITE}/issues/${made.iid}/metric_images`;
  };
  incident = await make({ title: "Down", issue_type: "incident", confidential: true });
  issue = await make({ title: "Idea" });
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

function formOf(bytes: Uint8Array, told: Record<string, string> = {}): FormData {
  const body = new FormData();
  for (const [name, value] of Object.entries(told)) body.append(name, value);
  body.append("file", new Blob([bytes as BlobPart]), "load.png");
  return body;
}
const add = (path: string, body: FormData, as: Person = "owner") =>
  app.call(`POST ${path}`, { as, body });
const call = (request: string, json?: object, as: Person = "owner") =>
  app.call(request, { as, json });

it("is added to an incident, changed, downloaded and removed", async () => {
  const link = { url: "https://metrics.example.com/1", url_text: "Load" };
  const made = await add(incident, formOf(PNG, link));
  const { id } = made.json;
  expect([made.status, made.json]).toEqual([
    201,
    {
      id: expect.any(Number),
      created_at: expect.any(String),
      filename: "load.png",
      file_path: `/uploads/-/system/issuable_metric_image/file/${id}/load.png`,
      ...link,
    },
  ]);
  expect((await call(`GET ${incident}`)).json).toEqual([made.json]);
  const changed = await call(`PUT ${incident}/${id}`, { url_text: "CPU", url: null });
  expect([changed.status, changed.json]).toEqual([
    200,
    { ...made.json, url_text: "CPU", url: null },
  ]);
  const read = async (as: Person, path = made.json.file_path) =>
    (await app.call(`GET http://pm.test${path}`, { as })).status;
  expect(await read("owner")).toBe(200);
  expect(await read("stranger")).toBe(404);
  expect(await read("owner", made.json.file_path.replace("load", "other"))).toBe(404);
  expect((await call(`GET ${incident}`, undefined, "stranger")).status).toBe(404);
  expect((await call(`DELETE ${incident}/${id}`)).status).toBe(204);
  const gone = await call(`DELETE ${incident}/${id}`);
  expect([gone.status, gone.json]).toEqual([404, { message: "Metric image not found" }]);
  expect((await call(`PUT ${incident}/${id}`, {})).status).toBe(404);
  expect(await read("owner")).toBe(404);
});

it("is of incidents, and of those who may change them", async () => {
  const refused = await add(issue, formOf(PNG));
  expect([refused.status, refused.json]).toEqual([403, { message: "Not allowed!" }]);
  expect((await call(`GET ${issue}`)).json).toEqual([]);
  expect((await add(incident, formOf(PNG), "stranger")).status).toBe(404);
  expect((await add(incident, formOf(PNG), "anonymous")).status).toBe(401);
});

it.each([
  ["no file", new FormData(), "file"],
  ["no picture", formOf(Buffer.from("text")), "file format is not supported"],
  ["a large one", formOf(new Uint8Array(1024 * 1024 + 1)), "is too big"],
  ["no address", formOf(PNG, { url: "javascript:1" }), "url"],
])("refuses %s", async (_, body, reason) => {
  const { status, text } = await add(incident, body);
  expect([status, text.includes(reason)]).toEqual([400, true]);
});
