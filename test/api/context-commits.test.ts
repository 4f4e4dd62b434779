import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const shas: string[] = [];
const SITE = "/projects/acme%2Fsite";
let path = "";

const send = (request: string, json: object, as: Person = "owner") =>
  app.call(request, { as, json });
const listed = async (as: Person = "owner") => {
  const { status, json } = await app.call(`GET ${path}`, { as });
  expect(status).toBe(200);
  return json.map(({ id }: { id: string }) => id);
};

beforeAll(async () => {
  app = await testApp();
  for (const name of ["a", "b", "c"]) {
    const json = {
      ...{ branch: "main", commit_message: `Add ${name}` },
      actions: [{ action: "create", file_path: name, content: name }],
    };
    shas.push((await send(`POST ${SITE}/repository/commits`, json)).json.id);
  }
  const branch = { branch: "feature", start_branch: "main", content: "d", commit_message: "m" };
  await send(`POST ${SITE}/repository/files/d`, branch);
  const request = { source_branch: "feature", target_branch: "main", title: "R" };
  const { json } = await send(`POST ${SITE}/merge_requests`, request, "developer");
  path = `${SITE}/merge_requests/${json.iid}/context_commits`;
});
afterAll(() => app.dispose());

it("are added, listed with the newest first, and removed", async () => {
  expect(await listed()).toEqual([]);
  const added = await send(`POST ${path}`, { commits: shas.slice(0, 2) }, "developer");
  expect(added.status, added.text).toBe(201);
  expect(added.json).toHaveLength(2);
  expect(added.json[0]).toMatchObject({ short_id: expect.any(String), title: expect.any(String) });
  expect((await send(`POST ${path}`, { commits: [shas[2]] })).status).toBe(201);
  expect(await listed("stranger")).toEqual([shas[2], shas[1], shas[0]]);
  expect((await send(`DELETE ${path}`, { commits: [shas[1]] })).status).toBe(204);
  expect(await listed()).toEqual([shas[2], shas[0]]);
});

it("are refused if they are unknown, or there already", async () => {
  const invalid = [400, { message: "One or more context commits' sha is not valid." }];
  const unknown = await send(`POST ${path}`, { commits: [shas[1], "f".repeat(40)] });
  expect([unknown.status, unknown.json]).toEqual(invalid);
  const again = await send(`POST ${path}`, { commits: [shas[0]] });
  expect([again.status, again.json]).toEqual([
    ...[400, { message: `Context commits: ${shas[0]} are already created` }],
  ]);
  const gone = await send(`DELETE ${path}`, { commits: [shas[1]] });
  expect([gone.status, gone.json]).toEqual(invalid);
  for (const json of [{}, { commits: [] }]) {
    expect((await send(`POST ${path}`, json)).status).toBe(400);
    expect((await send(`DELETE ${path}`, json)).status).toBe(400);
  }
  expect(await listed()).toEqual([shas[2], shas[0]]);
});

it("are changed by those who may change the merge request, and go with it", async () => {
  const json = { commits: [shas[1]] };
  expect((await send(`POST ${path}`, json, "guest")).status).toBe(403);
  expect((await send(`DELETE ${path}`, { commits: [shas[0]] }, "guest")).status).toBe(403);
  expect((await app.call(`POST ${path}`, { json })).status).toBe(401);
  const elsewhere = path.replace(/merge_requests\/\d+/, "merge_requests/4711");
  expect((await send(`POST ${elsewhere}`, json)).status).toBe(404);
  expect((await send(`DELETE ${path.replace("/context_commits", "")}`, {})).status).toBe(204);
  expect(await app.store.rows("select * from merge_request_context_commits")).toEqual([]);
});
