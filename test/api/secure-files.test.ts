import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { newDatabase, type Person, type TestApp, type TestDatabase, testApp } from "../helpers.ts";
import { ciProject } from "./_pipelines.ts";

let app: TestApp;
let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
  app = await testApp({ database: database.database });
});
afterAll(async () => {
  await app.dispose();
  await database.drop();
});

const SITE = "/projects/acme%2Fsite";
const PATH = `${SITE}/secure_files`;
const BYTES = Uint8Array.from({ length: 3000 }, (_, at) => (at * 7) % 256);

function formOf(name: string | undefined, bytes: Uint8Array = BYTES): FormData {
  const body = new FormData();
  if (name !== undefined) body.append("name", name);
  body.append("file", new Blob([bytes as BlobPart]), "any.bin");
  return body;
}
const add = (body: FormData, as: Person = "maintainer") => app.call(`POST ${PATH}`, { as, body });
const get = (path: string, as: Person = "developer") => app.call(`GET ${path}`, { as });
/** What is downloaded, as the digest of its bytes. */
async function digestOf(path: string, headers: Record<string, string>) {
  const answer = await app.fetch(new Request(`http://pm.test/api/v4${path}`, { headers }));
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return [answer.status, createHash("sha256").update(bytes).digest("hex")];
}

it("is kept encrypted, and downloaded as it was", async () => {
  const checksum = createHash("sha256").update(BYTES).digest("hex");
  const made = await add(formOf("release.keystore.p12"));
  const shown = {
    id: expect.any(Number),
    name: "release.keystore.p12",
    checksum,
    checksum_algorithm: "sha256",
    created_at: expect.any(String),
    expires_at: null,
    metadata: null,
    file_extension: "p12",
  };
  expect([made.status, made.json]).toEqual([201, shown]);
  expect((await get(PATH)).json).toEqual([made.json]);
  const path = `${PATH}/${made.json.id}`;
  expect((await get(path)).json).toEqual(made.json);
  const headers = { "private-token": "token-of-developer" };
  expect(await digestOf(`${path}/download`, headers)).toEqual([200, checksum]);
  expect((await get(`${path}/download`)).headers.get("content-disposition")).toContain(
    "release.keystore.p12",
  );

  const store = await openStore(database.database);
  const [row] = await store.rows("select content from secure_files");
  const pieces = await store.rows("select 1 from stored_file_pieces");
  await store.close();
  expect(String(row?.[0])).not.toContain(Buffer.from(BYTES).toString("base64").slice(0, 40));
  expect(pieces).toEqual([]);

  const again = await add(formOf("release.keystore.p12"));
  expect([again.status, again.json]).toEqual([
    400,
    { message: { name: ["has already been taken"] } },
  ]);
  const gone = await app.call(`DELETE ${path}`, { as: "maintainer" });
  expect(gone.status).toBe(204);
  expect((await get(path)).status).toBe(404);
  expect((await get(`${path}/download`)).status).toBe(404);
  expect((await app.call(`DELETE ${path}`, { as: "maintainer" })).status).toBe(404);
});

it.each([
  ["no name", formOf(undefined), 400, "name"],
  ["a path", formOf("../key"), 400, "should be a valid file path"],
  ["no file", new FormData(), 400, "name"],
  ["5 MiB", formOf("large", new Uint8Array(5 * 1024 * 1024)), 413, "413"],
])("refuses %s", async (_, body, status, reason) => {
  const answer = await add(body);
  expect([answer.status, answer.text.includes(reason)]).toEqual([status, true]);
});

it("has at most a hundred in a project", async () => {
  const names = Array.from({ length: 100 }, (_, at) => `file ${at}`);
  for (const name of names) expect((await add(formOf(name, BYTES.slice(0, 3)))).status).toBe(201);
  expect((await add(formOf("one more"))).json).toEqual({
    message: { base: ["Maximum number of ci secure files (100) exceeded"] },
  });
});

it("is read by developers and their jobs, and written by maintainers", async () => {
  expect((await get(PATH, "reporter")).status).toBe(403);
  expect((await get(PATH, "anonymous")).status).toBe(401);
  expect((await add(formOf("x"), "developer")).status).toBe(403);
  const project = await ciProject(app, "signing", "sign: {script: [x]}");
  const made = await project.call("POST /secure_files", { as: "owner", body: formOf("k.jks") });
  const json = { runner_type: "project_type", project_id: project.id };
  const runner = (await app.call("POST /user/runners", { as: "owner", json })).json;
  await project.call("POST /pipeline?ref=main", { as: "developer" });
  const { json: job } = await app.call("POST /jobs/request", { json: { token: runner.token } });
  const path = `/projects/${project.id}/secure_files/${made.json.id}/download`;
  expect(await digestOf(path, { "job-token": job.token })).toEqual([200, made.json.checksum]);
  const site = (await get(SITE)).json.id;
  const elsewhere = await digestOf(`/projects/${site}/secure_files`, { "job-token": job.token });
  expect(elsewhere[0]).not.toBe(200);
});
